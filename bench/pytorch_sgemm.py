#!/usr/bin/env python3
"""Prints the GFLOP/s of PyTorch's product of two float32 matrices of 2048 x 2048, the best of ten. usage:
pytorch_sgemm.py THREADS"""
import sys
import time

import torch

SIZE = 2048
torch.set_num_threads(int(sys.argv[1]))
a, b = torch.randn(SIZE, SIZE), torch.randn(SIZE, SIZE)
c = torch.empty(SIZE, SIZE)
best = float('inf')
for _ in range(10):
    start = time.perf_counter()
    torch.mm(a, b, out=c)
    best = min(best, time.perf_counter() - start)
print(f'{2e-9 * SIZE ** 3 / best:.2f}')
