#!/usr/bin/env python3
"""A state dict of torchvision's, converted by tools/convert_state_dict.py and loaded here, gives PyTorch's logits; and it
comes back from a safetensors file bit for bit.

usage: compare_weights.py DUMP_LOGITS MODEL. Exit status 77 where PyTorch or torchvision is missing."""
import contextlib
import io
import os
import subprocess
import sys
import tempfile

try:
    import numpy as np
    import torch
    import torchvision
except ImportError as e:
    print(f'missing: {e}')
    sys.exit(77)
sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(os.environ['BATCHLAB_SOURCE_ROOT'], 'tools'))
import convert_state_dict

BOUND = 1e-4
DUMP, MODEL = os.path.abspath(sys.argv[1]), sys.argv[2]
N, SIZE = 2, 64


def make_model():
    """Random weights, scales and biases other than ones and zeros, running statistics, and logits of about 1."""
    model = getattr(torchvision.models, MODEL)()
    with torch.no_grad():
        for p in model.parameters():
            p.add_(0.1 * torch.randn_like(p) * p.std(unbiased=False).clamp(min=0.1))
        model.train()
        for module in model.modules():
            if isinstance(module, torch.nn.BatchNorm2d):
                module.momentum = None  # the mean of all batches: else they would still be near 0 and 1
        for _ in range(2):
            model(torch.randn(4, 3, SIZE, SIZE))
        model.eval()
        head = list(model.parameters())[-2]
        head.div_(model(images).std())
    return model


def convert(*words, fails=False):
    """The tool; what it says on stderr."""
    sys.argv, err, status = ['convert_state_dict.py', *words], io.StringIO(), 0
    with contextlib.redirect_stderr(err), contextlib.redirect_stdout(io.StringIO()):
        try:
            convert_state_dict.main()
        except SystemExit as e:
            status = e.code
    assert status == (2 if fails else 0), (words, status, err.getvalue())
    return err.getvalue()


def our_logits(weights, classes=1000, status=0):
    done = subprocess.run([DUMP, MODEL, weights, str(SIZE), str(N), str(classes), 'images', 'logits'],
                          capture_output=True, text=True, timeout=240)
    assert done.returncode == status, (done.returncode, done.stderr)
    return np.fromfile('logits', np.float32).astype(np.float64).reshape(N, 1000) if status == 0 else done.stderr


torch.manual_seed(5)
torch.set_num_threads(2)
images = torch.randn(N, 3, SIZE, SIZE)
model = make_model()
state = model.state_dict()
with torch.no_grad():
    want = model(images).double().numpy()

with tempfile.TemporaryDirectory() as folder:
    os.chdir(folder)
    images.numpy().tofile('images')
    torch.save(state, 'state.pth')
    torch.save({'epoch': 3, 'model': {'module.' + name: value for name, value in state.items()}}, 'wrapped.pt')
    convert('state.pth', 'state.safetensors')
    convert('wrapped.pt', 'wrapped.safetensors')
    with open('state.safetensors', 'rb') as a, open('wrapped.safetensors', 'rb') as b:
        assert a.read() == b.read(), 'the same weights in a wrapping'

    error = np.abs(our_logits('state.safetensors') - want).max()
    print(f'{MODEL}: logits of {N} images, deviation {want.std():.3g}, apart {np.abs(want[0] - want[1]).max():.3g}: '
          f'off by at most {error:.2g}')
    assert want.std() > 0.5 and np.abs(want[0] - want[1]).max() > 0.01, 'logits that say nothing'
    assert error < BOUND

    # Is it checked at all? One tensor, a hundredth off.
    spoilt = dict(state)
    filters = [name for name, p in model.named_parameters() if p.dim() == 4]
    spoilt[filters[-1]] = state[filters[-1]] * 1.01
    torch.save(spoilt, 'spoilt.pth')
    convert('spoilt.pth', 'spoilt.safetensors')
    assert np.abs(our_logits('spoilt.safetensors') - want).max() > BOUND

    # Back; and from half as many bits.
    convert('state.safetensors', 'back.pth')
    back = torch.load('back.pth')
    assert back.keys() == state.keys() and all(torch.equal(back[n], state[n]) for n in state)
    assert all(back[n].dtype == state[n].dtype and back[n].shape == state[n].shape for n in state)
    torch.save({n: v.bfloat16() if v.is_floating_point() else v for n, v in state.items()}, 'brain.pth')
    convert('brain.pth', 'brain.safetensors')
    convert('brain.safetensors', 'brain_back.pth')
    brain = torch.load('brain_back.pth')
    assert all(torch.equal(brain[n], state[n].bfloat16().to(brain[n].dtype)) for n in state if state[n].is_floating_point())

    # What is wrong is told, with its remedy.
    err = our_logits('state.safetensors', classes=10, status=2)
    assert '(1000' in err and '--new-head' in err, err
    assert 'convert_state_dict.py' in our_logits('state.pth', status=2)
    torch.save([1, 2], 'list.pth')
    for words in (['state.pth'], ['state.pth', 'other.pth'], ['images', 'x.safetensors'], ['none.pth', 'x.safetensors'],
                  ['list.pth', 'x.safetensors']):
        assert 'try: ' in convert(*words, fails=True)
