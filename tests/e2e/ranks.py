#!/usr/bin/env python3
"""Sweeps over ranks by the real mpirun: the markers of rank 0 arrive, tables of scaling follow, one rank's failure is the
trial's outcome and names the rank, and nothing of mpirun or its ranks outlives a trial or the lab. The built-in trainer is
looked at where it is the first argument."""
import os
import shutil
import signal
import sys
import time
import unittest

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from lab_case import PYTHON, LabCase  # noqa: E402

TRAINER = os.path.abspath(sys.argv.pop(1)) if len(sys.argv) > 1 and sys.argv[1].endswith('batchlab-train') else None
MPIRUN = 'mpirun -np {ranks} --oversubscribe'
# Open MPI leaves memory behind at its end.
os.environ.update(OMPI_ALLOW_RUN_AS_ROOT='1', OMPI_ALLOW_RUN_AS_ROOT_CONFIRM='1', OMP_WAIT_POLICY='passive',
                  ASAN_OPTIONS=os.environ.get('ASAN_OPTIONS', '') + ':detect_leaks=0')

# One rank of several: BATCH STEPS HOW. A step of all ranks takes 4 ms, whatever the machine does: by a clock of its own.
RANK = '''
import os, signal, sys, time
sys.path.insert(0, os.path.join(os.environ['BATCHLAB_SOURCE_ROOT'], 'python'))
import batchlab_marker
rank, ranks = int(os.environ['OMPI_COMM_WORLD_RANK']), int(os.environ['OMPI_COMM_WORLD_SIZE'])
batch, steps, how = int(sys.argv[1]), int(sys.argv[2]), sys.argv[3]
clock = iter(range(10 ** 15, 10 ** 16, 4 * 10 ** 6))
batchlab_marker.time.monotonic_ns = lambda: next(clock)
marker = batchlab_marker.Marker(program='rank.py', ranks=ranks, batch=batch)
marker.ready()
for i in range(steps):
    marker.step(batch * ranks)
    if how in ('wait', 'die', 'exit') and i == 5:
        open(f'at_work_{rank}', 'w').close()
        if rank == 1 and how == 'die':
            os.kill(os.getpid(), signal.SIGSEGV)
        if rank == 1 and how == 'exit':
            sys.exit(5)
        time.sleep(600)
if how == 'memory':
    open(f'there_{rank}', 'w').close()
    while not all(os.path.exists(f'there_{r}') for r in range(ranks)):  # ranks that train together go on together
        time.sleep(0.01)
    held = bytearray((400 if rank == 1 else 10) << 20)
    held[::4096] = b'x' * len(held[::4096])
    time.sleep(1.5)
marker.memory('largest_rank', (10 + ranks) << 20)
marker.metric('sums_share', 0.25)
marker.done()
'''


class Ranks(LabCase):
    def setUp(self):
        super().setUp()
        self.env.update({name: os.environ[name] for name in os.environ if name.startswith(('OMP', 'ASAN'))})
        self.rank = self.write('rank.py', RANK)

    def command(self, ranks, how, steps=30, blocks=1):
        return ['sweep', '-q', '-b', '8', '-p', f'ranks={ranks}', '-n', str(blocks), '--telemetry', 'off', '--launcher',
                MPIRUN, '--', PYTHON, self.rank, '{batch}', str(steps), how]

    def trials(self):
        return self.export()['trials']

    def evidence(self, trial):
        return [e['text'] for e in trial['evidence']]

    def test_scaling(self):
        out, _ = self.lab(*self.command('1,2', '-', blocks=2))
        for trial in self.trials():
            self.assertEqual((trial['outcome'], trial['step_source']), ('ok', 'markers'))
            self.assertEqual(trial['ranks'], int(trial['factors']['ranks']))
        self.assertNotIn('Strong scaling', out)  # no two cases have the same batch in all
        self.assertIn('Weak scaling', out)
        lines = out[out.index('Weak scaling'):].splitlines()
        self.assertRegex(lines[2], r'^ +1 +8 +8 +2000 +2000 +1\.000 +100\.0 % +25\.0 % +11\.0 MiB')
        self.assertRegex(lines[3], r'^ +2 +8 +16 +4000 +2000 +2\.000 +\[2\.000, 2\.000\] +100\.0 % +\[100\.0, 100\.0\] +25\.0 % +12\.0 MiB')
        self.assertEqual(self.lab('show')[0].count('Weak scaling'), 1)
        self.lab('report', '-o', os.path.join(self.folder, 'page.html'))
        with open(os.path.join(self.folder, 'page.html'), encoding='utf-8') as f:
            self.assertIn('Weak scaling', f.read())
        self.assertIn('| efficiency |', self.lab('export', 'latest', '--format', 'markdown')[0])
        out, _ = self.lab('sweep', '-q', '--resume', '1', '--blocks', '3')
        self.assertIn('3/3', out)

    def test_a_rank_that_dies_ends_all(self):
        for how, words in (('die', 'rank 1'), ('exit', 'rank 1 failed first')):
            with self.subTest(how):
                self.lab(*self.command('2', how), status=1)
                trial = self.export('latest')['trials'][-1]
                self.assertIn(trial['outcome'], ('crashed', 'ambiguous'))
                self.assertTrue(any(words in text for text in self.evidence(trial)), trial['evidence'])
                self.wait_until_gone()

    def test_memory_of_one_rank(self):
        command = self.command('2', 'memory')
        command[1:1] = ['--memory-limit', '250M']
        self.lab(*command, status=1)
        trial = self.trials()[0]
        self.assertEqual(trial['outcome'], 'out_of_memory')
        self.assertTrue(any('rank 1' in text for text in self.evidence(trial)), trial['evidence'])

    def test_nothing_outlives_the_lab(self):
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGKILL):
            with self.subTest(number):
                for rank in (0, 1):
                    path = os.path.join(self.folder, f'at_work_{rank}')
                    if os.path.exists(path):
                        os.remove(path)
                process = self.start(*self.command('2', 'wait'))
                until = time.monotonic() + 60
                while time.monotonic() < until and not all(
                        os.path.exists(os.path.join(self.folder, f'at_work_{rank}')) for rank in (0, 1)):
                    time.sleep(0.02)
                self.assertGreaterEqual(len(self.processes()), 4)  # the lab, its launcher, mpirun, two ranks
                process.send_signal(number)
                process.communicate(timeout=60)
                self.wait_until_gone()

    def test_what_does_not_go_together(self):
        for words, message in ((['--shell'], '--shell and --launcher exclude each other'),
                               (['--launcher', "mpirun 'x"], '--launcher'),
                               (['--launcher', 'mpirun -np {rank}'], "no factor is called 'rank'")):
            command = ['sweep', '-b', '8', '-p', 'ranks=1,2', '--launcher', MPIRUN, *words, '--', 'true', '{batch}']
            self.assertIn(message, self.lab(*command, status=2)[1])
        self.assertIn('no other command', self.lab('compare', '--launcher', 'mpirun', '--a', 'true', '--b', 'true', status=2)[1])

    @unittest.skipUnless(TRAINER, 'the trainer was built without MPI')
    def test_the_trainer_over_ranks(self):
        out, _ = self.lab('sweep', '-q', '-b', '4,8', '-p', 'ranks=1,2', '-n', '1', '--steps', '40', '--launcher', MPIRUN,
                          '--', TRAINER, 'mlp', '-b', '{batch}', '--threads', '1', '-e', '1000', '--no-eval', '--lr', '0.0001')
        for trial in self.trials():
            ranks, batch = int(trial['factors']['ranks']), int(trial['factors']['batch'])
            self.assertEqual((trial['outcome'], trial['step_source'], trial['ranks']), ('ok', 'markers', ranks))
            self.assertEqual({s['samples'] for s in self.steps(trial['id'])}, {ranks * batch})
        self.assertIn('Strong scaling', out)
        self.assertIn('Weak scaling', out)

    def steps(self, trial):
        return [dict(samples=row[0]) for row in self.query(f'SELECT samples FROM step WHERE trial_id = {trial}')]


if __name__ == '__main__':
    if not shutil.which('mpirun'):
        print('no mpirun: skipped')
        sys.exit(77)
    unittest.main(verbosity=2)
