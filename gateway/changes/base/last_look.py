"""The last look at what a client may do, when a request for it is about to be sent to a broker.

A request of the gateway's own waits for its turn and for a connection, for half a minute if brokers
are slow. Meanwhile a right may be revoked, or a topic frozen and moved. So the request is made when
the connection is about to send it (``BrokerAdmin.ask``), of what is allowed then.

A broker that is slow may read it only much later. So while it is unanswered, the rights are looked
at again after each change of the ACLs, and if one has ended, the connection is reset: the broker
drops what it has not begun with, as it does with what the gateway forwards.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Collection, Mapping, Sequence
from functools import partial
from typing import Any, Final, TypeVar

from gateway.changes.base.context import Context
from gateway.changes.base.rejected import Rejected
from gateway.cluster.admin import NOT_SILENT
from gateway.decision import Denied
from gateway.slices import sliced
from gateway.views.authorized_access import ACL_RULE
from protocol.messages import Request
from protocol.pausing import paced

Answer = TypeVar("Answer")

LOOK_SECONDS: Final = 0.25
"""Between two looks at the ACLs while a broker has a request."""

WhyNot = Callable[[Collection[str]], Mapping[str, Denied]]
"""Takes topics by flat name and returns why they may not be changed any more. Raises
:class:`Rejected` if none may."""

About = Callable[[Sequence[str]], Request]
"""Returns the request about some of the topics. Its name and newest version are always the same."""


class _NothingLeft(Exception):
    """No topic may be changed any more, so nothing is sent."""


async def ask_about(
    context: Context,
    flats: Collection[str],
    about: About,
    why_not: WhyNot | None,
    *,
    still: WhyNot | None = None,
    changes: bool = True,
    noted: bool = True,
) -> tuple[Any, Mapping[str, Denied]]:
    """The broker's response to the request about the topics that ``why_not`` does not deny when it
    is sent, and why the others are denied, by flat name. The response is None if no topic is left.

    If the request ``changes`` something, freezes wait for it, unless it is not ``noted``, because
    the caller holds a freeze itself. The topics are noted before they are checked, so no freeze can
    come in between. ``still``, by default ``why_not`` itself, is asked about the topics that were
    sent, until the broker answers. Raises OSError, also if a right ends meanwhile, and the errors
    of ``why_not``.
    """
    denied: Mapping[str, Denied] = {}
    still, left = still or why_not, list[str]()

    def values(version: int) -> Mapping[str, object]:
        nonlocal denied, left
        denied = {} if why_not is None else why_not(flats)
        left = [flat for flat in flats if flat not in denied]
        if not left:
            raise _NothingLeft
        return about(left).values_at(version)

    name, at_most, _ = about(())

    async def ask() -> Any:
        return await context.admin.ask(Request(name, at_most, values), changes=changes)

    with context.at_work.on(flats if changes and noted else ()):
        try:
            # Without turns nothing else is served meanwhile, so no right ends.
            if still is None or not changes or context.turns is None:
                return await ask(), denied
            return await _while_allowed(
                context, ask, partial(_is_over, still, lambda: left)
            ), denied
        except _NothingLeft:
            return None, denied


def _is_over(still: WhyNot, sent: Callable[[], Collection[str]]) -> bool:
    """Whether a right to what was sent has ended. A topic that is frozen, or has another name by
    now, is no such case: whatever moves it waits for the request."""
    try:
        denied = still(sent())
    except Rejected:
        return False
    return any(denied[flat].rule == ACL_RULE for flat in paced(sent()) if flat in denied)


async def _while_allowed(
    context: Context, ask: Callable[[], Awaitable[Answer]], is_over: Callable[[], bool]
) -> Answer:
    """The answer of ``ask``, which is cancelled if ``is_over``. Raises TimeoutError, an OSError,
    then. The broker does not count as silent for it, as it does by ``asyncio.timeout``."""
    loop, acls = asyncio.get_running_loop(), context.catalog.snapshot.acls
    task, over = asyncio.current_task(), False
    assert task is not None
    cancelled = task.cancelling()
    watching: asyncio.Task[None] | None = None
    turns = context.beside()

    async def watch() -> None:
        nonlocal over
        seen = acls
        while True:
            newest = context.catalog.snapshot.acls
            if newest is not seen and await sliced(turns, is_over):
                over = True
                task.cancel(NOT_SILENT)
                return
            seen = newest
            await asyncio.sleep(LOOK_SECONDS)

    def begin() -> None:
        nonlocal watching
        watching = asyncio.create_task(watch())

    # Most are answered before the first look, and need no task.
    timer = loop.call_later(LOOK_SECONDS, begin)
    try:
        return await ask()
    except BaseException as error:
        by_others = over and task.uncancel() > cancelled
        if over and not by_others and isinstance(error, asyncio.CancelledError):
            raise TimeoutError from error
        raise
    finally:
        timer.cancel()
        if watching is not None:
            watching.cancel()
