"""gateway.hot_path: which form runs, by the files of the modules themselves."""

from __future__ import annotations

from importlib.machinery import ModuleSpec

import pytest
import uvloop.loop

from gateway import hot_path, names
from gateway.hot_path import Form, running_form

PURE = "gateway.names"
COMPILED = "uvloop.loop"
"""A module that Cython compiled, wherever the tests run."""


@pytest.mark.parametrize(
    ("modules", "found", "words"),
    [
        ([PURE], Form(0, 1), "pure"),
        ([COMPILED], Form(1, 1), "compiled"),
        ([PURE, COMPILED], Form(1, 2), "partly compiled"),
    ],
)
def test_forms(
    modules: list[str], found: Form, words: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(hot_path, "MODULES", dict.fromkeys(modules, ""))
    assert running_form() == found
    assert str(found) == words


def test_what_is_imported_counts(monkeypatch: pytest.MonkeyPatch) -> None:
    """Not the file that an import would find now, because files may have been replaced since."""
    monkeypatch.setattr(hot_path, "MODULES", {PURE: ""})
    assert uvloop.loop.__spec__ is not None
    elsewhere = ModuleSpec(PURE, None, origin=uvloop.loop.__spec__.origin)
    monkeypatch.setattr(names, "__spec__", elsewhere)
    assert running_form() == Form(1, 1)


def test_a_missing_module(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(hot_path, "MODULES", {"gateway.no_such": ""})
    with pytest.raises(ImportError, match=r"module gateway\.no_such is missing: install"):
        running_form()
