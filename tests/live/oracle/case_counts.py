"""The number of cases for the oracle of access: few in ``make test``, many in ``make oracle``."""

from __future__ import annotations

import os
from typing import Final

from hypothesis import HealthCheck, Phase, Verbosity, settings

CASES: Final = int(os.environ.get("ORACLE_CASES", "5000"))
"""Requests that are sent to both a broker and the gateway."""

LONG: Final = "ORACLE_CASES" in os.environ
"""Whether each run has new cases, not the same cases."""

SECONDS: Final = 900 + CASES // 5
"""The time limit of a test; a case takes some milliseconds."""


def oracle_settings(examples: int) -> settings:
    """Settings for a test with so many examples, each of which does a lot."""
    return settings(
        max_examples=max(examples, 1),
        derandomize=not LONG,
        database=None,
        deadline=None,
        # A difference is reported with the means to repeat it, because shrinking would send all
        # again.
        phases=[Phase.generate],
        verbosity=Verbosity.quiet,
        suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
    )
