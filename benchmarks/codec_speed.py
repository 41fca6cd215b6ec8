"""How fast one core encodes, decodes and sizes activations of ResNet-50, beside memcpy.

    python benchmarks/codec_speed.py

The contents are the convolution and ReLU outputs of a training-mode forward pass of a randomly
initialised ResNet-50 on crops of scikit-learn's sample photographs: the front of every output, in
equal shares. Speeds are GB of uncompressed bytes per second of CPU time on one thread, the median
of five runs. Writes codec_speed.csv and the machine's description beside it.
"""

import statistics
import time
from collections.abc import Callable
from dataclasses import astuple, dataclass, fields
from pathlib import Path

import numpy as np
import timm
import torch
from sklearn.datasets import load_sample_images
from torch import nn

from planezip import _native
from planezip.codec import CODECS, engine
from planezip.records import to_json, write_atomically
from planezip.report.csvs import write_csv
from planezip.report.machine import this_machine

HERE = Path(__file__).parent
REPEATS = 5
VALUES = 16 << 20  # of each operator: 32 MiB in BF16, 64 MiB in FP32
OPERATORS = {"conv": nn.Conv2d, "relu": nn.ReLU}


@dataclass(frozen=True, slots=True)
class Row:
    """Speeds in GB/s; measure sizes all six codecs in one pass."""

    contents: str
    precision: str
    codec: str
    ratio: float
    encode_gb_s: float
    decode_gb_s: float
    size_gb_s: float
    measure_gb_s: float
    memcpy_gb_s: float


def main() -> None:
    rows = []
    print(*(f.name for f in fields(Row)), sep="\t")
    for operator, values in activations().items():
        half = values.bfloat16().view(torch.uint8).numpy()
        for precision, width, data in (("bf16", 16, half), ("fp32", 32, values.numpy())):
            for row in speeds(operator, precision, width, data.view(np.uint8)):
                rows.append(row)
                cells = (f"{v:.2f}" if isinstance(v, float) else v for v in astuple(row))
                print(*cells, sep="\t", flush=True)
    folder = HERE / "results" / this_machine().slug
    write_csv(folder / "codec_speed.csv", Row, rows)
    write_atomically(folder / "machine.json", to_json(this_machine()))


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


def activations() -> dict[str, torch.Tensor]:
    """Operator -> VALUES of its outputs, FP32."""
    torch.manual_seed(0)
    model = timm.create_model("resnet50").train()
    outputs: dict[str, list[torch.Tensor]] = {name: [] for name in OPERATORS}
    for module in model.modules():
        for name, kind in OPERATORS.items():
            if isinstance(module, kind):
                module.register_forward_hook(
                    lambda _module, _inputs, output, kept=outputs[name]: kept.append(output.clone())
                )
    with torch.no_grad():
        model(photographs(8, 224))
    return {name: _front(kept) for name, kept in outputs.items()}


def _front(outputs: list[torch.Tensor]) -> torch.Tensor:
    share = VALUES / sum(output.numel() for output in outputs)
    fronts = [output.flatten()[: int(output.numel() * share) & ~2047] for output in outputs]
    return torch.cat(fronts)


def speeds(contents: str, precision: str, width: int, data: np.ndarray) -> list[Row]:
    """One row a codec."""
    out = np.empty_like(data)
    everything = (1 << len(CODECS)) - 1
    memcpy = gb_s(data, lambda: np.copyto(out, data))
    measure = gb_s(data, lambda: _native.measure(data, width, everything, 1, 1))
    rows = []
    for number, codec in enumerate(CODECS):
        stream = engine.encode(data, number, width, 1)
        encode = gb_s(data, lambda n=number: engine.encode(data, n, width, 1))
        decode = gb_s(data, lambda n=number, s=stream: _native.decode(s, n, width, 1, out))
        if not np.array_equal(out, data):
            raise SystemExit(f"{codec} does not restore the {contents} outputs")
        size = gb_s(data, lambda n=number: _native.measure(data, width, 1 << n, 1, 1))
        ratio = data.size / stream.size
        rows.append(Row(contents, precision, codec, ratio, encode, decode, size, measure, memcpy))
    return rows


def gb_s(data: np.ndarray, run: Callable[[], object]) -> float:
    """Speed of `run` on `data`: the median of REPEATS, after one run to warm up."""
    run()
    seconds = []
    for _ in range(REPEATS):
        start = time.process_time()
        run()
        seconds.append(time.process_time() - start)
    return data.nbytes / statistics.median(seconds) / 1e9


if __name__ == "__main__":
    main()
