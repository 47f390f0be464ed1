"""``check --cluster --dry-run``: the principals that would be denied operations that they perform
today.

"Tomorrow" in the code means: with the configuration that is checked, and the ACLs that the catalog
has now. Then every client of a listener without a login is ``User:ANONYMOUS``. A client that has to
log in for the first time may become any principal that an ACL names.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Final, NamedTuple

from gateway.acl_model import ANY_USER, WILDCARD, AclFilter, Operation, Resource
from gateway.acls.authorizer import Authorizer, AuthorizerError, load_authorizer
from gateway.checks.in_use import InUse, Use, live_groups, read_traffic
from gateway.checks.listeners import authenticates
from gateway.commands.backend import Backend
from gateway.commands.output import Progress, counted, shortened
from gateway.config.errors import Problem
from gateway.config.models import Config
from gateway.config.reach import volume_of
from gateway.identity import ANONYMOUS
from gateway.views.trust import trusted

_ANONYMOUS: Final = ANONYMOUS.principal
_ANYBODY: Final = "any principal"
_GROUPS: Final = "a group with members"
_ELSEWHERE: Final = "192.0.2.1"
"""An address of no host (RFC 5737), which stands for every host that no ACL names."""

_NOBODY: Final = "no principal may use it together with the group's topics"
_SHOWN: Final = 6


class LockedOut(NamedTuple):
    """An operation that ``principal`` would be denied, ``because`` of a rule. ``listener`` is empty
    if the group's clients may be at any listener."""

    principal: str
    listener: str
    operation: Operation
    resource: Resource
    because: str

    def as_json(self) -> dict[str, str | None]:
        """The same for programs."""
        return {
            "principal": None if self.principal == _ANYBODY else self.principal,
            "listener": self.listener or None,
            "operation": self.operation.name,
            "resource_type": self.resource.type.name,
            "name": self.resource.text,
            "because": self.because,
        }


@dataclass(slots=True)
class LockOut:
    """The comparison."""

    denied: list[LockedOut] = field(default_factory=list)
    """The operations that would be denied."""
    used: int = 0
    """Uses in the traffic log."""
    groups: int = 0
    """Groups with members."""
    files: int = 0
    older: bool = False

    def as_json(self) -> dict[str, object]:
        """The comparison for programs."""
        return {
            "denied": [one.as_json() for one in self.denied],
            "uses": self.used,
            "groups": self.groups,
            "traffic_files": self.files,
            "older_traffic_files": self.older,
        }

    def rows(self) -> list[tuple[str, ...]]:
        """The comparison for people."""
        if not self.denied:
            files = f"the {'newest ' * self.older}{counted(self.files, 'file')} of the traffic log"
            uses = f"{counted(self.used, 'use')} in {files}"
            groups = counted(self.groups, _GROUPS, "groups with members")
            return [("locked out", f"nobody, by {uses} and {groups}")]
        rows: list[tuple[str, ...]] = [("locked out", "listener", "operation", "of", "because")]
        for one in self.denied:
            listener = one.listener or _GROUPS
            rows.append(
                (one.principal, listener, one.operation.name, str(one.resource), one.because)
            )
        return rows

    def warnings(self) -> Iterator[Problem]:
        """A warning for each principal at a listener."""
        together: dict[tuple[str, str], list[LockedOut]] = {}
        for one in self.denied:
            together.setdefault((one.principal, one.listener), []).append(one)
        for (principal, listener), some in together.items():
            where = f" at listener '{listener}'" if listener else ", by the groups with members,"
            what = shortened((f"{one.operation.name} {one.resource}" for one in some), _SHOWN)
            if principal == _ANYBODY:
                text = f"no principal that an ACL names{where} could do what is done today: {what}"
            else:
                text = f"{principal}{where} could not do what it does today: {what}"
            yield Problem(
                ("authorization",),
                f"{text}; add ACLs before the restart, by kafka-gateway catalog import, since a"
                " gateway without authorization takes none, or let the clients log in as who may",
            )
        if self.used == 0 and not self.files:
            yield Problem(
                ("traffic_log",),
                "there is no traffic log on this machine, so only groups with members were"
                " compared, not producers; give the file's `directory` of a gateway that runs",
            )


async def find_lock_out(config: Config, opened: Backend) -> LockOut | None:
    """Compare the operations performed at the first cluster with the operations that would be
    allowed. None without authorization, and if the authorizer's class cannot be used, which is
    reported elsewhere. Raises OSError."""
    try:
        authorizer = load_authorizer(config.authorization, lambda: None)
    except AuthorizerError:
        return None
    if authorizer is None:
        return None
    snapshot = opened.catalog.snapshot
    authorizer.see(snapshot)
    found = InUse()
    async with Progress("comparing what is done today with what would be allowed") as progress:
        directory = config.traffic_log.directory
        if config.traffic_log.enabled and directory is not None:
            progress.text = f"reading the traffic log in '{directory}'"
            name = config.clusters[0].name
            await asyncio.to_thread(read_traffic, directory, name, found)
        progress.text = "listing groups"
        found.groups = await live_groups(opened.admin, snapshot)
        progress.text = "comparing"
        judge = _Judge(config, authorizer)
        denied = dict.fromkeys([*judge.of_uses(found), *judge.of_groups(found)])
        authorizer.close()
    return LockOut(
        sorted(denied, key=lambda one: (one.principal, one.listener, str(one.resource))),
        len(found.uses),
        len(found.groups),
        found.files,
        found.older,
    )


class _Judge:
    """Decides as the authorizer would tomorrow."""

    def __init__(self, config: Config, authorizer: Authorizer) -> None:
        self._config = config
        self._authorizer = authorizer
        self._listeners = {one.name: one for one in config.listeners}
        entries = [one.entry for one in authorizer.acls(AclFilter())]
        self._named = sorted({one.principal for one in entries} - {ANY_USER})
        hosts = {one.host for one in entries if one.host != WILDCARD}
        self._hosts = [_ELSEWHERE, *sorted(hosts)]

    def of_uses(self, found: InUse) -> Iterator[LockedOut]:
        """The operations in the traffic log that would be denied."""
        for use in found.uses:
            listener = self._listeners.get(use.listener)
            if listener is not None and authenticates(listener) and use.principal == _ANONYMOUS:
                # The client has to log in from now on, and its principal is not known yet.
                yield from self._of_any(self._named, use.listener, use.operation, (use.resource,))
                continue
            principal = self._tomorrow(use)
            verdict = self._authorizer.authorize(principal, use.host, use.operation, use.resource)
            if not verdict.allowed:
                yield LockedOut(principal, use.listener, use.operation, use.resource, verdict.rule)

    def of_groups(self, found: InUse) -> Iterator[LockedOut]:
        """The groups of which no principal that clients may have tomorrow could be a member."""
        logs_in = [authenticates(one) for one in self._config.listeners]
        candidates = [_ANONYMOUS] if not all(logs_in) else []
        if any(logs_in):
            candidates += self._named
            candidates += sorted({self._tomorrow(use) for use in found.uses})
        for group, topics in found.groups:
            yield from self._of_any(candidates, "", Operation.READ, (group, *topics))

    def _of_any(
        self,
        candidates: Sequence[str],
        listener: str,
        operation: Operation,
        resources: Sequence[Resource],
    ) -> Iterator[LockedOut]:
        """The ``resources`` that none of the ``candidates`` could use; empty if a candidate could
        use all."""
        # A principal that no client has stands for the principals that no ACL names.
        everybody = [*candidates, ANY_USER]
        if any(all(self._allows(who, operation, one) for one in resources) for who in everybody):
            return
        who = candidates[0] if candidates == [_ANONYMOUS] else _ANYBODY
        denied = [
            one
            for one in resources
            if not any(self._allows(each, operation, one) for each in everybody)
        ]
        # Each resource may be allowed to some principal, and all of them to none.
        for one in denied or resources[:1]:
            because = _NOBODY
            if denied:
                because = self._authorizer.authorize(who, _ELSEWHERE, operation, one).rule
            yield LockedOut(who, listener, operation, one, because)

    def _allows(self, principal: str, operation: Operation, resource: Resource) -> bool:
        authorize = self._authorizer.authorize
        return any(authorize(principal, host, operation, resource).allowed for host in self._hosts)

    def _tomorrow(self, use: Use) -> str:
        """The principal that a client is in this cluster tomorrow. If its listener is removed, it
        may use another listener with its present principal."""
        listener = self._listeners.get(use.listener)
        if listener is None:
            return use.principal
        principal = use.principal if authenticates(listener) else _ANONYMOUS
        cluster = self._config.clusters[0]
        if volume_of(self._config.whole, listener) == cluster:
            return principal
        return trusted(cluster.trust, listener.name, principal)
