"""The prefix code of planes, top plane first, each XORed with the plane above (paper III-A)."""

from planezip.codec.reference.bits import BitReader, BitWriter
from planezip.errors import CorruptStreamError

RUN, ZERO, ONES, PRE_XOR_ZERO = "01", "001", "00000", "00001"
SINGLE, PAIR, VERBATIM = "00011", "00010", "1"
CODES = (RUN, ZERO, ONES, PRE_XOR_ZERO, SINGLE, PAIR, VERBATIM)


def field_bits(values: int) -> int:
    """ceil(log2(values)): bits of a field that holds 0 ... values - 1."""
    return (values - 1).bit_length()


def write_planes(out: BitWriter, planes: list[int], width: int) -> None:
    """Append planes of `width` >= 1 bits; planes[b] has weight 2 ** b."""
    above = [*planes[1:], 0]
    left = [(d ^ up, d) for d, up in zip(planes, above, strict=True)]  # top plane last
    while left:
        x, d = left.pop()
        run = 1
        while x == 0 and left and left[-1][0] == 0:
            left.pop()
            run += 1
        if run >= 2:
            out.code(RUN)
            out.number(run - 2, field_bits(len(planes) - 1))
        else:
            _write_plane(out, x, d, width)


def _write_plane(out: BitWriter, x: int, d: int, width: int) -> None:
    """Append one plane x, which is d before the XOR, by the first code that fits."""
    lowest = (x & -x).bit_length() - 1
    if x == 0:
        out.code(ZERO)
    elif x == (1 << width) - 1:
        out.code(ONES)
    elif d == 0:
        out.code(PRE_XOR_ZERO)
    elif x == 1 << lowest:
        out.code(SINGLE)
        out.number(lowest, field_bits(width))
    elif x == 0b11 << lowest:
        out.code(PAIR)
        out.number(lowest, field_bits(width))
    else:
        out.code(VERBATIM)
        out.number(x, width)


def read_planes(source: BitReader, count: int, width: int) -> list[int]:
    """Take `count` planes of `width` >= 1 bits off; CorruptStreamError if a code is not valid."""
    downwards: list[int] = []
    while len(downwards) < count:
        above = downwards[-1] if downwards else 0
        code = source.code(CODES)
        if code == RUN:
            run = 2 + source.number(field_bits(count - 1))
            if len(downwards) + run > count:
                raise CorruptStreamError("a run of zero planes goes past the last plane")
            downwards += [above] * run
        elif code == PRE_XOR_ZERO:
            downwards.append(0)
        else:
            downwards.append(above ^ _read_plane(source, code, width))
    return downwards[::-1]


def _read_plane(source: BitReader, code: str, width: int) -> int:
    """The XORed plane behind one of the codes that stand for one."""
    if code == ZERO:
        return 0
    if code == ONES:
        return (1 << width) - 1
    if code == VERBATIM:
        return source.number(width)
    ones = 2 if code == PAIR else 1
    position = source.number(field_bits(width))
    if position + ones > width:
        raise CorruptStreamError("a position lies outside its plane")
    return ((1 << ones) - 1) << position
