"""A plot's SVG file as a part of a page."""

import re

_OUTSIDE = re.compile(r"<\?xml.*?\?>|<!DOCTYPE.*?>|<metadata>.*?</metadata>", re.DOTALL)
_STYLE = re.compile(r"<style.*?</style>", re.DOTALL)  # would hold for the whole page
_IDS = re.compile(r'(\bid="|url\(#|xlink:href="#)')
_SIZE = re.compile(r'width="([\d.]+)pt" height="([\d.]+)pt"')
_PIXELS_A_POINT = 4 / 3
_LEGIBLE = 0.55  # of its natural size; where there is less room, a reader scrolls


def inline_svg(data: bytes, name: str, label: str) -> str:
    """The drawing as one element that scales with the page.

    Args:
        name: set before the drawing's ids, so that they differ from those of other drawings.
        label: what it shows; must not hold markup.
    """
    text = _STYLE.sub("", _OUTSIDE.sub("", data.decode())).strip()
    width = int(float(_SIZE.search(text).group(1)) * _PIXELS_A_POINT)  # type: ignore[union-attr]
    sizes = f"max-width: {width}px; min-width: {int(_LEGIBLE * width)}px"
    text = _SIZE.sub(f'style="{sizes}" role="img" aria-label="{label}"', text, count=1)
    return re.sub(r"\n\s*", "\n", _IDS.sub(rf"\g<1>{name}-", text))
