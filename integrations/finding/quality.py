#!/usr/bin/env python3
"""Measures how well `readproof search` ranks files, against plain BM25 and against ripgrep by count.

Fetches released source trees that carry their own history as text, derives queries with known right files from them,
and scores the engines. README.md describes the sets. Only the standard library, universal-ctags and ripgrep are used.
"""

import argparse
import ast
import collections
import concurrent.futures
import hashlib
import html
import io
import json
import math
import os
import pickle
import random
import re
import shutil
import subprocess
import sys
import tarfile
import threading
import time
import urllib.error
import urllib.parse
import urllib.request
import warnings
from pathlib import Path

# Raised when a change in this file changes the trees, the pool of history lines, or the index of a tree.
TREES_FORMAT = 2
POOL_FORMAT = 2
INDEX_FORMAT = 4

SETS = ("history", "keywords", "docs", "names_as_words", "exact_names")
LARGEST = 1_000_000  # bytes of a file that is kept
POOL = 150  # history lines wanted per tree before a seed draws from them
PAIRS = 400  # at most this many pairs of releases are compared per tree
RIGHT_FILES = 6  # at most this many right files per history line
BULLETS = 3  # at most this many bullets in a release that is used
DEFINED_IN = 3  # a name in a query is defined in at most this many files

# --- Trees ------------------------------------------------------------------------------------------------------------

DEBIAN_SUITE = "bookworm"

TOKIO = """
    tokio@1.47.1 tokio-util@0.7.16 tokio-stream@0.1.17 tokio-test@0.4.4 tokio-macros@2.5.0 hyper-util@0.1.16 h2@0.4.12
    axum@0.8.4 axum-core@0.5.2 axum-extra@0.10.1 axum-macros@0.5.0 axum-server@0.7.2 tower@0.5.2 tower-http@0.6.6
    tonic@0.13.1 tracing@0.1.41 tracing-core@0.1.34 tracing-subscriber@0.3.20 tracing-log@0.2.0 tracing-appender@0.2.3
    tracing-attributes@0.1.30 tracing-futures@0.2.5 mio@1.0.4 bytes@1.10.1 http@1.3.1 http-body@1.0.1
    http-body-util@0.1.3 tungstenite@0.27.0 tokio-tungstenite@0.27.0 slab@0.4.11 crossbeam-channel@0.5.15
    crossbeam-epoch@0.9.18 crossbeam-utils@0.8.21 hashbrown@0.15.5
"""
LIBP2P = """
    libp2p@0.56.0 libp2p-core@0.43.1 libp2p-swarm@0.47.0 libp2p-swarm-derive@0.35.1 libp2p-identity@0.2.12
    libp2p-kad@0.48.0 libp2p-gossipsub@0.49.2 libp2p-floodsub@0.47.0 libp2p-identify@0.47.0 libp2p-ping@0.47.0
    libp2p-mdns@0.48.0 libp2p-relay@0.21.0 libp2p-dcutr@0.14.0 libp2p-autonat@0.15.0 libp2p-rendezvous@0.17.0
    libp2p-request-response@0.29.0 libp2p-noise@0.46.1 libp2p-tls@0.6.2 libp2p-plaintext@0.43.0 libp2p-pnet@0.26.0
    libp2p-tcp@0.44.0 libp2p-quic@0.13.0 libp2p-websocket@0.45.1 libp2p-websocket-websys@0.5.0
    libp2p-webrtc-utils@0.4.0 libp2p-webrtc-websys@0.4.0 libp2p-webtransport-websys@0.5.0 libp2p-dns@0.44.0
    libp2p-uds@0.43.0 libp2p-yamux@0.47.0 libp2p-mplex@0.43.1 libp2p-metrics@0.17.0
    libp2p-memory-connection-limits@0.5.0 libp2p-connection-limits@0.6.0 libp2p-allow-block-list@0.6.0
    libp2p-upnp@0.5.0 libp2p-perf@0.3.0 multistream-select@0.13.0 rw-stream-sink@0.4.0 quick-protobuf-codec@0.3.1
"""
EXPO = """
    expo-camera@17.0.10 expo-file-system@19.0.24 expo-notifications@0.32.17 expo-image@3.0.11 expo-av@16.0.8
    expo-updates@29.0.20 expo-modules-core@3.0.30 expo-image-picker@17.0.11 expo-audio@1.1.1 expo-video@3.0.16
    expo-location@19.0.8 expo-contacts@15.0.11 expo-calendar@15.0.8 expo-media-library@18.2.1 expo-auth-session@7.0.11
    expo-asset@12.0.13 expo-font@14.0.12 expo-splash-screen@31.0.13 expo-dev-menu@7.0.19 expo-dev-launcher@6.0.21
    expo-manifests@1.0.11 expo-task-manager@14.0.9 expo-background-fetch@14.0.9 expo-background-task@1.0.10
    expo-crypto@15.0.9 expo-haptics@15.0.8 expo-clipboard@8.0.8 expo-secure-store@15.0.8 expo-web-browser@15.0.11
    expo-linking@8.0.12 expo-sensors@15.0.8 expo-print@15.0.8 expo-sharing@14.0.8 expo-screen-orientation@9.0.9
    expo-localization@17.0.9 expo-blur@15.0.8 expo-mail-composer@15.0.8 expo-document-picker@14.0.8
    expo-image-manipulator@14.0.8 expo-keep-awake@15.0.8 expo-system-ui@6.0.9 expo-navigation-bar@5.0.10
    expo-constants@18.0.14 expo-device@8.0.10 expo-network@8.0.8 expo-speech@14.0.8 expo-video-thumbnails@10.0.8
    expo-local-authentication@17.0.9 expo-maps@0.12.10
"""

# Group, registry, packages with their versions, how the history is written, where it is, folders left out (a regular
# expression for the beginning of a path in its package).
TREES = {
    "gnupg": ("dev", "debian", "gnupg2@2.2.40", "gnu", "ChangeLog", None),
    "setuptools": ("dev", "pypi", "setuptools@80.9.0", "releases", "NEWS.rst", None),
    "tokio": ("dev", "crates", TOKIO, "releases", "CHANGELOG.md", None),
    "expo": ("dev", "npm", EXPO, "releases", "CHANGELOG.md",
             r"(build|local-maven-repo|prebuilds?|assets|bundledNative)/|(.*/)?(build|dist)/|.*\.(map|snap)$"),
    "coreutils": ("held", "debian", "coreutils@9.1", "gnu", "ChangeLog", None),
    "docutils": ("held", "pypi", "docutils@0.21.2", "sections", "HISTORY.txt", None),
    "libp2p": ("held", "crates", LIBP2P, "releases", "CHANGELOG.md", None),
    "viem": ("held", "npm", "viem@2.37.5", "releases", "CHANGELOG.md", r"_(cjs|esm|types)/|.*\.map$"),
    "icedtea-web": ("held", "debian", "icedtea-web@1.8.8", "gnu", "ChangeLog", None),
}

SOURCE = re.compile(
    r"\.(c|h|cc|cpp|cxx|hh|hpp|py|pyi|rs|js|mjs|cjs|jsx|ts|tsx|java|kt|swift|go|rb|php|cs|sh|bash|pl|m|mm|y|l|in\.c)$"
)
# Readproof does not search these.
KEY_FILE = re.compile(r"\.(pem|key|p12|pfx|crt|cer|der|pk8|jks|keystore|env)$|(^|/)id_[^./]*$")
VERSION_FILE = re.compile(r"(^|/)(_*version_*|__about__|_*release_*)\.\w+$")
FILE_NAME = re.compile(
    r"(?<![\w.-])[\w+./*-]*[\w*]\.(c|h|cc|cpp|hh|hpp|py|pyi|rs|js|mjs|cjs|jsx|ts|tsx|java|kt|swift|go|rb|php|cs|sh|"
    r"bash|pl|m|mm|y|l|texi|txt|md|rst|xml|html|css|json|toml|ya?ml|in|am|ac|mk|cfg|ini|jnlp|jar|dtd|tex|sty|po|"
    r"gradle|podspec|plist)(?![\w])"
)
STOP = frozenset(
    """a about above after again against all also always an and another any are aren as at be because been before being
    below between both but by can cannot could did do does doesn doing don done down during each either else etc even
    every few for from further get gets given gives had has have having he her here his how however i if in instead
    into is isn it its itself just let like ll longer made make makes many may might more most much must need needs new
    no nor not now of off on once one only onto or other otherwise our out over own per put rather re s same see set
    shall she should since so some still such t than that the their them then there these they this those through to
    too two under until up upon use used uses using very via was we well were what when where whether which while who
    whose why will with within without won would you your""".split()
)
TOKEN = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|[0-9]+|[^\W\d_a-zA-Z]+")


def tokens(text):
    """Words split by case, digits and underscore, in small letters."""
    return [word.lower() for word in TOKEN.findall(text)]


def fail(message):
    print(f"quality: {message}", file=sys.stderr)
    sys.exit(2)


def say(message):
    print(f"quality: {message}", file=sys.stderr, flush=True)


def digest(*parts):
    return hashlib.sha256("\0".join(map(str, parts)).encode()).hexdigest()[:12]


def write_whole(path, data):
    """Writes a file so that an interrupted run leaves nothing that looks complete."""
    path.parent.mkdir(parents=True, exist_ok=True)
    part = path.with_name(f"{path.name}.part-{os.getpid()}-{threading.get_ident()}")
    part.write_bytes(data)
    part.replace(path)


# --- Registries -------------------------------------------------------------------------------------------------------


def download(url):
    for attempt in range(3):
        try:
            with urllib.request.urlopen(url, timeout=60) as answer:
                return answer.read()
        except urllib.error.HTTPError as error:
            if error.code in (403, 404, 410):
                return None
            last = error
        except OSError as error:
            last = error
        time.sleep(1 + attempt)
    raise OSError(f"{url}: {last}")


class Registries:
    """Fetches archives from the registries that the installed pip, npm and apt are set up to use."""

    def __init__(self, cache):
        self.cache = cache
        self.simple = {}
        self.lock = threading.Lock()
        self.npm_registry = None
        self.apt_ready = False

    def archive(self, registry, name, version):
        """The bytes of a released archive; nothing if there is no such release."""
        if registry == "crates":
            return download(f"https://static.crates.io/crates/{name}/{name}-{version}.crate")
        if registry == "npm":
            return download(f"{self.npm()}{name}/-/{name.split('/')[-1]}-{version}.tgz")
        url = self.pypi(name).get(version)
        return download(url) if url else None

    def npm(self):
        with self.lock:
            if self.npm_registry is None:
                asked = None
                if shutil.which("npm"):
                    asked = subprocess.run(["npm", "config", "get", "registry"], capture_output=True, text=True)
                found = asked.stdout.strip() if asked and asked.returncode == 0 else ""
                self.npm_registry = (found if found.startswith("http") else "https://registry.npmjs.org").rstrip("/") + "/"
            return self.npm_registry

    def pypi(self, name):
        """The sdists of a package by version."""
        with self.lock:
            if name not in self.simple:
                asked = subprocess.run(
                    [sys.executable, "-m", "pip", "config", "get", "global.index-url"], capture_output=True, text=True
                )
                index = os.environ.get("PIP_INDEX_URL") or asked.stdout.strip() or "https://pypi.org/simple"
                page = download(f"{index.rstrip('/')}/{name}/")
                if page is None:
                    fail(f"{name} is not in the Python package index")
                found = {}
                for link in re.findall(r'href="([^"]+)"', page.decode()):
                    link = html.unescape(link).split("#")[0]
                    match = re.search(rf"/{re.escape(name)}-([0-9][^/]*)\.(?:tar\.gz|zip|tar\.bz2)$", link)
                    if match and link.endswith(".tar.gz"):
                        found[match[1]] = urllib.parse.urljoin(f"{index.rstrip('/')}/{name}/", link)
                self.simple[name] = found
            return self.simple[name]

    def apt(self, update=False):
        """The options of an apt that has its own lists of source packages and leaves the system's alone."""
        state = self.cache / "apt"
        options = [f"Dir::Etc::SourceList={state}/none", f"Dir::Etc::SourceParts={state}/parts",
                   f"Dir::State::Lists={state}/lists", f"Dir::Cache={state}/cache", "APT::Sandbox::User=root"]
        words = [word for option in options for word in ("-o", option)]
        if not self.apt_ready:
            for folder in ("parts", "lists/partial", "cache/archives/partial"):
                (state / folder).mkdir(parents=True, exist_ok=True)
            asked = subprocess.run(["apt-get", "indextargets", "--format", "$(SITE)"], capture_output=True, text=True)
            sites = [site for site in asked.stdout.split() if site.rstrip("/").endswith("/debian")]
            lines = ["Types: deb-src", f"URIs: {sites[0] if sites else 'http://deb.debian.org/debian'}",
                     f"Suites: {DEBIAN_SUITE}", "Components: main",
                     "Signed-By: /usr/share/keyrings/debian-archive-keyring.gpg", ""]
            (state / "parts" / "src.sources").write_text("\n".join(lines))
            self.apt_ready = True
            update = update or not any((state / "lists").glob("*Sources*"))
        if update:
            done = subprocess.run(["apt-get", *words, "-qq", "update"], capture_output=True, text=True)
            if done.returncode:
                fail(f"apt-get update: {done.stderr.strip()}")
        return words

    def debian(self, package, version):
        """The upstream archive of a Debian source package."""
        folder = self.cache / "debian" / package
        found = self.upstream(folder)
        if not found:
            folder.mkdir(parents=True, exist_ok=True)
            for update in (False, True):
                call = ["apt-get", *self.apt(update), "-qq", "source", "--download-only", "--tar-only", package]
                done = subprocess.run(call, cwd=folder, capture_output=True, text=True)
                found = self.upstream(folder)
                if done.returncode == 0 and found:
                    break
            if done.returncode or not found:
                fail(f"apt-get source {package}: {done.stderr.strip()}")
        if f"_{version}.orig." not in found.name:
            say(f"{found.name}: the figures are comparable only for version {version}")
        return found.read_bytes()

    @staticmethod
    def upstream(folder):
        found = [path for path in folder.glob("*.orig.tar.*") if path.suffix != ".asc"] if folder.is_dir() else []
        return sorted(found)[0] if found else None

    def program(self, name, package, call):
        """A program, or else the one of a Debian package, unpacked below the cache."""
        installed = shutil.which(name)
        if installed and subprocess.run([installed, *call], capture_output=True).returncode == 0:
            return installed
        folder = self.cache / "programs" / package
        program = folder / "usr/bin" / (name if name != "ctags" else "ctags-universal")
        if not program.exists():
            say(f"fetching {package}")
            folder.mkdir(parents=True, exist_ok=True)
            subprocess.run(["apt-get", "download", "-qq", package], cwd=folder, capture_output=True)
            for archive in folder.glob("*.deb"):
                subprocess.run(["dpkg-deb", "-x", archive.name, "."], cwd=folder, capture_output=True)
        if program.exists() and subprocess.run([program, *call], capture_output=True).returncode == 0:
            return str(program)
        if os.geteuid() == 0:
            install = ["apt-get", "install", "-y", "-qq", "--no-install-recommends", package]
            subprocess.run(install, capture_output=True, env={**os.environ, "DEBIAN_FRONTEND": "noninteractive"})
            installed = shutil.which(name)
            if installed and subprocess.run([installed, *call], capture_output=True).returncode == 0:
                return installed
        fail(f"{name} is needed: install the package {package}")


# --- Unpacking --------------------------------------------------------------------------------------------------------


def unpacked(data, left_out, changelog):
    """The files of an archive that a search looks at: regular, not hidden, text, not too large."""
    rule = re.compile(left_out) if left_out else None
    with tarfile.open(fileobj=io.BytesIO(data)) as archive:
        for member in archive:
            if not member.isfile():
                continue
            parts = [part for part in member.name.split("/") if part not in ("", ".")][1:]
            if not parts or ".." in parts or any(part.startswith(".") for part in parts):
                continue
            path = "/".join(parts)
            if (rule and rule.match(path)) or KEY_FILE.search(path):
                continue
            history = path == changelog
            if member.size > LARGEST and not history:
                continue
            content = archive.extractfile(member).read()
            if history and len(content) > LARGEST:
                # The newest entries come first.
                content = content[: content.rindex(b"\n", 0, LARGEST) + 1]
            if content and b"\0" not in content:
                yield path, content


def packages(listed):
    for entry in listed.split():
        name, _, version = entry.rpartition("@")
        yield (name, version) if name else (version, None)


class Tree:
    """One source tree, its files, its history and its definitions."""

    def __init__(self, name, cache, registries):
        self.name = name
        self.cache = cache
        self.registries = registries
        self.group, self.registry, self.listed, self.style, self.changelog, self.left_out = TREES[name]
        self.key = f"{name}-{digest(TREES_FORMAT, *map(str, TREES[name]))}"
        self.folder = cache / "trees" / self.key
        if not self.folder.is_dir():
            self.fetch()
        self.files = sorted(
            str(path.relative_to(self.folder))
            for path in self.folder.rglob("*")
            if path.is_file() and not any(part.startswith(".") for part in path.relative_to(self.folder).parts)
        )
        self.present = frozenset(self.files)

    def fetch(self):
        say(f"{self.name}: fetching")
        part = self.folder.with_name(f"{self.key}.part-{os.getpid()}")
        shutil.rmtree(part, ignore_errors=True)
        several = len(self.listed.split()) > 1
        for name, version in packages(self.listed):
            if self.registry == "debian":
                data = self.registries.debian(name, version)
            else:
                data = self.registries.archive(self.registry, name, version)
            if data is None:
                fail(f"{self.name}: {name} {version} is not in the registry")
            for path, content in unpacked(data, self.left_out, self.changelog):
                place = part / name.split("/")[-1] / path if several else part / path
                place.parent.mkdir(parents=True, exist_ok=True)
                place.write_bytes(content)
        self.folder.parent.mkdir(parents=True, exist_ok=True)
        part.rename(self.folder)

    def text(self, path):
        return (self.folder / path).read_text(encoding="utf-8", errors="replace")

    def cached(self, kind, version, make):
        place = self.cache / kind / f"{self.key}-{version}.pickle"
        if place.exists():
            return pickle.loads(place.read_bytes())
        made = make()
        write_whole(place, pickle.dumps(made))
        return made

    # --- History

    def history(self):
        """Lines of history and the source files that they name, the newest first."""
        return self.cached("pool", POOL_FORMAT, self.make_history)

    def make_history(self):
        say(f"{self.name}: reading the history")
        if self.style == "gnu":
            found = gnu_history(self.text(self.changelog), self.present)
        elif self.style == "sections":
            found = section_history(self.text(self.changelog), self.present)
        else:
            return self.release_history()
        pool, seen = [], set()
        for line, files in found:
            self.add(pool, seen, line, files)
        return pool

    def add(self, pool, seen, line, files):
        line = clean(line)
        right = sorted(path for path in files if path in self.present and SOURCE.search(path))
        if not right or len(right) > RIGHT_FILES or line is None or line.lower() in seen:
            return
        content = {token for token in tokens(line) if token not in STOP and len(token) > 1}
        known = [self.index().source_df[token] for token in content if self.index().source_df[token]]
        if len(known) >= 3 and min(known) <= max(3, len(self.files) / 10):
            seen.add(line.lower())
            pool.append((line, right))

    def release_history(self):
        """Bullets of small releases, and the source files in which the release differs from the one before."""
        several = len(self.listed.split()) > 1
        queues = []
        for name, version in packages(self.listed):
            folder = name.split("/")[-1] if several else ""
            changelog = next((f for f in (self.changelog, "CHANGELOG.md", "CHANGES.md")
                              if os.path.join(folder, f) in self.present), None)
            if changelog is None:
                continue
            releases = parse_releases(self.text(os.path.join(folder, changelog)))
            pairs = [(name, folder, new, old, bullets)
                     for (new, bullets), (old, _) in zip(releases, releases[1:]) if 1 <= len(bullets) <= BULLETS]
            queues.append(sorted(pairs, key=lambda pair: len(pair[4])))  # first those with a single bullet
        order = [pair for row in _transpose(queues) for pair in row][:PAIRS]
        changed = []
        with concurrent.futures.ThreadPoolExecutor(4) as workers:
            for begin in range(0, len(order), 16):
                batch = order[begin : begin + 16]
                changed += zip(batch, workers.map(lambda pair: self.difference(*pair[:4]), batch))
                pool = self.release_pool(changed)
                say(f"{self.name}: {begin + len(batch)} of {len(order)} pairs of releases, {len(pool)} lines")
                if len(pool) >= POOL:
                    break
        return self.release_pool(changed)

    def release_pool(self, changed):
        pool, seen = [], set()
        for pair, files in changed:
            if files and len(files) <= RIGHT_FILES:
                for bullet in pair[4]:
                    self.add(pool, seen, bullet, [os.path.join(pair[1], path) for path in files])
        return pool

    def difference(self, name, _folder, new, old):
        before, after = self.hashes(name, old), self.hashes(name, new)
        if not before or not after:
            return None
        return sorted(path for path in after if before.get(path) != after[path])

    def hashes(self, name, version):
        place = self.cache / "releases" / self.registry / f"{name.replace('/', '+')}-{version}-{digest(2, self.left_out)}.json"
        if place.exists():
            return json.loads(place.read_text())
        data = self.registries.archive(self.registry, name, version)
        found = {}
        for path, content in unpacked(data, self.left_out, self.changelog) if data else ():
            if SOURCE.search(path) and not VERSION_FILE.search(path):
                # A file in which only the version of the release differs has not changed.
                found[path] = hashlib.sha256(content.replace(version.encode(), b"")).hexdigest()[:16]
        write_whole(place, json.dumps(found).encode())
        return found

    # --- Definitions and documentation

    def definitions(self):
        """Definitions as ctags finds them: name, path, line, language."""
        return self.cached("definitions", INDEX_FORMAT, self.make_definitions)

    def make_definitions(self):
        say(f"{self.name}: ctags")
        program = self.registries.program("ctags", "universal-ctags", ["--output-format=json", "--list-features"])
        call = [program, "-f", "-", "--output-format=json", "--fields=+nKlsZ", "--sort=no", "-L", "-",
                "--languages=" + ",".join(KINDS), "--langmap=C:+.h", "--extras=-F"]
        done = subprocess.run(call, cwd=self.folder, input="\n".join(self.files).encode(), capture_output=True)
        if done.returncode:
            fail(f"ctags: {done.stderr.decode(errors='replace').strip()}")
        found, lines = [], {}
        for row in done.stdout.decode(errors="replace").splitlines():
            tag = json.loads(row)
            name, path, number = tag.get("name", ""), tag.get("path", ""), tag.get("line", 0)
            if tag.get("_type") != "tag" or tag.get("kind") not in KINDS.get(tag.get("language"), ()):
                continue
            if not re.fullmatch(r"[A-Za-z_$][A-Za-z0-9_$]{3,}", name) or re.search(r"__anon|^[Aa]nonymous", name):
                continue
            if tag.get("scopeKind") in ("function", "method", "generator"):
                continue
            if path not in lines:
                lines[path] = self.text(path).split("\n")
            line = lines[path][number - 1] if 0 < number <= len(lines[path]) else ""
            if tag["kind"] == "alias" and not re.match(rf"\s*(export\s+|declare\s+)*type\s+{re.escape(name)}\s*(=|<|$)", line):
                continue  # a type that is only exported again
            if re.search(rf"(?<![\w$]){re.escape(name)}(?![\w$])", line):
                found.append((name, path, number, tag["language"]))
        return found

    def documentation(self):
        """First sentences of documentation, and the files in which each is."""
        return self.cached("documentation", INDEX_FORMAT, self.make_documentation)

    def make_documentation(self):
        say(f"{self.name}: documentation")
        found = collections.defaultdict(set)
        for path in self.files:
            if SOURCE.search(path):
                for comment in comments(path, self.text(path)):
                    sentence = first_sentence(comment)
                    if sentence:
                        found[sentence].add(path)
        return sorted((sentence, sorted(paths)) for sentence, paths in found.items() if len(paths) <= DEFINED_IN)

    def index(self):
        if not hasattr(self, "_index"):
            self._index = Index(self.cached("index", INDEX_FORMAT, lambda: Index.of(self)))
        return self._index


def _transpose(queues):
    for row in range(max(map(len, queues), default=0)):
        yield [queue[row] for queue in queues if row < len(queue)]


# --- History as text --------------------------------------------------------------------------------------------------

BORING = re.compile(
    r"(?i).*(\bmsrv\b|minimum supported|\bclippy\b)|(updated?|upgraded?|bump\w*|migrated?) .{0,50} to v?\d|"
    r"[\w-]+: updated? to|added? .{0,50} chains?$|(re-?)?(release|bump|merge|prepare|post|version|"
    r"regenerat|update (copyright|changelog|news|version|manifest|"
    r"depend|gnulib|submodule|to )|updated? (depend|to )|adjust changelog|thanks|typo|fix(ed)? typo|likewise|ditto|same|"
    r"drop support for|maint: (update|bump)|build: update|no changes|"
    r"this version does not|internal|chore|tests?: (update|bump)|deps?\b|improve documentation|documentation (fix|impr))"
)


def clean(line):
    """A line of history as a query: 4 to 15 words without names of files; nothing if it does not make one."""
    line = re.sub(r"<[^<>]*>", " ", line)
    line = re.sub(r"!?\[([^\[\]]*)\]\([^()]*\)", r"\1", line)  # Markdown
    line = re.sub(r"\[([^\[\]]*)\]\[[^\[\]]*\]", r"\1", line)
    line = re.sub(r"^.*?Thanks @?[\w-]+!\s*-\s*", "", line)
    line = re.sub(r":[\w:+.-]+:(?=`)", " ", line)  # roles of reStructuredText
    line = re.sub(r"https?://\S+", " ", line)
    line = re.sub(r"(?i)\b(issues?|bugs?|pull request|pr|closes|fixes|refs?) #?\d+(, ?#?\d+)*:?", " ", line)
    line = re.sub(r"(?i)^\W*(breaking|added|changed|fixed|removed|deprecated|change|fix|feat)\b(?: change)?\W*:\W*", "", line)
    line = re.sub(r"(\w)\([^()\s]*\)", r"\1", line)  # the parentheses of a call
    line = re.sub(r"(?i)\b(see|by|cherry picked from)\b[^.;]{0,12}(@|#\d|PR |commit )\S*.*$", " ", line)
    line = re.sub(r"(?i)(--)?\s*\bby (@\w|:user:).*$", " ", line)
    line = re.sub(r"\((?:[^()]*(?:#\d|\bbug\b|\bGH-|\bpatch\b|@)[^()]*)\)", " ", line)
    line = re.sub(r"\[?#\d+\]?:?", " ", line)
    line = re.sub(r"\b[0-9a-f]{7,40}\b", " ", line)
    line = re.sub(r"\(([^()]*(?:_|\(\)|[a-z][A-Z])[^()]*)\)", " ", line)  # functions in parentheses
    line = FILE_NAME.sub(" ", line)
    line = re.sub(r"(?<!\S)[`'\"]*[\w.@+*-]*/[\w./@+*-]*[`'\":,]*", " ", line)  # what still looks like a path
    line = re.split(r"(?<=[a-z)`'\"])[.;](?:\s|$)", line.strip(), maxsplit=1)[0]
    words = [word for word in (strip(word) for word in line.split()) if word]
    words = words[:15]
    text = " ".join(words)
    if len(words) < 4 or BORING.match(text) or sum(c.isascii() for c in text) < len(text):
        return None
    return text


def strip(word):
    """A word without the punctuation around it; options keep their hyphens."""
    word = word.replace("`", "").replace("*", "").strip("\"'()[]{}<>,.;!?|\\=#“”‘’")
    if word.endswith(":") or word.startswith(":"):
        word = word.strip(":") + (":" if word.endswith(":") and len(word) > 1 else "")
    return word if re.search(r"[A-Za-z0-9]", word) else ""


def gnu_history(text, present):
    """The subject of each entry with the files of its items; and each item that says enough by itself."""
    for entry in re.split(r"(?m)^(?=\d{4}-\d\d-\d\d\s)", text):
        subject, files = None, []
        paragraphs = re.split(r"\n\s*\n", entry.partition("\n")[2])
        commits = "+ commit" in entry
        for paragraph in paragraphs:
            lines = [line.strip() for line in paragraph.strip("\n").split("\n") if line.strip()]
            if not lines:
                continue
            begins = not lines[0].startswith(("*", "("))
            if commits:
                begins = begins and len(lines) > 1 and lines[1].startswith("+ commit")
            elif begins and subject is not None and not files:
                begins = False  # the rest of a message whose files are still to come
            elif begins and subject is not None:
                begins = any(line.startswith("*") for line in lines)
            if begins:
                if subject and files:
                    yield subject, set(files)
                subject, files = lines[0], []
            for names, said in gnu_items(lines):
                named = [name for name in names if name in present]
                files += named if len(named) == len(names) or named else []
                if named and not commits and len(said.split()) >= 6:
                    yield said, set(named)
        if subject and files:
            yield subject, set(files)


def gnu_items(lines):
    item = None
    for line in [*lines, "*"]:
        if line.startswith("*"):
            if item:
                head, colon, said = item.partition(":")
                names = [name for name in re.split(r"[,\s]+", re.sub(r"\([^()]*\)?", " ", head)) if name]
                if colon and names:
                    said = re.split(r"\s\([\w ,*.:]+\):?", re.sub(r"^\s*(\([^()]*\)[:,]?\s*)+", "", said))[0]
                    yield names, said.strip()
            item = line[1:].strip()
        elif item is not None:
            item += " " + line


def section_history(text, present):
    """Bullets below a line that names files, as in `* docutils/nodes.py`."""
    names, bullet = [], None
    for line in [*text.split("\n"), "* end"]:
        top, inner = re.match(r"\* (\S.*)", line), re.match(r"  - (\S.*)", line)
        more = re.match(r"    (\S.*)", line)
        if top or inner or not more:
            if bullet and names:
                yield bullet, set(names)
            bullet = None
        if top:
            listed = [name.strip(" `:") for name in re.split(r",\s*", top[1]) if name.strip(" `:")]
            names = [name for name in listed if name in present]
        elif inner:
            bullet = inner[1]
        elif more and bullet is not None:
            bullet += " " + more[1]
        elif re.match(r"  (\S+\.py),?$", line) and not inner:
            names += [name for name in [line.strip(" ,")] if name in present]
        elif line and not line.startswith(" "):
            names = []


def parse_releases(text):
    """Versions in the order of a changelog, with the bullets of each."""
    lines = text.split("\n")
    releases, bullets, skip = [], None, False
    for number, line in enumerate(lines):
        after = lines[number + 1] if number + 1 < len(lines) else ""
        head = re.match(r"#{1,3} +(?:Version |Release )?(?:[\w-]+[- ])?\[?v?(\d+(?:\.\d+){1,2})(?![\d.])", line)
        if not head and re.match(r"(=|-){3,}\s*$", after):
            head = re.match(r"v?(\d+(?:\.\d+){1,2})(?![\d.])", line)
        if head and not re.search(r"-(alpha|beta|rc|pre)", line):
            bullets, skip = [], False
            releases.append((head[1], bullets))
        elif re.match(r"#+ ", line) or re.match(r"(=|-|~|\^){3,}\s*$", after):
            skip = bool(re.search(r"(?i)others|dependenc|misc|documented|unpublished|commit stat|internal", line))
            if re.match(r"##? ", line) and not head and re.search(r"(?i)unreleased|unpublished", line):
                bullets = None
        elif bullets is None or skip:
            continue
        elif re.match(r" {0,2}[-*+] +\S", line):
            bullets.append(re.sub(r"^ {0,2}[-*+] +", "", line).strip())
        elif bullets and re.match(r" {2,4}[^\s*+-]", line) and lines[number - 1].strip():
            bullets[-1] += " " + line.strip()
    kept = []
    for version, said in releases:
        if version not in [seen for seen, _ in kept]:
            kept.append((version, [bullet for bullet in said if not re.match(r"(?i)(\[?#\d+\]?|.{0,12})$", bullet)]))
    return kept


# --- Definitions and documentation ------------------------------------------------------------------------------------

KINDS = {
    "C": ("function", "struct", "enum", "union", "typedef"),
    "C++": ("function", "class", "struct", "enum", "union", "typedef"),
    "C#": ("method", "class", "struct", "enum", "interface"),
    "Go": ("func", "struct", "interface", "type"),
    "Java": ("method", "class", "interface", "enum", "annotation"),
    "JavaScript": ("function", "method", "class", "generator"),
    "PHP": ("function", "class", "interface", "trait"),
    "Python": ("function", "member", "class"),
    "Ruby": ("method", "class", "singletonMethod"),
    "Rust": ("function", "method", "struct", "enum", "interface", "typedef"),
    "Sh": ("function",),
    "TypeScript": ("function", "method", "class", "interface", "enum", "alias", "generator"),
}


def comments(path, text):
    """Documentation comments of a file."""
    if path.endswith((".py", ".pyi")):
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                module = ast.parse(text)
        except (SyntaxError, ValueError, RecursionError):
            return
        for node in ast.walk(module):
            if isinstance(node, (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)):
                said = ast.get_docstring(node)
                if said:
                    yield said
    elif path.endswith((".rs", ".swift")):
        for block in re.findall(r"(?m)(?:^[ \t]*//[/!](?!/).*\n)+", text):
            yield re.sub(r"(?m)^[ \t]*//[/!] ?", "", block)
    elif path.endswith((".c", ".h", ".cc", ".cpp", ".hpp", ".y")):
        # A comment at the beginning of a line, directly before something that is not a directive.
        for said in re.findall(r"(?ms)^/\*+((?:(?!\*/).)*)\*/[ \t]*\n(?=[A-Za-z_])", text):
            yield re.sub(r"(?m)^[ \t]*\*+ ?", "", said)
    else:
        for said in re.findall(r"(?s)/\*\*((?:(?!\*/).)*)\*/", text):
            yield re.sub(r"(?m)^[ \t]*\*+ ?", "", said)


def first_sentence(comment):
    """The first sentence of a comment if it has 5 to 15 words."""
    if comment.strip().startswith(("@", "#", "\\")):
        return None
    paragraph = re.split(r"\n\s*\n|\n\s*[@#=:\\-]", comment.strip(), maxsplit=1)[0]
    paragraph = re.sub(r"\{@\w+\s+([^{}]*)\}", r"\1", paragraph)
    paragraph = re.sub(r"\[([^\[\]]*)\](\([^()]*\)|\[[^\[\]]*\])?", r"\1", paragraph)
    paragraph = re.sub(r"<[^<>]*>", " ", paragraph)
    paragraph = " ".join(paragraph.split())
    sentence = re.split(r"(?<=[\w)`'\"])[.!?:](?:\s|$)", paragraph, maxsplit=1)[0]
    if re.search(r"://|(?i:copyright|license|licence|SPDX|eslint|noqa|@ts-)", sentence) or not sentence.isascii():
        return None
    words = [word for word in map(strip, sentence.split()) if word]
    plain = sum(bool(re.fullmatch(r"[A-Za-z][A-Za-z_'()-]*", word)) for word in words)
    if not 5 <= len(words) <= 15 or plain * 10 < len(words) * 7:
        return None
    return " ".join(words)


# --- Plain BM25 -------------------------------------------------------------------------------------------------------


class Index:
    """Standard BM25 over every text file of a tree."""

    K1, B = 1.2, 0.75

    def __init__(self, parts):
        # source_df: how many source files have a word
        self.paths, self.lengths, self.postings, self.source_df = parts
        self.mean = sum(self.lengths) / max(1, len(self.lengths))

    @staticmethod
    def of(tree):
        say(f"{tree.name}: indexing {len(tree.files)} files")
        lengths, postings, source_df = [], {}, collections.Counter()
        for number, path in enumerate(tree.files):
            counted = collections.Counter(tokens(tree.text(path)))
            lengths.append(sum(counted.values()))
            for word, count in counted.items():
                postings.setdefault(word, []).append((number, count))
            if SOURCE.search(path):
                source_df.update(counted.keys())
        return tree.files, lengths, postings, source_df

    def search(self, query, limit=10):
        scores = collections.Counter()
        for word, times in collections.Counter(tokens(query)).items():
            found = self.postings.get(word, ())
            if not found:
                continue
            idf = math.log(1 + (len(self.paths) - len(found) + 0.5) / (len(found) + 0.5))
            for number, count in found:
                norm = self.K1 * (1 - self.B + self.B * self.lengths[number] / self.mean)
                scores[number] += times * idf * count * (self.K1 + 1) / (count + norm)
        best = sorted(scores.items(), key=lambda item: (-item[1], self.paths[item[0]]))[:limit]
        return [self.paths[number] for number, _ in best]


# --- Queries ----------------------------------------------------------------------------------------------------------


def words_of(name):
    return [word.lower() for word in TOKEN.findall(name)]


def wordy(name):
    """Whether a name consists of at least two words of letters."""
    words = words_of(name)
    return len(words) >= 2 and not re.search(r"[0-9$]", name) and sum(len(word) > 1 for word in words) >= 2


def keywords(line, df):
    """The rarest words of a line that its tree has, in their order; nothing if there are fewer than two."""
    found = []
    for place, word in enumerate(line.split()):
        word = word.strip(":-")
        parts = [token for token in tokens(word) if token not in STOP and len(token) > 1 and not token.isdigit()]
        known = [df[token] for token in parts if df[token]]
        if known and word.lower() not in (other.lower() for _, _, other in found):
            found.append((min(known), place, word))
    found = sorted(sorted(found)[:4], key=lambda item: item[1])
    return " ".join(word for _, _, word in found) if len(found) >= 2 else None


def content_words(sentence):
    """The words of a sentence that have a letter and are no stop words, each once."""
    words = {}
    for word in sentence.split():
        if word.lower() not in STOP and re.search("[A-Za-z]", word):
            words.setdefault(word.lower(), word)
    return list(words.values())


def remembered(content, chance):
    """What someone asks who remembers a part of a sentence: 3 to 5 of its words, at most half of them, in their order."""
    most = max(3, min(5, (len(content) + 1) // 2))
    kept = sorted(chance.sample(range(len(content)), chance.randint(3, most)))
    return [content[place] for place in kept]


def queries(tree, seed, limit):
    """The queries of every set with their right files."""
    made = {}
    chance = random.Random(f"{seed} {tree.name} history")
    drawn = chance.sample(tree.history(), len(tree.history()))
    made["history"] = drawn[:limit]
    short = ((keywords(line, tree.index().source_df), right) for line, right in drawn)
    made["keywords"] = [(line, right) for line, right in short if line][:limit]

    chance = random.Random(f"{seed} {tree.name} docs")
    made["docs"] = []
    documented = tree.documentation()
    for sentence, right in chance.sample(documented, len(documented)):
        content = content_words(sentence)
        if len(content) >= 5:
            made["docs"].append((" ".join(remembered(content, chance)), right))
        if len(made["docs"]) == limit:
            break

    by_name, by_words = collections.defaultdict(set), collections.defaultdict(set)
    for name, path, _, _ in tree.definitions():
        by_name[name].add(path)
        by_words[" ".join(words_of(name))].add(path)
    for kind, table in (("names_as_words", by_words), ("exact_names", by_name)):
        few = sorted((name, sorted(paths)) for name, paths in table.items() if len(paths) <= DEFINED_IN)
        if kind == "names_as_words":
            few = [(name, paths) for name, paths in few
                   if not re.search(r"[0-9$]", name) and sum(len(word) > 1 for word in name.split()) >= 2]
        chance = random.Random(f"{seed} {tree.name} {kind}")
        made[kind] = chance.sample(few, min(limit, len(few)))
    return made


def symbol_queries(tree, seed, count):
    """Names of at least two words with every place where exactly this name is defined."""
    table = collections.defaultdict(list)
    for name, path, line, _ in tree.definitions():
        if wordy(name):
            table[name].append((path, line))
    names = sorted(table)
    chance = random.Random(f"{seed} {tree.name} symbols")
    return [(" ".join(words_of(name)), name, table[name]) for name in chance.sample(names, min(count, len(names)))]


# --- Engines ----------------------------------------------------------------------------------------------------------


class Readproof:
    def __init__(self, program, cache):
        self.program = str(Path(program).resolve())
        self.cache = cache
        self.failed = collections.Counter()

    def call(self, tree, mode, query):
        """The results of a search in JSON; none if nothing was found."""
        home = self.cache / "home"
        home.mkdir(parents=True, exist_ok=True)
        kept = {name: value for name, value in os.environ.items() if not name.startswith(("READPROOF_", "XDG_", "GIT_"))}
        kept |= {"HOME": str(home.resolve()), "READPROOF_WORKSPACE": str(tree.folder.resolve()),
                 "READPROOF_STATE_DIR": str((self.cache / "state").resolve())}
        call = [self.program, "search", "--json", "--mode", mode, "--", query]
        done = subprocess.run(call, cwd=tree.folder, env=kept, stdin=subprocess.DEVNULL, capture_output=True)
        try:
            answer = json.loads(done.stdout)
        except ValueError:
            self.failed[f"{mode}: exit {done.returncode}: {done.stderr.decode(errors='replace').strip()[:200]}"] += 1
            return []
        if not answer.get("ok", True):
            self.failed[f"{mode}: {json.dumps(answer.get('error', answer))[:200]}"] += 1
        return answer.get("results") or []

    def files(self, tree, query):
        return list(dict.fromkeys(result["path"] for result in self.call(tree, "text", query)))[:10]

    def symbols(self, tree, query):
        return self.call(tree, "symbol", query)[:3]


class Ripgrep:
    def __init__(self, program):
        self.program = program

    def files(self, tree, query):
        """Files by the number of lines that have any of the words."""
        words = [word for word in (word.strip("\"'()[]{}<>,.;:!?") for word in query.split()) if word]
        call = [self.program, "--no-config", "--no-ignore", "-j1", "-i", "-c", "-F"]
        call += [part for word in words for part in ("-e", word)]
        done = subprocess.run([*call, "./"], cwd=tree.folder, stdin=subprocess.DEVNULL, capture_output=True)
        found = []
        for line in done.stdout.decode(errors="replace").splitlines():
            path, _, count = line.rpartition(":")
            found.append((-int(count), path.removeprefix("./")))
        return [path for _, path in sorted(found)[:10]]


class Remembered:
    """Answers of the engines that do not change, kept per tree."""

    def __init__(self, tree, engine, answer):
        self.place = tree.cache / "answers" / f"{tree.key}-{engine}-{INDEX_FORMAT}.json"
        self.known = json.loads(self.place.read_text()) if self.place.exists() else {}
        self.answer = answer
        self.tree = tree

    def all(self, asked, workers):
        missing = sorted({query for query in asked if query not in self.known})
        for query, found in zip(missing, workers.map(lambda query: self.answer(self.tree, query), missing)):
            self.known[query] = found
        if missing:
            write_whole(self.place, json.dumps(self.known).encode())
        return [self.known[query] for query in asked]


# --- Scores -----------------------------------------------------------------------------------------------------------


def score(found, right):
    """Reciprocal rank within 10, success within 5, recall within 5, whether there is no answer."""
    right = set(right)
    rank = next((place for place, path in enumerate(found[:10], 1) if path in right), None)
    hits = len(right & set(found[:5]))
    return (1 / rank if rank else 0.0, float(hits > 0), hits / len(right), float(not found))


def mean(rows):
    return [sum(column) / len(rows) for column in zip(*rows)] if rows else [0.0] * 4


def bar(base):
    """What BM25's figure asks for, and why: the lower of two forms, which meet at 5/7."""
    more, halved = base * 1.2, 1 - (1 - base) / 2
    return (more, "1.2 x BM25") if more <= halved else (halved, "half of BM25's gap to 1")


def table(rows, engines):
    """Prints one line per set; returns them as objects."""
    print(f"{'set':<22}{'queries':>8}", end="")
    for engine in engines:
        print(f" | {engine + ' MRR':>13} {'succ@5':>7} {'rec@5':>6}" + (f" {'empty':>7}" if engine == "readproof" else ""), end="")
    print(" |  ratio to BM25 (MRR, succ@5)" if "readproof" in engines else "")
    made = []
    for title, judged in rows:
        figures = {engine: mean([row[engine] for row in judged]) for engine in engines}
        print(f"{title:<22}{len(judged):>8}", end="")
        for engine in engines:
            reciprocal, success, recall, empty = figures[engine]
            print(f" | {reciprocal:>13.3f} {success:>7.3f} {recall:>6.3f}" + (f" {empty:>7.1%}" if engine == "readproof" else ""), end="")
        if "readproof" in engines:
            ratios = [figures["readproof"][k] / figures["bm25"][k] if figures["bm25"][k] else math.inf for k in (0, 1)]
            print(f" | {ratios[0]:>6.2f} {ratios[1]:>6.2f}", end="")
        print()
        made.append({"set": title, "queries": len(judged), **{
            engine: dict(zip(("mrr10", "success5", "recall5", "empty"), figures[engine])) for engine in engines}})
    return made


def check(title, judged):
    """The bars that a set misses."""
    figures = {engine: mean([row[engine] for row in judged]) for engine in ("readproof", "bm25", "rg")}
    missed = []
    for number, name in ((0, "MRR@10"), (1, "success@5")):
        ours, base, counted = (figures[engine][number] for engine in ("readproof", "bm25", "rg"))
        wanted, form = bar(base)
        verdict = "ok" if ours >= wanted else "MISSED"
        print(f"  {title:<16} {name:<10} {ours:.3f} >= {wanted:.3f} ({form}, BM25 {base:.3f}): {verdict}")
        if ours < wanted:
            missed.append(f"{title} {name}")
        if ours <= counted:
            print(f"  {title:<16} {name:<10} {ours:.3f} >  {counted:.3f} (rg by count): MISSED")
            missed.append(f"{title} {name} against rg")
    if figures["readproof"][3] >= 0.02:
        print(f"  {title:<16} empty      {figures['readproof'][3]:.1%} < 2 %: MISSED")
        missed.append(f"{title} empty")
    return missed


def defines(result, name, places):
    """Whether a result is one of the definitions: that name, that file, and that line in it."""
    if result.get("name") != name:
        return False
    begin = result.get("line", 0)
    end, at = result.get("end_line", begin), result.get("name_line", begin)
    return any(path == result.get("file") and (line == at or begin <= line <= min(end, at + 2)) for path, line in places)


# --- The command ------------------------------------------------------------------------------------------------------


def main():
    asked = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    asked.add_argument("--readproof", help="the program; without it only BM25 and ripgrep are measured")
    asked.add_argument("--rg", help="ripgrep; otherwise the installed one, or the one of the Debian package")
    asked.add_argument("--seed", type=int, default=1)
    asked.add_argument("--set", dest="group", choices=("dev", "held"), default="dev", help="the group of trees")
    asked.add_argument("--tree", choices=sorted(TREES), help="only this tree, of whichever group")
    asked.add_argument("--limit", type=int, default=50, help="queries per set and tree")
    asked.add_argument("--symbols", type=int, default=300, help="definitions looked up per tree with --mode symbol")
    asked.add_argument("--only", choices=SETS, help="only this set of queries")
    asked.add_argument("--json", metavar="OUT", help="write the figures and every query")
    asked.add_argument("--cache", default=Path(__file__).resolve().parents[2] / "target/finding",
                       help="where trees, indexes and downloads are kept [default: target/finding of the repository]")
    asked.add_argument("--verbose", action="store_true", help="also per tree")
    asked.add_argument("--check", action="store_true", help="fail if a bar is missed")
    asked.add_argument("--misses", choices=(*SETS, "symbols"), help="list where BM25 does better, or symbols not found")
    asked.add_argument("--show", action="store_true", help="only print the queries")
    args = asked.parse_args()
    if args.check and not args.readproof:
        fail("--check needs --readproof")

    cache = Path(args.cache).resolve()
    cache.mkdir(parents=True, exist_ok=True)
    registries = Registries(cache)
    rg = args.rg or registries.program("rg", "ripgrep", ["--version"])
    readproof = Readproof(args.readproof, cache) if args.readproof else None
    engines = (["readproof"] if readproof else []) + ["bm25", "rg"]
    names = [args.tree] if args.tree else [name for name, row in TREES.items() if row[0] == args.group]
    wanted = (args.only,) if args.only else SETS

    judged, symbols = [], []
    with concurrent.futures.ThreadPoolExecutor(2) as workers:
        for name in names:
            tree = Tree(name, cache, registries)
            made = queries(tree, args.seed, args.limit)
            rows = [(kind, query, right) for kind in wanted for query, right in made[kind]]
            if args.show:
                for kind, query, right in rows:
                    print(f"{name}\t{kind}\t{query}\t{' '.join(right)}")
                continue
            texts = [query for _, query, _ in rows]
            found = {"bm25": Remembered(tree, "bm25", lambda tree, query: tree.index().search(query)).all(texts, workers),
                     "rg": Remembered(tree, "rg", Ripgrep(rg).files).all(texts, workers)}
            if readproof:
                begin = time.monotonic()
                found["readproof"] = list(workers.map(lambda query: readproof.files(tree, query), texts))
                say(f"{name}: {len(tree.files)} files, {len(texts)} searches in {time.monotonic() - begin:.0f} s")
            for number, (kind, query, right) in enumerate(rows):
                row = {"tree": name, "set": kind, "query": query, "right": right}
                for engine in engines:
                    row[engine] = score(found[engine][number], right)
                    row[f"{engine}_found"] = found[engine][number][:10]
                judged.append(row)
            if readproof and args.symbols and not args.only:
                looked = symbol_queries(tree, args.seed, args.symbols)
                for (query, word, places), results in zip(
                        looked, workers.map(lambda row: readproof.symbols(tree, row[0]), looked)):
                    hit = any(defines(result, word, places) for result in results)
                    symbols.append({"tree": name, "query": query, "name": word, "places": places, "hit": hit, "empty": not results,
                                    "found": [f"{r.get('file')}:{r.get('name_line')} {r.get('name')}" for r in results]})
    if args.show:
        return 0

    title = args.tree or args.group
    print(f"{title}, seed {args.seed}: {', '.join(names)}")
    sets = [(kind, [row for row in judged if row["set"] == kind]) for kind in wanted]
    figures = table([*sets, ("all", judged)], engines)
    per_tree = []
    if args.verbose:
        for name in names:
            print(f"\n{name}")
            per_tree.append({"tree": name, "sets": table(
                [(kind, [row for row in rows if row["tree"] == name]) for kind, rows in sets], engines)})
    if symbols:
        print()
        for name in [*names, None]:
            rows = [row for row in symbols if name in (None, row["tree"])]
            share, empty = sum(row["hit"] for row in rows) / len(rows), sum(row["empty"] for row in rows) / len(rows)
            print(f"symbols {name or 'all':<14} {len(rows):>5} names, definition in the first 3: {share:.1%}, no answer: {empty:.1%}")
    if readproof and readproof.failed:
        print("\nsearches that failed:")
        for message, count in readproof.failed.most_common(10):
            print(f"  {count} x {message}")

    if args.misses == "symbols":
        for row in symbols:
            if not row["hit"]:
                print(f"\n{row['tree']}: {row['query']} -> {row['name']} in {row['places'][:3]}\n  found {row['found']}")
    elif args.misses and readproof:
        for row in judged:
            if row["set"] == args.misses and row["bm25"][0] > row["readproof"][0]:
                print(f"\n{row['tree']}: {row['query']}\n  right: {', '.join(row['right'])}")
                for engine in ("readproof", "bm25"):
                    print(f"  {engine} {row[engine][0]:.2f}")
                    for path in row[f"{engine}_found"][:5]:
                        print(f"    {'*' if path in row['right'] else ' '} {path}")

    missed = []
    if readproof:
        print("\nbars")
        for kind, rows in sets:
            if rows:
                missed += check(kind, rows)
        if symbols:
            share = sum(row["hit"] for row in symbols) / len(symbols)
            print(f"  {'symbols':<16} {share:.1%} >= 95 %: {'ok' if share >= 0.95 else 'MISSED'}")
            missed += ["symbols"] if share < 0.95 else []
        print(f"  {len(missed)} missed" if missed else "  all reached")
    if args.json:
        answer = {"group": title, "seed": args.seed, "trees": names, "sets": figures, "per_tree": per_tree,
                  "missed": missed, "queries": judged, "symbols": symbols}
        Path(args.json).write_text(json.dumps(answer, indent=1) + "\n")
    return 1 if args.check and missed else 0


if __name__ == "__main__":
    sys.exit(main())
