"""kaskade, a terminal UI: its pages show the same as at the broker."""

from __future__ import annotations

import json
import re
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, Final

import pytest
from confluent_kafka import Producer

from devkit.broker import KafkaCluster
from devkit.gateway_process import GatewayProcess
from devkit.locked_python import TOOLS, environment, python_with
from tests.live.support import clients, java_tools

# The program is installed with all that it needs.
pytestmark = [pytest.mark.timeout(1200), pytest.mark.long("builds")]

Names = Callable[[str], str]

PROGRAM: Final = java_tools.SOURCES.with_name("python") / "kaskade_pages.py"

# By listener: the prefix of topics and groups.
PREFIXES: Final = {"home-a": "", "colon": "team-a:", "legal": "team-a.."}

FIRST: Final = int(time.time()) * 1000 - 3_600_000
"""The timestamp of the first record in each place, in milliseconds."""


@contextmanager
def topic_with_a_member(servers: str, topic: str, group: str) -> Iterator[None]:
    """A topic with five records, of which a member of a group, which stays, has committed three."""
    clients.create(servers, topic, partitions=2)
    clients.await_led(servers, topic)
    problems: list[str] = []
    producer = Producer(clients.settings(servers))
    for number in range(5):
        producer.produce(
            topic,
            f"value-{number}" if number != 3 else None,
            f"key-{number}",
            partition=0,
            timestamp=FIRST + number,
            headers={"number": str(number)},
            on_delivery=lambda error, _: problems.extend([str(error)] if error else []),
        )
    assert producer.flush(clients.SECONDS) == 0
    assert problems == []
    with clients.consumer(servers, group, client_id="a-reader") as reader:
        reader.subscribe([topic])
        third = clients.take(reader, 3)[-1]
        reader.commit(message=third, asynchronous=False)
        yield


def pages(page: str, servers: str, topic: str, *more: str) -> list[dict[str, Any]]:
    """What the pages show, without what differs between two runs at one broker: addresses of
    brokers, ids of members; without the gateway's own configs of topics; and with ``TOPIC`` and
    ``GROUP`` for their names."""
    ended = subprocess.run(
        [python_with(TOOLS), PROGRAM, page, servers, topic, *more],
        env={**environment(), "KASKADE_SETTINGS": "none.yaml"},
        capture_output=True,
        text=True,
        timeout=clients.SECONDS * 4,
        check=False,
    )
    assert ended.returncode == 0, f"{ended.stdout}\n{ended.stderr}"
    text = re.sub(r"127\.0\.0\.1:\d+", "ADDRESS", ended.stdout)
    text = re.sub(r"a-reader-[0-9a-f-]{36}", "MEMBER", text)
    for what, name in (("TOPIC", topic), *(("OTHER", name) for name in more)):
        text = text.replace(name, what)
    found = [json.loads(line) for line in text.splitlines()]
    for each in found:
        if each["page"] == "configurations":
            each["shows"] = [row for row in each["shows"] if not row[0].startswith("gateway.")]
    return found


class Place:
    """The names of one run, and what kaskade shows of them."""

    def __init__(self, servers: str, prefix: str, stem: str) -> None:
        self.servers = servers
        self.topic = f"{prefix}in-{stem}"
        self.group = f"{prefix}group-{stem}"
        self.other = f"{prefix}other-{stem}"

    def admin(self) -> list[dict[str, Any]]:
        with topic_with_a_member(self.servers, self.topic, self.group):
            found = pages("admin", self.servers, self.topic, self.other)
        text = json.dumps(found).replace(self.group, "GROUP")
        shown: list[dict[str, Any]] = json.loads(text)
        return shown

    def consumer(self) -> list[dict[str, Any]]:
        return pages("consumer", self.servers, self.topic)


@pytest.fixture(scope="module")
def direct(kafka: KafkaCluster) -> dict[str, list[dict[str, Any]]]:
    """What the pages show at the broker itself."""
    place = Place(kafka.bootstrap_servers, "direct.", "kaskade")
    found = {"admin": place.admin(), "consumer": place.consumer()}
    # So that the gateway is not compared with a failure.
    first = {each["page"]: each["shows"] for each in reversed(found["admin"][:6])}
    assert first["topics"] == [["TOPIC", "2", "1", "1", "1", "1", "≈5", "≈2"]]
    assert first["partitions"][0][2:5] == ["0", "5", "5"]
    assert ["retention.ms", "604800000"] in first["configurations"]
    assert first["group-offsets"][0] == ["GROUP", "0", "3", "5", "2"]
    assert first["group-members"] == [["GROUP", "a-reader", "MEMBER", "/127.0.0.1", "[0, 1]"]]
    configs = [dict(each["shows"]) for each in found["admin"] if each["page"] == "configurations"]
    edited, created = configs[1:]
    assert (edited["retention.ms"], created["retention.ms"]) == ("172800000", "86400000")
    (records,) = found["consumer"]
    assert [row[:2] for row in records["shows"]] == [
        [f"key-{number}", f"value-{number}" if number != 3 else "null"] for number in range(5)
    ]
    return found


@pytest.mark.parametrize("listener", PREFIXES)
def test_as_direct(
    gateway: GatewayProcess,
    unique: Names,
    direct: dict[str, list[dict[str, Any]]],
    listener: str,
) -> None:
    prefix = PREFIXES[listener]
    place = Place(gateway.bootstrap_servers(listener), prefix, unique("kaskade"))
    shown = place.admin()
    if listener == "colon":
        # Its form for a new topic rejects a colon before it sends anything.
        assert shown == [
            *direct["admin"][: len(shown) - 1],
            {"page": "rejected", "shows": ["name"]},
        ]
        assert len(shown) == 13
    else:
        assert shown == direct["admin"]
    assert place.consumer() == direct["consumer"]
