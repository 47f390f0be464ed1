"""Hypothesis profiles of the protocol tests: HYPOTHESIS_PROFILE=thorough for many more examples.

They are registered here and looked up by ``strategies.PROFILE``; nothing is loaded, so that
other tests keep their own.
"""

from __future__ import annotations

from hypothesis import HealthCheck, settings

_SLOW = [HealthCheck.too_slow, HealthCheck.data_too_large, HealthCheck.large_base_example]

settings.register_profile(
    "quick", deadline=None, derandomize=True, max_examples=3, suppress_health_check=_SLOW
)
settings.register_profile(
    "thorough", deadline=None, max_examples=100, print_blob=True, suppress_health_check=_SLOW
)
