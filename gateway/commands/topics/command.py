"""``kafka-gateway topics``: kafka-topics with the flags that KIP-37 gives it."""

from __future__ import annotations

import argparse
from typing import Final

from gateway.commands.actions import Action, Command, fill_client_parser
from gateway.commands.flags import Flag
from gateway.commands.namespaces import namespace_argument
from gateway.commands.topics.create import create
from gateway.commands.topics.delete import delete
from gateway.commands.topics.describe import describe, list_names
from gateway.commands.topics.link import link, links, unlink
from gateway.commands.topics.move import adopt, move, release

_PATH: Final = {"type": namespace_argument}
_SEVERAL: Final = {"action": "extend", "nargs": "+"}
_DATES: Final = "2030-12-01, 2030-12-01T10:00:00Z"

_CREATE: Final = (
    "namespace topic partitions replication_factor config adopt_existing if_not_exists"
    " validate_only"
)
_LIST: Final = "namespace recursive exclude_internal"
_DESCRIBE: Final = "namespace topic if_exists"
_DELETE: Final = "namespace topic recursive if_exists no_wait"
_MOVE: Final = "from_namespace to_namespace topic as_name alias_until force validate_only"
_ADOPT: Final = "topic prefix to_namespace as_name alias_until force dry_run yes validate_only"
_RELEASE: Final = "namespace topic force validate_only"
_LINK: Final = "namespace topic to_namespace as_name validate_only"
_UNLINK: Final = "namespace topic if_exists validate_only"
_LINKS: Final = "namespace"
"""The flags that go with each action."""

COMMAND: Final = Command(
    "topics",
    "Manage namespaces and topics, through the gateway's wire protocol.",
    (
        "--create --namespace org:apache:kafka",
        "--create --namespace org --topic orders",
        "--create --namespace org --topic orders \\\n      --partitions 64 --validate-only",
        "--list --namespace org",
        "--describe --namespace org --topic orders",
        "--delete --namespace org --recursive",
        "--move --from-namespace org \\\n"
        "      --to-namespace team-a --topic orders --alias-until 2030-12-01",
        "--adopt --prefix team-a. \\\n      --to-namespace team-a --dry-run",
        "--release --topic team-a:orders",
        "--link --topic team-a:orders --to-namespace team-b",
        "--unlink --topic team-b:orders",
    ),
    (
        Flag("--namespace", "NS", 'such as org:apache:kafka; "" is the default one', _PATH),
        Flag("--topic", "T", "a topic in that namespace, or with its namespace: org:orders"),
        Flag(
            "--from-namespace",
            "NS",
            "move: the namespace to move from, unless --topic has it",
            _PATH,
        ),
        Flag(
            "--to-namespace",
            "NS",
            "move, adopt: the namespace that the topics go to; link: the one to share it with",
            _PATH,
        ),
        Flag("--prefix", "P", "adopt: every topic with this prefix, which its new name lacks"),
        Flag("--as", "NAME", "move, adopt, link: the topic's name there", {"dest": "as_name"}),
        Flag("--partitions", "N", "create: default is the cluster's", {"type": int}),
        Flag("--replication-factor", "N", "create: default is the cluster's", {"type": int}),
        Flag(
            "--config",
            "K=V",
            "create: key=value, for the namespace or topic; several or again",
            _SEVERAL,
        ),
        Flag("--adopt-existing", "", "create: adopt the topics that the namespace would capture"),
        Flag("--if-not-exists", "", "create: what exists is no error"),
        Flag("--if-exists", "", "describe, delete, unlink: what does not exist is no error"),
        Flag("--recursive", "", "delete: the namespaces below as well; list: their topics as well"),
        Flag("--exclude-internal", "", "list: without topics of MirrorMaker's own (KIP-1074)"),
        Flag("--no-wait", "", "delete: do not wait until a namespace is gone"),
        Flag("--alias-until", "DATE", f"move, adopt: the old name works until then ({_DATES})"),
        Flag(
            "--force",
            "",
            "move, adopt, release: after 10 s, whatever is still under way under the old name",
        ),
        Flag(
            "--validate-only",
            "",
            "create, move, adopt, release, link, unlink: change nothing; create: show the topic as"
            " it would be, and which policies apply",
        ),
        Flag("--dry-run", "", "adopt --prefix: show the plan only"),
        Flag("--yes", "", "adopt --prefix: do not ask"),
    ),
    (
        Action("create", "make a namespace with every tier above it, or a topic", create, _CREATE),
        Action("list", "topics without a namespace, or all in --namespace", list_names, _LIST),
        Action("describe", "topics and their partitions, or a namespace", describe, _DESCRIBE),
        Action("delete", "a topic, or a namespace with all topics in it", delete, _DELETE),
        Action("move", "a topic, or all of a namespace, to another namespace", move, _MOVE),
        Action("adopt", "existing topics into a namespace, without copying", adopt, _ADOPT),
        Action("release", "a topic from its namespace, back to its plain name", release, _RELEASE),
        Action("link", "a topic under a second name in another namespace", link, _LINK),
        Action("unlink", "remove a link, --topic; the topic it leads to stays", unlink, _UNLINK),
        Action("links", "every link in --namespace and below, dangling ones too", links, _LINKS),
    ),
)


def fill(parser: argparse.ArgumentParser) -> None:
    """Fill the parser of the subcommand."""
    fill_client_parser(parser, COMMAND)
