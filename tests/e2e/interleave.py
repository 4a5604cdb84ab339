#!/usr/bin/env python3
"""Two programs that take turns: compare and selftest --interleave, and that nothing of them stays behind, or stopped."""
import os
import signal
import time

from lab_case import LabCase, main

# Marks steps that take the same time whatever the batch size, until it is ended. Its child works with it.
STEADY = '''
import os, sys, time
sys.path.insert(0, os.path.join(os.environ['BATCHLAB_SOURCE_ROOT'], 'python'))
from batchlab_marker import Marker
if os.fork() == 0:
    while os.getppid() != 1:
        time.sleep(0.01)
    os._exit(0)
with Marker(program='steady.py', batch=int(sys.argv[1])) as marker:
    marker.ready()
    while True:
        time.sleep(0.002)
        marker.step(int(sys.argv[1]))
'''


class Interleave(LabCase):
    def setUp(self):
        super().setUp()
        self.steady = ['--', 'python3', self.write('steady.py', STEADY), '{batch}']

    def state_of(self, pid):
        try:
            with open(f'/proc/{pid}/stat', encoding='utf-8') as f:
                return f.read().rsplit(')', 1)[1].split()[0]
        except OSError:
            return 'X'

    def start_until_stopped(self, *args):
        """The lab, at a moment when all of one program stands and there is another one."""
        process = self.start('compare', '-b', '1,2', '--interleave', '5', '-s', '100000', *args, *self.steady)
        until = time.monotonic() + 60
        while time.monotonic() < until:
            states = [self.state_of(p) for p in self.processes()]
            if states.count('T') == 2 and len(states) > 4:  # the lab, two programs, their children
                return process
        process.kill()
        process.communicate()
        self.fail('no program was ever stopped')

    def test_steps_never_overlap_and_the_verdict_is_right(self):
        out, err = self.lab('compare', '-b', '1,2', '--interleave', '5', '-s', '60', '--seed', '2', *self.steady)
        self.assertIn('2 against 1: different, faster by more than 1 %', ' '.join(out.split()))
        self.assertIn('in turn', err)
        self.assertEqual(self.export()['experiment']['driving']['turn_steps'], 5)
        for block in range(10):
            times = [self.query('SELECT end_ns - time_ns, end_ns FROM step JOIN trial ON trial.id = trial_id '
                                f'WHERE block = {block} AND case_index = {case} AND time_ns > 0') for case in (0, 1)]
            self.assertGreaterEqual(min(map(len, times)), 20)
            marked = sorted([(start, end, 0) for start, end in times[0]] + [(start, end, 1) for start, end in times[1]])
            self.assertTrue(all(a[1] <= b[0] for a, b in zip(marked, marked[1:])))
            self.assertGreaterEqual(sum(a[2] != b[2] for a, b in zip(marked, marked[1:])), 4)
        # Who begins is by lot, as ever.
        first = self.query('SELECT DISTINCT case_index FROM trial WHERE position = 0')
        self.assertEqual(len(first), 2)
        self.assertEqual(self.query('SELECT count(*) FROM telemetry_series') if self.query(
            "SELECT 1 FROM sqlite_schema WHERE name = 'telemetry_series'") else [(0,)], [(0,)])
        self.check_integrity()

    def test_nothing_stays_stopped(self):
        for number, status in ((signal.SIGINT, 1), (signal.SIGTERM, 1), (signal.SIGKILL, -9)):
            with self.subTest(signal=number.name):
                process = self.start_until_stopped()
                process.send_signal(number)
                process.communicate(timeout=60)
                self.assertEqual(process.returncode, status)
                self.wait_until_gone(30)
        # Both of the pair were interrupted, and are run again as a pair.
        self.assertEqual(self.query('SELECT DISTINCT outcome FROM trial WHERE experiment_id = 1 AND block = '
                                    '(SELECT max(block) FROM trial WHERE experiment_id = 1)'), [('interrupted',)])
        self.lab('compare', '--resume', '1', '--interleave', '4', status=2)

    def test_what_was_interrupted_goes_on_in_turn(self):
        process = self.start('compare', '-b', '1,2', '--interleave', '3', '-s', '20', *self.steady)
        for line in process.stderr:
            if '[3/' in line:
                process.send_signal(signal.SIGINT)
                break
        process.communicate(timeout=60)
        begun = self.query("SELECT count(*) FROM trial WHERE outcome = 'ok'")[0][0]
        self.lab('compare', '-q', '--resume', '--budget', '8s', '--fail-if', 'slower')
        rows = self.query("SELECT block, count(*) FROM trial WHERE outcome = 'ok' GROUP BY block")
        self.assertGreater(2 * len(rows), begun)
        self.assertEqual({n for _, n in rows}, {2})

    def test_the_same_case_twice(self):
        process = self.start('selftest', '-b', '1', '-n', '6', '--interleave', '4', '-s', '20', '--json', *self.steady)
        out, err = process.communicate(timeout=100)
        self.assertIn(process.returncode, (0, 1), err)  # 1: a false alarm, which may be
        self.assertIn('"blocks"', out)
        self.assertEqual(self.query("SELECT outcome, count(*) FROM trial GROUP BY 1"), [('ok', 12)])

    def test_what_cannot_take_turns_is_refused(self):
        _, err = self.lab('compare', '-b', '1,2,3', '--interleave', '5', *self.steady, status=2)
        self.assertIn('--interleave is for two cases, and these are 3', err)
        _, err = self.lab('compare', '-b', '1,2', '--interleave', '5', '--', 'true', '{batch}', status=2)
        self.assertIn('tells no steps', err)
        self.assertIn('leave out --interleave', err)
        for words in (['1'], ['--confirm', '1'], ['--resume', '1']):
            self.lab('compare', *words, '--interleave', '5', status=2)
        self.lab('compare', '-b', '1,2', '--interleave', '0', *self.steady, status=2)

    def test_a_pair_stands_between_the_hooks(self):
        log = os.path.join(self.folder, 'log')
        self.lab('compare', '-q', '-b', '1,2', '--interleave', '3', '-s', '20', '--budget', '1s', '--fail-if', 'slower',
                 '--prepare', f'sh -c "echo prepare {{batch}} >> {log}"',
                 '--cleanup', f'sh -c "echo cleanup {{batch}} >> {log}"', *self.steady)
        with open(log, encoding='utf-8') as f:
            words = [line.split()[0] for line in f]
        self.assertEqual(words[:4], ['prepare', 'prepare', 'cleanup', 'cleanup'])


if __name__ == '__main__':
    main()
