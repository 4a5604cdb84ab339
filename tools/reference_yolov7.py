"""YOLOv7, YOLOv7-tiny and YOLOv7-W6 (Wang, Bochkovskiy and Liao, CVPR 2023) in PyTorch, to compare with.

Modules have the names of the public state dicts, so these models load published weights. Written anew from the paper and
the networks' published structure, for training: forward() gives the raw predictions.
"""
import math

import torch
from torch import nn

ANCHORS = {
    'yolov7': [[12, 16, 19, 36, 40, 28], [36, 75, 76, 55, 72, 146], [142, 110, 192, 243, 459, 401]],
    'yolov7_tiny': [[10, 13, 16, 30, 33, 23], [30, 61, 62, 45, 59, 119], [116, 90, 156, 198, 373, 326]],
    'yolov7_w6': [[19, 27, 44, 40, 38, 94], [96, 68, 86, 152, 180, 137], [140, 301, 303, 264, 238, 542],
                  [436, 615, 739, 380, 925, 792]],
}


def norm(channels):
    return nn.BatchNorm2d(channels, eps=1e-3, momentum=0.03)


class Conv(nn.Module):
    def __init__(self, inputs, outputs, kernel, stride, act):
        super().__init__()
        self.conv = nn.Conv2d(inputs, outputs, kernel, stride, kernel // 2, bias=False)
        self.bn = norm(outputs)
        self.act = act()

    def forward(self, x):
        return self.act(self.bn(self.conv(x)))


class Concat(nn.Module):
    def forward(self, *parts):
        return torch.cat(parts, 1)


class ReOrg(nn.Module):
    def forward(self, x):
        return torch.cat([x[:, :, row::2, column::2] for column in (0, 1) for row in (0, 1)], 1)


class SPPCSPC(nn.Module):
    def __init__(self, inputs, width, act):
        super().__init__()
        ends = [inputs, inputs, width, width, 4 * width, width, 2 * width]
        for i, (n, kernel) in enumerate(zip(ends, (1, 1, 3, 1, 1, 3, 1))):
            self.add_module(f'cv{i + 1}', Conv(n, width, kernel, 1, act))

    def forward(self, x):
        a = self.cv4(self.cv3(self.cv1(x)))
        pooled = [nn.functional.max_pool2d(a, k, 1, k // 2) for k in (5, 9, 13)]
        a = self.cv6(self.cv5(torch.cat([a, *pooled], 1)))
        return self.cv7(torch.cat([a, self.cv2(x)], 1))


class RepConv(nn.Module):
    def __init__(self, inputs, outputs, act):
        super().__init__()
        self.rbr_dense = nn.Sequential(nn.Conv2d(inputs, outputs, 3, 1, 1, bias=False), norm(outputs))
        self.rbr_1x1 = nn.Sequential(nn.Conv2d(inputs, outputs, 1, bias=False), norm(outputs))
        self.act = act()

    def forward(self, x):
        return self.act(self.rbr_dense(x) + self.rbr_1x1(x))


class Implicit(nn.Module):
    def __init__(self, channels, mean):
        super().__init__()
        self.implicit = nn.Parameter(torch.normal(mean, 0.02, (1, channels, 1, 1)))


class Detect(nn.Module):
    def __init__(self, classes, anchors, inputs):
        super().__init__()
        self.levels = len(anchors)
        self.strides = [8 << i for i in range(self.levels)]
        pixels = torch.tensor(anchors, dtype=torch.float32).view(self.levels, 3, 2)
        self.register_buffer('anchors', pixels / torch.tensor(self.strides).view(-1, 1, 1))
        self.register_buffer('anchor_grid', pixels.view(self.levels, 1, 3, 1, 1, 2))
        outputs = 3 * (5 + classes)
        self.m = nn.ModuleList(nn.Conv2d(n, outputs, 1) for n in inputs[:self.levels])
        if len(inputs) > self.levels:
            self.m2 = nn.ModuleList(nn.Conv2d(n, outputs, 1) for n in inputs[self.levels:])
        self.ia = nn.ModuleList(Implicit(n, 0.0) for n in inputs[:self.levels])
        self.im = nn.ModuleList(Implicit(outputs, 1.0) for _ in range(self.levels))
        for convs in [self.m] + ([self.m2] if len(inputs) > self.levels else []):
            for conv, stride in zip(convs, self.strides):
                with torch.no_grad():
                    bias = conv.bias.view(3, -1)
                    bias[:, 4] += math.log(8 / (640 / stride) ** 2)
                    bias[:, 5:] += math.log(0.6 / (classes - 0.99))

    def forward(self, *x):
        heads = [im.implicit * m(x[i] + ia.implicit) for i, (m, ia, im) in enumerate(zip(self.m, self.ia, self.im))]
        return heads + [m(y) for m, y in zip(getattr(self, 'm2', []), x[self.levels:])]


class Network(nn.Module):
    """Layers by number: each a module and the numbers of those it reads (-1 is the image)."""

    def __init__(self, name, classes):
        super().__init__()
        self.model, self.sources, self.channels = nn.ModuleList(), [], {-1: 3}
        self.act = (lambda: nn.LeakyReLU(0.1)) if name == 'yolov7_tiny' else nn.SiLU
        heads = getattr(self, name)()
        self.add(Detect(classes, ANCHORS[name], [self.channels[i] for i in heads]), heads, None)

    def add(self, module, sources, channels):
        self.model.append(module)
        self.sources.append(sources)
        self.channels[len(self.sources) - 1] = channels
        return len(self.sources) - 1

    def conv(self, x, channels, kernel=1, stride=1):
        return self.add(Conv(self.channels[x], channels, kernel, stride, self.act), [x], channels)

    def cat(self, *parts):
        return self.add(Concat(), parts, sum(self.channels[i] for i in parts))

    def pool(self, x, kernel=2):
        same = {} if kernel == 2 else {'stride': 1, 'padding': kernel // 2}
        return self.add(nn.MaxPool2d(kernel, **same), [x], self.channels[x])

    def elan(self, x, width, inner, depth, every, out):
        one = self.conv(x, width)
        chain = [self.conv(x, width)]
        for _ in range(depth):
            chain.append(self.conv(chain[-1], inner, 3))
        return self.conv(self.cat(*chain[::-every], one), out)

    def down(self, x, channels, *also):
        pooled = self.conv(self.pool(x), channels)
        return self.cat(self.conv(self.conv(x, channels), channels, 3, 2), pooled, *also)

    def up(self, x, route, channels):
        x = self.conv(x, channels)
        x = self.add(nn.Upsample(scale_factor=2, mode='nearest'), [x], channels)
        return self.cat(self.conv(route, channels), x)

    def yolov7(self):
        x = self.conv(self.conv(self.conv(self.conv(-1, 32, 3), 64, 3, 2), 64, 3), 128, 3, 2)
        x = self.elan(x, 64, 64, 4, 2, 256)
        p3 = self.elan(self.down(x, 128), 128, 128, 4, 2, 512)
        p4 = self.elan(self.down(p3, 256), 256, 256, 4, 2, 1024)
        p5 = self.elan(self.down(p4, 512), 256, 256, 4, 2, 1024)
        p5 = self.add(SPPCSPC(1024, 512, self.act), [p5], 512)
        p4 = self.elan(self.up(p5, p4, 256), 256, 128, 4, 1, 256)
        p3 = self.elan(self.up(p4, p3, 128), 128, 64, 4, 1, 128)
        p4 = self.elan(self.down(p3, 128, p4), 256, 128, 4, 1, 256)
        p5 = self.elan(self.down(p4, 256, p5), 512, 256, 4, 1, 512)
        return [self.add(RepConv(self.channels[p], c, self.act), [p], c) for p, c in ((p3, 256), (p4, 512), (p5, 1024))]

    def yolov7_tiny(self):
        x = self.elan(self.conv(self.conv(-1, 32, 3, 2), 64, 3, 2), 32, 32, 2, 1, 64)
        p3 = self.elan(self.pool(x), 64, 64, 2, 1, 128)
        p4 = self.elan(self.pool(p3), 128, 128, 2, 1, 256)
        p5 = self.elan(self.pool(p4), 256, 256, 2, 1, 512)
        plain = self.conv(p5, 256)
        x = self.conv(p5, 256)
        x = self.conv(self.cat(*[self.pool(x, k) for k in (5, 9, 13)][::-1], x), 256)
        p5 = self.conv(self.cat(x, plain), 256)
        p4 = self.elan(self.up(p5, p4, 128), 64, 64, 2, 1, 128)
        p3 = self.elan(self.up(p4, p3, 64), 32, 32, 2, 1, 64)
        p4 = self.elan(self.cat(self.conv(p3, 128, 3, 2), p4), 64, 64, 2, 1, 128)
        p5 = self.elan(self.cat(self.conv(p4, 256, 3, 2), p5), 128, 128, 2, 1, 256)
        return [self.conv(p, c, 3) for p, c in ((p3, 128), (p4, 256), (p5, 512))]

    def yolov7_w6(self):
        x = self.conv(self.add(ReOrg(), [-1], 12), 64, 3)
        x = self.elan(self.conv(x, 128, 3, 2), 64, 64, 4, 2, 128)
        backbone, wide, narrow = [], (256, 512, 768, 1024), (128, 256, 384, 512)
        for c in wide:
            x = self.elan(self.conv(x, c, 3, 2), c // 2, c // 2, 4, 2, c)
            backbone.append(x)
        inner = [self.add(SPPCSPC(1024, 512, self.act), [x], 512)]
        for i in (2, 1, 0):
            c = narrow[i]
            inner.insert(0, self.elan(self.up(inner[0], backbone[i], c), c, c // 2, 4, 1, c))
        outer = [inner[0]]
        for i in (1, 2, 3):
            c = narrow[i]
            outer.append(self.elan(self.cat(self.conv(outer[-1], c, 3, 2), inner[i]), c, c // 2, 4, 1, c))
        return ([self.conv(p, c, 3) for p, c in zip(outer, wide)]
                + [self.conv(p, 320 * (i + 1), 3) for i, p in enumerate(inner)])

    def forward(self, images):
        values = {-1: images}
        for i, (module, sources) in enumerate(zip(self.model, self.sources)):
            values[i] = module(*[values[k] for k in sources])
        return values[len(self.sources) - 1]


class Probed(Network):
    """All predictions of an image brought to a few logits by one linear layer a head, so that every head's every number
    has a gradient of its own, and what tests and benchmarks do with classifiers they can do with detectors."""

    def __init__(self, name, classes, size, logits):
        super().__init__(name, classes)
        detect = self.model[-1]
        cells = [(size // s) ** 2 for s in detect.strides] * (2 if hasattr(detect, 'm2') else 1)
        self.probe = nn.ModuleList(nn.Linear(3 * (5 + classes) * n, logits, bias=False) for n in cells)

    def forward(self, images):
        return sum(probe(head.flatten(1)) for probe, head in zip(self.probe, super().forward(images)))
