"""devkit.chromium: only the archive with the named hash is used. No test here fetches anything."""

from __future__ import annotations

import hashlib
import platform
from dataclasses import replace
from pathlib import Path

import pytest

from devkit import chromium as chromium_module
from devkit.chromium import OVERRIDE, PACKAGE, Chromium, ChromiumError, chromium
from tests.devkit.npm_registry import Registry, archive, npm_registry


@pytest.fixture
def registry(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Registry:
    monkeypatch.delenv(OVERRIDE, raising=False)
    monkeypatch.setattr(platform, "system", lambda: "Linux")
    monkeypatch.setattr(platform, "machine", lambda: "x86_64")
    return npm_registry(tmp_path, monkeypatch)


@pytest.fixture
def package(monkeypatch: pytest.MonkeyPatch) -> bytes:
    """An archive like the real one, and its hash in place of the real one's."""
    content = archive(
        {
            "package/bin/chromium.br": b"a browser",
            "package/bin/al2023.tar.br": archive({"lib/libnss3.so": b"a library"}),
            "package/bin/fonts.tar.br": archive({"fonts/a.ttf": b"a font"}),
        }
    )
    digest = hashlib.sha512(content).hexdigest()
    monkeypatch.setattr(chromium_module, "PACKAGE", replace(PACKAGE, sha512=digest))
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
    assert registry.fetches == [str(PACKAGE)]


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
