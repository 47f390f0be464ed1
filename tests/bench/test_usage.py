"""bench.usage: what the kernel says of processes."""

from __future__ import annotations

import os
import subprocess
import sys
import time

import psutil
import pytest

from bench.usage import cpu_seconds, resident_kib, with_descendants


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
