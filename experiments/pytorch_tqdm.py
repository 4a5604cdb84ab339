#!/usr/bin/env python3
"""A training script as people write them: PyTorch, and tqdm's bar around the loader. It knows nothing of batchlab, and is swept
and compared as it stands:

    batchlab sweep -b 31,32,33 --steps 30 -- python3 experiments/pytorch_tqdm.py --batch-size {batch}
    batchlab compare -b 31,32 --steps 30 -- python3 experiments/pytorch_tqdm.py --batch-size {batch}
"""
import argparse

import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset
from tqdm import tqdm

parser = argparse.ArgumentParser()
parser.add_argument('--batch-size', type=int, default=32)
parser.add_argument('--epochs', type=int, default=100)
parser.add_argument('--samples', type=int, default=4096)
args = parser.parse_args()

torch.manual_seed(0)
labels = torch.randint(10, (args.samples,))
images = torch.randn(args.samples, 3, 32, 32) + labels.view(-1, 1, 1, 1) / 10
loader = DataLoader(TensorDataset(images, labels), batch_size=args.batch_size, shuffle=True, drop_last=True)
model = nn.Sequential(nn.Conv2d(3, 16, 3, 2, 1), nn.ReLU(), nn.Conv2d(16, 32, 3, 2, 1), nn.ReLU(), nn.AdaptiveAvgPool2d(1),
                      nn.Flatten(), nn.Linear(32, 10))
optimizer = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9)

for epoch in range(args.epochs):
    bar = tqdm(loader, desc=f'epoch {epoch + 1}')
    for x, y in bar:
        optimizer.zero_grad()
        loss = nn.functional.cross_entropy(model(x), y)
        loss.backward()
        optimizer.step()
        bar.set_postfix(loss=f'{loss.item():.3f}')
