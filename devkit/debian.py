"""Programs of Debian's packages, unpacked into the cache without root or changes to the system.

apt-get fetches a package and checks it against Debian's keys; its lists and archives are in the
cache, too. The package's dependencies are not fetched, so this suits programs that need only the C
library, such as programs written in Go.
"""

from __future__ import annotations

import shutil
import subprocess
import tempfile
from pathlib import Path
from typing import Final

from devkit.paths import cache_dir, one_at_a_time
from devkit.waiting import progress

_SECONDS: Final = 600.0


class DebianError(Exception):
    """A package cannot be fetched here; the message holds the end of apt-get's output."""


def unpacked(package: str) -> Path:
    """The folder of an unpacked package, as if it were ``/``; the package is fetched if it is
    missing.

    Raises DebianError.
    """
    home = cache_dir() / "debian" / package
    with one_at_a_time("debian"):
        if not home.is_dir():
            _install(package, home)
    return home


def _install(package: str, home: Path) -> None:
    for program in ("apt-get", "dpkg-deb"):
        if shutil.which(program) is None:
            raise DebianError(f"{package} is neither on the PATH nor can {program} fetch it")
    apt = cache_dir() / "debian" / "apt"
    for folder in ("lists/partial", "cache/archives/partial"):
        (apt / folder).mkdir(parents=True, exist_ok=True)
    options = [
        "--quiet",
        *("-o", f"Dir::State::lists={apt / 'lists'}"),
        *("-o", f"Dir::Cache={apt / 'cache'}"),
        *("-o", "APT::Sandbox::User="),  # else root switches to a user that cannot write here
    ]
    with (
        progress(f"fetching Debian's {package}"),
        tempfile.TemporaryDirectory(dir=home.parent) as temporary,
    ):
        directory = Path(temporary)
        _run(["apt-get", *options, "update"], directory)
        _run(["apt-get", *options, "download", package], directory)
        (archive,) = directory.glob("*.deb")
        _run(["dpkg-deb", "--extract", str(archive), "unpacked"], directory)
        # Renamed when complete: a folder of this name is not checked again.
        (directory / "unpacked").rename(home)


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
        raise DebianError(f"{command[0]} did not end within {_SECONDS:g} s") from error
    if ended.returncode != 0:
        tail = "\n".join((ended.stderr or ended.stdout).splitlines()[-10:])
        raise DebianError(f"{' '.join(command)} ended with status {ended.returncode}\n{tail}")
