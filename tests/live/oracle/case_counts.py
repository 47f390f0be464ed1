"""How many cases the oracle of access is asked: few in ``make test``, many in ``make oracle``."""

from __future__ import annotations

import os
from typing import Final

from hypothesis import HealthCheck, Phase, Verbosity, settings

CASES: Final = int(os.environ.get("ORACLE_CASES", "5000"))
"""Requests that both a broker and the gateway are sent."""

LONG: Final = "ORACLE_CASES" in os.environ
"""Whether other cases are wanted at every run, not the same ones."""

SECONDS: Final = 900 + CASES // 5
"""The time limit of a test; a case takes some milliseconds."""


def oracle_settings(examples: int) -> settings:
    """Settings for a test with so many examples, each of which does a lot."""
    return settings(
        max_examples=max(examples, 1),
        derandomize=not LONG,
        database=None,
        deadline=None,
        # A difference is told with what it takes to repeat it: shrinking would ask all again.
        phases=[Phase.generate],
        verbosity=Verbosity.quiet,
        suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
    )
