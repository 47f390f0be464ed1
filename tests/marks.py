"""Why a test may be left out of ``make test``: the reasons that the mark ``long`` takes.

A test that asserts a promise about time is marked ``alone``, because nothing may run beside it.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

import pytest

LONG: Final = {
    "builds": "it compiles, or builds and installs wheels or programs",
    "kills": "it kills, hangs, restarts or outwaits processes, sessions or connections",
    "brokers": "it needs three brokers or more, several clusters or gateways, or MirrorMaker",
    "searches": "it searches at random",
}
"""The word that stands in the mark, and what it says of the test."""


def check_reasons(items: Iterable[pytest.Item]) -> None:
    """Raise pytest.UsageError for a mark ``long`` without one of the reasons."""
    for item in items:
        for mark in item.iter_markers("long"):
            if len(mark.args) != 1 or mark.args[0] not in LONG or mark.kwargs:
                known = ", ".join(LONG)
                raise pytest.UsageError(f"{item.nodeid}: mark long needs one reason of: {known}")
