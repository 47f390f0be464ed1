"""Steps that the live tests of namespaces repeat, by confluent-kafka and by the CLI."""

from __future__ import annotations

import contextlib
import io
import re
import subprocess
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Future
from dataclasses import dataclass
from typing import Any

from confluent_kafka import KafkaException
from confluent_kafka.admin import AlterConfigOpType, ConfigEntry, ConfigResource, ResourceType
from confluent_kafka.cimpl import NewTopic

from devkit.broker import KafkaCluster
from devkit.gateway_process import gateway_command
from devkit.topics import create_topics
from devkit.waiting import wait_until
from gateway import cli
from gateway.names import is_end_topic
from tests.live.support import clients

Names = Callable[[str], str]

OWN = 1
"""DYNAMIC_TOPIC_CONFIG: set on the topic, or the namespace, itself."""
INHERITED = 3
"""DYNAMIC_DEFAULT_BROKER_CONFIG: from a namespace."""
DEFAULT = 5
"""DEFAULT_CONFIG: Kafka's default, or a read-only config of the gateway."""

INVALID_TOPIC_EXCEPTION = 17
TOPIC_ALREADY_EXISTS = 36
INVALID_CONFIG = 40
INVALID_REQUEST = 42


def flat(logical: str) -> str:
    """The flat name of a topic of plain tiers: ``a:b:orders`` is ``a.b..orders``."""
    namespace, _, topic = logical.rpartition(":")
    return f"{namespace.replace(':', '.')}..{topic}" if namespace else topic


def namespace_like(brokers: str) -> dict[str, Any]:
    """Overrides with which a gateway accepts names like ``x..y`` outside of namespaces, as Kafka
    does."""
    cluster = {"name": "main", "bootstrap_servers": brokers.split(","), "node_ids": ["1-8"]}
    return {"clusters": [{**cluster, "allow_namespace_like_topics": True}]}


def creation(
    servers: str, name: str, configs: Mapping[str, str] | None = None, *, validate: bool = False
) -> Future[None]:
    """Request the creation of a topic of one partition, or a namespace (``name`` ends in ``:``)."""
    topic = new_topic(name, configs or {})
    return clients.admin(servers).create_topics([topic], validate_only=validate)[name]


def new_topic(name: str, configs: Mapping[str, str]) -> NewTopic:
    """The creation of a topic of one partition, or of a namespace."""
    return NewTopic(name, 1, 1, config=dict(configs))


def create(servers: str, *names: str, configs: Mapping[str, str] | None = None) -> None:
    """Create topics and namespaces, one after the other."""
    for name in names:
        create_topics(clients.admin(servers), [new_topic(name, configs or {})])


def create_topic(
    servers: str, kafka: KafkaCluster, name: str, configs: Mapping[str, str] | None = None
) -> None:
    """Create a topic under its natural flat name, and wait until the broker lists it."""
    create(servers, name, configs=configs)
    clients.await_stored(kafka, flat(name))


def deletion(servers: str, *names: str) -> dict[str, Future[None]]:
    """Request, in a single request, the deletion of topics and namespaces."""
    return clients.admin(servers).delete_topics(list(names), operation_timeout=clients.SECONDS)


def delete(servers: str, *names: str) -> None:
    """Delete topics and namespaces in a single request."""
    clients.done(deletion(servers, *names))


def alteration(
    servers: str,
    name: str,
    put: Mapping[str, str] | None = None,
    *,
    drop: Sequence[str] = (),
    validate: bool = False,
) -> Future[object]:
    """Request to set some configs of a topic or namespace and delete others (KIP-339)."""
    resource = ConfigResource(ResourceType.TOPIC, name)
    for key, value in (put or {}).items():
        entry = ConfigEntry(key, value, incremental_operation=AlterConfigOpType.SET)
        resource.add_incremental_config(entry)
    for key in drop:
        entry = ConfigEntry(key, "", incremental_operation=AlterConfigOpType.DELETE)
        resource.add_incremental_config(entry)
    asked = clients.admin(servers).incremental_alter_configs([resource], validate_only=validate)
    ((_, future),) = asked.items()
    return future


def alter(
    servers: str, name: str, put: Mapping[str, str] | None = None, *, drop: Sequence[str] = ()
) -> None:
    """Set some configs of a topic or namespace and delete others, and wait for the result.

    It waits until ``servers`` return it, because brokers respond to a change before all of them
    have read it.
    """
    alteration(servers, name, put, drop=drop).result(clients.SECONDS)
    if not any(key.startswith("gateway.") for key in (*(put or {}), *drop)):  # moves, ends
        await_configs(servers, name, put or {}, drop)


def await_configs(
    servers: str, name: str, put: Mapping[str, str], drop: Sequence[str] = ()
) -> None:
    """Wait until a description has some configs, and lacks others of its own."""

    def told() -> bool:
        try:
            found = describe(servers, name)
        except KafkaException:  # a topic that has just been created
            return False
        wanted = {key: (value, OWN) for key, value in put.items()}
        return found.items() >= wanted.items() and all(found[key][1] != OWN for key in drop)

    wait_until(told, f"{put} and no {drop} of {name}", clients.SECONDS)


def description(servers: str, name: str) -> Future[dict[str, ConfigEntry]]:
    """Request the configs of a topic or namespace."""
    resource = ConfigResource(ResourceType.TOPIC, name)
    ((found, future),) = clients.admin(servers).describe_configs([resource]).items()
    assert found.name == name
    return future


def describe(servers: str, name: str) -> dict[str, tuple[str, int]]:
    """The configs of a topic or namespace: value and source by key."""
    entries = description(servers, name).result(clients.SECONDS)
    return {key: (entry.value or "", source_of(entry)) for key, entry in entries.items()}


def value_on_broker(kafka: KafkaCluster, topic: str, key: str) -> tuple[str, int]:
    """A config of a topic by its flat name, as the broker itself returns it, with its source."""
    return describe(kafka.bootstrap_servers, topic)[key]


def await_value(kafka: KafkaCluster, topic: str, key: str, value: str) -> None:
    """Wait until the broker applies a config of a topic, by its flat name.

    It responds to a change before each broker has read it.
    """

    def told() -> bool:
        return value_on_broker(kafka, topic, key)[0] == value

    wait_until(told, f"{key}={value} of {topic} on the broker", clients.SECONDS)


def rejection(future: Future[Any]) -> tuple[int, str]:
    """The code and the text of the error that an admin call ends with."""
    error = future.exception(clients.SECONDS)
    assert isinstance(error, KafkaException), f"no Kafka error but {error!r}"
    return error.args[0].code(), error.args[0].str()


def await_free(servers: str, namespace: str) -> None:
    """Create a namespace again as soon as its deletion has finished."""

    def created() -> bool:
        future = creation(servers, namespace)
        if future.exception(clients.SECONDS) is None:
            return True
        code, text = rejection(future)
        assert (code, "is being deleted" in text) == (INVALID_TOPIC_EXCEPTION, True), text
        return False

    wait_until(created, f"the end of {namespace}", clients.SECONDS, poll=0.2)


def of_namespaces(stored: Iterable[str], *roots: str) -> set[str]:
    """The flat names that begin with any of these tiers, except end topics.

    A process deletes its end topic after the namespace is gone, and a late process may create it
    once more.
    """
    return {name for name in stored if name.startswith(roots) and not is_end_topic(name)}


@contextlib.contextmanager
def made_at_the_broker(kafka: KafkaCluster, *topics: str) -> Iterator[None]:
    """Topics created before there were namespaces; the remaining topics are deleted at the end.

    They would not disturb other tests, but this keeps listings short.
    """
    clients.create(kafka.bootstrap_servers, *topics)
    clients.await_stored(kafka, *topics)
    yield
    left = sorted(kafka.topics() & {*topics})
    if left:
        delete(kafka.bootstrap_servers, *left)


def source_of(entry: ConfigEntry) -> int:
    """The source of a config, which confluent-kafka returns as a number or as an enum."""
    source = entry.source
    return source if isinstance(source, int) else int(getattr(source, "value"))  # noqa: B009


# -- the command line -------------------------------------------------------------------------

_PROGRESS = re.compile(r"^.* \(\d+ s so far\)\n", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class CommandResult:
    """The exit status and the output of a command."""

    status: int
    out: str
    err: str

    @property
    def lines(self) -> list[str]:
        """The lines of standard output that are not empty."""
        return [line for line in self.out.splitlines() if line.strip()]


def attempt(*args: str) -> CommandResult:
    """Run ``kafka-gateway`` in this process, whatever its exit status.

    A Python of its own takes a second, of which the command needs a twentieth. Its progress
    messages are left out, because on a busy machine any command takes the two seconds after which
    it prints them.
    """
    out, err = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        try:
            status = cli.main(args)
        except SystemExit as ended:  # argparse: usage, or ``--help``
            status = ended.code if isinstance(ended.code, int) else 1
    return CommandResult(status, out.getvalue(), _PROGRESS.sub("", err.getvalue()))


def alone(*args: str, stdin: str = "") -> CommandResult:
    """Run a command in a process of its own."""
    ended = subprocess.run(
        [gateway_command(), *args],
        input=stdin,
        capture_output=True,
        text=True,
        timeout=clients.SECONDS,
        check=False,
    )
    return CommandResult(ended.returncode, ended.stdout, ended.stderr)


def command(*args: str) -> CommandResult:
    """Run ``kafka-gateway``, which must exit with 0 and print no error."""
    said = attempt(*args)
    assert said.status == 0, f"{args}\n{said.out}\n{said.err}"
    return said
