"""The actions of the rows of docs/access.md's truth table, done with confluent-kafka."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from concurrent.futures import Future
from contextlib import contextmanager
from typing import Any

from confluent_kafka import KafkaError, KafkaException, Producer
from confluent_kafka.admin import AlterConfigOpType, ConfigEntry, ConfigResource, ResourceType
from confluent_kafka.cimpl import NewTopic

from devkit.topics import create_topics
from devkit.waiting import wait_until
from gateway import acl_model as model
from gateway.acl_model import Operation, ResourcePattern
from protocol.schema import ERROR_NAMES
from tests.docs import access_table
from tests.docs.access_table import ALLOWED, AddsAcls, Does, InitProducerId, Moves, Row
from tests.live.support import authorized, clients

READERS = "readers"
"""A group that every user may join."""


def answer(servers: str, row: Row) -> str:
    """``allowed``, or the name of the error that a row's user gets; any change is undone."""
    match row.action:
        case InitProducerId():
            return error_name(_init_producer_id(servers, row.user))
        case AddsAcls(pattern):
            return error_name(_add_acl(servers, row.user, pattern))
        case Moves(topic, namespace):
            return error_name(_move(servers, row.user, topic, namespace))
        case Does(operation, pattern):
            name = written(row.user, pattern.name)
            return error_name(_ACTIONS[operation, pattern.type](servers, row.user, name))


def written(user: str, name: str) -> str:
    """A logical name as its user writes it: without the home."""
    home = access_table.HOMES.get(user)
    return name if home is None else name.removeprefix(f"{home}:")


def error_name(code: int) -> str:
    """An error code as the table names it."""
    return ERROR_NAMES[code] if code else ALLOWED


# -- topics -----------------------------------------------------------------------------------


def read(servers: str, user: str, topic: str) -> int:
    """The error code with which a user reads a topic, or 0 if it gets a record."""
    with clients.consumer(servers, READERS, **authorized.login(user)) as client:
        client.subscribe([topic])
        return _first(client.poll)


def _write(servers: str, user: str, topic: str) -> int:
    codes: list[int] = []
    producer = Producer(clients.settings(servers, linger_ms=0, **authorized.login(user)))
    producer.produce(topic, b"x", on_delivery=lambda error, _: codes.append(_code(error)))
    assert producer.flush(clients.SECONDS) == 0
    return codes[0]


def _describe(servers: str, user: str, topic: str) -> int:
    found = authorized.admin(servers, user).list_topics(topic, clients.SECONDS).topics[topic]
    return _code(found.error)


def _create(servers: str, user: str, name: str) -> int:
    made = authorized.admin(servers, user).create_topics([NewTopic(name, 1, 1)])
    code = ended(made[name])
    if not code:
        undo(lambda: authorized.admin(servers).delete_topics([name])[name])
    return code


def _delete(servers: str, user: str, name: str) -> int:
    return ended(authorized.admin(servers, user).delete_topics([name])[name])


def _move(servers: str, user: str, topic: str, namespace: str) -> int:
    code = ended(_moved(servers, user, topic, namespace))
    if not code:
        source, _, name = topic.rpartition(":")
        undo(lambda: _moved(servers, authorized.ADMIN, f"{namespace}:{name}", source))
    return code


def _moved(servers: str, user: str, topic: str, namespace: str, **more: str) -> Future[Any]:
    resource = ConfigResource(ResourceType.TOPIC, topic)
    for key, value in {"gateway.namespace": namespace, **more}.items():
        entry = ConfigEntry(key, value, incremental_operation=AlterConfigOpType.SET)
        resource.add_incremental_config(entry)
    ((_, future),) = authorized.admin(servers, user).incremental_alter_configs([resource]).items()
    return future


def undo(action: Callable[[], Future[Any]]) -> None:
    """Undo a row's action as the administrator; the broker may not have applied it yet."""
    wait_until(lambda: ended(action()) == 0, "what was done to be undone", clients.SECONDS)


# -- groups, transactional ids, producers -----------------------------------------------------


def _join(servers: str, user: str, group: str) -> int:
    """Join a group as a consumer of a topic of the user's own home."""
    assigned: list[bool] = []
    with clients.consumer(servers, group, **authorized.login(user)) as client:
        client.subscribe(["orders"], on_assign=lambda *_: assigned.append(True))
        return _first(lambda seconds: client.poll(seconds) if not assigned else _NOTHING)


class _Nothing:
    """An event that is no error."""

    def error(self) -> None:
        return None


_NOTHING = _Nothing()


def _init_transactions(servers: str, user: str, transactional_id: str) -> int:
    more = {"transactional_id": transactional_id, **authorized.login(user)}
    producer = Producer(clients.settings(servers, **more))
    try:
        producer.init_transactions(clients.SECONDS)
    except KafkaException as error:
        return _code(error.args[0])
    return 0


def _init_producer_id(servers: str, user: str) -> int:
    """Initialize an idempotent producer, which requests its id before it has a record to send."""
    states: list[str] = []
    producer = Producer(
        {
            **clients.settings(servers, enable_idempotence=True, **authorized.login(user)),
            "statistics.interval.ms": 50,
            "stats_cb": lambda text: states.append(json.loads(text)["eos"]["idemp_state"]),
        }
    )

    def has_id() -> bool:
        producer.poll(0.05)
        return "Assigned" in states

    try:
        wait_until(has_id, "a producer id", clients.SECONDS, poll=0.0)
    except KafkaException as error:
        return _code(error.args[0])
    return 0


# -- ACLs -------------------------------------------------------------------------------------


def _add_acl(servers: str, user: str, pattern: ResourcePattern) -> int:
    entry = model.AclEntry("User:bob", "*", Operation.READ, model.Permission.ALLOW)
    wanted = authorized.binding(model.AclBinding(pattern, entry))
    ((_, future),) = authorized.admin(servers, user).create_acls([wanted]).items()
    return ended(future)


# -- codes ------------------------------------------------------------------------------------


def _first(poll: Callable[[float], Any]) -> int:
    """The error code of the first event, or 0 if the event is no error."""
    event = wait_until(lambda: poll(0.05), "records, or an error", clients.SECONDS, poll=0.0)
    return _code(event.error())


def ended(future: Future[Any]) -> int:
    """The error code of a request that an admin client has sent."""
    error = future.exception(clients.SECONDS)
    assert error is None or isinstance(error, KafkaException), repr(error)
    return 0 if error is None else _code(error.args[0])


def _code(error: KafkaError | None) -> int:
    return 0 if error is None else int(error.code())


_Type = model.ResourceType
_ACTIONS: dict[tuple[Operation, _Type], Callable[[str, str, str], int]] = {
    (Operation.READ, _Type.TOPIC): read,
    (Operation.WRITE, _Type.TOPIC): _write,
    (Operation.DESCRIBE, _Type.TOPIC): _describe,
    (Operation.CREATE, _Type.TOPIC): _create,
    (Operation.DELETE, _Type.TOPIC): _delete,
    (Operation.READ, _Type.GROUP): _join,
    (Operation.WRITE, _Type.TRANSACTIONAL_ID): _init_transactions,
}


def make_world(servers: str) -> None:
    """Create the topics that the page takes for granted, each with a record; the namespaces
    exist."""
    admin = authorized.admin(servers)
    alias, name = access_table.MOVED
    topics = [*access_table.TOPICS, alias]
    create_topics(admin, [NewTopic(topic, 1, 1) for topic in topics])
    for topic in topics:
        clients.produce(servers, topic, ["record"], **authorized.login(authorized.ADMIN))
    until = {"gateway.alias.until": "2100-01-01"}
    namespace = name.rpartition(":")[0]
    _moved(servers, authorized.ADMIN, alias, namespace, **until).result(clients.SECONDS)


_MAY_JOIN = model.AclBinding(
    ResourcePattern(_Type.GROUP, model.PatternType.LITERAL, READERS),
    model.AclEntry(model.ANY_USER, "*", Operation.READ, model.Permission.ALLOW),
)
"""Needed because librdkafka reports no reason to a consumer outside a group that gets no
records."""


@contextmanager
def only(servers: str, row: Row) -> Iterator[None]:
    """Set exactly the ACLs of a row, and the right to join ``READERS``."""
    authorized.add_acls(servers, [*row.acls, _MAY_JOIN])
    try:
        yield
    finally:
        authorized.delete_acls(servers)
