#!/usr/bin/env python3
"""Comparisons and self-tests, from the command line to the verdict: a trainer with a clock of its own and known effects."""
import json
import os
import signal
import time

from lab_case import PYTHON, LabCase, main

SCRIPTED = os.path.join(os.environ['BATCHLAB_BUILD_ROOT'], 'tests', 'lab', 'scripted_trainer')


def slower(batch, percent):
    """A shell command in which one batch size is slower."""
    return ['--shell', '--', f'if [ {{batch}} = {batch} ]; then e={percent}; else e=0; fi; '
            f'exec {SCRIPTED} {{batch}} $e {{batch}}']


class Compare(LabCase):
    def verdicts(self, *args, status=0):
        out, _ = self.lab('compare', '--json', '-q', *args, status=status)
        return json.loads(out)['verdicts']

    def test_known_effects_get_the_right_verdict(self):
        """Drift, warm-up, and 0.5 % of noise a run; at the margin itself there is nothing to decide."""
        for percent, wanted in ((0, 'no_practical_difference'), (0.5, 'no_practical_difference'),
                                (1, 'inconclusive'), (2, 'different'), (-2, 'different')):
            with self.subTest(percent=percent):
                verdict, = self.verdicts('-b', '100,200', '--seed', '1', *slower(200, percent),
                                         status=int(wanted == 'inconclusive'))
                self.assertEqual(verdict['verdict'], wanted, verdict['sentence'])
                interval = verdict['b_over_a']
                self.assertLessEqual(interval['low'], 1 + percent / 100)
                self.assertGreaterEqual(interval['high'], 1 + percent / 100)
                self.assertIn(verdict['blocks'], (10, 20, 30, 40, 60))
        self.check_integrity()

    def test_the_text_says_who_how_much_and_how_sure(self):
        out, err = self.lab('compare', '-b', '100,200,300', '--baseline', '200', '--seed', '3', *slower(300, 4))
        self.assertIn('100 against 200: no practical difference', ' '.join(out.split()))
        self.assertIn('300 against 200: different, slower by more than 1 %: +', ' '.join(out.split()))
        self.assertIn('95 % confidence over all looks and all 2 pairs; looks after 10, 20, 30, 40 and 60 blocks',
                      ' '.join(out.split()))
        self.assertIn('Drift', out)
        self.assertIn('look at 10 blocks', err)
        shown, _ = self.lab('show')
        self.assertIn('300 against 200: different', ' '.join(shown.split()))
        # What is decided runs no more.
        blocks = dict(self.query('SELECT case_index, count(*) FROM trial GROUP BY case_index'))
        self.assertEqual(blocks[2], 10)
        self.assertGreaterEqual(blocks[0], 10)

    def test_two_commands(self):
        a, b = f'{SCRIPTED} 64 0 1 # old', f'{SCRIPTED} 64 3 2'
        verdict, = self.verdicts('--a', a, '--b', b)
        self.assertEqual((verdict['verdict'], verdict['a']['command'], verdict['b']['command']), ('different', 'A', 'B'))
        self.assertGreater(verdict['b_over_a']['low'], 1.01)
        verdict, = self.verdicts('-b', '32', '--a', f'{SCRIPTED} {{batch}} 0 1', '--b', f'{SCRIPTED} {{batch}} 0 2')
        self.assertEqual(verdict['verdict'], 'no_practical_difference')
        self.assertIn('B against A: no practical', verdict['sentence'])
        # Without a batch size nothing is said of one.
        script = self.write('look.sh', 'echo "${BATCHLAB_BATCH-none}" >> seen\nexit 1\n')
        self.lab('compare', '-q', '--a', f'sh {script}', '--b', f'sh {script}', status=1)
        with open(os.path.join(self.folder, 'seen'), encoding='utf-8') as f:
            self.assertEqual(set(f.read().split()), {'none'})

    def test_exit_status_for_ci(self):
        same, worse = f'{SCRIPTED} 64 0 1', f'{SCRIPTED} 64 3 2'
        for first, second, condition, status in ((same, worse, 'slower', 1), (same, worse, 'faster', 0),
                                                 (worse, same, 'faster', 1), (same, worse, 'faster,inconclusive', 0),
                                                 (same, worse, 'different', 1), (same, same, 'slower,inconclusive', 0)):
            self.lab('compare', '-q', '--a', first, '--b', second, '--fail-if', condition, status=status)
        at_margin = f'{SCRIPTED} 64 1 2'
        self.lab('compare', '-q', '--a', same, '--b', at_margin, '--fail-if', 'slower', '--budget', '1s', '--seed', '1')
        self.lab('compare', '-q', '--a', same, '--b', at_margin, '--budget', '1ms', status=1)

    def test_looks_survive_an_interruption(self):
        args = ['-b', '100,200', '--seed', '5', *slower(200, 0.7)]
        whole, = self.verdicts(*args, status=0)
        process = self.start('compare', *args)
        for line in process.stderr:
            if '[15/20]' in line or '[25/40]' in line:
                process.send_signal(signal.SIGINT)
                break
        process.communicate(timeout=60)
        self.assertEqual(process.returncode, 1)
        self.wait_until_gone()
        self.assertEqual(self.query('SELECT state FROM experiment ORDER BY id'), [('finished',), ('interrupted',)])
        self.lab('sweep', '--resume', '2', status=2)
        pieces, = self.verdicts('--resume')
        self.assertEqual(pieces, whole)
        self.assertEqual(self.query('SELECT state FROM experiment ORDER BY id'), [('finished',), ('finished',)])
        # Order and number of trials are those of the uninterrupted one.
        rows = [self.query(f"SELECT block, position, case_index FROM trial WHERE experiment_id = {n} AND "
                           "outcome = 'ok' ORDER BY id") for n in (1, 2)]
        self.assertEqual(*rows)

    def test_a_budget_ends_it_and_more_of_it_goes_on(self):
        out, err = self.lab('compare', '-b', '100,200', '--seed', '1', '--budget', '1ms', *slower(200, 3), status=1)
        self.assertIn('inconclusive', out)
        self.assertIn('the budget is spent', err)
        ran = self.query('SELECT count(*) FROM trial')[0][0]
        self.assertLess(ran, 20)
        self.lab('compare', '-q', '--resume', '1', '--budget', '1h')
        self.assertGreaterEqual(self.query('SELECT count(*) FROM trial')[0][0], 20)

    def test_a_stored_sweep_is_judged(self):
        self.lab('sweep', '-q', '-b', '100,200,300', '-n', '12', '--seed', '1', *slower(300, 5))
        before = self.query('SELECT count(*) FROM trial')
        verdicts = self.verdicts('1', '--margin', '2%')
        self.assertEqual([v['verdict'] for v in verdicts],
                         ['no_practical_difference', 'different', 'different'])
        self.assertEqual([v['blocks'] for v in verdicts], [10, 10, 10])
        self.assertEqual(len(self.verdicts('latest', '--baseline', '300')), 2)
        self.assertEqual(len(self.verdicts('1', '-b', '100,200', '--margin', '3%')), 1)
        self.assertEqual(self.query('SELECT count(*) FROM trial'), before)
        self.lab('sweep', '-q', '-b', '100,200', '-n', '4', *slower(200, 5))
        out, _ = self.lab('compare', '2', status=1)
        self.assertIn('more block', out)

    def test_a_case_that_never_works_ends_it_early(self):
        out, err = self.lab('compare', '-b', '8,9', '--', 'sh', '-c', 'exit $(({batch} - 8))', status=1)
        self.assertIn('batch=9 gave no figure in 2 trials', err)
        self.assertEqual(self.query('SELECT count(*) FROM trial'), [(4,)])

    def test_parameters_are_compared_too(self):
        verdict, = self.verdicts('-b', '64', '-p', 'effect=0,3', '--', SCRIPTED, '{batch}', '{effect}', '7')
        self.assertEqual(verdict['verdict'], 'different')
        self.assertEqual(verdict['b']['effect'], '3')

    def test_what_makes_no_sense_is_refused(self):
        for args, words in (
                (['-b', '8', '--', 'true', '{batch}'], 'two cases'),
                (['--', 'true', '{batch}'], 'batch sizes'),
                (['--a', 'true'], '--b'),
                (['--a', 'true', '--b', 'true', '--', 'true'], 'no other command'),
                (['--a', 'true {batch}', '--b', 'true {batch}'], 'no batch size'),
                (['-b', '8,9', '--baseline', '7', '--', 'true', '{batch}'], "'7'"),
                (['-b', '8,9', '--fail-if', 'slow', '--', 'true', '{batch}'], "'slow'"),
                (['-b', '8,9', '--fail-if', '', '--', 'true', '{batch}'], 'fail-if'),
                (['-b', '8,9', '--confidence', '101%', '--', 'true', '{batch}'], '101%'),
                (['-b', '8,9', '--confidence', 'x', '--', 'true', '{batch}'], "'x'"),
                (['-b', '8,9', '--budget', '0', '--', 'true', '{batch}'], '--budget'),
                (['-b', '1..40', '--', 'true', '{batch}'], '780 pairs'),
                (['python3', 'train.py'], "'train.py'"),
                (['3', '-s', '5'], 'nothing is run'),
                (['--resume', '--margin', '2%'], '--resume keeps')):
            with self.subTest(args):
                out, err = self.lab('compare', *args, status=2)
                self.assertEqual(out, '')
                self.assertIn(words, err)
                self.assertIn('try: ', err)
                self.assertFalse(os.path.exists(self.db))


class SelfTest(LabCase):
    def test_nothing_is_seen_where_nothing_is(self):
        out, _ = self.lab('selftest', '--seed', '1', '--', SCRIPTED, '64', '0', '1')
        text = ' '.join(out.split())
        self.assertIn('B against A: ', text)
        self.assertIn('The interval holds 0, as it should.', text)
        self.assertIn('False alarms in stretches of 10 blocks: 0 of 2', text)
        self.assertIn('finds a difference of', text)
        self.assertIn('level 95', text)
        result = json.loads(self.lab('selftest', '-q', '--json', '-b', '32', '-n', '12', '--seed', '2', '--', SCRIPTED,
                                     '{batch}', '0', '9')[0])
        self.assertFalse(result['false_alarm'])
        self.assertEqual(result['blocks'], 12)
        differences = [look['difference'] for look in result['resolution']]
        self.assertEqual(differences, sorted(differences, reverse=True))
        # Noise of 0.5 % a run: sd 0.7 % of a difference, 0.7 % / sqrt(60) = 0.09 % after 60 blocks, times 3.5 or so.
        self.assertGreater(differences[-1], 0.001)
        self.assertLess(differences[-1], 0.008)

    def test_a_false_alarm_is_called_one(self):
        """A program that knows under which label it runs: the order of a seed is the same each time."""
        args = ['selftest', '-n', '12', '--seed', '4', '--json', '--']
        self.lab(*args, SCRIPTED, '64', '0', '1')
        rows = self.query('SELECT block * 2 + position + 1 FROM trial WHERE case_index = 1')
        cheat = self.write('cheat.py', 'import os\n'
                           f'effect = "3" if int(os.environ["BATCHLAB_TRIAL"]) in {[r[0] for r in rows]} else "0"\n'
                           f'os.execv({SCRIPTED!r}, [{SCRIPTED!r}, "64", effect, "1"])\n')
        result = json.loads(self.lab(*args, PYTHON, cheat, status=1)[0])
        self.assertTrue(result['false_alarm'])
        self.assertEqual(result['stretch_alarms'], 1)
        self.assertGreater(result['low'], 1.015)
        out, _ = self.lab(*[a for a in args if a != '--json'], PYTHON, cheat, status=1)
        self.assertIn('FALSE ALARM', out)

    def test_what_was_left_of_it_can_be_resumed(self):
        """compare judges what a self-test measured, and goes no further than its blocks."""
        process = self.start('selftest', '-n', '12', '--margin', '0.01%', '--seed', '1', '--', SCRIPTED, '64', '0', '1')
        for line in process.stderr:
            if '[5/24]' in line:
                process.send_signal(signal.SIGINT)
                break
        process.communicate(timeout=60)
        self.wait_until_gone()
        out, _ = self.lab('compare', '--resume', status=1)
        self.assertIn('B against A: inconclusive', out)
        self.assertEqual(self.query("SELECT count(*) FROM trial WHERE outcome = 'ok'"), [(24,)])

    def test_what_makes_no_sense_is_refused(self):
        for args, words in ((['--', SCRIPTED, '{batch}'], 'no batch size'), ([], 'no command'), (['-b', '8,9', '--', 'true',
                            '{batch}'], 'one batch size'), (['true'], "'true'"), (['-n', '3', '--', 'true'], "-n '3'")):
            with self.subTest(args):
                _, err = self.lab('selftest', *args, status=2)
                self.assertIn(words, err)


if __name__ == '__main__':
    main()
