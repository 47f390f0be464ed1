"""What the tests of sessions share."""

from __future__ import annotations

import pytest

from gateway import slices

IN_SLICES = "test_long_requests"


@pytest.fixture(autouse=True)
def one_slice(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """On a machine that is busy the first slice is enough, too, except where slices are tested."""
    if not request.module.__name__.endswith(IN_SLICES):
        monkeypatch.setattr(slices, "FIRST_SECONDS", 3600.0)
