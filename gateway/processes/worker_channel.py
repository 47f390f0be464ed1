"""Between a worker and its supervisor: newline-delimited JSON over an inherited socket pair.

The supervisor sends the configuration first, so that a worker which is restarted works as its
siblings do, whatever the file says by then; later, when policies are reloaded, orders. The worker
sends that it is ready, or why it cannot start; then, once a second, what has been counted and,
after it, how things stand, and the results of orders. Each line holds increments that stand on
their own: a worker that dies in the middle of one loses that line only.
"""

from __future__ import annotations

import asyncio
import json
import socket
import time
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import islice
from typing import TypeAlias, cast

from gateway.config.policies import PolicySettings
from gateway.counts import METRIC_BUCKETS, Counts, Row
from gateway.flows import Denial, Flow, NeededAcl, PolicyEvent

MAX_LINE = 1024 * 1024
"""Bytes of the longest line that is read."""

MAX_CONFIG = 64 * 1024 * 1024

ROWS_PER_LINE = 500
"""A label value has at most some 250 bytes, so that a line stays far below ``MAX_LINE``."""

WRITE_HIGH = 4 * MAX_LINE
"""Bytes waiting for a supervisor that does not read; beyond it counts wait in the worker."""

CLOSE_SECONDS = 2.0


@dataclass(frozen=True, slots=True)
class WorkerReport:
    """The counts of a server since its last report, and its state.

    ``connections`` are open connections by listener, ``certificates`` the seconds until theirs
    expires. ``gauges`` are states, ``rows`` are counts since the last report. ``acls`` are those
    that allow principals that were busy something that they have done on a connection that they
    still have, or had. ``made_at`` is in seconds of ``time.monotonic``, which all processes of a
    machine share. ``clusters`` are the gauges of each cluster of a tree, by its name; without a
    tree they are among ``gauges``.
    """

    flows: Sequence[Flow] = ()
    denials: Sequence[Denial] = ()
    connections: Mapping[str, int] = field(default_factory=dict)
    gauges: Mapping[str, int | float] = field(default_factory=dict)
    rows: Sequence[Row] = ()
    policies: Sequence[PolicyEvent] = ()
    acls: Collection[NeededAcl] = ()
    made_at: float = field(default_factory=time.monotonic)
    clusters: Mapping[str, Mapping[str, int | float]] = field(default_factory=dict)
    certificates: Mapping[str, float] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Ready:
    """The worker listens on all its ports."""


@dataclass(frozen=True, slots=True)
class Failed:
    """The worker cannot start; ``reason`` is one sentence for the operator."""

    reason: str


@dataclass(frozen=True, slots=True)
class State:
    """The state of the worker, as in :class:`WorkerReport`. What had been counted at ``made_at``
    came before."""

    connections: Mapping[str, int]
    gauges: Mapping[str, int | float]
    made_at: float
    clusters: Mapping[str, Mapping[str, int | float]] = field(default_factory=dict)
    certificates: Mapping[str, int | float] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Increments:
    """Counts since the last line."""

    rows: Sequence[Row]


@dataclass(frozen=True, slots=True)
class Prepared:
    """The answer to an order to prepare policies; ``failure`` is why it cannot, or empty."""

    number: int
    failure: str = ""


@dataclass(frozen=True, slots=True)
class Prepare:
    """Make and configure these policies. The answer, :class:`Prepared`, has the same number.
    ``of_clusters`` are those of clusters, by name, that have their own."""

    number: int
    policies: PolicySettings
    of_clusters: Mapping[str, PolicySettings] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Commit:
    """Go on with what was prepared under this number."""

    number: int


@dataclass(frozen=True, slots=True)
class Abort:
    """Forget what was prepared, or is being prepared."""


Order: TypeAlias = Prepare | Commit | Abort
Message: TypeAlias = Ready | Failed | State | Increments | Prepared | Order


def encode_message(message: Message) -> bytes:
    """The message as one line."""
    match message:
        case Ready():
            content: dict[str, object] = {"ready": True}
        case Failed(reason):
            content = {"failed": reason}
        case State(connections, gauges, made_at, clusters, certificates):
            content = {
                "connections": dict(connections),
                "gauges": dict(gauges),
                "made_at": made_at,
            }
            if clusters:
                content["clusters"] = {name: dict(each) for name, each in clusters.items()}
            if certificates:
                content["certificates"] = dict(certificates)
        case Increments(rows):
            content = {"rows": list(rows)}
        case Prepared(number, failure):
            content = {"prepared": number, "failure": failure}
        case Prepare(number, policies, of_clusters):
            content = {
                "prepare": number,
                "policies": policies.model_dump(mode="json", by_alias=True),
                "of_clusters": {
                    name: each.model_dump(mode="json", by_alias=True)
                    for name, each in of_clusters.items()
                },
            }
        case Commit(number):
            content = {"commit": number}
        case Abort():
            content = {"abort": True}
    return json.dumps(content, separators=(",", ":")).encode() + b"\n"


def decode_message(line: bytes) -> Message:
    """The reverse of :func:`encode_message`. Raises ValueError for anything else."""
    try:
        content = json.loads(line)
    except ValueError as error:
        raise ValueError(f"a line that is no message: {error}") from error
    match content:
        case {"ready": True}:
            return Ready()
        case {"failed": str(reason)}:
            return Failed(reason)
        case {
            "connections": dict(connections),
            "gauges": dict(gauges),
            "made_at": float(made_at),
        }:
            clusters = _clusters(content.get("clusters", {}))
            certificates = content.get("certificates", {})
            if all(map(_are_numbers, (connections, gauges, certificates))):
                return State(connections, gauges, made_at, clusters, certificates)
        case {"rows": list(rows)}:
            return Increments([_row(row) for row in rows])
        case {"prepared": int(number), "failure": str(failure)}:
            return Prepared(number, failure)
        case {
            "prepare": int(number),
            "policies": dict(policies),
            "of_clusters": dict(of_clusters),
        }:
            read = {name: _policies(each) for name, each in of_clusters.items()}
            return Prepare(number, _policies(policies), read)
        case {"commit": int(number)}:
            return Commit(number)
        case {"abort": True}:
            return Abort()
    raise ValueError("a line that is no message")


def _clusters(content: object) -> dict[str, dict[str, int | float]]:
    match content:
        case dict(clusters) if all(isinstance(each, dict) for each in clusters.values()):
            if all(map(_are_numbers, clusters.values())):
                return clusters
    raise ValueError("a state whose clusters are none")


def _are_numbers(gauges: object) -> bool:
    return isinstance(gauges, dict) and all(
        isinstance(value, int | float) for value in gauges.values()
    )


def _policies(settings: object) -> PolicySettings:
    return PolicySettings.model_validate_json(json.dumps(settings))


def _row(row: object) -> Row:
    match row:
        case [str(family), list(labels), int(count)] if _are_labels(labels):
            return family, tuple(labels), count
        case [str(family), list(labels), list(buckets)] if _are_labels(labels):
            if len(buckets) == METRIC_BUCKETS and all(isinstance(n, int) for n in buckets):
                return family, tuple(labels), buckets
    raise ValueError("a row that is no count")


def _are_labels(labels: Sequence[object]) -> bool:
    return all(isinstance(label, str | int) for label in labels)


def increments(rows: Iterable[Row]) -> Iterator[Increments]:
    """The rows in as many messages as their lines need."""
    rest = iter(rows)
    while chunk := list(islice(rest, ROWS_PER_LINE)):
        yield Increments(chunk)


def receive_config(channel: socket.socket) -> bytes:
    """The supervisor's first line; no other one comes before the worker has said that it is ready.

    Blocks; raises ConnectionError when the supervisor ends before the line.
    """
    received = bytearray()
    while not received.endswith(b"\n"):
        piece = channel.recv(65_536)
        if not piece or len(received) > MAX_CONFIG:
            raise ConnectionError("the supervisor gave no configuration")
        received += piece
    return bytes(received)


class WorkerChannel(asyncio.Protocol):
    """The worker's end. ``on_closed`` is called when the supervisor's end is gone, ``on_line`` with
    each line that it sends; ``full`` is whether the supervisor has not read what was sent."""

    def __init__(self, on_closed: Callable[[], None]) -> None:
        self._on_closed = on_closed
        self.on_line: Callable[[bytes], None] = lambda _: None
        self._received = bytearray()
        self._transport: asyncio.WriteTransport | None = None
        self._counts = Counts()
        self.full = False
        self._lost = asyncio.get_running_loop().create_future()

    @classmethod
    async def open(cls, channel: socket.socket, on_closed: Callable[[], None]) -> WorkerChannel:
        """Take over the inherited socket."""
        channel.setblocking(False)
        loop = asyncio.get_running_loop()
        _, protocol = await loop.create_unix_connection(lambda: cls(on_closed), sock=channel)
        return protocol

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Set how much may wait for the supervisor."""
        # uvloop's transports are write transports without saying so.
        self._transport = cast(asyncio.WriteTransport, transport)
        self._transport.set_write_buffer_limits(WRITE_HIGH)

    def data_received(self, data: bytes) -> None:
        """Hand over whole lines."""
        self._received += data
        while (end := self._received.find(b"\n")) >= 0:
            line = bytes(self._received[:end])
            del self._received[: end + 1]
            self.on_line(line)

    def connection_lost(self, exc: Exception | None) -> None:
        """The supervisor is gone, or this end was closed."""
        self._transport = None
        if not self._lost.done():
            self._lost.set_result(None)
        self._on_closed()

    def pause_writing(self) -> None:
        """The supervisor does not read: keep counting, send nothing."""
        self.full = True

    def resume_writing(self) -> None:
        """The supervisor has caught up."""
        self.full = False

    def send(self, message: Ready | Failed | Prepared) -> None:
        """Send the result of the start, or of an order."""
        if self._transport is not None:
            self._transport.write(encode_message(message))

    def report(self, report: WorkerReport) -> None:
        """Send what was counted, or add it to what is sent when the supervisor reads again."""
        self._counts.add_flows(report.flows)
        self._counts.add_rows(report.rows)
        if self._transport is None or self.full:
            return
        self._send_counts(self._transport)
        # Last, so that /metrics never shows a state without the counts that led to it.
        state = State(
            report.connections,
            report.gauges,
            report.made_at,
            report.clusters,
            report.certificates,
        )
        self._transport.write(encode_message(state))

    def _send_counts(self, transport: asyncio.WriteTransport) -> None:
        for message in increments(self._counts.take()):
            transport.write(encode_message(message))

    async def close(self) -> None:
        """Send what is left, also what waits for a supervisor that does not read yet, for
        :data:`CLOSE_SECONDS` at most."""
        if self._transport is None:
            return
        self._send_counts(self._transport)
        self._transport.close()
        await asyncio.wait([self._lost], timeout=CLOSE_SECONDS)
