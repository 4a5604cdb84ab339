#!/usr/bin/env python3
"""A PyTorch training script as people have them, with batchlab's markers: torchvision's MobileNetV3-Large on an image
folder (DIR/train/CLASS/*.jpg).

    batchlab sweep -b 100,127,128,129,156 -- python3 experiments/pytorch_training.py --data DIR --batch-size {batch}

The marker helper (python/batchlab_marker.py) is all that batchlab needs: see the loop.
"""
import argparse
import os
import sys

import torch
import torchvision

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), '..', 'python'))
from batchlab_marker import Marker


def parse():
    parser = argparse.ArgumentParser(description=__doc__.split('\n')[0])
    parser.add_argument('--data', required=True, help='image folder')
    parser.add_argument('--batch-size', type=int, default=64)
    parser.add_argument('--image-size', type=int, default=224)
    parser.add_argument('--steps', type=int, default=0, help='end after this many steps (0: one epoch)')
    parser.add_argument('--threads', type=int, default=0, help='threads that compute (0: as PyTorch likes)')
    parser.add_argument('--workers', type=int, default=0, help='processes that load data')
    parser.add_argument('--lr', type=float, default=0.05)
    parser.add_argument('--nchw', action='store_true', help='plain layout, not channels_last')
    parser.add_argument('--silent', action='store_true', help='no markers, no output')
    return parser.parse_args()


def main():
    args = parse()
    torch.manual_seed(1)
    if args.threads:
        torch.set_num_threads(args.threads)
    transform = torchvision.transforms.Compose([
        torchvision.transforms.Resize(args.image_size),
        torchvision.transforms.RandomHorizontalFlip(),
        torchvision.transforms.ToTensor(),
        torchvision.transforms.Normalize([0.485, 0.456, 0.406], [0.229, 0.224, 0.225])])
    data = torchvision.datasets.ImageFolder(os.path.join(args.data, 'train'), transform)
    loader = torch.utils.data.DataLoader(data, args.batch_size, shuffle=True, num_workers=args.workers, drop_last=True)
    layout = torch.contiguous_format if args.nchw else torch.channels_last
    model = torchvision.models.mobilenet_v3_large(num_classes=len(data.classes)).to(memory_format=layout)
    model.train()
    optimizer = torch.optim.SGD(model.parameters(), args.lr, momentum=0.9)
    marker = Marker(program='pytorch_training.py', program_version=torch.__version__, precision='f32',
                    batch=args.batch_size, fd=-1 if args.silent else None)
    with marker:
        for step, (images, labels) in enumerate(marker.track(loader, args.batch_size), 1):
            optimizer.zero_grad(set_to_none=True)
            loss = torch.nn.functional.cross_entropy(model(images.to(memory_format=layout)), labels)
            loss.backward()
            optimizer.step()
            marker.loss = loss.item()
            if not args.silent and step % 10 == 0:
                print(f'step {step}  loss {marker.loss:.4f}')
            if step == args.steps:
                break


if __name__ == '__main__':
    main()
