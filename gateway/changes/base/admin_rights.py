"""Rights to create, delete, move and configure topics and namespaces.

Each function returns the items of one request (in the client's names) that ACLs deny, by raw name.
A request is authorized when it arrives. The items that the gateway executes itself are authorized
again, on the state of the catalog on which they are executed.
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
    """CreateTopics: the topics and namespaces that the principal may not create.

    A namespace is created with the tiers above it that do not exist, and each tier needs the right.
    Adopting topics takes them from all other principals, so it needs ALTER on the cluster. If the
    principal may change all ACLs in the namespace, the existing topics decide.
    """
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
    """DeleteTopics: the names of topics and namespaces that the principal may not delete.

    ``flats``: the broker's topics. Deleting a namespace needs the right to delete all topics in it.
    """
    if not access.authorizes:
        return {}
    denied: dict[bytes, Denied] = {}
    namespaces: dict[bytes, str] = {}
    for name in dict.fromkeys(paced(names)):
        named = access.topic_resource(name)
        if named is None:
            continue
        why = _deletion_by_name(access, name, named, flats)
        if why is not None:
            denied[name] = _respelled(access, why, named, name)
        elif not named.name:
            namespaces[name] = named.namespace
    if namespaces:
        contents = _contents(access, frozenset(namespaces.values()), flats)
        denied |= {name: contents[path] for name, path in namespaces.items() if path in contents}
    return denied


def deletion(access: Access, named: Resource) -> Denied | None:
    """Why the principal may not delete a topic or namespace. In the default namespace DELETE on the
    cluster is enough (ControllerApis)."""
    denied = access.denial(DELETE, named)
    if denied is None or (not named.namespace and access.cluster(DELETE) is None):
        return None
    return denied


def _deletion_by_name(
    access: Access, name: bytes, named: Resource, flats: Collection[bytes]
) -> Denied | None:
    """Why the principal may not delete what it names. A name also needs DESCRIBE, which DELETE
    includes unless an ACL denies it; and only who has it learns that nothing has this name
    (ControllerApis)."""
    why = deletion(access, named)
    hidden = access.denial(DESCRIBE, named)
    if why is None:
        whole = not named.namespace and access.cluster(DELETE) is None
        return None if whole else hidden
    if hidden is not None:
        return why
    return _missing(access, name, named, flats) or why


def deletion_by_id(access: Access, named: Resource) -> Denied | None:
    """:func:`deletion` for a client that named the topic or link by its id: the message has no
    name, because the client may not be allowed to describe it."""
    denied = deletion(access, named)
    return None if denied is None else unnamed(denied, access.principal)


def configs(access: Access, api: str, resources: Iterable[Any]) -> dict[ConfigResource, Denied]:
    """Describe-, Alter- and IncrementalAlterConfigs: the resources whose configs the principal may
    not describe or alter, and the topics that it may not move."""
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
        # AlterConfigs changes no virtual configs, because tools that write back the described
        # configs send the virtual configs with the topic's own.
        if api == "IncrementalAlterConfigs":
            configs = eased(resource.configs)
            virtual = {one.name: one for one in configs if one.name.startswith(PREFIX)}
        why = _configs(access, operation, name, virtual)
        if why is not None:
            denied[TOPIC_RESOURCE, name] = why
    return denied


def move(access: Access, name: bytes, topic: Resource, target: Resource | None) -> Denied | None:
    """Why ``topic``, which the client calls ``name``, may not become ``target``. ``target`` is None
    if it is invalid; then the move itself rejects the request.

    A move needs ALTER on both namespaces (KIP-37), and CREATE of the topic in the new namespace.
    The default namespace has no ACLs of its own, so ALTER on the topic stands for ALTER on it.
    ``acls/name_changes.py`` decides what the ACLs of other principals require besides.
    """
    if topic.namespace:
        why = access.namespace(ALTER, topic.namespace)
    else:
        why = access.denial(ALTER, topic)
    if why is not None:
        # The message must not tell a client that knows only an alias where the topic is now.
        by_alias = access.view.parse(name.decode(errors="replace")).namespace != topic.namespace
        return unnamed(why, access.principal) if by_alias else why
    if target is None:
        return None
    why = access.namespace(ALTER, target.namespace) if target.namespace else None
    return why or access.creation(target)


def link(access: Access, name: bytes, topic: Resource, links: Iterable[Resource]) -> Denied | None:
    """Why ``topic``, which the client calls ``name``, may not get these ``links``. A link opens the
    topic to other principals, so it needs the rights that a move needs in the topic's namespace,
    and CREATE of the link."""
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
    """The error for a topic that does not exist, if the client may describe it (ControllerApis)."""
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
    """By namespace, why a topic, link or group in it may not be deleted."""
    owner = access.view.snapshot.owner
    denied: dict[str, Denied] = {}
    for flat in paced(list(flats)):
        # Its own name counts, which the view has no more once the namespace is being deleted.
        name = owner(flat.decode(errors="replace"))
        if name.namespace in namespaces and name.namespace not in denied:
            named = Resource(ResourceType.TOPIC, name.namespace, name.topic)
            why = access.denial(DELETE, named)
            if why is not None:
                # The client may not be allowed to describe that topic.
                denied[name.namespace] = replace(why, message=_NOT_ALL(access.principal))
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
        operation = DELETE  # of the link; if the topic is no link, the change itself rejects it
    if PRINCIPALS in virtual and (why := access.cluster(ALTER)) is not None:
        return why
    why = access.denial(operation, named)
    return None if why is None else _respelled(access, why, named, name)


def _respelled(access: Access, why: Denied, named: Resource, name: bytes) -> Denied:
    """The denial with the client's name, if it denies the resource itself."""
    return as_asked(why, access.principal, name) if why.resource == str(named) else why


def _new_links(access: Access, config: Any) -> Iterator[Resource]:
    """The new links that a request names. Links that it removes need no right to CREATE, and the
    change itself rejects invalid names."""
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
    """The name that a topic gets by a move, or by a release: then the name in its flat name."""
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
