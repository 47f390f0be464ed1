"""A headless Chromium, pinned by hash, that needs neither root nor a browser's installer.

The npm package ``@sparticuz/chromium`` has a Chromium that needs only the C library and libgcc,
because it includes NSS and a font. npm fetches it (devkit/npm.py) and its Node.js unpacks it. The
package's own code does not run.
"""

from __future__ import annotations

import os
import platform
import tarfile
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from devkit import npm
from devkit.npm import NpmError, Package
from devkit.paths import cache_dir, one_at_a_time

PACKAGE: Final = Package(
    "@sparticuz/chromium",
    "147.0.0",
    "e1929e01041af2ea769adebbe6a4a2b73b4b75b42b95ff0129d0b99da79aa7ee"
    "4cbf5395d4e94974fa14f84242fe9e6c414254426378afeab9f8485a68e507a5",
)

OVERRIDE: Final = "KAFKA_GATEWAY_CHROMIUM"
"""The environment variable that names another Chromium, for machines on which the package's does
not run; it is started unchanged."""

_PACKED: Final = ("chromium", "al2023.tar", "fonts.tar")

# Unpacked by Node.js: Python's zlib lacks Brotli.
_UNPACK: Final = (
    "const [from, to] = process.argv.slice(1);"
    "require('stream').pipeline(require('fs').createReadStream(from),"
    "require('zlib').createBrotliDecompress(), require('fs').createWriteStream(to),"
    "(error) => { if (error) throw error; });"
)


# The package's font first, so that a page looks much the same on every machine. Other fonts, if
# installed, have the characters that it lacks.
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
    """A program to start, and the variables to add to its environment."""

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
    home = cache_dir() / "chromium" / PACKAGE.sha512[:16]
    with one_at_a_time("chromium"):
        if not home.is_dir():
            try:
                _install(home)
            except NpmError as error:
                raise ChromiumError(str(error)) from error
    return Chromium(
        str(home / "chromium"),
        {
            "LD_LIBRARY_PATH": str(home / "al2023" / "lib"),
            "FONTCONFIG_FILE": str(home / "fonts.conf"),
        },
    )


def _install(home: Path) -> None:
    home.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=home.parent) as directory:
        folder = Path(directory)
        package = npm.fetch(PACKAGE, folder)
        unpacked = folder / "unpacked"
        unpacked.mkdir()
        for name in _PACKED:
            _unpack(package / "bin" / f"{name}.br", unpacked / name)
        (unpacked / "chromium").chmod(0o755)
        fonts = _FONTS.format(fonts=home / "fonts", cache=home / "font-cache")
        (unpacked / "fonts.conf").write_text(fonts)
        # Renamed when complete: a folder of this name is not checked again.
        unpacked.rename(home)


def _unpack(packed: Path, target: Path) -> None:
    """Unpack a file of the package; an archive becomes a folder without ``.tar``."""
    _, node = npm.find_npm()
    ended = npm.run([node, "-e", _UNPACK, str(packed), str(target)], packed.parent)
    if ended.returncode != 0:
        raise NpmError(f"{packed.name} of {PACKAGE} cannot be unpacked\n{ended.stderr}")
    if target.suffix == ".tar":
        with tarfile.open(target) as archive:
            archive.extractall(target.with_suffix(""), filter="data")
        target.unlink()
