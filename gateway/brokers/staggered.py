"""Tries several addresses, and does not wait for slow addresses before it tries the next."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Collection
from typing import Final, TypeVar

_Candidate = TypeVar("_Candidate")
_Result = TypeVar("_Result")

MOST_SECONDS: Final = 1.0
"""Seconds before the next address is tried: a broker takes less for TLS and a login."""


async def first_of(
    candidates: Collection[_Candidate],
    attempt: Callable[[_Candidate], Awaitable[_Result]],
    *,
    timeout: float,
    failed: Callable[[_Candidate, Exception], None],
    discard: Callable[[_Result], None],
) -> _Result | None:
    """The result of the attempt that succeeds first, or None if all have failed.

    Attempts begin in order: the next begins when an attempt fails, or has taken its share of
    ``timeout``, the seconds of one attempt. So silent addresses together take twice ``timeout``,
    however many they are. ``failed`` is called for each attempt that raises an exception, and
    ``discard`` for results that come too late; attempts still under way are cancelled.
    """
    share = min(MOST_SECONDS, timeout / max(len(candidates), 1))
    coming = iter(candidates)
    more = True
    under_way: dict[asyncio.Future[_Result], _Candidate] = {}
    try:
        while more or under_way:
            for candidate in coming:
                under_way[asyncio.ensure_future(attempt(candidate))] = candidate
                break
            else:
                more = False
            if not under_way:
                break
            done, _ = await asyncio.wait(
                under_way,
                timeout=share if more else None,
                return_when=asyncio.FIRST_COMPLETED,
            )
            # In order, as several may be done at once.
            for ended in [each for each in under_way if each in done]:
                candidate = under_way.pop(ended)
                if (error := ended.exception()) is None:
                    return ended.result()
                if not isinstance(error, Exception):
                    raise error
                failed(candidate, error)
        return None
    finally:
        for each in under_way:
            each.cancel()
            each.add_done_callback(lambda late: _leave(late, discard))
        if under_way:
            await asyncio.wait(under_way)


def _leave(late: asyncio.Future[_Result], discard: Callable[[_Result], None]) -> None:
    if not late.cancelled() and late.exception() is None:
        discard(late.result())
