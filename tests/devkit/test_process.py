"""devkit.process and devkit.guard: children end, however their parent ends."""

from __future__ import annotations

import signal
import subprocess
import sys
import time
from pathlib import Path

import psutil
import pytest

from devkit.paths import PROJECT_ROOT
from devkit.process import ManagedProcess, ProcessError, outputs
from devkit.waiting import wait_until

# A child that ends on SIGTERM with a status of its own, and a child that does not.
_OBEDIENT = (
    "import signal, sys, time; signal.signal(signal.SIGTERM, lambda *_: sys.exit(7));"
    "print('ready', flush=True); time.sleep(60)"
)
_STUBBORN = (
    "import signal, time; signal.signal(signal.SIGTERM, signal.SIG_IGN);"
    "print('ready', flush=True); time.sleep(60)"
)


def _start(code: str, log_path: Path) -> ManagedProcess:
    process = ManagedProcess("child", [sys.executable, "-c", code], log_path)
    wait_until(lambda: "ready" in process.tail(), "the child", 120)
    return process


def test_terminate_passes_sigterm_on_and_the_status_back(tmp_path: Path) -> None:
    process = _start(_OBEDIENT, tmp_path / "log")
    assert process.returncode is None
    assert process.terminate(30) == 7
    assert not process.running


def test_a_child_that_ignores_sigterm_is_killed_and_named(tmp_path: Path) -> None:
    process = _start(_STUBBORN, tmp_path / "log")
    pid = process.command_pid
    with pytest.raises(ProcessError, match=r"(?s)child did not end within 0\.2 s.*ready"):
        process.terminate(0.2)
    assert not psutil.pid_exists(pid)


def test_kill_ends_what_the_child_started_too(tmp_path: Path) -> None:
    code = (
        "import subprocess, sys;"
        "p = subprocess.Popen([sys.executable, '-c', 'import time; time.sleep(60)']);"
        "print('ready', p.pid, flush=True); p.wait()"
    )
    process = _start(code, tmp_path / "log")
    grandchild = int(process.tail().split()[1])
    process.kill()
    assert process.returncode == 128 + signal.SIGKILL
    wait_until(lambda: not _lives(grandchild), "the end of the grandchild", 30)


def test_kill_ends_what_leads_a_group_of_its_own(tmp_path: Path) -> None:
    """As a gateway's workers do."""
    code = (
        "import subprocess, sys;"
        "p = subprocess.Popen(['sleep', '60'], process_group=0);"
        "print('ready', p.pid, flush=True); p.wait()"
    )
    process = _start(code, tmp_path / "log")
    grandchild = int(process.tail().split()[1])
    process.kill()
    wait_until(lambda: not _lives(grandchild), "the end of the grandchild", 30)


def test_the_child_ends_when_its_starter_is_killed(tmp_path: Path) -> None:
    log_path = tmp_path / "log"
    code = (
        "import sys, time; from pathlib import Path; from devkit.process import ManagedProcess;"
        f"p = ManagedProcess('c', [sys.executable, '-c', {_STUBBORN!r}], Path({str(log_path)!r}));"
        "print(p.command_pid, flush=True); time.sleep(60)"
    )
    command = [sys.executable, "-c", code]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, cwd=PROJECT_ROOT) as starter:
        assert starter.stdout is not None
        child = int(starter.stdout.readline())
        assert _lives(child)
        starter.kill()
    wait_until(lambda: not _lives(child), "the end of the child", 30)


def test_tail_is_the_end_of_the_output(tmp_path: Path) -> None:
    code = "print('ready'); [print(n) for n in range(100)]"
    with ManagedProcess("child", [sys.executable, "-c", code], tmp_path / "log") as process:
        wait_until(lambda: not process.running, "the end of the child", 120)
    assert process.tail(2) == "98\n99"
    with pytest.raises(ProcessError, match="child has ended"):
        _ = process.command_pid


def _lives(pid: int) -> bool:
    try:
        return psutil.Process(pid).status() != psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return False


def test_outputs_are_of_what_runs_and_of_what_ended_since(tmp_path: Path) -> None:
    began = time.time()
    ended = _start("print('ready, once', flush=True)", tmp_path / "ended")
    ended.terminate(30)
    (tmp_path / "gone").mkdir()
    runs = _start(_OBEDIENT, tmp_path / "runs")
    gone = _start(_OBEDIENT, tmp_path / "gone" / "log")
    (tmp_path / "gone" / "log").unlink()
    assert ("child", "ready, once") in list(outputs(began))
    assert ("child", "ready") in list(outputs(began))
    assert ("child", "ready, once") not in list(outputs(time.time()))
    runs.kill()
    gone.kill()
    assert ("child", "ready") in list(outputs(began))
