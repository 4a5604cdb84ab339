#!/bin/sh
# pip installs the Python file, without a network, into an environment of its own.
set -eu
python=/usr/bin/python3
if ! "$python" -c 'import setuptools, wheel, pip, venv' 2>/dev/null; then
    echo "pip: $python has no pip, venv, setuptools and wheel (Debian: python3-pip python3-venv python3-setuptools python3-wheel)"
    exit 77
fi
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cp -r "$BATCHLAB_SOURCE_ROOT/python" "$folder/source" # pip leaves files beside what it builds
"$python" -m venv --system-site-packages --without-pip "$folder/venv"
"$folder/venv/bin/python" -m pip install --quiet --no-build-isolation --no-index --disable-pip-version-check "$folder/source"
cd /
BATCHLAB_FD=3 "$folder/venv/bin/python" -c '
import sys
import batchlab_marker
assert batchlab_marker.__file__.startswith(sys.prefix), batchlab_marker.__file__
for batch in batchlab_marker.track([1, 2], 8):
    pass
' 3>"$folder/markers"
test "$(grep -c '"type": *"step"' "$folder/markers")" -eq 2
"$folder/venv/bin/python" -m pip show --disable-pip-version-check batchlab-marker >"$folder/shown"
grep -q "^Version: $(sed -n "s/^  version: '\(.*\)',/\1/p" "$BATCHLAB_SOURCE_ROOT/meson.build")$" "$folder/shown"
