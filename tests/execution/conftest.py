"""What tests of forced plans share."""

import pytest

from execution.training import WAYS


@pytest.fixture(params=WAYS.values(), ids=WAYS)
def actions(request: pytest.FixtureRequest) -> tuple[str, ...]:
    chosen: tuple[str, ...] = request.param
    return chosen
