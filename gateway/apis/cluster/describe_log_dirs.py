"""DescribeLogDirs (API 35, KIP-113): what the topics of a view take on the disks of one broker.

A broker responds with every log directory, by its path, and the partitions requested that it has
there; what it does not have, or does not know, it leaves out. Here the directories are numbered:
Java's AdminClient keys them by their names, so they have to differ, and paths are the brokers' own
business.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any, Final

from gateway.apis import generic
from gateway.apis.counting import count_errors, count_topics, note_denials
from gateway.decision import Denied
from gateway.exchanges.api import Api, declare
from gateway.exchanges.exchange import Exchange, Forward, Kept, Outcome, Refresh
from gateway.exchanges.state import ConnectionState
from gateway.rules.declaration import DESCRIBE, Do
from gateway.rules.rename import Refusals
from gateway.views.access import Access
from protocol import messages
from protocol.entities import Kind
from protocol.messages import changed
from protocol.pausing import paced

_REQUEST: Final = "DescribeLogDirsRequest"
_RESPONSE: Final = "DescribeLogDirsResponse"

_FIRST_WITH_ERROR: Final = 3
"""The first version whose response has an error of its own (KIP-784)."""

_UNKNOWN_DISK: Final = {"total_bytes": -1, "usable_bytes": -1}
"""KIP-827's values for what is not known. A disk is shared by all namespaces: how full it is would
tell a home what the others write."""


@dataclass(frozen=True, slots=True)
class RequestedTopics(Kept):
    """The partitions requested, by flat name and by the client's spellings of it; None: all."""

    partitions: Mapping[str, Mapping[str, frozenset[int]]] | None


def request(
    state: ConnectionState, exchange: Exchange, buf: bytes, start: int, end: int
) -> Outcome:
    """Forward what names a topic of the view; all topics are requested by null."""
    plan, body = exchange.plan, buf[start:end]
    generic.request_spans(plan, buf, start, end)
    denied = _denial(state.access)
    if denied is not None:
        note_denials(state, exchange, Refusals(ids={b"kafka-cluster": denied}))
        exchange.flow = state.flow(plan.api_key, plan.version, b"")
        return generic.answer_error(exchange, body, denied)
    generic.require_open(state)
    asked = messages.parse(_REQUEST, plan.version, body)
    if asked.topics is None:
        if not exchange.refreshed:
            return Refresh.CATALOG
        exchange.flow = state.flow(plan.api_key, plan.version, b"")
        exchange.kept = RequestedTopics(None)
        return []
    refusals = Refusals()
    left: list[Any] = []
    requested: dict[str, dict[str, frozenset[int]]] = {}
    for topic in paced(asked.topics):
        found = state.view.resolve(topic.topic.encode())
        if isinstance(found, Denied):
            refusals.topics[topic.topic.encode()] = found
            continue
        flat = found.flat.decode()
        # A broker takes a topic as often as it is named.
        left.append(replace(topic, topic=flat))
        spellings = requested.setdefault(flat, {})
        spellings[topic.topic] = spellings.get(topic.topic, frozenset()) | {*topic.partitions}
    again = generic.look_again(exchange, refusals)
    if again is not None:
        return again
    note_denials(state, exchange, refusals)
    exchange.kept = RequestedTopics(requested)
    exchange.spelled = {
        flat.encode(): next(iter(spelled)).encode() for flat, spelled in requested.items()
    }
    count_topics(state, exchange)
    return Forward(plan, messages.write(replace(asked, topics=tuple(left))))


def response(state: ConnectionState, exchange: Exchange, buf: bytes, start: int, end: int) -> bytes:
    """Number the directories and restore the topics; drop what was not requested, or is not the
    view's."""
    plan = exchange.plan
    spans = generic.response_spans(plan, buf, start, end)
    count_errors(exchange, [value for kind, _, _, value in spans if kind == Kind.ERROR_CODE])
    answer = messages.parse(_RESPONSE, plan.version, buf[start:end])
    # In the order of their paths, so that a directory has one number in every response of a broker.
    paths = sorted({each.log_dir for each in answer.results})
    numbers = {path: number for number, path in enumerate(paths, 1)}
    disk = _UNKNOWN_DISK if state.view.settings.home else {}
    results = tuple(
        changed(
            each,
            {
                **disk,
                "log_dir": f"log-dir-{numbers[each.log_dir]}",
                "topics": tuple(_shown(state, exchange, each.topics)),
            },
        )
        for each in answer.results
    )
    return messages.write(replace(answer, results=results))


def _denial(access: Access) -> Denied | None:
    """Why the principal may not describe log directories: that takes DESCRIBE on the cluster, which
    shows every topic of the view, as in Kafka; or on the home, which shows those that may be
    described."""
    denied = access.cluster(DESCRIBE)
    home = access.view.settings.home
    return None if home and access.namespace(DESCRIBE, home) is None else denied


def _shown(state: ConnectionState, exchange: Exchange, topics: tuple[Any, ...]) -> Iterator[Any]:
    """The topics of one directory (flat names) as they were requested, or as a listing has them."""
    view, access, kept = state.view, state.access, exchange.kept
    assert isinstance(kept, RequestedTopics)
    shows_all = access.cluster(DESCRIBE) is None
    for topic in paced(topics):
        flat = topic.name.encode()
        if not shows_all and access.flat(DESCRIBE, flat) is not None:
            continue
        if kept.partitions is None:
            name = view.spell(flat) if view.lists(flat) else None
            if name is not None:
                yield replace(topic, name=name.decode())
            continue
        for spelled, indexes in kept.partitions.get(topic.name, {}).items():
            wanted = tuple(p for p in topic.partitions if p.partition_index in indexes)
            if wanted:
                yield replace(topic, name=spelled, partitions=wanted)


def _refusal(version: int, body: bytes, code: int) -> bytes | None:
    """Without an error of its own a response says by no directory at all that nothing may be
    described (KafkaApis, KafkaAdminClient)."""
    if version >= _FIRST_WITH_ERROR:
        return None
    return messages.write(messages.build(messages.message_class(_RESPONSE, version)))


API = declare(
    Api(
        "DescribeLogDirs",
        (1, 5),
        Do.REWRITE,
        null=Do.FILTER,
        why="directories are numbered; disks are not told under a home",
        refusal=_refusal,
        request=request,
        response=response,
    )
)
