"""Reloading the configuration: every worker gets its policies; other changes wait for a restart.

A worker listens as soon as it is ready, so no worker may become ready with the policies of before a
reload: if it becomes ready while the others prepare, it prepares as well; if it is not ready when
they commit, it is restarted.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Coroutine, Sequence
from itertools import count
from pathlib import Path
from typing import Any, Final

from gateway.config.errors import ConfigError
from gateway.config.models import Config
from gateway.config.policies import PolicySettings
from gateway.config_file.loading import load_config
from gateway.files import read_file
from gateway.processes.worker_messages import Prepare
from gateway.processes.worker_process import WorkerSlot

log = logging.getLogger(__name__)

DONE: Final = "done"
FAILED: Final = "failed"
"""Outcomes of a reload: label values of a metric."""

ANSWER_SECONDS: Final = 90.0
"""Seconds that a worker may take to prepare policies: it queries a broker, then configures them."""


class PolicyReload:
    """Reloads the policies of all workers.

    ``config``: the newest configuration, for workers that start.
    ``counted``: called with the outcome of each reload.
    """

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

    def started(self, slot: WorkerSlot) -> None:
        """Restart a starting worker if its slot's policies have been replaced meanwhile."""
        # Compared by identity: equal settings may be of classes that have read other files since.
        if slot.process is not None and slot.policies is not self.config.policies:
            log.info("worker %d starts anew, with the policies of now", slot.worker_id)
            slot.process.terminate()

    def stop(self) -> None:
        """Cancel all reloads; the gateway stops."""
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
            order = Prepare(next(self._numbers), config.policies, _of_clusters(config))
            if not await self._all_prepared(order):
                for slot in self._slots:
                    slot.abort(order)
                self._counted(FAILED)
                return
            self.config = _with_policies(self.config, config)
            for slot in self._slots:
                slot.commit(order)
                self.started(slot)
            log.info("policies are reloaded")
            self._counted(DONE)

    async def _all_prepared(self, order: Prepare) -> bool:
        """Whether all workers prepared the policies, also workers that became ready meanwhile."""
        while slots := [slot for slot in self._slots if slot.ready and not slot.was_ordered(order)]:
            failures = await asyncio.gather(
                *(slot.prepare(order, ANSWER_SECONDS) for slot in slots)
            )
            failed = [pair for pair in zip(slots, failures, strict=True) if pair[1]]
            for slot, failure in failed:
                log.error("policies stay as they were: worker %d: %s", slot.worker_id, failure)
            if failed:
                return False
        return True

    def _read(self) -> Config | None:
        assert self._path is not None, "a configuration without a file is not read again"
        try:
            # Not from a pipe: it is empty by now, and waiting for a writer would hold up workers.
            config = load_config(self._path, read_file)
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


def _of_clusters(config: Config) -> dict[str, PolicySettings]:
    return {each.name: each.policies for each in config.clusters if each.policies is not None}


def _with_policies(old: Config, new: Config) -> Config:
    """The old configuration with the policies of the new configuration."""
    of_clusters = _of_clusters(new)
    clusters = tuple(
        each.model_copy(update={"policies": of_clusters.get(each.name)}) for each in old.clusters
    )
    return old.model_copy(update={"policies": new.policies, "clusters": clusters})


def _differs(key: str, new: Config, old: Config) -> bool:
    return bool(getattr(new, key) != getattr(_with_policies(old, new), key))
