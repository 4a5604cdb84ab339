#!/usr/bin/env python3
"""Sweeps of small programs, from the command line to what is stored and shown."""
import json
import os
import signal
import time

from lab_case import LAB, PYTHON, LabCase, main


class Sweep(LabCase):
    def test_a_sweep_is_stored_and_shown(self):
        out, err = self.lab('sweep', '-b', '8,15..17', '-n', '3', '--seed', '7', '--name', 'small', *self.train(25))
        for word in ('8', '15', '16', '17', 'samples/s', 'peak memory', 'Powers of two', '16'):
            self.assertIn(word, out)
        self.assertIn('[12/12]', err)
        shown, _ = self.lab('show')
        self.assertIn('Powers of two', shown)
        listed, _ = self.lab('list')
        self.assertIn('small', listed)
        e = self.export()
        self.assertEqual(len(e['trials']), 12)
        for trial in e['trials']:
            self.assertEqual(trial['outcome'], 'ok')
            self.assertEqual(len(trial['steps']), 25)
            self.assertGreater(trial['peak_memory_b'], 1 << 20)
            self.assertGreater(trial['wall_s'], 0)
        blocks = {}
        for row in self.query('SELECT block, position, case_index FROM trial ORDER BY id'):
            blocks.setdefault(row[0], []).append(row)
        for rows in blocks.values():
            self.assertEqual(sorted(r[2] for r in rows), [0, 1, 2, 3])  # complete
            self.assertEqual([r[1] for r in rows], [0, 1, 2, 3])
        self.assertGreater(len({tuple(r[2] for r in rows) for rows in blocks.values()}), 1)  # shuffled
        csv, _ = self.lab('export', '1')
        self.assertEqual(len(csv.splitlines()), 13)
        steps, _ = self.lab('export', 'latest', '--steps')
        self.assertEqual(len(steps.splitlines()), 12 * 25 + 1)
        self.check_integrity()

    def test_a_seed_gives_the_same_order_again(self):
        orders = []
        for seed in ('11', '11', '12'):
            self.lab('sweep', '-q', '-b', '1..6', '-n', '2', '--seed', seed, '--', 'true', '{batch}')
        for number in ('1', '2', '3'):
            orders.append(self.query(f'SELECT block, case_index FROM trial WHERE experiment_id = {number} ORDER BY id'))
        self.assertEqual(orders[0], orders[1])
        self.assertNotEqual(orders[0], orders[2])

    def test_factors_and_environment_reach_the_program(self):
        script = self.write('look.py', 'import os, sys\n'
                            'open(sys.argv[3], "a").write(" ".join([*sys.argv[1:3], os.environ["BATCHLAB_BATCH"], '
                            'os.environ["PYTHONUNBUFFERED"], str("BATCHLAB_TRIAL" in os.environ)]) + "\\n")\n')
        log = os.path.join(self.folder, 'log')
        self.lab('sweep', '-q', '-b', '4,8', '-p', 'kind=a b,c', '-n', '1', '--', PYTHON, script, '{batch}', '{kind}', log)
        with open(log, encoding='utf-8') as f:
            self.assertEqual(sorted(f.read().splitlines()),
                             ['4 a b 4 1 True', '4 c 4 1 True', '8 a b 8 1 True', '8 c 8 1 True'])

    def test_a_silent_program_is_timed_whole_and_the_table_says_so(self):
        out, _ = self.lab('sweep', '-b', '1,2', '-n', '2', '--', 'sleep', '0.0{batch}')
        self.assertIn('whole', out)
        self.assertNotIn('samples/s ', out.split('\n\n')[1].splitlines()[0])
        out, _ = self.lab('sweep', '-b', '1,2', '-n', '2', '--samples', '{batch}*10', '--', 'sleep', '0.0{batch}')
        self.assertIn('samples/s', out)
        self.assertIn('whole', out)

    def test_a_shell_command(self):
        self.lab('sweep', '-q', '-b', '3', '-n', '1', '--shell', '--', 'echo "got {batch}" | tr g G > out')
        with open(os.path.join(self.folder, 'out'), encoding='utf-8') as f:
            self.assertEqual(f.read(), 'Got 3\n')

    def test_budgets_end_an_endless_program_well(self):
        self.lab('sweep', '-q', '-b', '8', '-n', '1', '--steps', '30', *self.train(10 ** 9))
        self.lab('sweep', '-q', '-b', '8', '-n', '1', '--time', '300ms', *self.train(10 ** 9))
        for number in ('1', '2'):
            trial = self.export(number)['trials'][0]
            self.assertEqual(trial['outcome'], 'ok')
            self.assertGreaterEqual(len(trial['steps']), 30)

    def test_failures_are_told_apart(self):
        for how, outcome in (('crash', 'crashed'), ('oom', 'out_of_memory'), ('liar', 'invalid')):
            self.lab('sweep', '-q', '-b', '4,8', '-n', '2', *self.train(5, how), status=1)
            # Nothing went well in the whole first block: no more is tried.
            self.assertEqual(self.query(f"SELECT count(*) FROM trial WHERE outcome = '{outcome}'"), [(2,)])
        out, err = self.lab('sweep', '-b', '4', '-n', '1', *self.train(0), status=1)
        self.assertIn('invalid', out + err)

    def test_one_failing_case_leaves_the_others_their_figures(self):
        script = self.write('some.py', 'import os, sys\nif sys.argv[1] == "9":\n    sys.exit("CUDA out of memory. Tried")\n'
                            f'os.execv({PYTHON!r}, [{PYTHON!r}, {self.trainer!r}, sys.argv[1], "20"])\n')
        out, _ = self.lab('sweep', '-b', '7..9', '-n', '2', '--', PYTHON, script, '{batch}', status=1)
        self.assertIn('out_of_memory', out)
        self.assertIn('best', out)

    def test_evidence_is_kept_and_shown(self):
        script = self.write('fail.sh', 'echo "FOO-17: tiles exhausted" >&2\necho SHAPE-3 >&2\nexit 7\n')
        tail = ['-q', '-b', '4', '-n', '1', '--', 'sh', script, '{batch}']
        self.lab('sweep', *tail, status=1)
        self.lab('sweep', '--oom-pattern', 'FOO-[0-9]+: tiles', *tail, status=1)
        rules = self.write('rules', '# what our accelerator says\nnone FOO-17\nlimit ^SHAPE-[0-9]\n')
        self.lab('sweep', '--rules', rules, *tail, status=1)
        self.assertEqual(self.query('SELECT outcome, memory_kind FROM trial ORDER BY id'),
                         [('crashed', None), ('out_of_memory', 'device'), ('limit', None)])
        self.assertEqual(self.query('SELECT source, decided FROM evidence WHERE trial_id = 3 AND decided'),
                         [('output', 1)])
        shown, _ = self.lab('show', '2', '--all')
        self.assertIn('Evidence: block 1', shown)
        self.assertIn('device_oom (--oom-pattern): FOO-17: tiles exhausted', shown)
        self.assertEqual([e['source'] for e in self.export('2')['trials'][0]['evidence'] if e['decided']], ['output'])
        os.unlink(rules)  # a resumed experiment keeps its rules
        self.lab('sweep', '--resume', '3', '--blocks', '2', '-q', status=1)
        self.assertEqual(self.query('SELECT outcome FROM trial WHERE experiment_id = 3'), [('limit',), ('limit',)])

    def test_an_ambiguous_end_is_run_once_more(self):
        script = self.write('twice.sh', '[ -e seen ] && exit 0\ntouch seen\necho CUDNN_STATUS_EXECUTION_FAILED\nexit 1\n')
        self.lab('sweep', '-q', '-b', '4', '-n', '1', '--', 'sh', script, '{batch}')
        self.assertEqual(self.query('SELECT outcome FROM trial'), [('ok',)])
        self.assertIn(('first run', 0), self.query('SELECT source, decided FROM evidence'))

    def test_json_is_all_there_is_on_standard_output(self):
        out, _ = self.lab('sweep', '--json', '-b', '4,5', '-n', '2', *self.train())
        self.assertEqual(len(json.loads(out)['cases']), 2)
        self.assertEqual(self.lab('sweep', '-q', '-b', '4', '-n', '1', *self.train())[1], '')

    def test_logs_are_kept_where_asked_for(self):
        self.lab('sweep', '-q', '-b', '4,5', '-n', '1', '--keep-logs', 'logs', *self.train())
        logs = os.listdir(os.path.join(self.folder, 'logs'))
        self.assertEqual(len(logs), 2)
        with open(os.path.join(self.folder, 'logs', logs[0]), encoding='utf-8') as f:
            self.assertIn('training at', f.read())

    def test_a_reader_that_goes_away_harms_nothing(self):
        process = self.start('sweep', '-b', '4,5', '-n', '2', *self.train())
        process.stdout.close()
        process.stderr.close()
        process.wait(timeout=60)
        self.assertEqual(self.query('SELECT count(*) FROM trial'), [(4,)])
        self.assertEqual(self.query('SELECT state FROM experiment'), [('finished',)])

    def test_ctrl_c_keeps_what_was_measured_and_resume_finishes(self):
        process = self.start('sweep', '-b', '4,5', '-n', '3', *self.train(60))
        for line in process.stderr:  # the second trial has ended
            if '[2/6]' in line:
                break
        time.sleep(0.05)
        process.send_signal(signal.SIGINT)
        process.communicate(timeout=30)
        self.assertEqual(process.returncode, 1)
        self.wait_until_gone()
        before = self.query("SELECT id FROM trial WHERE outcome <> 'interrupted'")
        self.assertGreaterEqual(len(before), 2)
        self.assertEqual(self.query('SELECT state FROM experiment'), [('interrupted',)])
        self.lab('sweep', '--resume', '-q')
        after = self.query("SELECT id FROM trial WHERE outcome <> 'interrupted'")
        self.assertEqual(len(after), 6)
        self.assertTrue(set(before) <= set(after))
        self.assertEqual(self.query("SELECT count(DISTINCT block * 10 + case_index) FROM trial "
                                    "WHERE outcome = 'ok'"), [(6,)])
        self.assertEqual(self.query('SELECT state FROM experiment'), [('finished',)])
        self.lab('sweep', '--resume', '1', '--blocks', '4', '-q')
        self.assertEqual(self.query("SELECT count(*) FROM trial WHERE outcome = 'ok'"), [(8,)])

    def test_grandchildren_do_not_outlive_their_trial(self):
        script = self.write('parent.sh', 'setsid sleep 1000 & (sleep 1000 &) ; exit 0\n')
        self.lab('sweep', '-q', '-b', '1', '-n', '2', '--', 'sh', script, '{batch}')
        self.wait_until_gone(0.2)

    def test_delete(self):
        self.lab('sweep', '-q', '-b', '1', '-n', '1', '--', 'true', '{batch}')
        self.lab('delete', '1', '--yes')
        self.assertEqual(self.query('SELECT count(*) FROM trial'), [(0,)])


if __name__ == '__main__':
    assert os.path.exists(LAB)
    main()
