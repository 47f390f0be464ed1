"""``kafka-gateway serve``: run the gateway."""

from __future__ import annotations

import argparse
import logging
import sys

from gateway import exit_codes
from gateway.checks.check import find_problems
from gateway.commands.errors import CommandError, with_address
from gateway.commands.flags import examples, take_config
from gateway.commands.volumes import of_cluster
from gateway.config.errors import ConfigError
from gateway.config_file.loading import ConfigFile, load_file
from gateway.processes.logs import JSON, set_up_logging
from gateway.processes.start_texts import ready_text, start_text
from gateway.processes.supervisor import StartError, run_supervisor

log = logging.getLogger(__name__)


def fill(parser: argparse.ArgumentParser) -> None:
    """Fill the parser of the subcommand; its options' ``run`` returns the exit status."""
    parser.description = "Run the gateway until SIGTERM or SIGINT."
    parser.epilog = examples(
        "serve --config gateway.yaml",
        "serve --config gateway.yaml --log-level debug",
        "serve --config gateway.yaml --dry-run",
    )
    take_config(parser)
    parser.add_argument(
        "--log-level",
        choices=["debug", "info", "warning", "error"],
        default="info",
        help="the least level that is logged to standard error (default: info)",
    )
    parser.add_argument(
        "--dry-run",
        action="store_true",
        help="do what comes before the start, as `check` does, and end: no broker is needed, and"
        " nothing is served",
    )
    parser.add_argument(
        "--new-catalog",
        metavar="CLUSTER",
        action="append",
        default=[],
        help="begin an empty catalog on this cluster of the file, although it had one that is gone",
    )
    parser.set_defaults(run=_serve)


def _serve(options: argparse.Namespace) -> int:
    try:
        file = load_file(options.config)
    except ConfigError as error:
        if not options.dry_run:
            _set_up_logging(options, error.log_format)
        raise
    if options.dry_run:
        return _dry_run(file)
    config = file.config
    _set_up_logging(options, config.log.format)
    try:
        for name in options.new_catalog:
            of_cluster(config, name)
        return run_supervisor(config, options.config, options.new_catalog)
    except (CommandError, StartError) as error:
        text = with_address(str(error), options)
        if config.log.format == JSON:
            _log_failure(text)
            return exit_codes.CONFIG
        for line in text.splitlines():
            print(f"kafka-gateway: {line}", file=sys.stderr)
        return exit_codes.CONFIG


def _set_up_logging(options: argparse.Namespace, form: str) -> None:
    """Log as the configuration says. If the format is JSON, which programs read, the error that
    ``serve`` ends with is an object, too: ``cli.main`` prints it by ``options.say``."""
    level = logging.getLevelNamesMapping()[options.log_level.upper()]
    set_up_logging(level=level, form=form)
    if form == JSON:
        options.say = _log_failure


def _log_failure(text: str) -> None:
    for line in text.splitlines():
        log.error("%s", line.removeprefix("kafka-gateway: "))


def _dry_run(file: ConfigFile) -> int:
    problems = find_problems(file.config)
    if problems:
        raise file.error(problems)
    print(start_text(file.config))
    print(f"would be ready: {ready_text(file.config)}")
    return exit_codes.OK
