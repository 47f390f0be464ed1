"""gateway.catalog.log.needs: brokers that do not serve the APIs that the catalog needs."""

from __future__ import annotations

import pytest

from gateway.catalog.log.needs import NEEDS, NotServed, require
from protocol.schema import api_key_of

ALL = {api_key_of(name): (0, newest) for name, newest in NEEDS.items()}


def test_all_of_it() -> None:
    require(ALL)
    require({**ALL, 999: (0, 1)})
    require({key: (lowest, 99) for key, (lowest, _) in ALL.items()})


@pytest.mark.parametrize("name", NEEDS)
def test_each_is_needed(name: str) -> None:
    with pytest.raises(NotServed, match=f" {name.removesuffix('Request')} "):
        require({key: ranges for key, ranges in ALL.items() if key != api_key_of(name)})
    # Only in versions with which the catalog cannot be written.
    with pytest.raises(NotServed):
        require({**ALL, api_key_of(name): (NEEDS[name] + 1, NEEDS[name] + 1)})


def test_transactions_are_called_so() -> None:
    with pytest.raises(NotServed, match="KIP-98"):
        require({**ALL, api_key_of("InitProducerIdRequest"): (0, -1)})
    with pytest.raises(NotServed) as reading:
        require({**ALL, api_key_of("FetchRequest"): (0, -1)})
    assert "KIP-98" not in str(reading.value)
