"""Fixtures that all tests of sessions share."""

from __future__ import annotations

import gc
import logging
from collections.abc import Iterator

import pytest

from gateway import slices
from tests.session.isolation_ids import certain_ids

IN_SLICES = (
    "test_callback_search",
    "test_cluster_requests",
    "test_expressions",
    "test_long_requests",
    "test_long_streams",
    "test_long_topologies",
    "test_transaction_admin",
    "test_turns",
)


@pytest.fixture(autouse=True)
def one_slice(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Make the first slice long enough on a busy machine, except in tests of slices."""
    if not request.module.__name__.endswith(IN_SLICES):
        monkeypatch.setattr(slices, "FIRST_SECONDS", 3600.0)
        monkeypatch.setattr(slices, "FIRSTS_SECONDS", 3600.0)


@pytest.fixture
def alike_ids() -> Iterator[None]:
    """Ids that two worlds draw alike; see ``isolation_ids``."""
    with certain_ids():
        yield


@pytest.fixture
def quietly() -> Iterator[None]:
    """Measure without log lines, and without the objects of earlier tests, because a worker's
    collector ignores objects from before it began to serve (``gc.freeze``)."""
    logging.disable(logging.CRITICAL)
    gc.collect()
    gc.freeze()
    yield
    logging.disable(logging.NOTSET)
