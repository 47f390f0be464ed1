"""The gateway's own queries to the broker about topics, by flat names: to describe, validate and
alter their configs, and to delete them."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import timedelta
from functools import partial
from operator import attrgetter
from typing import Any, Final
from uuid import UUID, uuid4

from gateway.brokers.messages import describe_configs
from gateway.brokers.one_each import one_each, only_one
from gateway.changes.base.context import Context
from gateway.changes.base.last_look import About, WhyNot, ask_about
from gateway.changes.base.rejected import BROKER, UNANSWERED, Rejected, unavailable
from gateway.changes.base.resources import DEFAULT, OWN, STRING_TYPE, Operation
from gateway.decision import Denied
from gateway.error_codes import REQUEST_TIMED_OUT, UNKNOWN_TOPIC_ID, UNKNOWN_TOPIC_OR_PARTITION
from gateway.names import RESERVED_PREFIX
from gateway.rules.access import TOPIC_RESOURCE
from protocol.messages import Request
from protocol.pausing import eased, paced

SHORTEST: Final = timedelta(seconds=5)
"""With a shorter timeout a broker responds before the creation is certain, so a topic could be
created without getting its catalog entry."""

LONGEST: Final = timedelta(seconds=30)
"""Shorter than BrokerAdmin waits for a response."""

BATCH: Final = 100
"""Topics in one query."""

_SAMPLES: Final = 3
DEFAULTS_SINCE: Final = 4  # KIP-464: -1 for the cluster's default partition count and replication
_DELETES_BY_ID: Final = 6  # the first version that takes ids (KIP-516)


def broker_time(requested: timedelta) -> timedelta:
    """The ``timeout_ms`` of the gateway's own request, from the timeout of the client's request."""
    return min(max(requested, SHORTEST), LONGEST)


def batches(flats: Sequence[str]) -> Iterator[list[str]]:
    """The names in parts of at most BATCH topics, for one query each."""
    for start in range(0, len(flats), BATCH):
        yield list(flats[start : start + BATCH])


async def query_each(
    context: Context,
    request: Request,
    flats: Iterable[str],
    results: str,
    *,
    changes: bool = True,
) -> dict[str, Any | Denied]:
    """The broker's entry for each topic in the array ``results`` of its response, by flat name.

    If the broker rejects the topic, or does not respond, the value is the error: with the rule
    ``broker``, in flat names, or ``unavailable``.
    """
    return await query_allowed(context, lambda _: request, flats, results, None, changes=changes)


async def query_allowed(
    context: Context,
    about: About,
    flats: Iterable[str],
    results: str,
    why_not: WhyNot | None,
    *,
    changes: bool = True,
) -> dict[str, Any | Denied]:
    """As :func:`query_each`, by the request ``about`` the topics that ``why_not`` does not deny
    when it is sent; the value of the others is its error."""
    flats = list(flats)
    try:
        response, denied = await ask_about(context, flats, about, why_not, changes=changes)
    except OSError as error:
        return dict.fromkeys(flats, unavailable(error))
    left = [flat for flat in flats if flat not in denied]
    entries = one_each(left, getattr(response, results, ()), attrgetter("name"))
    answers = {flat: _error(entry) or entry for flat, entry in paced(entries.items())}
    return {**answers, **denied}


def _error(entry: Any) -> Denied | None:
    """Why the broker did not do what an entry of its response is about; None: it did. ``entry``
    is None if the response leaves it out."""
    if entry is None:
        return UNANSWERED
    code, text = int(entry.error_code), entry.error_message or ""
    return Denied(code, text, BROKER) if code else None


# -- configs ---------------------------------------------------------------------------------------


async def describe(
    context: Context,
    flats: Sequence[str],
    keys: Collection[str] | None = None,
    *,
    synonyms: bool = False,
    documentation: bool = False,
) -> dict[str, Any]:
    """The broker's entry of DescribeConfigs for each topic, by flat name; None if the broker does
    not answer for a topic. Raises OSError."""
    # Brokers read an empty list as null, which requests all configs.
    wanted = sorted(keys) if keys else None
    request = describe_configs(flats, wanted, synonyms=synonyms, documentation=documentation)
    response = await context.admin.ask(request, changes=False)
    return one_each(flats, response.results, attrgetter("resource_name"))


async def read_configs(
    context: Context, flats: Sequence[str], keys: Collection[str] | None = None
) -> dict[str, Sequence[Any]]:
    """The configs of the topics as the broker describes them, by flat name.

    ``keys``: only these configs. Topics that do not exist are left out. Raises OSError, and
    :class:`Rejected` if the broker does not describe a topic.
    """
    read: dict[str, Sequence[Any]] = {}
    for batch in batches(flats):
        for flat, result in (await describe(context, batch, keys)).items():
            code = REQUEST_TIMED_OUT if result is None else int(result.error_code)
            if code not in (0, UNKNOWN_TOPIC_OR_PARTITION):
                raise Rejected(code, "The broker does not tell the topic's configs.")
            if not code:
                read[flat] = result.configs
    return read


async def read_dynamic(
    context: Context, flats: Sequence[str], keys: Collection[str] | None = None
) -> dict[str, dict[str, str]]:
    """The configs that are set on the topics at the broker: key to value, by flat name. Parameters
    and errors as :func:`read_configs`."""
    read = await read_configs(context, flats, keys)
    return {flat: dynamic_configs(configs) for flat, configs in read.items()}


def dynamic_configs(configs: Iterable[Any]) -> dict[str, str]:
    """The configs that the broker has as the topic's own: key to value."""
    return {each.name: each.value or "" for each in configs if each.config_source == OWN}


async def write_configs(
    context: Context,
    operations: Mapping[str, Sequence[Operation]],
    *,
    validate_only: bool = False,
    why_not: WhyNot | None = None,
) -> dict[str, Denied | None]:
    """Alter the configs of topics at the broker; by flat name, None if the configs were altered.

    Error messages are the broker's, in flat names, or come from ``why_not``, which is called when
    the request is sent. Raises OSError.
    """
    done: dict[str, Denied | None] = {}
    for batch in batches(list(operations)):
        about = partial(_alteration, operations, validate_only)
        response, denied = await ask_about(
            context, batch, about, why_not, changes=not validate_only
        )
        left = [flat for flat in batch if flat not in denied]
        results = getattr(response, "responses", ())
        entries = one_each(left, results, attrgetter("resource_name"))
        done |= {**denied, **{flat: _error(entry) for flat, entry in entries.items()}}
    return done


def _alteration(
    operations: Mapping[str, Sequence[Operation]], validate_only: bool, flats: Sequence[str]
) -> Request:
    resources = [
        {
            "resource_type": TOPIC_RESOURCE,
            "resource_name": flat,
            "configs": [
                {"name": one.key, "config_operation": one.operation, "value": one.value}
                for one in eased(operations[flat])
            ],
        }
        for flat in flats
    ]
    values = {"resources": resources, "validate_only": validate_only}
    return Request("IncrementalAlterConfigsRequest", 1, values)


async def validate_configs(context: Context, configs: Mapping[str, str]) -> Denied | None:
    """Why the broker would not accept these configs for a topic, or None if it would.

    The query is a CreateTopics request for a random name, for validation only. Raises OSError.
    """
    if not configs:
        return None
    topic = await _probe(context, configs)
    code = int(topic.error_code)
    if not code:
        return None
    text = getattr(topic, "error_message", None) or "The broker refuses these configs."
    return Denied(code, text.replace(topic.name, "(a topic)"), BROKER)


async def new_topic_configs(context: Context) -> Sequence[Any]:
    """The configs of a topic that sets none, from a CreateTopics response; empty if the broker's
    version does not return them. Raises OSError."""
    return getattr(await _probe(context, {}), "configs", None) or ()


async def _probe(context: Context, configs: Mapping[str, str]) -> Any:
    """The broker's entry for a topic of a random name with these configs; no topic is created."""
    name = f"gateway-validation-{uuid4().hex}"

    def values(version: int) -> Mapping[str, object]:
        count = -1 if version >= DEFAULTS_SINCE else 1
        topic = {
            "name": name,
            "num_partitions": count,
            "replication_factor": count,
            "configs": [{"name": key, "value": value} for key, value in configs.items()],
        }
        return {"topics": [topic], "validate_only": True}

    request = Request("CreateTopicsRequest", 7, values)
    response = await context.admin.ask(request, changes=False)
    return only_one(name, response.topics, attrgetter("name"))


@dataclass(frozen=True, slots=True)
class Default:
    """One config of a topic that does not set it. ``synonyms`` are (name, value, source), the
    synonym in force first. Sources and types are those of DescribeConfigsResponse."""

    key: str
    value: str | None
    source: int = DEFAULT
    config_type: int = STRING_TYPE
    documentation: str | None = None
    is_sensitive: bool = False
    read_only: bool = False
    synonyms: tuple[tuple[str, str | None, int], ...] = ()


async def cluster_defaults(
    context: Context, *, documentation: bool = False
) -> Mapping[str, Default]:
    """Every topic config of the cluster by key, in the broker's order.

    They are read from an existing topic, because only DescribeConfigs has types and documentation.
    A config that this topic sets itself may hide the default. For such a config, and if there is no
    topic at all, a validated CreateTopics request returns the default. Raises OSError.
    """
    read: dict[str, Default] = {}
    names = (name.decode() for name in list(context.cluster.index.names()))
    # The gateway's own topics first: nobody deletes them meanwhile.
    own_first = sorted(names, key=lambda name: (not name.startswith(RESERVED_PREFIX), name))
    for flat in own_first[:_SAMPLES]:
        described = await describe(context, [flat], synonyms=True, documentation=documentation)
        result = described[flat]
        if result is not None and not result.error_code:
            read = {config.name: _default(config) for config in result.configs}
            break
    hidden = [default for default in read.values() if default.source == OWN]
    if read and not hidden:
        return read
    fresh = {config.name: _default(config) for config in await new_topic_configs(context)}
    for default in hidden:
        better = fresh.get(default.key, Default(default.key, None))
        read[default.key] = replace(default, value=better.value, source=better.source)
    return read or fresh


def _default(config: Any) -> Default:
    """A config of a DescribeConfigs or CreateTopics response. The source is the topic if the
    topic's own value hides the default and there is no synonym."""
    found = getattr(config, "synonyms", ())
    synonyms = tuple((s.name, s.value, s.source) for s in found if s.source != OWN)
    value, source = config.value, config.config_source
    if source == OWN and synonyms:
        _, value, source = synonyms[0]
    return Default(
        config.name,
        value,
        source,
        getattr(config, "config_type", STRING_TYPE),
        getattr(config, "documentation", None),
        config.is_sensitive,
        config.read_only,
        synonyms,
    )


# -- deletion --------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Outcome:
    """The broker's result for one topic: its error code (0: deleted), text, and the topic's id (16
    bytes) if the response has it."""

    code: int
    message: str | None = None
    topic_id: bytes | None = None

    @property
    def gone(self) -> bool:
        """Whether the topic does not exist any more, or never did."""
        return self.code in (0, UNKNOWN_TOPIC_OR_PARTITION, UNKNOWN_TOPIC_ID)


_NO_ANSWER: Final = Outcome(REQUEST_TIMED_OUT, "The broker does not say what became of it.")


async def delete_at_broker(
    context: Context,
    ids: Mapping[str, bytes | None],
    timeout: timedelta = LONGEST,
    why_not: WhyNot | None = None,
    still: WhyNot | None = None,
) -> dict[str, Outcome]:
    """Delete topics; ``ids`` maps a flat name to the broker's topic id, or to None to delete by
    name.

    Returns the outcomes by flat name; topics that ``why_not`` denies are left out, and stay. By its
    id only this topic is deleted, not a topic that was created under the same name since. The index
    forgets deleted topics. ``still``: see :func:`ask_about`. Raises OSError: then it is unknown
    which topics were deleted; and the errors of ``why_not``.
    """
    if not ids:
        return {}

    def about(flats: Sequence[str]) -> Request:
        topics = [
            {"name": flat} if topic_id is None else {"name": None, "topic_id": UUID(bytes=topic_id)}
            for flat, topic_id in eased([(flat, ids[flat]) for flat in flats])
        ]
        # Before v6 a request has only names.
        values = {"timeout": timeout, "topics": topics, "topic_names": list(flats)}
        return Request("DeleteTopicsRequest", _DELETES_BY_ID, values)

    response, denied = await ask_about(context, ids, about, why_not, still=still, noted=False)
    left = [flat for flat in ids if flat not in denied]
    by_id = {topic_id: flat for flat, topic_id in paced(ids.items()) if topic_id is not None}

    def flat_of(result: Any) -> str | None:
        name: str | None = result.name
        return by_id.get(_topic_id(result) or b"", name)

    outcomes = dict.fromkeys(left, _NO_ANSWER)
    results = one_each(left, getattr(response, "responses", ()), flat_of)
    for flat, result in paced(results.items()):
        if result is None:
            continue
        topic_id = _topic_id(result)
        text = getattr(result, "error_message", None)
        outcomes[flat] = Outcome(int(result.error_code), text, topic_id)
        # If the broker does not know a name, the next listing may still have it.
        if outcomes[flat].gone and outcomes[flat].code != UNKNOWN_TOPIC_OR_PARTITION:
            context.cluster.index.forget(flat.encode(), ids[flat] or topic_id)
    return outcomes


def _topic_id(result: Any) -> bytes | None:
    found = getattr(result, "topic_id", None)
    topic_id: bytes | None = None if found is None else found.bytes
    return topic_id
