#!/usr/bin/env python3
"""The trainer as people meet it: what it prints and marks, that it learns, that a seed gives the same bits, that it stops
when asked to, and what it says to bad input."""
import csv
import json
import math
import os
import re
import signal
import subprocess
import unittest
import unittest.mock

from trainer_case import BUILD, TRAINER, TrainerCase, png

LAB = os.path.join(BUILD, 'src', 'lab', 'batchlab')


class Train(TrainerCase):
    def marked(self, *args):
        """What it marks, read as the lab reads it."""
        process, marks = self.start_marked('tiny_cnn', '-q', *args)
        text = marks.read()
        marks.close()
        _, err = process.communicate(timeout=240)
        self.assertEqual(process.returncode, 0, err)
        return [json.loads(line) for line in text.splitlines()]

    def losses(self, *args):
        return [m['loss'] for m in self.marked('--no-eval', *args) if m['type'] == 'step']

    def refuse(self, args, words, status=2, remedy=True):
        out, err = self.train(*args, status=status)
        self.assertEqual(out, '')
        lines = [line for line in err.splitlines() if 'error:' in line]
        self.assertEqual(len(lines), 1, err)
        for word in words:
            self.assertIn(word, lines[0])
        if remedy:
            self.assertIn('try: ', err)

    def test_it_learns_the_synthetic_images(self):
        out, _ = self.train('tiny_cnn', '--steps', '150', '-b', '32', '--seed', '2')
        self.assertGreater(float(out.split('top-1 ')[1].split(' ')[0]), 90)

    def test_it_learns_a_folder_of_images(self):
        self.put_images()
        out, _ = self.train('tiny_cnn', '-d', 'data', '-b', '16', '-e', '12', '-q')
        self.assertEqual(len(out.splitlines()), 12)
        self.assertIn('top-1 100.00 %', out.splitlines()[-1])

    def test_each_optimizer_learns(self):
        for words in (['sgd', '--nesterov', '--weight-decay', '1e-4'], ['adam'], ['adamw', '--weight-decay', '0.01']):
            with self.subTest(words):
                losses = self.losses('--steps', '60', '-b', '32', '--optimizer', *words, '--schedule', 'cosine',
                                     '--warmup-steps', '10', '--label-smoothing', '0.05')
                self.assertEqual(len(losses), 60)
                self.assertLess(sum(losses[-5:]) / 5, 0.75 * losses[0])

    def test_a_seed_gives_the_same_bits(self):
        self.put_images()
        common = ['-d', 'data', '-b', '8', '--steps', '14', '--augment', 'crop', '--threads', '2']
        first = self.losses(*common, '--seed', '5')
        self.assertEqual(len(first), 14)
        self.assertEqual(first, self.losses(*common, '--seed', '5', '--workers', '0'))
        self.assertEqual(first, self.losses(*common, '--seed', '5', '--workers', '3'))
        self.assertNotEqual(first, self.losses(*common, '--seed', '6'))

    def test_caches_change_no_bit(self):
        self.put_images()
        os.environ['XDG_CACHE_HOME'] = self.path('cache')
        common = ['--no-eval', '-d', 'data', '-b', '8', '--steps', '14', '--augment', 'crop', '--threads', '2']
        first = self.losses(*common)
        for cache, extra in (('ram', []), ('ram-encoded', ['-w', '2', '--prefetch', '3']), ('disk', []), ('disk', ['-w', '0'])):
            with self.subTest(cache):
                marks = self.marked(*common, '--cache', cache, *extra)
                self.assertEqual(first, [m['loss'] for m in marks if m['type'] == 'step'])
                kinds = [m['type'] + ' ' + m.get('name', m.get('kind', '')) for m in marks]
                self.assertLess(kinds.index('phase load'), kinds.index('metric load_s'))
                self.assertLess(kinds.index('metric load_s'), kinds.index('ready '))
                kept = [m['bytes'] for m in marks if m.get('kind') == 'data_cache']
                if cache == 'ram-encoded':
                    self.assertEqual(len(kept), 1)
                else:
                    self.assertEqual(kept, [48 * 16 * 16 * 3])
        self.assertEqual(len([name for name in os.listdir(self.path('cache/batchlab')) if not name.endswith('.scan')]), 1)
        os.environ['XDG_CACHE_HOME'] = self.path('another')  # what has been written once is used, however large
        for cache in ('ram', 'disk'):
            _, err = self.train('tiny_cnn', *common, '--cache', cache, '--cache-limit', '20K')
            self.assertIn(f'warning: --cache {cache}: ', err)
            self.assertNotIn('cache: 48 images', err)
        _, err = self.train('tiny_cnn', *common, '--cache', 'ram', '--cache-limit', '1M')
        self.assertIn('cache: 48 images', err)
        self.assertNotIn('warning', err)

    def test_each_way_to_learn_learns(self):
        for words in (['--accumulate', '2', '-b', '16', '--clip-norm', '2', '--lr-base-batch', '64', '--lr', '0.1'],
                      ['--schedule', 'step', '--lr-step-epochs', '1', '--lr-gamma', '0.5', '--train-samples', '1024'],
                      ['--mixup', '0.2'], ['--cutmix', '1', '--mixup', '0.8'],
                      ['--weight-decay', '1e-3', '--decay-all', '--warmup-steps', '5', '--warmup-factor', '0.1']):
            with self.subTest(words):
                losses = self.losses('--steps', '60', *(words if '-b' in words else ['-b', '32', *words]))
                self.assertEqual(len(losses), 60)
                self.assertLess(sum(losses[-8:]) / 8, (0.75 if '--mixup' not in words else 0.95) * losses[0])

    def test_mixing_does_not_depend_on_the_workers(self):
        common = ['-b', '9', '--steps', '12', '--train-samples', '60', '--mixup', '0.4', '--cutmix', '1', '--threads', '2']
        first = self.losses(*common, '--no-drop-last', '--workers', '2')
        self.assertEqual(first, self.losses(*common, '--no-drop-last', '--workers', '0'))
        self.assertNotEqual(first, self.losses(*common, '--no-drop-last', '--seed', '2'))

    def test_the_average_is_steadier(self):
        """A high constant rate leaves the weights of a step far from good, but not their average."""
        options = ['tiny_cnn', '-q', '-b', '8', '--steps', '200', '--lr', '0.5', '--seed', '3']
        plain, averaged = (float(self.train(*options, *more)[0].split('test loss ')[1].split(' ')[0])
                           for more in ([], ['--ema', '0.97']))
        self.assertLess(averaged, plain)

    def test_a_step_of_several_batches_marks_all_its_samples(self):
        common = ['-b', '8', '--accumulate', '3', '--train-samples', '52', '-e', '2', '--no-eval']
        marks = self.marked(*common)
        self.assertEqual(marks[0]['batch'], 8)
        self.assertEqual([m['samples'] for m in marks if m['type'] == 'step'], [24, 24] * 2)
        marks = self.marked(*common, '--no-drop-last', '--ema', '0.9')
        self.assertEqual([m['samples'] for m in marks if m['type'] == 'step'], [24, 24, 4] * 2)
        self.assertIn('average', [m['kind'] for m in marks if m['type'] == 'memory'])

    def test_what_it_marks(self):
        marks = self.marked('-b', '20', '--train-samples', '50', '--test-samples', '30', '-e', '2', '--no-drop-last')
        kinds = [m['type'] for m in marks]
        self.assertEqual(kinds[0], 'hello')
        self.assertEqual(marks[0]['batch'], 20)
        self.assertEqual(kinds[-1], 'done')
        self.assertEqual([m['samples'] for m in marks if m['type'] == 'step'], [20, 20, 10] * 2)
        times = [m['t_ns'] for m in marks if 't_ns' in m]
        self.assertEqual(times, sorted(times))
        self.assertLess(kinds.index('ready'), kinds.index('step'))
        self.assertEqual([m['name'] for m in marks if m['type'] == 'phase'], ['eval', 'train'] * 2)
        self.assertEqual(sum(m['type'] == 'metric' and m['name'] == 'top1' for m in marks), 2)
        self.assertEqual(sum(m['bytes'] > 0 for m in marks if m['type'] == 'memory'), 4)
        self.assertTrue(all(math.isfinite(m['loss']) and m['wait_ns'] >= 0 for m in marks if m['type'] == 'step'))

    def test_the_log_has_a_line_an_epoch(self):
        self.train('tiny_cnn', '-q', '-b', '16', '--train-samples', '64', '--test-samples', '16', '-e', '3',
                   '--eval-every', '2', '--log', 'log.csv')
        with open(os.path.join(self.folder, 'log.csv'), encoding='utf-8', newline='') as f:
            rows = list(csv.DictReader(f))
        self.assertEqual([(r['epoch'], r['step']) for r in rows], [('1', '4'), ('2', '8'), ('3', '12')])
        self.assertEqual([r['test_top1'] == '' for r in rows], [True, False, False])

    def test_it_stops_when_asked_to(self):
        for number in (signal.SIGTERM, signal.SIGINT):
            process = self.start('tiny_cnn', '-b', '8', '--epochs', '1000', '--log', 'log.csv')
            process.stderr.readline()  # it has begun
            process.send_signal(number)
            _, err = process.communicate(timeout=60)
            self.assertEqual(process.returncode, 1, err)
            with open(os.path.join(self.folder, 'log.csv'), encoding='utf-8') as f:
                self.assertTrue(f.readline().startswith('epoch,step'))

    def test_words_and_numbers(self):
        for args, words in (([], ['which model']), (['tiny_cnn', 'tiny_cnn'], ['more than one']),
                            (['resnet9000'], ['resnet9000']), (['tiny_cnn', '-b', '0'], ['-b', "'0'"]),
                            (['tiny_cnn', '-b', '8x'], ["'8x'"]), (['tiny_cnn', '--optimizer', 'sgdd'], ["'sgdd'"]),
                            (['tiny_cnn', '--augment', 'all'], ["'all'"]), (['tiny_cnn', '--schedule', 'x'], ["'x'"]),
                            (['tiny_cnn', '-d', '.', '--cache', 'RAM'], ["'RAM'"]),
                            (['tiny_cnn', '--cache', 'ram'], ['--cache ram', '--data']),
                            (['tiny_cnn', '--cache-limit', '4G'], ['--cache-limit']),
                            (['tiny_cnn', '--prefetch', '0'], ['--prefetch', "'0'"]),
                            (['tiny_cnn', '--lr', '-1'], ['--lr']), (['tiny_cnn', '--momentum', '1'], ['--momentum']),
                            (['tiny_cnn', '--label-smoothing', '1'], ['--label-smoothing']),
                            (['tiny_cnn', '--image-size', '9999'], ['image-size']),
                            (['tiny_cnn', '--mixup', '0'], ['--mixup 0']), (['tiny_cnn', '--ema', '1'], ['--ema 1']),
                            (['tiny_cnn', '--clip-norm', '0'], ['--clip-norm 0']),
                            (['tiny_cnn', '--lr-scaling', 'x', '--lr-base-batch', '8'], ["'x'"]),
                            (['tiny_cnn', '--schedule', 'step', '--lr-milestones', '3,2'], ['2 does not come after 3']),
                            (['tiny_cnn', '--schedule', 'step', '--lr-milestones', '3,x'], ["'x'"]),
                            (['tiny_cnn', '--schedule', 'step', '--lr-milestones', ','.join(map(str, range(1, 99)))],
                             ['more than 64']),
                            (['tiny_cnn', '--schedule', 'cosine', '--min-lr', '9'], ['--min-lr 9']),
                            (['tiny_cnn', '--warmup-factor', '2', '--warmup-steps', '3'], ['--warmup-factor 2']),
                            (['mobilenet_v3_large', '--image-size', '8'], ['--image-size 8']),
                            (['tiny_cnn', '-d', '.', '--train-samples', '9'], ['--train-samples'])):
            with self.subTest(args):
                self.refuse(args, words, remedy=False)

    def test_options_that_do_not_go_together(self):
        for args in (['--optimizer', 'adam', '--momentum', '0.9'], ['--optimizer', 'adamw', '--nesterov'],
                     ['--nesterov', '--momentum', '0'], ['--decay-all'], ['--lr-scaling', 'sqrt'], ['--min-lr', '1e-5'],
                     ['--schedule', 'step'], ['--lr-step-epochs', '3'], ['--lr-milestones', '3'], ['--lr-gamma', '0.5'],
                     ['--schedule', 'step', '--lr-step-epochs', '3', '--lr-milestones', '3'],
                     ['--warmup-steps', '3', '--warmup-epochs', '3'], ['--warmup-factor', '0.1'],
                     ['--mixup', '0.2', '-b', '1'], ['--ema-ramp', '100']):
            with self.subTest(args):
                self.refuse(['tiny_cnn', *args], ['--'])
        for args, words in ((['--mixup', '0.2'], ['--mixup', 'classifiers']), (['--cutmix', '1'], ['--cutmix', 'classifiers']),
                            (['--nominal-batch', '64', '--accumulate', '2'], ['--nominal-batch', '--accumulate']),
                            (['--nominal-batch', '64', '--lr-base-batch', '64'], ['--lr-base-batch']),
                            (['--nominal-batch', '64', '--warmup-steps', '9', '--warmup-factor', '0.1'], ['warm-up of its own'])):
            with self.subTest(args):
                self.refuse(['yolov7_tiny', *args], words)

    def test_a_batch_larger_than_the_data(self):
        self.refuse(['tiny_cnn', '-b', '20', '--accumulate', '4', '--train-samples', '64'], ['4', '20', '64'])
        self.refuse(['tiny_cnn', '-b', '65', '--train-samples', '64'], ['65', '64'])
        self.put_images(4)
        self.refuse(['tiny_cnn', '-q', '-d', 'data', '-b', '9'], ['9', '8 images'])

    def test_data_that_are_none(self):
        self.refuse(['tiny_cnn', '-d', 'none'], ["'none'"], status=3, remedy=False)
        self.put_images(4)
        os.makedirs(os.path.join(self.folder, 'data/train/green'))
        self.refuse(['tiny_cnn', '-d', 'data'], ['data/train/green'])

    def test_too_few_classes(self):
        self.put_images(4)
        self.put('data/train/green/1.png', png((0, 200, 0)))
        self.refuse(['tiny_cnn', '-d', 'data', '-b', '4', '--classes', '2'], ['3'], remedy=False)

    def test_corrupt_images(self):
        self.put_images(4)
        for name, data in (('broken.jpg', b'\xff\xd8\xff\xe0 no picture'), ('cut.png', png((1, 2, 3))[:-40])):
            self.put(f'data/train/red/{name}', data)
        out, err = self.train('tiny_cnn', '-d', 'data', '-b', '8')
        self.assertRegex(err, r"warning: 2 of the data set's files cannot be used .*, such as data/train/red/broken.jpg: ")
        self.assertNotIn('looking at images', err)  # the bar is for terminals
        out, _ = self.train('tiny_cnn', '-d', 'data', '--list-skipped')
        self.assertIn('8 images to train on', out)
        self.assertIn('left out: data/train/red/broken.jpg: ', out)
        self.assertIn('left out: data/train/red/cut.png: it ends too early', out)
        marks = self.marked('-d', 'data', '-b', '8', '--no-scan-cache')
        self.assertEqual([m['value'] for m in marks if m.get('name') == 'files_left_out'], [2])

    def test_an_image_corrupt_within(self):
        self.put_images(4)
        image = bytearray(png((1, 2, 3)))
        image[len(image) // 2:len(image) // 2 + 8] = b'nonsense'
        self.put('data/train/red/within.png', bytes(image))
        self.refuse(['tiny_cnn', '-q', '-d', 'data', '-b', '9'], ['data/train/red/within.png'])
        _, err = self.train('tiny_cnn', '-q', '-d', 'data', '-b', '8', '--verify-images')
        self.assertIn('within.png: it cannot be decoded', err)
        self.refuse(['tiny_cnn', '--verify-images'], ['--verify-images is for the files of --data'], remedy=False)

    def test_a_bar_while_scanning(self):
        """On a terminal alone, and not where --quiet asks for silence."""
        self.put_images(4)
        for i in range(200):  # links: each is a file of its own to the scan
            os.symlink('0.png', self.path(f'data/train/red/link{i}.png'))
        for quiet in (False, True):
            with self.subTest(quiet=quiet):
                ours, theirs = os.openpty()
                process = subprocess.Popen([TRAINER, 'tiny_cnn', '-d', 'data', '--list-skipped'] + ['-q'] * quiet, cwd=self.folder, stdout=subprocess.DEVNULL,
                                           stderr=theirs, env=dict(os.environ, TERM='xterm'))
                os.close(theirs)
                shown = b''
                try:
                    while piece := os.read(ours, 4096):
                        shown += piece
                except OSError:  # the other side is closed
                    pass
                os.close(ours)
                self.assertEqual(process.wait(timeout=60), 0)
                if quiet:
                    self.assertEqual(shown, b'')
                else:
                    self.assertRegex(shown, rb'looking at images \[#*-*\] \d+ of 224')
                    self.assertTrue(shown.endswith(b'\r\x1b[K'), shown)

    def test_more_memory_than_there_is(self):
        self.refuse(['tiny_cnn', '-q', '-b', '1048576', '--train-samples', '1048576', '--image-size', '2048'],
                    ['1048576'], status=3)

    def test_a_loss_that_is_no_number(self):
        _, err = self.train('tiny_cnn', '--lr', '1e30', '--steps', '20', status=1)
        self.assertIn('no number', err)
        self.assertIn('--lr', err)

    def test_a_log_that_cannot_be_written(self):
        self.refuse(['tiny_cnn', '-q', '--log', 'no/such/log.csv', '--steps', '1'], ['no/such/log.csv'], status=3,
                    remedy=False)

    def test_lists_and_profile(self):
        models, _ = self.train('list')
        self.assertIn('mobilenet_v3_large', models)
        self.assertEqual(models, self.train('--list-models')[0])
        out, _ = self.train('tiny_cnn', '-q', '-b', '8', '--steps', '3', '--no-eval', '--profile')
        self.assertIn('conv2d', out)
        self.assertIn('ms a step', out)

    def test_precision(self):
        exact = self.losses('-b', '8', '--steps', '3')
        rounded = self.losses('-b', '8', '--steps', '3', '--precision', 'bfloat16-emulated')
        self.assertEqual(len(rounded), 3)
        self.assertNotEqual(exact, rounded)
        self.assertLess(abs(exact[0] - rounded[0]), 0.02 * exact[0])
        self.refuse(['tiny_cnn', '--precision', 'float16'], ['float16'])
        process = self.start('tiny_cnn', '-b', '8', '--steps', '1', '--no-eval', '--precision', 'bfloat16')
        _, err = process.communicate(timeout=60)
        with open('/proc/cpuinfo', encoding='ascii', errors='replace') as f:
            able = re.search(r'\b(avx512_bf16|amx_bf16)\b', f.read())
        if not able:  # where it is able, the system's oneDNN may still be too old
            self.assertEqual(process.returncode, 2, err)
        if process.returncode != 0:
            self.assertIn('has no bfloat16', err)
            self.assertIn('try: --precision float32', err)

    def test_planned_memory_is_what_it_takes(self):
        # Large enough that what a process takes besides matters little: file pages and their counting differ by machine.
        # Test runners have malloc fill what it gives, so that batches would be resident before training touches them.
        patch = unittest.mock.patch.dict(os.environ, MALLOC_PERTURB_='0')
        patch.start()
        self.addCleanup(patch.stop)
        for recompute in 'none', 'all':
            options = ['mobilenet_v3_small', '-b', '96', '--image-size', '160', '--recompute', recompute]
            plan, _ = self.train(*options, '--memory-plan')
            planned = float(re.search(r'in all +([\d.]+) MiB', plan).group(1))
            _, err = self.train(*options, '--steps', '2', '--no-eval')
            peak = float(re.search(r'([\d.]+) MiB at the measured peak', err).group(1))
            self.assertLess(abs(peak / planned - 1), 0.1, f'{plan}\n{err}')
            parts = [float(x) for x in re.findall(r'^  (?!in all).*? ([\d.]+) MiB', plan, re.M)]
            self.assertEqual(len(parts), 9, plan)
            self.assertAlmostEqual(sum(parts), planned, delta=1)

    def test_under_the_lab(self):
        self.put_images(24)
        done = subprocess.run([LAB, 'sweep', '-q', '-b', '8,9', '-n', '2', '--steps', '12', '--model', 'tiny_cnn',
                               '--data', 'data'], cwd=self.folder, capture_output=True, text=True)
        self.assertEqual(done.returncode, 0, done.stderr)
        shown = subprocess.run([LAB, 'export', '1', '--format', 'json'], cwd=self.folder, capture_output=True, text=True)
        trials = json.loads(shown.stdout)['trials']
        self.assertEqual([t['outcome'] for t in trials], ['ok'] * 4)
        self.assertGreaterEqual(min(len(t['steps']) for t in trials), 12)  # more than one epoch's

    def test_the_gradients_noise_is_marked_and_changes_nothing(self):
        noisy = self.marked('--no-eval', '--steps', '7', '-b', '8', '--train-samples', '80', '--noise-scale-every', '3',
                            '--noise-samples', '64', '--noise-batch', '4')
        kinds = [m['type'] if m['type'] != 'phase' else m['name'] for m in noisy]
        self.assertEqual(kinds.count('noise'), 2 * (8 + 1))  # two phases of that name, eight lines each
        self.assertEqual({(m['small'], m['big'], m['scaled']) for m in noisy if m['type'] == 'noise'}, {(4, 8, False)})
        self.assertEqual([m['loss'] for m in noisy if m['type'] == 'step'],
                         self.losses('--steps', '7', '-b', '8', '--train-samples', '80'))
        _, said = self.train('tiny_cnn', '--no-eval', '--steps', '2', '-b', '8', '--noise-scale-every', '2',
                             '--noise-samples', '64', '--optimizer', 'adam', '--noise-batch', '4')
        self.assertRegex(said, r'noise scale after step 2: \S+ samples, \S+ as Adam scales the gradient; from 8 x 8 samples, '
                               r'micro-batches of 4 \(and their statistics\)')
        self.refuse(['tiny_cnn', '--noise-batch', '4'], ['--noise-scale-every'], remedy=False)
        self.refuse(['tiny_cnn', '--noise-scale-every', '1', '--mixup', '0.2'], ['--mixup'], remedy=False)
        self.refuse(['tiny_cnn', '--noise-scale-every', '1', '--noise-samples', '16'], ['--noise-samples 16'])
        self.refuse(['tiny_cnn', '--noise-scale-every', '1', '--noise-batch', '1'], ['normalises over batches'])
        self.refuse(['yolov7_tiny', '--noise-scale-every', '1'], ['classifiers'], remedy=False)

    def test_the_lab_shows_noise_scales(self):
        done = subprocess.run([LAB, 'sweep', '-q', '-b', '8,16', '-n', '2', '--steps', '6', '--',
                               os.path.join(BUILD, 'src', 'train', 'batchlab-train'), 'mlp', '-b', '{batch}', '--no-eval',
                               '--image-size', '8', '--noise-scale-every', '3', '--noise-samples', '128'],
                              cwd=self.folder, capture_output=True, text=True)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn('How noisy the gradient is, in samples', done.stdout)
        self.assertIn('order of magnitude', done.stdout)
        shown = subprocess.run([LAB, 'export', '1', '--format', 'json'], cwd=self.folder, capture_output=True, text=True)
        told = json.loads(shown.stdout)
        scales = told['noise_scales']
        self.assertEqual([(s['factors']['batch'], s['after_steps'], s['measurements']) for s in scales if s['after_steps'] == 3],
                         [('8', 3, 16), ('16', 3, 16)])
        trial = told['trials'][0]['gradient_noise']
        rows = [n for t in told['trials'] if t['factors']['batch'] == '8' for n in t['gradient_noise']
                if n['after_steps'] == 3]
        self.assertEqual({(n['small'], n['big']) for n in trial}, {(1, 16)})
        signal = sum((n['big'] * n['big_sq'] - n['small_sq']) / (n['big'] - 1) for n in rows)
        noise = sum((n['small_sq'] - n['big_sq']) / (1 - 1 / n['big']) for n in rows)
        self.assertAlmostEqual(scales[0]['signal'] * len(rows), signal, places=6)
        self.assertAlmostEqual(scales[0]['noise'] * len(rows), noise, places=6)


if __name__ == '__main__':
    unittest.main(verbosity=2)
