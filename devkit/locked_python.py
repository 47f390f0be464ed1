"""Environments with the packages of a lock file and nothing else, for programs that need other
packages than the developers' own environment has."""

from __future__ import annotations

import hashlib
import os
import subprocess
import sys
import venv
from pathlib import Path
from typing import Final

from devkit.paths import PROJECT_ROOT, cache_dir, one_at_a_time
from devkit.waiting import progress

TOOLS: Final = PROJECT_ROOT / "requirements" / "tools.txt"
"""Operators' tools that live tests run."""

_DONE: Final = "installed"
_SECONDS: Final = 900.0


class LockedPythonError(Exception):
    """The packages could not be installed; the message has pip's output."""


def python_with(lock: Path) -> Path:
    """The interpreter of an environment with the packages of ``lock``, made now if it is missing.

    Raises LockedPythonError.
    """
    digest = hashlib.sha256(f"{sys.executable} {sys.version}".encode() + lock.read_bytes())
    path = cache_dir() / "locked-python" / f"{lock.stem}-{digest.hexdigest()[:16]}"
    python = path / "bin" / "python"
    with one_at_a_time("locked-python"):
        if not (path / _DONE).is_file():
            venv.create(path, symlinks=True, clear=True)
            with progress(f"installing the packages of {lock.name}"):
                _install(python, lock)
            (path / _DONE).touch()
    return python


def environment() -> dict[str, str]:
    """The environment variables for a program that must not import these sources."""
    return {name: value for name, value in os.environ.items() if not name.startswith("PYTHON")}


def _install(python: Path, lock: Path) -> None:
    pip = [sys.executable, "-m", "pip", "--python", str(python), "install"]
    options = ["--disable-pip-version-check", "--quiet", "--no-compile", "--require-hashes"]
    try:
        done = subprocess.run(
            [*pip, *options, "-r", str(lock)],
            env=environment(),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            timeout=_SECONDS,
            check=False,
        )
    except subprocess.TimeoutExpired as error:
        raise LockedPythonError(f"pip did not end within {_SECONDS:g} s") from error
    if done.returncode:
        raise LockedPythonError(f"pip install -r {lock.name} failed:\n{done.stdout}")
