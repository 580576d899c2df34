#!/usr/bin/env bash
# Tags a release. Usage: scripts/release.sh 1.4.1
set -euo pipefail

version="${1:?a version is needed}"

check_clean() {
  if [ -n "$(git status --porcelain)" ]; then
    echo "there are uncommitted changes" >&2
    exit 1
  fi
}

bump_version() {
  sed -i "s/^version = .*/version = \"$1\"/" pyproject.toml Cargo.toml
}

check_clean
bump_version "$version"
git commit -am "release $version"
git tag "v$version"
git push origin main "v$version"
