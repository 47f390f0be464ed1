"""Responses that are made once, and reused while everything that they were made from is the same.

A listing of all topics takes some 4 us for each topic, some 30 us with ACLs, and the clients of an
application request the same listing again and again. A kept response costs a comparison of bytes.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable
from typing import Any, Final

MOST_BYTES: Final = 16 * 1024 * 1024
"""Bytes that a worker keeps; beyond that, the least recently used responses are dropped."""


class KeptAnswers:
    """The responses that a worker made from a broker's newest response, for each kind of client."""

    def __init__(self, most_bytes: int = MOST_BYTES) -> None:
        self._most = most_bytes
        self._newest: dict[Hashable, bytes] = {}
        self._kept: dict[tuple[Hashable, Hashable], tuple[Any, int]] = {}
        self._made: Counter[Hashable] = Counter()
        self._bytes = 0

    @property
    def size(self) -> int:
        """The kept bytes."""
        return self._bytes

    def find(self, kind: Hashable, broker_bytes: bytes, who: Hashable) -> Any:
        """The response made for ``who`` from these broker bytes, a response of this kind; None if
        there is no such response yet."""
        if self._newest.get(kind) != broker_bytes:
            return None
        kept = self._kept.pop((kind, who), None)
        if kept is None:
            return None
        self._kept[kind, who] = kept  # as the last in the dict: the most recently used
        return kept[0]

    def keep(
        self, kind: Hashable, broker_bytes: bytes, who: Hashable, response: Any, size: int
    ) -> None:
        """Keep a response of ``size`` bytes that was made from these broker bytes. Responses of
        this kind from other bytes are dropped, and the least recently used if there is no room."""
        if len(broker_bytes) + size > self._most:
            return
        if self._newest.get(kind) != broker_bytes:
            for key in [key for key in self._kept if key[0] == kind]:
                self._drop(key)
        self._drop((kind, who))
        if kind not in self._newest:
            self._newest[kind] = broker_bytes
            self._bytes += len(broker_bytes)
        self._made[kind] += 1
        self._kept[kind, who] = (response, size)
        self._bytes += size
        while self._bytes > self._most:
            self._drop(next(iter(self._kept)))

    def _drop(self, key: tuple[Hashable, Hashable]) -> None:
        """Forget a response, and the broker's bytes with the last response made from them."""
        kept = self._kept.pop(key, None)
        if kept is None:
            return
        kind = key[0]
        self._bytes -= kept[1]
        self._made[kind] -= 1
        if not self._made[kind]:
            del self._made[kind]
            self._bytes -= len(self._newest.pop(kind))
