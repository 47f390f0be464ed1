"""Runs one command and sees that it ends when whoever started this process is gone.

``python guard.py COMMAND ARG...`` runs the command in a session of its own. The starter holds the
other end of this process's standard input and never writes to it: its end, however the starter
ended (``kill -9`` too), is the order to kill the command and what it started. SIGTERM and SIGINT
are passed on to the command. The exit status is the command's (128 + the signal if one ended it).

Only the standard library, and no import of this project: it starts in a few milliseconds.
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
    """Run ``command``, as the module says; returns the exit status."""
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
    """The processes of a session, whichever groups they lead; none if there is no /proc."""
    from pathlib import Path  # the start waits for no import that it can do without

    found = []
    for stat in Path("/proc").glob("[0-9]*/stat"):
        with contextlib.suppress(OSError):  # it has ended meanwhile
            # pid (name) state parent group session ...
            if int(stat.read_text().rpartition(")")[2].split()[3]) == session:
                found.append(int(stat.parent.name))
    return found


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
