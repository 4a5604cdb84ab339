#!/usr/bin/env python3
"""Writes tests/golden/coco_map.txt: what COCO's evaluator (pycocotools) says of boxes that a formula makes.

    python3 tools/make_coco_golden.py [OUTPUT]

The boxes are those of tests/detect/test_map.c: images without boxes or without detections, a class without truths and
one without detections, crowds, equal scores, IoUs on a threshold, recalls on each of the 101 (class 6 has 100 truths),
and more than 100 detections of a class in an image.
Lines: all IMAGES TRUTHS MAP MAP50; class CLASS TRUTHS AP AP50; threshold NUMBER MAP. -1 where there are no truths.
"""
import contextlib
import io
import os
import sys

import numpy as np
from pycocotools.coco import COCO
from pycocotools.cocoeval import COCOeval

IMAGES, CLASSES, MOST = 16, 7, 512
LADDER = range(8, 13)  # images with 20 boxes of class 6 each, all found, with others between
MASK = (1 << 64) - 1


def below(n, stream, index):
    """Splitmix64 of (stream << 32) + index, its upper 24 bits, modulo n."""
    z = (stream << 32) + index
    z = (z * 0x9E3779B97F4A7C15 + 0x9E3779B97F4A7C15) & MASK
    z = ((z ^ (z >> 30)) * 0xBF58476D1CE4E5B9) & MASK
    z = ((z ^ (z >> 27)) * 0x94D049BB133111EB) & MASK
    return ((z ^ (z >> 31)) >> 40) % n


def make_truths(image):
    n = 0 if image in (2, 5) else 3 + below(8, 1, image)
    truths = []
    for i in range(image * 64, image * 64 + n):
        box = [below(1600, 2, i) / 4, below(1600, 3, i) / 4, (16 + below(800, 4, i)) / 4, (16 + below(800, 5, i)) / 4]
        truths.append((box, below(5, 6, i), int(below(9, 7, i) == 0)))
    return truths


def make_ladder(image):
    truths, found = [], []
    for j in range(20):
        i = image * MOST + 100 + j
        truths.append(([1000 + 20 * j, 500, 10, 10], 6, 0))
        found.append(([1000 + 20 * j, 500, 10, 10], 6, (1 + below(1000, 23, i)) / 1024))
        if below(2, 24, i):
            found.append(([1000 + 20 * j, 900, 10, 10], 6, (1 + below(1000, 25, i)) / 1024))
    return truths, found


def make_detections(image, truths):
    n = 300 if image == 3 else 0 if image in (5, 7) else 20 + below(20, 8, image)
    found = []
    for i in range(image * MOST, image * MOST + n):
        box = [below(1600, 16, i) / 4, below(1600, 17, i) / 4, (16 + below(800, 18, i)) / 4,
               (16 + below(800, 19, i)) / 4]
        cls = below(6, 13, i)
        if truths and below(4, 9, i) != 0:
            truth = truths[below(len(truths), 10, i)]
            box, kind = list(truth[0]), below(4, 11, i)
            if kind == 1:
                box[2] /= 2
            if kind >= 2:
                spread = 8 if kind == 2 else 1
                box[0] += (below(9, 12, i) - 4) * spread / 4
                box[1] += (below(9, 20, i) - 4) * spread / 4
            if below(6, 21, i) != 0:
                cls = truth[1]
        if image == 3 and below(3, 14, i) != 0:
            cls = 0
        found.append((box, 1 if cls == 4 else cls, (1 + below(64, 15, i)) / 64))
    return found


def evaluate():
    annotations, results = [], []
    for image in range(IMAGES):
        truths = make_truths(image)
        found = make_detections(image, truths)
        if image in LADDER:
            truths, found = (a + b for a, b in zip((truths, found), make_ladder(image)))
        for box, cls, crowd in truths:
            annotations.append({'id': len(annotations) + 1, 'image_id': image + 1, 'category_id': cls + 1, 'bbox': box,
                                'area': box[2] * box[3], 'iscrowd': crowd})
        for box, cls, score in found:
            results.append({'image_id': image + 1, 'category_id': cls + 1, 'bbox': box, 'score': score})
    coco = COCO()
    coco.dataset = {'images': [{'id': i + 1} for i in range(IMAGES)], 'annotations': annotations,
                    'categories': [{'id': k + 1, 'name': str(k)} for k in range(CLASSES)], 'info': {}}
    coco.createIndex()
    evaluation = COCOeval(coco, coco.loadRes(results), 'bbox')
    evaluation.evaluate()
    evaluation.accumulate()
    evaluation.summarize()
    counts = [sum(a['category_id'] == k + 1 and not a['iscrowd'] for a in annotations) for k in range(CLASSES)]
    return evaluation, counts


def mean(precision):
    return np.mean(precision) if precision.size and precision.max() > -1 else -1


def main():
    here = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
    path = sys.argv[1] if len(sys.argv) > 1 else os.path.join(here, 'tests', 'golden', 'coco_map.txt')
    with contextlib.redirect_stdout(io.StringIO()):
        evaluation, counts = evaluate()
    precision = evaluation.eval['precision'][:, :, :, 0, 2]  # thresholds, recalls, classes; area "all", 100 detections
    out = ['# COCOeval of pycocotools on boxes; made by tools/make_coco_golden.py',
           f'all {IMAGES} {sum(counts)} {evaluation.stats[0]:.17g} {evaluation.stats[1]:.17g}']
    for k in range(CLASSES):
        out.append(f'class {k} {counts[k]} {mean(precision[:, :, k]):.17g} {mean(precision[0, :, k]):.17g}')
    for t, at in enumerate(precision):
        out.append(f'threshold {t} {mean(at[at > -1]):.17g}')
    with open(path, 'w', encoding='utf-8') as f:
        f.write('\n'.join(out) + '\n')
    print('\n'.join(out))


if __name__ == '__main__':
    main()
