"""HAProxy's program: this machine's, or Debian's package unpacked into the cache.

Unpacking needs no root and changes nothing outside the cache; what HAProxy needs and this machine
lacks is unpacked beside it. If there is no ``apt-get`` an operator has to install it.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from pathlib import Path
from typing import Final

from bench.targets.target import TargetError
from devkit.paths import cache_dir, one_at_a_time
from devkit.waiting import progress

_MISSING: Final = "haproxy is missing, and all ratios are to it: apt-get install haproxy"
_TO_INSTALL: Final = re.compile(r"^Inst (\S+) ", re.MULTILINE)
_SECONDS: Final = 300.0


def haproxy_command() -> list[str]:
    """The beginning of HAProxy's command line. Raises TargetError."""
    # Debian puts it where only root's PATH may look.
    program = shutil.which("haproxy") or shutil.which("haproxy", path="/usr/sbin")
    if program is not None:
        return [program]
    root = cache_dir() / "haproxy"
    with one_at_a_time("haproxy"):
        if not root.is_dir():
            with progress("fetching HAProxy"):
                _unpack(root)
    libraries = os.pathsep.join(map(str, sorted(root.glob("usr/lib/*-linux-gnu*"))))
    return ["env", f"LD_LIBRARY_PATH={libraries}", str(root / "usr" / "sbin" / "haproxy")]


def _unpack(root: Path) -> None:
    """Make ``root`` of the packages that ``apt-get install haproxy`` would add here."""
    if shutil.which("apt-get") is None or shutil.which("dpkg-deb") is None:
        raise TargetError(_MISSING)
    made = root.with_suffix(".new")
    shutil.rmtree(made, ignore_errors=True)
    lists, packages = made / "lists", made / "packages"
    for directory in (lists / "partial", packages):
        directory.mkdir(parents=True)
    own = ["-o", f"Dir::State::lists={lists}", "-o", f"Dir::Cache={made / 'cache'}"]
    own += ["-o", "APT::Sandbox::User=root"]  # who downloads is who runs this
    apt = ["apt-get", "-q", *own]
    _run([*apt, "update"], packages)
    wanted = _run([*apt, "--simulate", "--no-install-recommends", "install", "haproxy"], packages)
    _run([*apt, "download", *_TO_INSTALL.findall(wanted)], packages)
    for package in packages.glob("*.deb"):
        _run(["dpkg-deb", "-x", str(package), str(made)], packages)
    shutil.rmtree(packages)
    shutil.rmtree(lists)
    made.rename(root)


def _run(command: list[str], directory: Path) -> str:
    try:
        done = subprocess.run(
            command, cwd=directory, capture_output=True, text=True, check=True, timeout=_SECONDS
        )
    except subprocess.CalledProcessError as error:
        raise TargetError(f"{_MISSING}\n{error.stdout}{error.stderr}") from error
    except subprocess.TimeoutExpired as error:
        raise TargetError(f"{_MISSING}\n{error}") from error
    return done.stdout
