"""The garbage collector: off for a while, and on again whatever happens."""

from __future__ import annotations

import gc

import pytest

from gateway.processes.server import collecting_no_garbage


def test_it_is_away_and_back() -> None:
    assert gc.isenabled()
    with collecting_no_garbage():
        assert not gc.isenabled()
    assert gc.isenabled()
    gc.unfreeze()


def test_it_is_back_after_an_error() -> None:
    with pytest.raises(RuntimeError), collecting_no_garbage():
        raise RuntimeError
    assert gc.isenabled()
    gc.unfreeze()
