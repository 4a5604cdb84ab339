"""What the end-to-end tests of the lab share: a folder of its own for each test, the lab as a process, and the processes
that it leaves behind."""
import json
import os
import shutil
import signal
import sqlite3
import subprocess
import sys
import tempfile
import time
import unittest
import uuid

ROOT = os.environ['BATCHLAB_SOURCE_ROOT']
LAB = os.path.join(os.environ['BATCHLAB_BUILD_ROOT'], 'src', 'lab', 'batchlab')
PYTHON = sys.executable
LIMIT_S = 900 if 'ASAN_OPTIONS' in os.environ else 120  # a call of the lab; sanitizers make large reports slow

# Marks steps of a few milliseconds; larger batches take a little longer. Words after the batch size: steps, and what to do.
TRAINER = '''
import os, sys, time
sys.path.insert(0, os.path.join(os.environ['BATCHLAB_SOURCE_ROOT'], 'python'))
from batchlab_marker import Marker
batch, steps = int(sys.argv[1]), int(sys.argv[2])
how = sys.argv[3] if len(sys.argv) > 3 else ''
print('training at', batch, flush=True)
with Marker(program='trainer.py', batch=batch + (how == 'liar')) as marker:
    marker.ready()
    for i in range(steps):
        time.sleep(0.001 + 0.00002 * batch)
        marker.step(batch, loss=1 / (i + 1))
    if how == 'crash':
        sys.exit(3)
    if how == 'oom':
        raise MemoryError('no room for the batch')
'''


class LabCase(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.mkdtemp()
        self.addCleanup(shutil.rmtree, self.folder)
        self.tag = 'BATCHLAB_TEST_TAG=' + uuid.uuid4().hex
        self.env = dict(os.environ, **dict([self.tag.split('=')]), PYTHONDONTWRITEBYTECODE='1')
        self.trainer = self.write('trainer.py', TRAINER)
        self.db = os.path.join(self.folder, 'batchlab.db')

    def tearDown(self):
        left = self.processes()
        for pid in left:
            os.kill(pid, signal.SIGKILL)
        self.assertEqual(left, [], 'processes were left behind')

    def write(self, name, text):
        path = os.path.join(self.folder, name)
        with open(path, 'w', encoding='utf-8') as f:
            f.write(text)
        return path

    def start(self, *args, **kwargs):
        return subprocess.Popen([LAB, *args], cwd=self.folder, env=self.env, stdout=subprocess.PIPE,
                                stderr=subprocess.PIPE, text=True, **kwargs)

    def lab(self, *args, status=0, **kwargs):
        """Runs to the end and returns (stdout, stderr)."""
        process = self.start(*args, **kwargs)
        out, err = process.communicate(timeout=LIMIT_S)
        self.assertEqual(process.returncode, status, f'batchlab {" ".join(args)}\n{out}\n{err}')
        return out, err

    def train(self, steps=20, *words):
        return ['--', PYTHON, self.trainer, '{batch}', str(steps), *words]

    def export(self, number='1'):
        return json.loads(self.lab('export', number, '--format', 'json')[0])

    def processes(self):
        """All living processes that were started by this test, this one left out."""
        found = []
        for pid in filter(str.isdigit, os.listdir('/proc')):
            try:
                with open(f'/proc/{pid}/environ', 'rb') as f:
                    if self.tag.encode() in f.read().split(b'\0'):
                        found.append(int(pid))
            except OSError:
                pass
        return found

    def wait_until_gone(self, seconds=10):
        until = time.monotonic() + seconds
        while self.processes() and time.monotonic() < until:
            time.sleep(0.01)
        self.assertEqual(self.processes(), [], 'processes were left behind')

    def query(self, sql):
        with sqlite3.connect(self.db) as database:
            return database.execute(sql).fetchall()

    def multiply(self, measured, blocks):
        """Makes `blocks` blocks of the only experiment's `measured` ones, block after block."""
        with sqlite3.connect(self.db) as db:
            db.execute(f'UPDATE experiment SET blocks = {blocks}')
            columns = [c[1] for c in db.execute('PRAGMA table_info(trial)') if c[1] not in ('id', 'block', 'started_ns')]
            names = ', '.join(columns)
            for block in range(measured, blocks):
                db.execute(f'INSERT INTO trial (block, started_ns, {names}) SELECT {block}, started_ns + '
                           f'{block // measured} * 60000000000, {names} FROM trial WHERE block = {block % measured}')
            db.execute('INSERT INTO step SELECT n.id, s.position, s.samples, s.end_ns, s.time_ns, s.wait_ns, s.loss '
                       f'FROM trial n JOIN trial o ON o.block = n.block % {measured} AND o.case_index = n.case_index '
                       f'JOIN step s ON s.trial_id = o.id WHERE n.block >= {measured}')
            for table in 'telemetry', 'telemetry_series':
                names = [c[1] for c in db.execute(f'PRAGMA table_info({table})') if c[1] != 'trial_id']
                if names:
                    db.execute(f'INSERT INTO {table} (trial_id, {", ".join(names)}) SELECT n.id, s.{", s.".join(names)} '
                               f'FROM trial n JOIN trial o ON o.block = n.block % {measured} AND o.case_index = n.case_index '
                               f'JOIN {table} s ON s.trial_id = o.id WHERE n.block >= {measured}')

    def check_integrity(self):
        self.assertEqual(self.query('PRAGMA integrity_check'), [('ok',)])
        self.assertEqual(self.query('PRAGMA foreign_key_check'), [])


def main():
    unittest.main(verbosity=2)
