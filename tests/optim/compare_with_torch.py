#!/usr/bin/env python3
"""Steps of torch.optim in doubles, with parameter groups, clipping and accumulated gradients, against ours. A decay given to
the wrong group has to be found. Without PyTorch: skipped, 77."""
import os
import subprocess
import sys

try:
    import torch
except ImportError:
    print('PyTorch is not there')
    sys.exit(77)

DUMP = os.path.join(os.environ['BATCHLAB_BUILD_ROOT'], 'tests', 'optim', 'dump_optim')
SHAPES = [('w', (4, 3, 2, 2)), ('b', (4,)), ('s', (4,)), ('b', (4,)), ('s', (4, 1, 1)), ('w', (9, 2000))]
STEPS = 8
TOLERANCE = 3e-6

# kind, momentum, Nesterov, decay, decay of all, clip, parts, rates of weights, scales, biases
CASES = [
    ('sgd', 0, 0, 0, 0, 0, 1, 0.1, 0.1, 0.1),
    ('sgd', 0.9, 0, 5e-2, 0, 0, 1, 0.1, 0.1, 0.1),
    ('sgd', 0.9, 1, 5e-2, 1, 0, 1, 0.1, 0.1, 0.1),
    ('sgd', 0.9, 1, 5e-2, 0, 1.5, 3, 0.02, 0.05, 0.1),
    ('adam', 0, 0, 0.1, 0, 0, 1, 0.01, 0.01, 0.01),
    ('adam', 0, 0, 0.1, 1, 2, 2, 0.01, 0.02, 0.03),
    ('adamw', 0, 0, 0.3, 0, 0, 1, 0.01, 0.01, 0.01),
    ('adamw', 0, 0, 0.3, 1, 0.5, 4, 0.01, 0.02, 0.03),
]


def put_gradients(parameters, parts):
    """The mean of the parts, weighted 1, 2, ..."""
    for p, w in enumerate(parameters):
        i = torch.arange(w.numel(), dtype=torch.float64).reshape(w.shape)
        total = sum(range(1, parts + 1))
        w.grad = 0.3 * w.detach() + sum((1 + k) / total * torch.sin(i + 100 * p + 11 * k) for k in range(parts))


def by_torch(kind, momentum, nesterov, decay, decay_all, clip, parts, *rates):
    parameters = [torch.nn.Parameter(torch.cos(3 * torch.arange(torch.Size(shape).numel(), dtype=torch.float64)
                                               + 50 * p).float().double().reshape(shape))
                  for p, (_, shape) in enumerate(SHAPES)]
    groups = [{'params': [w for w, (kind_of, _) in zip(parameters, SHAPES) if kind_of == g], 'lr': rate,
               'weight_decay': decay if g == 'w' or decay_all else 0} for g, rate in zip('wsb', rates)]
    optimizer = {'sgd': lambda: torch.optim.SGD(groups, lr=1, momentum=momentum, nesterov=bool(nesterov)),
                 'adam': lambda: torch.optim.Adam(groups),
                 'adamw': lambda: torch.optim.AdamW(groups)}[kind]()
    for _ in range(STEPS):
        put_gradients(parameters, parts)
        if clip:
            torch.nn.utils.clip_grad_norm_(parameters, clip)
        optimizer.step()
    return torch.cat([w.detach().flatten() for w in parameters])


def worst_error(case, theirs=None):
    """Of the case as we compute it; `theirs`: what is asked of PyTorch instead."""
    words = [str(word) for word in (*case[:7], STEPS, *case[7:])]
    done = subprocess.run([DUMP, *words], stdout=subprocess.PIPE, text=True, check=True)
    ours = torch.tensor([float(line) for line in done.stdout.split()], dtype=torch.float64)
    return float((ours - by_torch(*(theirs or case))).abs().max())


def main():
    good = True
    for case in CASES:
        error = worst_error(case)
        print(*case, f'worst difference {error:.2e}')
        good = good and error < TOLERANCE
    case = CASES[1]
    spoilt = worst_error(case, (*case[:4], 1, *case[5:]))
    print(f'decay of the wrong group: {spoilt:.2e}')
    return 0 if good and spoilt > 10 * TOLERANCE else 1


sys.exit(main())
