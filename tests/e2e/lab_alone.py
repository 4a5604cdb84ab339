#!/usr/bin/env python3
"""The lab alone wants SQLite, jansson and PCRE2, and nothing else: neither to be configured nor to run. (libyaml, where it is
there, adds experiment files.)"""
import json
import os
import re
import subprocess
import sys
import tempfile

root, build = os.environ['BATCHLAB_SOURCE_ROOT'], os.environ['BATCHLAB_BUILD_ROOT']
with tempfile.TemporaryDirectory() as folder:
    done = subprocess.run(['meson', 'setup', folder, root, '-Dtrainer=disabled', '-Dtests=disabled', '-Dpage=disabled', '-Dyaml=disabled'], capture_output=True,
                          text=True)
    if done.returncode != 0:
        sys.exit(done.stdout + done.stderr)
    found = {d['name'] for d in json.loads(subprocess.check_output(['meson', 'introspect', folder, '--dependencies']))}
    targets = {t['name'] for t in json.loads(subprocess.check_output(['meson', 'introspect', folder, '--targets']))}
wanted = {'sqlite3', 'jansson', 'libpcre2-8'}
# What every C library brings.
if not wanted <= found or found - wanted - {'threads', 'm', 'dl', 'dl_dep'}:
    sys.exit(f'lab_alone: configured with {sorted(found)}')
if 'batchlab' not in targets or 'batchlab-train' in targets:
    sys.exit(f'lab_alone: targets {sorted(targets)}')

loaded = {line.split()[0] for line in subprocess.check_output(['ldd', os.path.join(build, 'src', 'lab', 'batchlab')], text=True).splitlines()}
known = r'(/.*/)?(linux-vdso|linux-gate|ld-linux.*|libc|libm|libdl|libpthread|libgcc_s|libasan|libubsan|librt|libresolv)\.so.*|' \
        r'(libsqlite3|libjansson|libpcre2-8|libyaml-0)\.so.*'
strange = {name for name in loaded if not re.fullmatch(known, name)}
# SQLite's own, and what the sanitizers bring.
if strange - {'libz.so.1'} - ({'libstdc++.so.6'} if any('san' in name for name in loaded) else set()):
    sys.exit(f'lab_alone: batchlab loads {sorted(strange)}')
