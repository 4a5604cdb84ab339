#!/usr/bin/env python3
"""The reader and writer in C against those in Python (tools/safetensors_py.py), both written from the format's description:
what either writes the other reads, and what is damaged is refused by both or means the same to both.

usage: compare_safetensors.py COPY_SAFETENSORS. Exit status 77 where numpy is missing."""
import importlib.util
import os
import random
import subprocess
import sys
import tempfile

try:
    import numpy as np
except ImportError:
    print('numpy is missing')
    sys.exit(77)
sys.dont_write_bytecode = True
spec = importlib.util.spec_from_file_location(
    'safetensors_py', os.path.join(os.environ['BATCHLAB_SOURCE_ROOT'], 'tools', 'safetensors_py.py'))
safetensors_py = importlib.util.module_from_spec(spec)
spec.loader.exec_module(safetensors_py)

COPY = sys.argv[1]
READ = ('F16', 'F32', 'F64', 'I32', 'I64')  # numpy has no BF16: tests/tensor/test_safetensors.c has all of them


def copy(source, target):
    done = subprocess.run([COPY, source, target], capture_output=True, text=True, timeout=60)
    assert done.returncode in (0, 2), (done.returncode, done.stderr)
    assert (done.returncode == 0) == ('error' not in done.stderr), done.stderr
    return done.returncode == 0


def expected(array):
    return array.astype('<i8' if array.dtype.kind == 'i' else '<f4')


def same(a, b):
    return a.dtype == b.dtype and a.shape == b.shape and a.tobytes() == b.tobytes()


def random_tensors(rng):
    tensors = {}
    for i in range(rng.integers(1, 12)):
        kind = np.dtype(safetensors_py.TYPES[READ[rng.integers(len(READ))]])
        shape = tuple(rng.integers(1, 6, rng.integers(0, 5)))
        numbers = rng.normal(size=shape) * 10.0 ** rng.integers(-3, 4)
        if kind.kind == 'i':
            numbers = rng.integers(np.iinfo(kind).min, np.iinfo(kind).max, shape, dtype=kind)
        tensors[f'blöck.{i}/' + 'x' * int(rng.integers(0, 40))] = np.asarray(numbers, kind)
    return tensors


with tempfile.TemporaryDirectory() as folder:
    first, second = os.path.join(folder, 'first'), os.path.join(folder, 'second')
    rng = np.random.default_rng(1)
    for _ in range(60):
        tensors, texts = random_tensors(rng), {'a "b"': 'ß\n'} if rng.integers(2) else {}
        safetensors_py.write(first, tensors, texts)
        assert copy(first, second), 'refused what is right'
        found, found_texts = safetensors_py.read(second)
        assert found.keys() == tensors.keys() and found_texts == texts
        assert all(same(found[name], expected(array)) for name, array in tensors.items())
        assert copy(second, first)
        with open(first, 'rb') as a, open(second, 'rb') as b:
            assert a.read() == b.read(), 'a copy of a copy differs'

    # One byte of the header at a time.
    safetensors_py.write(first, {'a': np.arange(6, dtype='<f4').reshape(2, 3), 'b': np.arange(2, dtype='<i8')}, {'k': 'v'})
    with open(first, 'rb') as f:
        whole = f.read()
    random.seed(2)
    agreed = refused = 0
    for _ in range(400):
        at = random.randrange(8, 8 + whole[0] + 256 * whole[1])
        with open(first, 'wb') as f:
            f.write(whole[:at] + bytes([random.choice(b'0123456789,:"[]{} aF\\')]) + whole[at + 1:])
        ours = copy(first, second)
        try:
            theirs, _ = safetensors_py.read(first)
        except (ValueError, KeyError, TypeError, AttributeError):
            theirs = None
        if ours:
            found, _ = safetensors_py.read(second)
            assert theirs is not None and theirs.keys() == found.keys()
            assert all(same(found[name], expected(array)) for name, array in theirs.items())
            agreed += 1
        else:
            refused += 1
    assert agreed > 10 and refused > 100, (agreed, refused)
print(f'60 files both ways; of 400 damaged ones {refused} were refused, {agreed} mean the same to both')
