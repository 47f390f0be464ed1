"""Fixtures that all tests of policy classes share."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.policies import classes


@pytest.fixture(autouse=True)
def no_policies_left() -> Iterator[None]:
    """Every test makes its own instances, and leaves none of them stuck."""
    classes.forget()
    yield
    classes.forget()
