#!/usr/bin/env python3
"""What people get wrong: one clear line that says what, where and what to do; the exit status that belongs to it; nothing
run and nothing lost."""
import os
import resource
import signal
import sqlite3
import subprocess

from lab_case import LabCase, main


class BadInput(LabCase):
    def refuse(self, args, words, status=2, remedy=True, database=False):
        """One error line that holds all the words, and a remedy."""
        out, err = self.lab(*args, status=status)
        self.assertEqual(out, '')
        lines = err.splitlines()
        self.assertEqual(len([line for line in lines if 'error:' in line]), 1, err)
        self.assertLessEqual(len(lines), 2, err)
        for word in words:
            self.assertIn(word, lines[0])
        if remedy:
            self.assertIn('try: ', err)
        self.assertEqual(os.path.exists(self.db), database, 'a database was made, or lost')

    def test_batch_lists(self):
        for text, words in (('', ['empty']), ('8x', ["'8x'", 'whole number']), ('0', ["'0'", 'at least 1']),
                            ('-4', ["'-4'", 'negative']), ('1,,2', ['part 2', 'empty']), ('16,8x', ["'8x'"]),
                            ('1..', ["'1..'"]), ('9..1', ['backwards']), ('99999999999', ['too large']),
                            ('1..1000000', ['4096']), ('pow2:5..7', ['no power of two']), ('1.5', ["'1.5'"])):
            with self.subTest(text):
                self.refuse(['sweep', '-b', text, '--', 'true', '{batch}'], ['batch list', *words])

    def test_commands(self):
        for args, words, status in (
                (['sweep', '-b', '8'], [], 2),
                (['sweep', '-b', '8', '--'], [], 2),
                (['sweep', '--', 'true', '{batch}'], [], 2),
                (['sweep', '-b', '8', '--', 'true'], ['{batch}'], 2),
                (['sweep', '-b', '8', '--', 'true', '{batches}'], ['batches'], 2),
                (['sweep', '-b', '8', '--', 'true', '{batch'], ["'{'"], 2),
                (['sweep', '-b', '8', '-p', 'w=1', '--', 'true', '{batch}'], ['{w}'], 2),
                (['sweep', '-b', '8', '-p', 'w', '--', 'true', '{batch}{w}'], ["'w'"], 2),
                (['sweep', '-b', '8', '-p', 'batch=1', '--', 'true', '{batch}'], ['batch'], 2)):
            with self.subTest(args):
                self.refuse(args, words, status)

    def test_options(self):
        tail = ['--', 'true', '{batch}']
        for args, words in ((['--blocks', '0'], ['--blocks']), (['--blocks', 'x'], ['--blocks', "'x'"]),
                            (['--time', '5parsecs'], ['--time']), (['--margin', '0'], ['--margin']),
                            (['--steps', '-1'], ['--steps']), (['--seed', '1e3'], ['--seed']),
                            (['--oom-pattern', 'a('], ['--oom-pattern', "'a('"]), (['--oom-pattern', ''], ['empty']),
                            (['--rules', self.write('r', 'memory x')], ["'memory'", 'line 1']),
                            (['--progress-regex', 'step (x)'], ['--progress-regex', 'done']),
                            (['--progress-unit', 'miles'], ['--progress-unit', "'miles'"]),
                            (['--no-progress', '--progress-unit', 'steps'], ['exclude']),
                            (['--bocks', '3'], ['--bocks']), (['--samples', '{batch}*'], ['samples'])):
            with self.subTest(args):
                self.refuse(['sweep', '-b', '8', *args, *tail], words, remedy=False)
        self.refuse(['sweep', '-b', '8', '--bocks', '3', *tail], ['--bocks'])
        self.refuse(['swep'], ["'swep'"])

    def test_a_command_that_is_not_there_or_cannot_be_run(self):
        self.refuse_run(['no-such-program', '{batch}'], ['no-such-program', 'not found'])
        self.refuse_run(['./no-such-program', '{batch}'], ['./no-such-program'])
        self.refuse_run([self.write('plain', 'echo\n'), '{batch}'], ['not executable'])

    def refuse_run(self, command, words):
        """Found only once it is run: what was begun is kept, and nothing hangs."""
        _, err = self.lab('sweep', '-b', '8', '-n', '1', '--', *command, status=3)
        for word in words:
            self.assertIn(word, err)
        self.assertIn('error:', err)

    def test_databases(self):
        tail = ['-b', '8', '--', 'true', '{batch}']
        self.refuse(['sweep', '--db', 'no/such/folder.db', *tail], ['no/such/folder.db'], status=3)
        self.refuse(['list', '--db', 'none.db'], ['none.db'], status=3)
        other = self.write('other.db', 'x' * 5000)
        self.refuse(['sweep', '--db', 'other.db', *tail], ['other.db'], status=3)
        with open(other, encoding='utf-8') as f:
            self.assertEqual(f.read(), 'x' * 5000)

    def with_database(self):
        self.lab('sweep', '-q', '-b', '8', '-n', '1', '--', 'true', '{batch}')

    def test_a_newer_database(self):
        self.with_database()
        self.query('PRAGMA user_version = 99')
        for args in (['sweep', '-b', '8', '--', 'true', '{batch}'], ['list'], ['show'], ['export', '1'],
                     ['delete', '1', '--yes'], ['sweep', '--resume']):
            with self.subTest(args):
                self.refuse(args, ['version 99'], status=3, database=True)
        self.assertEqual(self.query('SELECT count(*) FROM trial'), [(1,)])

    def test_a_database_that_another_process_holds(self):
        self.with_database()
        other = sqlite3.connect(self.db, isolation_level=None)
        other.execute('BEGIN IMMEDIATE')
        self.refuse(['sweep', '-b', '8', '--', 'true', '{batch}'], ['locked'], status=3, database=True)
        self.lab('list')  # looking is possible
        other.execute('ROLLBACK')
        other.close()

    def test_an_experiment_that_another_sweep_runs(self):
        process = self.start('sweep', '-b', '4', '-n', '1', *self.train(10 ** 9))
        while 'trial' not in self.tables() or not self.processes():
            pass
        self.lab('sweep', '--resume', '1', status=3)
        self.lab('delete', '1', '--yes', status=3)
        self.lab('sweep', '-q', '-b', '4', '-n', '1', '--', 'true', '{batch}')  # one of its own beside it
        process.send_signal(signal.SIGTERM)
        process.communicate(timeout=30)
        self.wait_until_gone()

    def tables(self):
        try:
            return [r[0] for r in self.query('SELECT name FROM sqlite_master') if self.query('SELECT 1 FROM experiment')]
        except sqlite3.Error:
            return []

    def test_numbers_that_are_not_there(self):
        self.with_database()
        for args in (['show', '7'], ['export', '7'], ['delete', '7', '--yes'], ['sweep', '--resume', '7']):
            with self.subTest(args):
                self.refuse(args, ['7'], database=True)
        self.refuse(['show', 'x'], ["'x'"], remedy=False, database=True)
        self.refuse(['sweep', '--resume'], ['unfinished'], database=True)

    def test_a_read_only_folder(self):
        self.with_database()
        os.chmod(self.db, 0o444)
        for name in (self.db + '-wal', self.db + '-shm'):
            if os.path.exists(name):
                os.remove(name)
        os.chmod(self.folder, 0o555)
        self.addCleanup(os.chmod, self.folder, 0o700)
        args = {'preexec_fn': lambda: os.setuid(65534)} if os.geteuid() == 0 else {}  # nothing is read-only for root
        try:
            self.lab('--version', **args)
        except (PermissionError, subprocess.SubprocessError):
            self.skipTest('the build folder is not for others')
        for command in (['sweep', '-b', '8', '--', 'true', '{batch}'], ['delete', '1', '--yes'],
                        ['sweep', '--db', 'other.db', '-b', '8', '--', 'true', '{batch}']):
            _, err = self.lab(*command, status=3, **args)
            self.assertIn('other.db' if '--db' in command else 'batchlab.db', err)
            self.assertEqual(len([line for line in err.splitlines() if 'error:' in line]), 1, err)
        self.assertIn('true {batch}', self.lab('list', **args)[0])  # looking is possible
        self.assertEqual(os.listdir(self.folder).count('other.db'), 0)

    def test_a_disk_that_becomes_full(self):
        def little_room():
            signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
            resource.setrlimit(resource.RLIMIT_FSIZE, (200_000, 200_000))
        script = self.write('fast.py', self.fast_trainer())
        process = self.start('sweep', '-b', '4', '-n', '9', '--steps', '1000', '--', 'python3', script, '{batch}',
                             preexec_fn=little_room)
        _, err = process.communicate(timeout=60)
        self.assertEqual(process.returncode, 3, err)
        self.assertIn('error:', err)
        self.check_integrity()
        stored = self.query('SELECT count(*), min(n) FROM (SELECT (SELECT count(*) FROM step WHERE trial_id = trial.id) '
                            'AS n FROM trial)')[0]
        self.assertGreaterEqual(stored[0], 1)
        self.assertLess(stored[0], 9)
        self.assertEqual(stored[1], 1000)  # whole trials only
        self.lab('sweep', '--resume', '-q')  # with room again
        self.assertEqual(self.query("SELECT count(*) FROM trial WHERE outcome = 'ok'"), [(9,)])

    @staticmethod
    def fast_trainer():
        return ('import json, os, sys, time\n'
                'fd, t = int(os.environ["BATCHLAB_FD"]), time.monotonic_ns()\n'
                'say = lambda **m: os.write(fd, (json.dumps(m) + "\\n").encode())\n'
                'say(type="ready", t_ns=t)\n'
                'for i in range(1000):\n'
                '    say(type="step", samples=4, t_ns=t + 1000000 * (i + 1), loss=0.123456789)\n')


if __name__ == '__main__':
    main()
