#!/usr/bin/env python3
"""docs/COMMANDS.md and --help agree: each command has a section, each option is explained, with its short name, its
value and its default, and none is invented. Commands shown in any document use options that exist."""
import os
import re
import subprocess
import sys

root = os.environ['BATCHLAB_SOURCE_ROOT']
build = os.environ['BATCHLAB_BUILD_ROOT']
lab = os.path.join(build, 'src', 'lab', 'batchlab')
trainer = os.path.join(build, 'src', 'train', 'batchlab-train')
problems = []


def output(*command):
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode != 0 or done.stderr:
        problems.append(f'{" ".join(command)}: exit status {done.returncode}, stderr {done.stderr!r}')
    return done.stdout


def options_of(text):
    """From --help: {'-b, --batch LIST': default or None}."""
    found, spec = {}, None
    for line in text.split('\nExamples:')[0].splitlines():
        m = re.match(r'  (-\w, |    )(--[\w-]+(?: [A-Z=]+)?)(?:\s+(.*))?$', line)
        if m:
            spec = m.group(1).strip() + ' ' + m.group(2)
            found[spec.strip()] = m.group(3) or ''
        elif spec and line.startswith(' ' * 20):
            found[spec.strip()] += ' ' + line.strip()
        else:
            spec = None
    defaults = {}
    for spec, help_text in found.items():
        m = re.search(r'\(default: ([^)]*)\)', help_text)
        defaults[spec] = m.group(1) if m else None
    return defaults


def sections_of(document):
    return dict(re.findall(r'^## (batchlab[\w -]*)\n((?:(?!## ).*\n)*)', document, re.M))


commands = {}
names = re.findall(r'^  (\w+) {2,}\S', output(lab, '--help').split('Commands:')[1].split('\n\n')[0], re.M)
if len(names) < 5:
    sys.exit(f'help_document: only the commands {names} found')
for name in names:
    text = output(lab, name, '--help')
    if text != output(lab, 'help', name):
        problems.append(f'batchlab help {name} and batchlab {name} --help differ')
    commands[f'batchlab {name}'] = options_of(text)
with open(os.path.join(root, 'docs', 'COMMANDS.md'), encoding='utf-8') as f:
    sections = sections_of(f.read())
if os.path.exists(trainer) and 'batchlab-train' in sections:
    commands['batchlab-train'] = options_of(output(trainer, '--help'))

for command in sorted(set(sections) - set(commands)):
    problems.append(f'docs/COMMANDS.md: there is no command {command}')
for command, options in commands.items():
    if command not in sections:
        problems.append(f'docs/COMMANDS.md: no section on {command}')
        continue
    entries = dict(re.findall(r'^- `((?:-\w, )?--[^`]*)`: ((?:.*\n(?!- |\n|\*))*.*)', sections[command], re.M))
    for spec, default in options.items():
        if spec == '-h, --help':
            continue
        if spec not in entries:
            problems.append(f'docs/COMMANDS.md: {command}: `{spec}` is not explained')
        elif default and f'default: {default}' not in ' '.join(entries[spec].split()):
            problems.append(f'docs/COMMANDS.md: {command}: `{spec}` does not say "default: {default}"')
    for spec in entries:
        if spec not in options:
            problems.append(f'docs/COMMANDS.md: {command}: `{spec}` does not exist')

# Every command line shown in a document.
shown = 0
for folder, folders, files in os.walk(root):
    folders[:] = [f for f in folders if not f.startswith(('.git', 'build'))]
    for name in (f for f in files if f.endswith('.md')):
        path = os.path.join(folder, name)
        with open(path, encoding='utf-8') as f:
            lines = re.findall(r'(?:^ {4}|`)(?:[\w./]*/)?(batchlab(?:-train)?(?: [a-z]\w*)?)\b([^`\n]*)', f.read(), re.M)
        for command, words in lines:
            command = command if command in commands else command.split(' ')[0]
            if command not in commands:
                continue
            shown += 1
            known = {w.split(' ')[0] for spec in commands[command] for w in spec.split(', ')} | {'--help', '-h'}
            for word in words.split(' -- ')[0].split():
                option = word.split('=')[0]
                if re.match(r'--?[a-z]', option) and option not in known and option.replace('--no-', '--') not in known:
                    problems.append(f'{os.path.relpath(path, root)}: {command} has no option {option}')
if shown < 5:
    problems.append(f'only {shown} command lines found in the documents')
print('\n'.join(problems) or f'{sum(map(len, commands.values()))} options of {len(commands)} commands, {shown} lines')
sys.exit(1 if problems else 0)
