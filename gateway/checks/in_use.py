"""The operations that clients perform today: from the traffic log's files on this machine, and from
the groups that have members. Read for ``check --cluster --dry-run``; nothing is changed."""

from __future__ import annotations

import json
import zlib
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final, NamedTuple

from gateway.acl_model import Operation, Resource, ResourceType
from gateway.apis.table import APIS
from gateway.brokers.messages import ClusterAdmin
from gateway.catalog.snapshot import Snapshot
from gateway.cluster.link import ClusterUnreachable
from gateway.files import UnreadableFile, read_file
from gateway.names import is_reserved, owner_of_id
from gateway.sinks.rolling_files import COMPRESSED, PLAIN
from protocol.messages import Request

MOST_BYTES: Final = 256 * 1024 * 1024
"""Bytes that are read of the newest files, unpacked; older files are left out."""

_METADATA: Final = Request("MetadataRequest", 9, {"topics": (), "allow_auto_topic_creation": False})
_LIST_GROUPS: Final = Request("ListGroupsRequest", 5, {})
_OFFSET_FETCH: Final = 7
"""The last version with one group."""

_WITHOUT_MEMBERS: Final = frozenset({"Empty", "Dead"})
_GZIP: Final = 16 + zlib.MAX_WBITS


class Use(NamedTuple):
    """An operation that a principal performed at a listener, from an IP address."""

    listener: str
    principal: str
    host: str
    operation: Operation
    resource: Resource


class LiveGroup(NamedTuple):
    """A group with members, and the topics for which it has committed offsets."""

    group: Resource
    topics: tuple[Resource, ...]


@dataclass(slots=True)
class InUse:
    """Everything that clients do today."""

    uses: dict[Use, None] = field(default_factory=dict)
    groups: list[LiveGroup] = field(default_factory=list)
    files: int = 0
    """Files of the traffic log that were read."""
    older: bool = False
    """Whether there are older files, which were not read."""


def read_traffic(directory: Path, cluster: str, found: InUse) -> None:
    """Add the operations at a cluster in a traffic log's files, the newest first. Lines that cannot
    be parsed, and files that were removed meanwhile, are left out."""
    files = [path for end in (PLAIN, COMPRESSED) for path in directory.glob(f"*{end}")]
    left = MOST_BYTES
    for path in sorted(files, key=_modified, reverse=True):
        if left <= 0:
            found.older = True
            return
        try:
            content = read_file(path, MOST_BYTES)
        except UnreadableFile:
            continue
        if path.name.endswith(COMPRESSED):
            try:
                content = zlib.decompressobj(_GZIP).decompress(content, left)
            except zlib.error:
                continue
        left -= len(content)
        found.files += 1
        for line in content.splitlines():
            found.uses |= dict.fromkeys(_uses(line, cluster))


def _modified(path: Path) -> float:
    try:
        return path.stat().st_mtime
    except OSError:
        return 0.0


def _uses(line: bytes, cluster: str) -> Iterator[Use]:
    try:
        record: Any = json.loads(line)
        if record["kind"] != "flow" or record["cluster"] != cluster:
            return
        topic, api = record["logical_topic"], APIS.get(record["api_key"])
        if topic is None or api is None or not api.needs.topic:
            return
        if sum(record["denials"].values()) >= record["requests"]:
            return  # denied today as well, so no loss
        namespace, name = record["namespace"] or "", topic.rpartition(":")[2]
        listener, principal = record["listener"], record["principal"]
        host = record["client_address"].partition(" ")[0]
    # JSON that is nested too deep raises RecursionError.
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        return  # the last line of a file that is being written
    if all(isinstance(text, str) for text in (namespace, listener, principal)):
        resource = Resource(ResourceType.TOPIC, namespace, name)
        yield Use(listener, principal, host, Operation(api.needs.topic), resource)


async def live_groups(admin: ClusterAdmin, snapshot: Snapshot) -> list[LiveGroup]:
    """Every group that has members, from the brokers that coordinate groups. Raises OSError."""
    metadata = await admin.ask(_METADATA, changes=False)
    found = []
    for address in sorted((str(one.host), int(one.port)) for one in metadata.brokers):
        listed = await admin.ask_at(address, _LIST_GROUPS)
        for one in listed.groups:
            if getattr(one, "group_state", "") not in _WITHOUT_MEMBERS:
                topics = await _topics_of(admin, address, str(one.group_id))
                found.append(_live_group(str(one.group_id), topics, snapshot))
    return sorted(found, key=lambda one: one.group.text)


async def _topics_of(
    admin: ClusterAdmin, address: tuple[str, int], group: str
) -> Mapping[str, None]:
    """The topics of a group's committed offsets; none for a share group, which commits no such
    offsets."""
    request = Request("OffsetFetchRequest", _OFFSET_FETCH, {"group_id": group, "topics": None})
    try:
        answer = await admin.ask_at(address, request)
    except ClusterUnreachable:
        return {}
    return {} if int(answer.error_code) else dict.fromkeys(str(one.name) for one in answer.topics)


def _live_group(group: str, topics: Iterable[str], snapshot: Snapshot) -> LiveGroup:
    namespace, rest = owner_of_id(group) or ("", group)
    owners = [snapshot.owner(flat) for flat in sorted(topics) if not is_reserved(flat)]
    return LiveGroup(
        Resource(ResourceType.GROUP, namespace, rest),
        tuple(Resource(ResourceType.TOPIC, one.namespace, one.topic) for one in owners),
    )
