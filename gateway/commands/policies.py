"""``kafka-gateway policies``: what helps to write the ``policies:`` of a configuration."""

from __future__ import annotations

import argparse

from gateway import exit_codes
from gateway.policies.schema import schema_text

_EXAMPLES = """\
examples:
  kafka-gateway policies schema > policies.schema.json

exit status:
   0  done
   2  the command line cannot be understood
"""


def add_parser(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """The subcommand; its options' ``run`` returns the exit status."""
    parser = commands.add_parser(
        "policies",
        help="the JSON Schema of the policies in a configuration",
        description="What helps to write policies; nothing is connected to.",
        epilog=_EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    inner = parser.add_subparsers(dest="action", required=True, metavar="ACTION")
    schema = inner.add_parser(
        "schema",
        help="print the JSON Schema of `policies:`",
        description="Print the JSON Schema of a configuration's key `policies`.",
        epilog=_EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    schema.set_defaults(run=_schema)


def _schema(_: argparse.Namespace) -> int:
    print(schema_text(), end="")
    return exit_codes.OK
