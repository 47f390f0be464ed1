"""``python -m devkit.suite.warm_up``: makes the files that the stages of a fresh clone need, while
``make check`` runs, because that uses one processor, mostly for mypy.

If this fails, each stage makes missing files itself, and reports why it cannot.
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path

import pytest

from devkit import class_archive
from devkit.maven import ENDPOINTS, jars
from devkit.paths import PROJECT_ROOT


@contextmanager
def warming_up() -> Iterator[None]:
    """Run this module beside the body; it is ended after the body, although it may need more
    time."""
    command = [sys.executable, "-m", "devkit.suite.warm_up"]
    with subprocess.Popen(command, cwd=PROJECT_ROOT, stdout=subprocess.DEVNULL) as process:
        try:
            yield
        finally:
            process.terminate()


def import_tests(root: Path) -> None:
    """Import every test module under ``root`` once, so that pytest's rewritten modules are on disk,
    because else each process of a stage rewrites them, which takes half a minute."""
    os.chdir(root)
    pytest.main(["--collect-only", "-qq", "-p", "no:cacheprovider", "tests"])


def fetch_archives() -> None:
    """Make a broker's class data, before tests of a stage take ports, and fetch the other Java
    archives. Raises MavenError or BrokerError."""
    class_archive.main()
    for name in ENDPOINTS:
        jars(name)


def main() -> None:
    """Do both concurrently: fetching mostly waits for the network."""
    with ThreadPoolExecutor(1) as pool:
        fetching = pool.submit(fetch_archives)
        import_tests(PROJECT_ROOT)
        fetching.result()


if __name__ == "__main__":
    main()
