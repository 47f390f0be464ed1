"""Drivers of Spark jobs as processes, as users start them, and the tables that they write."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final

from devkit.paths import PROJECT_ROOT
from devkit.process import ManagedProcess
from devkit.spark_cluster import environment, spark_home
from devkit.spark_jars import spark_jars
from devkit.waiting import wait_until
from devkit.wheels import build_wheel
from tests.spark.all_jobs import SMALL

SECONDS: Final = 600.0
"""Time limit of a driver, on a busy machine."""

NO_PYTHON: Final = {"PYSPARK_PYTHON": "/nowhere/python"}
"""The Python that executors would start: a job that needs it fails."""

Answers = Mapping[str, Sequence[str]]
"""By table: its rows as JSON, sorted."""


def run(name: str, command: Sequence[str], directory: Path, env: Mapping[str, str]) -> str:
    """Run a driver to its end; returns what it printed. A status other than 0 fails the test."""
    log_path = directory / f"{name}.log"
    with ManagedProcess(name, command, log_path, env=env, cwd=directory) as process:
        wait_until(lambda: not process.running, name, SECONDS)
    printed = log_path.read_text()
    assert process.returncode == 0, printed
    return printed


def run_all_jobs(
    name: str, arguments: Sequence[str], directory: Path, env: Mapping[str, str]
) -> str:
    """One driver for all jobs (tests/spark/all_jobs.py)."""
    command = [sys.executable, "-m", "tests.spark.all_jobs", *arguments, *_output(directory, name)]
    command += ["--page", str(directory / name / "report.html")]
    own = {"PYTHONPATH": str(PROJECT_ROOT), "SPARK_LOCAL_DIRS": str(directory)}
    return run(name, command, directory, {**os.environ, **NO_PYTHON, **own, **env})


def spark_submit(
    name: str, job: str, master: str, arguments: Sequence[str], directory: Path
) -> str:
    """Submit a job as docs/spark.md does: the wheel is all that its Python has of the project.

    It is the Python that this environment was made from, which has only Spark's pyspark.
    """
    command = [str(spark_home() / "bin" / "spark-submit"), "--master", master]
    command += ["--py-files", str(build_wheel("pure", directory))]
    command += ["--jars", ",".join(map(str, sorted(spark_jars().glob("*.jar"))))]
    command += [f"--conf={key}={value}" for key, value in SMALL.items()]
    command += [str(PROJECT_ROOT / "spark" / f"{job}.py"), *arguments, *_output(directory, name)]
    python = str(Path(sys.executable).resolve())
    env = {**environment(directory), **NO_PYTHON, "PYSPARK_DRIVER_PYTHON": python}
    env.pop("PYTHONPATH", None)
    return run(name, command, directory, env)


def answers(directory: Path, name: str) -> Answers:
    """The tables that a driver wrote."""
    return {
        table.name: sorted(
            line for part in table.glob("part-*.json") for line in part.read_text().splitlines()
        )
        for table in (directory / name).iterdir()
        if table.is_dir()
    }


def _output(directory: Path, name: str) -> list[str]:
    return ["--output", str(directory / name), "--format", "json", "--quiet"]
