"""devkit.locked_python: an environment is made once for a lock file, and whole."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from devkit.locked_python import LockedPythonError, environment, python_with

_PRINT_PACKAGES = "from importlib.metadata import distributions as d; print([*d()])"


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("KAFKA_GATEWAY_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache"


def test_an_environment_is_made_once_and_has_nothing_else(tmp_path: Path) -> None:
    lock = tmp_path / "none.txt"
    lock.write_text("# no package\n")
    python = python_with(lock)
    made = python.lstat().st_mtime_ns
    assert python_with(lock) == python
    assert python.lstat().st_mtime_ns == made
    printed = subprocess.run(
        [python, "-c", _PRINT_PACKAGES],
        cwd=tmp_path,  # where none of these sources is
        env=environment(),
        capture_output=True,
        check=True,
    )
    assert printed.stdout == b"[]\n"
    lock.write_text("# another one\n")
    assert python_with(lock) != python


def test_a_package_without_a_hash_is_not_installed(tmp_path: Path, cache: Path) -> None:
    lock = tmp_path / "wrong.txt"
    lock.write_text("kafkatop==1.16\n")
    with pytest.raises(LockedPythonError, match=r"(?s)pip install -r wrong\.txt failed:.*hash"):
        python_with(lock)
    assert list(cache.glob("locked-python/*/installed")) == []


def test_programs_do_not_import_these_sources(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYTHONPATH", "here")
    assert "PYTHONPATH" not in environment()
    assert "PATH" in environment()
