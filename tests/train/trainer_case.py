"""What the end-to-end tests of the trainer share: a folder of its own for each test, the trainer as a process, its
markers, and safetensors files read with the standard library alone."""
import json
import os
import random
import shutil
import socket
import struct
import subprocess
import tempfile
import unittest
import zlib

BUILD = os.environ['BATCHLAB_BUILD_ROOT']
TRAINER = os.path.join(BUILD, 'src', 'train', 'batchlab-train')


def png_of(pixels, side):
    """RGB pixels as a PNG file."""
    rows = b''.join(b'\0' + pixels[3 * side * y:3 * side * (y + 1)] for y in range(side))

    def chunk(kind, data):
        return struct.pack('>I', len(data)) + kind + data + struct.pack('>I', zlib.crc32(kind + data))
    return (b'\x89PNG\r\n\x1a\n' + chunk(b'IHDR', struct.pack('>IIBBBBB', side, side, 8, 2, 0, 0, 0)) +
            chunk(b'IDAT', zlib.compress(rows)) + chunk(b'IEND', b''))


def png(color, side=16):
    """A picture in one colour, with a little noise."""
    return png_of(bytes(min(255, max(0, c + random.randrange(-20, 20))) for _ in range(side * side) for c in color), side)


def read_safetensors(path):
    """({name: (type, shape, bytes)}, {key: text}); ValueError or KeyError where the file is not whole."""
    with open(path, 'rb') as f:
        raw = f.read()
    length, = struct.unpack('<Q', raw[:8])
    header = json.loads(raw[8:8 + length])
    metadata = header.pop('__metadata__', {})
    data, end = raw[8 + length:], 0
    tensors = {}
    for name, entry in header.items():
        begin, stop = entry['data_offsets']
        if stop > len(data):
            raise ValueError(f'{path}: cut')
        tensors[name] = (entry['dtype'], entry['shape'], data[begin:stop])
        end = max(end, stop)
    if end != len(data):
        raise ValueError(f'{path}: {len(data)} bytes of data, {end} described')
    return tensors, metadata


class TrainerCase(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.mkdtemp()
        self.addCleanup(shutil.rmtree, self.folder)
        # What is kept of the data between runs is the test's own.
        before = os.environ.get('XDG_CACHE_HOME')
        os.environ['XDG_CACHE_HOME'] = self.path('cache of this test')
        self.addCleanup(lambda: os.environ.pop('XDG_CACHE_HOME') if before is None else
                        os.environ.update(XDG_CACHE_HOME=before))
        random.seed(1)

    def path(self, name):
        return os.path.join(self.folder, name)

    def put(self, name, data):
        os.makedirs(os.path.dirname(self.path(name)), exist_ok=True)
        with open(self.path(name), 'wb') as f:
            f.write(data)

    def put_images(self, n=24, side=16):
        for split, count in (('train', n), ('test', 8)):
            for name, color in (('blue', (30, 40, 200)), ('red', (200, 40, 30))):
                for i in range(count):
                    self.put(f'data/{split}/{name}/{i}.png', png(color, side))

    def start(self, *args, **kwargs):
        return subprocess.Popen([TRAINER, *args], cwd=self.folder, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                stderr=subprocess.PIPE, text=True, **kwargs)

    def train(self, *args, status=0):
        process = self.start(*args)
        out, err = process.communicate(timeout=240)
        self.assertEqual(process.returncode, status, f'batchlab-train {" ".join(args)}\n{out}\n{err}')
        return out, err

    def start_marked(self, *args):
        """The process, and a file of the lines that it marks."""
        ours, theirs = socket.socketpair()
        process = self.start(*args, pass_fds=[theirs.fileno()], env=dict(os.environ, BATCHLAB_FD=str(theirs.fileno())))
        theirs.close()
        marks = ours.makefile(encoding='utf-8')
        ours.close()
        return process, marks
