"""The load generators are C, which only the bench needs, so their tests run if there is a
compiler."""

from __future__ import annotations

import shutil

COMPILER = shutil.which("cc")
collect_ignore = [] if COMPILER else ["test_crowd.py", "test_generators.py"]


def pytest_report_header() -> str:
    """Report whether the load generators are tested."""
    return f"load generators: {COMPILER or 'not tested, there is no C compiler'}"
