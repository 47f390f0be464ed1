"""The telemetry of a worker: what clients are told to push, and what is kept of it."""

from __future__ import annotations

import asyncio
import base64
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from importlib import import_module
from time import monotonic
from typing import Final, TypeAlias

from gateway.client_metrics import Client, Requested
from gateway.counts import DEFAULT_NAMESPACE, MAX_CLIENT_LABEL, Row
from gateway.error_codes import NONE, THROTTLING_QUOTA_EXCEEDED
from gateway.peers import network_of
from gateway.rotation import Line, Side
from gateway.telemetry.instances import InstanceKey, Instances, Push
from gateway.telemetry.series import Gathered
from gateway.telemetry.store import INTERVALS, Kept, Store
from gateway.telemetry.unpacking import Unreadable, unpacked

MAX_CLIENTS: Final = 1_000
MAX_SERIES: Final = 1_000
"""The defaults of ``client_telemetry``."""

READ_AT_ONCE: Final = 1
"""Pushes that are unpacked and read together. 320 bytes can unpack to 13 MiB of objects; a push
that waits holds its bytes alone."""

MOST_WAITING: Final = 128
"""Pushes of a tenant at an address that wait for being read. A further one is throttled, as at a
broker one that comes too early, because the requests behind a push on its connection wait with
it."""

LOOK_SECONDS: Final = 5.0
"""Seconds between two looks for clients that are silent."""

_OTLP: Final = "gateway.telemetry.otlp"

_Reader: TypeAlias = Callable[[bytes, tuple[str, ...], int], Gathered]


@dataclass(frozen=True, slots=True)
class Pusher:
    """A client that pushes. ``namespace`` is the label of its home namespace."""

    key: InstanceKey
    client: Client
    namespace: str


class Telemetry:
    """The telemetry of all clients of a worker.

    ``max_clients``, ``max_series``: the settings of ``client_telemetry``.
    ``now``: a monotonic clock in seconds.
    """

    def __init__(
        self,
        max_clients: int = MAX_CLIENTS,
        max_series: int = MAX_SERIES,
        now: Callable[[], float] = monotonic,
    ) -> None:
        self._max_series = max_series
        self._now = now
        self._instances = Instances()
        self._reader: _Reader | None = None
        self._looked_at = now()
        self._reading = Side(READ_AT_ONCE)
        self.store = Store(max_clients, now)

    def get(self, key: InstanceKey, requested: Requested) -> int:
        """The error code for a GetTelemetrySubscriptions request."""
        return self._instances.get(key, requested, self._now())

    def check(self, key: InstanceKey, requested: Requested, push: Push) -> int:
        """The error code for a PushTelemetry request, before its metrics are read."""
        return self._instances.push(key, requested, push, self._now())

    async def take(self, pusher: Pusher, requested: Requested, push: Push, metrics: bytes) -> int:
        """Check a push and keep its metrics; returns the error code for it. A push takes the place
        of the client's earlier one, because clients push all their metrics each time."""
        key = pusher.key
        code = self.check(key, requested, push)
        if code:
            return code
        line = Line(key.owner, network_of(pusher.client.source_address))
        if metrics and self._reading.waiting.number_in(line) >= MOST_WAITING:
            return THROTTLING_QUOTA_EXCEEDED
        try:
            kept = await self._read(line, pusher, requested, push, metrics) if metrics else None
        except Unreadable as error:
            self._instances.failed(key, error.code)
            return error.code
        if kept is not None:
            self.store.put(kept)
        elif not push.terminating:
            self.store.remove(key)
        if push.terminating:
            self.store.end(key)
        return NONE

    def take_rows(self) -> Sequence[Row]:
        """The counts since the last call. Called once a second; forgets silent clients now and
        then."""
        now = self._now()
        if now - self._looked_at >= LOOK_SECONDS:
            self._looked_at = now
            self._instances.forget(now)
            self.store.expire(now)
        return self.store.take_rows()

    async def _read(
        self, line: Line, pusher: Pusher, requested: Requested, push: Push, metrics: bytes
    ) -> Kept:
        await self._reading.take_place(line)
        try:
            return await self._kept(pusher, requested, push, metrics)
        finally:
            self._reading.give_place_back(line)

    async def _kept(self, pusher: Pusher, requested: Requested, push: Push, metrics: bytes) -> Kept:
        """What is kept of a push. Raises Unreadable."""
        plain = unpacked(metrics, push.compression)
        if self._reader is None:
            reader = getattr(sys.modules.get(_OTLP), "READER", None)
            if reader is None:  # in a thread, because it takes some 30 ms
                reader = (await asyncio.to_thread(import_module, _OTLP)).READER
            self._reader = reader
        found = self._reader(plain, requested.metrics, self._max_series)
        families = found.written()
        self.store.drop(found.dropped)
        now = self._now()
        ends_at = now + INTERVALS * requested.interval_ms / 1000
        labels = {**found.of_client, **_labels(pusher)}
        return Kept(pusher.key, labels, families, now, ends_at)


def _labels(pusher: Pusher) -> dict[str, str]:
    owner = pusher.key.owner
    return {
        "namespace": pusher.namespace or DEFAULT_NAMESPACE,
        "principal": owner.principal,
        "listener": owner.listener,
        "client_id": (pusher.client.client_id or "")[:MAX_CLIENT_LABEL],
        "client_instance_id": instance_text(pusher.key.instance_id),
    }


def instance_text(instance_id: bytes) -> str:
    """An instance's id as Kafka and its clients write it."""
    return base64.urlsafe_b64encode(instance_id).decode().rstrip("=")
