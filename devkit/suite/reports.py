"""A pytest plugin (``-p devkit.suite.reports``) that writes a line of JSON for each report of a
test: its node id, phase, outcome, seconds, and the reason of a failure.

Under pytest-xdist only the controller writes, also if one of its processes died.
"""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Final

import pytest

OPTION: Final = "--suite-reports"


@dataclass(frozen=True, slots=True)
class Report:
    """A report of pytest on a phase of a test."""

    test: str
    """pytest's node id, or the name of a process that died."""
    phase: str
    """``setup``, ``call`` or ``teardown`` of a test, ``collect`` of a file, ``crash`` of a
    process."""
    has_failed: bool
    seconds: float
    reason: str
    """The first line of the failure, or empty."""


def read_reports(path: Path) -> list[Report]:
    """Every report in a file of this plugin; empty if there is no such file.

    A last line that was cut off, when pytest was killed, is left out.
    """
    if not path.is_file():
        return []
    lines = path.read_text("utf-8").splitlines(keepends=True)
    return [Report(**json.loads(line)) for line in lines if line.endswith("\n")]


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(OPTION, metavar="FILE", help="write a line of JSON for each report of a test")


def pytest_configure(config: pytest.Config) -> None:
    path = config.getoption(OPTION)
    if path is not None and not hasattr(config, "workerinput"):
        config.pluginmanager.register(_Writer(Path(path)), "suite-reports-writer")


class _Writer:
    """Writes each line at once, so that the reports remain if pytest is killed."""

    def __init__(self, path: Path) -> None:
        self._file = path.open("w", encoding="utf-8")

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        reason = _first_line(report) if report.failed else ""
        self._write(Report(report.nodeid, str(report.when), report.failed, report.duration, reason))

    def pytest_collectreport(self, report: pytest.CollectReport) -> None:
        if report.failed:
            self._write(Report(report.nodeid, "collect", True, 0.0, _first_line(report)))

    @pytest.hookimpl(optionalhook=True)
    def pytest_testnodedown(self, node: object, error: object | None) -> None:
        if error is not None:
            self._write(Report(str(node), "crash", True, 0.0, str(error)))

    def pytest_unconfigure(self) -> None:
        self._file.close()

    def _write(self, report: Report) -> None:
        self._file.write(json.dumps(asdict(report)) + "\n")
        self._file.flush()


def _first_line(report: pytest.TestReport | pytest.CollectReport) -> str:
    """The exception's message, or the last line of the text: a traceback ends with the message."""
    crash = getattr(report.longrepr, "reprcrash", None)
    if crash is not None:
        return str(crash.message).partition("\n")[0]
    return report.longreprtext.strip().rpartition("\n")[2]
