"""devkit.debian: a package is fetched once and whole. No test here fetches anything."""

from __future__ import annotations

from pathlib import Path

import pytest

from devkit.debian import DebianError, unpacked

_APT_GET = """#!/bin/sh
# apt-get OPTIONS update | apt-get OPTIONS download PACKAGE
for word; do last=$word; done
echo "$last" >> "$LOG"
test -z "$FAIL" || { echo "E: no network" >&2; exit 100; }
test "$last" = update || echo archive > "$last.deb"
"""
_DPKG_DEB = """#!/bin/sh
# dpkg-deb --extract ARCHIVE FOLDER
mkdir -p "$3/usr/bin" && cp "$2" "$3/usr/bin/program"
"""


@pytest.fixture
def log(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The arguments of apt-get."""
    programs = tmp_path / "bin"
    programs.mkdir()
    for name, script in (("apt-get", _APT_GET), ("dpkg-deb", _DPKG_DEB)):
        (programs / name).write_text(script)
        (programs / name).chmod(0o755)
    monkeypatch.setenv("PATH", f"{programs}:/bin:/usr/bin")
    monkeypatch.setenv("KAFKA_GATEWAY_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv("LOG", str(tmp_path / "log"))
    return tmp_path / "log"


def test_a_package_is_fetched_once(log: Path) -> None:
    home = unpacked("prometheus")
    assert (home / "usr" / "bin" / "program").read_text() == "archive\n"
    assert unpacked("prometheus") == home
    assert log.read_text().split() == ["update", "prometheus"]


def test_a_failure_leaves_nothing_and_says_why(log: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FAIL", "1")
    with pytest.raises(
        DebianError, match=r"(?s)apt-get .*update ended with status 100.*no network"
    ):
        unpacked("prometheus")
    monkeypatch.delenv("FAIL")
    assert (unpacked("prometheus") / "usr").is_dir()
    assert log.read_text().split() == ["update", "update", "prometheus"]


def test_without_apt_get_the_error_says_so(log: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(log.parent))
    with pytest.raises(DebianError, match="neither on the PATH nor can apt-get fetch it"):
        unpacked("prometheus")
