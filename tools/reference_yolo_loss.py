#!/usr/bin/env python3
"""YOLOv7's training loss in PyTorch, and tests/golden/yolo_loss.txt: its values and gradients in double precision.

    /usr/bin/python3 tools/reference_yolo_loss.py [OUTPUT]

What the loss is, src/detect/loss.h says; this computes it in another way, with autograd for the gradients. Predictions
and targets come from a formula that tests/detect/formula.c computes too, so that only results are stored: the loss, its
three parts, and for each head the gradient's norm, its projection onto a formula vector and its largest element.
"""
import math
import os
import sys

import numpy as np
import torch
from torch.nn.functional import binary_cross_entropy_with_logits as bce

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from formula import uniform  # noqa: E402

torch.set_default_dtype(torch.float64)

P5 = [[(12, 16), (19, 36), (40, 28)], [(36, 75), (76, 55), (72, 146)], [(142, 110), (192, 243), (459, 401)]]
P6 = [[(19, 27), (44, 40), (38, 94)], [(96, 68), (86, 152), (180, 137)], [(140, 301), (303, 264), (238, 542)],
      [(436, 615), (739, 380), (925, 792)]]
# name: images, classes, auxiliary heads, side, label smoothing, rows of targets
CASES = {
    'plain': (3, 5, False, 192, 0, 17),
    'one_class': (2, 1, False, 128, 0, 12),
    'smoothed': (1, 20, False, 160, 0.1, 9),
    'dense': (2, 3, False, 128, 0, 90),
    'auxiliary': (3, 4, True, 256, 0.05, 30),
    'empty': (2, 4, False, 64, 0, 1),
}


def make_heads(case, n_images, n_classes, auxiliary, size):
    """(N, 3 (5 + K), H, W) each, as the networks give them."""
    heads = []
    for k in range((4 if auxiliary else 3) * (1 + auxiliary)):
        side = size >> (3 + k % (4 if auxiliary else 3))
        shape = (n_images, 3, 5 + n_classes, side, side)
        u = uniform(100 * case + k, math.prod(shape)).reshape(shape)
        u[:, :, :4] *= 1.5
        u[:, :, 4:] = 2 * u[:, :, 4:] - 1
        flat = u.astype(np.float32).astype(np.float64).reshape(n_images, -1, side, side)
        heads.append(torch.from_numpy(flat).requires_grad_())
    return heads


def make_targets(case, n_images, n_classes, n_rows):
    u = uniform(100 * case + 99, n_rows * 6).reshape(-1, 6)
    t = (u + 1) / 2
    rows = np.stack([np.where(np.arange(n_rows) % 7 == 3, -1, np.arange(n_rows) % max(1, n_images - 1)),
                     np.floor(t[:, 1] * n_classes), 0.5 + 0.49 * u[:, 2], 0.5 + 0.49 * u[:, 3],
                     0.02 + 0.5 * t[:, 4] * t[:, 4], 0.02 + 0.5 * t[:, 5] * t[:, 5]], 1)
    if n_rows == 1:
        rows[0, 0] = -1
    return torch.from_numpy(rows.astype(np.float32).astype(np.float64))


def overlap(a, b, eps=0.0):
    """IoU of boxes (..., 4) given by centre and size, and the parts that CIoU needs."""
    a_low, a_high = a[..., :2] - a[..., 2:] / 2, a[..., :2] + a[..., 2:] / 2
    b_low, b_high = b[..., :2] - b[..., 2:] / 2, b[..., :2] + b[..., 2:] / 2
    shared = (torch.minimum(a_high, b_high) - torch.maximum(a_low, b_low)).clamp(min=0).prod(-1)
    area = a[..., 2] * (a[..., 3] + eps) + b[..., 2] * (b[..., 3] + eps)
    hull = torch.maximum(a_high, b_high) - torch.minimum(a_low, b_low)
    return shared / (area - shared + eps), (hull ** 2).sum(-1) + eps


def ciou(a, b, eps=1e-7):
    iou, diagonal = overlap(a, b, eps)
    distance = ((a[..., :2] - b[..., :2]) ** 2).sum(-1)
    angle = torch.atan(b[..., 2] / (b[..., 3] + 2 * eps)) - torch.atan(a[..., 2] / (a[..., 3] + 2 * eps))
    v = 4 / math.pi ** 2 * angle ** 2
    alpha = (v / (v - iou + 1 + eps)).detach()
    return iou - distance / diagonal - alpha * v


def near(truth, anchors, side, reach):
    """Cells (anchor, row, column) that may answer for a box: its own, and neighbours it reaches over to."""
    x, y = float(truth[2]) * side, float(truth[3]) * side
    found = []
    for dx, dy, border in ((0, 0, None), (-1, 0, x), (0, -1, y), (1, 0, side - x), (0, 1, side - y)):
        if border is not None and not (border > 1 and border % 1 < reach):
            continue
        column, row = min(int(x + dx * reach), side - 1), min(int(y + dy * reach), side - 1)
        for a, anchor in enumerate(anchors):
            sides = [float(truth[4]) * side / anchor[0], float(truth[5]) * side / anchor[1]]
            if max(max(r, 1 / r) for r in sides) < 4:
                found.append((a, row, column))
    return found


class Detector:
    def __init__(self, anchors, n_classes, size, smoothing, auxiliary):
        self.strides = [8 << i for i in range(len(anchors))]
        self.anchors = [[(w / s, h / s) for w, h in level] for level, s in zip(anchors, self.strides)]
        self.n_classes, self.size, self.smoothing, self.auxiliary = n_classes, size, smoothing, auxiliary
        self.balance = [4, 1, 0.4] if len(anchors) == 3 else [4, 1, 0.25, 0.06]
        levels = 3 / len(anchors)
        self.gains = [0.05 * levels, 0.7 * (size / 640) ** 2 * levels, 0.3 * n_classes / 80 * levels]

    def pixel(self, head, image, anchor, row, column):
        width = 5 + self.n_classes
        return head[image, anchor * width:(anchor + 1) * width, row, column]

    def box(self, raw, level, anchor):
        """In grid units, relative to the cell."""
        s = raw[:4].sigmoid()
        return torch.cat([2 * s[:2] - 0.5, (2 * s[2:]) ** 2 * torch.tensor(self.anchors[level][anchor])])

    def assign(self, heads, targets, image, reach):
        """(level, anchor, row, column, truth) of each prediction that has to answer for a box of this image."""
        truths = targets[targets[:, 0] == image]
        cells = []
        for level in range(len(self.anchors)):
            side = heads[level].shape[2]
            found = [near(t, self.anchors[level], side, reach) for t in truths]
            cells += [(level,) + cell for one in found for cell in one]
        if not cells:
            return []
        raws = [self.pixel(heads[c[0]], image, *c[1:]).detach() for c in cells]
        boxes = torch.stack([(self.box(raw, c[0], c[1]) + torch.tensor([c[3], c[2], 0., 0.])) * self.strides[c[0]]
                             for raw, c in zip(raws, cells)])
        raws = torch.stack(raws)
        iou = overlap(truths[:, None, 2:] * self.size, boxes[None])[0]
        y = (raws[:, 4:5].sigmoid() * raws[:, 5:].sigmoid()).sqrt()
        wrong = -torch.log1p(-y)
        mine = truths[:, 1].long()
        cost = (wrong.sum(1) - wrong.T[mine] - y.log().T[mine]) - 3 * torch.log(iou + 1e-8)
        best = iou.sort(dim=1, descending=True)[0][:, :20 if self.auxiliary else 10].sum(1)
        taken = torch.zeros_like(cost, dtype=torch.bool)
        for t in range(len(truths)):
            taken[t, cost[t].sort(stable=True)[1][:max(1, int(best[t]))]] = True
        matches = []
        for c, cell in enumerate(cells):
            owners = taken[:, c].nonzero().flatten().tolist()
            if owners:
                matches.append(cell + (truths[owners[0] if len(owners) == 1 else int(cost[:, c].argmin())],))
        return matches

    def head_terms(self, head, level, matches):
        """Box, objectness and class terms; matches are (image, anchor, row, column, truth)."""
        n_images, _, side, _ = head.shape
        wanted = torch.zeros(n_images, 3, side, side)
        box = classes = torch.zeros(())
        for image, anchor, row, column, truth in matches:
            raw = self.pixel(head, image, anchor, row, column)
            goal = torch.cat([truth[2:4] * side - torch.tensor([column, row]), truth[4:] * side])
            agreement = ciou(self.box(raw, level, anchor), goal)
            box = box + (1 - agreement) / len(matches)
            wanted[image, anchor, row, column] = agreement.detach().clamp(min=0)
            if self.n_classes > 1:
                goal = torch.full((self.n_classes,), self.smoothing / 2)
                goal[int(truth[1])] = 1 - self.smoothing / 2
                classes = classes + bce(raw[5:], goal) / len(matches)
        objectness = bce(head.view(n_images, 3, -1, side, side)[:, :, 4], wanted)
        return box, objectness * self.balance[level], classes

    def loss(self, heads, targets):
        n_images, n_levels = heads[0].shape[0], len(self.anchors)
        parts, n_matches = [torch.zeros(())] * 3, 0
        for first, reach, weight in ((0, 0.5, 1), (n_levels, 1, 0.25))[:len(heads) // n_levels]:
            matches = [(i,) + m for i in range(n_images) for m in self.assign(heads, targets, i, reach)]
            n_matches += len(matches) if first == 0 else 0
            for level in range(n_levels):
                own = [(m[0],) + m[2:] for m in matches if m[1] == level]
                terms = self.head_terms(heads[first + level], level, own)
                parts = [p + weight * t for p, t in zip(parts, terms)]
        parts = [p * g for p, g in zip(parts, self.gains)]
        return sum(parts) * n_images, parts, n_matches


def numbers(values):
    return ' '.join(f'{float(v):.17g}' for v in values)


def main():
    here = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
    path = sys.argv[1] if len(sys.argv) > 1 else os.path.join(here, 'tests', 'golden', 'yolo_loss.txt')
    out = [f'# torch {torch.__version__}, float64; made by tools/reference_yolo_loss.py']
    for case, (name, (n_images, n_classes, auxiliary, size, smoothing, n_rows)) in enumerate(CASES.items()):
        heads = make_heads(case, n_images, n_classes, auxiliary, size)
        detector = Detector(P6 if auxiliary else P5, n_classes, size, smoothing, auxiliary)
        loss, parts, n_matches = detector.loss(heads, make_targets(case, n_images, n_classes, n_rows))
        loss.backward()
        out.append(f'case {case} {n_images} {n_classes} {int(auxiliary)} {size} {smoothing} {n_rows} # {name}')
        out.append(f'loss {numbers([loss] + parts)} {n_matches}')
        for k, head in enumerate(heads):
            g = head.grad.numpy().ravel()
            out.append(f'grad {k} ' + numbers([np.linalg.norm(g), g @ uniform(10000 + k, g.size), np.abs(g).max()]))
        print(f'{name}: loss {float(loss):.6f}, {n_matches} matches')
    with open(path, 'w', encoding='utf-8') as f:
        f.write('\n'.join(out) + '\n')


if __name__ == '__main__':
    main()
