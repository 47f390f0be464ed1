"""The environment of users has the packages of the lock, and no development packages."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import pytest

from devkit.paths import PROJECT_ROOT
from devkit.runtime_environment import RuntimeEnvironmentError, runtime_python

LOCK = PROJECT_ROOT / "requirements" / "runtime.txt"


def ask(program: str) -> str:
    """The output of a program that runs in the environment, with the project's sources."""
    command = [str(runtime_python()), "-P", "-c", program]
    environment = {"PYTHONPATH": str(PROJECT_ROOT)}
    return subprocess.run(
        command, env=environment, capture_output=True, check=True, text=True
    ).stdout.strip()


def test_it_has_the_packages_of_the_lock_and_the_gateway() -> None:
    names = ask(
        "from importlib.metadata import distributions\n"
        "print(*sorted(f'{d.name.lower()}=={d.version}' for d in distributions()))"
    ).split()
    pinned = re.findall(r"^(\S+==\S+)", LOCK.read_text(), re.MULTILINE)
    gateway = next(name for name in names if name.startswith("kafka-namespace-gateway=="))
    # The gateway may be there twice: among the packages, and beside the sources once it was built.
    canonical = {re.sub("[_.](?=.*==)", "-", name) for name in names}
    assert sorted(canonical) == sorted([*pinned, gateway])


@pytest.mark.long("builds")
def test_a_worker_starts_from_it_without_hypothesis() -> None:
    assert ask("import sys, gateway.processes.worker; print('hypothesis' in sys.modules)") == (
        "False"
    )


def test_a_lock_that_is_not_what_is_installed(tmp_path: Path) -> None:
    lock = tmp_path / "runtime.txt"
    lock.write_text("uvloop==0.0.1 \\\n    --hash=sha256:00\n")
    with pytest.raises(RuntimeEnvironmentError, match=r"uvloop is .*, the lock has 0\.0\.1"):
        runtime_python(lock)
    lock.write_text("no-such-package==1.0\n")
    with pytest.raises(RuntimeEnvironmentError, match="no-such-package is not installed"):
        runtime_python(lock)
