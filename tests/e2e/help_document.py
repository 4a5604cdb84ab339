#!/usr/bin/env python3
"""docs/COMMANDS.md and --help agree: each command has a section, each option is explained, with its short name, its
value and its default, and none is invented. Commands shown in any document use options that exist, and those that are said to
run do."""
import os
import re
import shlex
import subprocess
import sys
import tempfile

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

# Every command line shown in a document: blocks, indented or fenced, and spans of code. Where the comment <!-- runs --> stands
# before a block, its lines are run as well, one after the other in a folder of their own.
SPAN = re.compile(r'`([^`\n]+)`')
COMMAND = re.compile(r'(?:[\w./$-]*/)?(batchlab(?:-train)?)$')


def code_of(text):
    """(line number, code, whether it is to run) of each line of code; None for a span, which may be any words."""
    block, runs, fence, pending = [], False, None, ''
    for number, line in enumerate(text.split('\n'), 1):
        if fence is not None:
            if line.strip() == fence:
                fence, runs = None, False
                continue
        elif re.match(r' *(```|~~~)', line):
            fence = line.strip()[:3]
            continue
        elif line.startswith('<!-- runs -->'):
            runs = True
            continue
        elif not line.startswith('    '):
            if line.strip():
                runs = False
            for span in SPAN.findall(line):
                yield number, span, None
            continue
        code = pending + line.strip()
        pending = ''
        if code.endswith('\\'):
            pending = code[:-1]
            continue
        yield number, code, runs


def words_of(code):
    """Words of the commands of a line; None where it is no line for a shell."""
    lexer = shlex.shlex(code, posix=True, punctuation_chars='|;&><')
    lexer.whitespace_split = True
    try:
        words = list(lexer)
    except ValueError:
        return []
    commands, current = [], []
    for word in words:
        if word and set(word) <= set('|;&><'):
            commands.append(current)
            current = []
        else:
            current.append(word)
    return commands + [current]


def check_words(words, where, sure):
    """1 where these are a command of ours."""
    while words and re.match(r'\w+=', words[0]):
        words = words[1:]
    m = COMMAND.match(words[0]) if words else None
    if not m:
        return 0
    program, words = m.group(1), words[1:]
    if program not in programs:
        return 0
    command = program
    if words and f'{program} {words[0]}' in commands:
        command, words = f'{program} {words[0]}', words[1:]
    elif program == 'batchlab' and words and re.match(r'[a-z]+$', words[0]) and words[0] != 'help' and not sure:
        return 0
    elif program == 'batchlab' and words and re.match(r'[a-z]+$', words[0]) and words[0] != 'help':
        problems.append(f'{where}: there is no command batchlab {words[0]}')
        return 1
    elif program == 'batchlab' and words and re.match('-', words[0]) and words[0] not in ('--help', '-h', '--version', '-V'):
        problems.append(f'{where}: {words[0]} is no command of batchlab')
        return 1
    elif not words or program == 'batchlab':
        return 1
    options = {}
    for spec in commands[command]:
        value = spec.split(' ')[-1] if re.search(r' [A-Z=]+$', spec) else None
        for name in re.findall(r'--?[\w-]+', re.sub(r' [A-Z=]+$', '', spec)):
            options[name] = value
    i = 0
    while i < len(words) and words[i] not in ('--', '...'):
        word, i = words[i], i + 1
        name = word.split('=')[0] if word.startswith('--') else word[:2]
        if not re.match(r'--?[A-Za-z]', word):
            continue
        plain = name.replace('--no-', '--')
        if name not in options and plain not in options and name not in ('--help', '-h'):
            problems.append(f'{where}: {command} has no option {name}')
        elif options.get(name) and word == name:
            i += 1  # its value
    return 1


def run_lines(lines, folder, where):
    env = dict(os.environ, PATH=f'{os.path.dirname(lab)}:{os.path.dirname(trainer)}:{os.environ["PATH"]}')
    for line in lines:
        if line.startswith(('batchlab-train', 'batchlab gemm')) and not os.path.exists(trainer):
            continue
        done = subprocess.run(['sh', '-c', line], cwd=folder, env=env, capture_output=True, text=True, stdin=subprocess.DEVNULL,
                              timeout=600)
        if done.returncode != 0:
            problems.append(f'{where}: {line}: exit status {done.returncode}: {done.stderr.strip()[-300:]}')


if os.path.exists(trainer):
    commands['batchlab-train'] = options_of(output(trainer, '--help'))
    commands['batchlab-train time'] = options_of(output(trainer, 'time', '--help'))
programs = {c.split(' ')[0] for c in commands}
shown = ran = 0
documents = subprocess.run(['git', '-C', root, 'ls-files', '-co', '--exclude-standard', '*.md'], capture_output=True, text=True).stdout.split() \
    or [os.path.relpath(os.path.join(folder, f), root) for folder, _, files in os.walk(os.path.join(root, 'docs')) for f in files
        if f.endswith('.md')] + ['README.md', 'CONTRIBUTING.md']
for path in sorted(set(documents)):
    to_run = []
    with open(os.path.join(root, path), encoding='utf-8') as f:
        for number, code, runs in code_of(f.read()):
            where = f'{path}:{number}'
            shown += sum(check_words(words, where, runs is not None) for words in words_of(code))
            if runs and code:
                to_run.append(code)
    with tempfile.TemporaryDirectory() as folder:
        run_lines(to_run, folder, path)
    ran += len(to_run)
if shown < 5 or ran < 1:
    problems.append(f'only {shown} command lines found in the documents, {ran} to be run')
print('\n'.join(problems) or f'{sum(map(len, commands.values()))} options of {len(commands)} commands, {shown} command lines, {ran} run')
sys.exit(1 if problems else 0)
