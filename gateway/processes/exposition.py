"""The text of /metrics, made in slices, because its lines grow with namespaces and APIs: 1,000
namespaces take 0.3 s, and the same event loop also answers /livez and reads the reports of workers.

prometheus_client writes the text, in one call. It iterates over the samples of each family in turn,
and the samples that it is given have pause points.
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
    """The text in the formats that prometheus_client has. If a text is requested while a text of
    the same format is being made, both requests get the text that is being made."""

    def __init__(self, metrics: Metrics, turns: Turns) -> None:
        self._metrics = metrics
        self._turns = turns
        self._making: dict[str, asyncio.Task[bytes]] = {}

    async def text(self, accept: str) -> tuple[bytes, str]:
        """The text, in the format that an Accept header prefers, and its content type."""
        encode, content_type = _encoder(accept)
        form = _form(content_type)
        making = self._making.get(form)
        if making is None:
            making = asyncio.create_task(self._make(encode), name="metrics")
            self._making[form] = making
            making.add_done_callback(lambda _: self._making.pop(form))
        # Shielded: if one request is cancelled, the others still wait for the text.
        return await asyncio.shield(making), content_type

    async def stop(self) -> None:
        """Cancel the texts that are being made."""
        makings = list(self._making.values())
        for making in makings:
            making.cancel()
        if makings:
            await asyncio.wait(makings)

    async def _make(self, encode: Callable[[Collector], bytes]) -> bytes:
        return await sliced(self._turns, partial(encode, _Paced(self._metrics.frozen())))


class _Samples(list[Sample]):
    """Samples, with a pause point before every 16th (``EVERY``)."""

    def __iter__(self) -> Iterator[Sample]:
        return paced(super().__iter__(), EVERY)


class _Paced(Collector):
    """The families of a collector; they can be iterated over once, in slices."""

    def __init__(self, collector: Collector) -> None:
        self._collector = collector

    def collect(self) -> Iterator[Metric]:
        """Each family; its samples are released when the next family is requested."""
        for metric in self._collector.collect():
            samples = metric.samples = _Samples(metric.samples)
            yield metric
            let_go(samples)


def _form(content_type: str) -> str:
    """The part of a content type on which the text depends. Clients may request any version, but a
    version changes only the text of native histograms, and the gateway has no native histograms: so
    there are few forms, and few texts are made, whatever versions clients send."""
    parts = content_type.split(";")
    return ";".join(part for part in parts if not part.lstrip().startswith("version="))


def _encoder(accept: str) -> tuple[Callable[[Collector], bytes], str]:
    """The format that a client requests, or the plain text format if its Accept header is
    malformed."""
    try:
        return choose_encoder(accept if accept.isascii() else "")
    except (TypeError, ValueError):  # versions that prometheus_client cannot compare
        return choose_encoder("")
