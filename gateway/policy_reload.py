"""Reading the configuration again: its policies are handed to every worker, all the rest waits."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Coroutine, Sequence
from itertools import count
from pathlib import Path
from typing import Any, Final

from gateway.config import Config, ConfigError, load_config
from gateway.worker_orders import Prepare
from gateway.worker_slot import WorkerSlot

log = logging.getLogger(__name__)

DONE: Final = "done"
FAILED: Final = "failed"
"""How a reload went: labels of a metric."""

ANSWER_SECONDS: Final = 90.0
"""How long a worker may take to prepare policies: it asks a broker first, then configures them."""


class PolicyReload:
    """``config`` is the newest, for workers that start. ``counted`` is told how a reload went."""

    def __init__(
        self,
        config: Config,
        path: Path | None,
        slots: Sequence[WorkerSlot],
        counted: Callable[[str], None],
    ) -> None:
        self.config = config
        self._path = path
        self._slots = slots
        self._counted = counted
        self._numbers = count(1)
        self._turn = asyncio.Lock()
        self._tasks: set[asyncio.Task[None]] = set()

    def start(self) -> None:
        """Reload, after reloads that are under way."""
        log.info("the configuration is read again, for its policies")
        self._spawn(self._reload())

    def came(self, slot: WorkerSlot) -> None:
        """A worker is ready. It was started with the policies of that time."""
        if self._turn.locked() or slot.policies != self.config.policies:
            self._spawn(self._catch_up(slot))

    def stop(self) -> None:
        """No more of it: the gateway stops."""
        for task in self._tasks:
            task.cancel()

    def _spawn(self, work: Coroutine[Any, Any, None]) -> None:
        task = asyncio.get_running_loop().create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._ended)

    def _ended(self, task: asyncio.Task[None]) -> None:
        self._tasks.discard(task)
        if not task.cancelled() and (error := task.exception()) is not None:
            log.error("reloading policies failed", exc_info=error)

    async def _reload(self) -> None:
        async with self._turn:
            config = self._read()
            if config is None:
                self._counted(FAILED)
                return
            order = Prepare(next(self._numbers), config.policies)
            # Workers that are not ready yet follow when they are.
            slots = [slot for slot in self._slots if slot.ready]
            failures = await asyncio.gather(
                *(slot.prepare(order, ANSWER_SECONDS) for slot in slots)
            )
            failed = [pair for pair in zip(slots, failures, strict=True) if pair[1]]
            if failed:
                for slot in slots:
                    slot.abort()
                for slot, failure in failed:
                    log.error("policies stay as they were: worker %d: %s", slot.worker_id, failure)
                self._counted(FAILED)
                return
            self.config = self.config.model_copy(update={"policies": config.policies})
            for slot in slots:
                slot.commit(order)
            log.info("policies are reloaded")
            self._counted(DONE)

    def _read(self) -> Config | None:
        assert self._path is not None, "a configuration without a file is not read again"
        try:
            config = load_config(self._path)
        except ConfigError as error:
            for line in str(error).splitlines():
                log.error("policies stay as they were: %s", line)
            return None
        changed = [key for key in Config.model_fields if _differs(key, config, self.config)]
        if changed:
            log.warning(
                "only policies are reloaded: what has changed in %s takes effect at the next start",
                ", ".join(changed),
            )
        return config

    async def _catch_up(self, slot: WorkerSlot) -> None:
        async with self._turn:
            if not slot.ready or slot.policies == self.config.policies:
                return
            order = Prepare(next(self._numbers), self.config.policies)
            failure = await slot.prepare(order, ANSWER_SECONDS)
            if not failure:
                slot.commit(order)
            elif slot.process is not None:
                # It must not go on with rules that no other worker has.
                log.error("worker %d is ended, for lack of policies: %s", slot.worker_id, failure)
                slot.process.terminate()


def _differs(key: str, new: Config, old: Config) -> bool:
    return key != "policies" and getattr(new, key) != getattr(old, key)
