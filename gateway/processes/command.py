"""``kafka-gateway serve``: run the gateway."""

from __future__ import annotations

import argparse
import logging
import sys
from pathlib import Path

from gateway import exit_codes
from gateway.commands.flags import examples
from gateway.config_file.loading import load_config
from gateway.processes.logs import set_up_logging
from gateway.processes.supervisor import StartError, run_supervisor


def fill(parser: argparse.ArgumentParser) -> None:
    """Fill the parser of the subcommand; its options' ``run`` returns the exit status."""
    parser.description = "Run the gateway until SIGTERM or SIGINT."
    parser.epilog = examples(
        "serve --config gateway.yaml", "serve --config gateway.yaml --log-level debug"
    )
    parser.add_argument("--config", type=Path, required=True, metavar="FILE", help="YAML file")
    parser.add_argument(
        "--log-level",
        choices=["debug", "info", "warning", "error"],
        default="info",
        help="the least level that is logged to standard error (default: info)",
    )
    parser.set_defaults(run=_serve)


def _serve(options: argparse.Namespace) -> int:
    config = load_config(options.config)
    set_up_logging(level=logging.getLevelNamesMapping()[options.log_level.upper()])
    try:
        return run_supervisor(config, options.config)
    except StartError as error:
        for line in str(error).splitlines():
            print(f"kafka-gateway: {line}", file=sys.stderr)
        return exit_codes.CONFIG
