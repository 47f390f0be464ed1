"""The orders of a supervisor to a worker, as the worker carries them out."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable

from gateway.policies.instance import PolicyError
from gateway.processes.worker_messages import (
    Abort,
    Commit,
    MakeRoom,
    Observe,
    Prepare,
    Prepared,
    decode_message,
)
from gateway.processes.worker_policies import WorkerPolicies
from gateway.telemetry.told import TellClients

log = logging.getLogger(__name__)


class OrderTaker:
    """Carries out the supervisor's orders. An order to prepare or abort cancels the order before
    it.

    ``answer``: sends a message to the supervisor.
    ``observe``: takes orders for the page.
    ``make_room``: takes orders on behalf of clients of other workers.
    ``tell_clients``: takes orders for the metrics that clients have pushed.
    """

    def __init__(
        self,
        policies: WorkerPolicies,
        answer: Callable[[Prepared], None],
        observe: Callable[[Observe], None] = lambda _: None,
        make_room: Callable[[MakeRoom], None] = lambda _: None,
        tell_clients: Callable[[TellClients], None] = lambda _: None,
    ) -> None:
        self._policies = policies
        self._answer = answer
        self._observe = observe
        self._make_room = make_room
        self._tell_clients = tell_clients
        self._task: asyncio.Task[None] | None = None
        self._prepared: int | None = None

    def __call__(self, line: bytes) -> None:
        """Carry out the order of a line."""
        try:
            order = decode_message(line)
        except ValueError as error:
            log.error("the supervisor sent no order: %s", error)
            return
        match order:
            case Observe():
                self._observe(order)
            case MakeRoom():
                self._make_room(order)
            case TellClients():
                self._tell_clients(order)
            case Commit(number):
                if number == self._prepared:
                    self._prepared = None
                    self._policies.commit()
            case Prepare() | Abort():
                self._prepared = None
                before = self._task
                self._task = asyncio.get_running_loop().create_task(self._do(order, before))
            case _:
                log.error("the supervisor sent no order: %s", line.decode(errors="replace"))

    async def _do(self, order: Prepare | Abort, before: asyncio.Task[None] | None) -> None:
        if before is not None:
            before.cancel()
            await asyncio.wait([before])
        if isinstance(order, Abort):
            await self._policies.abort()
            return
        failure = ""
        try:
            await self._policies.prepare(order.policies, order.of_clusters)
            self._prepared = order.number
        except (PolicyError, OSError) as error:
            failure = str(error)
        # Caught: the supervisor waits for a response, whatever fails here.
        except Exception:
            log.exception("preparing policies failed")
            failure = "preparing policies failed; its log says why"
        self._answer(Prepared(order.number, failure))
