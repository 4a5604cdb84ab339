#!/usr/bin/env python3
"""Runs tests/dist/ranks.c alone and as 2 and 4 ranks, tests/dist/train.c as 2 and 4. usage: dist.py RANKS TRAIN [slow]"""
import os
import shutil
import subprocess
import sys
import unittest

PROGRAM, TRAIN = sys.argv.pop(1), sys.argv.pop(1)
SLOW = [sys.argv.pop(1)] if sys.argv[1:] == ['slow'] else []
# Open MPI leaves memory behind at its end; that this project's code does not is seen where it runs alone.
ENV = dict(os.environ, OMP_WAIT_POLICY='passive', OMPI_ALLOW_RUN_AS_ROOT='1', OMPI_ALLOW_RUN_AS_ROOT_CONFIRM='1',
           ASAN_OPTIONS=os.environ.get('ASAN_OPTIONS', '') + ':detect_leaks=0')


def run(ranks, *command):
    return subprocess.run(['mpirun', '-np', str(ranks), '--oversubscribe', *command], env=ENV, capture_output=True, text=True,
                          timeout=300)


class Ranks(unittest.TestCase):
    def test_alone(self):
        done = subprocess.run([PROGRAM], capture_output=True, text=True, timeout=60)
        self.assertEqual((done.returncode, done.stdout), (0, 'ok 0 of 1\n'), done.stderr)

    def test_as_many(self):
        for ranks in 1, 2, 4:
            with self.subTest(ranks):
                done = run(ranks, PROGRAM)
                self.assertEqual(done.returncode, 0, done.stderr)
                self.assertEqual(sorted(done.stdout.split('\n')[:-1]), [f'ok {r} of {ranks}' for r in range(ranks)])

    def test_one_that_fails_ends_all(self):
        done = run(3, PROGRAM, 'fail')
        self.assertEqual(done.returncode, 5, done.stderr)
        self.assertNotIn('ok', done.stdout)

    def test_they_train_as_one(self):
        # Large networks as two ranks only: four on two processors take many minutes.
        for ranks in (2,) if SLOW else (2, 4):
            with self.subTest(ranks):
                done = run(ranks, TRAIN, *SLOW)
                print(done.stdout)
                self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
                said = sorted(line for line in done.stdout.splitlines() if line.startswith('ok'))
                self.assertEqual(said, [f'ok {r} of {ranks}' for r in range(ranks)])


if __name__ == '__main__':
    if not shutil.which('mpirun'):
        print('no mpirun: skipped')
        sys.exit(77)
    unittest.main()
