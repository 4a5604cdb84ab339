#!/usr/bin/env python3
"""batchlab gemm: real products in blocks, factors, what is stored, and refusals."""
import json
import os
import re
import subprocess
import sys

from lab_case import LabCase, main

TRAINER = os.path.join(os.environ['BATCHLAB_BUILD_ROOT'], 'src', 'train', 'batchlab-train')


class Gemm(LabCase):
    def test_sizes(self):
        out, _ = self.lab('gemm', '64xBx32', '-b', '31,32', '-n', '2', '-s', '4', '--threads', '1', '--peak', '100', '--json',
                          '-q', '--seed', '1')
        result = json.loads(out)
        self.assertEqual([(c['m'], c['n'], c['k']) for c in result['cases']], [(64, 31, 32), (64, 32, 32)])
        self.assertEqual(result['peak_gflops'], 100)
        stored = self.export('1')
        self.assertEqual({trial['outcome'] for trial in stored['trials']}, {'ok'})
        for case, figure in zip(result['cases'], stored['cases']):
            # GFLOP/s are samples/s times the operations of a column.
            rate = figure['samples_per_s']['estimate'] * 2 * 64 * 32 / 1e9
            self.assertAlmostEqual(case['gflops'] / rate, 1, places=6)

    def test_factors_and_roles(self):
        out, _ = self.lab('gemm', '48x40xB', '-b', '16', '-n', '2', '-s', '4', '--threads', '1', '--backend', 'onednn,plain',
                          '--cache', 'warm,cold', '--pages', 'small', '--apart', '64', '-q')
        for label in ('backend=onednn cache=cold', 'backend=plain cache=warm'):
            self.assertIn(label, out)
        self.assertIn('Shares are of', out)
        self.assertIn('best', out)
        self.assertIn('--batch-is k', self.export('1')['experiment']['workload'])

    def test_layers_of_a_model(self):
        plan, _ = self.lab('gemm', '--model', 'tiny_cnn', '-b', '2,3', '-n', '4', '--dry-run')
        listed = subprocess.run([TRAINER, 'tiny_cnn', '--layers'], capture_output=True, text=True, check=True).stdout.splitlines()
        roles = sum(2 if ':first' in line else 3 for line in listed)
        self.assertEqual(sum(int(n) for n in re.findall(r', (\d+) times?$', plan, re.M)), roles)
        picture = os.path.join(self.folder, 'roofs.svg')
        out, _ = self.lab('gemm', '--model', 'tiny_cnn', '-b', '2,3', '-n', '1', '-s', '4', '--threads', '1', '--peak', '100',
                          '--bandwidth', '10', '--json', '-q', '--picture', picture)
        result = json.loads(out)
        self.assertEqual([s['batch'] for s in result['sums']], [2, 3])
        for total in result['sums']:  # one block: the sum of estimates is the sum
            cases = [c for c in result['cases'] if c['batch'] == total['batch']]
            self.assertAlmostEqual(sum(c['count'] * c['seconds'] for c in cases) / total['seconds'], 1, places=6)
            self.assertAlmostEqual(sum(total['seconds_by_role'].values()) / total['seconds'], 1, places=6)
            self.assertAlmostEqual(sum(c['count'] * c['seconds'] * c['gflops'] for c in cases) * 1e9 / total['flop'], 1, places=6)
        with open(picture, encoding='utf-8') as f:
            self.assertEqual(f.read().count('<circle'), len(result['cases']))

    def test_layers_and_their_roofline(self):
        out, _ = self.lab('gemm', '-l', 'conv:8x6x6:o8:k3', '-l', 'conv:8x6x6:o8:k3:s1:p1', '-l', 'linear:16:o8@weights', '-b', '7,8,9',
                          '-n', '2', '-s', '4', '--threads', '1', '--peak', '100', '--bandwidth', '10', '-q', '--plot')
        self.assertRegex(out, r'conv:8x6x6:o8:k3:s1:p1@input +2 +7 ')  # the same layer twice
        self.assertRegex(out, r'linear:16:o8@weights +1 +7 ')
        self.assertNotIn('linear:16:o8@forward', out)
        for words in ('All of these layers', 'Powers of two: 7 and 9 against 8', 'operations a byte', 'Roofs: 100.0 GFLOP/s, 10.0 GB/s'):
            self.assertIn(words, out)
        self.assertEqual(len(self.export('1')['cases']), 12)

    def test_refusals(self):
        for args, word in ((['64x32x16', '-b', '3'], 'no product with one batch'), (['BxBx2', '-b', '3'], 'no product'),
                           (['64xBx32'], 'wanted'), (['64xBx32', '-b', '3', '--model', 'tiny_cnn'], 'wanted'),
                           (['--model', 'tiny_cnn', '-l', 'linear:8:o8', '-b', '3'], 'exclude'), (['-l', 'linear:8:o8@up', '-b', '3'], 'no role'),
                           (['-l', 'linear:8:o8', '-b', '3', '--apart', '9'], 'for products'), (['--model', 'no_such', '-b', '3'], 'failed'),
                           (['64xBx32', '-b', '3', '--image-size', '8'], 'goes with'), (['64xBx32', '-b', '3', '--plot', '--json'], 'exclude'), (['64xBx32', '-b', '0'], 'batch list')):
            _, err = self.lab('gemm', *args, status=2)
            self.assertIn(word, err)
        for args, word in ((['64x32'], '64x32'), (['8x8x8', '--backend', 'abacus'], 'abacus'), (['8x8x8', '--cache', 'lukewarm'], 'lukewarm'),
                           ([], 'one product')):
            done = subprocess.run([TRAINER, 'time', *args], capture_output=True, text=True)
            self.assertEqual(done.returncode, 2)
            self.assertIn(word, done.stderr)

    def test_alone(self):
        done = subprocess.run([TRAINER, 'time', '32x32x32', '-s', '3', '--threads', '1'], capture_output=True, text=True, check=True)
        self.assertRegex(done.stdout, r'32 x 32 x 32 by onednn \(\d.*GFLOP/s')

    def test_layers_alone(self):
        def ask(*args, status=0):
            done = subprocess.run([TRAINER, 'time', *args, '--threads', '1'], capture_output=True, text=True)
            self.assertEqual(done.returncode, status, done.stderr)
            return done.stdout + done.stderr
        self.assertRegex(ask('conv:8x9x9:o8:k3@weights', '-b', '2', '-s', '3'), r'conv:8x9x9:o8:k3@weights, batch 2 by \S+: [\d.]+ GFLOP/s')
        out = ask('tiny_cnn', '-b', '2')
        self.assertRegex(out, r'conv2d_grad_weights +\S')
        self.assertRegex(out, r'products .* ms, other nodes .* ms, optimizer .* ms: a step of')
        for args, word in ((['linear:8:o8@sideways'], 'no role'), (['linear:8:o8', '--cache', 'cold'], 'for products and models'),
                           (['linear:8:o8', '--turn-a'], 'for products'), (['yolov7_tiny'], 'detector'), (['linear:8:o8:first@input'], 'has no')):
            self.assertIn(word, ask(*args, status=2))


if __name__ == '__main__':
    if not os.path.exists(TRAINER):
        sys.exit(77)
    main()
