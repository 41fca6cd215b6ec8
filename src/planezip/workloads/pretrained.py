"""Trained weights from the Hugging Face hub or its cache, or a quick and clear refusal."""

from collections.abc import Iterator
from concurrent.futures import Future
from contextlib import contextmanager
from threading import Thread
from typing import Any

import torch

from planezip.workloads.workload import Workload

_ANSWER_WITHIN_S = 4.0
_WEIGHTS = "model.safetensors"


def load_pretrained(workload: Workload, model: torch.nn.Module) -> str | None:
    """Load timm's checkpoint into a model of the workload.

    The cache is tried first, without network. A hub that does not answer within a few seconds
    counts as unreachable.

    Returns:
        None if it is loaded, else one line that says why it is not; the model is then as before.
    """
    if workload.checkpoint is None:
        return f"there are no pretrained weights for {workload.name}"
    try:
        file = _checkpoint_file(workload.checkpoint)
    except Exception as error:
        return f"pretrained weights {workload.checkpoint} are not reachable: {_one_line(error)}"
    try:
        model.load_state_dict(_timm_state(workload.checkpoint, file))
    except Exception as error:
        return f"pretrained weights {workload.checkpoint} cannot be used: {_one_line(error)}"
    return None


def _timm_state(checkpoint: str, file: str) -> dict[str, Any]:
    """The weights as timm itself reads them, which renames those of some models."""
    import timm

    name = checkpoint.removeprefix("timm/")
    model = timm.create_model(name, pretrained=True, pretrained_cfg_overlay={"file": file})
    state: dict[str, Any] = model.state_dict()
    return state


def _checkpoint_file(checkpoint: str) -> str:
    """Path of the checkpoint in the hub's cache, downloaded if need be; else any exception."""
    import huggingface_hub as hub

    cached = hub.try_to_load_from_cache(checkpoint, _WEIGHTS)
    if isinstance(cached, str):
        return cached
    if hub.constants.HF_HUB_OFFLINE:
        raise OSError("not in the cache, and the hub is switched off by HF_HUB_OFFLINE")
    # Asked first because a download tries again and again before it gives up.
    _within(_ANSWER_WITHIN_S, hub.get_hf_file_metadata, hub.hf_hub_url(checkpoint, _WEIGHTS))
    with _no_progress_bars():
        return hub.hf_hub_download(checkpoint, _WEIGHTS)


def _within(limit_s: float, function: Any, *args: Any) -> None:
    """Call the function in a thread; TimeoutError if it takes longer (name look-ups may)."""
    answer: Future[None] = Future()

    def ask() -> None:
        try:
            function(*args, timeout=limit_s)
            answer.set_result(None)
        except Exception as error:
            answer.set_exception(error)

    Thread(target=ask, daemon=True).start()
    try:
        answer.result(limit_s)
    except TimeoutError:
        raise TimeoutError(f"the hub did not answer within {limit_s:.0f} seconds") from None


@contextmanager
def _no_progress_bars() -> Iterator[None]:
    from huggingface_hub.utils.tqdm import (
        are_progress_bars_disabled,
        disable_progress_bars,
        enable_progress_bars,
    )

    disabled = are_progress_bars_disabled()
    disable_progress_bars()
    try:
        yield
    finally:
        if not disabled:
            enable_progress_bars()


def _one_line(error: Exception) -> str:
    return str(error).strip().partition("\n")[0] or type(error).__name__
