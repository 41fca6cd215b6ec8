"""Trained weights from the Hugging Face hub or its cache, or a quick and clear refusal."""

import os

import torch

from planezip.workloads.workload import Workload

_ANSWER_WITHIN_S = 4.0


def load_pretrained(workload: Workload, model: torch.nn.Module) -> str | None:
    """Load timm's checkpoint into a model of the workload.

    Returns:
        None if it is loaded, else one line that says why it is not; the model is then as before.
    """
    if workload.checkpoint is None:
        return f"there are no pretrained weights for {workload.name}"
    file, reason = _checkpoint_file(workload.checkpoint)
    if file is None:
        return f"pretrained weights {workload.checkpoint} are not reachable: {reason}"
    from safetensors.torch import load_file

    try:
        model.load_state_dict(load_file(file))
    except Exception as error:
        return f"pretrained weights {workload.checkpoint} do not fit: {_first_line(error)}"
    return None


def _checkpoint_file(checkpoint: str) -> tuple[str | None, str]:
    """Path of the checkpoint, downloaded if need be; else None and the reason."""
    # Read by the hub's library when it is imported.
    os.environ.setdefault("HF_HUB_ETAG_TIMEOUT", str(int(_ANSWER_WITHIN_S)))
    os.environ.setdefault("HF_HUB_DOWNLOAD_TIMEOUT", str(int(_ANSWER_WITHIN_S)))
    os.environ.setdefault("HF_HUB_DISABLE_PROGRESS_BARS", "1")
    import huggingface_hub as hub

    cached = hub.try_to_load_from_cache(checkpoint, "model.safetensors")
    if isinstance(cached, str):
        return cached, ""
    if hub.constants.HF_HUB_OFFLINE:
        return None, "not in the cache, and the hub is switched off (HF_HUB_OFFLINE)"
    try:
        # Asked first because it answers within the timeout; a download tries again several times.
        url = hub.hf_hub_url(checkpoint, "model.safetensors")
        hub.get_hf_file_metadata(url, timeout=_ANSWER_WITHIN_S)
        return hub.hf_hub_download(checkpoint, "model.safetensors"), ""
    except Exception as error:
        return None, f"not in the cache, and the hub does not answer ({_first_line(error)})"


def _first_line(error: Exception) -> str:
    return str(error).strip().partition("\n")[0] or type(error).__name__
