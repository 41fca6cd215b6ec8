"""Memory that is no plain data is refused; autograd sees what is overwritten."""

import numpy as np
import pytest
import torch

import planezip
from planezip import InputError
from planezip.codec import measure


def test_buffers_of_python_objects_are_neither_read_nor_written():
    objects = np.array([None, "x"], object)
    with pytest.raises(InputError, match="Python objects"):
        planezip.compress(memoryview(objects))
    stream = planezip.compress(bytes(16))
    with pytest.raises(InputError, match="out must be"):
        planezip.decompress(stream, out=objects)
    assert objects.tolist() == [None, "x"]


def test_autograd_refuses_a_saved_tensor_that_was_decompressed_into():
    weight = torch.ones(3, 4, requires_grad=True)
    saved = torch.ones(3, 4)
    loss = (weight * saved).sum()
    planezip.decompress(planezip.compress(torch.zeros(3, 4)), out=saved)
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        loss.backward()


def test_an_inference_tensor_can_be_decompressed_into():
    with torch.inference_mode():
        out = torch.ones(3, 4)
        planezip.decompress(planezip.compress(torch.zeros(3, 4)), out=out)
        assert not out.any()


def test_elements_smaller_than_a_byte_are_refused_by_name():
    with pytest.raises(InputError, match="uint4"):
        planezip.compress(torch.empty(8, dtype=torch.uint4))


def test_a_symbol_width_is_one_number():
    with pytest.raises(InputError, match="16 or 32"):
        planezip.compress(bytes(8), symbol_bits=np.array([16, 32]))


def test_a_stride_past_the_end_measures_the_first_chunk():
    assert measure(np.zeros(10_000, np.uint8), chunk_stride=10**30).raw_bytes == 4096
