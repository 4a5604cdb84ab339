#!/usr/bin/env python3
"""A PyTorch training on random images, with batchlab's markers: nothing to download, and memory that grows with the batch.

    batchlab max --memory-limit 2G -- python3 experiments/pytorch_synthetic.py --batch-size {batch}
"""
import argparse
import os
import sys

import torch
import torchvision

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), '..', 'python'))
from batchlab_marker import Marker


def main():
    parser = argparse.ArgumentParser(description=__doc__.split('\n')[0])
    parser.add_argument('--model', default='mobilenet_v3_small', help="one of torchvision's classifiers")
    parser.add_argument('--batch-size', type=int, default=64)
    parser.add_argument('--image-size', type=int, default=64)
    parser.add_argument('--steps', type=int, default=0, help='end after this many steps (0: never)')
    args = parser.parse_args()
    torch.manual_seed(1)
    model = getattr(torchvision.models, args.model)(num_classes=10)
    model.train()
    optimizer = torch.optim.SGD(model.parameters(), 0.05, momentum=0.9)
    images = torch.randn(args.batch_size, 3, args.image_size, args.image_size)
    labels = torch.randint(10, (args.batch_size,))
    with Marker(program='pytorch_synthetic.py', program_version=torch.__version__, precision='f32',
                batch=args.batch_size) as marker:
        marker.ready()
        step = 0
        while step != args.steps or step == 0:
            step += 1
            optimizer.zero_grad(set_to_none=True)
            loss = torch.nn.functional.cross_entropy(model(images), labels)
            loss.backward()
            optimizer.step()
            marker.step(args.batch_size, loss=loss.item())


if __name__ == '__main__':
    main()
