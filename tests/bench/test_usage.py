"""bench.usage: the kernel's figures about processes."""

from __future__ import annotations

import os
import subprocess
import sys
import time

import psutil
import pytest

from bench.usage import (
    CommandFailed,
    cpu_seconds,
    cpu_seconds_of,
    resident_kib,
    with_descendants,
)


def test_cpu_seconds_are_those_of_the_process() -> None:
    before = cpu_seconds([os.getpid()])
    start = time.process_time()
    while time.process_time() - start < 0.05:
        pass
    spent = cpu_seconds([os.getpid()]) - before
    assert 0.05 <= spent < 0.5
    assert cpu_seconds([]) == 0


def test_they_agree_with_proc() -> None:
    times = psutil.Process().cpu_times()
    assert cpu_seconds([os.getpid()]) == pytest.approx(times.user + times.system, abs=0.1)


def test_cpu_seconds_of_a_command() -> None:
    busy = "import time\nwhile time.process_time() < 0.3: pass"
    assert 0.3 <= cpu_seconds_of([sys.executable, "-c", busy], os.environ) < 1
    # Sleeping takes no CPU time, so the rest is the start of Python.
    idle = cpu_seconds_of([sys.executable, "-c", "import time; time.sleep(0.5)"], os.environ)
    assert 0 < idle < 0.3


def test_a_command_that_fails_is_not_measured() -> None:
    failing = [sys.executable, "-c", "raise SystemExit('no such port')"]
    with pytest.raises(CommandFailed, match="ended with status 1: no such port"):
        cpu_seconds_of(failing, os.environ)


def test_descendants_and_their_memory() -> None:
    code = "import sys; print('up', flush=True); sys.stdin.read()"
    command = [sys.executable, "-c", code]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as child:
        assert child.stdout is not None
        assert child.stdin is not None
        child.stdout.readline()
        assert child.pid in with_descendants(os.getpid())
        assert with_descendants(child.pid) == [child.pid]
        assert 1024 < resident_kib([child.pid])[0] < 1 << 20
        assert cpu_seconds([child.pid]) > 0
        child.stdin.close()
    with pytest.raises(OSError, match=f"process {child.pid}"):
        cpu_seconds([child.pid])
