"""What the supervisor tells its workers while they run: policies to take over, in two steps.

Each worker prepares them and answers; when all could, all commit, else all abort. So either every
worker judges by the new policies, or none does.
"""

from __future__ import annotations

import asyncio
import json
import logging
from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol, TypeAlias

from gateway.config.policies import PolicySettings
from gateway.policies.instance import PolicyError
from gateway.processes.worker_channel import Prepared

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Prepare:
    """Make and configure these policies. The answer, :class:`Prepared`, has the same number."""

    number: int
    policies: PolicySettings


@dataclass(frozen=True, slots=True)
class Commit:
    """Go on with what was prepared under this number."""

    number: int


@dataclass(frozen=True, slots=True)
class Abort:
    """Forget what was prepared, or is being prepared."""


Order: TypeAlias = Prepare | Commit | Abort


def encode_order(order: Order) -> bytes:
    """One line."""
    match order:
        case Prepare(number, policies):
            settings = policies.model_dump_json(by_alias=True)
            return b'{"prepare":%d,"policies":%s}\n' % (number, settings.encode())
        case Commit(number):
            return b'{"commit":%d}\n' % number
        case Abort():
            return b'{"abort":true}\n'


def decode_order(line: bytes) -> Order:
    """The reverse of :func:`encode_order`. Raises ValueError for anything else."""
    match json.loads(line):
        case {"prepare": int(number), "policies": dict(policies)}:
            settings = PolicySettings.model_validate_json(json.dumps(policies))
            return Prepare(number, settings)
        case {"commit": int(number)}:
            return Commit(number)
        case {"abort": True}:
            return Abort()
    raise ValueError("a line that is no order")


class Reloadable(Protocol):
    """Policies that can be replaced (gateway/processes/worker_policies.py)."""

    async def prepare(self, settings: PolicySettings) -> None:
        """Raises PolicyError or OSError, and then all is as it was."""
        ...

    def commit(self) -> None: ...
    async def abort(self) -> None: ...


class OrderTaker:
    """Does what the supervisor says; ``answer`` sends to it. A new order ends the one before."""

    def __init__(self, policies: Reloadable, answer: Callable[[Prepared], None]) -> None:
        self._policies = policies
        self._answer = answer
        self._task: asyncio.Task[None] | None = None
        self._prepared: int | None = None

    def __call__(self, line: bytes) -> None:
        """Take one line."""
        try:
            order = decode_order(line)
        except ValueError as error:
            log.error("the supervisor sent no order: %s", error)
            return
        match order:
            case Commit(number):
                if number == self._prepared:
                    self._prepared = None
                    self._policies.commit()
            case Prepare() | Abort():
                self._prepared = None
                before = self._task
                self._task = asyncio.get_running_loop().create_task(self._do(order, before))

    async def _do(self, order: Prepare | Abort, before: asyncio.Task[None] | None) -> None:
        if before is not None:
            before.cancel()
            await asyncio.wait([before])
        if isinstance(order, Abort):
            await self._policies.abort()
            return
        failure = ""
        try:
            await self._policies.prepare(order.policies)
            self._prepared = order.number
        except (PolicyError, OSError) as error:
            failure = str(error)
        # The supervisor waits for an answer, whatever goes wrong here.
        except Exception:
            log.exception("preparing policies failed")
            failure = "preparing policies failed; its log says why"
        self._answer(Prepared(order.number, failure))
