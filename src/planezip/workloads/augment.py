"""Random crops and flips: the standard augmentation for training on ImageNet (paper IV)."""

import math

import numpy as np
from PIL import Image

_AREA = (0.08, 1.0)
_ASPECT = (3 / 4, 4 / 3)
_ATTEMPTS = 10

Box = tuple[int, int, int, int]
"""Left, upper, right and lower edge in pixels."""


def random_resized_crop(
    image: Image.Image, pixels: int, random: np.random.Generator
) -> Image.Image:
    """A random part of the image, scaled bilinearly to a square of `pixels`."""
    box = random_box(image.width, image.height, random)
    return image.resize((pixels, pixels), Image.Resampling.BILINEAR, box=box)


def random_box(width: int, height: int, random: np.random.Generator) -> Box:
    """A box of 8 to 100 % of the area with an aspect ratio between 3:4 and 4:3.

    Both are drawn again if the box does not fit, and after ten attempts it is the largest centred
    box of a permitted aspect ratio.
    """
    for _ in range(_ATTEMPTS):
        area = width * height * random.uniform(*_AREA)
        aspect = math.exp(random.uniform(math.log(_ASPECT[0]), math.log(_ASPECT[1])))
        w, h = round(math.sqrt(area * aspect)), round(math.sqrt(area / aspect))
        if 0 < w <= width and 0 < h <= height:
            return _box(
                int(random.integers(width - w + 1)), int(random.integers(height - h + 1)), w, h
            )
    w = max(1, min(width, round(height * _ASPECT[1])))
    h = max(1, min(height, round(width / _ASPECT[0])))
    return _box((width - w) // 2, (height - h) // 2, w, h)


def flip_or_not(image: Image.Image, random: np.random.Generator) -> Image.Image:
    """The image mirrored left to right in half of the cases."""
    if random.random() < 0.5:
        return image.transpose(Image.Transpose.FLIP_LEFT_RIGHT)
    return image


def _box(left: int, upper: int, width: int, height: int) -> Box:
    return left, upper, left + width, upper + height
