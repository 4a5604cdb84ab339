#!/usr/bin/env python3
"""The search for the largest batch, on small programs that want memory."""
import json
import os
import signal
import time

from lab_case import PYTHON, LabCase, main

# Takes 8 MiB for each sample beside what Python takes; marks steps.
EATER = '''
import os, sys, time
sys.path.insert(0, os.path.join(os.environ['BATCHLAB_SOURCE_ROOT'], 'python'))
from batchlab_marker import Marker
batch, how = int(sys.argv[1]), sys.argv[2]
if how == 'no_one' and batch == 1:
    raise ValueError('Expected more than 1 value per channel when training')
if how == 'few' and batch > 9:
    sys.exit(0)  # not one full batch in the data
if how == 'hole' and batch == 4:
    raise MemoryError
with Marker(program='eater.py', batch=batch) as marker:
    marker.ready()
    room = bytearray(batch * (8 << 20))
    room[::4096] = b'x' * len(room[::4096])
    for i in range(10 ** 6 if how != 'ends' else 7):
        time.sleep(0.002 * batch * (25 if how == 'slow' and batch > 9 else 1))
        marker.step(batch)
'''


class Max(LabCase):
    def setUp(self):
        super().setUp()
        self.eater = self.write('eater.py', EATER)

    def search(self, *options, how='-', status=0):
        out, _ = self.lab('max', '--json', '-q', '--steps', '4', *options, '--', PYTHON, self.eater, '{batch}', how, status=status)
        return json.loads(out)

    def outcomes(self, batch):
        return [row[0] for row in self.query(
            'SELECT outcome FROM trial t JOIN case_value c USING (experiment_id, case_index) WHERE t.experiment_id = '
            f"(SELECT max(id) FROM experiment) AND c.value = '{batch}'")]

    def test_the_answer_ran_twice_and_the_next_one_failed(self):
        found = self.search('--memory-limit', '192M')
        self.assertEqual(found['result'], 'found')
        self.assertEqual(found['above'], found['largest'] + 1)
        self.assertEqual(found['why_above'], 'out of memory')
        self.assertTrue(15 <= found['largest'] <= 23, found)
        self.assertEqual(set(self.outcomes(found['largest'])), {'ok'})
        self.assertGreaterEqual(len(self.outcomes(found['largest'])), 2)
        self.assertEqual(set(self.outcomes(found['above'])), {'out_of_memory'})
        self.assertAlmostEqual(found['line']['per_sample_b'] / (8 << 20), 1, delta=0.2)
        self.assertLessEqual(found['probes'], 12)
        shown, _ = self.lab('show')
        for words in ('The largest batch size that does is', 'MiB a sample', 'peak memory', 'line'):
            self.assertIn(words, shown)
        self.lab('show', '--all')
        self.lab('report', '-o', 'page.html')
        self.lab('sweep', '--resume', '1', status=2)
        self.check_integrity()

    def test_limits_of_the_search(self):
        found = self.search('--max', '6')
        self.assertEqual((found['result'], found['largest'], found['above']), ('cap', 6, None))
        self.assertGreaterEqual(len(self.outcomes(6)), 2)
        found = self.search('--min', '3', '--multiple-of', '4', '--memory-limit', '192M')
        self.assertEqual(found['largest'] % 4, 0)
        self.assertEqual(found['above'], found['largest'] + 4)
        near = self.search('--max', '64', '--memory-limit', '192M', '--headroom', '40%')
        self.assertEqual(near['why_above'], 'runs, but leaves less memory free than asked for')
        self.lab('max', '--min', '5', '--max', '7', '--multiple-of', '8', '--', 'true', '{batch}', status=2)
        self.lab('max', '--headroom', '120%', '--', 'true', '{batch}', status=2)
        self.lab('max', '--', 'true', status=2)

    def test_strange_programs(self):
        found = self.search('--memory-limit', '192M', how='no_one')
        self.assertEqual((found['result'], found['hole']), ('found', 1))
        found = self.search('--max', '64', how='few')
        self.assertEqual((found['largest'], found['why_above']), (9, 'a size that it cannot take'))
        found = self.search('--max', '64', how='slow')
        self.assertEqual((found['largest'], found['why_above']), (9, 'runs, but far slower a sample'))
        found = self.search('--memory-limit', '192M', '--min', '30', status=1)
        self.assertEqual((found['result'], found['largest'], found['why_above']), ('nothing', None, 'out of memory'))

    def test_a_program_may_run_to_its_end(self):
        self.lab('max', '-q', '--to-end', '--max', '3', '--', PYTHON, self.eater, '{batch}', 'ends')
        self.assertEqual(self.query('SELECT DISTINCT exit_status, (SELECT count(*) FROM step WHERE trial_id = trial.id) '
                                    'FROM trial'), [(0, 7)])

    def test_a_search_that_is_killed_goes_on(self):
        args = ['max', '-q', '--json', '--steps', '4', '--memory-limit', '192M', '--', PYTHON, self.eater, '{batch}', '-']
        process = self.start(*args)
        until = time.monotonic() + 60
        while time.monotonic() < until:
            if os.path.exists(self.db) and self.query("SELECT count(*) FROM sqlite_schema WHERE name = 'trial'")[0][0] and \
                    self.query('SELECT count(*) FROM trial')[0][0] >= 2:
                break
            time.sleep(0.02)
        process.send_signal(signal.SIGKILL)
        process.communicate(timeout=30)
        self.wait_until_gone()
        before = self.query('SELECT id FROM trial')
        out, _ = self.lab('max', '--resume', '-q', '--json')
        self.assertEqual(json.loads(out)['result'], 'found')
        after = self.query('SELECT id FROM trial')
        self.assertTrue(set(before) < set(after))
        self.assertEqual(self.query('SELECT state FROM experiment'), [('finished',)])


if __name__ == '__main__':
    main()
