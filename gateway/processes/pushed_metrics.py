"""/metrics/clients: the metrics that clients have pushed to the workers (KIP-714), for Prometheus.

Workers are asked for them at each request, so they cost nothing while nobody reads them. The text
is made a family at a time, in slices.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Sequence
from functools import partial
from typing import Final

from prometheus_client import Metric
from prometheus_client.exposition import choose_encoder
from prometheus_client.registry import Collector
from prometheus_client.samples import Sample

from gateway.processes.worker_process import WorkerSlot
from gateway.slices import Turns, sliced
from gateway.telemetry.series import COUNTER, GAUGE, Family, read
from gateway.telemetry.told import ClientsTold, ClientTold, TellClients
from protocol.pausing import in_order, paced

TELL_SECONDS: Final = 5.0
"""Seconds for which workers are waited for; what a worker tells later is not shown."""

_EVERY: Final = 16
"""Samples between two pause points: some 0.3 ms of text."""

_TOTAL: Final = "_total"

_HELP: Final = "Pushed by Kafka clients (KIP-714)"

_ENCODE, _ = choose_encoder("")
"""Prometheus' plain text format; in OpenMetrics a client could make the types of two metrics
contradict each other."""

_Told = list[tuple[ClientTold, str]]
"""Clients, with the text of their series of one family."""


class PushedMetrics:
    """The metrics of all workers' clients. If they are requested while they are being made, both
    requests get the same. ``seconds``: for which workers are waited for."""

    def __init__(
        self,
        slots: Sequence[WorkerSlot],
        turns: Turns,
        seconds: float = TELL_SECONDS,
    ) -> None:
        self._slots = slots
        self._turns = turns
        self._seconds = seconds
        self._number = 0
        self._clients: dict[tuple[str, ...], ClientTold] = {}
        self._awaited: set[int] = set()
        self._told = asyncio.Event()
        self._making: asyncio.Task[Sequence[bytes]] | None = None

    async def pieces(self) -> Sequence[bytes]:
        """The text, in pieces."""
        if self._making is None:
            self._making = asyncio.create_task(self._make(), name="metrics of clients")
            self._making.add_done_callback(self._made)
        # Shielded: if one request is cancelled, the others still wait for the text.
        return await asyncio.shield(self._making)

    def received(self, worker_id: int, message: ClientTold | ClientsTold) -> None:
        """Take a worker's message. Of a client that several workers tell of, the newest push
        counts."""
        if message.number != self._number or worker_id not in self._awaited:
            return
        if isinstance(message, ClientsTold):
            self.ended(worker_id)
            return
        before = self._clients.get(message.key)
        if before is None or before.pushed_at < message.pushed_at:
            self._clients[message.key] = message

    def ended(self, worker_id: int) -> None:
        """Wait no longer for a worker."""
        self._awaited.discard(worker_id)
        if not self._awaited:
            self._told.set()

    async def stop(self) -> None:
        """Cancel the text that is being made."""
        making = self._making
        if making is not None:
            making.cancel()
            await asyncio.wait([making])

    def _made(self, _: asyncio.Task[Sequence[bytes]]) -> None:
        self._making = None

    async def _make(self) -> Sequence[bytes]:
        clients = await self._gather()
        families = await sliced(self._turns, partial(_by_family, clients))
        names = await sliced(self._turns, partial(in_order, families))
        return [
            await sliced(self._turns, partial(_ENCODE, _OneFamily(name, families[name])))
            for name in names
        ]

    async def _gather(self) -> Sequence[ClientTold]:
        """What all workers tell, or those that do so in time."""
        self._number += 1
        self._clients = {}
        self._told.clear()
        self._awaited = set()
        for slot in self._slots:
            if slot.process is not None and slot.ready:
                self._awaited.add(slot.worker_id)
                slot.process.send(TellClients(self._number))
        if self._awaited:
            try:
                async with asyncio.timeout(self._seconds):
                    await self._told.wait()
            except TimeoutError:
                self._awaited = set()
        clients, self._clients = self._clients, {}
        return list(clients.values())


_Families = dict[str, dict[str, _Told]]
"""Name -> type -> clients."""


def _by_family(clients: Sequence[ClientTold]) -> _Families:
    """The families of all clients. Of clients with the same labels the one with the newest push
    counts: a page with a series twice is rejected as a whole. No label of a single series has the
    name of a client's label, so clients with other labels have other series."""
    newest: dict[tuple[tuple[str, str], ...], ClientTold] = {}
    for client in paced(clients, 1):
        labels = tuple(sorted(client.labels.items()))
        if labels not in newest or newest[labels].pushed_at < client.pushed_at:
            newest[labels] = client
    families: _Families = {}
    for client in paced(newest.values(), 1):
        for key, text in client.families.items():
            family = Family.of(key)
            families.setdefault(family.name, {}).setdefault(family.kind, []).append((client, text))
    return families


class _OneFamily(Collector):
    """A family, for prometheus_client. Clients may disagree about its type, which is then
    unknown."""

    def __init__(self, name: str, by_kind: dict[str, _Told]) -> None:
        self._name = name
        self._by_kind = by_kind

    def collect(self) -> Iterator[Metric]:
        """The family; its samples are made while they are iterated over."""
        kinds = set(self._by_kind)
        counter = kinds == {COUNTER}
        kind = "counter" if counter else "gauge" if kinds == {GAUGE} else "unknown"
        name = self._name.removesuffix(_TOTAL) if counter else self._name
        metric = Metric(name, _HELP, kind)
        told = [each for every in self._by_kind.values() for each in every]
        metric.samples = _Samples(self._name, told)
        yield metric


class _Samples(list[Sample]):
    """The samples of a family, which are never all in memory."""

    def __init__(self, name: str, told: _Told) -> None:
        super().__init__()
        self._name = name
        self._told = told

    def __iter__(self) -> Iterator[Sample]:
        return paced(self._each(), _EVERY)

    def _each(self) -> Iterator[Sample]:
        for client, text in self._told:
            for labels, value in read(text):
                yield Sample(self._name, {**labels, **client.labels}, value)
