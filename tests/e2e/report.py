#!/usr/bin/env python3
"""batchlab report and sweep --live: files that other programs find well formed, texts of programs that stay texts, a size that
2 000 trials do not break."""
import base64
import fcntl
import hashlib
import json
import os
import pty
import re
import shutil
import struct
import subprocess
import termios
import unittest
import xml.etree.ElementTree
from html.parser import HTMLParser

from lab_case import LAB, LabCase, main

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

    def sweep(self, *options, batches='15,16,17', words=()):
        self.lab('sweep', '-q', '-b', batches, '-n', '6', '-w', '1', '--telemetry', 'off', *options, *self.train(5, *words))

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

    def test_other_formats(self):
        """PNG and PDF by gnuplot where there is one, told plainly where not; nothing of a name reaches gnuplot's ear."""
        self.sweep('--name', "it's `touch owned` \\ \"", '--param', "x='`touch owned`',$(touch owned)", words=['{x}'])
        self.sweep('--name', 'other', words=['{x}'], *['--param', 'x=1'])
        empty = os.path.join(self.folder, 'empty')
        os.mkdir(empty)
        before, self.env['PATH'] = self.env['PATH'], empty
        self.assertIn('gnuplot-nox', self.lab('report', '1', '--picture', 'memory', '-o', 'x.png', status=3)[1])
        self.env['PATH'] = before
        if shutil.which('gnuplot'):
            for name in PICTURES:
                for ending, magic in (('png', b'\x89PNG\r\n'), ('pdf', b'%PDF-')):
                    if name == 'residuals' or (ending == 'pdf' and name != 'differences'):
                        continue
                    out, err = self.lab('report', '1', '--picture', name, '-o', 'x.' + ending)
                    self.assertNotIn('line', err, name)
                    with open(os.path.join(self.folder, 'x.' + ending), 'rb') as f:
                        data = f.read()
                    self.assertTrue(data.startswith(magic), (name, data[:20]))
                    self.assertGreater(len(data), 3000)
            self.lab('report', '1', '2', '--picture', 'throughput', '-o', 'both.png')
        self.assertFalse(os.path.exists(os.path.join(self.folder, 'owned')))
        text = self.lab('export', '1', '--format', 'markdown')[0]
        table = [line for line in text.split('\n') if line.startswith('|')]
        self.assertEqual(len(table), 2 + 6)
        self.assertEqual({len(re.findall(r'(?<!\\)\|', line)) for line in table}, {len(table[0].split(' | ')) + 1})
        self.assertIn('Powers of two', text)

    def test_the_terminal_s_plot_fits(self):
        self.sweep()
        for columns in (40, 80, 120):
            for locale, mark in (('C', '|'), ('C.UTF-8', '\u2524')):
                leader, follower = pty.openpty()
                fcntl.ioctl(follower, termios.TIOCSWINSZ, struct.pack('HHHH', 24, columns, 0, 0))
                process = subprocess.Popen([LAB, 'show'], cwd=self.folder, stdout=follower,
                                           env={**self.env, 'LC_ALL': locale, 'TERM': 'xterm', 'NO_COLOR': '1'})
                os.close(follower)
                text = b''
                while True:
                    try:
                        piece = os.read(leader, 65536)
                    except OSError:
                        break
                    if not piece:
                        break
                    text += piece
                os.close(leader)
                self.assertEqual(process.wait(), 0)
                plot = [line for line in text.decode().split('\r\n') if re.match(r'\s+1[567] ' + re.escape(mark), line)]
                self.assertEqual(len(plot), 3, text)
                self.assertTrue(all(len(line) <= columns for line in plot), plot)

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
