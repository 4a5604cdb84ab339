#!/usr/bin/env python3
"""batchlab-train over several ranks, as people meet it: one rank speaks for all, one that fails ends all, a checkpoint goes
on bit for bit, sums go on while the backward pass does."""
import csv
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import time
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), '..', 'train'))
from trainer_case import TRAINER, TrainerCase, png  # noqa: E402

# Open MPI leaves memory behind at its end; that this project's code does not is seen where it runs alone.
os.environ.update(OMPI_ALLOW_RUN_AS_ROOT='1', OMPI_ALLOW_RUN_AS_ROOT_CONFIRM='1', OMP_WAIT_POLICY='passive',
                  ASAN_OPTIONS=os.environ.get('ASAN_OPTIONS', '') + ':detect_leaks=0')


def children(pid):
    found = []
    for task in os.listdir(f'/proc/{pid}/task'):
        with open(f'/proc/{pid}/task/{task}/children', encoding='ascii') as f:
            found += map(int, f.read().split())
    return found


class Ranks(TrainerCase):
    def start_ranks(self, ranks, *args):
        return subprocess.Popen(['mpirun', '-np', str(ranks), '--oversubscribe', TRAINER, *args, '--threads', '1'],
                                cwd=self.folder, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                                text=True)

    def ranks(self, ranks, *args, status=0):
        process = self.start_ranks(ranks, *args)
        out, err = process.communicate(timeout=120)
        self.assertEqual(process.returncode, status, f'{args}\n{out}\n{err}')
        return out, err

    def log(self):
        with open(self.path('log.csv'), encoding='utf-8') as f:
            return [(row['train_loss'], row['test_loss'], row['test_top1']) for row in csv.DictReader(f)]

    def test_one_rank_speaks(self):
        words = ['tiny_cnn', '--train-samples', '96', '--test-samples', '40', '-e', '2', '--log', 'log.csv']
        self.train(*words, '-b', '12', '--threads', '1')
        alone = self.log()
        out, err = self.ranks(3, *words, '-b', '4', '--sync-batch-norm')
        self.assertEqual(len(out.splitlines()), 2, out)
        self.assertRegex(out, r'epoch 2  step 16  loss \S+  \S+ samples/s of 3 ranks  test loss')
        self.assertIn('batch 4 on each of 3 ranks, 12 in all', err)
        for mine, theirs in zip(self.log(), alone):
            for a, b in zip(mine, theirs):
                self.assertAlmostEqual(float(a), float(b), delta=2e-3 * float(b) + 1e-9)

    def test_what_does_not_go_together(self):
        for words, message in ((['-b', '4', '--global-batch-size', '8'], 'exclude each other'),
                               (['--global-batch-size', '1'], 'leaves some of 2 ranks without'),
                               (['--profile'], 'is for one rank'), (['-d', 'nowhere'], "no folder 'nowhere'"),
                               (['-b', '80', '--train-samples', '100'], 'batch size 160 is larger')):
            with self.subTest(words):
                process = self.start_ranks(2, 'tiny_cnn', *words)
                out, err = process.communicate(timeout=60)
                self.assertIn(process.returncode, (2, 3), err)
                self.assertEqual([message in line for line in err.splitlines() if 'error:' in line], [True], err)
                self.assertEqual(out, '')

    def test_one_that_fails_ends_all(self):
        self.put_images()
        image = bytearray(png((1, 2, 3)))  # whole by its chunks; only decoding finds what lies within
        image[len(image) // 2:len(image) // 2 + 8] = b'nonsense'
        self.put('data/train/red/0.png', bytes(image))
        start = time.monotonic()
        process = self.start_ranks(3, 'tiny_cnn', '-d', 'data', '-b', '2', '-e', '1000', '--no-eval')
        _, err = process.communicate(timeout=60)
        self.assertNotEqual(process.returncode, 0)
        self.assertRegex(err, r"batchlab-train: error: rank \d of 3: .*0\.png")
        self.assertLess(time.monotonic() - start, 60)

    def test_a_checkpoint_goes_on_bit_for_bit(self):
        words = ['tiny_cnn', '-b', '4', '--train-samples', '64', '--test-samples', '8', '--augment', 'flip', '--ema', '0.9',
                 '--save', 'end.safetensors', '-q']
        self.ranks(2, *words, '--steps', '20')
        with open(self.path('end.safetensors'), 'rb') as f:
            whole = f.read()
        os.remove(self.path('end.safetensors'))
        self.ranks(2, *words, '--steps', '11', '--checkpoint', 'run')
        _, err = self.ranks(4, *words, '--steps', '20', '--checkpoint', 'run', '--resume', status=2)
        self.assertIn('--batch-size was 8 (of 2 ranks together), is 16 (of 4 ranks together)', err)
        self.ranks(2, *words, '--steps', '20', '--checkpoint', 'run', '--resume')
        with open(self.path('end.safetensors'), 'rb') as f:
            self.assertEqual(f.read(), whole)

    def test_a_signal_to_one_rank_ends_all(self):
        process = self.start_ranks(2, 'tiny_cnn', '-b', '4', '-e', '100000', '--checkpoint', 'run', '--checkpoint-every', '5',
                                   '--test-samples', '8')
        give_up = time.monotonic() + 60
        while not os.path.exists(self.path('run')) and time.monotonic() < give_up:
            time.sleep(0.1)
        found = children(process.pid)
        self.assertEqual(len(found), 2)
        os.kill(found[1], signal.SIGTERM)
        out, err = process.communicate(timeout=60)
        self.assertNotEqual(process.returncode, 0, out)
        self.assertNotIn('error: ', err)
        self.assertNotIn('signal', err)

    def test_sums_go_on_beside_the_backward_pass(self):
        self.ranks(2, 'resnet18', '--image-size', '96', '-b', '2', '--train-samples', '24', '--steps', '5', '--no-eval',
                   '--trace', 'trace.json')
        with open(self.path('trace.json'), encoding='utf-8') as f:
            events = [e for e in json.load(f)['traceEvents'] if e['ph'] == 'X']
        batches = sorted({e['args']['batch'] for e in events})
        self.assertEqual(batches, [1, 2, 3])
        for batch in batches:
            nodes = [e for e in events if e['tid'] == 0 and e['args']['batch'] == batch]
            sums = [e for e in events if e['tid'] > 0 and e['args']['batch'] == batch]
            for a, b in zip(nodes, nodes[1:]):
                self.assertLessEqual(a['ts'] + a['dur'], b['ts'] + 0.002)
            last = max(e['ts'] + e['dur'] for e in nodes if e['cat'] == 'backward')
            self.assertGreater(len(sums), 4)
            self.assertGreaterEqual(sum(e['args']['bytes'] for e in sums), 4 * 11181642)
            early = [e for e in sums if e['ts'] < last]
            self.assertGreaterEqual(len(early), len(sums) - 2, 'sums wait for the pass to end')
            self.assertTrue(all(e['dur'] > 0 for e in sums))

    def test_a_trace_of_one_rank(self):
        self.train('tiny_cnn', '-b', '4', '--train-samples', '24', '--steps', '3', '--no-eval', '--trace', 'trace.json')
        with open(self.path('trace.json'), encoding='utf-8') as f:
            events = [e for e in json.load(f)['traceEvents'] if e['ph'] == 'X']
        self.assertEqual({e['args']['batch'] for e in events}, {1, 2})
        self.assertTrue(any(re.fullmatch(r'conv2d conv\d', e['name']) for e in events))


if __name__ == '__main__':
    if not shutil.which('mpirun'):
        print('no mpirun: skipped')
        sys.exit(77)
    unittest.main()
