"""What holds for every test."""

from __future__ import annotations

from collections.abc import Generator

import pytest
from hypothesis import settings

# A loaded machine is no bug, and a failure that nobody can repeat is worth little.
settings.register_profile("project", deadline=None, derandomize=True, print_blob=True)
settings.load_profile("project")


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport() -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """A test that skips itself fails: what was not tested shall not look as if it was."""
    report = yield
    if report.skipped and not hasattr(report, "wasxfail"):
        report.outcome = "failed"
        report.longrepr = f"no test may be skipped: {report.longrepr}"
    return report
