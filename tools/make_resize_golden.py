#!/usr/bin/env python3
"""Writes tests/golden/resize.txt: parts of a picture as Pillow's antialiased bilinear filter resizes them.

The picture comes from a formula that tests/data/test_pillow.c knows too. Each case is a line "case left top width height
size", then size lines of hexadecimal RGB. Usage: tools/make_resize_golden.py > tests/golden/resize.txt
"""
import sys

try:
    import PIL
    from PIL import Image
except ImportError:
    print('make_resize_golden: no Pillow', file=sys.stderr)
    sys.exit(77)

WIDTH, HEIGHT = 97, 61
CASES = [(0, 0, 97, 61, 8), (18, 0, 61, 61, 32), (3.25, 4.5, 60.1, 50.75, 7), (40, 20, 9, 9, 32), (0, 0, 97, 61, 1),
         (60.5, 30.25, 36.5, 30.75, 24)]


def picture():
    image = Image.new('RGB', (WIDTH, HEIGHT))
    image.putdata([tuple((x * x * (c + 3) + y * y * 7 + x * y * (5 - c) + 40 * c + (x ^ y) * 11) // 3 % 256 for c in range(3))
                   for y in range(HEIGHT) for x in range(WIDTH)])
    return image


def main():
    image = picture()
    print(f'# Pillow {PIL.__version__}, resize((size, size), BILINEAR, box)')
    for left, top, width, height, size in CASES:
        small = image.resize((size, size), Image.BILINEAR, box=(left, top, left + width, top + height))
        print(f'case {left} {top} {width} {height} {size}')
        data = small.tobytes()
        for y in range(size):
            print(data[3 * size * y:3 * size * (y + 1)].hex())
    return 0


if __name__ == '__main__':
    sys.exit(main())
