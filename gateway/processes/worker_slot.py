"""The place of one worker, whichever process is in it."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field

from gateway.config.policies import PolicySettings
from gateway.processes.worker_channel import Prepared
from gateway.processes.worker_orders import Abort, Commit, Prepare
from gateway.processes.worker_process import WorkerProcess


@dataclass(slots=True)
class WorkerSlot:
    """``policies`` are those that its process goes by; ``failure`` is why it could not start.
    ``served``: its process was ready, so that it may have had clients."""

    worker_id: int
    process: WorkerProcess | None = None
    ready: bool = False
    served: bool = False
    failure: str = ""
    policies: PolicySettings | None = None
    _asked: dict[int, asyncio.Future[str]] = field(default_factory=dict)
    _last_asked: tuple[int, WorkerProcess] | None = None

    async def prepare(self, order: Prepare, seconds: float) -> str:
        """Have the worker prepare policies; why it cannot, or nothing. It may take ``seconds``."""
        if self.process is None:
            return "it has ended"
        answer: asyncio.Future[str] = asyncio.get_running_loop().create_future()
        self._asked[order.number] = answer
        self._last_asked = order.number, self.process
        self.process.send(order)
        try:
            async with asyncio.timeout(seconds):
                return await answer
        except TimeoutError:
            return f"it did not answer within {seconds:g} s"
        finally:
            del self._asked[order.number]

    def prepared(self, message: Prepared) -> None:
        """The worker's answer; one that nobody waits for any more is left out."""
        answer = self._asked.get(message.number)
        if answer is not None and not answer.done():
            answer.set_result(message.failure)

    def was_asked(self, order: Prepare) -> bool:
        """Whether the present process was; one that has come instead was started with policies of
        its own."""
        return self.process is not None and self._last_asked == (order.number, self.process)

    def commit(self, order: Prepare) -> None:
        """Have the process that was asked go on with what it has prepared."""
        if self.process is not None and self.was_asked(order):
            self.policies = order.policies
            self.process.send(Commit(order.number))

    def abort(self, order: Prepare) -> None:
        """Have the process that was asked forget what it has prepared."""
        if self.process is not None and self.was_asked(order):
            self.process.send(Abort())

    def ended(self) -> None:
        """Its process is gone."""
        self.process, self.ready = None, False
        for answer in self._asked.values():
            if not answer.done():
                answer.set_result("it ended meanwhile")
