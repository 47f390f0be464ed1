"""The last look at what a client may do, when a request for it is about to be sent to a broker.

A request of the gateway's own waits for its turn and for a connection, for half a minute if brokers
are slow. Meanwhile a right may be revoked, or a topic frozen and moved. So the request is made when
the connection is about to send it (``BrokerAdmin.ask``), of what is allowed then.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any

from gateway.changes.base.context import Context
from gateway.decision import Denied
from protocol.messages import Request

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
    changes: bool = True,
    noted: bool = True,
) -> tuple[Any, Mapping[str, Denied]]:
    """The broker's response to the request about the topics that ``why_not`` does not deny when it
    is sent, and why the others are denied, by flat name. The response is None if no topic is left.

    If the request ``changes`` something, freezes wait for it, unless it is not ``noted``, because
    the caller holds a freeze itself. The topics are noted before they are checked, so no freeze can
    come in between. Raises OSError, and the errors of ``why_not``.
    """
    denied: Mapping[str, Denied] = {}

    def values(version: int) -> Mapping[str, object]:
        nonlocal denied
        denied = {} if why_not is None else why_not(flats)
        left = [flat for flat in flats if flat not in denied]
        if not left:
            raise _NothingLeft
        return about(left).values_at(version)

    name, at_most, _ = about(())
    with context.at_work.on(flats if changes and noted else ()):
        try:
            return await context.admin.ask(Request(name, at_most, values), changes=changes), denied
        except _NothingLeft:
            return None, denied
