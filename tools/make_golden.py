#!/usr/bin/env python3
"""Writes tests/golden/MODEL.txt: what PyTorch computes for a model of torchvision, reference_models.py or
reference_yolov7.py.

    /usr/bin/python3 tools/make_golden.py MODEL [OUTPUT]

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

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from formula import uniform  # noqa: E402
import reference_models  # noqa: E402
import reference_yolov7  # noqa: E402

BATCH, CLASSES = 8, 10
# Size, learning rate, shift. Where a network has many ReLUs, some of their inputs lie within float32's rounding of the
# kink, and a single one that falls to the other side changes gradients by a per cent: PyTorch's own are off by two then.
# So the normalisations' biases are shifted by 3 deviations, one way or the other, which leaves few inputs near 0. Pools by
# 2 x 2 are such kinks too, where the two largest of a window are nearly equal: YOLOv7's shifts are those of some tried that
# leave the largest gap there. Its sizes are the smallest with 3 x 3 pixels at the coarsest level.
SETUPS = {'convnext_tiny': (64, 0.002, 0), 'deit_small': (48, 2e-4, 0), 'deit_tiny': (48, 5e-4, 0),
          'mlp': (16, 0.001, 0), 'mobilenet_v3_large': (96, 0.002, 0), 'mobilenet_v3_small': (96, 0.002, 0),
          'resnet18': (64, 1e-4, 3), 'resnet50': (64, 1e-4, 3), 'vit_b_16': (32, 1e-4, 0),
          'yolov7': (96, 1e-4, 2.6), 'yolov7_tiny': (96, 1e-4, 2.7), 'yolov7_w6': (192, 1e-5, 3)}
STEPS, MOMENTUM = 10, 0.9
MASK = (1 << 64) - 1


def value(name, shape, stream, shift):
    """What entry `stream` of the state dict starts as; float32 numbers, as the network holds them."""
    u = uniform(stream, int(np.prod(shape, dtype=np.int64)))
    if name.endswith('running_var'):
        v = 1 + 0.3 * u
    elif shift and name.endswith('bias') and not name.startswith('fc.'):
        v = np.where(u > -0.5, shift, -shift) + 0.1 * u
    elif name.endswith('running_mean') or name.endswith('bias'):
        v = 0.1 * u
    elif name.endswith('num_batches_tracked'):
        v = 0 * u
    elif len(shape) == 1:
        v = 1 + 0.2 * u
    else:
        v = np.sqrt(6 / np.prod(shape[1:])) * u
    return v.astype(np.float32).reshape(shape)


def build(name, dtype):
    if name in reference_yolov7.ANCHORS:
        model = reference_yolov7.Probed(name, CLASSES, SETUPS[name][0], CLASSES)
    else:
        model = reference_models.make(name, SETUPS[name][0], CLASSES)
    state = model.state_dict()
    for i, (key, tensor) in enumerate(state.items()):
        state[key] = torch.from_numpy(value(key, tuple(tensor.shape), i + 1, SETUPS[name][2])).to(tensor.dtype)
    model.load_state_dict(state)
    for module in model.modules():
        if isinstance(module, (torch.nn.Dropout, torchvision.ops.StochasticDepth, reference_models.DropPath)):
            module.p = 0.0
    return model.to(dtype)


def inputs(name, dtype):
    size = SETUPS[name][0]
    images = (2 * uniform(1 << 20, BATCH * 3 * size * size)).astype(np.float32).reshape(BATCH, 3, size, size)
    labels = torch.arange(BATCH) * 7 % CLASSES
    return torch.from_numpy(images).to(dtype), labels


def train(name, images, labels):
    model = build(name, images.dtype).train()
    optimizer = torch.optim.SGD(model.parameters(), lr=SETUPS[name][1], momentum=MOMENTUM)
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
    if len(sys.argv) < 2 or sys.argv[1] not in SETUPS:
        sys.exit(f'usage: make_golden.py MODEL [OUTPUT]; MODEL is one of {", ".join(SETUPS)}')
    model_name = sys.argv[1]
    path = sys.argv[2] if len(sys.argv) > 2 else os.path.join(here, 'tests', 'golden', model_name + '.txt')
    torch.set_num_threads(2)
    size, rate, shift = SETUPS[model_name]
    images, labels = inputs(model_name, torch.float64)
    out = [f'# torchvision {torchvision.__version__}, torch {torch.__version__}, float64; made by tools/make_golden.py',
           f'setup {BATCH} {size} {CLASSES} {STEPS} {rate} {MOMENTUM} {shift}']
    model = build(model_name, torch.float64).eval()
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
    losses = train(model_name, images, labels)
    out.append('losses ' + numbers(losses))
    with open(path, 'w', encoding='utf-8') as f:
        f.write('\n'.join(out) + '\n')
    print(f'{path}: {os.path.getsize(path)} bytes; losses {losses}')


if __name__ == '__main__':
    main()
