"""Names in archives: the originals', but for those that are like the manifest's."""

import re

_ORIGINAL = ".original"


def escaped(name: str, reserved: str) -> str:
    """The name in an archive of what the original calls `name`, never `reserved` itself."""
    return name + _ORIGINAL if _taken(name, reserved) else name


def unescaped(name: str, reserved: str) -> str:
    """What the original calls `name`, any of an archive but `reserved`."""
    return name.removesuffix(_ORIGINAL) if _taken(name, reserved) else name


def _taken(name: str, reserved: str) -> bool:
    pattern = f"{re.escape(reserved)}({re.escape(_ORIGINAL)})*"
    return re.fullmatch(pattern, name) is not None
