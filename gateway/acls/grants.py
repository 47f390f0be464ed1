"""The entries of a pattern for a principal, in a form that is quick to evaluate.

Operations are bits, so that an operation and the operations that imply it are a single comparison.
"""

from __future__ import annotations

import ipaddress
from collections.abc import Mapping
from functools import lru_cache
from typing import Final

from gateway.acl_model import (
    ANY_USER,
    WILDCARD,
    AclBinding,
    AclEntry,
    Operation,
    Permission,
    ResourcePattern,
)

_ALLOW: Final = Permission.ALLOW
_ALL: Final = Operation.ALL

EVERYTHING: Final = ~0
"""The bits of all operations."""

Bits = tuple[int, int]
"""The operations that are allowed, and the operations that are denied."""


DESCRIBE_BIT: Final = 1 << Operation.DESCRIBE

_IMPLIED: Final[Mapping[Operation, Operation]] = {
    Operation.READ: Operation.DESCRIBE,
    Operation.WRITE: Operation.DESCRIBE,
    Operation.DELETE: Operation.DESCRIBE,
    Operation.ALTER: Operation.DESCRIBE,
    Operation.ALTER_CONFIGS: Operation.DESCRIBE_CONFIGS,
}
"""The operation that an ALLOW of another operation implies (KIP-11, KIP-133); a DENY implies no
other."""

ALLOWS: Final[Mapping[Operation, int]] = {
    **{each: 1 << each for each in Operation},
    **{each: 1 << each | 1 << implied for each, implied in _IMPLIED.items()},
    _ALL: EVERYTHING,
}
"""The bits that an ALLOW of an operation sets."""

DENIES: Final[Mapping[Operation, int]] = {
    **{each: 1 << each for each in Operation},
    _ALL: EVERYTHING,
}
"""The bits that a DENY of an operation sets."""


def binds(entry: AclEntry, principal: str, host: str, operation: Operation) -> bool:
    """Whether an entry, ALLOW or DENY, concerns an operation of a principal at a host: it has to
    name the operation or ALL, because implied operations do not count."""
    return (
        entry.principal in (principal, ANY_USER)
        and canonical_host(entry.host) in (canonical_host(host), WILDCARD)
        and entry.operation in (operation, _ALL)
    )


class Grant:
    """The entries of a pattern for a principal.

    ``allow`` and ``deny`` are the bits that hold for every host. ``by_host`` maps each host that an
    entry names to its bits, which include the bits for every host; it is None without such entries.
    """

    __slots__ = ("allow", "by_host", "deny", "entries", "pattern")

    def __init__(self, pattern: ResourcePattern, entries: tuple[AclEntry, ...]) -> None:
        self.pattern = pattern
        self.entries = entries
        self.allow = self.deny = 0
        self.by_host: dict[str, Bits] | None = None
        hosts: set[str] | None = None
        for entry in entries:
            if entry.host == WILDCARD:
                if entry.permission is _ALLOW:
                    self.allow |= ALLOWS[entry.operation]
                else:
                    self.deny |= DENIES[entry.operation]
            else:
                hosts = set() if hosts is None else hosts
                hosts.add(canonical_host(entry.host))
        if hosts is not None:
            self.by_host = {host: self._bits(host) for host in hosts}

    def at(self, host: str) -> Bits:
        """The bits allowed and denied to the principal at a host."""
        if self.by_host is None:
            return self.allow, self.deny
        return self.by_host.get(host) or (self.allow, self.deny)

    @property
    def allowed_operations(self) -> frozenset[Operation]:
        """The operations that an ALLOW names, at any host."""
        return frozenset(one.operation for one in self.entries if one.permission is _ALLOW)

    @property
    def denied_anywhere(self) -> int:
        """The bits that are denied at any host."""
        denied = self.deny
        for _, deny in () if self.by_host is None else self.by_host.values():
            denied |= deny
        return denied

    def allows_by_name(self, operation: Operation, host: str) -> bool:
        """Whether an ALLOW names this operation, or ALL; an ALLOW that implies it does not
        count."""
        return any(
            entry.permission is _ALLOW and entry.operation in (operation, _ALL)
            for entry in self.entries
            if _holds(entry, host)
        )

    def deciding(self, permission: Permission, bits: int, host: str) -> AclBinding | None:
        """The ACL that allows, or denies, any of ``bits`` at a host, if any; the first in their
        order if there are several."""
        table = ALLOWS if permission is _ALLOW else DENIES
        found = [
            entry
            for entry in self.entries
            if entry.permission is permission
            and table[entry.operation] & bits
            and _holds(entry, host)
        ]
        return AclBinding(self.pattern, min(found)) if found else None

    def _bits(self, host: str) -> Bits:
        allow, deny = self.allow, self.deny
        for entry in self.entries:
            if not _holds(entry, host):
                continue
            if entry.permission is _ALLOW:
                allow |= ALLOWS[entry.operation]
            else:
                deny |= DENIES[entry.operation]
        return allow, deny


def canonical_host(host: str) -> str:
    """An IP address as this software writes it, so that ``::1`` and ``0:0:0:0:0:0:0:1`` are equal.

    An IPv4 address inside an IPv6 address is that IPv4 address, as in Java. A host that is no
    address stays as it is.
    """
    return _ipv6(host) if ":" in host else host


@lru_cache(maxsize=10_000)
def _ipv6(host: str) -> str:
    try:
        address = ipaddress.IPv6Address(host)
    except ValueError:
        return host
    return str(address.ipv4_mapped or address)


def _holds(entry: AclEntry, host: str) -> bool:
    return entry.host == WILDCARD or canonical_host(entry.host) == host
