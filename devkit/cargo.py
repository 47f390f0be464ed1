"""Builds a program in Rust whose crates are pinned by a ``Cargo.lock``.

Cargo and a C compiler have to be on the PATH, because pip fetches neither. The lock file here names
no registry, as pip's lock files do not: Cargo says which registry it takes crates from, and the
hashes say that they are those of the lock file.
"""

from __future__ import annotations

import hashlib
import re
import shutil
import subprocess
import tempfile
from pathlib import Path
from typing import Final

from devkit.paths import cache_dir, one_at_a_time
from devkit.waiting import progress

MINIMUM: Final = (1, 85)
"""What the crates of the tests' program need."""

_SECONDS: Final = 900.0


class CargoError(Exception):
    """Cargo is missing or too old, or a program could not be built; the message has the output."""


def build_rust(package: Path) -> Path:
    """Build the program of a package; returns the executable.

    It is cached by the content of the package's files. Raises CargoError.
    """
    content = hashlib.sha256()
    for path in sorted(each for each in package.rglob("*") if each.is_file()):
        content.update(f"{path.relative_to(package)}\n".encode() + path.read_bytes())
    found = re.search(r'^name = "(.+)"$', (package / "Cargo.toml").read_text(), re.MULTILINE)
    if found is None:
        raise CargoError(f"{package}: the package has no name")
    target = cache_dir() / "cargo" / f"{found[1]}-{content.hexdigest()[:16]}"
    with one_at_a_time("cargo"):
        if not target.is_file():
            target.parent.mkdir(parents=True, exist_ok=True)
            with (
                progress(f"building {found[1]} with its crates"),
                tempfile.TemporaryDirectory(dir=target.parent) as temporary,
            ):
                built = _build(package, Path(temporary), found[1])
                built.rename(target)
    return target


def find_cargo() -> str:
    """The ``cargo`` on the PATH. Raises CargoError if it is missing or too old."""
    cargo = shutil.which("cargo")
    version = version_of(cargo) if cargo else ()
    if cargo is None or version < MINIMUM:
        wanted = ".".join(map(str, MINIMUM))
        raise CargoError(f"cargo {wanted} or newer is needed on the PATH: install Rust")
    return cargo


def version_of(cargo: str) -> tuple[int, ...]:
    """The first two numbers of a Cargo's version, or none if it does not print its version."""
    answer = subprocess.run([cargo, "--version"], capture_output=True, text=True, check=False)
    match = re.search(r"\bcargo (\d+)\.(\d+)", answer.stdout)
    return (int(match[1]), int(match[2])) if match else ()


def with_registry(lock: str, registry: str) -> str:
    """A lock file in which each crate that has a hash comes from ``registry``."""
    return re.sub(r"^checksum = ", f'source = "{registry}"\n\\g<0>', lock, flags=re.MULTILINE)


def _build(package: Path, folder: Path, name: str) -> Path:
    """Build a package within ``folder``; returns the executable."""
    cargo = find_cargo()
    shutil.copytree(package, folder, dirs_exist_ok=True)
    lock = folder / "Cargo.lock"
    pinned = lock.read_text()
    lock.unlink()
    # With the newest crates, to see which registry this Cargo takes them from.
    _run([cargo, "generate-lockfile"], folder)
    registry = re.search(r'^source = "(registry\+.+)"$', lock.read_text(), re.MULTILINE)
    if registry is None:
        raise CargoError(f"{package}: no crate comes from a registry")
    lock.write_text(with_registry(pinned, registry[1]))
    # No --release: the tests' programs send a few records, and it compiles in half the time.
    _run([cargo, "build", "--locked", "--target-dir", "target"], folder)
    return folder / "target" / "debug" / name


def _run(command: list[str], folder: Path) -> None:
    try:
        ended = subprocess.run(
            command,
            cwd=folder,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=_SECONDS,
            check=False,
        )
    except subprocess.TimeoutExpired as error:
        raise CargoError(f"{command[0]} did not end within {_SECONDS:g} s") from error
    if ended.returncode != 0:
        raise CargoError(f"{command} failed\n{ended.stdout}{ended.stderr}")
