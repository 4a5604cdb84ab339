#!/usr/bin/env python3
"""Trains a model of torchvision or of tools/reference_models.py, or a YOLOv7 on a linear probe of its predictions
(tools/reference_yolov7.py), on random tensors and marks each step: the other side of bench/compare.

float32, SGD with momentum, cross-entropy. The images stay the same, so no data loading is in the time.
"""
import argparse
import os
import sys

for folder in ('python', 'tools'):
    sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), '..', folder))
import batchlab_marker  # noqa: E402


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument('--model', default='mobilenet_v3_large')
    parser.add_argument('--batch-size', type=int, required=True)
    parser.add_argument('--steps', type=int, required=True)
    parser.add_argument('--threads', type=int, default=2)
    parser.add_argument('--image-size', type=int, default=224)
    parser.add_argument('--classes', type=int, default=1000)
    parser.add_argument('--layout', choices=('nchw', 'channels_last'), default='channels_last')
    args = parser.parse_args()
    os.environ['OMP_NUM_THREADS'] = str(args.threads)

    import torch
    import reference_models
    import reference_yolov7
    torch.set_num_threads(args.threads)
    torch.manual_seed(1)
    if args.model in reference_yolov7.ANCHORS:
        model = reference_yolov7.Probed(args.model, args.classes, args.image_size, 2).train()
        args.classes = 2  # of the probe
    else:
        model = reference_models.make(args.model, args.image_size, args.classes).train()
    images = torch.randn(args.batch_size, 3, args.image_size, args.image_size)
    labels = torch.randint(args.classes, (args.batch_size,))
    if args.layout == 'channels_last':
        model = model.to(memory_format=torch.channels_last)
        images = images.to(memory_format=torch.channels_last)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01, momentum=0.9)
    loss_of = torch.nn.CrossEntropyLoss()

    with batchlab_marker.Marker(program='pytorch_step.py', program_version=torch.__version__, precision='f32',
                                batch=args.batch_size) as marker:
        marker.ready()
        for _ in range(args.steps):
            optimizer.zero_grad(set_to_none=True)
            loss = loss_of(model(images), labels)
            loss.backward()
            optimizer.step()
            marker.step(args.batch_size, loss=loss.item())


if __name__ == '__main__':
    main()
