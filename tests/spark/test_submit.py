"""``.venv/bin/spark-submit`` as in docs/spark.md: from an environment in which no variable is
set."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from devkit.paths import PROJECT_ROOT
from devkit.spark_scripts import NotInstalledError, install
from tests.spark import samples

PROGRAMS = Path(sys.executable).parent
NOTHING = {"HOME": "/nowhere", "PATH": "/usr/bin:/bin"}


@pytest.fixture(scope="module", autouse=True)
def _installed() -> None:
    """Install as ``make spark`` does; it may be done again."""
    install(PROGRAMS)


def submit(*arguments: str, **env: str) -> subprocess.CompletedProcess[str]:
    """Run it with only the variables that a login has."""
    command = [str(PROGRAMS / "spark-submit"), *arguments]
    return subprocess.run(
        command, cwd=PROJECT_ROOT, capture_output=True, text=True, check=False, env=NOTHING | env
    )


def test_it_finds_its_spark_and_its_java() -> None:
    ended = submit("--version")
    assert ended.returncode == 0, ended.stderr
    assert "version 4.0" in ended.stderr


@pytest.mark.long("spark")
def test_a_job_runs_with_the_environments_own_python(tmp_path: Path) -> None:
    log = tmp_path / "a-1.jsonl"
    log.write_text(json.dumps(samples.flow() | {"id": "1"}) + "\n")
    output = tmp_path / "out"
    given = ["spark/guarantees.py", "--input", str(log), "--output", str(output), "--quiet"]
    quick = "--driver-java-options=-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"
    ended = submit(quick, *given, SPARK_LOCAL_DIRS=str(tmp_path))
    assert ended.returncode == 0, ended.stderr
    assert list(output.glob("guarantees/part-*.parquet"))


def test_a_spark_that_is_chosen_is_taken(tmp_path: Path) -> None:
    chosen = tmp_path / "bin" / "spark-class"
    chosen.parent.mkdir()
    chosen.write_text("#!/bin/sh\necho the chosen one: $*\n")
    chosen.chmod(0o755)
    ended = submit("--version", SPARK_HOME=str(tmp_path))
    assert ended.stdout == "the chosen one: org.apache.spark.deploy.SparkSubmit --version\n"


def test_an_environment_without_spark_is_told(tmp_path: Path) -> None:
    with pytest.raises(NotInstalledError, match="make spark"):
        install(tmp_path)
    assert not list(tmp_path.iterdir())
