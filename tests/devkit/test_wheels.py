"""devkit.wheels: the files and the output of ``make wheel``."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from devkit import wheels
from devkit.build_tree import CompileError
from devkit.wheels import WheelError, build_wheel

PURE = "kafka_namespace_gateway-0.1.0-py3-none-any.whl"


@pytest.mark.long("builds")
def test_without_a_compiler_there_is_the_pure_one_alone(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("CC", "no-such-compiler")
    monkeypatch.setattr(sys, "argv", ["wheels", str(tmp_path / "dist")])
    assert wheels._main() == 0
    said = capsys.readouterr()
    assert said.out == f"{tmp_path}/dist/{PURE}\n"
    assert said.err.startswith("no compiled wheel: no C compiler: no-such-compiler is not on PATH")
    assert [path.name for path in (tmp_path / "dist").iterdir()] == [PURE]
    with pytest.raises(CompileError):
        build_wheel("compiled", tmp_path)


def test_what_pip_says_of_a_failure_is_shown(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(wheels, "PROJECT_ROOT", tmp_path / "nowhere")
    with pytest.raises(WheelError, match=r"the pure wheel could not be built:[\s\S]*nowhere"):
        build_wheel("pure", tmp_path)
    assert list(tmp_path.iterdir()) == []
