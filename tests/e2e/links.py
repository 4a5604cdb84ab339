#!/usr/bin/env python3
"""Every relative link and every repository path named in the documents leads somewhere, and every document that the
sources name is there."""
import os
import re
import subprocess
import sys

LINK = re.compile(r'\[[^\]]*\]\(([^)#\s]+)(?:#[^)]*)?\)')
PATH = re.compile(r'`((?:src|tests|tools|docs|bench|fuzz|include|python|\.ci)/[\w./-]*)`')

root = os.environ['BATCHLAB_SOURCE_ROOT']
documents = []
for folder, folders, files in os.walk(root):
    folders[:] = [f for f in folders if not f.startswith(('.git', 'build'))]
    documents += [os.path.join(folder, f) for f in files if f.endswith('.md')]
if len(documents) < 5:
    sys.exit(f'links: only {len(documents)} documents found')

broken = 0
for document in sorted(documents):
    with open(document, encoding='utf-8') as f:
        text = f.read()
    targets = [(t, os.path.join(os.path.dirname(document), t)) for t in LINK.findall(text)
               if not re.match(r'[a-z]+:', t)]
    # Names with capitals for a part to be filled in (cmd_NAME.c) are patterns.
    targets += [(t, os.path.join(root, t)) for t in PATH.findall(text) if not re.search(r'NAME|ROOM|WHAT|NNNN', t)]
    for shown, target in targets:
        if not os.path.exists(target):
            print(f'{os.path.relpath(document, root)}: {shown} leads nowhere')
            broken += 1
for folder, _, files in (entry for top in ('src', 'include', 'python', 'tools', 'bench', 'fuzz')
                         for entry in os.walk(os.path.join(root, top))):
    for name in (f for f in files if f.endswith(('.c', '.h', '.py', '.build'))):
        with open(os.path.join(folder, name), encoding='utf-8') as f:
            for document in re.findall(r'\bdocs/[\w/-]+\.md\b', f.read()):
                if not os.path.exists(os.path.join(root, document)):
                    print(f'{os.path.relpath(os.path.join(folder, name), root)}: {document} is not there')
                    broken += 1
# Records that came since the list was written are named, no more; a line that is wrong is a mistake.
broken += subprocess.run([os.path.join(root, 'tools', 'decision-index'), '--check']).returncode
sys.exit(1 if broken else 0)
