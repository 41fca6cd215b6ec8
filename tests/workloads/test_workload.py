"""Workloads by name: the paper's models, seeded, and pretrained where the hub is reachable."""

import socket
from dataclasses import replace
from pathlib import Path

import huggingface_hub
import pytest
import timm
import torch
from safetensors.torch import save_file

from planezip.errors import InputError
from planezip.workloads import WORKLOADS, Workload, load_pretrained, pretrained, workload
from small_workload import small_workload


def test_an_unknown_name_lists_the_known_ones() -> None:
    with pytest.raises(InputError, match="unknown model 'resnet5'") as caught:
        workload("resnet5")
    assert all(name in str(caught.value) for name in WORKLOADS)


def test_resnet50_is_the_papers() -> None:
    chosen = workload("resnet50")
    assert (chosen.title, chosen.batch, chosen.capture_batch) == ("ResNet-50", 128, 8)
    with torch.device("meta"):
        model = chosen.build()
        images, labels = chosen.placeholder(4)
    assert sum(p.numel() for p in model.parameters()) == 25_557_032
    assert (images.shape, labels.shape) == ((4, 3, 224, 224), (4,))
    assert images.device.type == labels.device.type == "meta"


def test_weights_depend_on_the_seed_alone() -> None:
    chosen = small_workload()
    one, other, same = (chosen.model(seed) for seed in (1, 2, 1))
    assert torch.equal(one[0].weight, same[0].weight)
    assert not torch.equal(one[0].weight, other[0].weight)
    assert one.training


def test_the_optimizer_is_plain_sgd_one_operator_a_parameter() -> None:
    chosen = small_workload()
    (group,) = chosen.optimizer(chosen.model()).param_groups
    assert (group["momentum"], group["weight_decay"], group["foreach"]) == (0, 0, False)
    assert group["lr"] == chosen.learning_rate
    assert chosen.optimizer(chosen.model(), 0.5).param_groups[0]["lr"] == 0.5


def with_checkpoint(checkpoint: str | None = "timm/test_resnet.r160_in1k") -> Workload:
    return replace(
        workload("resnet50"),
        build=lambda: timm.create_model("test_resnet"),
        checkpoint=checkpoint,
    )


def refusal_of(chosen: Workload) -> str:
    """The refusal, which is one line and leaves the model as it was."""
    model = chosen.model()
    before = {k: v.clone() for k, v in model.state_dict().items()}
    line = load_pretrained(chosen, model)
    assert line is not None
    assert "\n" not in line
    assert all(torch.equal(before[k], v) for k, v in model.state_dict().items())
    return line


@pytest.fixture
def nothing_cached(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(huggingface_hub, "try_to_load_from_cache", lambda *a: None)
    monkeypatch.setattr(huggingface_hub.constants, "HF_HUB_OFFLINE", False)


@pytest.fixture
def trained(tmp_path: Path) -> tuple[Path, dict[str, torch.Tensor]]:
    """A file of weights as the hub holds them, and the weights."""
    state = with_checkpoint().model(seed=9).state_dict()
    save_file(state, tmp_path / "model.safetensors")
    return tmp_path / "model.safetensors", state


def loads(expected: dict[str, torch.Tensor]) -> bool:
    model = with_checkpoint().model(seed=1)
    line = load_pretrained(with_checkpoint(), model)
    state = model.state_dict()
    return line is None and all(torch.equal(state[name], expected[name]) for name in state)


def test_a_checkpoint_in_the_cache_is_used(
    trained: tuple[Path, dict[str, torch.Tensor]], monkeypatch: pytest.MonkeyPatch
) -> None:
    file, state = trained
    monkeypatch.setattr(huggingface_hub, "try_to_load_from_cache", lambda *a: str(file))
    assert loads(state)


@pytest.mark.usefixtures("nothing_cached")
def test_a_checkpoint_is_downloaded_if_the_hub_answers(
    trained: tuple[Path, dict[str, torch.Tensor]], monkeypatch: pytest.MonkeyPatch
) -> None:
    file, state = trained
    monkeypatch.setattr(huggingface_hub, "get_hf_file_metadata", lambda url, timeout: None)
    monkeypatch.setattr(huggingface_hub, "hf_hub_download", lambda *a: str(file))
    assert loads(state)


def test_a_damaged_checkpoint_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "model.safetensors"
    file.write_bytes(b"damaged")
    monkeypatch.setattr(huggingface_hub, "try_to_load_from_cache", lambda *a: str(file))
    assert "cannot be used" in refusal_of(with_checkpoint())


def test_a_model_without_a_checkpoint_says_so() -> None:
    assert refusal_of(with_checkpoint(None)) == "there are no pretrained weights for resnet50"


@pytest.mark.usefixtures("nothing_cached")
def test_a_hub_that_refuses_is_unreachable(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*args: object, **options: object) -> None:
        raise ConnectionError("no route\nmore about it")

    monkeypatch.setattr(huggingface_hub, "get_hf_file_metadata", refuse)
    expected = "pretrained weights timm/test_resnet.r160_in1k are not reachable: no route"
    assert refusal_of(with_checkpoint()) == expected


@pytest.mark.usefixtures("nothing_cached")
def test_a_hub_that_is_silent_is_unreachable(monkeypatch: pytest.MonkeyPatch) -> None:
    """It accepts connections and never answers."""
    monkeypatch.setattr(pretrained, "_ANSWER_WITHIN_S", 0.2)
    with socket.create_server(("127.0.0.1", 0)) as server:
        address = f"http://127.0.0.1:{server.getsockname()[1]}/model.safetensors"
        monkeypatch.setattr(huggingface_hub, "hf_hub_url", lambda *a: address)
        assert "not reachable" in refusal_of(with_checkpoint())


@pytest.mark.usefixtures("nothing_cached")
def test_a_hub_that_is_switched_off_is_not_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    def never(*args: object, **options: object) -> None:
        pytest.fail("the hub was asked")

    monkeypatch.setattr(huggingface_hub.constants, "HF_HUB_OFFLINE", True)
    monkeypatch.setattr(huggingface_hub, "get_hf_file_metadata", never)
    assert "HF_HUB_OFFLINE" in refusal_of(with_checkpoint())
