"""A worker's own changes that are in progress at brokers. A freeze waits for them, as it does for
clients' requests."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager
from time import monotonic

from gateway.catalog.freezes import UNDER_WAY


class AtWork:
    """The topics, by flat name, that brokers may be changing for this worker's own requests.

    A change is noted here before it checks for the last time which topics it may change. So a
    freeze that this check does not see yet finds the change here. ``clock`` returns seconds from
    any fixed point.
    """

    def __init__(self, clock: Callable[[], float] = monotonic) -> None:
        self._clock = clock
        self._asked: dict[object, Collection[str]] = {}
        self._left: dict[str, float] = {}

    @contextmanager
    def on(self, flats: Collection[str]) -> Iterator[None]:
        """Note these topics while a broker is requested to change them. If the broker does not
        respond, they stay noted for as long as it may still be changing them."""
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
        """Whether a broker may be changing a topic for which ``concerned`` returns true, such as
        the topics that a freeze holds. ``concerned`` takes the flat name."""
        now = self._clock()
        if any(concerned(flat.encode()) for flats in self._asked.values() for flat in flats):
            return True
        return any(until > now and concerned(flat.encode()) for flat, until in self._left.items())
