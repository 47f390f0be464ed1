"""The text of /metrics, made in slices: its lines grow with namespaces and APIs, 0.3 s for 1,000
namespaces, and one event loop also answers /livez and reads what workers report.

prometheus_client writes the text, in one call. It iterates over the samples of one family after the
other, and the samples given to it have pause points.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator
from functools import partial
from typing import Final

from prometheus_client import Metric
from prometheus_client.exposition import choose_encoder
from prometheus_client.registry import Collector
from prometheus_client.samples import Sample

from gateway.processes.metrics import Metrics
from gateway.slices import Turns, sliced
from protocol.pausing import let_go, paced

EVERY: Final = 16
"""Samples between two pause points: some 0.3 ms of text."""


class Exposition:
    """The text in the formats that prometheus_client has. If a text is requested while one of the
    same format is being made, the response is that one."""

    def __init__(self, metrics: Metrics, turns: Turns) -> None:
        self._metrics = metrics
        self._turns = turns
        self._making: dict[str, asyncio.Task[bytes]] = {}

    async def text(self, accept: str) -> tuple[bytes, str]:
        """The text and its content type, as an Accept header asks for them."""
        encode, content_type = _encoder(accept)
        form = _form(content_type)
        making = self._making.get(form)
        if making is None:
            making = asyncio.create_task(self._make(encode), name="metrics")
            self._making[form] = making
            making.add_done_callback(lambda _: self._making.pop(form))
        # The others wait on if one of them is cancelled.
        return await asyncio.shield(making), content_type

    async def stop(self) -> None:
        """End what is being made."""
        makings = list(self._making.values())
        for making in makings:
            making.cancel()
        if makings:
            await asyncio.wait(makings)

    async def _make(self, encode: Callable[[Collector], bytes]) -> bytes:
        return await sliced(self._turns, partial(encode, _Paced(self._metrics.frozen())))


class _Samples(list[Sample]):
    """Samples, with a pause point before every so many."""

    def __iter__(self) -> Iterator[Sample]:
        return paced(super().__iter__(), EVERY)


class _Paced(Collector):
    """The families of a collector, to be iterated over once, in slices."""

    def __init__(self, collector: Collector) -> None:
        self._collector = collector

    def collect(self) -> Iterator[Metric]:
        """Each family, whose samples are gone when the next one is asked for."""
        for metric in self._collector.collect():
            samples = metric.samples = _Samples(metric.samples)
            yield metric
            let_go(samples)


def _form(content_type: str) -> str:
    """What a text depends on. A client may ask for any version, which changes only the text of
    native histograms, and the gateway has none: so there are few forms, whatever clients send."""
    parts = content_type.split(";")
    return ";".join(part for part in parts if not part.lstrip().startswith("version="))


def _encoder(accept: str) -> tuple[Callable[[Collector], bytes], str]:
    """The format that a client asks for; the plain one where what it asks for is no version."""
    try:
        return choose_encoder(accept if accept.isascii() else "")
    except (TypeError, ValueError):  # versions that it cannot compare
        return choose_encoder("")
