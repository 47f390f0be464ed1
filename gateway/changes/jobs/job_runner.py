"""Runs background jobs, which finish changes that any process has begun: when, and how often.

A job finds its tasks in a snapshot; the runner of every worker runs them when they are due. The
process that began a task claims it, and runs it at once. All other processes leave the task alone
for a head start that differs a little between them, so two processes seldom do the same work. Tasks
have to be idempotent all the same, because a slow process is not a process that has ended.
"""

from __future__ import annotations

import asyncio
import logging
import random
import time
from collections.abc import Callable, Iterable, Sequence
from typing import Final, NamedTuple, Protocol

from gateway.catalog.snapshot import Snapshot
from gateway.catalog.source import ACTOR, Actor
from gateway.changes.base.context import Context

log = logging.getLogger(__name__)

HEAD_START: Final = 5.0
"""Seconds for which a task is left to the process that began it; up to twice as many, at random."""

POLL_INTERVAL: Final = 10.0
"""Seconds after which jobs look for tasks, whether or not the catalog has changed."""

SETTLE: Final = 0.1
"""Seconds in which catalog changes are gathered before jobs look for tasks."""

MAX_TASKS: Final = 4
"""Tasks in progress at once."""

_FIRST_RETRY: Final = 0.5
"""Seconds after which a failed task is run again; each failure in a row doubles them."""

_LAST_RETRY: Final = 30.0
"""The most seconds between retries of a task that failed by a defect."""

_LAST_RETRY_AWAY: Final = 5.0
"""The most seconds between retries while the cluster or the catalog cannot be reached."""

_STILL_THERE: Final = 1.0
"""Seconds after which a task that has done all it can runs again, if its job still finds it."""


class Task(NamedTuple):
    """One piece of background work."""

    kind: str
    about: str
    """A namespace's path, a flat name, or ``""``."""
    since: int
    """When it began, in milliseconds of the catalog's clock. A task that is begun again has another
    time, so it is another task."""


class Job(Protocol):
    """One kind of background work, such as ``NamespaceDeletion`` or ``Thawing``; ``background``
    lists all kinds."""

    def tasks(self, snapshot: Snapshot) -> Iterable[Task]:
        """The tasks on this snapshot. Called after every change, so it has to be quick."""
        ...

    async def run(self, task: Task) -> float | None:
        """Execute the task, or the part of it that can be executed now.

        Returns the seconds after which the task wants to continue, or None if it has done all it
        can. It is run again as long as ``tasks`` returns it. If it raises an OSError (the catalog
        or the cluster cannot be reached), it is run again later.
        """
        ...


class JobRunner:
    """Runs the tasks of all jobs in one worker, on one event loop."""

    def __init__(
        self,
        context: Context,
        jobs: Sequence[Job],
        *,
        head_start: float = HEAD_START,
        poll_interval: float = POLL_INTERVAL,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """``clock`` returns seconds from any fixed point."""
        self._catalog = context.catalog
        self._jobs = jobs
        self._head_start = head_start
        self._poll_interval = poll_interval
        self._clock = clock
        self._due: dict[Task, float] = {}
        self._failures: dict[Task, int] = {}
        self._running: dict[Task, asyncio.Task[None]] = {}
        self._awake = asyncio.Event()
        self._loop: asyncio.Task[None] | None = None
        self._catalog.subscribe(self._awake.set)

    def start(self) -> None:
        """Begin to run tasks."""
        self._loop = asyncio.create_task(self._run(), name="background jobs")

    async def stop(self) -> None:
        """Cancel all running tasks at any point; another process continues them."""
        loop, self._loop = self._loop, None
        ending = [*self._running.values(), *([] if loop is None else [loop])]
        for task in ending:
            task.cancel()
        if ending:
            await asyncio.wait(ending)

    def claim(self, task: Task) -> None:
        """Run a task that this process has begun without a head start. The catalog has it already,
        and it equals the task that its job finds there: a task that no job finds is forgotten."""
        self._due[task] = self._clock()
        self._awake.set()

    async def _run(self) -> None:
        while True:
            self._awake.clear()
            try:
                async with asyncio.timeout(self._begin_due()):
                    await self._awake.wait()
                    await asyncio.sleep(SETTLE)
            except TimeoutError:
                pass

    def _begin_due(self) -> float:
        """Start the tasks that are due, up to ``MAX_TASKS`` (the end of one wakes the loop for the
        others), and forget those that no job finds. Returns the seconds until the next look."""
        now = self._clock()
        found = {task: job for job in self._jobs for task in self._tasks_of(job)}
        for former in self._due.keys() - found.keys():
            del self._due[former]
            self._failures.pop(former, None)
        wait = self._poll_interval
        for task, job in found.items():
            due = self._due.setdefault(task, now + self._head_start * _jitter())
            if task in self._running:
                continue
            if due > now:
                wait = min(wait, due - now)
            elif len(self._running) < MAX_TASKS:
                name = f"{task.kind} {task.about}"
                self._running[task] = asyncio.create_task(self._do(job, task), name=name)
        return wait

    def _tasks_of(self, job: Job) -> list[Task]:
        try:
            return list(job.tasks(self._catalog.snapshot))
        # A defect in one job must not end the others.
        except Exception:
            log.exception("looking for background tasks failed")
            return []

    async def _do(self, job: Job, task: Task) -> None:
        ACTOR.set(Actor(f"gateway:{task.kind}"))
        try:
            again = await job.run(task)
            self._failures.pop(task, None)
            self._due[task] = self._clock() + (_STILL_THERE if again is None else again)
        except Exception as error:
            failures = self._failures[task] = self._failures.get(task, 0) + 1
            longest = _LAST_RETRY
            if isinstance(error, OSError):
                longest = _LAST_RETRY_AWAY
                level = logging.WARNING if failures == 1 else logging.DEBUG
                log.log(level, "%s %r waits: %s", task.kind, task.about, error)
            else:
                log.exception("%s %r failed", task.kind, task.about)
            delay = min(_FIRST_RETRY * 2.0 ** min(failures - 1, 16), longest)
            self._due[task] = self._clock() + delay * _jitter()
        finally:
            del self._running[task]
            self._awake.set()


def _jitter() -> float:
    """A factor from 1 to 2, so the workers do not do the same work at the same moment."""
    return random.uniform(1.0, 2.0)  # noqa: S311 - nothing secret
