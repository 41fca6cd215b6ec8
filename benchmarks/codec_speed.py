"""How fast the native engine encodes, decodes and sizes activations of ResNet-50, beside memcpy.

    python benchmarks/codec_speed.py

The contents are 64 MiB of the convolution and of the ReLU outputs of a training-mode forward pass
of a randomly initialised ResNet-50 on crops of scikit-learn's sample photographs: the front of
every output, in equal shares. All codecs run on the fastest level and one thread; the planezip
codec on every level that the machine has, on one thread and on two.

A control says what two threads can gain here at all: how memcpy, and work that stays in the
registers, scale from one thread to two in the same minutes.

Speeds are GB of uncompressed bytes a second of wall time, the median of five runs: they mean
something only if nothing else runs. They are the engine's own, without preamble and checksum; what
a whole call takes shows in small.csv, for contents of 4 KiB through the Python interface. Writes
codec_speed.csv, scaling.csv, small.csv and the machine's description beside them.
"""

import hashlib
import statistics
import time
import timeit
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import astuple, dataclass, fields
from functools import partial
from pathlib import Path

import numpy as np
import timm
import torch
from sklearn.datasets import load_sample_images
from torch import nn

from planezip import _native, compress, compress_bound, decompress
from planezip.codec import CODECS, levels
from planezip.records import to_json, write_atomically
from planezip.report.csvs import write_csv
from planezip.report.machine import this_machine

HERE = Path(__file__).parent
REPEATS = 5
CONTENTS_BYTES = 64 << 20
PRECISIONS = {"bf16": 16, "fp32": 32}
OPERATORS = {"conv": nn.Conv2d, "relu": nn.ReLU}


@dataclass(frozen=True, slots=True)
class Row:
    """Speeds in GB/s; measure sizes all six codecs in one pass."""

    level: str
    threads: int
    contents: str
    precision: str
    codec: str
    ratio: float
    encode_gb_s: float
    decode_gb_s: float
    size_gb_s: float
    measure_gb_s: float
    memcpy_gb_s: float


@dataclass(frozen=True, slots=True)
class Scaling:
    """How many times as much two threads do in the same wall time as one."""

    work: str
    two_over_one: float


@dataclass(frozen=True, slots=True)
class Small:
    """Microseconds of one call on 4 KiB of contents, on the fastest level."""

    contents: str
    into_out: bool
    compress_us: float
    decompress_us: float


def main() -> None:
    rows = []
    controls, calls = scaling(), small()
    print(*(f.name for f in fields(Row)), sep="\t")
    for (operator, precision), data in activations().items():
        for row in speeds(operator, precision, data):
            rows.append(row)
            cells = (f"{v:.2f}" if isinstance(v, float) else v for v in astuple(row))
            print(*cells, sep="\t", flush=True)
    folder = HERE / "results" / this_machine().slug
    write_csv(folder / "codec_speed.csv", Row, rows)
    write_csv(folder / "scaling.csv", Scaling, controls)
    write_csv(folder / "small.csv", Small, calls)
    write_atomically(folder / "machine.json", to_json(this_machine()))


def small() -> list[Small]:
    """Whole calls on 4 KiB of normal FP32 values, held in every way."""
    values = np.random.default_rng(0).standard_normal(1024).astype(np.float32)
    contents = {
        "NumPy": (values, np.empty_like(values)),
        "bytes": (values.tobytes(), bytearray(values.nbytes)),
        "torch": (torch.from_numpy(values.copy()), torch.empty(1024)),
    }
    memory = bytearray(compress_bound(values.nbytes))
    rows = []
    for name, (x, back) in contents.items():
        stream = compress(x)
        runs: dict[bool, tuple[Callable[[], object], Callable[[], object]]] = {
            False: (partial(compress, x), partial(decompress, stream)),
            True: (partial(compress, x, out=memory), partial(decompress, stream, out=back)),
        }
        for into_out, (encode, decode) in runs.items():
            rows.append(Small(name, into_out, _call_us(encode), _call_us(decode)))
            print("4 KiB of", *astuple(rows[-1]), sep="\t", flush=True)
    return rows


def _call_us(run: Callable[[], object]) -> float:
    """Median over many rounds of what a call takes."""
    rounds = timeit.repeat(run, number=1000, repeat=101)
    return statistics.median(rounds) * 1e6 / 1000


def scaling() -> list[Scaling]:
    """Of work that needs no memory, and of memcpy in and beyond the caches."""
    hashed = bytes(1 << 16)
    runs: dict[str, Callable[[], Callable[[], object]]] = {
        "registers": lambda: lambda: hashlib.pbkdf2_hmac("sha256", b"", hashed, 200_000),
        "memcpy, 256 KiB": lambda: _copies(1 << 18),
        "memcpy, 64 MiB": lambda: _copies(CONTENTS_BYTES),
    }
    found = []
    for name, make in runs.items():
        mine, other = make(), make()
        one = _wall_s([mine])
        found.append(Scaling(name, 2 * one / _wall_s([mine, other])))
        print("two threads over one,", name, f"{found[-1].two_over_one:.2f}", sep="\t", flush=True)
    return found


def _copies(size: int) -> Callable[[], object]:
    """Copies of 2 GiB in all, in memory of its own."""
    source, target = np.ones(size, np.uint8), np.ones(size, np.uint8)

    def run() -> None:
        for _ in range((2 << 30) // size):
            np.copyto(target, source)

    return run


def _wall_s(runs: list[Callable[[], object]]) -> float:
    """Median of the seconds that they take side by side, each on a thread."""
    seconds = []
    with ThreadPoolExecutor(len(runs)) as pool:
        for _ in range(REPEATS):
            start = time.perf_counter()
            list(pool.map(lambda run: run(), runs))
            seconds.append(time.perf_counter() - start)
    return statistics.median(seconds)


def photographs(count: int, size: int) -> torch.Tensor:
    """Crops of the two photographs, normalised as for ImageNet: (count, 3, size, size)."""
    rng = np.random.default_rng(0)
    images = load_sample_images().images
    crops = []
    for i in range(count):
        image = images[i % len(images)]
        top, left = (rng.integers(0, side - size) for side in image.shape[:2])
        crops.append(image[top : top + size, left : left + size])
    pixels = torch.from_numpy(np.stack(crops)).permute(0, 3, 1, 2).float() / 255
    mean, deviation = torch.tensor([[0.485, 0.456, 0.406], [0.229, 0.224, 0.225]])
    return (pixels - mean.view(3, 1, 1)) / deviation.view(3, 1, 1)


def activations() -> dict[tuple[str, str], np.ndarray]:
    """(Operator, precision) -> CONTENTS_BYTES of its outputs."""
    torch.manual_seed(0)
    # Else timm starts the last normalisation of every residual branch with a scale of 0: all zeros.
    model = timm.create_model("resnet50", zero_init_last=False).train()
    outputs: dict[str, list[torch.Tensor]] = {name: [] for name in OPERATORS}
    for module in model.modules():
        for name, kind in OPERATORS.items():
            if isinstance(module, kind):
                module.register_forward_hook(
                    lambda _module, _inputs, output, kept=outputs[name]: kept.append(output.clone())
                )
    with torch.no_grad():
        model(photographs(8, 224))
    return {
        (name, precision): _front(kept, precision)
        for name, kept in outputs.items()
        for precision in PRECISIONS
    }


def _front(outputs: list[torch.Tensor], precision: str) -> np.ndarray:
    values = 8 * CONTENTS_BYTES // PRECISIONS[precision]
    share = values / sum(output.numel() for output in outputs)
    fronts = [output.flatten()[: int(output.numel() * share) & ~2047] for output in outputs]
    front = torch.cat(fronts)
    stored = front.bfloat16() if precision == "bf16" else front
    return stored.view(torch.uint8).numpy()


def speeds(contents: str, precision: str, data: np.ndarray) -> Iterator[Row]:
    """The rows of one kind of contents."""
    for i, level in enumerate(levels.levels()):
        for threads in (1, 2):
            for codec in CODECS if (i, threads) == (0, 1) else ("planezip",):
                with levels.use_level(level):
                    yield Row(
                        level,
                        threads,
                        contents,
                        precision,
                        codec,
                        *measured(data, PRECISIONS[precision], codec, threads),
                    )


def measured(data: np.ndarray, width: int, codec: str, threads: int) -> tuple[float, ...]:
    """Ratio and speeds, in the order of Row."""
    number = CODECS.index(codec)
    scratch = np.zeros(_native.encode_bound(data.nbytes), np.uint8)
    out = np.zeros_like(data)
    size = _native.encode(data, number, width, threads, scratch)
    stream = scratch[:size]

    def encode() -> None:
        _native.encode(data, number, width, threads, scratch)

    def decode() -> None:
        _native.decode(stream, number, width, threads, out)

    def size_only(codecs: int) -> None:
        _native.measure(data, width, codecs, 1, threads)

    runs = (
        encode,
        decode,
        lambda: size_only(1 << number),
        lambda: size_only((1 << len(CODECS)) - 1),
    )
    found = tuple(gb_s(data, run) for run in runs)
    if not np.array_equal(out, data):
        raise SystemExit(f"{codec} does not restore what it encoded")
    return data.nbytes / size, *found, gb_s(data, lambda: np.copyto(out, data))


def gb_s(data: np.ndarray, run: Callable[[], object]) -> float:
    """Speed of `run` on `data`: the median of REPEATS, after one run to warm up."""
    run()
    seconds = []
    for _ in range(REPEATS):
        start = time.perf_counter()
        run()
        seconds.append(time.perf_counter() - start)
    return data.nbytes / statistics.median(seconds) / 1e9


if __name__ == "__main__":
    main()
