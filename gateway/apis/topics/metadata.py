"""Metadata (API 3): topics by name or id, and the brokers at the gateway's addresses.

Names are rewritten and need DESCRIBE; each denied topic gets an error. "All" topics are cut to the
topics that the view lists (:mod:`gateway.apis.topics.all_topics`). The gateway answers the
namespaces that a request names, or that its listener lists, among the topics. Brokers without an
address at this listener are left out.

A broker that creates topics by Metadata would create a namespace's topic without the configs that
the topic inherits, would create a topic under a policy without judging it (KIP-108), and could
create a topic in a new namespace that takes the topic's name at that moment. A topic may also be
deleted before the broker reaches the request, which can wait for minutes behind another request of
its connection. So if a request names any such topic, existing or not, it is forwarded with
auto-creation forbidden (v0 to v3 as v4), and the gateway creates the topics that the broker would
have created (``gateway.changes.topics``).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from gateway.apis import generic, namespace_listing, walking
from gateway.apis.counting import BEING_CREATED, MISSING, TOPIC_ID, TOPIC_NAME, count_topics
from gateway.apis.namespace_listing import IS_NAMESPACE, names_of, worth_a_refresh
from gateway.apis.topics import all_topics, metadata_in_tree
from gateway.apis.topics import metadata_messages as metadata
from gateway.apis.topics.all_topics import AllTopics
from gateway.apis.topics.topic_ids import learn_ids
from gateway.catalog.source import Actor
from gateway.decision import Denied
from gateway.error_codes import UNKNOWN_TOPIC_OR_PARTITION
from gateway.exchanges.api import Api
from gateway.exchanges.exchange import Exchange, Outcome, Refresh
from gateway.exchanges.kept import Kept
from gateway.exchanges.state import ConnectionState
from gateway.names import LogicalName, may_be_captured
from gateway.rules.access import check_creation
from gateway.rules.declaration import (
    DESCRIBE,
    Do,
    Effect,
    Needs,
    ToldOperations,
    Topics,
    TopicShape,
)
from gateway.rules.rename import Rejections, RequestRenamer
from gateway.rules.restore import hidden_nodes
from protocol.entities import Kind
from protocol.pausing import eased, paced
from protocol.splice import Edit, splice
from protocol.walkers import Span

AUTO_CREATION: Final = int(Kind.AUTO_CREATION)

_NO: Final = b"\x00"


class CreatedHere(Kept):
    """Marks an exchange whose client allows auto-creation, which is forbidden to the broker."""


def request(
    state: ConnectionState, exchange: Exchange, buf: bytes, start: int, end: int
) -> Outcome:
    """Expand "all", answer namespaces, reject denied names, and forbid the broker to create topics
    that the gateway creates."""
    spans = walking.request_spans(exchange.plan, buf, start, end)
    version, body = exchange.plan.version, buf[start:end]
    allowed = version < metadata.FORBIDS_AUTO_CREATION or any(
        kind == AUTO_CREATION and value for kind, _, _, value in eased(spans)
    )
    names = names_of(spans)
    if allowed and _is_forbidden_to_broker(state, names):
        body = _forbid_creation(exchange, buf, start, end, spans)
        return generic.redecide(state, exchange, body, request)
    generic.tell_allowed_operations(state, exchange, body)
    if not any(span[0] in (TOPIC_NAME, TOPIC_ID) for span in eased(spans)):
        return _without_names(state, exchange, body)
    outcome = _answer_namespaces(state, exchange, body, names)
    if outcome is not None:
        return outcome
    renamer = generic.renamer_for(state, exchange)
    renamer.add(spans)
    again = _reject_uncreated(state, exchange, renamer, allowed=allowed)
    if again is not None:
        return again
    count_topics(state, exchange)
    if renamer.rejections is not None:
        return generic.reject(state, exchange, body, renamer.rejections)
    return renamer.edits


def _without_names(state: ConnectionState, exchange: Exchange, body: bytes) -> Outcome:
    """Forward a request without names: for all listed topics, or for the brokers alone."""
    version = exchange.plan.version
    if metadata.wants_all(version, body):
        return all_topics.request(state, exchange, body)
    exchange.flow = state.flow(3, version, b"")
    return []


def response(
    state: ConnectionState, exchange: Exchange, buf: bytes, start: int, end: int
) -> list[Edit] | bytes:
    """Note the topic ids, drop brokers without an address, restore the names."""
    plan, kept = exchange.plan, exchange.kept
    if isinstance(kept, AllTopics):
        return all_topics.response(state, exchange, buf, start, end, kept)
    spans = walking.response_spans(plan, buf, start, end)
    learn_ids(state, spans)
    hidden = hidden_nodes(spans, state.addresses)
    if not hidden:
        return generic.restore(state, exchange, buf, start, end, spans)
    body = metadata.drop_brokers(plan.version, buf[start:end], hidden)
    return generic.restored_body(state, exchange, body)


def _answer_namespaces(
    state: ConnectionState, exchange: Exchange, body: bytes, names: list[bytes]
) -> Outcome | None:
    """Answer namespaces, and forward the other topics as if only they were named; None if the
    request names no existing namespace."""
    plan = exchange.plan
    found = namespace_listing.namespaces_among(state.access, names)
    if found is None:
        return None
    if worth_a_refresh(state, exchange, found):
        return Refresh.TOPICS
    existing = found.existing
    if not existing:
        return None
    taken = {name.encode(): IS_NAMESPACE for name in existing}
    exchange.then(lambda answer: metadata.mark_namespaces(plan.version, answer, existing))
    left = generic.without_topics(state, exchange, body, taken)
    assert isinstance(left, bytes)  # Metadata is always forwarded
    if plan.version == 0 and taken.keys() >= set(names):
        # Only a placeholder is left, a name that cannot be denied.
        return _forward(state, exchange, left)
    return generic.redecide(state, exchange, left, request)


def _forward(state: ConnectionState, exchange: Exchange, body: bytes) -> Outcome:
    exchange.flow = state.flow(exchange.plan.api_key, exchange.plan.version, b"")
    return generic.forward_renamed(state, exchange, body)


def _is_forbidden_to_broker(state: ConnectionState, names: Sequence[bytes]) -> bool:
    """Whether the broker must create nothing for a request that allows auto-creation."""
    if not names:
        return False
    # Enforced policies may reject any topic of the default namespace; warnings reject no topic.
    policies = state.worker.judge.policies
    enforced = policies.judges and any(p.block.mode == "enforce" for p in policies.of(""))
    # Auto-creation is forbidden for every topic: a request cannot forbid it for some.
    return enforced or any(_may_be_of_namespace(state, name) for name in eased(names))


def _may_be_of_namespace(state: ConnectionState, spelled: bytes) -> bool:
    """Whether a name leads to a topic of a namespace, or to a topic that is stored like one."""
    found = state.view.resolve(spelled)
    if isinstance(found, Denied):
        return False  # the name is not forwarded
    flat, snapshot = found.flat.decode(), state.view.snapshot
    return flat in snapshot.topics or may_be_captured(flat) or bool(snapshot.owner(flat).namespace)


def _forbid_creation(
    exchange: Exchange, buf: bytes, start: int, end: int, spans: Sequence[Span]
) -> bytes:
    """The request with auto-creation forbidden. A version without the field becomes the first
    version with the field."""
    exchange.kept = CreatedHere()
    version = exchange.plan.version
    if version >= metadata.FORBIDS_AUTO_CREATION:
        edits = [(at, stop, _NO) for kind, at, stop, _ in eased(spans) if kind == AUTO_CREATION]
        return splice(buf, start, end, edits)
    exchange.plan = exchange.plan.at(metadata.FORBIDS_AUTO_CREATION)
    exchange.then(lambda answer: metadata.response_from_v4(version, answer))
    return metadata.request_to_v4(version, buf[start:end])


def _reject_uncreated(
    state: ConnectionState, exchange: Exchange, renamer: RequestRenamer, *, allowed: bool
) -> Refresh | None:
    """Reject topics that do not exist and that the broker must not create; if the topics are not
    fresh, refresh them first. Begins the creation of the topics that the gateway creates."""
    index = state.worker.cluster.index
    rejected: dict[bytes, Denied] = {}
    created: dict[LogicalName, str] = {}
    for flat, spelled in paced(renamer.spelled.items()):
        if index.exists(flat):
            continue
        text = spelled.decode(errors="replace")
        denied = _of_link(state, spelled) or _creation_denial(
            state, exchange, flat, text, allowed=allowed
        )
        if denied is None:
            continue
        if not exchange.refreshed:
            return Refresh.TOPICS
        rejected[spelled] = denied
        if denied.rule == BEING_CREATED:
            created[state.view.parse(text)] = text
    creation = state.worker.auto_creation
    if created and creation is not None:
        source = state.source
        who = (source.principal, source.client_address, source.listener, source.client_id)
        creation.begin(state.access, Actor(*who, "Metadata"), created)
    if rejected:
        if renamer.rejections is None:
            renamer.rejections = Rejections()
        renamer.rejections.topics |= rejected
    return None


def _of_link(state: ConnectionState, spelled: bytes) -> Denied | None:
    """The answer for a link whose topic does not exist: no request creates a topic by a link."""
    found = state.view.resolve(spelled)
    if isinstance(found, Denied) or not found.link:
        return None
    message = f"Topic '{spelled.decode(errors='replace')}' does not exist."
    return Denied(UNKNOWN_TOPIC_OR_PARTITION, message, "link")


def _creation_denial(
    state: ConnectionState, exchange: Exchange, flat: bytes, spelled: str, *, allowed: bool
) -> Denied | None:
    """The answer for a topic that does not exist; None: the broker answers, and creates the topic
    if the request allows that."""
    denied = check_creation(state.view, spelled)
    if denied is not None:
        return Denied(UNKNOWN_TOPIC_OR_PARTITION, denied.message, denied.rule)
    resource = state.access.flat_resource(flat)
    ours = isinstance(exchange.kept, CreatedHere)
    if not ours and not resource.namespace:
        return state.access.creation(resource) if allowed else None
    name = LogicalName(resource.namespace, resource.name)
    creation = state.worker.auto_creation
    if not ours or creation is None or not creation.allows(name):
        if not resource.namespace:
            return None
        message = f"Topic '{spelled}' does not exist."
        # A request without auto-creation only checks whether the topic exists, as Kafka Streams
        # does before it creates its repartition topics.
        if not (ours or allowed):
            return Denied(UNKNOWN_TOPIC_OR_PARTITION, message, MISSING)
        return Denied(UNKNOWN_TOPIC_OR_PARTITION, message, "auto_creation")
    message = f"Topic '{spelled}' is being created."
    being_created = Denied(UNKNOWN_TOPIC_OR_PARTITION, message, BEING_CREATED)
    return state.access.creation(resource) or being_created


API = Api(
    "Metadata",
    (0, 13),
    Do.REWRITE,
    effect=Effect.LOOKUP,
    by_id=Do.CHECK,
    null=Do.EXPAND,
    needs=Needs(topic=DESCRIBE, tells_illegal=True),
    topics=(
        TopicShape(
            Topics("topics"),
            Topics("topics"),
            # The response also has the brokers, which every client needs.
            always_asked=True,
            asked_for_none=lambda version, body: metadata.ask_by_name(version, body, ()),
            prepared=metadata.without_placeholder,
        ),
    ),
    operations=ToldOperations(
        ("include_topic_authorized_operations", "include_cluster_authorized_operations"),
        "topics",
        "name",
        "topic_authorized_operations",
    ),
    # The error of the whole response (v13) is an error that no topic can have.
    items_too=lambda version, code: True,
    division=metadata_in_tree.DIVISION,
    brokers=metadata_in_tree.BROKERS,
    translated=metadata_in_tree.translated,
    request=request,
    response=response,
)
