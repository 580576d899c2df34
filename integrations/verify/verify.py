#!/usr/bin/env python3
"""Checks proofs and checkpoints of a Readproof audit log, offline.

Needs Python 3.8 and nothing else, and shares no code with Readproof. The formats are those of C2SP: signed-note,
tlog-checkpoint, tlog-proof and tlog-tiles; the tree is that of RFC 6962; signatures are Ed25519 (RFC 8032).

    verify.py proof FILE --key KEY [--text FILE]      what does this proof show?
    verify.py checkpoint FILE --key KEY               is this checkpoint signed by the log?
    verify.py log FOLDER --key KEY [--checkpoint FILE]    do the lines in a copy of .readproof/audit have the signed root?
    verify.py batch --key KEY                         one JSON object per line on standard input, one answer per line

KEY is the public key as `readproof audit key` prints it, or a file that holds it. Exit code 0: it holds. 1: it does not.
2: usage.
"""
import base64
import hashlib
import json
import os
import sys


class Wrong(Exception):
    """What does not hold, in words."""


P = 2 ** 255 - 19
L = 2 ** 252 + 27742317777372353535851937790883648493
D = -121665 * pow(121666, P - 2, P) % P
ROOT_OF_MINUS_1 = pow(2, (P - 1) // 4, P)


def add(a, b):
    """The sum of two points, each as (X, Y, Z, T) with x = X/Z, y = Y/Z, xy = T/Z."""
    u, v = (a[1] - a[0]) * (b[1] - b[0]) % P, (a[1] + a[0]) * (b[1] + b[0]) % P
    s, t = 2 * a[3] * b[3] * D % P, 2 * a[2] * b[2] % P
    e, f, g, h = v - u, t - s, t + s, v + u
    return e * f % P, g * h % P, f * g % P, e * h % P


def times(number, point):
    total = (0, 1, 1, 0)
    while number > 0:
        if number & 1:
            total = add(total, point)
        point, number = add(point, point), number >> 1
    return total


def same(a, b):
    return (a[0] * b[2] - b[0] * a[2]) % P == 0 and (a[1] * b[2] - b[1] * a[2]) % P == 0


def point_of(data):
    """The point that 32 bytes encode, or None."""
    y = int.from_bytes(data, "little")
    sign, y = y >> 255, y & ((1 << 255) - 1)
    if y >= P:
        return None
    square = (y * y - 1) * pow(D * y * y + 1, P - 2, P) % P
    x = pow(square, (P + 3) // 8, P)
    if (x * x - square) % P != 0:
        x = x * ROOT_OF_MINUS_1 % P
    if (x * x - square) % P != 0 or (x == 0 and sign == 1):
        return None
    x = P - x if x & 1 != sign else x
    return x, y, 1, x * y % P


BASE = point_of((4 * pow(5, P - 2, P) % P).to_bytes(32, "little"))


def is_signed(public, message, signature):
    if len(public) != 32 or len(signature) != 64:
        return False
    key, nonce, scalar = point_of(public), point_of(signature[:32]), int.from_bytes(signature[32:], "little")
    if key is None or nonce is None or scalar >= L or same(times(8, key), (0, 1, 1, 0)):
        return False
    digest = int.from_bytes(hashlib.sha512(signature[:32] + public + message).digest(), "little") % L
    return same(times(scalar, BASE), add(nonce, times(digest, key)))


def unbase64(text, what):
    """Standard base64 in its one canonical spelling."""
    try:
        data = base64.b64decode(text.encode("ascii"), validate=True)
    except ValueError:
        data = None
    if data is None or base64.b64encode(data).decode() != text:
        raise Wrong(what + " is not base64")
    return data


def key_of(text):
    """(name, id, public key) of `name+id+key`."""
    name, number, data = (text.strip().split("+", 2) + ["", ""])[:3]
    data = unbase64(data, "the key")
    found = hashlib.sha256(name.encode() + b"\n" + data).digest()[:4]
    if len(data) != 33 or data[0] != 1 or found.hex() != number:
        raise Wrong("the key is not an Ed25519 key with its own id")
    return name, found, data[1:]


def signed_text(note, key):
    """The text of a note, if the key signed it and no signature in its name is wrong."""
    if any(ord(c) < 32 and c != "\n" for c in note) or "\n\n" not in note or not note.endswith("\n"):
        raise Wrong("the checkpoint is not a signed note")
    at, own = note.rindex("\n\n"), 0
    text, lines = note[:at + 1], note[at + 2:-1].split("\n")
    for line in lines:
        words = line.split(" ")
        data = unbase64(words[-1], "a signature")
        if len(words) != 3 or words[0] != "\u2014" or not words[1] or "+" in words[1] or len(data) < 5:
            raise Wrong("the checkpoint is not a signed note")
        if words[1] == key[0] and data[:4] == key[1]:
            own += 1
            if not is_signed(key[2], text.encode(), data[4:]):
                raise Wrong("the checkpoint's signature is wrong")
    if own == 0:
        raise Wrong("the checkpoint is not signed by this key")
    return text


def number_of(text, what):
    if not text.isascii() or not text.isdigit() or str(int(text)) != text or int(text) >= 1 << 64:
        raise Wrong(what + " is not a number")
    return int(text)


def checkpoint(note, key):
    """(size, root) that a checkpoint signs."""
    lines = signed_text(note, key).split("\n")[:-1]
    if len(lines) < 3 or "" in lines:
        raise Wrong("what is signed is not a checkpoint")
    size, root = number_of(lines[1], "the checkpoint's size"), unbase64(lines[2], "the checkpoint's root")
    if len(root) != 32:
        raise Wrong("the checkpoint's root is not a hash")
    if lines[0] != key[0]:
        raise Wrong("the checkpoint is of another log, " + lines[0])
    return size, root


def leaf(entry):
    return hashlib.sha256(b"\0" + entry).digest()


def node(left, right):
    return hashlib.sha256(b"\1" + left + right).digest()


def root_of(hashes):
    if not hashes:
        return hashlib.sha256(b"").digest()
    while len(hashes) > 1:
        hashes = [node(*hashes[i:i + 2]) if i + 1 < len(hashes) else hashes[i] for i in range(0, len(hashes), 2)]
    return hashes[0]


def is_included(hash_, index, size, proof, root):
    """RFC 9162 section 2.1.3.2."""
    if index >= size:
        return False
    at, last = index, size - 1
    for step in proof:
        if last == 0:
            return False
        if at & 1 or at == last:
            hash_ = node(step, hash_)
            while not at & 1 and at:
                at, last = at >> 1, last >> 1
        else:
            hash_ = node(hash_, step)
        at, last = at >> 1, last >> 1
    return last == 0 and hash_ == root


def proof(text, key):
    """What a proof shows: the call's line, its index, and the text or None."""
    head, _, rest = text.partition("\n")
    if head != "c2sp.org/tlog-proof@v1":
        raise Wrong("it is not a proof in the form c2sp.org/tlog-proof@v1")
    if not rest.startswith("extra "):
        raise Wrong("the proof does not hold the line that it is about")
    line, _, rest = rest.partition("\n")
    try:
        beside = json.loads(unbase64(line[6:], "the proof's extra data").decode())
        entry = beside["line"].encode()
    except (ValueError, KeyError, TypeError, AttributeError):
        raise Wrong("the proof does not hold the line that it is about")
    line, _, rest = rest.partition("\n")
    if not line.startswith("index "):
        raise Wrong("the proof has no index")
    index, hashes = number_of(line[6:], "the proof's index"), []
    while True:
        line, newline, rest = rest.partition("\n")
        if not newline:
            raise Wrong("the proof has no checkpoint")
        if not line:
            break
        hashes.append(unbase64(line, "a hash of the proof"))
        if len(hashes[-1]) != 32 or len(hashes) > 64:
            raise Wrong("a hash of the proof is not one")
    size, root = checkpoint(rest, key)
    if not is_included(leaf(entry), index, size, hashes, root):
        raise Wrong("the hashes do not lead from the line to the signed root")
    try:
        call = json.loads(entry.decode())
    except ValueError:
        call = None
    if not isinstance(call, dict) or call.get("kind") != "call":
        raise Wrong("the line is not of a call")
    returned, nonce = beside.get("text"), beside.get("nonce")
    if (returned is None) != (nonce is None):
        raise Wrong("the proof discloses a text without its nonce, or a nonce without its text")
    if returned is not None:
        try:
            found = hashlib.sha256(bytes.fromhex(nonce) + returned.encode()).hexdigest()
        except (ValueError, TypeError, AttributeError):
            raise Wrong("the nonce is not one")
        if len(nonce) != 64 or nonce != nonce.lower() or call.get("returned") != found:
            raise Wrong("the text is not the one that the line names")
    return call, index, size, returned


def log(folder, key, kept=None):
    """Compares the lines of a copied log with its checkpoint, and with one that was kept."""
    def data(*path):
        with open(os.path.join(folder, *path), "rb") as file:
            return file.read()
    tail = data("tail")
    first, bundles = int.from_bytes(tail[:8], "big"), []
    for number in range(first // 256):
        digits, number = "%03d" % (number % 1000), number // 1000
        while number:
            digits, number = "x%03d/%s" % (number % 1000, digits), number // 1000
        bundles.append(data("tile", "entries", *digits.split("/")))
    hashes = []
    for bundle in bundles + [tail[8:]]:
        at = 0
        while at + 2 <= len(bundle):
            end = at + 2 + int.from_bytes(bundle[at:at + 2], "big")
            hashes += [leaf(bundle[at + 2:end])] if end <= len(bundle) else []
            at = end
    notes = (("the log's", data("checkpoint").decode()), ("the kept", kept))
    for what, note in (pair for pair in notes if pair[1] is not None):
        size, root = checkpoint(note, key)
        if size > len(hashes):
            raise Wrong("the log has %d lines, and %s checkpoint signs %d" % (len(hashes), what, size))
        if root_of(hashes[:size]) != root:
            raise Wrong("the first %d lines are not those that %s checkpoint signs" % (size, what))
    return len(hashes)


def text_of(name):
    with (sys.stdin.buffer if name == "-" else open(name, "rb")) as file:
        data = file.read()
    try:
        return data.decode()
    except UnicodeDecodeError:
        raise Wrong(name + " is not UTF-8")


def batch(key):
    for line in sys.stdin:
        asked = json.loads(line)
        try:
            {"proof": proof, "checkpoint": checkpoint}[asked["what"]](asked["text"], key)
            print(json.dumps({"ok": True}), flush=True)
        except Wrong as why:
            print(json.dumps({"ok": False, "why": str(why)}), flush=True)


def main(words):
    given = dict(zip(words[2::2], words[3::2])) if words[:1] != ["batch"] else dict(zip(words[1::2], words[2::2]))
    if not words or "--key" not in given or words[0] not in ("proof", "checkpoint", "log", "batch"):
        return print(__doc__, file=sys.stderr) or 2
    key = given["--key"]
    key = key_of(text_of(key) if os.path.exists(key) else key)
    if words[0] == "batch":
        batch(key)
    elif words[0] == "checkpoint":
        print("signed: a log of %d lines" % checkpoint(text_of(words[1]), key)[0])
    elif words[0] == "log":
        kept = given.get("--checkpoint")
        print("as signed: a log of %d lines" % log(words[1], key, kept and text_of(kept)))
    else:
        call, index, size, text = proof(text_of(words[1]), key)
        if "--text" in given and text != text_of(given["--text"]):
            raise Wrong("the proof is of another text")
        print("proved: line %d of %d of the log %s" % (index, size, key[0]))
        print("tool: %s\nconversation: %s\nat: %s" % (call.get("tool"), call.get("conversation"), call.get("at")))
        print("text: %s" % ("not disclosed" if text is None else "%d bytes" % len(text.encode())))
    return 0


if __name__ == "__main__":
    try:
        sys.exit(main(sys.argv[1:]))
    except (Wrong, OSError) as error:
        print("verify: %s" % error, file=sys.stderr)
        sys.exit(1)
