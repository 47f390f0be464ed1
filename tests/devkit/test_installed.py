"""Both wheels, each built as pip builds it for users, and installed into an empty environment."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

from devkit import build_tree, installed
from devkit.build_tree import CompileError, require_compiler
from devkit.installed import InstallError, installed_command
from devkit.paths import PROJECT_ROOT
from devkit.wheels import FORMS
from gateway import version
from gateway.hot_path import MODULES
from tests.commands.cli_page import steps

pytestmark = pytest.mark.long("builds")

ASK = """
import json, sys
from gateway.hot_path import MODULES
from importlib import import_module
from importlib.metadata import distributions
files = [import_module(name).__file__ for name in MODULES]
from protocol.prebuilt import PREBUILT
names = [one.name.lower() for one in distributions()]
print(json.dumps({"files": files, "prebuilt": len(PREBUILT), "names": names, "path": sys.path}))
"""


def run(directory: Path, *words: str | Path) -> str:
    """Run a command in an empty directory, without this process's Python; returns its output."""
    done = subprocess.run(
        list(map(str, words)),
        cwd=directory,
        env={"PATH": "/usr/bin:/bin", "HOME": str(directory)},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout
    return done.stdout


@pytest.mark.timeout(1800)
@pytest.mark.parametrize("form", FORMS)
def test_an_empty_environment(form: str, tmp_path: Path) -> None:
    if form == "compiled":
        try:
            require_compiler()
        except CompileError as missing:
            with pytest.raises(CompileError, match=str(missing)):
                installed_command(form)
            return
    command = installed_command(form)
    compiled = len(MODULES) if form == "compiled" else 0
    said = json.loads(run(tmp_path, command, "version", "--json"))
    assert said["version"] == version()
    assert (said["form"], said["compiled_modules"]) == (form, compiled)
    assert said["hot_path_modules"] == len(MODULES)

    environment = command.parents[1]
    found = json.loads(run(tmp_path, environment / "bin" / "python", "-P", "-c", ASK))
    assert str(PROJECT_ROOT) not in found["path"]
    ending = ".so" if form == "compiled" else ".py"
    assert [one for one in found["files"] if not one.startswith(str(environment))] == []
    assert [one for one in found["files"] if not one.endswith(ending)] == []
    assert (found["prebuilt"] > 0) == (form == "compiled")
    lock = (PROJECT_ROOT / "requirements" / "runtime.txt").read_text()
    canonical = {re.sub("[_.]", "-", name) for name in found["names"]}
    pinned = {one.lower() for one in re.findall(r"^(\S+)==", lock, re.MULTILINE)}
    assert canonical == {*pinned, "kafka-namespace-gateway"}
    assert installed_command(form) == command, "it is made once"


@pytest.mark.timeout(1800)
def test_the_compiled_form_says_what_the_page_shows(tmp_path: Path) -> None:
    try:
        require_compiler()
    except CompileError:
        return  # test_an_empty_environment has that case
    (step,) = steps("version")
    said = run(tmp_path, installed_command("compiled"), "version")
    shown = re.sub(r"Python .*", "Python", step.output)
    assert re.sub(r"Python .*", "Python", said) == shown


def test_a_failure_leaves_no_environment_that_looks_whole(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("KAFKA_GATEWAY_CACHE", str(tmp_path))
    monkeypatch.setattr(installed, "build_wheel", lambda *_, **__: tmp_path / "no.whl")
    monkeypatch.setattr(installed, "_LOCK", tmp_path / "no.txt")
    with pytest.raises(InstallError, match=r"(?s)pip install --require-hashes.*no\.txt"):
        installed_command("pure")
    assert list(tmp_path.glob("installed/*/installed")) == []


def test_old_environments_are_forgotten(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("KAFKA_GATEWAY_CACHE", str(tmp_path))
    made: list[Path] = []

    def install(path: Path, *_: object) -> None:
        path.mkdir()
        made.append(path)

    monkeypatch.setattr(installed, "build_wheel", lambda *_, **__: tmp_path / "no.whl")
    monkeypatch.setattr(installed, "_install", install)
    first = installed_command("pure")
    assert installed_command("pure") == first
    monkeypatch.setattr(sys, "version", "another Python")
    monkeypatch.setattr(installed, "_KEPT_SECONDS", -1.0)
    second = installed_command("pure")
    assert second != first
    assert len(made) == 2
    assert not made[0].exists()


def test_an_edit_makes_another_environment(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """So that modules compiled from older sources never run in the place of edited ones."""
    monkeypatch.setenv("KAFKA_GATEWAY_CACHE", str(tmp_path))
    monkeypatch.setattr(installed, "build_wheel", lambda *_, **__: tmp_path / "no.whl")
    monkeypatch.setattr(installed, "_install", lambda path, *_: path.mkdir())
    sources = {"gateway/a.py": b"1\n"}
    monkeypatch.setattr(build_tree, "sources", lambda _: dict(sources))
    first = installed_command("pure")
    sources["gateway/a.py"] = b"2\n"
    second = installed_command("pure")
    assert second != first
    sources["gateway/a.py"] = b"1\n"
    assert installed_command("pure") == first
