#!/usr/bin/env python3
"""Programs that know nothing of the lab: a small script for each way of reporting progress, and what is measured of it."""
import os

from lab_case import PYTHON, LabCase, main

# Writes one update after the other, each only once the one before has been read: so the lab sees each at a moment of its own,
# on a machine of any speed.
SCRIPT = r'''
import fcntl, os, struct, sys, termios, time
BAR = '\u2501\u2501\u2501\u2500'
FORMATS = {
    'tqdm': lambda i, n: f'\rep1: {100*i//n:3d}%|{"#"*(10*i//n):10s}| {i}/{n} [00:10<01:13, 11.97it/s, loss=.5]',
    'tqdm_flip': lambda i, n: f'\r{100*i//n:3d}%|#| {i}/{n} [00:10<01:13, {["1.00it/s", "1.00s/it"][i % 2]}]',
    'tqdm_90': lambda i, n: f'\r{i}%|#| {90+i}/{90+n} [00:10<01:13, 11.97it/s]',
    'tqdm_thousands': lambda i, n: f'\r1%|#| {1000+i:,}/{9000+n:,} [00:10<01:13, 11,97it/s]',
    'lightning': lambda i, n: f'\rEpoch 0: {100*i//n:3d}%| | {i}/{n} [00:08<13:12,  0.25it/s, v_num=3]',
    'rich': lambda i, n: f'\r\x1b[2KEpoch 0/9 {BAR} {i}/{n} 0:00:10 \u2022 0:01:13 11.97it/s',
    'yolov5': lambda i, n: f'\r      0/99     2.31G    0.1234    0.0567        45       640: {100*i//n:3d}%|# | {i}/{n} '
                           '[00:02<00:09,  9.80it/s]',
    'ultralytics': lambda i, n: f'\r\x1b[K      1/100     2.31G      1.2        20        640: {100*i//n}% {BAR} {i}/{n} '
                                '1.2Kit/s 10.1s<1:13',
    'keras': lambda i, n: '\b' * 50 + f'\r\x1b[1m{i}/{n}\x1b[0m \x1b[32m\u2501\x1b[0m \x1b[1m5s\x1b[0m 12ms/step - loss: 2.1',
    'torchvision': lambda i, n: f'Epoch: [0]  [{i:4d}/{n}]  eta: 0:41:12  loss: 6.9 (6.95)  time: 0.4950  data: 0.0123\n',
    'timm': lambda i, n: f'Train: 0 [{i:4d}/{n} ({100*i//n:3d}%)]  Loss: 6.93 (6.95)  Time: 0.321s,  797.51/s\n',
    'mmengine': lambda i, n: f'10:00:00 - mmengine - INFO - Epoch(train)  [1][{i:3d}/{n}]  lr: 1e-2  time: 0.1  loss: 2\n',
    'detectron2': lambda i, n: f'[10:00:00 d2.utils.events]:  eta: 0:12:34  iter: {i}  total_loss: 1.2  time: 0.35\n',
    'paddle': lambda i, n: f'[Train][Epoch 1/120][Iter: {i}/{n}]lr: 0.1, loss: 7.0, batch_cost: 0.4s, ips: 160 samples/s\n',
    'darknet': lambda i, n: f'{i}: 12.3, 14.5 avg, 0.001 rate, 1.23 seconds, {i*8} images\n',
    'llm.c': lambda i, n: f'step {i:4d}/{n} | loss 4.1 (+0.1z)| norm 1.2 (-0.5z)| lr 3e-4 | 123.45 ms | 45% | 9 tok/s\n',
    'nanogpt': lambda i, n: f'iter {i}: loss 4.1234, time 135.21ms, mfu -100.00%\n',
    'torchtitan': lambda i, n: f'\x1b[32m- root - INFO - step: {i:2d}  \x1b[31mloss:  8.1234  \x1b[34mtps: 1,234\x1b[39m\n',
    'plain': lambda i, n: f'step {i} of {n}\n',
    'own': lambda i, n: f'<tick {i}>\n',
}

said = 0

def is_read(fd):
    if not os.isatty(fd):
        return struct.unpack('i', fcntl.ioctl(fd, termios.FIONREAD, bytes(4)))[0] == 0
    logs = os.environ['LOGS']  # a terminal does not tell; what was read is logged
    newest = max((os.path.join(logs, name) for name in os.listdir(logs)), key=os.path.getmtime)
    return os.path.getsize(newest) >= said

def say(text, fd=1):
    global said
    while not is_read(1):
        time.sleep(0.0002)
    said += os.write(fd, text if isinstance(text, bytes) else text.encode())

what, n = sys.argv[2], 20
if what in FORMATS:
    say('starting\n')
    for i in range(n + 1):
        say(FORMATS[what](i, n))
elif what == 'interleaved':
    for i in range(n + 1):
        say(FORMATS['plain'](i, n), 1 + i % 2)
        say(b'warning: \xff\xfe something\n', 2)
elif what == 'buffered':
    os.write(1, ''.join(FORMATS['nanogpt'](i, n) for i in range(n + 1)).encode())
elif what == 'terminal':
    for i in range(n + 1 if os.isatty(1) and os.isatty(2) and not os.isatty(0) and os.get_terminal_size(1).columns == 160
                   and os.environ['TERM'] not in ('', 'dumb') else 0):
        say(FORMATS['tqdm'](i, n))
elif what == 'idle':
    say('\r  0%|          | 0/1000 [00:00<?, ?it/s]')
elif what == 'oom_in_test':
    for i in range(n + 1):
        say(FORMATS['torchvision'](i, n))
    say('Test:  [ 1/98]  eta: 0:00:20  loss: 1.2  time: 0.2500\n')
    say('RuntimeError: XPU out of memory. Tried to allocate 1.00 GiB\n', 2)
    sys.exit(1)
elif what == 'endless':
    i = 0
    while True:
        say(FORMATS['nanogpt'](i, n))
        i += 1
'''


class Wild(LabCase):
    def setUp(self):
        super().setUp()
        self.script = self.write('script.py', SCRIPT)
        self.env['LOGS'] = os.path.join(self.folder, 'logs')

    def sweep(self, what, *options, status=0):
        """One trial at batch 8; returns its row."""
        self.lab('sweep', '-q', '-b', '8', '-n', '1', '--steps', '1000', '--keep-logs', 'logs', *options, '--', PYTHON, self.script, '{batch}', what,
                 status=status)
        return self.query('SELECT outcome, step_source, step_note, phase, memory_kind, reason, '
                          '(SELECT count(*) FROM step WHERE trial_id = trial.id), '
                          '(SELECT sum(samples) FROM step WHERE trial_id = trial.id) FROM trial ORDER BY id DESC LIMIT 1')[0]

    def check_steps(self, row, note, n=20):
        outcome, source, step_note, phase, _, reason, steps, samples = row
        self.assertEqual((outcome, source, phase, steps, samples), ('ok', 'progress', 'train', n, n * 8), (step_note, reason))
        self.assertIn(note, step_note)

    def test_each_kind_of_report(self):
        for what in ('tqdm', 'tqdm_flip', 'tqdm_90', 'tqdm_thousands', 'lightning', 'rich', 'yolov5', 'ultralytics', 'keras',
                     'torchvision', 'timm', 'mmengine', 'detectron2', 'paddle', 'darknet', 'llm.c', 'nanogpt', 'torchtitan',
                     'plain', 'interleaved'):
            with self.subTest(what):
                self.check_steps(self.sweep(what), '20 steps at 20 moments')

    def test_a_pattern_of_ones_own(self):
        self.assertEqual(self.sweep('own')[1], 'none')
        self.check_steps(self.sweep('own', '--progress-regex', 'tick (?<done>[0-9]+)'), '--progress-regex')
        row = self.sweep('own', '--progress-regex', 'tick (?<done>[0-9]+)', '--progress-unit', 'samples')
        self.assertEqual(row[1:2] + row[6:], ('progress', 20, 20))

    def test_progress_may_be_left_unread(self):
        self.assertEqual(self.sweep('tqdm', '--no-progress')[:3], ('ok', 'none', None))

    def test_output_that_comes_at_the_end_gives_the_wall_time_and_says_why(self):
        row = self.sweep('buffered')
        self.assertEqual(row[:2], ('ok', 'none'))
        self.assertIn('--pty', row[2])
        out, _ = self.lab('show')
        self.assertIn('keeps its output back', ' '.join(out.split()))

    def test_a_program_that_wants_a_terminal(self):
        self.env['TERM'] = 'dumb'
        self.assertEqual(self.sweep('terminal')[1], 'none')
        self.check_steps(self.sweep('terminal', '--pty'), 'tqdm')

    def test_a_bar_that_never_moves_is_invalid(self):
        self.assertEqual(self.sweep('idle', status=1)[0], 'invalid')

    def test_a_failure_in_an_evaluation_keeps_its_place(self):
        row = self.sweep('oom_in_test', status=1)
        self.assertEqual(row[0], 'out_of_memory')
        self.assertEqual(row[3:5], ('eval', 'device'))
        self.assertIn('in phase eval after 20 steps', row[5])

    def test_budgets_count_steps_of_progress_lines(self):
        row = self.sweep('endless', '--steps', '30')
        self.assertEqual(row[:2], ('ok', 'progress'))
        self.assertGreaterEqual(row[6], 30)
        self.assertEqual(self.sweep('endless', '--steps', '1000000', '--time', '300ms')[:2], ('ok', 'progress'))
        out, _ = self.lab('show')
        self.assertIn("progress lines", out)

    def test_a_resumed_experiment_reads_in_the_same_way(self):
        self.sweep('own', '--progress-regex', 'tick (?<done>[0-9]+)', '--pty')
        self.lab('sweep', '--resume', '1', '--blocks', '2', '-q', '--keep-logs', 'logs')
        self.assertEqual(self.query('SELECT step_source FROM trial'), [('progress',), ('progress',)])


if __name__ == '__main__':
    main()
