#!/usr/bin/env python3
"""A small network and small images for darknet, to sweep a program that nobody changed: it knows no markers, prints a line an
iteration, and reads its batch size from a file. Debian's package darknet will do.

    python3 experiments/darknet_small.py small
    cd small
    batchlab sweep -b 7,8,9 --pty --steps 40 --prepare 'sh -c "sed s/BATCH/{batch}/ small.cfg >{outdir}/small.cfg"' -- \\
        darknet classifier train small.data {outdir}/small.cfg
"""
import os
import random
import sys

CFG = '''[net]
batch=BATCH
subdivisions=1
height=28
width=28
channels=3
min_crop=28
max_crop=32
learning_rate=0.01
policy=constant
momentum=0.9
decay=0.0005
max_batches={iterations}

[convolutional]
batch_normalize=1
filters=16
size=3
stride=1
pad=1
activation=leaky

[maxpool]
size=2
stride=2

[convolutional]
batch_normalize=1
filters=32
size=3
stride=1
pad=1
activation=leaky

[convolutional]
filters=2
size=1
stride=1
pad=1
activation=linear

[avgpool]

[softmax]
groups=1
'''
DATA = '''classes=2
train=train.list
valid=train.list
labels=labels.txt
backup=weights
top=1
'''
SIDE = 32


def image(shade, draw):
    """A PPM file of one shade and noise."""
    pixels = bytes(min(255, max(0, int(draw.gauss(shade, 40)))) for _ in range(3 * SIDE * SIDE))
    return b'P6\n%d %d\n255\n' % (SIDE, SIDE) + pixels


def main():
    if len(sys.argv) not in (2, 3):
        sys.exit('usage: darknet_small.py FOLDER [ITERATIONS]')
    folder, iterations = sys.argv[1], int(sys.argv[2]) if len(sys.argv) > 2 else 100000
    draw = random.Random(1)
    for name in ('images', 'weights'):
        os.makedirs(os.path.join(folder, name), exist_ok=True)
    names = []
    for i in range(64):
        # darknet takes the class from the file's name.
        names.append(f'images/{i}_{("dark", "light")[i % 2]}.ppm')
        with open(os.path.join(folder, names[-1]), 'wb') as f:
            f.write(image((80, 170)[i % 2], draw))
    for name, text in (('train.list', '\n'.join(names) + '\n'), ('labels.txt', 'dark\nlight\n'), ('small.data', DATA),
                       ('small.cfg', CFG.format(iterations=iterations))):
        with open(os.path.join(folder, name), 'w', encoding='utf-8') as f:
            f.write(text)


main()
