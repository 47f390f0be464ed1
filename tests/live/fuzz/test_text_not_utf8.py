"""Text that is not UTF-8, in every field of every served request, is read as by a broker.

Java replaces malformed bytes by U+FFFD. So the responses equal a broker's.
"""

from __future__ import annotations

import asyncio
import random
from collections import Counter
from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import replace
from typing import Any, Final

import pytest

from devkit.broker import KafkaCluster
from devkit.gateway_config import Listener
from devkit.gateway_process import GatewayProcess
from gateway.apis.table import APIS
from protocol import messages
from protocol.primitives import legacy_string
from protocol.schema import api_key_of
from protocol.text import as_brokers_read
from tests.live.fuzz.answers import differences
from tests.live.fuzz.differences import why
from tests.live.fuzz.lanes import Address
from tests.live.fuzz.planted_text import Planted, PlantingSide, cases
from tests.live.fuzz.requests import Request, Served
from tests.live.fuzz.settling import ask, make_topics, served_by_both
from tests.live.fuzz.sides import CLOSED, HUNG, Names, Side
from tests.live.fuzz.values import PARTITIONS
from tests.live.support import clients
from tests.live.support.wire import Wire

LISTENERS: Final = (
    Listener("colon", "every namespace, names with colons"),
    Listener("home", "team-a is home", home="team-a"),
    Listener("legal", "every namespace, names in the legal spelling", spelling="legal"),
)

STILL: Final = {
    "auto.create.topics.enable": "false",
    "offsets.topic.num.partitions": "1",
    "transaction.state.log.num.partitions": "1",
}


@pytest.fixture(scope="module")
def addresses() -> Iterator[list[Address]]:
    """A plain broker, then the ways to another broker through a gateway."""
    with KafkaCluster(overrides=STILL) as kafka, KafkaCluster(overrides=STILL) as behind:
        namespaces = ["team-a", "org:apache"]
        with GatewayProcess(behind.bootstrap_servers, LISTENERS, namespaces) as gateway:
            colon, home, legal = (
                clients.any_broker(gateway.bootstrap_servers(listener.name))
                for listener in LISTENERS
            )
            yield [
                Address(kafka.bootstrap_servers),
                Address(colon),
                Address(home),
                Address(colon, "org:apache:"),
                Address(legal, "org.apache.."),
            ]


class _Comparison:
    """Connections to a plain broker and to a gateway, and the differences found so far."""

    def __init__(self, lane: str, plain: Address, gateway: Address) -> None:
        self._lane = lane
        self._addresses = (plain, gateway)
        self._symbols = [address.symbols(lane) for address in self._addresses]
        self._sides: list[PlantingSide | None] = [None, None]
        self.compared = 0
        self.known: Counter[str] = Counter()
        self.found: list[str] = []

    async def search(self) -> None:
        """Compare every API and version that both sides serve."""
        served = await self._prepare()
        for api in APIS.values():
            if api.name not in served:
                continue
            first, last = served[api.name]
            for version in range(first, last + 1):
                for case in cases(api.name, version):
                    await self._compare(case)
                await self._close()  # a connection remembers which names it has produced to

    async def _close(self) -> None:
        for at, side in enumerate(self._sides):
            if side is not None:
                await side.close()
            self._sides[at] = None

    async def _prepare(self) -> Served:
        """Create the topics on both sides; the versions that both serve."""
        served = []
        for address, symbols in zip(self._addresses, self._symbols, strict=True):
            async with _opened(Side(address.address, symbols, 0)) as side:
                names = {f"{self._lane}-{name}": count for name, count in PARTITIONS.items()}
                await make_topics(side, self._lane, names)
                served.append(await side.served())
        return served_by_both(served)

    async def _compare(self, case: Planted) -> None:
        """Send a request to both sides, and note where the gateway's response differs from a
        broker's."""
        self.compared += 1
        values = Names(self._lane, self.compared).fixed(case.request.values)
        request = replace(case.request, values=values)
        expected, got = await asyncio.gather(*(self._answer(at, case, request) for at in (0, 1)))
        assert expected != HUNG, case
        for leaf in differences(expected, got):
            reason = why(case.shown, leaf)
            if reason is not None:
                self.known[reason] += 1
                continue
            told = f"{self._lane}: {case}: {leaf.path or 'the answer'}"
            self.found.append(f"{told}\n    Kafka:   {leaf.expected!r}\n    gateway: {leaf.got!r}")

    async def _answer(self, at: int, case: Planted, request: Request) -> Any:
        symbols = self._symbols[at]
        symbols.sessions.clear()
        symbols.producers.clear()
        symbols.members.clear()
        side = self._sides[at]
        if side is None:
            side = PlantingSide(self._addresses[at].address, symbols, 0)
            await side.open()
            self._sides[at] = side
        side.bad = case.bad
        (answer,) = await ask(side, [request])
        if answer in (CLOSED, HUNG):
            self._sides[at] = None
            with suppress(OSError):
                await side.close()
        return answer


@asynccontextmanager
async def _opened(side: Side) -> AsyncIterator[Side]:
    await side.open()
    try:
        yield side
    finally:
        await side.close()


async def _search(addresses: Sequence[Address]) -> list[_Comparison]:
    plain, *gateways = addresses
    searches = [_Comparison(f"lane{at}", plain, way) for at, way in enumerate(gateways)]
    await asyncio.gather(*(each.search() for each in searches))
    return searches


@pytest.mark.long("searches")
@pytest.mark.timeout(900)
def test_text_is_read_as_by_a_broker(addresses: list[Address]) -> None:
    searches = asyncio.run(_search(addresses))
    for reason, count in sum((each.known for each in searches), Counter[str]()).most_common():
        print(f"{count:8} known: {reason}")
    found = [told for each in searches for told in each.found]
    assert not found, f"{len(found)} differences\n" + "\n".join(found)
    assert all(each.compared > 1_000 for each in searches)


PARTS: Final = (
    *(bytes([byte]) for byte in (0x61, 0x7F, 0x80, 0x8F, 0x90, 0x9F, 0xA0, 0xBF, 0xC0, 0xC1)),
    *(bytes([byte]) for byte in (0xC2, 0xDF, 0xE0, 0xE1, 0xEC, 0xED, 0xEE, 0xEF, 0xF0, 0xF1)),
    *(bytes([byte]) for byte in (0xF3, 0xF4, 0xF5, 0xF7, 0xF8, 0xFC, 0xFE, 0xFF)),
    *("é".encode(), "€".encode(), "😀".encode(), "\ufffd".encode(), b"\xed\xa0", b"\xed\xb0\x80"),
)
"""Bytes at the boundaries of valid UTF-8, and whole characters."""


@pytest.mark.long("searches")
def test_random_bytes_are_read_as_by_a_broker(addresses: list[Address]) -> None:
    """The broker describes each group by the id that it has read."""
    rng = random.Random("text")
    ids = [
        b"%d-" % number + b"".join(rng.choices(PARTS, k=rng.randint(1, 7)))
        for number in range(20_000)
    ]
    body = len(ids).to_bytes(4, "big") + b"".join(map(legacy_string, ids))
    with Wire(addresses[0].address) as wire:
        answer = wire.exchange(api_key_of("DescribeGroupsRequest"), 0, body)
    described = messages.parse("DescribeGroupsResponse", 0, answer).groups
    read = {group.group_id.partition("-")[0]: group.group_id for group in described}
    assert len(read) == len(ids)
    for number, each in enumerate(ids):
        assert as_brokers_read(each).decode() == read[str(number)], each
