"""Waits for conditions, with a deadline, and prints progress for the person who waits."""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TextIO, TypeVar

POLL_SECONDS = 0.05
QUIET_SECONDS = 2.0

Value = TypeVar("Value")


class DeadlineError(Exception):
    """A condition did not come true in time."""


def wait_until(
    condition: Callable[[], Value], what: str, seconds: float, poll: float = POLL_SECONDS
) -> Value:
    """Call ``condition`` until it returns a true value, and return that.

    Raises DeadlineError, which names ``what``, after ``seconds``.
    """
    deadline = time.monotonic() + seconds
    while True:
        value = condition()
        if value:
            return value
        if time.monotonic() >= deadline:
            raise DeadlineError(f"{what}: not within {seconds:g} s")
        time.sleep(poll)


class Progress:
    """The state of a long step; ``detail`` is shown with the seconds gone by."""

    def __init__(self, title: str) -> None:
        self.title = title
        self.detail = ""


@contextmanager
def progress(title: str, stream: TextIO | None = None) -> Iterator[Progress]:
    """Print a line every two seconds for as long as the body of the ``with`` takes.

    If the body takes less, nothing is printed. The lines go to ``stream``, by default stderr.
    """
    out = stream or sys.stderr
    state = Progress(title)
    done = threading.Event()
    started = time.monotonic()

    def tell() -> None:
        while not done.wait(QUIET_SECONDS):
            detail = f": {state.detail}" if state.detail else ""
            print(f"  {title}{detail} ({time.monotonic() - started:.0f} s)", file=out, flush=True)

    teller = threading.Thread(target=tell, name=f"progress: {title}", daemon=True)
    teller.start()
    try:
        yield state
    finally:
        done.set()
        teller.join()
