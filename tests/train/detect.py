#!/usr/bin/env python3
"""Detectors as people meet them: that one learns to find rectangles, what is printed, logged and marked, that a seed gives
the same bits, and what is said to bad labels.

usage: detect.py [slow]
"""
import csv
import json
import math
import os
import random
import subprocess
import sys
import tarfile
import unittest

from trainer_case import TRAINER, TrainerCase, png_of

SLOW = sys.argv[1:2] == ['slow']
COCO128 = os.path.join(os.environ['BATCHLAB_SOURCE_ROOT'], '..', 'shared', 'data', 'coco128.tar')


def scene(side, color, box):
    """A PNG with noise, and a rectangle (left, top, width, height) in a colour."""
    left, top, width, height = box
    picture = bytearray()
    for y in range(side):
        for x in range(side):
            inside = left <= x < left + width and top <= y < top + height
            picture += bytes(c + random.randrange(-15, 16) for c in (color if inside else (90, 100, 90)))
    return png_of(bytes(picture), side)


class Detect(TrainerCase):
    def start(self, *args, **kwargs):
        return super().start('yolov7_tiny', *args, **kwargs)

    def marked(self, *args):
        process, marks = self.start_marked('-q', *args)
        with marks:
            lines = [json.loads(line) for line in marks]
        _, err = process.communicate(timeout=240)
        self.assertEqual(process.returncode, 0, err)
        return lines

    def losses(self, *args):
        return [m['loss'] for m in self.marked('--no-eval', *args) if m['type'] == 'step']

    def put_scenes(self, n=16, n_test=4, side=96):
        for split, count in (('train', n), ('val', n_test)):
            for i in range(count):
                width, height = random.randrange(30, 50), random.randrange(30, 50)
                left, top = random.randrange(side - width), random.randrange(side - height)
                color = ((220, 40, 30), (30, 60, 220))[i % 2]
                self.put(f'data/images/{split}/{i}.png', scene(side, color, (left, top, width, height)))
                self.put(f'data/labels/{split}/{i}.txt', f'{i % 2} {(left + width / 2) / side} '
                         f'{(top + height / 2) / side} {width / side} {height / side}\n'.encode())

    def refuse(self, args, *words, status=2):
        _, err = self.train(*args, status=status)
        for word in words:
            self.assertIn(word, err)

    @unittest.skipUnless(SLOW, 'slow')
    def test_it_learns_to_find_rectangles(self):
        self.put_scenes(48, 16)
        self.train('-q', '-d', 'data', '--image-size', '96', '-b', '8', '-e', '40', '--eval-every', '40', '--augment', 'flip',
                   '--optimizer', 'adam', '--lr', '0.001', '--schedule', 'cosine', '--warmup-steps', '10',
                   '--log', 'log.csv')
        last = self.log()[-1]
        self.assertGreater(float(last['test_map50']), 0.5)
        self.assertGreater(float(last['test_map']), 0.2)

    def log(self):
        with open(os.path.join(self.folder, 'log.csv'), encoding='utf-8', newline='') as f:
            return list(csv.DictReader(f))

    @unittest.skipIf(SLOW, 'quick')
    def test_a_few_steps(self):
        self.put_scenes()
        common = ['-d', 'data', '--image-size', '96', '-b', '8', '--threads', '2']
        out, err = self.train(*common, '-e', '2', '--eval-every', '2', '--log', 'log.csv')
        self.assertIn('16 images to train on (16 boxes, 0 images without), 4 to test on (4 boxes', err)
        self.assertIn('mAP@.5 ', out.splitlines()[1])
        self.assertNotIn('mAP@.5 ', out.splitlines()[0])
        rows = self.log()
        self.assertEqual([r['test_map50'] == '' for r in rows], [True, False])
        for row in rows:
            parts = sum(float(row['train_' + part]) for part in ('box', 'objectness', 'classes'))
            self.assertAlmostEqual(parts, float(row['train_loss']), places=4)
        self.assertTrue(0 <= float(rows[1]['test_map']) <= float(rows[1]['test_map50']) <= 1)

    @unittest.skipIf(SLOW, 'quick')
    def test_a_seed_gives_the_same_bits(self):
        self.put_scenes()
        common = ['-d', 'data', '--image-size', '96', '-b', '4', '--steps', '6', '--threads', '2']
        first = self.losses(*common, '--seed', '5')
        self.assertEqual(len(first), 6)
        self.assertEqual(first, self.losses(*common, '--seed', '5', '--workers', '3'))
        self.assertNotEqual(first, self.losses(*common, '--seed', '6'))
        self.assertNotEqual(first, self.losses(*common, '--seed', '5', '--augment', 'none'))

    @unittest.skipIf(SLOW, 'quick')
    def test_what_it_marks(self):
        marks = self.marked('--image-size', '96', '-b', '4', '--train-samples', '16', '--test-samples', '6', '--classes', '3')
        self.assertEqual([m['name'] for m in marks if m['type'] == 'metric'], ['map50', 'map', 'test_loss'])
        self.assertEqual([m['samples'] for m in marks if m['type'] == 'step'], [4] * 4)
        self.assertTrue(all(math.isfinite(m['loss']) for m in marks if m['type'] == 'step'))

    @unittest.skipIf(SLOW, 'quick')
    def test_the_loss_does_not_grow_with_the_batch(self):
        means = []
        for batch in ('2', '8'):
            losses = self.losses('--image-size', '96', '-b', batch, '--train-samples', '16', '-e', '1', '--lr', '0',
                                 '--workers', '0')
            means.append(sum(losses) / len(losses))
        self.assertLess(abs(means[0] / means[1] - 1), 0.2)

    @unittest.skipIf(SLOW, 'quick')
    def test_a_nominal_batch(self):
        self.put_scenes()
        common = ['-d', 'data', '--image-size', '96', '-b', '4', '-e', '2', '--momentum', '0.937', '--nesterov']
        plain = self.losses(*common)
        nominal = self.losses(*common, '--nominal-batch', '16', '--warmup-steps', '2')
        self.assertEqual(len(nominal), len(plain))
        self.assertEqual(nominal[0], plain[0])
        self.assertNotEqual(nominal[1:], plain[1:])
        self.refuse([*common, '--nominal-batch', '16', '--checkpoint', 'run'], '--checkpoint')

    @unittest.skipIf(SLOW, 'quick')
    def test_parts_of_a_loss_of_several_batches(self):
        """Where nothing is learnt, an epoch's means are the same however many batches make a step."""
        self.put_scenes()
        rows = []
        for accumulate in ('1', '2'):
            self.train('-q', '-d', 'data', '--image-size', '96', '-b', '4', '--accumulate', accumulate, '--lr', '0', '--no-eval',
                       '--log', 'log.csv')
            rows.append(self.log()[-1])
            os.remove(os.path.join(self.folder, 'log.csv'))
        self.assertEqual([row['step'] for row in rows], ['4', '2'])
        for part in ('loss', 'box', 'objectness', 'classes'):
            one, two = (float(row['train_' + part]) for row in rows)
            self.assertAlmostEqual(one, two, places=5)
            self.assertGreater(one, 0)

    @unittest.skipIf(SLOW, 'quick')
    def test_a_resumed_training_gives_the_same_bits(self):
        self.put_scenes()
        common = ['-q', '-d', 'data', '--image-size', '96', '-b', '4', '--eval-every', '3', '--checkpoint', 'run']
        self.train(*common, '-e', '3', '--log', 'log.csv')
        whole = [{k: v for k, v in row.items() if k not in ('seconds', 'samples_per_s')} for row in self.log()]
        os.remove(os.path.join(self.folder, 'run'))
        self.train(*common, '--steps', '6', '--log', 'log.csv')
        self.train(*common, '-e', '3', '--log', 'log.csv', '--resume')
        again = [{k: v for k, v in row.items() if k not in ('seconds', 'samples_per_s')} for row in self.log()]
        self.assertEqual(again[-1], whole[-1])

    @unittest.skipIf(SLOW, 'quick')
    def test_words(self):
        for args, word in ((['--augment', 'crop'], '--augment crop'), (['--no-drop-last'], '--no-drop-last'),
                           (['--image-size', '100'], '--image-size 100'), (['-d', '.'], 'images/train')):
            with self.subTest(args):
                self.refuse(args, word, status=3 if args[0] == '-d' else 2)
        for args in (['--augment', 'mosaic'], ['--nominal-batch', '64']):
            done = subprocess.run([TRAINER, 'tiny_cnn', *args], capture_output=True, text=True, check=False)
            self.assertEqual(done.returncode, 2)
            self.assertIn(args[0], done.stderr)

    @unittest.skipIf(SLOW, 'quick')
    def test_bad_labels(self):
        self.put_scenes(4)
        self.refuse(['-d', 'data', '-b', '5'], '4 images')
        self.put('data/labels/train/2.txt', b'1 0.5 0.5 0.5 0.5\n1 0.5 nan 0.5 0.5\n')
        self.refuse(['-d', 'data'], "data/labels/train/2.txt', line 2", "'nan'")
        self.put('data/labels/train/2.txt', b'7 0.5 0.5 0.5 0.5\n')
        self.refuse(['-d', 'data', '--classes', '7'], "data/labels/train/2.txt', line 1", "'7'")

    @unittest.skipIf(SLOW, 'quick')
    @unittest.skipUnless(os.path.exists(COCO128), 'coco128 is not here')
    def test_coco128(self):
        with tarfile.open(COCO128) as archive:
            archive.extractall(self.folder)
        _, err = self.train('-d', 'coco128', '--image-size', '96', '-b', '4', '--steps', '2', '--no-eval')
        self.assertIn('128 images to train on (929 boxes, 2 images without), 128 to test on (898 boxes', err)
        self.assertIn('80 classes', err)


if __name__ == '__main__':
    unittest.main(argv=sys.argv[:1], verbosity=2)
