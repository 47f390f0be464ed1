"""The commands that would allow what was denied, for an operator to copy and decide on.

A command is the narrowest that allows what was requested: of the principal, the operation and
the resource. Where no ACL denied there is none, and the denial's own sentence tells what to do.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from gateway.acl_model import WILDCARD, Operation, ResourceType, pattern_of
from gateway.config.addresses import Address
from gateway.config.models import Config, Listener
from gateway.names import DELIMITER
from gateway.page.observed import Item

_FLAGS: Final = {
    ResourceType.TOPIC: "--topic",
    ResourceType.GROUP: "--group",
    ResourceType.TRANSACTIONAL_ID: "--transactional-id",
}
_GATE: Final = re.compile(r"no ACL allows \S+(?: or \S+)? on namespace '(.+):', which has ACLs")
_DENY: Final = re.compile(r"DENY (\S+) for (.+?)(?: from (\S+))? on (\w+:\w+:.+)", re.DOTALL)


@dataclass(frozen=True, slots=True)
class Remedy:
    """Commands to run one after the other, and what they do, in a sentence."""

    commands: Sequence[str] = ()
    note: str = ""


_NONE: Final = Remedy()


def remedy(denial: Item, config: Config) -> Remedy:
    """What would allow a denied item; without commands where no ACL was involved."""
    if "source" in denial:
        note = f"Set by {denial['source']} in the configuration, which is read again on SIGHUP."
        return Remedy((), note)
    if denial["rule"] != "acl" or not denial.get("operation"):
        return _NONE
    kind_name, _, name = str(denial["named"]).partition(" ")
    try:
        kind, operation = ResourceType[kind_name], Operation[str(denial["operation"])]
    except KeyError:
        return _NONE
    if kind is not ResourceType.CLUSTER and kind not in _FLAGS:
        return _NONE
    tool = _Tool.of(config, denial)
    principal, because = str(denial["principal"]), str(denial["because"])
    denying = _DENY.fullmatch(because)
    if denying is not None:
        return _removal(tool, denying)
    allow = ["--add", "--allow-principal", principal, "--operation"]
    own = tool.command(*allow, _shown(operation), *_resource(kind, name, tool.home))
    gate = _GATE.fullmatch(because)
    if gate is None:
        return Remedy([own], f"Allows {principal} to {operation.name} exactly that.")
    tier = gate[1] + DELIMITER
    if name == tier and kind is ResourceType.TOPIC:
        return Remedy([own], f"Allows {principal} to {operation.name} that namespace.")
    opens = tool.command(*allow, "Describe", *_resource(ResourceType.TOPIC, tier, tool.home))
    note = (
        f"The first lets {principal} see what is in the namespace, which has ACLs of its own; the"
        f" second allows it to {operation.name} exactly that."
    )
    return Remedy([opens, own], note)


def _removal(tool: _Tool, denying: re.Match[str]) -> Remedy:
    operation, principal, host, about = denying.groups()
    pattern = pattern_of(about)
    words = ["--remove", "--deny-principal", principal, "--deny-host", host or WILDCARD]
    words += ["--operation", _shown(Operation[operation])]
    words += _resource(pattern.type, pattern.name, tool.home)
    words += ["--resource-pattern-type", pattern.pattern_type.name.lower()]
    note = (
        f"Removes the ACL that denies it, for all that it is about: {principal}. Another ACL may"
        " have to allow it then."
    )
    return Remedy([tool.command(*words)], note)


@dataclass(frozen=True, slots=True)
class _Tool:
    """How ``kafka-gateway acls`` is called for one cluster: at a listener without a home, where
    there is one, as names are whole there."""

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


def _of_cluster(config: Config, denial: Item) -> Iterator[Listener]:
    """Listeners whose relative names are the denial's, those without a home first."""
    mount = denial.get("mount")
    own = [one for one in config.listeners if mount is None or one.volume in (None, mount)]
    # The client's own one first: it surely is where the principal is known.
    yield from sorted(own, key=lambda one: (bool(one.home), one.name != denial.get("listener")))


def _resource(kind: ResourceType, name: str, home: str) -> list[str]:
    """The flags that name a resource, at a listener with this home."""
    if kind is ResourceType.CLUSTER:
        return ["--cluster"]
    if home and name.startswith(home + DELIMITER):
        name = name.removeprefix(home + DELIMITER)
    if kind is ResourceType.TOPIC and name.endswith(DELIMITER):
        return ["--namespace", name.removesuffix(DELIMITER)]
    return [_FLAGS[kind], name]


def _shown(operation: Operation) -> str:
    return "".join(part.capitalize() for part in operation.name.split("_"))
