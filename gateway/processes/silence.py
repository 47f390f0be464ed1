"""Kills workers that have stopped reporting: a worker that hangs keeps its clients unserved.

A worker reports every second from the moment it is ready. If it does not for some seconds, it is
killed; its clients connect to another worker, or to another gateway, and it is started again.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Sequence
from typing import Final

from gateway.processes.worker_process import WorkerSlot

log = logging.getLogger(__name__)

LOOKS: Final = 6
"""Looks at the workers in the time that a worker may be silent. Looks are counted and not seconds:
a supervisor that is stopped, or has no processor, does not look, and then blames no worker."""


async def end_silent(slots: Sequence[WorkerSlot], seconds: float) -> None:
    """Kill ready workers that have not reported for ``seconds``, until the task is cancelled."""
    while True:
        await asyncio.sleep(seconds / LOOKS)
        for slot in slots:
            slot.unheard += 1
            if slot.unheard > LOOKS and slot.ready and slot.process is not None:
                log.error(
                    "worker %d has not reported for %g s and is killed", slot.worker_id, seconds
                )
                slot.process.kill()
                slot.unheard = 0
