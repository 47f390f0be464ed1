"""Rights to make, delete, move and configure topics and namespaces.

Each function returns the items of one request (in the client's names) that ACLs deny, by raw name.
A request is authorized when it comes, and the part of it that the gateway does itself once more, on
the state of the catalog that it is done on.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import replace
from typing import Any, Final

from gateway.acl_model import Operation, PatternType, Resource, ResourcePattern, ResourceType
from gateway.changes.base.group_rights import groups_why_not
from gateway.changes.base.resources import APPEND, SET
from gateway.changes.base.virtual_configs import (
    ADOPT,
    LINK,
    LINK_TO,
    NAMESPACE,
    PREFIX,
    PRINCIPALS,
    RELEASE,
    TOPIC,
    is_of_listener,
)
from gateway.decision import Denied
from gateway.error_codes import UNKNOWN_TOPIC_OR_PARTITION
from gateway.names import DELIMITER, InvalidName, parents
from gateway.rules.access import TOPIC_RESOURCE
from gateway.rules.item_lists import ConfigResource
from gateway.views.access import ALTER, CREATE, DELETE, DESCRIBE, Access
from gateway.views.authorized_access import as_asked, unnamed
from protocol.pausing import eased, paced

DESCRIBE_CONFIGS: Final = int(Operation.DESCRIBE_CONFIGS)
ALTER_CONFIGS: Final = int(Operation.ALTER_CONFIGS)


def creations(access: Access, topics: Iterable[Any]) -> dict[bytes, Denied]:
    """CreateTopics: topics and namespaces that may not be made. A namespace is made along with the
    tiers above it that do not exist, and each of them needs the right. Adopting takes what there is
    from everyone, so it needs ALTER on the cluster; for who may change all ACLs in the namespace it
    depends on what there is."""
    if not access.authorizes:
        return {}
    denied: dict[bytes, Denied] = {}
    for topic in paced(topics):
        name = topic.name.encode()
        named = access.topic_resource(name)
        if named is None:
            continue
        why = _creation(access, named)
        if why is None and any(config.name == ADOPT for config in eased(topic.configs)):
            why = None if _manages(access, named) else access.cluster(ALTER)
        if why is not None:
            denied[name] = _respelled(access, why, named, name)
    return denied


def deletions(
    access: Access, names: Iterable[bytes], flats: Collection[bytes]
) -> dict[bytes, Denied]:
    """DeleteTopics: names of topics and namespaces that may not be deleted. ``flats`` are the
    broker's topics: deleting a namespace needs the right to delete all that is in it."""
    if not access.authorizes:
        return {}
    denied: dict[bytes, Denied] = {}
    namespaces: dict[bytes, str] = {}
    for name in dict.fromkeys(paced(names)):
        named = access.topic_resource(name)
        if named is None:
            continue
        why = deletion(access, named)
        if why is not None and access.denial(DESCRIBE, named) is None:
            why = _missing(access, name, named, flats) or why
        if why is not None:
            denied[name] = _respelled(access, why, named, name)
        elif not named.name:
            namespaces[name] = named.namespace
    if namespaces:
        contents = _contents(access, frozenset(namespaces.values()), flats)
        denied |= {name: contents[path] for name, path in namespaces.items() if path in contents}
    return denied


def deletion(access: Access, named: Resource) -> Denied | None:
    """Why a topic or namespace may not be deleted: in the default namespace DELETE on the cluster
    is enough (ControllerApis)."""
    denied = access.denial(DELETE, named)
    if denied is None or (not named.namespace and access.cluster(DELETE) is None):
        return None
    return denied


def resource_by_id(access: Access, flat: bytes, topic_id: bytes) -> Resource:
    """The resource that a client names by a topic id, of the topic stored as ``flat``: the topic,
    or a link to it."""
    link = access.view.snapshot.link_under(topic_id)
    if link is not None:
        return Resource(ResourceType.TOPIC, link.namespace, link.topic)
    return access.flat_resource(flat)


def configs(access: Access, api: str, resources: Iterable[Any]) -> dict[ConfigResource, Denied]:
    """Describe-, Alter- and IncrementalAlterConfigs: resources whose configs may not be seen or
    changed, and topics that may not be moved."""
    if not access.authorizes:
        return {}
    operation = DESCRIBE_CONFIGS if api == "DescribeConfigs" else ALTER_CONFIGS
    denied: dict[ConfigResource, Denied] = {}
    view = access.view
    for resource in paced(resources):
        if resource.resource_type != TOPIC_RESOURCE:
            continue
        describes = api == "DescribeConfigs"
        if describes and is_of_listener(resource) and view.is_outermost(resource.resource_name):
            continue
        name = resource.resource_name.encode()
        virtual: dict[str, Any] = {}
        # AlterConfigs changes no virtual configs: tools that write back what was described send
        # them along with the topic's own.
        if api == "IncrementalAlterConfigs":
            configs = eased(resource.configs)
            virtual = {one.name: one for one in configs if one.name.startswith(PREFIX)}
        why = _configs(access, operation, name, virtual)
        if why is not None:
            denied[TOPIC_RESOURCE, name] = why
    return denied


def move(access: Access, name: bytes, topic: Resource, target: Resource | None) -> Denied | None:
    """Why ``topic``, which the client calls ``name``, may not become ``target`` (None if it is
    invalid, which the move itself rejects).

    A move needs ALTER on both namespaces (KIP-37), and CREATE of the topic that it becomes there.
    The default one has no ACLs of its own: the topic's own stand for it. What the ACLs of others
    require besides, ``acls/name_changes.py`` decides.
    """
    if topic.namespace:
        why = access.namespace(ALTER, topic.namespace)
    else:
        why = access.denial(ALTER, topic)
    if why is not None:
        # A client that knows an alias does not learn by it where the topic is now.
        by_alias = access.view.parse(name.decode(errors="replace")).namespace != topic.namespace
        return unnamed(why, access.principal) if by_alias else why
    if target is None:
        return None
    why = access.namespace(ALTER, target.namespace) if target.namespace else None
    return why or access.creation(target)


def link(access: Access, name: bytes, topic: Resource, links: Iterable[Resource]) -> Denied | None:
    """Why ``topic``, which the client calls ``name``, may not get these ``links``: it needs what a
    move needs where the topic is, because a link opens the topic to others, and CREATE of the link.
    """
    why = move(access, name, topic, None)
    if why is not None:
        return why
    return next((why for one in links if (why := access.creation(one)) is not None), None)


def _creation(access: Access, named: Resource) -> Denied | None:
    if named.name:
        return access.creation(named)
    snapshot = access.view.snapshot
    for tier in parents(named.namespace):
        if tier != named.namespace and tier in snapshot.namespaces:
            continue
        why = access.denial(CREATE, Resource(ResourceType.TOPIC, tier, ""))
        if why is not None and (DELIMITER in tier or access.cluster(CREATE) is not None):
            return why
    return None


def _manages(access: Access, named: Resource) -> bool:
    """Whether the principal may change the ACLs of everything in a namespace."""
    everything = ResourcePattern(named.type, PatternType.PREFIXED, named.text)
    return not named.name and access.manages(everything)


def _missing(
    access: Access, name: bytes, named: Resource, flats: Collection[bytes]
) -> Denied | None:
    """The error for a topic that does not exist, for a client that may describe it
    (ControllerApis)."""
    text = name.decode(errors="replace")
    if not named.name:
        if access.view.snapshot.missing_tier(named.namespace) is None:
            return None
        why = f"Namespace '{text}' does not exist."
        return Denied(UNKNOWN_TOPIC_OR_PARTITION, why, "namespace")
    found = access.view.resolve(name)
    if isinstance(found, Denied):
        return found
    if found.flat in flats:
        return None
    return Denied(UNKNOWN_TOPIC_OR_PARTITION, f"Topic '{text}' does not exist.", "names")


def _contents(
    access: Access, namespaces: Collection[str], flats: Iterable[bytes]
) -> dict[str, Denied]:
    """By namespace, why one of the topics, links or groups in it may not be deleted."""
    owner = access.view.snapshot.owner
    denied: dict[str, Denied] = {}
    for flat in paced(list(flats)):
        namespace = owner(flat.decode(errors="replace")).namespace
        if namespace in namespaces and namespace not in denied:
            why = access.flat(DELETE, flat)
            if why is not None:
                # The client may not be allowed to describe that topic.
                denied[namespace] = replace(why, message=_NOT_ALL(access.principal))
    # Links go with the namespace that they are in.
    for link in paced(list(access.view.snapshot.links)):
        if link.namespace in namespaces and link.namespace not in denied:
            named = Resource(ResourceType.TOPIC, link.namespace, link.topic)
            why = access.denial(DELETE, named)
            if why is not None:
                denied[link.namespace] = replace(why, message=_NOT_ALL(access.principal))
    for path in paced(list(namespaces)):
        if path not in denied and (why := groups_why_not(access, path)) is not None:
            denied[path] = replace(why, message=_NOT_ALL(access.principal))
    return denied


_NOT_ALL: Final = "{} is not allowed to DELETE all that is in this namespace.".format


def _configs(
    access: Access, operation: int, name: bytes, virtual: Mapping[str, Any]
) -> Denied | None:
    if access.view.is_outermost(
        name.decode(errors="replace")
    ):  # the outermost namespace that this client sees
        return access.namespace(operation, access.view.settings.home)
    named = access.topic_resource(name)
    if named is None:
        return None
    if named.name and not virtual.keys().isdisjoint((NAMESPACE, RELEASE)):
        return move(access, name, named, _target(access, name, named, virtual))
    if named.name and LINK in virtual:
        return link(access, name, named, _new_links(access, virtual[LINK]))
    if LINK_TO in virtual:
        operation = DELETE  # of a link; of what is none it is rejected
    if PRINCIPALS in virtual and (why := access.cluster(ALTER)) is not None:
        return why
    why = access.denial(operation, named)
    return None if why is None else _respelled(access, why, named, name)


def _respelled(access: Access, why: Denied, named: Resource, name: bytes) -> Denied:
    """The denial in the client's spelling, where it is about the resource itself."""
    return as_asked(why, access.principal, name) if why.resource == str(named) else why


def _new_links(access: Access, config: Any) -> Iterator[Resource]:
    """The links that a request names and that there are not yet. What it takes off needs no right
    to make it, and what is invalid the change itself rejects."""
    if config.config_operation not in (SET, APPEND):
        return
    view = access.view
    for item in eased((config.value or "").split(",")):
        try:
            name = view.parse(item.strip())
        except InvalidName:
            continue
        if name not in view.snapshot.links:
            yield Resource(ResourceType.TOPIC, name.namespace, name.topic)


def _target(
    access: Access, name: bytes, topic: Resource, virtual: Mapping[str, Any]
) -> Resource | None:
    """The name that a topic is to get: moved, or released to what its flat name says."""
    if RELEASE in virtual:
        found = access.view.resolve(name)
        if isinstance(found, Denied):
            return None
        released = access.view.snapshot.spelled(found.flat.decode())
        return Resource(ResourceType.TOPIC, released.namespace, released.topic)
    where, renamed = virtual[NAMESPACE], virtual.get(TOPIC)
    last = (None if renamed is None else renamed.value) or topic.name
    if where.value and access.view.is_outermost(where.value):
        return Resource(ResourceType.TOPIC, "", last)
    if not where.value:
        return Resource(ResourceType.TOPIC, access.view.settings.home, last)
    try:
        path = access.view.namespace_at(where.value)
    except InvalidName:
        return None
    return None if path is None else Resource(ResourceType.TOPIC, path, last)
