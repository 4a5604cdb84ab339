#!/usr/bin/env python3
"""Every gradient of a model, in full, against PyTorch: names, order, and ||a - b|| / ||b|| < 1e-4.

usage: compare_with_torch.py DUMP_GRADIENTS MODEL. Exit status 77 where there is no PyTorch. b is PyTorch's in double
precision; how far PyTorch's own float32 lies from it is printed beside. A gradient spoilt on purpose must be caught.
"""
import importlib.util
import os
import subprocess
import sys
import tempfile

BOUND = 1e-4
MODEL = sys.argv[2]

try:
    import numpy as np
    import torch
except ImportError:
    sys.exit(77)
source = os.environ['BATCHLAB_SOURCE_ROOT']
spec = importlib.util.spec_from_file_location('make_golden', os.path.join(source, 'tools', 'make_golden.py'))
sys.dont_write_bytecode = True
make_golden = importlib.util.module_from_spec(spec)
try:
    spec.loader.exec_module(make_golden)
except ImportError:
    sys.exit(77)


def torch_gradients(dtype):
    model = make_golden.build(MODEL, dtype).train()
    images, labels = make_golden.inputs(MODEL, dtype)
    torch.nn.functional.cross_entropy(model(images), labels).backward()
    return [(name, p.grad.double().numpy().ravel()) for name, p in model.named_parameters()]


def our_gradients(sizes, *spoil):
    with tempfile.NamedTemporaryFile() as f:
        subprocess.run([sys.argv[1], MODEL, str(make_golden.SETUPS[MODEL][0]), str(make_golden.SETUPS[MODEL][2]), f.name, *spoil], check=True)
        flat = np.fromfile(f.name, dtype=np.float32).astype(np.float64)
    assert flat.size == sum(sizes), (flat.size, sum(sizes))
    return np.split(flat, np.cumsum(sizes)[:-1])


def errors(got, truth):
    """Relative to the gradient's norm. The bias of a normalisation whose result goes through a 1x1 convolution straight
    into another normalisation changes nothing: its gradient is zero, what both sides compute is rounding, and it is
    held against the gradient of the scale beside it (the one before)."""
    out, before = {}, 0
    for a, (name, b) in zip(got, truth):
        norm = np.linalg.norm(b)
        out[name] = np.linalg.norm(a - b) / (before if norm < 1e-9 * before else norm)
        before = norm
    return out


torch.set_num_threads(2)
truth = torch_gradients(torch.float64)
sizes = [b.size for _, b in truth]
ours = errors(our_gradients(sizes), truth)
theirs = errors([g for _, g in torch_gradients(torch.float32)], truth)
worst = max(ours, key=ours.get)
print(f'{len(ours)} gradients; worst error: ours {ours[worst]:.2g} ({worst}), '
      f"PyTorch's float32 {max(theirs.values()):.2g}")
broken = [name for name, e in ours.items() if not e < BOUND]
assert not broken, {name: ours[name] for name in broken}
filters = [name for name, p in make_golden.build(MODEL, torch.float32).named_parameters() if p.dim() >= 2]
spoil = filters[len(filters) // 2]
spoilt = errors(our_gradients(sizes, spoil), truth)
assert [name for name, e in spoilt.items() if not e < BOUND] == [spoil], 'the spoilt gradient was not caught'
