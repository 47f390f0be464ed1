"""The configs of topics in namespaces: what is the topic's own, and what it inherits.

The broker holds both as configs of the topic; the catalog says which keys are the topic's own.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from gateway.catalog.entities import TopicEntry
from gateway.catalog.snapshot import Snapshot
from gateway.changes.context import Context
from gateway.changes.refused import Refused
from gateway.decision import Denied
from gateway.error_codes import UNKNOWN_TOPIC_OR_PARTITION
from gateway.names import parents
from gateway.rules.access import TOPIC_RESOURCE
from gateway.rules.nested import changed, element_class, make
from protocol import messages
from protocol.pausing import eased

OWN: Final = 1
"""DYNAMIC_TOPIC_CONFIG: set on the topic itself (DescribeConfigsResponse.ConfigSource)."""

INHERITED: Final = 3
"""DYNAMIC_DEFAULT_BROKER_CONFIG: how what a namespace sets is told."""

DEFAULT: Final = 5
"""DEFAULT_CONFIG."""

SET: Final = 0
DELETE: Final = 1
APPEND: Final = 2
SUBTRACT: Final = 3

BATCH: Final = 100
"""Topics in one question to the broker."""


@dataclass(frozen=True, slots=True)
class Operation:
    """One change of one config key (IncrementalAlterConfigs: AlterConfigOp.OpType)."""

    key: str
    operation: int
    value: str | None = None


def inherited(snapshot: Snapshot, namespace: str) -> dict[str, str]:
    """The values that a topic in ``namespace`` inherits, by key."""
    return {key: value for key, (value, _) in snapshot.effective_configs(namespace).items()}


def own_configs(snapshot: Snapshot, flat: str) -> frozenset[str]:
    """The keys that are known to be the topic's own."""
    entry = snapshot.topics.get(flat)
    return frozenset() if entry is None else frozenset(entry.own_configs)


def pending(snapshot: Snapshot, flat: str) -> Collection[str] | None:
    """The keys of which the broker may not yet hold what the topic inherits; None: any of them."""
    entry = snapshot.topics.get(flat)
    if entry is not None and entry.apply:
        return None
    keys: set[str] = set()
    for tier in parents(snapshot.owner(flat).namespace):
        found = snapshot.namespaces.get(tier)
        if found is not None:
            keys.update(found.apply)
    return keys


def topics_in(snapshot: Snapshot, flats: Iterable[bytes], namespace: str) -> list[str]:
    """Those of the flat names that belong to ``namespace`` or one below it, sorted."""
    prefix = namespace + ":"
    owners = ((flat.decode(), snapshot.owner(flat.decode()).namespace) for flat in flats)
    return sorted(f for f, owner in owners if owner == namespace or owner.startswith(prefix))


def entry_for(snapshot: Snapshot, flat: str, now: int) -> TopicEntry:
    """The topic's entry, or the one that says no more than its flat name does."""
    return snapshot.topics.get(flat) or TopicEntry(flat, snapshot.owner(flat), since=now)


# -- how configs are told --------------------------------------------------------------------------


def adjust_created(
    response_topic: Any, own: Collection[str], inherited: Mapping[str, tuple[str, str]]
) -> Any:
    """A topic of a CreateTopics response with inherited configs told as what they are.

    ``own`` are the keys that the request set, ``inherited`` is ``Snapshot.effective_configs``.
    Versions before 5 have no configs, and then nothing is to be done.
    """
    configs = getattr(response_topic, "configs", None)
    if not configs:
        return response_topic

    def adjusted(config: Any) -> Any:
        found = inherited.get(config.name)
        if config.name in own or found is None or found[0] != config.value:
            return config
        return changed(config, {"config_source": INHERITED})

    return changed(response_topic, {"configs": tuple(map(adjusted, configs))})


def adjust_described(
    configs: Sequence[Any],
    own: Collection[str],
    inherited: Mapping[str, str],
    unsettled: Collection[str] | None = (),
) -> tuple[Any, ...]:
    """The configs of a DescribeConfigs result with inherited ones told as what they are.

    ``unsettled`` are the keys of :func:`pending`: whatever the broker holds of them, unless it is
    the topic's own, was inherited.
    """

    def adjusted(config: Any) -> Any:
        if config.config_source != OWN:
            return config
        value = inherited.get(config.name)
        if config.name not in own:
            waits = unsettled is None or config.name in unsettled
            if waits or (value is not None and value == config.value):
                return _as_inherited(config)
        return config if value is None else _over_inherited(config, value)

    return tuple(map(adjusted, configs))


def _as_inherited(config: Any) -> Any:
    synonyms = tuple(
        changed(synonym, {"source": INHERITED}) if synonym.source == OWN else synonym
        for synonym in config.synonyms
    )
    return changed(config, {"config_source": INHERITED, "synonyms": synonyms})


def _over_inherited(config: Any, value: str) -> Any:
    """What it would fall back to comes next in the synonyms, where there are any."""
    if not config.synonyms:
        return config
    first, *rest = config.synonyms
    fallback = changed(first, {"value": value, "source": INHERITED})
    return changed(config, {"synonyms": (first, fallback, *rest)})


# -- what the broker holds -------------------------------------------------------------------------


async def read_dynamic(
    context: Context, flats: Sequence[str], keys: Collection[str] | None = None
) -> dict[str, dict[str, str]]:
    """What is set on the topics at the broker: key to value, by flat name.

    ``keys``: of these only. Topics that do not exist are left out. Raises OSError, and
    :class:`Refused` when the broker does not tell.
    """
    read: dict[str, dict[str, str]] = {}
    for batch in batches(flats):
        response = await describe(context, batch, keys)
        for result in response.results:
            if int(result.error_code) == UNKNOWN_TOPIC_OR_PARTITION:
                continue
            if result.error_code:
                message = "The broker does not tell the topic's configs."
                raise Refused(int(result.error_code), message)
            read[result.resource_name] = {
                config.name: config.value or ""
                for config in result.configs
                if config.config_source == OWN
            }
    return read


async def describe(
    context: Context,
    flats: Sequence[str],
    keys: Collection[str] | None = None,
    *,
    synonyms: bool = False,
    documentation: bool = False,
) -> Any:
    """The broker's answer to DescribeConfigs for topics. Raises OSError."""

    def request(cls: type) -> Any:
        resource = element_class(cls, "resources")
        # Brokers take an empty list as null, which is all.
        wanted = tuple(sorted(keys)) if keys else None
        resources: tuple[Any, ...] = tuple(
            make(
                resource,
                {
                    "resource_type": TOPIC_RESOURCE,
                    "resource_name": flat,
                    "configuration_keys": wanted,
                },
            )
            for flat in flats
        )
        values = {"resources": resources, "include_synonyms": synonyms}
        return make(cls, {**values, "include_documentation": documentation})

    return await context.admin.ask("DescribeConfigsRequest", request, at_most=4, changes=False)


async def write(
    context: Context,
    operations: Mapping[str, Sequence[Operation]],
    *,
    validate_only: bool = False,
) -> dict[str, Denied | None]:
    """Change the configs of topics at the broker; None for each flat name where that was done.

    The messages of what was not are the broker's, in flat names. Raises OSError.
    """
    done: dict[str, Denied | None] = {}
    for batch in batches(list(operations)):
        request = _Alteration({flat: operations[flat] for flat in batch}, validate_only)
        response = await context.admin.ask("IncrementalAlterConfigsRequest", request, at_most=1)
        for answer in response.responses:
            code = int(answer.error_code)
            done[answer.resource_name] = (
                Denied(code, answer.error_message or "", "broker") if code else None
            )
    return done


@dataclass(frozen=True, slots=True)
class _Alteration:
    operations: Mapping[str, Sequence[Operation]]
    validate_only: bool

    def __call__(self, cls: type) -> Any:
        resource = element_class(cls, "resources")
        config = element_class(resource, "configs")
        resources: tuple[Any, ...] = tuple(
            messages.build(
                resource,
                resource_type=TOPIC_RESOURCE,
                resource_name=flat,
                configs=tuple(
                    messages.build(
                        config, name=one.key, config_operation=one.operation, value=one.value
                    )
                    for one in eased(operations)
                ),
            )
            for flat, operations in self.operations.items()
        )
        return messages.build(cls, resources=resources, validate_only=self.validate_only)


def batches(flats: Sequence[str]) -> Iterator[list[str]]:
    """The names in parts that one question holds."""
    for start in range(0, len(flats), BATCH):
        yield list(flats[start : start + BATCH])
