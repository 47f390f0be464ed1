"""Topics that the gateway keeps for itself: creating and checking them, the catalog's above all."""

from __future__ import annotations

import asyncio
import shlex
from collections.abc import Mapping
from datetime import timedelta
from operator import attrgetter
from typing import Any, Final, NamedTuple

from gateway.brokers.messages import ClusterAdmin, describe_configs
from gateway.brokers.one_each import only_one
from gateway.catalog.source import CatalogUnavailable
from protocol.messages import Request
from protocol.schema import error_name

BROKER_DEFAULT: Final = -1
"""In place of a number of partitions or replicas."""

_UNKNOWN_TOPIC: Final = 3
_TIMED_OUT: Final = 7
_NOT_AUTHORIZED: Final = 29
_TOPIC_ALREADY_EXISTS: Final = 36
_ANSWER_TIME: Final = timedelta(seconds=20)


class TopicError(Exception):
    """The cluster rejects a request; the text is its error's name, with its message."""


class NotInTime(TopicError):
    """The cluster did not execute the request in time; it may do so later."""


class NotAuthorized(TopicError):
    """The brokers' ACLs deny the request to the gateway's user."""


async def partitions_of(admin: ClusterAdmin, topic: str) -> int | None:
    """The number of a topic's partitions, or None if there is no such topic. Raises TopicError,
    OSError."""
    return _partitions_in(await _metadata(admin, topic), topic)


async def _metadata(admin: ClusterAdmin, *topics: str) -> Any:
    """A broker's Metadata response for these topics. Raises OSError."""
    # Without this flag a missing topic would be created with the broker's defaults.
    values = {
        "topics": [{"name": topic} for topic in topics],
        "allow_auto_topic_creation": False,
    }
    return await admin.ask(Request("MetadataRequest", 9, values), changes=False)


def _partitions_in(response: Any, topic: str) -> int | None:
    """As :func:`partitions_of`, by a Metadata response. Raises TopicError."""
    for found in response.topics:
        code = int(found.error_code)
        if found.name == topic and not code:
            return len(found.partitions)
        if found.name == topic and code == _NOT_AUTHORIZED:
            raise NotAuthorized(_named(found))
        if found.name == topic and code != _UNKNOWN_TOPIC:
            raise TopicError(_named(found))
    return None


async def config_of(admin: ClusterAdmin, topic: str, key: str) -> str | None:
    """The value of a topic's config (empty: the broker hides it), or None if there is no such
    topic.

    Raises TopicError, OSError.
    """
    response = await admin.ask(describe_configs([topic], [key]), changes=False)
    result = only_one(topic, response.results, attrgetter("resource_name"))
    code = int(result.error_code)
    if code == _UNKNOWN_TOPIC:
        return None
    if code:
        raise TopicError(_named(result))
    values = {config.name: config.value for config in result.configs}
    return values.get(key) or ""


async def create(
    admin: ClusterAdmin,
    topic: str,
    configs: Mapping[str, str],
    *,
    partitions: int = BROKER_DEFAULT,
    replication_factor: int = BROKER_DEFAULT,
    validate_only: bool = False,
) -> None:
    """Create a topic; a topic that exists already is no error. If ``validate_only``, the cluster
    only responds whether it would. Raises NotInTime, NotAuthorized, TopicError, OSError."""
    wanted = {
        "name": topic,
        "num_partitions": partitions,
        "replication_factor": replication_factor,
        "configs": [{"name": name, "value": value} for name, value in configs.items()],
    }
    values = {"topics": [wanted], "timeout": _ANSWER_TIME, "validate_only": validate_only}
    response = await admin.ask(Request("CreateTopicsRequest", 5, values), changes=not validate_only)
    result = only_one(topic, response.topics, attrgetter("name"))
    code = int(result.error_code)
    if code == _TIMED_OUT:
        raise NotInTime(_named(result))
    if code == _NOT_AUTHORIZED:
        raise NotAuthorized(_named(result))
    if code not in (0, _TOPIC_ALREADY_EXISTS):
        raise TopicError(_named(result))


def _named(result: Any) -> str:
    """The error of a broker's response: its name, and its message, if any."""
    text = getattr(result, "error_message", None)
    name = error_name(result.error_code)
    return f"{name} ({text})" if text else name


CATALOG_TOPIC: Final = "__kafka_gateway_catalog"

CONFIGS: Final = {
    "cleanup.policy": "compact",
    # A gateway could not read a codec that it lacks.
    "compression.type": "uncompressed",
}
"""The topic configs with which the catalog's topic is created."""

_SETTLE_SECONDS: Final = 15.0
_POLL_SECONDS: Final = 0.1
_NO_ANSWER: Final = "The catalog cannot be read now: no broker answers."


class CatalogTopicError(Exception):
    """The catalog's topic cannot serve as it is; the text says what to do about it."""


class CatalogLost(CatalogTopicError):
    """The cluster had a catalog, and does not have it any more. ``cluster`` is its name in the
    configuration; empty if the catalog is read without a configuration."""

    def __init__(self, what: str, cluster: str = "") -> None:
        serve = f": kafka-gateway serve --new-catalog {shlex.quote(cluster)}" if cluster else ""
        super().__init__(
            f"{what}, and the cluster had a catalog before: all namespaces, ACLs and users are"
            " gone, unless a gateway that still runs has them in memory (kafka-gateway catalog"
            " export --from-memory). Bring them back with kafka-gateway catalog restore; to begin"
            f" an empty catalog instead{serve}"
        )


class FoundTopic(NamedTuple):
    """Whether the catalog's topic exists, and whether its mark does: then the cluster has, or had,
    a catalog that held something."""

    there: bool
    marked: bool = False


def mark_of(topic: str) -> str:
    """The name of the mark of a catalog: a topic without records beside the catalog's.

    The mark is at the brokers, so that a gateway in a fresh container sees it too. It never
    expires, as offsets of groups and transactional ids do. A gateway's rights on its own topics
    cover it.
    """
    return f"{topic}_mark"


async def ensure_topic(
    admin: ClusterAdmin,
    topic: str,
    replication_factor: int = BROKER_DEFAULT,
    *,
    anew: bool = False,
    cluster: str = "",
) -> bool:
    """Create the catalog's topic unless it exists, and check it; returns whether it is marked.

    Several gateways may do so at once. ``replication_factor`` -1 is the broker's default; if
    ``anew``, a missing topic is created although it is marked. Raises CatalogLost, of that
    ``cluster``, CatalogTopicError, and CatalogUnavailable if the cluster does not respond.
    """
    try:
        async with asyncio.timeout(_SETTLE_SECONDS):
            found = await find_topic(admin, topic)
            if found.there:
                return found.marked
            if found.marked and not anew:
                raise CatalogLost(f"the catalog's topic '{topic}' is not there", cluster)
            await _create(admin, topic, replication_factor)
            # Brokers respond that a topic is created before all of them know it.
            while not await check_topic(admin, topic):
                await asyncio.sleep(_POLL_SECONDS)
            return found.marked
    except TimeoutError:
        raise CatalogUnavailable(
            f"The catalog's topic '{topic}' was made, and no broker knows it yet; try again."
        ) from None


async def validate_creation(admin: ClusterAdmin, replication_factor: int = BROKER_DEFAULT) -> None:
    """Let the cluster respond whether it would create the catalog's topic, and create nothing.
    Raises the exceptions of :func:`create`."""
    await create(
        admin,
        CATALOG_TOPIC,
        CONFIGS,
        partitions=1,
        replication_factor=replication_factor,
        validate_only=True,
    )


async def leave_mark(
    admin: ClusterAdmin, topic: str, replication_factor: int = BROKER_DEFAULT
) -> None:
    """Create the mark of a catalog that holds something. Raises TopicError, OSError."""
    # It has no records; compaction keeps foreign records there from growing without end.
    configs = {"cleanup.policy": "compact"}
    await create(
        admin, mark_of(topic), configs, partitions=1, replication_factor=replication_factor
    )


async def check_topic(admin: ClusterAdmin, topic: str) -> bool:
    """True if the topic exists. Raises the exceptions of :func:`find_topic`."""
    return (await find_topic(admin, topic)).there


async def find_topic(admin: ClusterAdmin, topic: str) -> FoundTopic:
    """Look for the catalog's topic and its mark; raises CatalogTopicError if the topic is not fit
    for a catalog, and CatalogUnavailable if the cluster does not respond."""
    partitions, marked = await _look(admin, topic)
    if partitions is None:
        return FoundTopic(False, marked)
    if partitions != 1:
        raise CatalogTopicError(
            f"the catalog's topic '{topic}' has {partitions} partitions and must have exactly 1:"
            " delete it if nothing needs it, and it is made anew"
        )
    policy = await _cleanup_policy(admin, topic)
    if policy is None:
        return FoundTopic(False, marked)
    if policy != "compact":
        raise CatalogTopicError(
            f"the catalog's topic '{topic}' has cleanup.policy={policy} and must have exactly"
            " 'compact', else the broker deletes namespaces: kafka-configs --alter --entity-type"
            f" topics --entity-name {topic} --add-config cleanup.policy=compact"
        )
    return FoundTopic(True, marked)


async def _look(admin: ClusterAdmin, topic: str) -> tuple[int | None, bool]:
    """The partitions of the catalog's topic (None if it does not exist), and whether it is
    marked."""
    try:
        # A single response is one state of the cluster, and the mark is created after the topic. In
        # two responses, if a broker lags behind another, the topic could be missing beside its
        # mark.
        response = await _metadata(admin, topic, mark_of(topic))
        partitions = _partitions_in(response, topic)
    except NotAuthorized as error:
        raise CatalogUnavailable(
            f"The brokers do not let the gateway's user see the catalog's topic '{topic}': {error};"
            " allow it what docs/brokers.md says, which kafka-gateway check --cluster compares."
        ) from None
    except TopicError as error:
        raise CatalogUnavailable(f"The catalog's topic is not there yet: {error}.") from None
    except OSError as error:
        raise CatalogUnavailable(_NO_ANSWER) from error
    # A mark whose partition has no leader now exists all the same.
    codes = [int(one.error_code) for one in response.topics if one.name == mark_of(topic)]
    return partitions, any(code not in (_UNKNOWN_TOPIC, _NOT_AUTHORIZED) for code in codes)


async def _cleanup_policy(admin: ClusterAdmin, topic: str) -> str | None:
    try:
        policy = await config_of(admin, topic, "cleanup.policy")
    except TopicError as error:
        raise CatalogTopicError(
            f"the configs of the catalog's topic '{topic}' cannot be read: {error}"
        ) from None
    except OSError as error:
        raise CatalogUnavailable(_NO_ANSWER) from error
    return "(not told)" if policy == "" else policy


async def _create(admin: ClusterAdmin, topic: str, replication_factor: int) -> None:
    try:
        await create(admin, topic, CONFIGS, partitions=1, replication_factor=replication_factor)
    except NotInTime:
        raise CatalogUnavailable("The catalog's topic was not made in time; try again.") from None
    except NotAuthorized as error:
        raise CatalogTopicError(
            f"the catalog's topic '{topic}' cannot be made: {error}; allow the gateway's user"
            " CREATE on topics as docs/brokers.md says, or make it with 1 partition and"
            " cleanup.policy=compact"
        ) from None
    except TopicError as error:
        raise CatalogTopicError(
            f"the catalog's topic '{topic}' cannot be made: {error}; make it"
            " with 1 partition and cleanup.policy=compact"
        ) from None
    except OSError as error:
        raise CatalogUnavailable(_NO_ANSWER) from error
