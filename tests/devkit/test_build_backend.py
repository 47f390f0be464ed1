"""devkit.build_backend: the form that is built, its requirements, and the content of a wheel."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tarfile
from pathlib import Path
from zipfile import ZipFile

import pytest
from setuptools import build_meta

from devkit import build_backend, build_tree
from devkit.build_tree import CompileError
from devkit.paths import PROJECT_ROOT

NO_COMPILER = "no-such-compiler"


def with_compiler(monkeypatch: pytest.MonkeyPatch) -> None:
    """Pretend that there is a compiler, whether or not this machine has one."""
    monkeypatch.setattr(build_backend, "require_compiler", lambda: None)


def test_the_project_is_built_by_it() -> None:
    project = (PROJECT_ROOT / "pyproject.toml").read_text()
    assert 'build-backend = "devkit.build_backend"\nbackend-path = ["."]' in project


@pytest.mark.parametrize("chosen", ["", "compiled"])
def test_with_a_compiler_the_compiled_form_is_built(
    chosen: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    with_compiler(monkeypatch)
    monkeypatch.setenv(build_backend.VARIABLE, chosen)
    needed = build_backend.get_requires_for_build_wheel()
    lock = (PROJECT_ROOT / "requirements" / "runtime.txt").read_text()
    runtime = re.findall(r"^(\S+==\S+)", lock, re.MULTILINE)
    assert len(runtime) > 12
    assert {*runtime} < {*needed}
    (mypy,) = {*needed} - {*runtime}
    assert mypy in (PROJECT_ROOT / "requirements" / "dev.txt").read_text()
    assert mypy.startswith("mypy==")


@pytest.mark.parametrize(("chosen", "compiler"), [("", NO_COMPILER), ("pure", sys.executable)])
def test_the_pure_form_needs_setuptools_alone(
    chosen: str, compiler: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(build_backend.VARIABLE, chosen)
    monkeypatch.setenv("CC", compiler)
    assert build_backend.get_requires_for_build_wheel() == []


def test_the_compiled_form_is_not_replaced_if_it_was_chosen(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv(build_backend.VARIABLE, "compiled")
    monkeypatch.setenv("CC", NO_COMPILER)
    with pytest.raises(CompileError, match="no C compiler: no-such-compiler is not on PATH"):
        build_backend.build_wheel(str(tmp_path))
    with pytest.raises(CompileError, match="no-such-compiler"):
        build_backend.get_requires_for_build_wheel()


def test_compiling_is_told_with_the_other_choice(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Also on the terminal, because pip keeps the output of a build until it fails."""
    with_compiler(monkeypatch)
    monkeypatch.delenv(build_backend.VARIABLE, raising=False)
    terminal = tmp_path / "terminal"
    said = []
    monkeypatch.setattr(build_backend, "_TERMINAL", terminal)
    monkeypatch.setattr(build_backend, "_INTERVAL", 0.01)

    def fail(*_: object) -> str:
        told = capsys.readouterr().err
        while "so far" not in told:
            told += capsys.readouterr().err
        said.append(told)
        raise SystemExit("error: command 'cc' failed")

    monkeypatch.setattr(build_meta, "build_wheel", fail)
    monkeypatch.setattr(build_tree, "compiled_sources", lambda _: {})
    with pytest.raises(SystemExit):
        build_backend.build_wheel(str(tmp_path))
    choice = f"{build_backend.VARIABLE}=pure"
    assert choice in said[0]
    assert choice in capsys.readouterr().err
    assert choice in terminal.read_text()


def test_another_form(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(build_backend.VARIABLE, "fast")
    with pytest.raises(CompileError, match="KAFKA_GATEWAY_BUILD=fast: it has to be compiled or"):
        build_backend.get_requires_for_build_wheel()


def test_without_a_compiler_the_pure_wheel_is_built_and_that_is_said(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.delenv(build_backend.VARIABLE, raising=False)
    monkeypatch.setenv("CC", NO_COMPILER)
    before = _files_of_the_project()
    monkeypatch.chdir(PROJECT_ROOT)
    name = build_backend.build_wheel(str(tmp_path))
    assert Path.cwd() == PROJECT_ROOT
    assert _files_of_the_project() == before
    said = [line for line in capfd.readouterr().err.splitlines() if "kafka-gateway:" in line]
    assert said == [
        "kafka-gateway: building the pure form, which is slower: no C compiler: no-such-compiler "
        "is not on PATH; install one, or name it in CC"
    ]
    assert name == "kafka_namespace_gateway-0.1.0-py3-none-any.whl"
    with ZipFile(tmp_path / name) as wheel:
        names = {one for one in wheel.namelist() if ".dist-info/" not in one}
        prebuilt = wheel.read("protocol/prebuilt.py")
    assert prebuilt == (PROJECT_ROOT / "protocol" / "prebuilt.py").read_bytes()
    packages = ("gateway", "protocol", "spark")
    assert {one.partition("/")[0] for one in names} == {*packages}
    tracked = subprocess.run(
        ["git", "ls-files", "--cached", "--others", "--exclude-standard", *packages],
        cwd=PROJECT_ROOT,
        capture_output=True,
        text=True,
        check=True,
    )
    there = {one for one in tracked.stdout.split() if (PROJECT_ROOT / one).is_file()}
    assert names == there


def test_an_editable_install_is_setuptools_own() -> None:
    """It takes seconds, and edited sources must not be shadowed."""
    assert build_backend.build_editable is build_meta.build_editable
    assert build_backend.get_requires_for_build_editable() == []


@pytest.mark.long("builds")
def test_a_source_distribution_has_what_builds_it(tmp_path: Path) -> None:
    """Made from a copy, because setuptools leaves files; then a wheel is made from its content."""
    project = tmp_path / "project"
    packages = ("gateway", "protocol", "spark", "devkit", "requirements")
    build_tree.write(project, build_tree.sources(packages))
    for name in ("pyproject.toml", "MANIFEST.in"):
        build_tree.write(project, {name: (PROJECT_ROOT / name).read_bytes()})
    _hook(project, "build_sdist", tmp_path)
    (archive,) = tmp_path.glob("*.tar.gz")
    with tarfile.open(archive) as sources:
        sources.extractall(tmp_path / "unpacked", filter="data")
    (unpacked,) = (tmp_path / "unpacked").iterdir()
    _hook(unpacked, "build_wheel", tmp_path)
    with ZipFile(tmp_path / "kafka_namespace_gateway-0.1.0-py3-none-any.whl") as wheel:
        assert {"gateway/cli.py", "spark/assets/echarts.min.js"} <= {*wheel.namelist()}
    generated = "from devkit.build_tree import compiled_sources; compiled_sources(['protocol'])"
    _python(unpacked, generated)
    assert "mypy==2" in _python(unpacked, "import sys", _asking("get_requires_for_build_wheel()"))


def _hook(project: Path, name: str, directory: Path) -> None:
    _python(project, _asking(f"{name}({str(directory)!r})"), form="pure")


def _asking(call: str) -> str:
    return (
        "from devkit import build_backend as it; it.require_compiler = lambda: None; "
        f"print(it.{call})"
    )


def _python(project: Path, *lines: str, form: str = "") -> str:
    """The output of a program that sees the project in its directory, as a frontend of PEP 517."""
    env = {**os.environ, "PYTHONPATH": str(project), build_backend.VARIABLE: form}
    done = subprocess.run(
        [sys.executable, "-c", "\n".join(lines)],
        cwd=project,
        env=env,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout
    return done.stdout


def _files_of_the_project() -> set[Path]:
    """Entries of the project's top directory, except hidden entries, because tests that run beside
    this one may make tools' caches."""
    return {path for path in PROJECT_ROOT.iterdir() if not path.name.startswith(".")}
