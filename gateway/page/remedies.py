"""The commands that would allow a denied operation, for an operator to copy and decide on.

A command is the narrowest that allows the request: of the principal, the operation and the
resource, and no more, as Kafka reads patterns. There is no command, and a sentence says why, if an
ACL denies more than that, or if a name reads as a pattern or cannot be written. An operation
allowed on a namespace is allowed on everything in it, which the command's note says. If the denial
is not by an ACL, there is no command, and the denial's own sentence says how to go on.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final, NamedTuple

from gateway.acl_model import WILDCARD, Operation, PatternType, ResourceType, decided_as, pattern_of
from gateway.config.addresses import Address
from gateway.config.models import Config, Listener
from gateway.identity import InvalidPrincipal, check_principal
from gateway.names import DELIMITER
from gateway.page.observed import Item

_FLAGS: Final = {
    ResourceType.TOPIC: "--topic",
    ResourceType.GROUP: "--group",
    ResourceType.TRANSACTIONAL_ID: "--transactional-id",
}
_RECORDS: Final = frozenset({Operation.READ, Operation.WRITE})
_GATE: Final = re.compile(r"no ACL allows \S+(?: or \S+)? on namespace '(.+):', which has ACLs")
_DENY: Final = re.compile(r"DENY (\S+) for (.+?)(?: from (\S+))? on (\w+:\w+:.+)", re.DOTALL)


@dataclass(frozen=True, slots=True)
class Remedy:
    """Commands to run in order, and a sentence that says their effect."""

    commands: Sequence[str] = ()
    note: str = ""


_NONE: Final = Remedy()


def remedy(denial: Item, config: Config) -> Remedy:
    """The remedy for a denied item; without commands if no ACL denied it."""
    if "source" in denial:
        note = f"Set by {denial['source']} in the configuration, which is read again on SIGHUP."
        return Remedy((), note)
    if denial["rule"] != "acl" or not denial.get("operation"):
        return _NONE
    elsewhere = str(denial.get("right") or "")
    kind_name, _, name = (elsewhere or str(denial["named"])).partition(" ")
    try:
        kind, operation = ResourceType[kind_name], Operation[str(denial["operation"])]
    except KeyError:
        return _NONE
    if kind is not ResourceType.CLUSTER and kind not in _FLAGS:
        return _NONE
    tool = _Tool.of(config, denial)
    asked = _Asked(str(denial["principal"]), operation, kind, name)
    why_not = _unnameable(asked, tool)
    if why_not:
        return Remedy((), why_not)
    if elsewhere:
        # Without ``because``, which is about another resource than the right.
        return _addition(tool, None, asked)
    because = str(denial["because"])
    denying = _DENY.fullmatch(because)
    if denying is not None:
        return _removal(tool, denying, asked)
    return _addition(tool, _GATE.fullmatch(because), asked)


class _Asked(NamedTuple):
    """The denied operation, and its principal and resource; ``name`` is whole, with its
    namespace."""

    principal: str
    operation: Operation
    kind: ResourceType
    name: str


def _unnameable(asked: _Asked, tool: _Tool) -> str:
    """Why no command can name this principal and this name alone, or empty if a command can."""
    principal, operation, kind, name = asked
    shown = tool.shown(kind, name)
    if shown is None:
        return f"No listener of this gateway names '{name}'; use one where names are whole."
    if shown == WILDCARD or name == WILDCARD:
        # As a pattern it would match everything, which no client has requested.
        return f"'{name}' reads as a pattern, for everything, in a command."
    if name.endswith(DELIMITER) and kind is ResourceType.TOPIC and operation in _RECORDS:
        # A namespace has no records: a command would allow the records of everything in it.
        return f"'{name}' is a namespace, and has no records; name a topic in it."
    if kind is not ResourceType.CLUSTER and not _is_kept(shown.removesuffix(DELIMITER)):
        return f"{name!r} begins or ends with white space, which a command does not keep."
    try:
        check_principal(principal)
    except InvalidPrincipal as error:
        return f"{error}."
    if not _is_kept(principal):
        return f"{principal!r} begins or ends with white space, which a command does not keep."
    return ""


def _is_kept(word: str) -> bool:
    """Whether the command reads a word unchanged."""
    return bool(word) and word == word.strip()


def _addition(tool: _Tool, gate: re.Match[str] | None, asked: _Asked) -> Remedy:
    principal, operation, kind, name = asked
    allow = ["--add", "--allow-principal", principal, "--operation"]
    own = tool.command(*allow, _shown(operation), *tool.resource(kind, name))
    is_namespace = kind is ResourceType.TOPIC and name.endswith(DELIMITER)
    if gate is None and is_namespace:
        note = (
            f"Allows {principal} to {operation.name} that namespace, and everything in it. If it"
            " has no ACLs of its own yet, it has a gate from then on: who has none on it is shut"
            " out."
        )
        return Remedy([own], note)
    if gate is None:
        return Remedy([own], f"Allows {principal} to {operation.name} exactly that.")
    tier = gate[1] + DELIMITER
    if name == tier and is_namespace:
        return Remedy([own], f"Allows {principal} to {operation.name} that namespace.")
    if tool.shown(ResourceType.TOPIC, tier) in (None, "", DELIMITER):
        return Remedy((), f"Namespace '{tier}' has ACLs of its own, and none lets {principal} in.")
    opens = tool.command(*allow, "Describe", *tool.resource(ResourceType.TOPIC, tier))
    note = (
        f"The first lets {principal} see what is in the namespace, which has ACLs of its own, and"
        f" what other ACLs allow {principal} there counts from then on; the second allows it to"
        f" {operation.name} exactly that."
    )
    return Remedy([opens, own], note)


def _removal(tool: _Tool, denying: re.Match[str], asked: _Asked) -> Remedy:
    """The command that removes an ACL if it denies this operation and nothing else."""
    operation, principal, host, about = denying.groups()
    pattern = pattern_of(about)
    is_one_thing = (
        pattern.pattern_type is PatternType.LITERAL
        and (pattern.type, principal) == (asked.kind, asked.principal)
        and decided_as(pattern).name == asked.name
        and Operation[operation] is asked.operation
        and not asked.name.endswith(DELIMITER)
    )
    if not is_one_thing:
        note = (
            f"An ACL denies {operation} to {principal} on {about}, which is about more than what"
            f" was requested: to remove it allows more. Narrow it, or leave it."
        )
        return Remedy((), note)
    words = ["--remove", "--deny-principal", principal, "--deny-host", host or WILDCARD]
    words += ["--operation", _shown(asked.operation), *tool.resource(pattern.type, pattern.name)]
    words += ["--resource-pattern-type", "literal"]
    note = "Removes the ACL that denies exactly that. Another ACL may have to allow it then."
    return Remedy([tool.command(*words)], note)


@dataclass(frozen=True, slots=True)
class _Tool:
    """How ``kafka-gateway acls`` is called for a cluster: if possible at a listener without a home,
    because names are whole there."""

    server: Address
    home: str
    secured: bool

    @classmethod
    def of(cls, config: Config, denial: Item) -> _Tool:
        own = [one for one in config.listeners if one.name == denial.get("listener")]
        listener = next(_of_cluster(config, denial), (own or config.listeners)[0])
        return cls(
            Address(listener.advertised_host, listener.port),
            listener.home or "",
            listener.security_protocol != "PLAINTEXT",
        )

    def command(self, *words: str) -> str:
        login = ["--command-config", "admin.properties"] if self.secured else []
        start = ["kafka-gateway", "acls", "--bootstrap-server", str(self.server)]
        return shlex.join([*start, *login, *words])

    def shown(self, kind: ResourceType, name: str) -> str | None:
        """A whole name in the listener's spelling, or None if the listener cannot name it."""
        if kind is ResourceType.CLUSTER or not self.home:
            return name
        inside = name.removeprefix(self.home + DELIMITER)
        return None if inside == name or not inside else inside

    def resource(self, kind: ResourceType, name: str) -> list[str]:
        """The flags that name a resource, which :meth:`shown` can write."""
        if kind is ResourceType.CLUSTER:
            return ["--cluster"]
        shown = self.shown(kind, name)
        assert shown is not None
        flag = _FLAGS[kind]
        if kind is ResourceType.TOPIC and shown.endswith(DELIMITER):
            flag, shown = "--namespace", shown.removesuffix(DELIMITER)
        # A name may begin with ``-``, like a flag.
        return [f"{flag}={shown}"] if shown.startswith("-") else [flag, shown]


def _of_cluster(config: Config, denial: Item) -> Iterator[Listener]:
    """Listeners whose names are of the denial's cluster, listeners without a home first."""
    mount = denial.get("mount")
    own = [one for one in config.listeners if mount is None or one.volume in (None, mount)]
    # The client's own listener is preferred: the principal can certainly log in there.
    yield from sorted(own, key=lambda one: (bool(one.home), one.name != denial.get("listener")))


def _shown(operation: Operation) -> str:
    return "".join(part.capitalize() for part in operation.name.split("_"))
