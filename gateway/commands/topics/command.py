"""``kafka-gateway topics``: kafka-topics with the flags that KIP-37 gives it."""

from __future__ import annotations

import argparse
from functools import partial
from typing import Final

from gateway.commands.running import Actions, add_client_arguments, run_action
from gateway.commands.topics.adopt import adopt, release
from gateway.commands.topics.create import create
from gateway.commands.topics.delete import delete
from gateway.commands.topics.describe import describe, list_names
from gateway.commands.topics.move import move

_EXAMPLES = """\
examples:
  kafka-gateway topics --bootstrap-server localhost:9192 --create --namespace org:apache:kafka
  kafka-gateway topics --bootstrap-server localhost:9192 --create --namespace org --topic orders
  kafka-gateway topics --bootstrap-server localhost:9192 --create --namespace org --topic orders \\
      --partitions 64 --validate-only
  kafka-gateway topics --bootstrap-server localhost:9192 --list --namespace org
  kafka-gateway topics --bootstrap-server localhost:9192 --describe --namespace org --topic orders
  kafka-gateway topics --bootstrap-server localhost:9192 --delete --namespace org --recursive
  kafka-gateway topics --bootstrap-server localhost:9192 --move --from-namespace org \\
      --to-namespace team-a --topic orders --alias-until 2030-12-01
  kafka-gateway topics --bootstrap-server localhost:9192 --adopt --prefix team-a. \\
      --to-namespace team-a --dry-run
  kafka-gateway topics --bootstrap-server localhost:9192 --release --topic team-a:orders

exit status:
   0  done
   1  refused, or some of it failed; standard error says what, and what to do next
   2  the command line cannot be understood
  69  no gateway answers at that address, or not in time
"""

_ACTIONS: Final[Actions] = {
    "create": (
        create,
        "namespace topic partitions replication_factor config adopt_existing if_not_exists"
        " validate_only",
    ),
    "list": (list_names, "namespace recursive"),
    "describe": (describe, "namespace topic if_exists"),
    "delete": (delete, "namespace topic recursive if_exists no_wait"),
    "move": (move, "from_namespace to_namespace topic as_name alias_until validate_only"),
    "adopt": (
        adopt,
        "topic prefix to_namespace as_name alias_until dry_run yes validate_only",
    ),
    "release": (release, "namespace topic validate_only"),
}
"""What each action is done by, and the flags that go with it."""


def add_parser(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """The subcommand; its options' ``run`` returns the exit status."""
    parser = commands.add_parser(
        "topics",
        help="create, list, describe, delete, move and adopt namespaces and topics (KIP-37)",
        description="Namespaces and topics, through the gateway's wire protocol.",
        epilog=_EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    add_client_arguments(parser)
    _add_actions(parser)
    _add_what(parser)
    _add_how(parser)
    parser.set_defaults(run=partial(run_action, _ACTIONS))


def _add_actions(parser: argparse.ArgumentParser) -> None:
    group = parser.add_mutually_exclusive_group(required=True)
    about = {
        "create": "make a namespace with every tier above it, or a topic",
        "list": "the default namespace's topics; or what is under and in --namespace",
        "describe": "topics and their partitions, or a namespace",
        "delete": "a topic, or a namespace with all topics in it",
        "move": "a topic, or all of a namespace, to another namespace",
        "adopt": "existing topics into a namespace, without copying",
        "release": "a topic from its namespace, back to its plain name",
    }
    for action, text in about.items():
        group.add_argument(
            f"--{action}", dest="action", action="store_const", const=action, help=text
        )


def _add_what(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    add(
        "--namespace",
        metavar="NS",
        help='such as org:apache:kafka; "" is the default one (list: with all namespaces)',
    )
    add("--topic", metavar="T", help="a topic in that namespace, or with it: org:orders")
    add("--from-namespace", metavar="NS", help="move: where they are, unless --topic says it")
    add("--to-namespace", metavar="NS", help="move, adopt: where the topics go")
    add("--prefix", metavar="P", help="adopt: every topic that begins so; the rest is its name")
    add("--as", dest="as_name", metavar="NAME", help="move, adopt: the topic's name there")


def _add_how(parser: argparse.ArgumentParser) -> None:
    add, flag = parser.add_argument, "store_true"
    add("--partitions", type=int, metavar="N", help="create: default is the cluster's")
    add("--replication-factor", type=int, metavar="N", help="create: default is the cluster's")
    add(
        "--config",
        action="extend",
        nargs="+",
        metavar="K=V",
        help="create: a config of the namespace or topic; may be given again",
    )
    add("--adopt-existing", action=flag, help="create: topics that the namespace would capture")
    add("--if-not-exists", action=flag, help="create: what exists is no error")
    add("--if-exists", action=flag, help="describe, delete: what does not exist is no error")
    add(
        "--recursive",
        action=flag,
        help="delete: the namespaces below as well; list: their topics as well",
    )
    add("--no-wait", action=flag, help="delete: do not wait until a namespace is gone")
    add(
        "--alias-until",
        metavar="DATE",
        help="move, adopt: the old name works until then (2030-12-01, 2030-12-01T10:00:00Z)",
    )
    add(
        "--validate-only",
        action=flag,
        help="create, move, adopt, release: change nothing; create: show what it would be, and"
        " which policies apply",
    )
    add("--dry-run", action=flag, help="adopt --prefix: show the plan only")
    add("--yes", action=flag, help="adopt --prefix: do not ask")
