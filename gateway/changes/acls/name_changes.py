"""The rule by which ACLs allow a change of names: a topic that is moved, adopted, released or
linked.

A name gives rights, too. So a new name must give nobody a right that the principal making the
change could not have granted, and take away no right that this principal could not have removed.
One rule decides that for every such change, from the patterns with ACLs that apply to a name before
and after it. A pattern *applies* to a name if it covers the name, or a namespace that the name is
in: a namespace's pattern is a gate, or its ACLs are inherited.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from typing import Final

from gateway.acl_model import (
    CLUSTER,
    WILDCARD,
    AclEntry,
    AclFilter,
    Operation,
    PatternType,
    Permission,
    ResourcePattern,
    ResourceType,
    is_namespace,
    name_of,
    tiers_of,
)
from gateway.acls.grants import binds
from gateway.catalog.entities import ResourceAcls
from gateway.changes.acls.acl_rights import AclRights
from gateway.decision import Denied
from gateway.error_codes import TOPIC_AUTHORIZATION_FAILED
from gateway.names import LogicalName
from gateway.views.access import Access
from gateway.views.authorized_access import ACL_RULE
from protocol.pausing import eased

_TOPIC: Final = ResourceType.TOPIC
_LITERAL: Final = PatternType.LITERAL
_PREFIXED: Final = PatternType.PREFIXED


def literal(name: LogicalName) -> ResourcePattern:
    """The pattern of a topic's own ACLs."""
    return ResourcePattern(_TOPIC, _LITERAL, str(name))


def applying(
    acls: Mapping[ResourcePattern, ResourceAcls], name: LogicalName
) -> Iterator[ResourcePattern]:
    """The patterns with ACLs that apply to a topic of this name, the widest first."""
    text = str(name)
    _, head, tail, _ = name_of(_TOPIC, text)
    patterns = [ResourcePattern(_TOPIC, _LITERAL, WILDCARD)]
    for tier in tiers_of(head):
        patterns += (ResourcePattern(_TOPIC, kind, tier) for kind in (_PREFIXED, _LITERAL))
    ends = range(len(head) + 1, len(head) + len(tail) + 1)
    patterns += (ResourcePattern(_TOPIC, _PREFIXED, text[:end]) for end in ends)
    patterns.append(literal(name))
    return (pattern for pattern in dict.fromkeys(patterns) if pattern in acls)


def _is_gate(pattern: ResourcePattern) -> bool:
    """Whether a pattern of topics is the pattern of a namespace itself."""
    return pattern.pattern_type is _LITERAL and is_namespace(pattern)


@dataclass(frozen=True, slots=True)
class NameChange:
    """A topic named ``former`` gets the name ``name``: in place of ``former``, or besides it by a
    link. The ACLs of the catalog that ``access`` sees decide both names."""

    access: Access
    former: LogicalName
    name: LogicalName

    def carries_acls(self) -> bool:
        """Whether the topic's own ACLs follow it: only if the principal may change the ACLs of both
        patterns. Without an authorizer ACLs decide nothing, so they follow."""
        if not self.access.authorizes:
            return True
        rights = AclRights(self.access, Operation.ALTER)
        return rights.cover(literal(self.former)) and rights.cover(literal(self.name))

    def why_not(self, spelled: str, new: str, links: Collection[LogicalName] = ()) -> Denied | None:
        """Why ACLs deny the change, or None if they allow it. The client calls the topic
        ``spelled``, which may be an alias, and calls it ``new`` afterwards.

        ACLs that the principal cannot change have to apply under the new name as well. If the
        topic's own ACLs are among them, no further ACLs may apply to the new name: a principal that
        cannot grant rights to a topic must not gain them by a name. The topic's ``links`` must not
        lead around a gate that the topic gets behind, because a gate does not bind under the links'
        names (a DENY there does).
        """
        if not self.access.authorizes or self.former == self.name:
            return None
        principal, rights = self.access.principal, AclRights(self.access, Operation.ALTER)
        before, after = self._entries(self.former), self._entries(self.name)
        what = f"{principal} is not allowed to give topic '{spelled}' the name '{new}': "
        for pattern in before:
            if pattern not in after and not rights.cover(pattern):
                why = f"it may not change all ACLs that apply to the topic and not to '{new}'"
                return self._denied(what + why, pattern)
        gates = [one for one in after if _is_gate(one) and one not in before]
        around = [self._entries(link) for link in links] if gates else []
        for pattern in gates:
            if any(pattern not in entries for entries in around) and not rights.cover(pattern):
                why = (
                    f"it may not change all ACLs that apply to '{new}' and not to the topic's links"
                )
                return self._denied(what + why, pattern)
        if rights.cover(literal(self.former)):
            return None
        for pattern in after:
            if pattern not in before:
                why = f"it may not change the topic's ACLs, and others apply to '{new}'"
                return self._denied(what + why, pattern)
        if rights.cover(literal(self.name)):
            why = f"it may change the ACLs of '{new}', and not those of the topic"
            return self._denied(what + why, literal(self.name))
        return None

    def configs_why_not(self, spelled: str, new: str) -> Denied | None:
        """Why ACLs deny that the topic inherits other configs, or None if they allow it. If a DENY
        of ALTER_CONFIGS on the topic binds the principal, and the principal cannot remove that
        DENY, a namespace must not change the topic's configs for the principal either."""
        if not self.access.authorizes:
            return None
        rights = AclRights(self.access, Operation.ALTER)
        for pattern, entries in self._entries(self.former).items():
            if any(map(self._denies_configs, eased(entries))) and not rights.cover(pattern):
                why = (
                    f"{self.access.principal} is not allowed to ALTER_CONFIGS topic '{spelled}',"
                    f" which would inherit others as '{new}'"
                )
                return self._denied(why, pattern)
        return None

    def _entries(self, name: LogicalName) -> dict[ResourcePattern, Collection[AclEntry]]:
        """The patterns that apply to a name, with their ACLs: the patterns of the catalog, the
        widest first, then the patterns that a custom authorizer has elsewhere."""
        acls, text = self.access.view.snapshot.acls, str(name)
        found: dict[ResourcePattern, Collection[AclEntry]] = {
            pattern: acls[pattern].entries for pattern in applying(acls, name)
        }
        elsewhere: dict[ResourcePattern, set[AclEntry]] = {}
        for one in (*tiers_of(name_of(_TOPIC, text).head), text):
            for binding in self.access.acls(AclFilter(_TOPIC, one, PatternType.MATCH)):
                if binding.pattern not in found:
                    elsewhere.setdefault(binding.pattern, set()).add(binding.entry)
        return {**found, **elsewhere}

    def _denies_configs(self, entry: AclEntry) -> bool:
        asked = Operation.ALTER_CONFIGS
        denies = entry.permission is Permission.DENY
        return denies and binds(entry, self.access.principal, self.access.host, asked)

    def _denied(self, why: str, pattern: ResourcePattern) -> Denied:
        """The denial; it names an ACL of the pattern if the client may describe that ACL."""
        held = self.access.view.snapshot.acls.get(pattern)
        because = str(pattern) if held is None else f"{min(held.entries)} on {pattern}"
        seen = held is not None and AclRights(self.access, Operation.DESCRIBE).cover(pattern)
        named = f" ({because})" if seen else ""
        return Denied(
            TOPIC_AUTHORIZATION_FAILED,
            f"{why}{named}. ALTER on the cluster allows it.",
            ACL_RULE,
            Operation.ALTER.name,
            f"{_TOPIC.name} {self.former}",
            because,
            right=str(CLUSTER),
        )
