#!/usr/bin/env python3
"""The lab is killed at random moments of a sweep, again and again: what was stored stays sound, no process stays alive,
no finished trial is run again, and in the end the experiment is complete."""
import os
import random
import signal
import time

from lab_case import LabCase, main

KILLS = 50


class Killed(LabCase):
    def test_sigkill_at_random_moments(self):
        rng = random.Random(2024)
        args = ['sweep', '-q', '-b', '2..6', '-n', '12', '--seed', '3', *self.train(12)]
        finished = set()
        kills = 0
        while kills < KILLS:
            process = self.start(*args)
            time.sleep(rng.uniform(0, 0.35))
            if process.poll() is None:
                process.send_signal(signal.SIGKILL)
                kills += 1
            process.communicate(timeout=30)
            self.wait_until_gone()
            if not os.path.exists(self.db):
                continue
            tables = {r[0] for r in self.query('SELECT name FROM sqlite_master')}
            self.check_integrity()
            if 'trial' not in tables:
                continue
            now = set(self.query("SELECT id, block, case_index FROM trial WHERE outcome <> 'interrupted'"))
            self.assertTrue(finished <= now, 'a stored trial is gone')
            self.assertEqual(len({(b, c) for _, b, c in now}), len(now), 'a finished trial was run again')
            self.assertEqual(self.query("SELECT count(*) FROM trial t WHERE outcome = 'ok' AND "
                                        '(SELECT count(*) FROM step WHERE trial_id = t.id) <> 12'), [(0,)])
            finished = now
            if self.query('SELECT count(*) FROM experiment')[0][0] > 0:
                args = ['sweep', '-q', '--resume', '1']
            if self.query("SELECT count(*) FROM experiment WHERE state = 'finished'")[0][0]:
                args += ['--blocks', str(self.query('SELECT blocks FROM experiment')[0][0] + 12)]
        self.lab('sweep', '-q', '--resume', '1')
        n_blocks = self.query('SELECT blocks FROM experiment')[0][0]
        self.assertEqual(self.query("SELECT count(*) FROM trial WHERE outcome = 'ok'"), [(5 * n_blocks,)])
        self.assertEqual(self.query('SELECT state, holder_pid FROM experiment'), [('finished', None)])
        self.check_integrity()


if __name__ == '__main__':
    main()
