"""gateway.processes.worker_channel: messages as lines, and the worker's end of the socket."""

from __future__ import annotations

import asyncio
import json
import socket
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest

from gateway.counts import Row
from gateway.page.observed import Latency, Observed, Traffic, TrafficKey
from gateway.processes import worker_channel
from gateway.processes.worker_channel import WorkerChannel, receive_config
from gateway.processes.worker_messages import (
    Failed,
    Increments,
    Message,
    Prepared,
    Ready,
    State,
    WorkerReport,
    decode_message,
    encode_message,
    increments,
)
from gateway.telemetry.limits import MAX_LABEL
from gateway.telemetry.series import OF_CLIENT, OWN_LABELS, Gathered
from gateway.telemetry.told import ClientsTold, ClientTold
from tests.gateway.flow_samples import flow, metric_buckets
from tests.waiting import eventually

TOPIC = TrafficKey("main", "team-a", "é\n", "colon", "User:a", "app", "")

MESSAGES: list[Message] = [
    Ready(),
    Failed("cannot listen: é\nx"),
    State({"colon": 2}, {"topics": 3, "cpu_seconds": 0.5}, 12.5),
    State({}, {"accepting": 1}, 12.5, {"la": {"topics": 3}, "ny": {}}),
    State({"colon": 2}, {}, 12.5, {}, {"colon": -3.5}),
    Increments([("requests", ("team-a", 0, 9), 5), ("broker_seconds", (1,), metric_buckets(b3=1))]),
    Prepared(3),
    Prepared(4, "'acme:Naming' cannot be loaded"),
    Observed(1.0),
    ClientTold(
        3,
        ("main", "all", "é", "User:a", "id"),
        {"client_id": "\n"},
        {"g:x": '[[["a","é"],1.0]]'},
        12.5,
    ),
    ClientsTold(3),
    Observed(1.0, [(TOPIC, Traffic(1, 2, 3, 4, 5, 6, 7))], {1: Latency({2: 3}, {})}, form="pure"),
]


@pytest.mark.parametrize("message", MESSAGES)
def test_messages_survive(message: Message) -> None:
    line = encode_message(message)
    assert line.endswith(b"\n")
    assert line.count(b"\n") == 1
    assert decode_message(line) == message


@pytest.mark.parametrize(
    "line",
    [
        b"",
        b"{",
        b"[]",
        b"{}",
        b'{"ready": false}',
        b'{"failed": 1}',
        b'{"connections": {}, "gauges": {"a": "b"}, "made_at": 1.0}',
        b'{"connections": {}, "gauges": {}}',
        b'{"connections": {}, "gauges": {}, "made_at": "now"}',
        b'{"rows": [["requests", ["a"]]]}',
        b'{"rows": [["requests", [null], 1]]}',
        b'{"rows": [["requests", ["a"], [1, 2]]]}',
        b'{"rows": [[1, ["a"], 1]]}',
        b'{"prepared": 1}',
        b'{"client": {}}',
        b'{"client": {"number": 1, "key": [1], "labels": {}, "families": {}, "pushed_at": 1.0}}',
        b'{"clients_told": "1"}',
        b"\xff",
    ],
)
def test_what_is_no_message(line: bytes) -> None:
    with pytest.raises(ValueError, match="that is no"):
        decode_message(line)


def test_a_line_holds_a_bounded_number_of_rows() -> None:
    rows: list[Row] = [("requests", ("n" * 249, 0, n), n) for n in range(1_201)]
    messages = list(increments(rows))
    assert [len(message.rows) for message in messages] == [500, 500, 201]
    assert [row for message in messages for row in message.rows] == rows
    assert all(len(encode_message(message)) < worker_channel.MAX_LINE / 4 for message in messages)


@pytest.mark.parametrize("text", ["x", '"', "\x01", "\u00e9", "\u20ac", "\U0001f600"])
def test_a_line_holds_all_that_is_kept_of_a_client(text: str) -> None:
    found = Gathered(10_000)
    for number in range(6_000):
        label = f"{number:05}" + text * 100
        found.add("g", (("a", label),), 1.0, monotonic_sum=False)
        found.add(f"g{number}", (("a", label),), 1.0, monotonic_sum=False)
    families = {family: text.decode() for family, text in found.written().items()}
    assert families
    labels = dict.fromkeys((*OWN_LABELS, *OF_CLIENT), text * MAX_LABEL)
    line = encode_message(ClientTold(1, tuple("12345"), labels, families, 1.0))
    assert len(line) < worker_channel.MAX_LINE


async def test_long_answers_wait_until_the_supervisor_has_read(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(worker_channel, "FEW_UNREAD", 10_000)
    answer = ClientTold(1, ("a",), {}, {"g:x": "x" * 50_000}, 1.0)

    async def send_all(opened: WorkerChannel) -> None:
        for _ in range(100):
            await opened.answer(answer)
        await opened.answer(ClientsTold(1))

    async with channel() as (opened, supervisor):
        sending = asyncio.create_task(send_all(opened))
        await asyncio.sleep(0.1)
        assert not sending.done()
        assert not opened.full, "reports go on"
        told = []
        async for message in supervisor.messages():
            told.append(message)
            if message == ClientsTold(1):
                break
        await sending
    assert told == [answer] * 100 + [ClientsTold(1)]


async def test_answers_end_with_the_supervisor() -> None:
    async with channel() as (opened, supervisor):
        supervisor.end.close()
        await asyncio.wait_for(supervisor.closed.wait(), 120)
        await opened.answer(ClientsTold(1))


def test_the_configuration_comes_in_pieces() -> None:
    ours, theirs = socket.socketpair()
    with ours, theirs:
        line = b'{"a": "' + b"x" * 100_000 + b'"}\n'
        ours.sendall(line)
        assert receive_config(theirs) == line


def test_a_supervisor_that_ends_before_the_configuration() -> None:
    ours, theirs = socket.socketpair()
    with theirs:
        ours.sendall(b'{"a":')
        ours.close()
        with pytest.raises(ConnectionError, match="no configuration"):
            receive_config(theirs)


class Supervisor:
    """The other end: lines, and whether the channel reports that it is closed."""

    def __init__(self, end: socket.socket) -> None:
        self.end = end
        self.closed = asyncio.Event()

    async def messages(self) -> AsyncIterator[Message]:
        limit = worker_channel.MAX_LINE
        reader, writer = await asyncio.open_unix_connection(sock=self.end, limit=limit)
        try:
            while line := await reader.readline():
                yield decode_message(line)
        finally:
            writer.close()


@asynccontextmanager
async def channel() -> AsyncIterator[tuple[WorkerChannel, Supervisor]]:
    ours, theirs = socket.socketpair()
    supervisor = Supervisor(ours)
    opened = await WorkerChannel.open(theirs, supervisor.closed.set)
    try:
        yield opened, supervisor
    finally:
        ours.close()
        await opened.close()


def report(requests: int) -> WorkerReport:
    return WorkerReport(
        flows=[flow(led=requests)],
        connections={"colon": 1},
        gauges={"topics": 2},
        rows=[
            ("closes", ("client closed",), requests),
            ("audit_dropped", ("file", "queue full"), requests),
        ],
    )


async def test_what_a_worker_tells() -> None:
    async with channel() as (opened, supervisor):
        opened.send(Ready())
        began = time.monotonic()
        first, second = report(3), WorkerReport()
        await opened.report(first)
        await opened.report(second)
        await opened.close()
        told = [message async for message in supervisor.messages()]
    assert told[0] == Ready()
    assert isinstance(told[1], Increments)
    assert ("requests", ("team-a", 0, 9), 3) in told[1].rows
    assert ("closes", ("client closed",), 3) in told[1].rows
    assert ("audit_dropped", ("file", "queue full"), 3) in told[1].rows
    # Everything in a state has been counted by then; it is as old as its content.
    states = [State({"colon": 1}, {"topics": 2}, first.made_at), State({}, {}, second.made_at)]
    assert told[2:] == states
    assert began <= first.made_at <= second.made_at <= time.monotonic()
    assert supervisor.closed.is_set()


async def test_lines_of_the_supervisor() -> None:
    async with channel() as (opened, supervisor):
        lines: list[bytes] = []
        opened.on_line = lines.append
        for piece in (b"on", b"e\ntwo\nthr", b"ee\n", b"never"):
            supervisor.end.sendall(piece)
            await asyncio.sleep(0.01)
        await eventually(lambda: len(lines) == 3, "three lines")
    assert lines == [b"one", b"two", b"three"]


async def test_the_end_of_the_supervisor_is_seen() -> None:
    async with channel() as (opened, supervisor):
        supervisor.end.close()
        await asyncio.wait_for(supervisor.closed.wait(), 120)
        await opened.report(report(1))  # is useless, but harmless
        opened.send(Ready())


async def test_counts_wait_for_a_supervisor_that_does_not_read(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(worker_channel, "WRITE_HIGH", 1_000)
    async with channel() as (opened, supervisor):
        sent = 0
        while not opened.full:
            await opened.report(report(1))
            sent += 1
            assert sent < 100_000
        for _ in range(1_000):
            await opened.report(report(1))
        total = 0
        async for message in supervisor.messages():
            if isinstance(message, Increments):
                total += sum(row[2] for row in message.rows if row[0] == "requests")  # type: ignore[misc]
            if total == sent:
                await eventually(lambda: not opened.full, "room again")
                await opened.report(WorkerReport())
            if total >= sent + 1_000:
                break
    assert total == sent + 1_000


async def test_a_worker_that_ends_sends_what_has_waited(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(worker_channel, "WRITE_HIGH", 1_000)
    async with channel() as (opened, supervisor):
        sent = 1
        await opened.report(report(1))
        while not opened.full:
            await opened.report(report(1))
            sent += 1
        await opened.report(report(7))
        closing = asyncio.create_task(opened.close())
        rows = [
            row
            async for message in supervisor.messages()
            if isinstance(message, Increments)
            for row in message.rows
        ]
        await closing
    assert sum(row[2] for row in rows if row[0] == "requests") == sent + 7  # type: ignore[misc]


async def test_closing_does_not_wait_for_ever(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(worker_channel, "CLOSE_SECONDS", 0.01)
    async with channel() as (opened, supervisor):
        while not opened.full:
            await opened.report(WorkerReport(gauges={"x" * 100_000: 1}))
        await opened.close()
        assert not supervisor.closed.is_set()


async def test_what_is_observed_fits_into_a_line_whatever_names_there_are() -> None:
    rows = [(TOPIC._replace(topic=f"{n}" + "\U0001f600" * 299), Traffic(1)) for n in range(1_000)]
    assert len(encode_message(Observed(1.0, rows))) > worker_channel.MAX_LINE
    async with channel() as (opened, supervisor):
        opened.observe(Observed(1.0, rows, form="pure"))
        opened.send(Ready())
        found = []
        async for message in supervisor.messages():
            found.append(message)
            if isinstance(message, Ready):
                break
    (observed, _) = found
    assert isinstance(observed, Observed)
    assert 100 < len(observed.traffic) < 1_000
    assert list(observed.traffic) == rows[: len(observed.traffic)]  # the busiest, which come first


async def test_what_is_observed_does_not_wait(monkeypatch: pytest.MonkeyPatch) -> None:
    """If the supervisor does not read, it would be old news."""
    monkeypatch.setattr(worker_channel, "WRITE_HIGH", 1_000)
    async with channel() as (opened, supervisor):
        while not opened.full:
            await opened.report(report(1))
        for _ in range(1_000):
            opened.observe(Observed(1.0))
        closing = asyncio.create_task(opened.close())
        found = [type(message) async for message in supervisor.messages()]
        await closing
    assert Observed not in found


def test_lines_are_json_in_ascii() -> None:
    assert json.loads(encode_message(Failed("é")).decode("ascii")) == {"failed": "é"}
