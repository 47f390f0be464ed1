"""``kafka-gateway explain``: what a name is to a client, and why. An operator's tool."""

from __future__ import annotations

import argparse
from pathlib import Path

from gateway.commands import operator
from gateway.commands.explained import Explained, explain_name
from gateway.commands.failure import CommandError, UsageError
from gateway.commands.progress import Progress
from gateway.commands.running import run
from gateway.commands.told import print_json, table
from gateway.config import Config, Listener, load_config
from gateway.view import View, ViewSettings

ANONYMOUS = "User:ANONYMOUS"
"""Kafka's own name for a client of a PLAINTEXT listener."""

_EXAMPLES = """\
examples:
  kafka-gateway explain --config gateway.yaml --name org:orders
  kafka-gateway explain --config gateway.yaml --principal User:alice --listener home --name orders
  kafka-gateway explain --config gateway.yaml --name org:apache: --json

exit status:
   0  explained, whether or not there is such a topic or namespace
   1  no such listener, or no catalog yet
   2  the command line cannot be understood
  69  the cluster, or its catalog, does not answer
  78  the configuration is refused
"""


def add_parser(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """The subcommand; its options' ``run`` returns the exit status."""
    parser = commands.add_parser(
        "explain",
        help="what a name is: namespace, stored name, topic, configs and where they come from",
        description="What a client's name stands for, read of the catalog and the cluster.",
        epilog=_EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    add = parser.add_argument
    add("--config", type=Path, required=True, metavar="FILE", help="YAML file")
    add("--name", required=True, metavar="N", help="a topic, or a namespace such as org:apache:")
    add("--principal", default=ANONYMOUS, metavar="P", help=f"who asks (default: {ANONYMOUS})")
    add("--listener", metavar="L", help="whose view it is (default: the first one)")
    add("--json", action="store_true", help="print JSON")
    parser.set_defaults(run=_run)


def _run(options: argparse.Namespace) -> int:
    config = load_config(options.config)
    return run(lambda: _explain(config, options))


async def _explain(config: Config, options: argparse.Namespace) -> int:
    listener = _listener(config, options.listener)
    if not options.name:
        raise UsageError("--name is empty; give it like org:orders")
    async with Progress("explaining"), operator.backend(config, read_only=True) as found:
        view = View(_settings(listener), found.catalog.snapshot)
        explained = await explain_name(options.name, view, found.cluster, found.admin)
    if options.json:
        asked = {"name": options.name, "principal": options.principal, "listener": listener.name}
        print_json({**asked, "cluster": config.clusters[0].name, **explained.as_json()})
    else:
        _print(explained, config, listener, options)
    return 0


def _print(
    explained: Explained, config: Config, listener: Listener, options: argparse.Namespace
) -> None:
    rows = [
        ("name", options.name),
        ("principal", options.principal),
        ("listener", listener.name),
        ("cluster", config.clusters[0].name),
        *explained.rows(),
    ]
    print(table(rows))
    if explained.configs:
        print()
        head = ("config", "value", "source")
        print(table([head, *((one.key, one.value, one.source) for one in explained.configs)]))


def _listener(config: Config, name: str | None) -> Listener:
    if name is None:
        return config.listeners[0]
    for listener in config.listeners:
        if listener.name == name:
            return listener
    there = ", ".join(listener.name for listener in config.listeners)
    raise CommandError(f"there is no listener '{name}'; the listeners are {there}")


def _settings(listener: Listener) -> ViewSettings:
    """What of a listener decides what a name stands for."""
    return ViewSettings(listener.name, listener.spelling, listener.home or "", listener.escape)
