#!/usr/bin/env python3
"""Decoding, resizing and normalising against Pillow and numpy, live: the same pixels from JPEGs of every subsampling, and
views within 1/255 on average. Usage: compare_with_pillow.py DUMP_VIEW [IMAGE...]; without images it draws some."""
import os
import subprocess
import sys
import tempfile

try:
    import numpy as np
    from PIL import Image
except ImportError as e:
    print(f'needs Pillow and numpy: {e}')
    sys.exit(77)

MEAN, DEVIATION = np.array([0.485, 0.456, 0.406]), np.array([0.229, 0.224, 0.225])


def draw_images(folder):
    rng = np.random.default_rng(1)
    paths = []
    for i, (width, height) in enumerate([(320, 240), (241, 333), (64, 64), (32, 32), (500, 130)]):
        coarse = rng.integers(0, 256, (9, 9, 3), dtype=np.uint8)
        image = Image.fromarray(coarse).resize((width, height), Image.BICUBIC)
        noisy = np.clip(np.asarray(image).astype(int) + rng.integers(-12, 13, (height, width, 3)), 0, 255)
        paths.append(os.path.join(folder, f'{i}.jpg'))
        Image.fromarray(noisy.astype(np.uint8)).save(paths[-1], quality=90, subsampling=i % 3, progressive=i == 1)
    return paths


def dump(program, path, size, augment, draw, least=0):
    out = subprocess.run([program, path, str(size), augment, str(draw), str(least)], stdout=subprocess.PIPE, check=True).stdout
    line, rest = out.split(b'\n', 1)
    x, y, w, h, mirror, width, height = (float(v) for v in line.split())
    n = 3 * int(width) * int(height)
    pixels = np.frombuffer(rest[:n], np.uint8).reshape(int(height), int(width), 3)
    return (x, y, w, h), bool(mirror), pixels, np.frombuffer(rest[n:], np.float32).reshape(3, size, size)


def expected(image, box, mirror, size):
    """As torchvision does it: crop and resize, mirror, to [0, 1], normalise. Pillow refuses a box that is larger than the
    image by a rounding error."""
    x, y, w, h = box
    right, bottom = min(x + w, image.width), min(y + h, image.height)
    small = image.resize((size, size), Image.BILINEAR, box=(max(x, 0), max(y, 0), right, bottom))
    levels = np.asarray(small).astype(np.float64) / 255
    if mirror:
        levels = levels[:, ::-1]
    return ((levels - MEAN) / DEVIATION).transpose(2, 0, 1)


def levels_off(a, b):
    return np.abs(a - b) * DEVIATION[:, None, None] * 255


def main():
    program, paths = sys.argv[1], sys.argv[2:]
    worst_mean, worst, reduced, views = 0.0, 0.0, [], 0
    with tempfile.TemporaryDirectory() as folder:
        for path in paths or draw_images(folder):
            image = Image.open(path).convert('RGB')
            for augment, draw in (('none', 0), ('crop', 1), ('crop', 2), ('crop', 3)):
                for size in (32, 100, 224):
                    box, mirror, pixels, view = dump(program, path, size, augment, draw)
                    if not np.array_equal(pixels, np.asarray(image)):
                        print(f'{path}: other pixels than Pillow decodes')
                        return 1
                    want = expected(image, box, mirror, size)
                    off = levels_off(view, want)
                    views += 1
                    worst_mean, worst = max(worst_mean, off.mean()), max(worst, off.max())
                    if paths and augment == 'none':  # what decoding at a fraction changes
                        for gap in (1, 2):
                            small = dump(program, path, size, augment, draw, gap * size)
                            if small[2].shape != pixels.shape:
                                reduced.append((gap, levels_off(small[3], want).mean()))
    print(f'{views} views: at worst {worst_mean:.3f} grey levels off on average, {worst:.3f} in one pixel')
    for gap in (1, 2):
        means = [m for g, m in reduced if g == gap]
        if means:
            print(f'decoded at a fraction that is still {gap} times the view: {np.mean(means):.2f} levels off on average, '
                  f'{max(means):.2f} in the worst of {len(means)} views')
    if worst_mean > 1 or worst > 2.5:
        print('that is too much')
        return 1
    return 0


if __name__ == '__main__':
    sys.exit(main())
