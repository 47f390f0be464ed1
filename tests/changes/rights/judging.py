"""Whether a sequence of changes gave a right, or removed an ACL, that the delegate who made it
could not have given or removed by CreateAcls and DeleteAcls."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product

from gateway.acl_model import (
    WILDCARD,
    AclBinding,
    Operation,
    Resource,
    ResourcePattern,
    ResourceType,
    covers,
    resource,
    tiers_of,
)
from gateway.decision import Resolved
from gateway.names import owner_of_id
from gateway.views.access import DELETE
from tests.changes.acl_requests import text_of
from tests.changes.rights.closure import Closure
from tests.changes.rights.worlds import DELEGATE, HOME_HOST, HOSTS, PRINCIPALS, Rights, State

_O = Operation
TOPIC_OPERATIONS = (
    _O.READ,
    _O.WRITE,
    _O.DESCRIBE,
    _O.DELETE,
    _O.ALTER,
    _O.ALTER_CONFIGS,
    _O.DESCRIBE_CONFIGS,
)
ID_OPERATIONS = {
    ResourceType.GROUP: (_O.READ, _O.DELETE, _O.DESCRIBE),
    ResourceType.TRANSACTIONAL_ID: (_O.WRITE, _O.DESCRIBE),
}


def may(rights: Rights, who: str, host: str, operation: Operation, flat: str) -> bool:
    """Whether a principal may carry out an operation on a topic by any of its names: its own, whose
    rights its aliases have, and its links."""
    access, owner = rights.access(who, host), rights.snapshot.owner(flat)
    named = Resource(ResourceType.TOPIC, owner.namespace, owner.topic)
    if access.verdict(operation, named).allowed:
        return True
    for link in rights.snapshot.links_of(flat):
        spelled = rights.view.spell_name(link)
        found = None if spelled is None else access.topic(int(operation), spelled)
        if isinstance(found, Resolved) and found.flat == flat.encode():
            return True
    return operation is Operation.DELETE and not owner.namespace and access.cluster(DELETE) is None


def may_id(
    rights: Rights, who: str, host: str, operation: Operation, kind: ResourceType, name: str
) -> bool:
    """The same for a group or transactional id, by its name at the broker."""
    access = rights.access(who, host)
    return access.verdict(operation, access.broker_id_resource(kind, name.encode())).allowed


def violations(before: State, after: State) -> Iterator[str]:
    """Each violation, as a sentence."""
    if before == after:
        return
    closure = Closure(before)
    yield from _gained(before, after, closure)
    yield from _destroyed(before, after, closure)
    yield from _entries(before, after, closure)
    yield from _shed(before, after, closure)


def _gained(before: State, after: State, closure: Closure) -> Iterator[str]:
    then, now = Rights(before), Rights(after)
    kept = [flat for flat, made in before.topics.items() if after.topics.get(flat) == made]
    for who, host in product(PRINCIPALS, _hosts(before, after)):
        for flat, op in product(kept, TOPIC_OPERATIONS):
            asked = (who, host, op, flat)
            if may(now, *asked) and not (may(then, *asked) or closure.may(may, *asked)):
                was, name = (one.snapshot.owner(flat) for one in (before, after))
                yield f"{who} at {host} may {op.name} topic {flat}: was '{was}', is '{name}'"
        for kind, held in (
            (ResourceType.GROUP, before.groups),
            (ResourceType.TRANSACTIONAL_ID, before.ids),
        ):
            for name_, op in product(sorted(held), ID_OPERATIONS[kind]):
                of_id = (who, host, op, kind, name_)
                if may_id(now, *of_id) and not (
                    may_id(then, *of_id) or closure.may(may_id, *of_id)
                ):
                    yield f"{who} at {host} may {op.name} {kind.name} {name_}"


def _hosts(*states: State) -> tuple[str, ...]:
    """Hosts that the ACLs distinguish."""
    held = (acls.entries for state in states for acls in state.snapshot.acls.values())
    named = any(entry.host != WILDCARD for entries in held for entry in entries)
    return HOSTS if named else HOSTS[:1]


def _destroyed(before: State, after: State, closure: Closure) -> Iterator[str]:
    """Each topic and group that is gone, which the delegate must have been able to delete."""
    asker = (DELEGATE, HOME_HOST, Operation.DELETE)
    for flat, made in before.topics.items():
        if after.topics.get(flat) != made and not closure.may(may, *asker, flat):
            yield f"topic {flat} is deleted, which the delegate may not"
    access = closure.rights.access(DELEGATE, HOME_HOST)
    for group in before.groups - after.groups:
        owned = owner_of_id(group)
        path = "" if owned is None else owned[0]
        # The groups of a namespace are deleted with it, so a client that may delete the namespace
        # may delete them.
        along = path in before.snapshot.namespaces and access.namespace(DELETE, path) is None
        if not along and not closure.may(may_id, *asker, ResourceType.GROUP, group):
            yield f"group {group} is deleted, which the delegate may not"


def _entries(before: State, after: State, closure: Closure) -> Iterator[str]:
    then, now = (
        {
            AclBinding(acls.pattern, entry)
            for acls in state.snapshot.acls.values()
            for entry in acls.entries
        }
        for state in (before, after)
    )
    for binding in sorted(then - now, key=text_of):
        if not closure.manages(binding.pattern):
            yield f"the delegate could not remove {text_of(binding)}, which is gone"
    for binding in sorted(now - then, key=text_of):
        if not closure.manages(binding.pattern):
            yield f"the delegate could not add {text_of(binding)}, which is there"


def _shed(before: State, after: State, closure: Closure) -> Iterator[str]:
    """ACLs that the delegate could not remove apply to a topic by its new name and its new links,
    and the delegate could have got the right to create these."""
    access = closure.rights.access(DELEGATE, HOME_HOST)
    kept = [flat for flat, made in before.topics.items() if after.topics.get(flat) == made]
    held = [
        pattern
        for pattern in before.snapshot.acls
        if pattern.type is ResourceType.TOPIC and not closure.manages(pattern)
    ]
    for flat in kept:
        was, name = (str(one.snapshot.owner(flat)) for one in (before, after))
        new = {str(one) for one in after.snapshot.links_of(flat)}
        new -= {str(one) for one in before.snapshot.links_of(flat)}
        others = sorted({name, *new} - {was})
        for other in others:
            if access.creation(resource(ResourceType.TOPIC, other)) is not None:
                yield f"topic {flat} is '{other}', which the delegate may not create"
        for pattern, other in product(held, others):
            if applies(pattern, was) and not applies(pattern, other):
                yield f"ACLs on {pattern} bind topic {flat} as '{was}' and not as '{other}'"


def applies(pattern: ResourcePattern, name: str) -> bool:
    """Whether ACLs on a pattern of topics apply to a name: to itself or to a namespace around
    it."""
    tiers = tiers_of(name)
    return any(covers(pattern, ResourceType.TOPIC, one) for one in (name, *tiers))
