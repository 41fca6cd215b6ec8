"""Storage identity survives address reuse, views, in-place operators and dead storages."""

import pytest
import torch

from planezip.errors import InputError
from planezip.tracing.storages import StorageTable


def test_storages_are_numbered_as_they_are_first_seen() -> None:
    table = StorageTable()
    a, b = torch.zeros(3), torch.zeros(4)
    assert [table.add(t, "activation") for t in (b, a, b)] == [0, 1, 0]


@pytest.mark.parametrize("device", ["cpu", "meta"])
def test_an_address_is_not_reused_while_the_table_lives(device: str) -> None:
    table = StorageTable()
    addresses = set()
    for i in range(200):
        tensor = torch.empty(16, device=device)
        addresses.add(tensor.untyped_storage()._cdata)
        assert table.add(tensor, "activation") == i
        del tensor
    assert len(addresses) == 200


def test_without_the_table_addresses_are_reused() -> None:
    """The danger that the table averts is real."""
    addresses = {torch.empty(16).untyped_storage()._cdata for _ in range(200)}
    assert len(addresses) < 200


def test_data_of_dead_storages_is_freed() -> None:
    table = StorageTable()
    tensor = torch.zeros(1000)
    table.add(tensor, "activation")
    reference = table._references[0]
    assert not reference.expired()
    del tensor
    assert reference.expired()


def test_views_and_in_place_operators_keep_the_storage() -> None:
    table = StorageTable()
    a = torch.zeros(4, 6)
    first = table.add(a, "activation")
    for view in (a.t(), a[1:, ::2], a.view(-1), a.detach(), a.expand(2, 4, 6), a.relu_()):
        assert table.find(view) == first
    assert table.find(a.clone()) is None


def test_set_moves_a_tensor_to_another_storage() -> None:
    table = StorageTable()
    a, b = torch.zeros(3), torch.zeros(5)
    table.add(a, "activation")
    second = table.add(b, "activation")
    a.set_(b)
    assert table.find(a) == second


def test_resizing_keeps_the_storage_and_records_its_largest_size() -> None:
    table = StorageTable()
    a = torch.zeros(3)
    only = table.add(a, "activation")
    assert not table.has_grown(a)
    a.resize_(50)
    assert table.find(a) == only
    assert table.has_grown(a)
    a.resize_(2)
    assert not table.has_grown(a)
    assert table.records()[only].bytes == 200


def test_inputs_are_numbered_by_slot() -> None:
    table = StorageTable()
    table.add(torch.zeros(1), "parameter")
    for _ in range(2):
        table.add_input(torch.zeros(1))
    assert [(s.producer, s.slot) for s in table.records() if s.kind == "input"] == [
        (-1, 0),
        (-1, 1),
    ]


def test_a_tensor_without_storage_is_refused_by_its_layout() -> None:
    with pytest.raises(InputError, match="sparse_coo"):
        StorageTable().add(torch.eye(3).to_sparse(), "activation")
