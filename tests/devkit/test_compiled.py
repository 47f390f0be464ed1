"""The compiled wheel, as users install it, is the same gateway as the sources."""

from __future__ import annotations

import os
import subprocess
import sys
import sysconfig
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from devkit.build_tree import CompileError, module_files, require_compiler
from devkit.installed import installed_command
from devkit.paths import PROJECT_ROOT
from devkit.suite.stages import EXAMPLES, GATE_EXAMPLES
from gateway.hot_path import MODULES

pytestmark = pytest.mark.long("builds")

FUZZ = "tests/session/test_fuzz.py"
NOT_ALONE = ("-m", "not alone")
SUITES = (
    (*NOT_ALONE, FUZZ),
    (
        *NOT_ALONE,
        "tests/session",
        f"--ignore={FUZZ}",
        "tests/scenarios",
        "tests/views/test_view.py",
        "tests/protocol/test_headers.py",
        "tests/protocol/test_kafka_reader.py",
        "tests/protocol/test_prebuilt.py",
        "tests/protocol/test_primitives.py",
        "tests/protocol/test_records.py",
        "tests/protocol/test_splice.py",
        "tests/protocol/test_steps.py",
    ),
)
"""Runs at the same time, each in a process of its own."""
ALONE = ("-m", "alone", "tests/session", "tests/scenarios")
"""Run after these, because it measures how long callbacks take."""

ORIGINS = """
import importlib, sys
for name in sys.argv[1:]:
    print(importlib.import_module(name).__file__)
"""


def run_compiled(path: Path, *arguments: str) -> str:
    """Run Python with the installed packages in front of the sources; returns what it printed."""
    env = {name: value for name, value in os.environ.items() if not name.startswith("PYTEST_")}
    env["PYTHONPATH"] = os.pathsep.join([str(path), str(PROJECT_ROOT)])
    env.setdefault(EXAMPLES, str(GATE_EXAMPLES))  # the pure form is tried with all of them
    done = subprocess.run(
        [sys.executable, "-P", *arguments],
        cwd=PROJECT_ROOT,
        env=env,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout
    return done.stdout


@pytest.mark.timeout(1800)
def test_the_compiled_gateway_passes_the_tests_of_the_pure_one() -> None:
    try:
        require_compiler()
    except CompileError as missing:
        with pytest.raises(CompileError, match=str(missing)):
            installed_command("compiled")
        return
    (path,) = installed_command("compiled").parents[1].glob("lib/python3*/site-packages")
    suffix = sysconfig.get_config_var("EXT_SUFFIX")
    files = [str(path / name.removesuffix(".py")) + suffix for name in module_files()]
    assert run_compiled(path, "-c", ORIGINS, *MODULES).split() == files
    # Neither option may put the project's own directory in front again.
    options = ["-q", "-x", "-p", "no:cacheprovider", "--import-mode=append", "-o", "pythonpath="]
    with ThreadPoolExecutor() as pool:
        runs = [pool.submit(run_compiled, path, "-m", "pytest", *options, *of) for of in SUITES]
        for run in runs:
            run.result()
    run_compiled(path, "-m", "pytest", *options, *ALONE)


def test_a_missing_compiler_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CC", "no-such-compiler -O2")
    with pytest.raises(CompileError, match="no C compiler: no-such-compiler is not on PATH"):
        installed_command("compiled")


def test_missing_headers_are_named(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("CC", sys.executable)
    monkeypatch.setattr(sysconfig, "get_path", lambda name: str(tmp_path / name))
    with pytest.raises(CompileError, match=r"include/Python\.h is missing"):
        require_compiler()


def test_what_is_compiled_is_there() -> None:
    assert [name for name in module_files() if not (PROJECT_ROOT / name).is_file()] == []
