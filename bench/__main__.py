"""``python -m bench``: measure, print the tables, write the JSON."""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Sequence

from bench.acls import measure_acls
from bench.archives import ArchiveError
from bench.bars import AFTER_BULK, RSS_GIB
from bench.catalog import measure_catalog
from bench.catalog_rows import CatalogRow, catalog_json, catalog_table
from bench.client import AnswerError
from bench.codec import CodecRow, measure
from bench.generators import GeneratorError, compile_generator
from bench.machine import provenance
from bench.report import append_record, as_json, codec_table, wire_table, write_latest
from bench.results import Row, Samples, rows
from bench.starts import measure_starts
from bench.targets.target import TargetError
from bench.tls import run_tls
from bench.usage import CommandFailed
from bench.wire import TARGETS, Outcome, Plan, run
from devkit.broker import BrokerError
from devkit.gateway_process import GatewayError
from devkit.java import JavaError
from devkit.maven import MavenError
from devkit.waiting import DeadlineError

FAILURES = (
    AnswerError,
    ArchiveError,
    BrokerError,
    CommandFailed,
    DeadlineError,
    GatewayError,
    GeneratorError,
    JavaError,
    MavenError,
    TargetError,
)
"""What ends a measurement; the text of each says why."""

_PARTS = ("all", "codec", "acls", "catalog", "starts", "wire", "tls")
_VOLUME = (AFTER_BULK, "gib")
_QUIET_LOAD = 0.7


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the bench; returns the exit status: 1 if it could not measure, 2 if a bar is missed
    and ``--gate`` is given."""
    options = _options(arguments)
    try:
        return _bench(options)
    except FAILURES as error:
        print(f"bench: {error}", file=sys.stderr)
        return 1


def _bench(options: argparse.Namespace) -> int:
    where = provenance()
    started = time.monotonic()

    def say(what: str) -> None:
        print(f"{time.monotonic() - started:6.0f} s  {what}", file=sys.stderr, flush=True)

    if where.load > _QUIET_LOAD:
        say(f"load average {where.load:.1f}: something else runs here, the figures are worth less")
    codec: list[CodecRow] = []
    outcome = Outcome(Samples(), {}, {})
    if options.part in ("all", "codec"):
        say("codec")
        codec = list(measure())
    catalog: list[CatalogRow] = []
    if options.part in ("all", "acls"):
        catalog += measure_acls(say)
    if options.part in ("all", "catalog"):
        catalog += measure_catalog(say)
    if options.part in ("all", "starts"):
        catalog += measure_starts(say)
    for part, measure_part in (("wire", run), ("tls", run_tls)):
        if options.part in ("all", part):
            for program in ("replay", "paced", "idle"):
                compile_generator(program)
            outcome = outcome.with_those_of(measure_part(_plan(options), say))
    found = rows(outcome.samples)
    text = _text(codec, catalog, found, outcome)
    print(f"\n{where.line}\n\n{text}", end="")
    latest = write_latest(
        as_json(where, codec, outcome.samples, found, outcome.versions, catalog_json(catalog))
    )
    print(f"\n{latest}", file=sys.stderr)
    if options.record:
        print(append_record(where, text), file=sys.stderr)
    verdicts = [row.passed for row in found] + [row.passed for row in catalog]
    missed = False in verdicts
    return 2 if options.gate and missed else 0


def _plan(options: argparse.Namespace) -> Plan:
    return Plan(
        rounds=options.rounds,
        bulk_gib=options.bulk_gib,
        rss_gib=RSS_GIB if options.full else options.rss_gib,
        targets=options.targets,
        share=options.share,
    )


def _text(
    codec: Sequence[CodecRow],
    catalog: Sequence[CatalogRow],
    found: Sequence[Row],
    outcome: Outcome,
) -> str:
    parts = []
    if codec:
        parts.append(codec_table(codec))
    if catalog:
        parts.append(catalog_table(catalog))
    if found:
        parts.append(wire_table(found, outcome.titles))
        spoken = [
            f"{outcome.titles[name]} Produce v{produce}, Fetch v{fetch}"
            for name, (produce, fetch) in outcome.versions.items()
        ]
        parts.append(f"Versions: {'; '.join(spoken)}.\n")
        volumes = [row.value.median for row in found if (row.load, row.metric) == _VOLUME]
        if volumes:
            parts.append(
                f"Resident sets were read after {min(volumes):.1f} GiB of bulk traffic through "
                f"each proxy; the bar is for {RSS_GIB:g}.\n"
            )
    return "\n".join(parts)


def _options(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m bench", description=__doc__)
    parser.add_argument("part", nargs="?", choices=_PARTS, default="all")
    parser.add_argument("--rounds", type=int, default=5, metavar="N")
    parser.add_argument(
        "--bulk-gib", type=float, default=0.5, metavar="GIB", help="a bulk load and round (0.5)"
    )
    parser.add_argument(
        "--rss-gib",
        type=float,
        default=0.0,
        metavar="GIB",
        help="bulk traffic before the resident set is read (what the rounds moved)",
    )
    parser.add_argument(
        "--full", action="store_true", help=f"--rss-gib {RSS_GIB:g}, as the bar has it"
    )
    parser.add_argument(
        "--targets",
        nargs="+",
        choices=TARGETS,
        default=tuple(TARGETS),
        metavar="TARGET",
        help=", ".join(TARGETS),
    )
    parser.add_argument(
        "--share", type=float, default=1.0, help="of every load: 0.05 to see the bench work"
    )
    parser.add_argument("--record", action="store_true", help="append to bench/RESULTS.md")
    parser.add_argument("--gate", action="store_true", help="exit status 2 if a bar is missed")
    return parser.parse_args(arguments)


if __name__ == "__main__":
    sys.exit(main())
