#!/usr/bin/env python3
"""batchlab explain: the guides' examples from the command line, a model's layers from the trainer, predictions held against
a sweep, and refusals."""
import json
import os
import subprocess
import unittest

from lab_case import LabCase, main

TRAINER = os.path.join(os.environ['BATCHLAB_BUILD_ROOT'], 'src', 'train', 'batchlab-train')


class Explain(LabCase):
    def explain(self, *args):
        return json.loads(self.lab('explain', '--json', *args)[0])

    def test_the_guides_examples(self):
        product = self.explain('8192x128x8192', '-d', 'v100')['products'][0]
        self.assertAlmostEqual(product['flop_per_byte'], 124.1, places=1)
        one, two = self.explain('2304x1536x4096', '2304x1544x4096', '-d', 'a100')['products']
        self.assertEqual([one['tiles'], one['waves'], two['tiles'], two['waves']], [108, 1, 117, 2])
        self.assertEqual([one['misaligned'], two['misaligned']], ['', 'N'])
        text, _ = self.lab('explain', '2304x1544x4096', '-d', 'a100')
        self.assertIn('117 of 256 x 128, in 2 waves of 108: 54 %', text)

    def test_edges(self):
        # 108 tiles of 128 columns fill A100 once; a sample more begins a wave.
        layer = ['--layer', 'linear:1024:o256:r128']
        rows = {r['batch']: r for r in self.explain(*layer, '-b', '107,108,109', '-d', 'a100')['batches']}
        self.assertLess(rows[108]['edge'], 0)
        self.assertGreater(rows[109]['edge'], 0.05)
        text, _ = self.lab('explain', *layer, '-b', '107,108,109', '-d', 'a100', '--plot')
        self.assertRegex(text, r'Just past an edge, .*: 109 \(\+\d')
        self.assertIn(' <', text.splitlines()[-1])

    def test_layers_of_a_file(self):
        path = self.write('layers.txt', 'linear:8:o4 first one\n\nconv:3x8x8:o4:k3:first stem\n')
        rows = self.explain('--layers', path, '-b', '2', '--all')['batches']
        self.assertEqual([(p['layer'], p['role']) for p in rows[0]['products']],
                         [('linear:8:o4', 'forward'), ('linear:8:o4', 'input gradient'), ('linear:8:o4', 'weight gradient'),
                          ('conv:3x8x8:o4:k3:s1:p1:first', 'forward'), ('conv:3x8x8:o4:k3:s1:p1:first', 'weight gradient')])

    @unittest.skipUnless(os.path.exists(TRAINER), 'no trainer was built')
    def test_models(self):
        # Forward, the gradients of inputs (not the images') and of weights: three times 8.18 GFLOP, less the stem once.
        row = self.explain('--model', 'resnet50', '-b', '1')['batches'][0]
        stem = 2 * 64 * 147 * 112 * 112
        self.assertAlmostEqual(row['flop'] / 1e9, 3 * 8.178 - stem / 1e9, places=2)
        listed = subprocess.run([TRAINER, 'vit_b_16', '--layers'], capture_output=True, text=True, check=True).stdout
        self.assertEqual(len(listed.splitlines()), 62)
        self.lab('explain', '--model', 'no_such_model', status=2)

    def test_against_a_sweep(self):
        self.lab('sweep', '-q', '-b', '8,16,32', '-n', '2', '--steps', '30', *self.train(40))
        shown = self.explain('--layer', 'linear:4096:o4096', '-b', '8,16,32,64', '--measured', '1')
        rows = shown['batches']
        self.assertIsNone(rows[3]['measured_s'])
        for row in rows[:3]:
            self.assertAlmostEqual(row['measured_s'], row['seconds'] * shown['scale'] * (1 + row['residual']))
        self.assertAlmostEqual(sorted(r['residual'] for r in rows[:3])[1], 0)
        _, err = self.lab('explain', '--layer', 'linear:8:o8', '-b', '99', '--measured', '1', status=2)
        self.assertIn('none of these batch sizes', err)

    def test_refusals(self):
        for args, word in ((['8192x128'], "'8192x128'"), ([], 'nothing to explain'), (['1x1x1', '-d', 'abacus'], 'abacus'),
                           (['1x1x1', '-d', 'p100', '-t', 'int8'], 'int8'), (['1x1x1', '-b', '3'], 'batch size'),
                           (['1x1x1', '--layer', 'linear:1:o1'], 'products and layers'), (['1x1x1', '--tile', '3'], '--tile'),
                           (['--layer', 'linear:1:o1', '--model', 'mlp'], 'exclude'), (['--layers', 'missing'], 'missing')):
            _, err = self.lab('explain', *args, status=3 if 'missing' in args else 2)
            self.assertIn(word, err)
        self.assertIn('NVIDIA', self.lab('explain', '--devices')[0])


if __name__ == '__main__':
    main()
