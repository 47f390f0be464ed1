"""Fixtures of clients of a tree whose other gateways are in memory."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.tree.far_site import Site
from tests.tree.referred_pair import ReferredPair


@pytest.fixture
def site() -> Iterator[Site]:
    """Clients of the listener of ``la``."""
    made = Site()
    yield made
    made.others.close()


@pytest.fixture
def of_sf() -> Iterator[Site]:
    """Clients of a listener of the far volume itself."""
    made = Site(volume="sf")
    yield made
    made.others.close()


@pytest.fixture
def pair() -> Iterator[ReferredPair]:
    """A session at a group's node, and another gateway."""
    made = ReferredPair()
    yield made
    made.others.close()
