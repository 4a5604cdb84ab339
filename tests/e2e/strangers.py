#!/usr/bin/env python3
"""Real programs that know nothing of the lab, swept and compared as they are: Debian's darknet, which reads its batch size from a
file, and a PyTorch script of which nothing but tqdm's bar is seen. strangers.py darknet | pytorch"""
import os
import shutil
import subprocess
import sys
import unittest

from lab_case import ROOT, LabCase

PYTHON = '/usr/bin/python3'  # where Debian's PyTorch is
WHICH = sys.argv.pop(1)


class Stranger(LabCase):
    def check_trials(self, batches, note):
        """All of the latest experiment's trials gave steps by their progress lines."""
        rows = self.query('SELECT case_index, outcome, step_source, step_note, reason, (SELECT count(*) FROM step WHERE trial_id = '
                          'trial.id), (SELECT sum(samples) FROM step WHERE trial_id = trial.id) FROM trial '
                          'WHERE experiment_id = (SELECT max(id) FROM experiment)')
        for case, outcome, source, said, reason, steps, samples in rows:
            self.assertEqual((outcome, source), ('ok', 'progress'), (said, reason))
            self.assertIn(note, said)
            self.assertGreaterEqual(steps, 3)
            self.assertEqual(samples % batches[case], 0, samples)  # a bar is drawn anew after some steps
        return len(rows)

    def check_sweep_and_compare(self, options, command, note):
        out, _ = self.lab('sweep', '-q', '-b', '7,8,9', '-n', '2', *options, '--', *command)
        self.assertEqual(self.check_trials((7, 8, 9), note), 6)
        for batch in '789':
            self.assertRegex(out, rf'(?m)^ +{batch} .* ok$')
        process = self.start('compare', '-q', '-b', '7,8', '--budget', '6s', *options, '--', *command)
        out, err = process.communicate(timeout=120)
        # Whatever it finds in so short a time, it says so in one sentence of the pair.
        self.assertIn(process.returncode, (0, 1), err)
        self.assertRegex(' '.join(out.split()), r'\b8\b.*\b7\b|\b7\b.*\b8\b', err)
        self.assertGreaterEqual(self.check_trials((7, 8), note), 1)


@unittest.skipUnless(WHICH == 'darknet', 'another stranger is asked for')
class Darknet(Stranger):
    def test_a_batch_size_in_a_file(self):
        subprocess.run([PYTHON, os.path.join(ROOT, 'experiments', 'darknet_small.py'), self.folder], check=True)
        self.check_sweep_and_compare(
            ['--pty', '--steps', '12', '-t', '20s', '--prepare', 'sh -c "sed s/BATCH/{batch}/ small.cfg >{outdir}/small.cfg"'],
            ['darknet', 'classifier', 'train', 'small.data', '{outdir}/small.cfg'], 'darknet')


@unittest.skipUnless(WHICH == 'pytorch', 'another stranger is asked for')
class PyTorch(Stranger):
    def test_a_bar_is_all_it_shows(self):
        self.check_sweep_and_compare(
            ['--steps', '12', '-t', '20s'],
            [PYTHON, os.path.join(ROOT, 'experiments', 'pytorch_tqdm.py'), '--batch-size', '{batch}', '--samples', '512'], 'tqdm')


if WHICH == 'darknet' and not shutil.which('darknet'):
    print('strangers: there is no darknet (Debian: apt install darknet)')
    sys.exit(77)
if WHICH == 'pytorch' and subprocess.run([PYTHON, '-c', 'import torch, tqdm'], capture_output=True).returncode != 0:
    print(f'strangers: {PYTHON} has no torch and tqdm (Debian: apt install python3-torch python3-tqdm)')
    sys.exit(77)
unittest.main(verbosity=2)
