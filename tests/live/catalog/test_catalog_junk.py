"""A client writes junk to the catalog's topic at the broker, while gateways serve."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from confluent_kafka import KafkaException
from confluent_kafka.admin import ResourceType

from devkit.broker import KafkaCluster
from devkit.gateway_config import Listener
from devkit.gateway_process import GatewayProcess
from devkit.waiting import wait_until
from gateway.catalog.log.records import Record
from gateway.catalog.log.signatures import SigningKey
from gateway.catalog.log.topics import CATALOG_TOPIC
from tests.live.catalog.junk_records import Foreigner, forged
from tests.live.catalog.test_catalog import set_configs
from tests.live.support import clients, namespaces, sasl

pytestmark = pytest.mark.long("kills")

SECRET = "11" * 32
SCRAM = {
    "security_protocol": "SASL_PLAINTEXT",
    "sasl": {"mechanisms": ["SCRAM-SHA-256"]},
}
EAGER = {
    "segment.ms": "100",
    "max.compaction.lag.ms": "100",
    "delete.retention.ms": "0",
    "min.cleanable.dirty.ratio": "0.001",
}


class Story:
    """A gateway with two workers, and a client that writes to its broker directly."""

    def __init__(self, kafka: KafkaCluster, gateway: GatewayProcess) -> None:
        self.kafka = kafka
        self.gateway = gateway
        self.foreigner = Foreigner(kafka.bootstrap_servers)
        self.made = {"org"}
        self.changes = 0

    def work(self, name: str) -> None:
        """Create a namespace, a topic in it, and a user who logs in and lists the topic."""
        servers = self.gateway.bootstrap_servers("open")
        namespaces.create(servers, f"{name}:")
        namespaces.create_topic(servers, self.kafka, f"{name}:orders")
        self.made.add(name)
        sasl.set_password(servers, name, f"of {name}")
        self.log_in(name)
        ready = self.gateway.get
        wait_until(lambda: ready("/readyz")[0] == 200, "the gateway to be ready", clients.SECONDS)

    def log_in(self, name: str) -> None:
        """Wait until the user of ``work`` can log in and list its topic.

        If another worker than the one that made them answers, it may read the catalog a little
        later.
        """
        servers = self.gateway.bootstrap_servers("sasl")
        admin = sasl.admin(servers, "SCRAM-SHA-256", name, password=f"of {name}")
        topic = f"{name}:orders"
        wait_until(lambda: topic in sasl.listed(admin), f"{topic} for its user", clients.SECONDS)

    def namespaces(self) -> set[str]:
        """The namespaces that the gateway lists."""
        listed = clients.listed(self.gateway.bootstrap_servers("open"))
        return {name[:-1] for name in listed if name.endswith(":")}

    def check(self) -> None:
        """Wait until the namespaces made so far, and no others, are listed, and their users can log
        in."""
        made = f"these namespaces and no other: {', '.join(sorted(self.made))}"
        wait_until(lambda: self.namespaces() == self.made, made, clients.SECONDS)
        for name in self.made - {"org"}:
            self.log_in(name)

    def restart(self) -> None:
        """Kill the gateway and start it again."""
        self.gateway.kill()
        self.gateway.start_again()

    def skipped(self) -> set[str]:
        """The reasons for which workers skipped records."""
        found = re.findall(
            r'^kafka_gateway_catalog_skipped_records_total\{reason="([^"]*)"\}',
            self.gateway.metrics(),
            re.MULTILINE,
        )
        return set(found)

    def await_mended(self) -> None:
        """Wait until no junk stands in the place of a record any more. The workers report once a
        second, so a change behind the junk shows that they have read it."""
        self.changes += 1
        servers = self.gateway.bootstrap_servers("open")
        namespaces.alter(servers, "org:", {"retention.ms": str(30_000 + self.changes)})
        written = int(dict(self.newest().headers)["seq"] or b"0")

        def mended() -> bool:
            text = self.gateway.metrics()
            version = re.search(r"^kafka_gateway_catalog_version (\S+)$", text, re.MULTILINE)
            is_read = version is not None and float(version[1]) >= written
            return is_read and "kafka_gateway_catalog_damaged_records 0.0\n" in text

        wait_until(mended, "the mending", clients.SECONDS)

    def newest(self) -> Record:
        """The last record that a gateway has written."""
        return [one for one in self.foreigner.records() if dict(one.headers).get("entities")][-1]

    def junk(self, number: int) -> None:
        """Write a junk record of each kind; ``number`` makes the records of each call different."""
        write, records = self.foreigner.write, self.foreigner.records()
        write(bytes([number, 255, 0]), b"\xde\xad\xbe\xef", [("seq", b"\xff")])
        newest = self.newest()
        # A record made for another offset, and a record without any header.
        write(*forged(newest, f"evil-{number}", self.foreigner.end() + 7)[:3])
        write(f"namespace/evil-{number}".encode(), b"{}")
        copied = next(one for one in records if one.key == b"namespace/org")
        write(*copied[:3])
        with pytest.raises(KafkaException, match=r"INVALID_RECORD|failed"):
            write(None, b"without a key")
        write(b"namespace/org", None)
        users = [one.key for one in records if (one.key or b"").startswith(b"scram/")]
        for user in users:
            write(user, None)
        write(b"format", b'{"level":99}')
        write(b"quota/new", b"{}")

    def compact(self) -> None:
        """Wait until the broker has removed every record that a later one replaced."""
        set_configs(self.kafka, "1", {"log.cleaner.backoff.ms": "100"}, ResourceType.BROKER)
        set_configs(self.kafka, CATALOG_TOPIC, EAGER)
        turn = 0

        def compacted() -> bool:
            nonlocal turn
            turn += 1
            servers = self.gateway.bootstrap_servers("open")
            namespaces.alter(servers, "org:", {"retention.ms": str(60_000 + turn)})
            keys = [one.key for one in self.foreigner.records()]
            return keys.count(b"namespace/org") < turn / 2 and keys.count(b"quota/new") == 1

        wait_until(compacted, "the compaction", 400)


@pytest.fixture(scope="module")
def keys(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("keys") / "catalog.keys"
    path.write_text(f"k1 {SECRET}\n")
    return path


@pytest.fixture(scope="module")
def story(keys: Path) -> Iterator[Story]:
    listeners = [
        Listener("open", "asks nobody", list_namespaces=True),
        Listener("sasl", "asks everybody", security=SCRAM),
    ]
    with KafkaCluster() as kafka:
        gateway = GatewayProcess(
            kafka.bootstrap_servers,
            listeners,
            ["org"],
            workers=2,
            overrides={"catalog": {"key_file": str(keys)}},
        )
        with gateway:
            yield Story(kafka, gateway)


def _junk_stops_nothing(story: Story) -> None:
    story.work("before")
    for number in range(3):
        story.junk(number)
        story.work(f"during-{number}")
    story.await_mended()
    story.check()
    wait_until(
        lambda: {"malformed", "misplaced"} <= story.skipped(), "the metrics", clients.SECONDS
    )
    story.gateway.wait_for_log("the catalog's topic holds what no gateway wrote")


def _who_starts_later_finds_the_same(story: Story) -> None:
    story.restart()
    story.check()
    story.work("again")


def _so_does_who_starts_after_compaction(story: Story) -> None:
    story.junk(9)
    story.await_mended()
    story.compact()
    story.restart()
    story.check()
    story.work("after-compaction")


def _a_signed_catalog_believes_nobody_else(story: Story) -> None:
    """Sign the catalog while the gateway serves it; it then skips every record of other writers."""
    config = str(story.gateway.config_path)
    said = namespaces.command("catalog", "sign", "--config", config)
    assert said.out.startswith("The catalog is signed with key k1:")
    story.work("signed")
    write = story.foreigner.write
    for number in range(2):
        newest = story.newest()
        assert {"mac", "key"} <= dict(newest.headers).keys()
        # At exactly the gateway's next offset: unsigned, and signed with another key.
        write(*forged(newest, f"evil-{number}", story.foreigner.end())[:3])
        foreign = SigningKey("k1", b"x" * 32)
        write(*forged(newest, f"evil-{number}", story.foreigner.end(), foreign)[:3])
        write(*forged(newest, "x", story.foreigner.end(), SigningKey("k9", b"x" * 32))[:3])
        # A signed record, written again unchanged.
        write(*newest[:3])
        story.junk(20 + number)
        story.work(f"signed-{number}")
    story.await_mended()
    story.check()
    reasons = {"unsigned", "forged", "unknown key", "misplaced"}
    wait_until(lambda: reasons <= story.skipped(), "the metrics", clients.SECONDS)


def _a_signed_catalog_is_found_after_compaction(story: Story) -> None:
    story.compact()
    story.restart()
    story.check()
    story.work("signed-in-the-end")


def _a_gateway_without_the_key_does_not_start(story: Story, tmp_path: Path) -> None:
    text = story.gateway.config_path.read_text()
    config = tmp_path / "gateway.yaml"
    config.write_text(re.sub(r"\n  key_file: .*", " {}", text))
    said = namespaces.attempt("catalog", "status", "--config", str(config))
    assert said.status == 1
    assert "is signed with key 'k1', and there is no catalog.key_file" in said.err


def _the_key_is_changed_while_it_serves(story: Story, keys: Path) -> None:
    keys.write_text(f"k2 {'22' * 32}\nk1 {SECRET}\n")
    config = str(story.gateway.config_path)
    said = namespaces.command("catalog", "sign", "--config", config)
    assert said.out.startswith("The catalog is signed with key k2:")
    story.work("rotated")
    keys.write_text(f"k2 {'22' * 32}\n")
    story.work("rotated-again")
    story.restart()
    story.check()
    said = namespaces.command("catalog", "sign", "--off", "--config", config)
    assert said.out == "Records of the catalog need not be signed any more.\n"
    story.work("unsigned")
    assert "mac" not in dict(story.newest().headers)
    story.restart()
    story.check()


def test_junk_in_a_catalog_and_in_one_that_is_signed(
    story: Story, keys: Path, tmp_path: Path
) -> None:
    """The steps in order: each begins with the catalog that the previous step left."""
    _junk_stops_nothing(story)
    _who_starts_later_finds_the_same(story)
    _so_does_who_starts_after_compaction(story)
    _a_signed_catalog_believes_nobody_else(story)
    _a_signed_catalog_is_found_after_compaction(story)
    _a_gateway_without_the_key_does_not_start(story, tmp_path)
    _the_key_is_changed_while_it_serves(story, keys)
