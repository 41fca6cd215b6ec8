"""The state of torch that decides which bits an operator computes, taken and put back."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import NamedTuple

import torch


class Environment(NamedTuple):
    """Process-wide settings that kernels look at."""

    threads: int
    default_dtype: torch.dtype
    mkldnn: bool
    deterministic: bool
    warns_only: bool
    matmul_precision: str

    @classmethod
    def now(cls) -> "Environment":
        """The settings as they are."""
        return cls(
            torch.get_num_threads(),
            torch.get_default_dtype(),
            torch._C._get_mkldnn_enabled(),
            torch.are_deterministic_algorithms_enabled(),
            torch.is_deterministic_algorithms_warn_only_enabled(),
            torch.get_float32_matmul_precision(),
        )

    def apply(self) -> None:
        """Make them the settings."""
        torch.set_num_threads(self.threads)
        torch.set_default_dtype(self.default_dtype)
        torch._C._set_mkldnn_enabled(self.mkldnn)
        torch.use_deterministic_algorithms(self.deterministic, warn_only=self.warns_only)
        torch.set_float32_matmul_precision(self.matmul_precision)


@contextmanager
def restored(environment: Environment) -> Iterator[None]:
    """Run under the settings of the forward pass, and leave those that there are."""
    found = Environment.now()
    if found == environment:
        yield
        return
    environment.apply()
    try:
        yield
    finally:
        found.apply()
