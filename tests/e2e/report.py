#!/usr/bin/env python3
"""batchlab report and sweep --live: files that other programs find well formed, texts of programs that stay texts, a size that
2 000 trials do not break."""
import base64
import hashlib
import json
import os
import re
import unittest
import xml.etree.ElementTree
from html.parser import HTMLParser

from lab_case import LabCase, main

HOSTILE = '</title><script>document.title="owned"</script><img src=x onerror=alert(1)>'
PICTURES = ['throughput', 'step_time', 'residuals', 'memory', 'differences', 'timeline', 'steps']
VOID = {'meta', 'link', 'br', 'hr', 'img', 'input'}


class Nesting(HTMLParser):
    """Every element is closed in its turn; what was met is kept."""

    def __init__(self, text):
        super().__init__()
        self.open, self.met, self.attributes, self.text = [], [], [], ''
        self.feed(text)
        self.close()
        if self.open:
            raise AssertionError(f'left open: {self.open}')

    def handle_starttag(self, tag, attrs):
        self.met.append(tag)
        self.attributes += attrs
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag, attrs):
        self.met.append(tag)
        self.attributes += attrs

    def handle_endtag(self, tag):
        if not self.open or self.open.pop() != tag:
            raise AssertionError(f'</{tag}> closes nothing')

    def handle_data(self, data):
        self.text += data


class Report(LabCase):
    def read(self, name):
        with open(os.path.join(self.folder, name), encoding='utf-8') as f:
            return f.read()

    def sweep(self, *options, batches='15,16,17'):
        self.lab('sweep', '-q', '-b', batches, '-n', '6', '-w', '1', *options, *self.train(5))

    def test_a_page_stands_alone(self):
        self.sweep('--name', HOSTILE)
        self.lab('report')
        text = self.read('report.html')
        page = Nesting(text)
        for tag in ('img', 'iframe', 'object', 'form'):
            self.assertNotIn(tag, page.met)
        # No script, or the one that the policy names, and its data.
        policy = re.search(r'http-equiv="Content-Security-Policy" content="([^"]*)"', text).group(1)
        scripts = re.findall(r'<script([^>]*)>(.*?)</script>', text, re.S)
        self.assertEqual(len(scripts), page.met.count('script'))
        if scripts:
            self.assertEqual([kind for kind, _ in scripts], [' type="application/json" id="data"', ''])
            self.assertIn(base64.b64encode(hashlib.sha256(scripts[1][1].encode()).digest()).decode(), policy)
            self.assertIn('Permission is hereby granted', scripts[1][1])
            self.assertNotRegex(scripts[0][1], '[<>&\u2028]')
            data = json.loads(scripts[0][1])
            self.assertEqual([c['id'] for c in data['charts']], PICTURES)
            self.assertEqual(len(data['traces']), 18)
        else:
            self.assertNotIn('script-src', policy)
        for name, value in page.attributes:
            self.assertFalse(name.startswith('on'), name)
            if name in ('src', 'href'):
                self.assertTrue(value.startswith(('data:', '#')), value)
        self.assertIn(HOSTILE, page.text)
        self.assertIn('Powers of two: 15 and 17 against 16: ', page.text)
        self.assertEqual(page.met.count('svg'), len(PICTURES))
        # The figures of the pictures are those of the export.
        for case in self.export()['cases']:
            rate = case['samples_per_s']['estimate']
            m = re.search(rf'batch={case["batch"]}: ([\d.]+) samples/s \[', page.text)
            self.assertAlmostEqual(float(m.group(1)), rate, delta=rate / 500)

    def test_pictures_are_svg(self):
        self.sweep()
        for name in PICTURES:
            self.lab('report', '1', '--picture', name)
            root = xml.etree.ElementTree.fromstring(self.read(name + '.svg'))
            self.assertEqual(root.tag, '{http://www.w3.org/2000/svg}svg')
            self.assertGreater(len(list(root.iter('{http://www.w3.org/2000/svg}text'))), 3, name)
        err = self.lab('report', '--picture', 'nonsense', status=2)[1]
        self.assertIn('there is no picture', err)
        self.lab('report', '7', status=2)
        self.lab('report', '1', '-o', '/nowhere/x.html', status=3)

    def test_experiments_overlay(self):
        self.sweep('--name', 'one')
        self.sweep('--name', 'two')
        self.lab('report', '1', '2', '-o', 'both.html')
        page = Nesting(self.read('both.html'))
        self.assertIn('1 one', page.text)
        self.assertIn('2 two', page.text)
        self.lab('report', '1', '2', '--picture', 'timeline', status=2)

    def test_a_live_page_follows(self):
        self.sweep('--live', 'live.html', batches='16')
        self.assertNotIn('http-equiv="refresh"', self.read('live.html'))
        Nesting(self.read('live.html'))
        # While it runs: the trainer itself looks at the page that the trial before it left.
        look = self.write('look.py', 'import os, sys\nif os.path.exists(sys.argv[1]):\n'
                          '    sys.exit("http-equiv=\\"refresh\\"" not in open(sys.argv[1]).read())\n')
        page = os.path.join(self.folder, 'next.html')
        self.lab('sweep', '-q', '-b', '1,2', '-n', '2', '--live', page, '--', 'python3', look, page, '{batch}')
        self.assertEqual({t['outcome'] for t in self.export('2')['trials']}, {'ok'})
        self.lab('sweep', '-q', '-b', '1', '--live', '/nowhere/x.html', *self.train(1), status=3)
        # A page that can no longer be written costs no trial, but is no success.
        folder = os.path.join(self.folder, 'gone')
        os.mkdir(folder)
        remove = self.write('remove.py', 'import shutil, sys\nshutil.rmtree(sys.argv[1], ignore_errors=True)\n')
        err = self.lab('sweep', '-b', '1,2', '-n', '2', '--live', os.path.join(folder, 'x.html'), '--', 'python3', remove,
                       folder, '{batch}', status=3)[1]
        self.assertEqual(err.count('no live page'), 1, err)
        self.assertEqual(len(self.export('latest')['trials']), 4)

    def test_two_thousand_trials(self):
        self.sweep('-s', '5', batches='15,16')
        self.multiply(6, 1000)
        self.lab('report')
        text = self.read('report.html')
        Nesting(text)
        self.assertEqual(self.query('SELECT count(*) FROM trial'), [(2000,)])
        self.assertLess(len(text.encode()), 1_500_000)


if __name__ == '__main__':
    main()
