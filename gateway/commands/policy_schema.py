"""``kafka-gateway policies schema``: the JSON Schema of ``policies:``. Connects to nothing."""

from __future__ import annotations

import argparse

from gateway import exit_codes
from gateway.commands.flags import examples
from gateway.policies.schema import schema_text


def fill(parser: argparse.ArgumentParser) -> None:
    """Fill the parser of the subcommand; its options' ``run`` returns the exit status."""
    parser.description = "Help with writing policies; connects to nothing."
    parser.epilog = examples("policies schema > policies.schema.json")
    schema = parser.add_subparsers(dest="action", required=True, metavar="ACTION").add_parser(
        "schema",
        help="print the JSON Schema of `policies:`",
        description="Print the JSON Schema of a configuration's key `policies`.",
        epilog=examples("policies schema > policies.schema.json"),
    )
    schema.set_defaults(run=_print_schema)


def _print_schema(_: argparse.Namespace) -> int:
    print(schema_text(), end="")
    return exit_codes.OK
