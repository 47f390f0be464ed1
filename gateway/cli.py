"""The command ``kafka-gateway``."""

from __future__ import annotations

import argparse
import logging
import sys
from collections.abc import Sequence
from pathlib import Path

from gateway import exit_codes, version
from gateway.check import as_json, find_problems, plan, table
from gateway.config import Config, ConfigError, load_config, with_lines
from gateway.logs import set_up_logging
from gateway.supervisor import StartError, run_supervisor

_EXAMPLES = """\
examples:
  kafka-gateway check config/quickstart.yaml
  kafka-gateway check config/quickstart.yaml --json
  kafka-gateway serve --config config/quickstart.yaml

exit status:
   0  all is well; serve: stopped by SIGTERM or SIGINT, every worker ended by itself
   1  check: it would not work on this machine; serve: a worker did not end cleanly
   2  the command line cannot be understood
  78  the configuration is refused, or an address in it cannot be bound
"""


def main(arguments: Sequence[str] | None = None) -> int:
    """The command; returns its exit status. What is wrong goes to standard error, a line each."""
    options = _parser().parse_args(arguments)
    try:
        config = load_config(options.config)
    except ConfigError as error:
        print(error, file=sys.stderr)
        return exit_codes.CONFIG
    if options.command == "check":
        return _check(config, options.config, json=options.json)
    return _serve(config, options.log_level)


def _check(config: Config, path: Path, *, json: bool) -> int:
    problems = find_problems(config)
    told = str(with_lines(path, problems)).splitlines()
    if json:
        print(as_json(problems, told, plan(config)), end="")
    elif not problems:
        print(table(plan(config)), end="")
    for line in told:
        print(line, file=sys.stderr)
    return exit_codes.FAILED if problems else exit_codes.OK


def _serve(config: Config, log_level: str) -> int:
    set_up_logging(level=logging.getLevelNamesMapping()[log_level.upper()])
    try:
        return run_supervisor(config)
    except StartError as error:
        for line in str(error).splitlines():
            print(f"kafka-gateway: {line}", file=sys.stderr)
        return exit_codes.CONFIG


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="kafka-gateway",
        description="A Kafka proxy that gives clients namespaces on an ordinary, flat cluster.",
        epilog=_EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--version", action="version", version=f"%(prog)s {version()}")
    commands = parser.add_subparsers(dest="command", required=True, metavar="COMMAND")
    serve = commands.add_parser("serve", help="run the gateway until SIGTERM")
    serve.add_argument("--config", type=Path, required=True, metavar="FILE", help="YAML file")
    serve.add_argument(
        "--log-level",
        choices=["debug", "info", "warning", "error"],
        default="info",
        help="what is logged to standard error (default: info)",
    )
    check = commands.add_parser(
        "check", help="resolve every name of a configuration and bind every port, then say so"
    )
    check.add_argument("config", type=Path, metavar="FILE", help="YAML file")
    check.add_argument("--json", action="store_true", help="print JSON")
    return parser
