#!/usr/bin/env python3
"""What stands around a trial: its folder, its limits, the commands before and after it. `around.py 1000` runs so many trials
in a row."""
import os
import sys
import time

from lab_case import PYTHON, LabCase, main

N_TRIALS = int(sys.argv.pop()) if sys.argv[-1].isdigit() else 50


class Around(LabCase):
    def setUp(self):
        super().setUp()
        self.tmp = os.path.join(self.folder, 'tmp')
        os.mkdir(self.tmp)
        self.env['TMPDIR'] = self.tmp
        self.log = os.path.join(self.folder, 'log')

    def lines(self):
        with open(self.log, encoding='utf-8') as f:
            return f.read().splitlines()

    def test_a_fresh_folder_for_each_trial(self):
        script = self.write('fill.sh', 'ls -A "$1" | wc -l >>log; [ "$1" = "$BATCHLAB_OUTDIR" ] && echo same >>log\n'
                            'mkdir "$1/a"; echo x >"$1/a/checkpoint"; echo "$1" >>log\n')
        self.lab('sweep', '-q', '-b', '4,8', '-n', '2', '--', 'sh', script, '{outdir}', '{batch}')
        lines = self.lines()
        self.assertEqual(lines[::3] + lines[1::3], ['0'] * 4 + ['same'] * 4)
        self.assertEqual(len(set(lines[2::3])), 4)
        self.assertTrue(all(path.startswith(self.tmp + '/') for path in lines[2::3]))
        self.assertEqual(os.listdir(self.tmp), [])
        for n in (1, 2):  # the second time the names are taken
            self.lab('sweep', '-q', '-b', '4', '-n', '1', '--keep-outdir', 'kept', '--', 'sh', script, '{outdir}', '{batch}')
        self.lab('delete', '3', '-y')
        kept = sorted(os.listdir(os.path.join(self.folder, 'kept')))
        self.assertEqual(kept, ['2-block1-batch=4', '3-block1-batch=4'])
        self.assertTrue(os.path.exists(os.path.join(self.folder, 'kept', kept[0], 'a', 'checkpoint')))
        self.assertEqual(os.listdir(self.tmp), [])

    def test_commands_around_the_trials(self):
        say = self.write('say.sh', 'echo "$@" "$BATCHLAB_BATCH" >>log\n')
        self.lab('sweep', '-q', '-b', '4', '-p', 'w=a b', '-n', '2', '--setup', f'sh {say} set up', '--prepare',
                 f"sh {say} 'be fore' {{batch}} {{w}}", '--cleanup', f'sh {say} after', '--', 'sh', say, 'trial', '{batch}',
                 '{w}')
        once = ['be fore 4 a b 4', 'trial 4 a b 4', 'after 4']
        self.assertEqual(self.lines(), ['set up '] + 2 * once)
        os.unlink(self.log)
        self.lab('sweep', '-q', '--resume', '1', '--blocks', '3')  # they are kept, and set-up is done anew
        self.assertEqual(self.lines(), ['set up '] + once)
        os.unlink(self.log)
        self.lab('sweep', '-q', '-b', '4', '-n', '1', '--shell', '--prepare', 'echo {batch} | tr 4 5 >>log', '--cleanup',
                 'ls {outdir} | wc -l >>log', '--', 'echo {batch} >{outdir}/file; kill -KILL $$', status=1)
        self.assertEqual(self.lines(), ['5', '1'])
        self.assertEqual(os.listdir(self.tmp), [])

    def test_commands_that_fail(self):
        _, err = self.lab('sweep', '-b', '4', '-n', '2', '--setup', "sh -c 'echo no disk; exit 4'", '--', 'true', '{batch}',
                          status=1)
        self.assertIn('--setup ended with exit status 4', err)
        self.assertIn('no disk', err)
        self.assertEqual(self.query('SELECT count(*) FROM experiment'), [(0,)])
        self.lab('sweep', '-q', '-b', '4', '-n', '2', '--setup', 'no-such-command', '--', 'true', '{batch}', status=3)
        _, err = self.lab('sweep', '-b', '4', '-n', '3', '--prepare', 'mkdir once', '--', 'true', '{batch}', status=1)
        self.assertIn('--prepare', err)
        self.assertEqual(self.query('SELECT count(*) FROM trial'), [(1,)])  # the second was not begun
        _, err = self.lab('sweep', '-b', '4', '-n', '3', '--cleanup', 'rmdir twice', '--', 'mkdir', '-p', 'twice', 'x{batch}/y')
        os.rmdir(os.path.join(self.folder, 'once'))
        self.lab('sweep', '-q', '-b', '4', '-n', '3', '--cleanup', 'false', '--', 'true', '{batch}', status=1)
        self.assertEqual(self.query('SELECT count(*), max(outcome) FROM trial WHERE experiment_id = '
                                    '(SELECT max(id) FROM experiment)'), [(1, 'ok')])  # what was measured is kept
        for option in ('--setup', '--prepare'):
            _, err = self.lab('sweep', '-b', '4', option, 'echo {nothing}', '--', 'true', '{batch}', status=2)
            self.assertIn(option, err)
            _, err = self.lab('sweep', '-b', '4', option, "echo 'open", '--', 'true', '{batch}', status=2)
            self.assertIn('quote', err)
        self.lab('sweep', '-b', '4', '-p', 'outdir=1', '--', 'true', '{batch}', '{outdir}', status=2)

    def test_what_commands_leave_running_is_ended(self):
        self.lab('sweep', '-q', '-b', '4', '-n', '2', '--setup', "sh -c 'sleep 1000 & exit 0'", '--prepare',
                 "sh -c 'setsid sleep 1000 & exit 0'", '--cleanup', "sh -c '(sleep 1000 &)'", '--', 'true', '{batch}')
        self.wait_until_gone(0.2)

    def test_silence(self):
        start = time.monotonic()
        self.lab('sweep', '-q', '-b', '4', '-n', '1', '--silence-timeout', '300ms', '--', 'sh', '-c', 'echo go; sleep 1000',
                 '{batch}', status=1)
        self.assertLess(time.monotonic() - start, 60)
        self.assertEqual(self.query('SELECT outcome FROM trial'), [('timed_out',)])

    def test_a_limit_of_memory(self):
        script = self.write('fill.py', 'import sys\nb = bytearray(int(sys.argv[1]) << 20)\nb[::4096] = b"x" * len(b[::4096])\n')
        self.lab('sweep', '-q', '-b', '8,400', '-n', '1', '--memory-limit', '192M', '--', PYTHON, script, '{batch}', status=1)
        self.assertEqual(sorted(self.query('SELECT case_index, outcome, memory_kind FROM trial')),
                         [(0, 'ok', None), (1, 'out_of_memory', 'host')])
        self.assertIn('memory limit 192.0 MiB', self.lab('show', '--all')[0])
        self.lab('sweep', '-q', '--resume', '1', '--blocks', '2', status=1)
        self.assertEqual(self.query("SELECT count(*) FROM trial WHERE outcome = 'out_of_memory'"), [(2,)])
        self.lab('sweep', '-b', '4', '--memory-limit', '12', '--', 'true', '{batch}', status=2)

    def test_many_trials_leave_nothing(self):
        """The trials themselves count the descriptors of the launcher and of the lab above it; but for those of /proc, which
        a look at the trial has open for as long as that runs."""
        script = self.write('count.sh', 'l=$PPID; b=$(ps -o ppid= -p $l | tr -d " "); '
                            'echo $(ls -l /proc/$l/fd | grep -vc " /proc") $(ls -l /proc/$b/fd | grep -vc " /proc") >>log; touch $1/x; sleep 1000 & setsid sleep 1000 & exit 0\n')
        self.lab('sweep', '-q', '-b', '1..10', '-n', str(N_TRIALS // 10), '--prepare', 'true', '--', 'sh', script, '{outdir}',
                 '{batch}')
        lines = self.lines()
        self.assertEqual(len(lines), N_TRIALS)
        # The lab opens files for a moment while it samples the machine; what it leaves open piles up.
        counts = [[int(word) for word in line.split()] for line in lines]
        for who in range(2):
            least = [min(c[who] for c in part) for part in (counts[1:len(counts) // 2], counts[len(counts) // 2:])]
            self.assertEqual(least[0], least[1], f'descriptors are left open: {lines}')
        self.assertEqual(os.listdir(self.tmp), [])
        self.wait_until_gone(0.2)


if __name__ == '__main__':
    main()
