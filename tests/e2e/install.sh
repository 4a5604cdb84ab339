#!/bin/sh
# What `meson install` puts down is complete, and works from there alone.
set -eu
stage=$(mktemp -d)
trap 'rm -rf "$stage"' EXIT

if ! meson install -C "$BATCHLAB_BUILD_ROOT" --no-rebuild --destdir "$stage" >"$stage/log" 2>&1; then
    cat "$stage/log"
    exit 1
fi

find_one() { # NAME
    found=$(find "$stage" -name "$1" -type f)
    if [ -z "$found" ] || [ "$(echo "$found" | wc -l)" -ne 1 ]; then
        echo "install: wanted one $1, found: '$found'" >&2
        exit 1
    fi
    echo "$found"
}

# A lab that runs needs no file of the source tree.
lab=$(find "$stage" -path '*/bin/batchlab' -type f)
cd "$stage"
"$lab" --version | grep -q '^batchlab [0-9]'
"$lab" help sweep | grep -q -- --blocks
if [ -d "$BATCHLAB_BUILD_ROOT/src/train" ]; then
    test -x "${lab}-train"
fi

# A program that knows the installed header only.
header=$(find_one batchlab_marker.h)
cat >program.c <<'END'
#include <batchlab_marker.h>
int main(void)
{
    batchlab_marker marker;
    batchlab_marker_open(&marker);
    batchlab_marker_step(&marker, 8, 0.5, -1);
    batchlab_marker_close(&marker);
    return 0;
}
END
cc -I"${header%/*}" -o program program.c
BATCHLAB_FD=3 ./program 3>markers
grep -q '"type":"step","samples":8' markers

if command -v pkg-config >/dev/null; then
    package=$(find_one batchlab-marker.pc)
    PKG_CONFIG_PATH=${package%/*} PKG_CONFIG_SYSROOT_DIR=$stage pkg-config --cflags batchlab-marker >flags
    # shellcheck disable=SC2046 # words of a command line
    cc $(cat flags) -o program program.c
    test "$(PKG_CONFIG_PATH=${package%/*} pkg-config --modversion batchlab-marker)" = "$("$lab" --version | sed 's/.* //')"
fi

# Pages and completion, where this machine can make them.
test -s "$(find_one batchlab.1)"
grep -q '^complete -F' "$(find "$stage" -path '*bash-completion/completions/batchlab')"
grep -q '^#compdef' "$(find_one _batchlab)"
grep -q '^complete -c' "$(find_one batchlab.fish)"

python=$(find_one batchlab_marker.py)
PYTHONDONTWRITEBYTECODE=1 PYTHONPATH=${python%/*} BATCHLAB_FD=3 python3 -c '
from batchlab_marker import track
for batch in track([1, 2], 8):
    pass
' 3>python-markers
test "$(grep -c '"type": *"step"' python-markers)" -eq 2
