#!/usr/bin/env python3
"""The winner of a sweep on fresh blocks, and the knee: a trainer with a clock of its own and known effects."""
import json
import signal

from compare import SCRIPTED, slower
from lab_case import LabCase, main


class Confirm(LabCase):
    def test_a_winner_is_confirmed_on_fresh_blocks(self):
        """Three equal sizes and a slow one: one of the equal ones wins, and fresh blocks say what that is worth."""
        out, err = self.lab('sweep', '-b', '100,200,300,400', '-n', '6', '--seed', '1', '--confirm', *slower(400, 5))
        text = ' '.join(out.split())
        self.assertIn('experiment 2: ', err)
        self.assertIn('Confirmed as one of the best: on fresh blocks none is faster than', text)
        self.assertNotIn('only fresh blocks confirm it', text)
        self.assertEqual(len(set(self.query('SELECT case_index FROM trial WHERE experiment_id = 2'))), 3)
        self.assertEqual(self.query('SELECT * FROM confirmation'), [(2, 1)])
        self.assertIn('(Experiment 2.)', self.lab('show', '1')[0])
        found = json.loads(self.lab('show', '1', '--json')[0])['confirmation']
        self.assertEqual((found['found'], found['experiment'], len(found['verdicts'])), ('among_the_best', 2, 2))
        shown = ' '.join(self.lab('show', '2')[0].split())
        self.assertIn('Confirmed as one of the best', shown)
        self.assertNotIn('400', shown.split('Confirmed')[0].split('memory')[1])  # a case that is not compared has no row
        # The order is another than the sweep's.
        rows = [self.query(f'SELECT case_index FROM trial WHERE experiment_id = {n} AND case_index < 3 AND block < 6 '
                           'ORDER BY block, position') for n in (1, 2)]
        self.assertNotEqual(*rows)
        self.check_integrity()

    def test_confirming_finds_the_truth(self):
        self.lab('sweep', '-q', '-b', '100,200', '-n', '6', '--seed', '1', *slower(200, 4))
        out, _ = self.lab('show')
        self.assertIn('--confirm 1', ' '.join(out.split()))
        out, _ = self.lab('compare', '--confirm', '1')
        self.assertIn('Confirmed: on fresh blocks 100 is faster than all that came near it.', ' '.join(out.split()))
        # Luck that the sweep had and fresh blocks have not: the program is slow in experiment 4, at the size that won in 3.
        lucky = self.write('lucky.sh', f'if [ -e later ] && [ $1 = 100 ]; then e=4; else e=0; fi\nexec {SCRIPTED} $1 $e $1\n')
        worse = self.write('worse.sh', f'if [ -e later ]; then e=0; else e=3; fi\n[ $1 = 100 ] && exec sh {lucky} 100\n'
                           f'exec {SCRIPTED} $1 $e $1\n')
        self.lab('sweep', '-q', '-b', '100,200', '-n', '6', '--seed', '1', '--', 'sh', worse, '{batch}')
        self.write('later', '')
        out, _ = self.lab('compare', '--confirm', '3', '--fail-if', 'faster', status=1)
        self.assertIn('Not confirmed: on fresh blocks 100 is slower than 200.', ' '.join(out.split()))
        self.assertIn('Not confirmed', self.lab('show', '3')[0])
        # A confirmation that is interrupted goes on as any comparison.
        process = self.start('compare', '--confirm', '1')
        for line in process.stderr:
            if 'block 3/' in line:
                process.send_signal(signal.SIGINT)
                break
        process.communicate(timeout=60)
        self.assertEqual(process.returncode, 1)
        self.wait_until_gone()
        self.assertIn('Not settled', self.lab('show', '1')[0])
        self.lab('compare', '-q', '--resume')
        self.assertIn('Confirmed: on fresh blocks', ' '.join(self.lab('show', '1')[0].split()))

    def test_what_cannot_be_confirmed_is_refused(self):
        self.lab('sweep', '-q', '-b', '100,200', '-n', '2', '--', SCRIPTED, '{batch}', '0', '1')
        self.lab('compare', '-q', '--confirm', '1', '--margin', '3%')
        for args, words in ((['2'], 'is a comparison'), (['9'], 'no experiment 9'), (['1', '-b', '100,200'], '--confirm'),
                            (['1', '--resume'], '--confirm')):
            with self.subTest(args):
                out, err = self.lab('compare', '--confirm', *args, status=2)
                self.assertEqual(out, '')
                self.assertIn(words, err)
        self.lab('sweep', '-q', '-b', '100', '-n', '2', '--', SCRIPTED, '{batch}', '0', '1')
        _, err = self.lab('compare', '--confirm', '3', status=2)
        self.assertIn('no best one to confirm', err)
        self.assertEqual(self.query('SELECT count(*) FROM experiment'), [(3,)])

    def test_the_knee_and_special_sizes_are_told(self):
        """A step takes 1 ms more than its samples, multiples of 8 another 3 % less: samples of 0.1 ms, sizes 60 to 100."""
        command = (f'f=0; [ $(({{batch}} % 8)) = 0 ] && f=3; e=$((1000 / {{batch}} - f)); exec {SCRIPTED} {{batch}} $e {{batch}}')
        out, _ = self.lab('sweep', '-q', '-b', '8,12,60..76,100', '-n', '6', '--seed', '2', '--shell', '--', command)
        text = ' '.join(out.split())
        self.assertIn('multiples of 8 (64 and 72): they differ by more than 1 %: -', text)
        self.assertIn('Knee: 72 is the smallest size within 1 % of the best throughput', text)
        result = json.loads(self.lab('show', '--json')[0])
        self.assertEqual(result['knees'][0]['batch'], 72)
        special = {s['sizes']: s for s in result['special_sizes']}
        self.assertEqual(special['powers_of_two']['n_sizes'], 1)
        self.assertLess(special['multiples_of_8']['special_over_curve']['high'], 0.99)


if __name__ == '__main__':
    main()
