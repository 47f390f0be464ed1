"""devkit.go: the Go that is chosen, and programs that are built once."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from devkit import go
from devkit.go import GoError

_PROGRAM = """package main

import "fmt"

func main() { fmt.Println("hello") }
"""


def _fake(directory: Path, version: str) -> None:
    """A ``go`` that prints a version, and builds by writing the arguments into the target."""
    script = directory / "go"
    script.write_text(
        f'#!/bin/sh\n[ "$1" = version ] && echo "go version {version} linux/amd64" && exit\n'
        'echo "$@" >> "$4"\n'
    )
    script.chmod(0o755)


@pytest.fixture
def module(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A module with a program, and an empty cache."""
    monkeypatch.setattr(go, "cache_dir", lambda: tmp_path / "cache")
    monkeypatch.setattr("devkit.paths.cache_dir", lambda: tmp_path)
    (tmp_path / "cache" / "go").mkdir(parents=True)
    (tmp_path / "module" / "hello").mkdir(parents=True)
    (tmp_path / "module" / "go.mod").write_text("module example\n\ngo 1.26\n")
    (tmp_path / "module" / "hello" / "main.go").write_text(_PROGRAM)
    return tmp_path / "module"


@pytest.mark.parametrize(("version", "numbers"), [("go1.26.8", (1, 26)), ("devel", ())])
def test_versions(tmp_path: Path, version: str, numbers: tuple[int, ...]) -> None:
    _fake(tmp_path, version)
    assert go.version_of(str(tmp_path / "go")) == numbers


def test_a_program_is_built_once_for_its_sources(
    module: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    _fake(tmp_path, "go1.26.0")
    monkeypatch.setenv("PATH", str(tmp_path), prepend=":")
    built = go.build_go(module, "hello")
    assert go.build_go(module, "hello") == built
    assert built.read_text() == f"build -mod=readonly -o {built} ./hello\n"
    (module / "hello" / "more.go").write_text("package main\n")
    assert go.build_go(module, "hello") != built


def test_a_failure_has_the_output(
    module: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    script = tmp_path / "go"
    script.write_text('#!/bin/sh\n[ "$1" = version ] && echo go1.26 && exit\necho wrong; exit 1\n')
    script.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path), prepend=":")
    with pytest.raises(GoError, match=r"(?s)build.* failed\nwrong"):
        go.build_go(module, "hello")


@pytest.mark.long("builds")  # fetches a Go, which compiles its own library first
def test_without_go_on_the_path(module: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "/bin")
    built = go.build_go(module, "hello")
    assert subprocess.run([built], capture_output=True, text=True, check=True).stdout == "hello\n"
