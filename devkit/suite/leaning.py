"""``python -m devkit.suite.leaning [WAY] [PATH ...]``: searches for tests that lean on another one.

A test leans on another if it passes only because the other ran before it: a second look, which runs
it by itself, then cannot judge it. This module is also the plugin of pytest that runs tests, those
of the unit stage or those in PATH, in either way or both:

    backwards   the files as ever, the tests of each file in reverse order
    alone       each test in a process in which no other test has run: forked from one that has
                collected all tests and run none, so imports are shared, and fixtures are not

Alone, a function with many cases runs for its first, its last and a random case, because a leaning
function rarely leans in a case between them only.
"""

from __future__ import annotations

import json
import os
import random
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import IO, Final, NoReturn

import pytest
from _pytest.runner import runtestprotocol

from devkit import ports
from devkit.paths import PROJECT_ROOT
from devkit.suite.stages import EXAMPLES, GATE_EXAMPLES, UNIT, Stage

WAYS: Final = ("backwards", "alone")
PROCESSES: Final = 2
_CASES: Final = 3


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add ``--leaning``."""
    group = parser.getgroup("leaning", "tests that lean on another test")
    group.addoption("--leaning", choices=WAYS, help="reverse each file, or fork for each test")
    group.addoption("--leaning-seed", type=int, default=0, help="of the random cases (alone)")


def pytest_configure(config: pytest.Config) -> None:
    """Run each test in a process of its own, if that is asked for."""
    if config.getoption("leaning") == "alone":
        config.pluginmanager.register(Alone(config))


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Reverse the tests of each file, or leave out cases, after marks have been applied."""
    if config.getoption("leaning") == "backwards":
        items[:] = backwards(items)
    elif config.getoption("leaning") == "alone":
        kept = set(few_cases(items, random.Random(config.getoption("leaning_seed"))))
        config.hook.pytest_deselected(items=[item for item in items if item not in kept])
        items[:] = [item for item in items if item in kept]


def backwards(items: Iterable[pytest.Item]) -> list[pytest.Item]:
    """The files in their order, the tests of each in reverse."""
    return [item for tests in _grouped(items, 0).values() for item in reversed(tests)]


def few_cases(items: Iterable[pytest.Item], drawn: random.Random) -> Iterable[pytest.Item]:
    """Every test; of a function with more than three cases the first, the last and a drawn case."""
    for cases in _grouped(items, 1).values():
        few = len(cases) <= _CASES
        yield from cases if few else (cases[0], drawn.choice(cases[1:-1]), cases[-1])


def _grouped(items: Iterable[pytest.Item], parts: int) -> dict[str, list[pytest.Item]]:
    """Tests by their files, or by their functions if ``parts`` is 1."""
    groups: dict[str, list[pytest.Item]] = {}
    for item in items:
        name = f"{item.path}::{item.nodeid.partition('[')[0]}" if parts else str(item.path)
        groups.setdefault(name, []).append(item)
    return groups


class Alone:
    """Runs each test in a forked process, and reports here what came of it."""

    def __init__(self, config: pytest.Config) -> None:
        self._config = config
        self._reports: list[pytest.TestReport] = []
        self._running: dict[int, tuple[int, pytest.Item, IO[str], float]] = {}
        """By process: its number, its test, the file with its reports, and when it began."""

    def pytest_runtestloop(self, session: pytest.Session) -> bool | None:
        """Run the tests, ``PROCESSES`` at a time."""
        if session.testsfailed or self._config.option.collectonly:
            return None
        # A forked process has neither the threads of its parent nor their locks.
        if threading.active_count() != 1:
            raise pytest.UsageError(f"collecting started {threading.enumerate()}; -n is not for it")
        # One for all, because each process would remove directories of those that run beside it.
        self._config._tmp_path_factory.getbasetemp()  # type: ignore[attr-defined]
        for item in session.items:
            if len(self._running) == PROCESSES:
                self._wait()
            self._start(item)
            if session.shouldfail:
                break
        while self._running:
            self._wait()
        if session.shouldfail:
            raise session.Failed(session.shouldfail)
        return True

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> bool:
        """In the forked process: run the test and all its fixtures, and keep the reports."""
        self._reports = runtestprotocol(item, log=False, nextitem=None)
        return True

    def _start(self, item: pytest.Item) -> None:
        taken = {number for number, *_ in self._running.values()}
        number = min(set(range(PROCESSES)) - taken)
        reports = tempfile.TemporaryFile("w+", encoding="utf-8")  # noqa: SIM115 - until _wait
        self._config.get_terminal_writer().flush()
        if pid := os.fork():
            self._running[pid] = number, item, reports, time.time()
        else:
            self._in_child(number, item, reports)

    def _in_child(self, number: int, item: pytest.Item, reports: IO[str]) -> NoReturn:
        status = 1
        try:
            ports.keep_to(number, PROCESSES)
            # New files for its output, because the parent's are shared with other processes.
            capture = self._config.pluginmanager.getplugin("capturemanager")
            capture.stop_global_capturing()
            capture.start_global_capturing()
            capture.suspend_global_capture()
            hook = self._config.hook
            hook.pytest_runtest_protocol(item=item, nextitem=None)
            of_test = [
                hook.pytest_report_to_serializable(config=self._config, report=report)
                for report in self._reports
            ]
            json.dump(of_test, reports, default=str)
            reports.flush()
            status = 0
        finally:
            os._exit(status)

    def _wait(self) -> None:
        """Wait for a process, and report its test."""
        pid, status = os.wait()
        _, item, written, began = self._running.pop(pid)
        hook = self._config.hook
        hook.pytest_runtest_logstart(nodeid=item.nodeid, location=item.location)
        with written:
            written.seek(0)
            of_test = [] if status else json.load(written)
        for data in of_test:
            report = hook.pytest_report_from_serializable(config=self._config, data=data)
            hook.pytest_runtest_logreport(report=report)
        if status:
            ended = f"its process ended with {os.waitstatus_to_exitcode(status)}"
            hook.pytest_runtest_logreport(report=_failure(item, ended, time.time() - began))
        hook.pytest_runtest_logfinish(nodeid=item.nodeid, location=item.location)


def _failure(item: pytest.Item, reason: str, seconds: float) -> pytest.TestReport:
    """The report of a test whose process ended without one."""
    return pytest.TestReport(
        item.nodeid, item.location, {}, "failed", reason, "call", duration=seconds
    )


def main(arguments: Sequence[str]) -> int:
    """Run the tests; returns 1 if a test fails in any way."""
    ways = [argument for argument in arguments if argument in WAYS] or WAYS
    paths = [argument for argument in arguments if argument not in WAYS]
    stage = Stage("", (), ("long", "alone"), paths, PROCESSES) if paths else UNIT
    os.environ.setdefault(EXAMPLES, str(GATE_EXAMPLES))
    plugin = ["-p", "devkit.suite.leaning", "-o", "tmp_path_retention_policy=failed", "-q"]
    red = False
    for way in ways:
        # Alone has processes of its own: xdist's have a thread, which a forked process lacks.
        stage = stage if way == "backwards" else replace(stage, processes=1)
        options = [*plugin, f"--leaning={way}", f"--leaning-seed={int(time.time())}"]
        print(f"\n{' '.join(options)}", flush=True)
        command = [sys.executable, "-m", "pytest", *options, *stage.command()]
        red |= subprocess.call(command, cwd=PROJECT_ROOT) != 0
    return int(red)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
