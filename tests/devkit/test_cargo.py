"""devkit.cargo: the crates that are pinned, and a program that is built once."""

from __future__ import annotations

from pathlib import Path

import pytest

from devkit.cargo import CargoError, build_rust, version_of, with_registry

_CARGO = """#!/bin/sh
# cargo --version | cargo generate-lockfile | cargo build ...
[ "$1" = --version ] && echo "cargo $VERSION (1 2025-01-01)" && exit
echo "$1" >> "$LOG"
[ "$1" = generate-lockfile ] && printf 'source = "registry+somewhere"\\n' > Cargo.lock && exit
[ -n "$FAIL" ] && echo wrong && exit 1
mkdir -p target/debug && cp Cargo.lock target/debug/hello
"""
_LOCK = """[[package]]
name = "hello"

[[package]]
name = "crate"
checksum = "1234"
"""
_BUILT = _LOCK.replace("checksum", 'source = "registry+somewhere"\nchecksum')


@pytest.fixture
def package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A package, an empty cache, and a Cargo on the PATH that puts the lock file in the program's
    place."""
    programs = tmp_path / "bin"
    programs.mkdir()
    (programs / "cargo").write_text(_CARGO)
    (programs / "cargo").chmod(0o755)
    monkeypatch.setenv("PATH", f"{programs}:/bin:/usr/bin")
    monkeypatch.setenv("KAFKA_GATEWAY_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv("LOG", str(tmp_path / "log"))
    monkeypatch.setenv("VERSION", "1.95.0")
    made = tmp_path / "package"
    made.mkdir()
    (made / "Cargo.toml").write_text('[package]\nname = "hello"\n')
    (made / "Cargo.lock").write_text(_LOCK)
    return made


def test_a_program_is_built_once_for_its_sources(package: Path, tmp_path: Path) -> None:
    built = build_rust(package)
    assert built.read_text() == _BUILT
    assert build_rust(package) == built
    assert (tmp_path / "log").read_text().split() == ["generate-lockfile", "build"]
    assert (package / "Cargo.lock").read_text() == _LOCK
    (package / "main.rs").write_text("fn main() {}\n")
    assert build_rust(package) != built


def test_a_failure_has_the_output_and_leaves_nothing(
    package: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("FAIL", "1")
    with pytest.raises(CargoError, match=r"(?s)build.* failed\nwrong"):
        build_rust(package)
    monkeypatch.delenv("FAIL")
    assert build_rust(package).read_text() == _BUILT


@pytest.mark.parametrize("version", ["1.84.1", "unknown"])
def test_a_cargo_that_is_too_old_is_not_used(
    package: Path, monkeypatch: pytest.MonkeyPatch, version: str
) -> None:
    monkeypatch.setenv("VERSION", version)
    with pytest.raises(CargoError, match=r"cargo 1\.85 or newer"):
        build_rust(package)


def test_without_cargo_the_error_says_so(package: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(package))
    with pytest.raises(CargoError, match=r"cargo 1\.85 or newer"):
        build_rust(package)


def test_versions(package: Path) -> None:
    assert version_of(str(package.parent / "bin" / "cargo")) == (1, 95)


def test_only_crates_with_a_hash_get_a_registry() -> None:
    assert with_registry(_LOCK, "registry+somewhere") == _BUILT
