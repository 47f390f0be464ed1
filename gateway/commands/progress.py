"""Progress of what takes long: a line on standard error every two seconds."""

from __future__ import annotations

import asyncio
import sys
from contextlib import suppress
from types import TracebackType
from typing import Self

INTERVAL = 2.0
"""Seconds until the first line, and between two lines."""


class Progress:
    """``async with Progress("deleting namespace 'org'") as progress: progress.text = ...``

    What is over within ``INTERVAL`` says nothing. ``text`` is how far it is.
    """

    def __init__(self, what: str) -> None:
        self.text = ""
        self._what = what
        self._task: asyncio.Task[None] | None = None

    async def __aenter__(self) -> Self:
        self._task = asyncio.create_task(self._tell())
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        assert self._task is not None
        self._task.cancel()
        with suppress(asyncio.CancelledError):
            await self._task

    async def _tell(self) -> None:
        started = asyncio.get_running_loop().time()
        while True:
            await asyncio.sleep(INTERVAL)
            seconds = asyncio.get_running_loop().time() - started
            how_far = f": {self.text}" if self.text else ""
            print(f"{self._what}{how_far} ({seconds:.0f} s so far)", file=sys.stderr, flush=True)
