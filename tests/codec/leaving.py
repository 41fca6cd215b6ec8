"""Run as a program: the interpreter ends while daemon threads are in the engine.

Does so in one forked child after the other, in which the engine's own threads start anew; all must
end as if no thread was left.
"""

import os
import sys
import threading
import time

import numpy as np

import planezip

CHILDREN = 24
CONTENTS = np.maximum(np.random.default_rng(0).standard_normal(1 << 20, np.float32), 0)
CONTENTS = np.tile(CONTENTS, 16)
STREAM = planezip.compress(CONTENTS, threads=2)


def work(threads: int) -> None:
    while True:
        planezip.compress(CONTENTS, threads=threads)
        planezip.decompress(STREAM, threads=threads)
        planezip.compressed_size(CONTENTS, threads=threads)


for child in range(CHILDREN):
    if os.fork() == 0:
        for number in range(3):
            threading.Thread(target=work, args=(1 + (child + number) % 2,), daemon=True).start()
        time.sleep(child * 0.004)
        sys.exit()
    assert os.wait()[1] == 0
print("passed")
