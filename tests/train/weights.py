#!/usr/bin/env python3
"""Weights that are saved, started from, and fine-tuned with another number of classes."""
import array
import os
import unittest

from trainer_case import TrainerCase, read_safetensors

SMALL = ['tiny_cnn', '--threads', '1', '-b', '16', '--train-samples', '256', '--test-samples', '64']


class Weights(TrainerCase):
    def tensors(self, name):
        return read_safetensors(self.path(name))[0]

    def best(self, out):
        """Top-1 of each line of the result."""
        return [float(line.split('top-1 ')[1].split(' ')[0]) for line in out.splitlines() if 'top-1' in line]

    def test_what_is_saved(self):
        self.train(*SMALL, '-q', '--steps', '5', '--no-eval', '--save', 'w.safetensors')
        tensors, texts = read_safetensors(self.path('w.safetensors'))
        self.assertEqual((texts['model'], texts['format']), ('tiny_cnn', 'pt'))
        self.assertEqual(tensors['conv1.weight'][:2], ('F32', [16, 3, 3, 3]))
        self.assertEqual(tensors['norm1.num_batches_tracked'], ('I64', [], (5).to_bytes(8, 'little')))
        self.assertEqual(len(tensors), 20)
        self.assertEqual(sorted(os.listdir(self.folder)), ['w.safetensors'])

    def test_weights_are_where_it_starts(self):
        out, _ = self.train(*SMALL, '-q', '-e', '4', '--save', 'w')
        before = self.best(out)[-1]
        # Nothing is learnt with a rate of 0, and the first epoch's test tells how good they are.
        out, err = self.train(*SMALL, '--weights', 'w', '--lr', '0', '--steps', '1', '--save', 'again')
        self.assertIn("weights of 'w'", err)
        self.assertGreater(before, 60)
        self.assertLess(abs(self.best(out)[0] - before), 15)  # the statistics of one batch are new
        first, again = self.tensors('w'), self.tensors('again')
        moved = {name for name in first if first[name] != again[name]}
        self.assertEqual(moved, {f'norm{i}.{what}' for i in (1, 2, 3)
                                 for what in ('running_mean', 'running_var', 'num_batches_tracked')})

    def test_decay_is_of_filters_and_matrices_unless_told(self):
        """A step with decay d differs from one without by rate * d * what stood there."""
        common = [*SMALL, '-q', '--steps', '1', '--no-eval', '--momentum', '0']
        self.train(*common, '--lr', '0', '--save', 'start')
        for name, words in (('none', []), ('some', ['--weight-decay', '0.5']),
                            ('all', ['--weight-decay', '0.5', '--decay-all'])):
            self.train(*common, '--lr', '0.1', *words, '--save', name)
        start, none, some, every = (self.tensors(name) for name in ('start', 'none', 'some', 'all'))
        self.assertEqual(len([name for name in start if name.endswith(('weight', 'bias'))]), 11)
        for name in start:
            if not name.endswith(('weight', 'bias')):
                continue
            before, plain, partly, wholly = (array.array('f', tensors[name][2]) for tensors in (start, none, some, every))
            filters = name.startswith(('conv', 'head')) and name.endswith('weight')
            for w, x, y, z in zip(before, plain, partly, wholly):
                self.assertAlmostEqual(x - y, 0.1 * 0.5 * w if filters else 0, places=5, msg=name)
                self.assertAlmostEqual(x - z, 0.1 * 0.5 * w, places=5, msg=name)

    def test_the_best_weights(self):
        out, _ = self.train(*SMALL, '-q', '-e', '6', '--lr', '0.3', '--seed', '3', '--save-best', 'best',
                            '--checkpoint', 'run')
        tops = self.best(out)
        epoch = tops.index(max(tops)) + 1
        steps = int.from_bytes(self.tensors('best')['norm1.num_batches_tracked'][2], 'little')
        self.assertEqual(steps, 16 * epoch)
        # A checkpoint remembers which were best.
        self.assertAlmostEqual(float(read_safetensors(self.path('run'))[1]['best_score']), max(tops) / 100, places=4)

    def test_a_new_head(self):
        self.train(*SMALL, '-q', '--steps', '3', '--no-eval', '--save', 'w')
        _, err = self.train(*SMALL, '-q', '--weights', 'w', '--classes', '4', status=2)
        self.assertIn('head.weight is F32 (10, 64), not (4, 64)', err)
        self.assertIn('--new-head', err)
        common = ['--lr', '0', '--steps', '1', '--no-eval', '--new-head', '--weights', 'w']
        _, err = self.train(*SMALL, *common, '--classes', '4', '--save', 'four')
        self.assertIn('drawn anew: head.weight, head.bias', err)
        old, four = self.tensors('w'), self.tensors('four')
        self.assertEqual(four['head.weight'][1], [4, 64])
        self.assertEqual(four['conv3.weight'], old['conv3.weight'])
        # As many classes need not be the same ones: the head is new all the same, and drawn as a first one is.
        self.train(*SMALL, '-q', *common, '--save', 'ten')
        self.train(*SMALL, '-q', '--lr', '0', '--steps', '1', '--no-eval', '--save', 'drawn')
        self.assertNotEqual(self.tensors('ten')['head.weight'], old['head.weight'])
        self.assertEqual(self.tensors('ten')['head.weight'], self.tensors('drawn')['head.weight'])

    def test_weights_of_a_checkpoint(self):
        self.train(*SMALL, '-q', '--steps', '3', '--no-eval', '--checkpoint', 'run', '--save', 'w')
        for name in ('run', 'w'):
            self.train(*SMALL, '-q', '--weights', name, '--steps', '2', '--no-eval', '--save', 'from_' + name)
        self.assertEqual(self.tensors('from_run'), self.tensors('from_w'))

    def test_weights_of_something_else(self):
        self.train(*SMALL, '-q', '--steps', '1', '--no-eval', '--save', 'w')
        _, err = self.train('resnet18', '-q', '--weights', 'w', status=2)
        for word in ("'w'", 'other shapes: conv1.weight', 'missing: bn1.weight', 'has not: norm1', 'try: '):
            self.assertIn(word, err)
        for words, told, status in ((['--weights', 'none'], "'none'", 3), (['--weights', '.'], "'.'", 2),
                                    (['--new-head'], '--weights', 2), (['--no-eval', '--save-best', 'x'], '--save-best', 2),
                                    (['--test-samples', '0', '--save-best', 'x'], '--save-best', 2)):
            _, err = self.train('tiny_cnn', '-q', *words, status=status)
            self.assertIn(told, err)

    def test_stopped_runs_save_no_weights(self):
        self.train(*SMALL, '-q', '--lr', '1e30', '--steps', '20', '--no-eval', '--save', 'w', status=1)
        self.assertFalse(os.path.exists(self.path('w')))


if __name__ == '__main__':
    unittest.main(verbosity=2)
