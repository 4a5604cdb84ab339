#!/usr/bin/env python3
"""torch_loader.py KIND DIR SIZE BATCH WORKERS SECONDS: the same as build/bench/loader_rate, by torchvision's DataLoader.

flip: Resize, RandomCrop with zeros of an eighth of the side around, RandomHorizontalFlip. crop: RandomResizedCrop,
RandomHorizontalFlip. Both: ToTensor, Normalize."""
import os
import sys
import time

import torch
from torchvision import datasets, transforms

WARM_S = 1


def main():
    kind, folder, size, batch, workers, seconds = sys.argv[1:]
    size, seconds = int(size), float(seconds)
    torch.manual_seed(1)
    torch.set_num_threads(1)
    first = {'flip': [transforms.Resize(size), transforms.RandomCrop(size, padding=size // 8)],
             'crop': [transforms.RandomResizedCrop(size)]}[kind]
    transform = transforms.Compose([*first, transforms.RandomHorizontalFlip(), transforms.ToTensor(),
                                    transforms.Normalize([0.485, 0.456, 0.406], [0.229, 0.224, 0.225])])
    data = datasets.ImageFolder(os.path.join(folder, 'train'), transform)
    loader = torch.utils.data.DataLoader(data, batch_size=int(batch), shuffle=True, drop_last=True,
                                         num_workers=int(workers), persistent_workers=int(workers) > 0)
    images, begun, start = 0, None, None
    while True:
        for x, _ in loader:
            now = time.monotonic()
            if begun is None:
                begun = now
            elif start is not None:
                images += len(x)
            elif now - begun >= WARM_S:
                start = now
            if start is not None and now - start >= seconds:
                print(images, now - start)
                return 0


if __name__ == '__main__':
    sys.exit(main())
