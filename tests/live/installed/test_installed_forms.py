"""Stock clients at the gateway that each wheel installs: topics, records, groups, ACLs, a restart.

``make live-installed`` runs more of the live tests against each.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import psutil
import pytest
from confluent_kafka import KafkaError, KafkaException, Producer
from confluent_kafka.cimpl import NewTopic

from devkit.broker import KafkaCluster
from devkit.build_tree import CompileError, require_compiler
from devkit.gateway_process import COMMAND, GatewayProcess
from devkit.installed import installed_command
from devkit.waiting import wait_until
from devkit.wheels import FORMS
from gateway.acl_model import (
    AclBinding,
    AclEntry,
    Operation,
    PatternType,
    Permission,
    ResourcePattern,
    ResourceType,
)
from tests.live.support import authorized, clients, namespaces, processes

pytestmark = [pytest.mark.timeout(1800), pytest.mark.long("builds")]

Names = Callable[[str], str]


def forms() -> list[str]:
    """Both forms, or the pure form if nothing can be compiled and there is no compiled wheel."""
    try:
        require_compiler()
    except CompileError:
        return ["pure"]
    return list(FORMS)


@pytest.fixture(scope="module", params=forms())
def form(request: pytest.FixtureRequest) -> Iterator[str]:
    """The installed form, whose ``kafka-gateway`` is the command that tests run."""
    chosen = str(request.param)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv(COMMAND, str(installed_command(chosen)))
        yield chosen


@pytest.fixture(scope="module")
def gateway(
    form: str, kafka: KafkaCluster, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[GatewayProcess]:
    """A gateway with two workers; clients log in by PLAIN, and alice and bob are subject to
    ACLs."""
    listener = authorized.listener(tmp_path_factory.mktemp("secrets"))
    with authorized.gateway(kafka.bootstrap_servers, listener, workers=2) as process:
        yield process
        authorized.delete_acls(process.bootstrap_servers(authorized.USERS_LISTENER))


@pytest.fixture(scope="module")
def org(form: str, users: str) -> str:
    """A namespace of this form's own, in which alice may do everything and bob nothing."""
    name = f"installed-{form}"
    (created,) = authorized.admin(users).create_topics([NewTopic(f"{name}:", 1, 1)]).values()
    created.result(clients.SECONDS)
    allowed = AclEntry("User:alice", "*", Operation.ALL, Permission.ALLOW)
    topics = ResourcePattern(ResourceType.TOPIC, PatternType.PREFIXED, f"{name}:")
    groups = ResourcePattern(ResourceType.GROUP, PatternType.PREFIXED, "readers")
    acls = [AclBinding(one, allowed) for one in (topics, groups)]
    authorized.add_acls(users, acls)
    authorized.await_acls(users, acls)
    return name


def create(servers: str, topic: str) -> None:
    (created,) = authorized.admin(servers, "alice").create_topics([NewTopic(topic, 1, 1)]).values()
    created.result(clients.SECONDS)


def test_it_is_the_wheel_that_serves(form: str, gateway: GatewayProcess) -> None:
    """The log and the files that workers have mapped show that the wheel serves."""
    started = next(line for line in gateway.log().splitlines() if "kafka-gateway " in line)
    assert f" ({form}) with 2 workers" in started
    environment = installed_command(form).parents[1]
    for worker in processes.workers(gateway):
        assert Path(worker.cmdline()[0]).parent == environment / "bin"
        if sys.platform == "linux":
            mapped = {Path(one.path) for one in worker.memory_maps()}
            own = {path.name for path in mapped if "gateway" in path.parts}
            assert any(name.startswith("session.cpython") for name in own) == (form == "compiled")


def test_a_topic_is_written_and_read_in_a_group(
    users: str, org: str, kafka: KafkaCluster, unique: Names
) -> None:
    topic = f"{org}:{unique('orders')}"
    create(users, topic)
    clients.await_stored(kafka, namespaces.flat(topic))
    sent = ["one", "two", "three"]
    clients.produce(users, topic, sent, **authorized.login("alice"))
    for protocol in ("classic", "consumer"):
        group, login = unique(f"readers-{protocol}"), authorized.login("alice")
        assert clients.consume(users, topic, 3, group, group_protocol=protocol, **login) == sent
    flat = namespaces.flat(topic)
    assert clients.consume(kafka.bootstrap_servers, flat, 3, unique("direct")) == sent


def test_a_principal_without_an_acl_is_denied(users: str, org: str, unique: Names) -> None:
    topic = f"{org}:{unique('private')}"
    create(users, topic)
    reports: list[KafkaError | None] = []
    producer = Producer(clients.settings(users, **authorized.login("bob")))
    producer.produce(topic, "x", on_delivery=lambda error, _: reports.append(error))
    assert producer.flush(clients.SECONDS) == 0
    (error,) = reports
    assert error is not None
    assert error.code() == KafkaError.TOPIC_AUTHORIZATION_FAILED
    (asked,) = authorized.admin(users, "bob").create_topics([NewTopic(topic, 1, 1)]).values()
    with pytest.raises(KafkaException) as caught:
        asked.result(clients.SECONDS)
    assert caught.value.args[0].code() == KafkaError.TOPIC_AUTHORIZATION_FAILED


def test_the_command_lists_what_was_made(
    users: str, org: str, tmp_path: Path, unique: Names
) -> None:
    """The wheel's ``kafka-gateway topics``, in a process of its own, lists the topic."""
    topic = f"{org}:{unique('listed')}"
    create(users, topic)
    login = str(authorized.command_config(tmp_path, "alice"))
    words = ["topics", "--bootstrap-server", users, "--command-config", login]

    def listed() -> bool:
        said = namespaces.alone(*words, "--list", "--namespace", org, "--json")
        assert said.status == 0, said.err
        return topic in json.dumps(json.loads(said.out))

    wait_until(listed, "the topic in the listing", clients.SECONDS)


def test_it_goes_on_after_a_worker_was_killed_and_after_its_own_end(
    gateway: GatewayProcess, users: str, org: str, unique: Names
) -> None:
    topic, group = f"{org}:{unique('lasting')}", unique("readers")
    login = authorized.login("alice")
    create(users, topic)
    clients.produce(users, topic, ["one"], **login)
    assert clients.consume(users, topic, 1, group, **login) == ["one"]
    before = {worker.pid for worker in processes.workers(gateway)}
    psutil.Process(min(before)).kill()

    def replaced() -> bool:
        now = {worker.pid for worker in processes.workers(gateway)}
        return len(now) == 2 and now != before and gateway.get("/readyz")[0] == 200

    wait_until(replaced, "another worker", clients.SECONDS)
    clients.produce(users, topic, ["two"], **login)
    gateway.kill()
    gateway.start_again()
    clients.produce(users, topic, ["three"], **login)
    assert clients.consume(users, topic, 2, group, **login) == ["two", "three"]
