#!/usr/bin/env python3
"""Writes tests/golden/mobilenet_v3_large.txt: what PyTorch computes for MobileNetV3-Large.

    /usr/bin/python3 tools/make_golden.py [OUTPUT]

Weights and images come from a formula that the C test computes too (tests/model/formula.c), so that only results are
stored: logits, loss, for every parameter its gradient's norm, its projection onto a formula vector and its first two
elements, running statistics after the step; and the losses of ten steps of SGD with momentum, which amplify rounding:
PyTorch's own in single precision are 9e-4 off at the tenth. All in double precision. Dropout is off.
"""
import os
import sys

import numpy as np
import torch
import torchvision

BATCH, SIZE, CLASSES = 8, 96, 10
STEPS, RATE, MOMENTUM = 10, 0.002, 0.9
MASK = (1 << 64) - 1


def uniform(stream, count):
    """Numbers in [-1, 1): splitmix64 of (stream << 32) + index."""
    with np.errstate(over='ignore'):
        z = (np.uint64(stream) << np.uint64(32)) + np.arange(count, dtype=np.uint64)
        z = z * np.uint64(0x9E3779B97F4A7C15) + np.uint64(0x9E3779B97F4A7C15)
        z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
        z = z ^ (z >> np.uint64(31))
    return (z >> np.uint64(40)).astype(np.float64) / (1 << 23) - 1


def value(name, shape, stream):
    """What entry `stream` of the state dict starts as; float32 numbers, as the network holds them."""
    u = uniform(stream, int(np.prod(shape, dtype=np.int64)))
    if name.endswith('running_var'):
        v = 1 + 0.3 * u
    elif name.endswith('running_mean') or name.endswith('bias'):
        v = 0.1 * u
    elif name.endswith('num_batches_tracked'):
        v = 0 * u
    elif len(shape) == 1:
        v = 1 + 0.2 * u
    else:
        v = np.sqrt(6 / np.prod(shape[1:])) * u
    return v.astype(np.float32).reshape(shape)


def build(dtype):
    model = torchvision.models.mobilenet_v3_large(num_classes=CLASSES)
    state = model.state_dict()
    for i, (name, tensor) in enumerate(state.items()):
        state[name] = torch.from_numpy(value(name, tuple(tensor.shape), i + 1)).to(tensor.dtype)
    model.load_state_dict(state)
    for module in model.modules():
        if isinstance(module, torch.nn.Dropout):
            module.p = 0.0
    return model.to(dtype)


def inputs(dtype):
    images = (2 * uniform(1 << 20, BATCH * 3 * SIZE * SIZE)).astype(np.float32).reshape(BATCH, 3, SIZE, SIZE)
    labels = torch.arange(BATCH) * 7 % CLASSES
    return torch.from_numpy(images).to(dtype), labels


def train(images, labels):
    model = build(images.dtype).train()
    optimizer = torch.optim.SGD(model.parameters(), lr=RATE, momentum=MOMENTUM)
    losses = []
    for _ in range(STEPS):
        optimizer.zero_grad()
        loss = torch.nn.functional.cross_entropy(model(images), labels)
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    return losses


def numbers(values):
    return ' '.join(f'{float(v):.17g}' for v in values)


def main():
    here = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
    path = sys.argv[1] if len(sys.argv) > 1 else os.path.join(here, 'tests', 'golden', 'mobilenet_v3_large.txt')
    torch.set_num_threads(2)
    images, labels = inputs(torch.float64)
    out = [f'# torchvision {torchvision.__version__}, torch {torch.__version__}, float64; made by tools/make_golden.py',
           f'setup {BATCH} {SIZE} {CLASSES} {STEPS} {RATE} {MOMENTUM}']
    model = build(torch.float64).eval()
    with torch.no_grad():
        out.append('eval_logits ' + numbers(model(images).flatten()))
    model.train()
    logits = model(images)
    torch.nn.functional.cross_entropy(logits, labels).backward()
    out.append('train_logits ' + numbers(logits.flatten()))
    for i, (name, p) in enumerate(model.named_parameters()):
        g = p.grad.numpy().ravel()
        out.append(f'grad {name} ' + numbers([np.linalg.norm(g), g @ uniform((2 << 20) + i, g.size), g[0], g[-1]]))
    for name, b in model.named_buffers():
        b = b.numpy().ravel().astype(np.float64)
        out.append(f'buffer {name} ' + numbers([np.linalg.norm(b), b[0]]))
    losses = train(images, labels)
    out.append('losses ' + numbers(losses))
    with open(path, 'w', encoding='utf-8') as f:
        f.write('\n'.join(out) + '\n')
    print(f'{path}: {os.path.getsize(path)} bytes; losses {losses}')


if __name__ == '__main__':
    main()
