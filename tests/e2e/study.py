#!/usr/bin/env python3
"""batchlab run: a study's steps are run in order and stored by name, an interrupted one is gone on with, mistakes are told before
anything runs, and the files that are shipped make sense to their own schema and to the commands."""
import glob
import json
import os
import signal
import subprocess
import sys
import time

from lab_case import LAB, LabCase, ROOT, main

STUDY = '''
batchlab: 1
title: Three steps
scales:
  small: {sizes: [4, 5], blocks: 2}
  full: {sizes: [8, 9], blocks: 3}
vars:
  train: [%s, %s]
  steps: 6
steps:
  - name: sizes
    about: both sizes
    command: sweep
    options: {batch: "${sizes}", blocks: "${blocks}", quiet: true, telemetry: off}
    run: ["${train}", "{batch}", "${steps}"]
  - name: failing
    command: sweep
    expect-failures: true
    options: {batch: 4, blocks: 1, quiet: true, telemetry: off}
    run: ["${train}", "{batch}", "${steps}", crash]
  - name: see
    command: export
    options: {format: csv, output: "${here}/out.csv"}
    operands: ["${id.sizes}"]
'''


class Study(LabCase):
    def setUp(self):
        super().setUp()
        self.file = self.write('study.yaml', STUDY % (json.dumps(sys.executable), json.dumps(self.trainer)))

    def test_steps_are_run_in_order(self):
        out, _ = self.lab('run', self.file, '--db', self.db)
        self.assertIn('Three steps (small)', out)
        self.assertIn('sizes (1 of 3): both sizes', out)
        self.assertEqual(self.names(), ['study/small/sizes', 'study/small/failing'])
        with open(os.path.join(self.folder, 'out.csv'), encoding='utf-8') as f:
            self.assertEqual(len(f.read().splitlines()), 5)
        # All is finished: only what stores nothing runs again.
        out, _ = self.lab('run', self.file, '--db', self.db, '--resume')
        self.assertEqual(out.count('finished before'), 2)
        self.assertEqual(len(self.names()), 2)

    def test_one_step_and_other_values(self):
        out, _ = self.lab('run', self.file, '--db', self.db, '--only', 'sizes', '--scale', 'full', '--set', 'blocks=1', '-q')
        self.assertEqual(self.names(), ['study/full/sizes'])
        self.assertEqual(len(self.exported('1')['trials']), 2)

    def test_a_failure_that_nobody_expects(self):
        with open(self.file, encoding='utf-8') as f:
            text = f.read().replace('    expect-failures: true\n', '')
        self.lab('run', self.write('study.yaml', text), '--db', self.db, status=1)
        self.assertEqual(len(self.names()), 2)

    def test_a_broken_off_study_is_gone_on_with(self):
        slow = ['run', self.file, '--db', self.db, '--set', 'steps=400', '--set', 'blocks=3', '--only', 'sizes']
        process = subprocess.Popen([LAB, *slow], env=self.env, cwd=self.folder, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        for _ in range(600):
            time.sleep(0.1)
            if os.path.exists(self.db) and self.names() and self.exported('1')['trials']:
                break
        process.send_signal(signal.SIGINT)
        out = process.communicate(timeout=60)[0]
        self.assertEqual(process.returncode, 1, out)
        self.assertIn('--resume', out)
        before = len(self.exported('1')['trials'])
        self.lab(*slow, '--resume')
        self.assertEqual(self.names(), ['study/small/sizes'])
        trials = [t for t in self.exported('1')['trials'] if t['outcome'] == 'ok']
        self.assertEqual(len(trials), 6)
        self.assertGreaterEqual(before, 1)

    def test_mistakes_are_told_before_anything_runs(self):
        for old, new, told in [('blocks: 2', 'blocks: zwei', 'line 14, column 42: blocks'), ('quiet: true', 'quit: true', 'quiet'),
                               ('command: export', 'command: run', 'cannot be the command'), ('${sizes}', '${size}', 'no variable')]:
            with open(self.file, encoding='utf-8') as f:
                text = f.read().replace(old, new)
            _, err = self.lab('run', self.write('wrong.yaml', text), '--db', self.db, status=2)
            self.assertIn(told, err)
            self.assertFalse(os.path.exists(self.db))
        for words in [('--scale', 'huge'), ('--only', 'nothing'), ('--set', 'x'), ('--set', 'x=1')]:
            self.lab('run', self.file, *words, status=2)
        self.lab('run', status=2)
        self.lab('run', 'missing.yaml', status=3)

    def test_shipped_files(self):
        schema = json.loads(self.lab('run', '--schema')[0])
        files = glob.glob(os.path.join(ROOT, 'experiments', '*.yaml'))
        self.assertGreaterEqual(len(files), 4)
        try:
            import jsonschema
            import yaml
        except ImportError:
            jsonschema = yaml = None
        for file in files:
            for scale in ('small', 'full'):
                out, _ = self.lab('run', file, '--scale', scale, '--dry-run')
                self.assertIn('batchlab ', out)
            if jsonschema:
                with open(file, encoding='utf-8') as f:
                    jsonschema.Draft202012Validator(schema).validate(yaml.safe_load(f))

    def names(self):
        return [e['name'] for e in json.loads(self.lab('list', '--json', '--db', self.db)[0])]

    def exported(self, number):
        return json.loads(self.lab('export', number, '--format', 'json', '--db', self.db)[0])


if __name__ == '__main__':
    main()
