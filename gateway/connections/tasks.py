"""Tasks of a worker that nobody waits for; each failure is handled."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Coroutine
from typing import Any

from gateway.connections.closing import Guarded

log = logging.getLogger(__name__)


class Tasks:
    """The running tasks of a worker that no caller waits for."""

    def __init__(self) -> None:
        self._running: set[asyncio.Task[None]] = set()

    def spawn(self, owner: Guarded, work: Coroutine[Any, Any, None]) -> asyncio.Task[None]:
        """Run work of a connection in a task; if it fails, ``owner`` is closed."""
        return self._begin(work, owner.fail)

    def run(self, work: Coroutine[Any, Any, None]) -> asyncio.Task[None]:
        """Run work that belongs to no connection; if it fails, the exception is logged."""
        return self._begin(
            work, lambda error: log.error("a task of the gateway's own failed", exc_info=error)
        )

    def _begin(
        self, work: Coroutine[Any, Any, None], failed: Callable[[Exception], None]
    ) -> asyncio.Task[None]:
        def ended(task: asyncio.Task[None]) -> None:
            self._running.discard(task)
            if not task.cancelled() and isinstance(error := task.exception(), Exception):
                failed(error)

        task = asyncio.get_running_loop().create_task(work)
        self._running.add(task)
        task.add_done_callback(ended)
        return task
