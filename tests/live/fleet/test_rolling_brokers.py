"""Three brokers are upgraded in turn, from Kafka 3.9 to 4.3, and downgraded again.

Clients of every kind work on listeners of every kind meanwhile. They receive no error that they do
not receive directly.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from pathlib import Path
from typing import Any, Final, NamedTuple

import pytest
from confluent_kafka.cimpl import NewTopic

from devkit.broker import KafkaCluster
from devkit.gateway_config import Listener, MountedCluster
from devkit.gateway_process import GatewayProcess
from devkit.topics import create_topics
from devkit.waiting import wait_until
from tests.live.fleet.test_killed_gateways import written
from tests.live.support import clients, steady
from tests.live.support.steady import Steady
from tests.live.support.steady_java_client import java_client

pytestmark = pytest.mark.long("brokers")

SECONDS = clients.SECONDS
NODES: Final = (2, 3, 1)
"""In this order, as operators do it: the only controller is last."""

OLD, NEW = "kafka-3.9", "kafka"

KAFKAS_OWN: Final = {"broker.session.timeout.ms": "9000"}
"""If the session of a broker at 4.3 is not over, the controller does not admit it at 3.9."""

PASSWORD = "wonderland"  # noqa: S105 - of this test
AGE_MS: Final = 300_000
"""metadata.max.age.ms of all clients."""

LOGINS: Final[Mapping[str, Mapping[str, str]]] = {
    "librdkafka": {
        "security_protocol": "SASL_PLAINTEXT",
        "sasl_mechanism": "PLAIN",
        "sasl_username": "alice",
        "sasl_password": PASSWORD,
    },
    "python": {
        "security_protocol": "SASL_PLAINTEXT",
        "sasl_mechanism": "PLAIN",
        "sasl_plain_username": "alice",
        "sasl_plain_password": PASSWORD,
    },
    "java": {
        "security.protocol": "SASL_PLAINTEXT",
        "sasl.mechanism": "PLAIN",
        "sasl.jaas.config": (
            "org.apache.kafka.common.security.plain.PlainLoginModule required"
            f' username="alice" password="{PASSWORD}";'
        ),
    },
}


class Kind(NamedTuple):
    """Where clients connect.

    The bootstrap servers, whether clients log in, and the prefix of their topics' names at the
    brokers.
    """

    servers: str
    logs_in: bool
    prefix: str

    def login(self, library: str) -> Mapping[str, str]:
        return LOGINS[library] if self.logs_in else {}


Start = Callable[[Kind, str, Path], Sequence[Steady]]


ONE_AT_A_TIME: Final = {"max_in_flight": 1}
"""With more requests in flight, librdkafka's idempotent producer may itself write a record twice.

It does so without a gateway as well (its issue 4953). A broker that gives up a partition returns
NOT_LEADER_OR_FOLLOWER for a record that its followers have. The producer resends that record and
the later ones, all at once, to the next leader. If leadership begins between two of them, the
leader rejects the later record as out of sequence. Then librdkafka takes a new epoch and resends
the first record under it, so that no broker recognizes the repetition.
"""


def librdkafka(at: Kind, topic: str, directory: Path) -> Sequence[Steady]:
    more = {"ignoring": True, **at.login("librdkafka")}
    return [
        steady.producer(topic, at.servers, topic, pause=steady.PAUSE, **ONE_AT_A_TIME, **more),
        steady.member(topic, at.servers, f"group-{topic}", topic, **more),
    ]


def java(at: Kind, topic: str, directory: Path) -> Sequence[Steady]:
    more = at.login("java")
    return [java_client(topic, at.servers, topic, f"group-{topic}", directory, more=more)]


def aiokafka(at: Kind, topic: str, directory: Path) -> Sequence[Steady]:
    more = at.login("python")
    return [steady.aiokafka(topic, at.servers, topic, f"group-{topic}", AGE_MS, **more)]


def kafka_python(at: Kind, topic: str, directory: Path) -> Sequence[Steady]:
    more = at.login("python")
    return [steady.kafka_python(topic, at.servers, topic, f"group-{topic}", AGE_MS, **more)]


LIBRARIES: Final[Sequence[Start]] = (librdkafka, java, aiokafka, kafka_python)


class Site(NamedTuple):
    """Three brokers of Kafka 3.9, and each way to them by name."""

    kafka: KafkaCluster
    kinds: Mapping[str, Kind]

    def await_in_sync(self) -> None:
        """Wait until each partition has all of its replicas in sync, which must precede a
        restart."""

        def in_sync() -> bool:
            topics = self.kafka.admin().list_topics(timeout=SECONDS).topics.values()
            partitions = [each for topic in topics for each in topic.partitions.values()]
            return all(len(each.isrs) == len(each.replicas) for each in partitions)

        wait_until(in_sync, "all replicas in sync", SECONDS)


@pytest.fixture
def site() -> Iterator[Site]:
    with ExitStack() as stack:
        directory = stack.enter_context(tempfile.TemporaryDirectory())
        password = Path(directory) / "alice"
        password.write_text(f"{PASSWORD}\n")
        sasl: dict[str, Any] = {
            "security_protocol": "SASL_PLAINTEXT",
            "sasl": {"mechanisms": ["PLAIN"], "users": {"alice": {"file": str(password)}}},
        }
        plain = [
            Listener("open", "asks nobody"),
            Listener("login", "asks everybody", security=sasl),
            Listener("home", "asks everybody", home="team-a", security=sasl),
            Listener("fleet", "lists the gateways", in_fleet=True),
        ]
        tree = [Listener("tree", "asks everybody", security={"volume": "la", **sasl})]
        kafka = stack.enter_context(
            KafkaCluster(3, jar_set=OLD, release="3.9", overrides=KAFKAS_OWN)
        )
        servers = kafka.bootstrap_servers
        gateway = stack.enter_context(GatewayProcess(servers, plain, ["team-a"]))
        mounted = [MountedCluster("la", 1, servers)]
        other = stack.enter_context(GatewayProcess(mounted, tree, []))
        yield Site(
            kafka,
            {
                "direct": Kind(servers, False, ""),
                "open": Kind(gateway.bootstrap_servers("open"), False, ""),
                "login": Kind(gateway.bootstrap_servers("login"), True, ""),
                "home": Kind(gateway.bootstrap_servers("home"), True, "team-a.."),
                "fleet": Kind(gateway.bootstrap_servers("fleet"), False, ""),
                "tree": Kind(other.bootstrap_servers("tree"), True, ""),
            },
        )


@pytest.mark.timeout(1_200)
@pytest.mark.filterwarnings("ignore:unclosed <socket:ResourceWarning")
@pytest.mark.usefixtures("leaving_no_sockets")
def test_clients_meet_no_error_that_they_do_not_meet_directly(
    site: Site, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(steady, "PAUSE", 0.1)  # there are many on the same machine
    topics = {
        (name, start): f"{start.__name__}-{name}" for name in site.kinds for start in LIBRARIES
    }
    flat = {key: f"{site.kinds[key[0]].prefix}{topic}" for key, topic in topics.items()}
    create_topics(site.kafka.admin(), [NewTopic(each, 1, 3) for each in flat.values()])
    for name in flat.values():
        clients.await_led(site.kafka.bootstrap_servers, name)
    running: dict[tuple[str, Start], Sequence[Steady]] = {}
    with ExitStack() as stack:
        for (name, start), topic in topics.items():
            each = start(site.kinds[name], topic, tmp_path)
            running[name, start] = [stack.enter_context(one) for one in each]
        _await_progress(running, topics, "the start")
        for jar_set in (NEW, OLD):
            for node_id in NODES:
                site.await_in_sync()
                site.kafka.restart_broker(node_id, jar_set=jar_set)
                _await_progress(running, topics, f"broker {node_id} is {jar_set}")
        site.await_in_sync()
        every = [one for each in running.values() for one in each]
        for one in every:  # each takes a second or two to close, so they close in parallel
            one.stopping.set()
        for one in every:
            one.stop()
    for start in LIBRARIES:
        direct = _problems(running["direct", start])
        for name in site.kinds:
            problems = _problems(running[name, start])
            print(f"{start.__name__} at {name}: {len(problems)} problems")
            assert len(problems) <= len(direct), (name, start.__name__, problems, direct)
    servers = site.kafka.bootstrap_servers
    with ThreadPoolExecutor(8) as pool:  # a consumer waits most of the time
        reading = {key: pool.submit(_stored, servers, flat[key]) for key in topics}
    for key, topic in topics.items():
        acked = {value for one in running[key] for value in one.acked[topic]}
        stored = reading[key].result()
        assert acked <= {*stored}, (topic, "acknowledged, and lost")
        if key[1] is not kafka_python:  # whose producer is not idempotent by default
            steady.once_each(stored)
    for node_id in NODES:
        assert "which is not enabled" not in site.kafka.log_tail(node_id, lines=100_000)


def _await_progress(
    running: Mapping[tuple[str, Start], Sequence[Steady]],
    topics: Mapping[tuple[str, Start], str],
    what: str,
) -> None:
    all_of_them = [(one, topics[key]) for key, each in running.items() for one in each]
    steady.await_progress_of(all_of_them, what)


def _problems(clients_of_one: Sequence[Steady]) -> list[str]:
    return [problem for one in clients_of_one for problem in one.problems]


def _stored(servers: str, flat: str) -> list[str]:
    """All records of a topic's only partition, read at the brokers."""
    clients.await_led(servers, flat)
    return clients.consume(servers, flat, written(servers, flat), f"check-{flat}")
