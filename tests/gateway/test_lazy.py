"""Modules that are loaded when they are first used."""

from __future__ import annotations

import subprocess
import sys

import pytest

from gateway.lazy import lazy

HEAVY = ("aiohttp", "cryptography.x509.base", "jwt.api_jwt", "scramp.core")


def test_a_loaded_module_is_itself() -> None:
    assert lazy("json") is sys.modules["json"]


def test_one_that_does_not_exist() -> None:
    with pytest.raises(ModuleNotFoundError, match="nowhere_at_all"):
        lazy("nowhere_at_all")


def run(code: str) -> str:
    return subprocess.run(
        [sys.executable, "-c", code], check=True, capture_output=True, text=True
    ).stdout.strip()


def test_it_is_loaded_when_something_of_it_is_used() -> None:
    code = (
        "import sys; from gateway.lazy import lazy; scramp = lazy('scramp');"
        "print('scramp.core' in sys.modules, end=' ');"
        "scramp.ScramException; print('scramp.core' in sys.modules)"
    )
    assert run(code) == "False True"


def test_a_worker_that_needs_none_of_it_has_none_of_it() -> None:
    code = f"import sys, gateway.worker; print([m for m in {HEAVY!r} if m in sys.modules])"
    assert run(code) == "[]"
