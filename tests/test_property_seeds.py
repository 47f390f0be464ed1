"""The seeds of properties are Hypothesis's own, and their settings do not grow."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import core, given
from hypothesis import strategies as st
from hypothesis.internal import reflection

from tests import property_seeds


def _plain(a: int, *, b: str = "") -> None:
    """A docstring."""
    del a, b  # and a comment


def _without_source() -> Callable[[], None]:
    made: dict[str, Any] = {}
    exec("def made(x, y=1): return x", made)  # noqa: S102 - whose source no file has
    found: Callable[[], None] = made["made"]
    return found


@pytest.mark.parametrize(
    "function",
    [_plain, _without_source(), lambda value: value, len, st.integers, pytest.raises, object()],
    ids=["plain", "without source", "lambda", "built in", "decorated", "of a package", "none"],
)
def test_a_digest_is_hypothesis_s_own(function: Any) -> None:
    for _ in range(2):
        assert property_seeds.function_digest(function) == reflection.function_digest(function)


def test_a_case_has_a_digest_of_its_own() -> None:
    def case() -> None: ...

    found = set()
    for add in (None, b"case-1", b"case-2"):
        if add is not None:
            setattr(case, "_hypothesis_internal_add_digest", add)  # noqa: B010
        found.add(property_seeds.function_digest(case))
        assert property_seeds.function_digest(case) == reflection.function_digest(case)
    assert len(found) == 3


def test_hypothesis_takes_it() -> None:
    assert getattr(core, "function_digest") is property_seeds.function_digest  # noqa: B009


def _ancestors(test: Any) -> int:
    settings, count = test._hypothesis_internal_use_settings, 0
    while settings._fallback is not None:
        settings, count = settings._fallback, count + 1
    return count


@given(st.booleans())
def _alone(value: bool) -> None:
    del value


@pytest.mark.parametrize("case", range(3))
@given(value=st.booleans())
def test_the_settings_of_a_case_have_those_of_the_property_as_parent(
    case: int, value: bool
) -> None:
    """And not the settings of the case before."""
    del case, value
    test = test_the_settings_of_a_case_have_those_of_the_property_as_parent
    assert _ancestors(test) == _ancestors(_alone) + 1
