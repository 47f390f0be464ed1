"""Runs a command and ends it when the process that started this guard is gone.

``python guard.py COMMAND ARG...`` runs the command in a session of its own. The starter holds the
other end of this process's standard input and never writes to it: if that end closes, however the
starter ended (``kill -9`` too), the command and all processes that it started are killed. SIGTERM
and SIGINT are passed on to the command. The exit status is the command's (128 + the signal if a
signal ended it).

Imports only the standard library, and nothing of this project, so that it starts in a few
milliseconds.
"""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
import threading
from types import FrameType


def main(command: list[str]) -> int:
    """Run ``command`` as the module's docstring describes; returns the exit status."""
    early: list[int] = []
    for signum in (signal.SIGTERM, signal.SIGINT):
        signal.signal(signum, lambda signum, _frame: early.append(signum))
    process = subprocess.Popen(command, stdin=subprocess.DEVNULL, start_new_session=True)

    def kill_session() -> None:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        for pid in in_session(process.pid):
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)

    def pass_on(signum: int, _frame: FrameType | None) -> None:
        process.send_signal(signum)

    def kill_when_the_starter_is_gone() -> None:
        while os.read(0, 4096):
            pass
        kill_session()

    for signum in (signal.SIGTERM, signal.SIGINT):
        signal.signal(signum, pass_on)
    for came_early in early:
        process.send_signal(came_early)
    threading.Thread(target=kill_when_the_starter_is_gone, daemon=True).start()
    status = process.wait()
    kill_session()
    return status if status >= 0 else 128 - status


def in_session(session: int) -> list[int]:
    """The processes of a session, whichever groups they lead; empty if there is no /proc."""
    from pathlib import Path  # imported here, so that the start does not wait for it

    found = []
    for stat in Path("/proc").glob("[0-9]*/stat"):
        with contextlib.suppress(OSError):  # the process has ended meanwhile
            # pid (name) state parent group session ...
            if int(stat.read_text().rpartition(")")[2].split()[3]) == session:
                found.append(int(stat.parent.name))
    return found


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
