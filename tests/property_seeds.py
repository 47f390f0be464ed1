"""A pytest plugin: Hypothesis does its work for each case of a property only once for the property.

Hypothesis seeds a property by a digest of its source (``derandomize``), and parses that anew for
each case of a parametrized property, twice. Its own plugin gives each case settings whose parents
are the settings of the case before, and follows them back to the first. In a file with hundreds of
cases that was up to a fourth of the CPU time. The drawn values stay the same.
"""

from __future__ import annotations

import hashlib
import inspect
from collections.abc import Generator
from contextlib import suppress
from functools import cache
from typing import Any, Final

import pytest
from hypothesis import core
from hypothesis.internal import reflection

_SETTINGS: Final = "_hypothesis_internal_use_settings"
_OF_THE_CASE: Final = "_hypothesis_internal_add_digest"


def function_digest(function: Any) -> bytes:
    """The digest that ``hypothesis.internal.reflection.function_digest`` returns."""
    digest = _of_the_source(function).copy()
    with suppress(AttributeError):
        digest.update(getattr(function, _OF_THE_CASE))
    return digest.digest()


@cache
def _of_the_source(function: Any) -> hashlib._Hash:
    """The digest of a function's source and signature, before Hypothesis adds the case to it."""
    digest = hashlib.sha384()
    try:
        source = inspect.getsource(function)
    except (OSError, TypeError):
        with suppress(AttributeError):
            digest.update(function.__name__.encode())
    else:
        digest.update(reflection._clean_source(source))
    with suppress(Exception):
        digest.update(repr(reflection.get_signature(function)).encode())
    return digest


def pytest_configure() -> None:
    """Let Hypothesis use this module's digest."""
    setattr(core, "function_digest", function_digest)  # noqa: B010 - it exports no such name


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_runtest_call(item: pytest.Item) -> Generator[None]:
    """Restore a property's settings from before this case, around Hypothesis's own hook."""
    function = getattr(item, "obj", None)
    function = getattr(function, "__func__", function)
    settings = getattr(function, _SETTINGS, None)
    try:
        return (yield)
    finally:
        if settings is not None:
            setattr(function, _SETTINGS, settings)
