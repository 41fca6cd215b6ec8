"""Pcodec, told the dtype; BF16, which it does not know, goes as uint16.

Without deltas and modes, which find nothing in such contents and only take time.
"""

from functools import partial

import numpy as np
from benchmarks.codecs.coder import Coder, Settings, Values
from pcodec import ChunkConfig, DeltaSpec, ModeSpec, standalone


def _coder(like: Values, level: int) -> Coder:
    how = ChunkConfig(level, mode_spec=ModeSpec.classic(), delta_spec=DeltaSpec.no_op())
    values = np.empty_like(like)

    def decode(stream: bytes) -> Values:
        standalone.simple_decompress_into(stream, values)
        return values

    return Coder(lambda values: standalone.simple_compress(values, how), decode)


SETTINGS: Settings = {f"level {level}": partial(_coder, level=level) for level in (4, 8)}
