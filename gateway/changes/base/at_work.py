"""What changes of one worker have at brokers now: freezes wait for it, as for clients' requests."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager
from time import monotonic

from gateway.catalog.freezes import UNDER_WAY


class AtWork:
    """The topics, by flat name, that brokers may be at work on for this worker's own requests.

    A change is noted here before it looks up for the last time what it may change: a freeze that
    it has not seen then sees it here. ``clock`` returns seconds from any
    fixed point.
    """

    def __init__(self, clock: Callable[[], float] = monotonic) -> None:
        self._clock = clock
        self._asked: dict[object, Collection[str]] = {}
        self._left: dict[str, float] = {}

    @contextmanager
    def on(self, flats: Collection[str]) -> Iterator[None]:
        """While a broker is asked to change these topics; and for as long as it may be at work on
        them after that, if it does not answer."""
        asked = object()
        self._asked[asked] = flats
        try:
            yield
        except BaseException:
            now = self._clock()
            left = {flat: until for flat, until in self._left.items() if until > now}
            self._left = left | dict.fromkeys(flats, now + UNDER_WAY / 1000)
            raise
        finally:
            del self._asked[asked]

    def concerns(self, concerned: Callable[[bytes], bool]) -> bool:
        """Whether a broker may be at work on one of the topics that a freeze, say, holds: those,
        by flat name, for which ``concerned`` is true."""
        now = self._clock()
        if any(concerned(flat.encode()) for flats in self._asked.values() for flat in flats):
            return True
        return any(until > now and concerned(flat.encode()) for flat, until in self._left.items())
