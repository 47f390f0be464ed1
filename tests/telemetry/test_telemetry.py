"""A worker's telemetry from a request to what is told of it."""

from __future__ import annotations

import asyncio
import gzip
import subprocess
import sys
from collections.abc import Awaitable
from dataclasses import replace

import pytest

from gateway.client_metrics import Client, Requested
from gateway.error_codes import THROTTLING_QUOTA_EXCEEDED
from gateway.telemetry.instances import ACCEPTED, InstanceKey, Owner, Push
from gateway.telemetry.series import read
from gateway.telemetry.store import Kept
from gateway.telemetry.telemetry import MOST_WAITING, Pusher, Telemetry
from gateway.telemetry.told import ClientTold
from tests.telemetry.packed import as_lz4, as_snappy, as_zstd
from tests.telemetry.payloads import attributes, gauge, point, pushed

OWNER = Owner("kafka", "clients", "team-a", "User:alice")
INSTANCE = bytes(range(16))
EVERY_SECOND = Requested(("*",), 1_000, 7)
SHORT = pushed(gauge("g", point(1.0)))
METRICS = pushed(gauge("g", point(1.0, topic="t")), resource=attributes(group_id="app"))


class Clock:
    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now


def pusher(owner: Owner = OWNER) -> Pusher:
    client = Client(INSTANCE, "app-1", "apache-kafka-java", "4.3.1", "10.0.0.1", 5000)
    return Pusher(InstanceKey(owner, INSTANCE), client, owner.home)


def take(telemetry: Telemetry, metrics: bytes, *, gzipped: bool = False, last: bool = False) -> int:
    packed = gzip.compress(metrics) if gzipped else metrics
    push = Push(7, int(gzipped), len(packed), last)
    return asyncio.run(telemetry.take(pusher(), EVERY_SECOND, push, packed))


def told(telemetry: Telemetry) -> list[ClientTold]:
    return [ClientTold.of(1, kept) for kept in telemetry.store.tell()]


def test_a_push_is_kept_with_the_labels_of_its_client() -> None:
    telemetry = Telemetry(now=Clock())
    assert take(telemetry, METRICS, gzipped=True) == 0
    (client,) = told(telemetry)
    assert client.labels == {
        "namespace": "team-a",
        "principal": "User:alice",
        "listener": "clients",
        "client_id": "app-1",
        "client_instance_id": "AAECAwQFBgcICQoLDA0ODw",
        "group_id": "app",
    }
    assert {name: list(read(text)) for name, text in client.families.items()} == {
        "g:kafka_client_g": [({"topic": "t"}, 1.0)]
    }
    assert ClientTold.from_json(client.to_json()) == client


def test_pushes_are_read_one_after_the_other() -> None:
    """What is read of a push takes a thousand times its bytes, and may pause in between."""
    telemetry = Telemetry(now=Clock())
    reading, most = 0, 0
    work = telemetry._kept

    async def slow(pusher: Pusher, requested: Requested, push: Push, metrics: bytes) -> Kept:
        nonlocal reading, most
        reading += 1
        most = max(most, reading)
        await asyncio.sleep(0)
        kept = await work(pusher, requested, push, metrics)
        reading -= 1
        return kept

    telemetry._kept = slow  # type: ignore[method-assign]

    async def one(number: int) -> int:
        owner = OWNER._replace(principal=f"User:{number}")
        return await telemetry.take(pusher(owner), EVERY_SECOND, Push(7, 0, 9, False), METRICS)

    async def many() -> list[int]:
        return await asyncio.gather(*map(one, range(20)))

    assert asyncio.run(many()) == [0] * 20
    assert most == 1
    assert len(telemetry.store) == 20


def test_pushes_of_a_tenant_do_not_hold_up_those_of_others() -> None:
    telemetry = Telemetry(now=Clock())
    work, order = telemetry._kept, list[str]()

    async def noted(pusher: Pusher, requested: Requested, push: Push, metrics: bytes) -> Kept:
        order.append(pusher.key.owner.principal)
        await asyncio.sleep(0)
        return await work(pusher, requested, push, metrics)

    telemetry._kept = noted  # type: ignore[method-assign]

    def one(owner: Owner, number: int) -> Awaitable[int]:
        key = InstanceKey(owner, number.to_bytes(16))
        sent = replace(pusher(owner), key=key)
        return telemetry.take(sent, EVERY_SECOND, Push(7, 0, 9, False), METRICS)

    async def flood() -> list[int]:
        many = [one(OWNER, number) for number in range(2, 302)]
        other = OWNER._replace(principal="User:bob", home="team-b")
        return await asyncio.gather(*many, one(other, 2))

    codes = asyncio.run(flood())
    assert codes[: 1 + MOST_WAITING] == [0] * (1 + MOST_WAITING)
    assert {*codes[1 + MOST_WAITING : 300]} == {THROTTLING_QUOTA_EXCEEDED}
    assert codes[300] == 0
    assert order.index("User:bob") <= 2
    assert not telemetry._reading.waiting, "who is gone has no line"


def test_a_push_takes_the_place_of_the_one_before() -> None:
    clock = Clock()
    telemetry = Telemetry(now=clock)
    take(telemetry, METRICS)
    clock.now = 1.0
    assert take(telemetry, pushed(gauge("h", point(2.0)))) == 0
    assert [list(client.families) for client in told(telemetry)] == [["g:kafka_client_h"]]
    clock.now = 2.0
    assert take(telemetry, b"") == 0
    assert told(telemetry) == []


def test_a_push_that_cannot_be_read_leaves_the_one_before() -> None:
    clock = Clock()
    telemetry = Telemetry(now=clock)
    take(telemetry, METRICS)
    clock.now = 1.0
    assert take(telemetry, b"\x0f") == 87
    assert len(told(telemetry)) == 1
    clock.now = 2.4
    assert len(told(telemetry)) == 1
    clock.now = 2.5
    assert told(telemetry) == []


PACKED = {2: as_snappy(SHORT), 3: as_lz4(SHORT), 4: as_zstd(SHORT)}
"""By Kafka's number of the compression."""


@pytest.mark.parametrize("compression", PACKED)
def test_a_compression_that_clients_are_not_told_of(compression: int) -> None:
    """It is declined before it is unpacked, as a broker declines what it does not know; the client
    asks again at once, and then compresses by what it is told."""
    assert compression not in ACCEPTED
    clock = Clock()
    telemetry = Telemetry(now=clock)
    take(telemetry, METRICS)
    clock.now = 1.0
    push = Push(7, compression, len(PACKED[compression]), False)
    assert asyncio.run(telemetry.take(pusher(), EVERY_SECOND, push, PACKED[compression])) == 76
    assert len(told(telemetry)) == 1, "the push before is kept"
    assert telemetry.get(pusher().key, EVERY_SECOND) == 0


def test_a_push_too_early_is_not_read() -> None:
    telemetry = Telemetry(now=Clock())
    take(telemetry, METRICS)
    assert take(telemetry, pushed(gauge("h", point(2.0)))) == 89
    assert [list(client.families) for client in told(telemetry)] == [["g:kafka_client_g"]]


def test_the_last_push_is_told_once() -> None:
    telemetry = Telemetry(now=Clock())
    assert take(telemetry, METRICS, last=True) == 0
    assert len(told(telemetry)) == 1
    assert told(telemetry) == []


def test_an_empty_last_push_ends_what_was_pushed_before() -> None:
    clock = Clock()
    telemetry = Telemetry(now=clock)
    take(telemetry, METRICS)
    clock.now = 1.0
    assert take(telemetry, b"", last=True) == 0
    assert len(told(telemetry)) == 1
    assert told(telemetry) == []


def test_what_is_dropped_is_counted() -> None:
    telemetry = Telemetry(max_series=1, now=Clock())
    take(telemetry, pushed(gauge("g", point(1.0, a="1"), point(1.0, a="2"))))
    assert telemetry.take_rows() == [("client_telemetry_dropped", ("series",), 1)]
    assert telemetry.take_rows() == []


LOADED = """
import asyncio, sys
from gateway.processes import worker
from gateway.client_metrics import Client, Requested
from gateway.error_codes import THROTTLING_QUOTA_EXCEEDED
from gateway.telemetry.instances import InstanceKey, Owner, Push
from gateway.telemetry.telemetry import MOST_WAITING, Pusher, Telemetry
telemetry = Telemetry()
key = InstanceKey(Owner("", "", "", ""), bytes(range(16)))
pusher = Pusher(key, Client(key.instance_id, "", "", "", "", 0), "")
wanted = Requested(("*",), 1_000, 7)
telemetry.get(key, wanted)
heavy = ("google.protobuf", "opentelemetry")
print([name for name in heavy if name in sys.modules])
code = asyncio.run(telemetry.take(pusher, wanted, Push(7, 0, 2, False), bytes([10, 0])))
print(code, [name for name in heavy if name in sys.modules])
"""


AT_ONCE = """
import asyncio
from gateway.client_metrics import Client, Requested
from gateway.error_codes import THROTTLING_QUOTA_EXCEEDED
from gateway.telemetry.instances import InstanceKey, Owner, Push
from gateway.telemetry.telemetry import MOST_WAITING, Pusher, Telemetry
telemetry = Telemetry()
wanted = Requested(("*",), 1_000, 7)

async def push(number):
    key = InstanceKey(Owner("", "", "", ""), number.to_bytes(16, "big"))
    pusher = Pusher(key, Client(key.instance_id, "", "", "", "", 0), "")
    await asyncio.sleep(number / 1_000)
    return await telemetry.take(pusher, wanted, Push(7, 0, 2, False), bytes([10, 0]))

async def main():
    print(set(await asyncio.gather(*map(push, range(2, 100)))), len(telemetry.store))

asyncio.run(main())
"""


def test_pushes_wait_while_protobuf_is_loaded() -> None:
    """Each of them comes a millisecond after the one before."""
    ran = subprocess.run(
        [sys.executable, "-c", AT_ONCE], check=True, capture_output=True, text=True
    )
    assert ran.stdout.strip() == "{0} 98"


def test_protobuf_is_loaded_with_the_first_push() -> None:
    ran = subprocess.run([sys.executable, "-c", LOADED], check=True, capture_output=True, text=True)
    assert ran.stdout.splitlines() == ["[]", "0 ['google.protobuf', 'opentelemetry']"]
