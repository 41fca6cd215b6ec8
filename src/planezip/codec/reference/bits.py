"""Bit strings, least significant bit first: bit k is bit k % 8 of byte k // 8."""

from planezip.errors import CorruptStreamError


class BitWriter:
    """Grows a bit string at its end."""

    def __init__(self) -> None:
        self.value = 0
        self.count = 0

    def number(self, value: int, bits: int) -> None:
        """Append a field, least significant bit first."""
        self.value |= (value & ((1 << bits) - 1)) << self.count
        self.count += bits

    def code(self, code: str) -> None:
        """Append a prefix code, in the order in which it is printed."""
        self.number(int(code[::-1], 2), len(code))

    def append(self, other: "BitWriter") -> None:
        self.number(other.value, other.count)

    def to_bytes(self) -> bytes:
        """The bits, padded with zeros to whole bytes."""
        return self.value.to_bytes((self.count + 7) // 8, "little")


class BitReader:
    """Takes a bit string apart from its front; CorruptStreamError at its end."""

    def __init__(self, data: bytes) -> None:
        self.value = int.from_bytes(data, "little")
        self.left = 8 * len(data)

    def number(self, bits: int) -> int:
        """Take a field off."""
        if bits > self.left:
            raise CorruptStreamError("a block goes past the end of its chunk")
        field = self.value & ((1 << bits) - 1)
        self.value >>= bits
        self.left -= bits
        return field

    def code(self, codes: tuple[str, ...]) -> str:
        """Take off whichever of these prefix codes comes next; together they are complete."""
        taken = ""
        while taken not in codes:
            taken += str(self.number(1))
        return taken
