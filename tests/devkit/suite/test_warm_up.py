"""devkit.suite.warm_up: files that are made for the stages before they run."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

from devkit.paths import PROJECT_ROOT
from devkit.suite.warm_up import warming_up

IMPORT = "import sys, pathlib, devkit.suite.warm_up as w; w.import_tests(pathlib.Path(sys.argv[1]))"


def test_rewritten_assertions_are_left_on_disk(tmp_path: Path) -> None:
    tests = tmp_path / "tests"
    tests.mkdir()
    (tmp_path / "pytest.ini").write_text("[pytest]\n")
    (tests / "test_one.py").write_text("def test_one() -> None:\n    assert 1 == 2\n")
    (tests / "test_two.py").write_text("raise RuntimeError('a stage reports this')\n")
    env = {**os.environ, "PYTHONPATH": str(PROJECT_ROOT), "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}
    for name in ("PYTHONDONTWRITEBYTECODE", "PYTHONPYCACHEPREFIX"):
        env.pop(name, None)
    subprocess.run([sys.executable, "-c", IMPORT, str(tmp_path)], env=env, check=True)
    written = {path.name.split(".")[0] for path in tests.glob("__pycache__/*-pytest-*.pyc")}
    assert written == {"test_one", "test_two"}


def test_it_is_ended_behind_what_it_runs_beside(monkeypatch: pytest.MonkeyPatch) -> None:
    popen = subprocess.Popen
    endless = [sys.executable, "-c", "import time; time.sleep(600)"]
    monkeypatch.setattr(subprocess, "Popen", lambda _, **options: popen(endless, **options))
    began = time.monotonic()
    with warming_up():
        pass
    assert time.monotonic() - began < 300
