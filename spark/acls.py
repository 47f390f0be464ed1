"""The ACLs that a catalog has, as its export says, and the commands that remove them."""

from __future__ import annotations

import json
import shlex
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, NamedTuple

from spark.sources import SourceError

DELIMITER: Final = ":"
EVERYTHING: Final = "*"
ANY_USER: Final = "User:*"

_FLAGS: Final = {
    "TOPIC": "--topic",
    "GROUP": "--group",
    "TRANSACTIONAL_ID": "--transactional-id",
    "DELEGATION_TOKEN": "--delegation-token",
    "USER": "--user-principal",
}


class CatalogError(SourceError):
    """An export of the catalog that cannot be read; the text says why, in one line."""


class Acl(NamedTuple):
    """One ACL of the catalog, in logical names and Kafka's words (``TOPIC``, ``LITERAL``)."""

    type: str
    pattern: str
    name: str
    permission: str
    operation: str
    principal: str
    host: str = EVERYTHING

    @property
    def text(self) -> str:
        """As the gateway writes it, where it says which ACL decided."""
        host = "" if self.host == EVERYTHING else f" from {self.host}"
        entry = f"{self.permission} {self.operation} for {self.principal}{host}"
        return f"{entry} on {self.type}:{self.pattern}:{self.name}"

    @property
    def about(self) -> tuple[str, str, str]:
        """What it is about: the ACLs of one pattern have this in common."""
        return self.type, self.pattern, self.name

    @property
    def is_namespaces_own(self) -> bool:
        """Whether it is one of the ACLs that make a namespace a gate."""
        literal = self.type == "TOPIC" and self.pattern == "LITERAL"
        return literal and self.name.endswith(DELIMITER)

    @property
    def reaches(self) -> tuple[str, bool]:
        """Where what it allows can be: a namespace, and whether also in those below it. ``*`` is
        everywhere."""
        if self.name == EVERYTHING and self.pattern == "LITERAL":
            return EVERYTHING, True
        return self.name.rpartition(DELIMITER)[0], self.name.endswith(DELIMITER)

    @property
    def opens(self) -> str | None:
        """The namespace whose gate it may be what lets its principal past, and those below it;
        ``*`` for all namespaces, None for an ACL that has to do with no gate."""
        if self.type != "TOPIC":
            return None
        if self.name.endswith(DELIMITER):
            return self.name.removesuffix(DELIMITER)
        return EVERYTHING if self.pattern == "LITERAL" and self.name == EVERYTHING else None


@dataclass(frozen=True, slots=True)
class Tool:
    """What the commands are for: an address of the gateway, and a file for --command-config.

    ``everyone`` says that the gateway has ``allow.everyone.if.no.acl.found``.
    """

    bootstrap_server: str = "localhost:9192"
    command_config: str | None = None
    everyone: bool = False


def read_acls(path: Path) -> list[Acl]:
    """The ACLs of an export of the catalog, YAML as the gateway writes it, or the same as JSON.

    Raises CatalogError.
    """
    try:
        text = path.read_text(encoding="utf-8")
        content = json.loads(text) if path.suffix == ".json" else _yaml(text)
        if not isinstance(content, dict) or "format" not in content:
            raise CatalogError(f"{path} is no export of a catalog (kafka-gateway catalog export)")
        return [acl for pattern in content.get("acls", ()) for acl in _acls(pattern)]
    except (OSError, ValueError) as error:
        raise CatalogError(f"{path} cannot be read: {error}") from None
    except (KeyError, TypeError) as error:
        raise CatalogError(f"{path} has an ACL that lacks something: {error}") from None


def removal(acl: Acl, tool: Tool) -> str:
    """The kafka-acls command that removes exactly this ACL, quoted for a POSIX shell."""
    words = ["kafka-acls", "--bootstrap-server", tool.bootstrap_server]
    if tool.command_config:
        words += ["--command-config", tool.command_config]
    side = "allow" if acl.permission == "ALLOW" else "deny"
    operation = "".join(part.capitalize() for part in acl.operation.split("_"))
    words += ["--remove", "--force", f"--{side}-principal", acl.principal]
    # Without a host the tool means every host, and removes nothing else.
    words += [f"--{side}-host", acl.host, "--operation", operation]
    words += ["--cluster"] if acl.type == "CLUSTER" else [_FLAGS[acl.type], acl.name]
    words += ["--resource-pattern-type", acl.pattern.lower()]
    return shlex.join(words)


def _acls(pattern: Any) -> Iterator[Acl]:
    for entry in pattern["entries"]:
        yield Acl(
            pattern["type"],
            pattern["pattern"],
            pattern["name"],
            entry["permission"],
            entry["operation"],
            entry["principal"],
            entry.get("host", EVERYTHING),
        )


def _yaml(text: str) -> Any:
    # Spark's own packages are all that a cluster has: the one job that reads YAML says so itself.
    try:
        import yaml
    except ImportError:
        raise CatalogError(
            "PyYAML is not installed here: install it, or give the export as JSON (NAME.json)"
        ) from None
    try:
        return yaml.safe_load(text)
    except yaml.YAMLError as error:
        raise ValueError(" ".join(str(error).split())) from None
