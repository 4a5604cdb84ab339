#!/usr/bin/env python3
"""The man pages and the completion for shells, which the programs make of their tables of options: the pages are clean to
mandoc and groff and hold every option; real shells complete commands, options and the values that are files."""
import os
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

BUILD = os.environ['BATCHLAB_BUILD_ROOT']
PROGRAMS = {name: path for name, path in (('batchlab', os.path.join(BUILD, 'src', 'lab', 'batchlab')),
                                          ('batchlab-train', os.path.join(BUILD, 'src', 'train', 'batchlab-train')))
            if os.path.exists(path)}
ENV = dict(os.environ, PATH=':'.join([os.path.dirname(p) for p in PROGRAMS.values()] + [os.environ['PATH']]))

# Completes the last of the words as bash would, and prints what it offers.
BASH = r'''
. /usr/share/bash-completion/bash_completion 2>/dev/null
. "$1"
shift
COMP_WORDS=("$@") COMP_CWORD=$(($# - 1)) COMP_LINE="$*" COMP_POINT=${#COMP_LINE} COMP_TYPE=9 COMP_KEY=9
compopt() { :; }
"_${1//-/_}" "$1" "${COMP_WORDS[COMP_CWORD]}" "${COMP_WORDS[COMP_CWORD-1]}"
printf '%s\n' "${COMPREPLY[@]}"
'''


def output(*command, **kwargs):
    done = subprocess.run(command, capture_output=True, text=True, env=ENV, stdin=subprocess.DEVNULL, timeout=120, **kwargs)
    if done.returncode != 0 or done.stderr:
        raise AssertionError(f'{command}: exit status {done.returncode}: {done.stderr}')
    return done.stdout


def needs(program):
    return unittest.skipUnless(shutil.which(program), f'there is no {program}')


def options_of(help_text):
    return re.findall(r'^  (?:-\w, |    )--([\w-]+)', help_text.split('\nExamples:')[0], re.M)


def read(path):
    with open(path, encoding='utf-8') as f:
        return f.read()


class Pages(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.mkdtemp()
        self.addCleanup(shutil.rmtree, self.folder)
        for name in ('data.csv', 'dawn.csv'):
            open(os.path.join(self.folder, name), 'w').close()
        os.mkdir(os.path.join(self.folder, 'dark'))

    def page(self, program, *words):
        path = os.path.join(self.folder, 'page-' + program)
        with open(path, 'w', encoding='utf-8') as f:
            f.write(output(PROGRAMS[program], 'help', *words))
        return path

    def helps(self, program):
        texts = [output(PROGRAMS[program], '--help')]
        names = re.findall(r'^  (\w+) {2,}\S', texts[0].split('Commands:')[1].split('\n\n')[0], re.M) \
            if program == 'batchlab' else ['time']
        self.assertGreater(len(names), 0)
        return {name: output(PROGRAMS[program], name, '--help') for name in names} | {'': texts[0]}

    def test_man_pages_hold_every_option(self):
        for program in PROGRAMS:
            text = read(self.page(program, '--man'))
            for name, help_text in self.helps(program).items():
                heading = f'.SS {program} {name}'.strip().replace('-', '\\-')
                part = re.search(rf'^{re.escape(heading)}\n(.*?)(?=^\.S[SH]|\Z)', text, re.M | re.S)
                options = options_of(help_text)
                if not options and not name:
                    continue
                self.assertIsNotNone(part, (program, name))
                shown = part.group(1).replace('\\-', '-')
                for option in options:
                    self.assertIn(f'--{option}', shown, (program, name))

    @needs('mandoc')
    def test_man_pages_are_clean_to_mandoc(self):
        for program in PROGRAMS:
            done = subprocess.run(['mandoc', '-Tlint', '-W', 'warning', self.page(program, '--man')], capture_output=True, text=True)
            self.assertEqual((done.stdout + done.stderr, done.returncode), ('', 0))

    @needs('groff')
    def test_man_pages_are_clean_to_groff(self):
        for program in PROGRAMS:
            output('groff', '-ww', '-man', '-Tutf8', '-z', self.page(program, '--man'))

    def bash(self, *words):
        script = self.page(words[0], '--completion', 'bash')
        out = output('bash', '-c', BASH, 'bash', script, *words, cwd=self.folder)
        return [line.rstrip() for line in out.split('\n') if line]

    def test_bash_completes(self):
        self.assertEqual(self.bash('batchlab', 'swe'), ['sweep'])
        self.assertIn('compare', self.bash('batchlab', ''))
        self.assertIn('--version', self.bash('batchlab', '--v'))
        self.assertEqual(self.bash('batchlab', 'help', 'swe'), ['sweep'])
        for name, text in self.helps('batchlab').items():
            if name:
                offered = self.bash('batchlab', name, '--')
                self.assertEqual(sorted(set(offered)), sorted({'--help'} | {f'--{o}' for o in options_of(text)}), name)
        self.assertIn('--no-progress', self.bash('batchlab', 'sweep', '--no-pro'))
        for before in (['--db'], ['--db', '=']):
            self.assertEqual(sorted(self.bash('batchlab', 'sweep', *before, 'da')), ['dark', 'data.csv', 'dawn.csv'])
        self.assertEqual(self.bash('batchlab', 'sweep', '--keep-logs', 'da'), ['dark'])
        self.assertEqual(self.bash('batchlab', 'sweep', '--batch', ''), [])
        self.assertEqual(sorted(self.bash('batchlab', 'import', 'daw')), ['dawn.csv'])
        # Behind -- stands another program's command line.
        self.assertIn('data.csv', self.bash('batchlab', 'sweep', '-b', '8', '--', 'cat', 'dat'))
        self.assertEqual(self.bash('batchlab', 'sweep', '-b', '8', '--', 'cat', '--batc'), [])

    @unittest.skipUnless('batchlab-train' in PROGRAMS, 'there is no batchlab-train')
    def test_bash_completes_the_trainer(self):
        self.assertEqual(self.bash('batchlab-train', 'resnet1'), ['resnet18'])
        self.assertEqual(self.bash('batchlab-train', 'ti'), ['time', 'tiny_cnn'])
        self.assertEqual(self.bash('batchlab-train', 'resnet18', '--batch'), ['--batch-size'])
        self.assertEqual(self.bash('batchlab-train', 'resnet18', '--weights', 'dat'), ['data.csv'])
        self.assertIn('--backend', self.bash('batchlab-train', 'time', '--'))
        self.assertNotIn('--epochs', self.bash('batchlab-train', 'time', '--'))

    @needs('fish')
    def test_fish_completes(self):
        def fish(line):
            script = self.page(line.split()[0], '--completion', 'fish')
            done = subprocess.run(['fish', '--no-config', '-c', f'source {script}; complete -C {repr(line)}'], cwd=self.folder,
                                  env=dict(ENV, HOME=self.folder), capture_output=True, text=True, timeout=120)
            self.assertEqual(done.stderr, '')
            return [offer.split('\t')[0] for offer in done.stdout.splitlines()]
        self.assertEqual(fish('batchlab swe'), ['sweep'])
        self.assertEqual(fish('batchlab sweep --bat'), ['--batch', '--batch-from-env'])
        self.assertNotIn('--batch', fish('batchlab list --'))
        self.assertEqual(fish('batchlab sweep --db daw'), ['dawn.csv'])
        if 'batchlab-train' in PROGRAMS:
            self.assertEqual(fish('batchlab-train resnet1'), ['resnet18'])

    @needs('zsh')
    def test_zsh_reads_its_functions(self):
        for program in PROGRAMS:
            script = self.page(program, '--completion', 'zsh')
            self.assertTrue(read(script).startswith(f'#compdef {program}\n'))
            output('zsh', '-n', script)
            # _arguments itself reads the specifications where there is no terminal to complete in.
            output('zsh', '-fc', 'autoload -Uz compinit; compinit -u -D; source $1 2>/dev/null; whence -w _${2//-/_}', 'zsh', script,
                   program)

    def test_other_words_are_refused(self):
        for words in (['--completion', 'csh'], ['--completion'], ['--roff']):
            done = subprocess.run([PROGRAMS['batchlab'], 'help', *words], capture_output=True, text=True)
            self.assertEqual((done.returncode, done.stdout), (2, ''))
            self.assertIn('--completion bash', done.stderr)


if __name__ == '__main__':
    unittest.main(verbosity=2)
