"""docs/leaving.md: an application leaves the gateway, by the commands that the plan prints.

It continues at the brokers, first under the flat names, then under plain names, and reads each
record once.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka import KafkaError, Message, Producer
from confluent_kafka.admin import (
    AclBindingFilter,
    AclOperation,
    AclPermissionType,
    ResourcePatternType,
    ResourceType,
    ScramCredentialInfo,
    ScramMechanism,
    UserScramCredentialUpsertion,
)
from confluent_kafka.cimpl import NewTopic

from devkit.gateway_config import Listener
from devkit.gateway_process import GatewayProcess
from devkit.mirror_maker import MirrorMakerProcess, read_properties
from devkit.topics import create_topics
from devkit.waiting import wait_until
from gateway.names import RESERVED_TOPICS
from tests.live.mirror.sites import content
from tests.live.support import clients, namespaces
from tests.live.support.clients import SECONDS
from tests.live.support.secured_brokers import SecuredBrokers, login
from tests.live.support.shell import Answer, Shell, shell

pytestmark = pytest.mark.long("brokers")

PARTITIONS = 2
EACH = 10
"""Records that each partition gets in a round."""

DANA = "dana"
PASSWORD = "dana's $ecret"  # noqa: S105
LOGIN = login("SCRAM-SHA-512", DANA, PASSWORD)

Got = set[tuple[str, int, str, bytes, bytes]]
"""Topic, partition, value, key and header of records."""


@pytest.fixture(scope="module")
def brokers() -> Iterator[SecuredBrokers]:
    with SecuredBrokers() as found:
        yield found


@pytest.fixture(scope="module")
def gateway(brokers: SecuredBrokers) -> Iterator[GatewayProcess]:
    """A gateway with an administrators' listener without a home, and the application's listener."""
    security = {
        "security_protocol": "SASL_PLAINTEXT",
        "sasl": {"mechanisms": ["SCRAM-SHA-512"]},
    }
    listeners = [
        Listener("admins", "no home"),
        Listener("crm", "crm is home", home="crm", security=security),
    ]
    super_users = {"super.users": ["User:ANONYMOUS"]}
    with GatewayProcess(
        brokers.kafka.bootstrap_servers,
        listeners,
        ["crm"],
        overrides={"authorization": super_users, "catalog": {"replication_factor": 1}},
    ) as process:
        yield process


class Mirror:
    """``connect-mirror-maker FILE`` as a process."""

    def __init__(self, directory: Path) -> None:
        self._directory = directory
        self.process: MirrorMakerProcess | None = None

    def __call__(self, words: Sequence[str]) -> Answer:
        (file,) = words
        self.process = MirrorMakerProcess({}, [])
        self.process.properties = read_properties((self._directory / file).read_text())
        self.process.start()
        return 0, "", ""

    def stop(self) -> None:
        """Stop it, as its operator does."""
        assert self.process is not None
        self.process.stop()

    def close(self) -> None:
        """Kill it, if it runs."""
        if self.process is not None:
            self.process.close()


@pytest.fixture
def mirror(tmp_path: Path) -> Iterator[Mirror]:
    made = Mirror(tmp_path)
    yield made
    made.close()


@pytest.fixture
def bash(tmp_path: Path, mirror: Mirror) -> Iterator[Shell]:
    with shell(tmp_path, connect_mirror_maker=mirror) as made:
        yield made


def sections(gateway: GatewayProcess, *more: str) -> dict[str, str]:
    """The printed plan: the lines of each section, by its title."""
    said = namespaces.attempt("leave", "--config", str(gateway.config_path), "--plan", *more)
    assert said.status == 0, said.err
    _, *parts = re.split(r"^# \d+\. (.*)\n", said.out, flags=re.MULTILINE)
    return dict(zip(parts[::2], parts[1::2], strict=True))


def run(bash: Shell, script: str) -> str:
    """Run a section; its output."""
    done = bash.run(script, {"PASSWORD_1": PASSWORD})
    assert done.status == 0, f"{script}\n{done.out}\n{done.err}"
    return done.out


def deleting(script: str) -> str:
    """A section of deletions, without the ``#`` that makes its commands comments."""
    lines = (line.removeprefix("# ") for line in script.splitlines())
    return "\n".join(line for line in lines if line.startswith("kafka-"))


def produce(servers: str, topics: Sequence[str], number: int, **more: Any) -> Got:
    """Produce the records of a round to each partition; the records that a consumer must get."""
    producer = Producer(clients.settings(servers, **_underscored(more)))
    sent: Got = set()
    for topic in topics:
        for partition in range(PARTITIONS):
            for index in range(EACH):
                value, key, header = f"{number}.{index}", b"k%d" % index, b"h%d" % number
                producer.produce(topic, value, key, partition, headers=[("h", header)])
                sent.add((topic.rpartition(".")[2], partition, value, key, header))
    assert producer.flush(SECONDS) == 0
    return sent


def consume(servers: str, group: str, topics: Sequence[str], **more: Any) -> Got:
    """Run the application until it has read a round, and until all lags are 0, so no records are
    left."""
    count = len(topics) * PARTITIONS * EACH
    more = {"enable_partition_eof": True, **_underscored(more)}
    with clients.consumer(servers, group, **more) as client:
        client.subscribe(list(topics))
        records: list[Message] = []
        ends: set[tuple[str | None, int | None]] = set()

        def at_all_ends() -> bool:
            one = client.poll(0.2)
            error = None if one is None else one.error()
            if one is not None and error is None:
                records.append(one)
                ends.discard((one.topic(), one.partition()))
            elif one is not None and error and error.code() == KafkaError._PARTITION_EOF:
                ends.add((one.topic(), one.partition()))
            return len(ends) == len(topics) * PARTITIONS

        wait_until(at_all_ends, f"{count} records for {group}", SECONDS, poll=0)
        client.commit(asynchronous=False)
    assert len(records) == count
    return {_got(one) for one in records}


def _underscored(settings: dict[str, Any]) -> dict[str, Any]:
    return {key.replace(".", "_"): value for key, value in settings.items()}


def _got(one: Message) -> tuple[str, int, str, bytes, bytes]:
    headers: Any = one.headers()
    ((_, header),) = headers
    topic = str(one.topic()).rpartition(".")[2]
    return topic, one.partition() or 0, (one.value() or b"").decode(), one.key() or b"", header


def acls(brokers: SecuredBrokers) -> set[tuple[str, str, str, str, str]]:
    """Principal, type, pattern, name and operation of each ACL at the brokers."""
    anything: Any = (
        *(ResourceType.ANY, None, ResourcePatternType.ANY),
        *(None, None, AclOperation.ANY, AclPermissionType.ANY),
    )
    admin = clients.admin(brokers.kafka.bootstrap_servers)
    return {
        (
            one.principal.removeprefix("User:"),
            one.restype.name,
            one.resource_pattern_type.name,
            one.name,
            one.operation.name,
        )
        for one in admin.describe_acls(AclBindingFilter(*anything)).result(SECONDS)
    }


def ends(bash: Shell, script: str) -> dict[str, list[str]]:
    """The lines that kafka-get-offsets prints, without the topic, by topic."""
    found: dict[str, list[str]] = {}
    for line in run(bash, script).splitlines():
        topic, _, rest = line.partition(":")
        found.setdefault(topic, []).append(rest)
    return found


def move_in(brokers: SecuredBrokers, gateway: GatewayProcess) -> None:
    """Follow docs/moving-in.md with ``crm.calls`` and group ``app``, which has read a round.

    Then create a topic in the home, a user, and ACLs.
    """
    servers, admins = brokers.kafka.bootstrap_servers, gateway.bootstrap_servers("admins")
    to = ["--bootstrap-server", admins]
    create_topics(clients.admin(servers), [NewTopic("crm.calls", PARTITIONS, 1)])
    clients.await_stored(brokers.kafka, "crm.calls")
    sent = produce(servers, ["crm.calls"], 0)
    assert consume(admins, "app", ["crm.calls"]) == sent
    adopted = ["--adopt", "--topic", "crm.calls", "--to-namespace", "crm", "--as", "calls"]
    namespaces.command("topics", *to, *adopted)
    namespaces.command("adopt", *to, "--group", "app", "--home", "crm")
    made = ["--topic", "crm:mails", "--partitions", f"{PARTITIONS}"]
    namespaces.command("topics", *to, "--create", *made, "--config", "retention.ms=86400000")
    info = ScramCredentialInfo(ScramMechanism.SCRAM_SHA_512, 4_096)
    change = UserScramCredentialUpsertion(DANA, info, PASSWORD.encode())
    clients.done(clients.admin(admins).alter_user_scram_credentials([change]))
    for principal, operation, *what in (
        (DANA, "all", "--namespace", "crm"),
        ("frank", "describe", "--namespace", "crm"),
        ("frank", "read", "--topic", "crm:mails"),
        ("erin", "read", "--topic", "crm:calls"),
    ):
        who = ["--allow-principal", f"User:{principal}", "--operation", operation]
        namespaces.command("acls", *to, "--add", *who, *what)


def test_from_a_home_to_the_brokers(
    brokers: SecuredBrokers, gateway: GatewayProcess, bash: Shell, mirror: Mirror
) -> None:
    secured = brokers.kafka.servers("SASL_PLAINTEXT")
    home = gateway.bootstrap_servers("crm")
    move_in(brokers, gateway)
    inside, flat, plain = (
        ["calls", "mails"],
        ["crm.calls", "crm..mails"],
        ["crm.calls", "crm.mails"],
    )
    sent = produce(home, inside, 1, **LOGIN)
    assert consume(home, "app", inside, **LOGIN) == sent
    sent = produce(home, inside, 2, **LOGIN)

    # Flat names: no record is copied.
    plan = sections(gateway)
    assert not {"Copies, while the applications run", "Offsets of groups"} & plan.keys()
    run(bash, plan["Users"])
    run(bash, plan["ACLs"])
    assert not {one for one in acls(brokers) if one[0] == "erin"}  # the gateway's gate denies her
    assert consume(secured, "crm..app", flat, **LOGIN) == sent
    sent = produce(secured, flat, 3, **LOGIN)

    # Plain names, by a copy.
    plan = sections(gateway, "--names", "plain")
    run(bash, plan["ACLs"])
    run(bash, plan["Copies, while the applications run"])

    def is_copied() -> bool:
        found = ends(bash, plan["The last records"])
        return found["crm..mails"] == found.get("crm.mails")

    wait_until(is_copied, "the copy of crm..mails", SECONDS, poll=0.5)
    mirror.stop()
    run(bash, plan["Offsets of groups"])
    servers = brokers.kafka.bootstrap_servers
    assert content(servers, "crm..mails") == content(servers, "crm.mails")
    assert consume(secured, "crm.app", plain, **LOGIN) == sent
    sent = produce(secured, plain, 4, **LOGIN)
    assert consume(secured, "crm.app", plain, **LOGIN) == sent

    # A plain Kafka remains.
    gateway.stop()
    run(bash, deleting(plan["What was copied from"]))
    run(bash, deleting(plan["What is the gateway's own"]))
    wait_until(
        lambda: brokers.kafka.topics(internal=True) - RESERVED_TOPICS == {*plain},
        "topics of the gateway that are gone",
        SECONDS,
        poll=0.2,
    )
