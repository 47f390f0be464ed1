"""``make bench-growth``: whether cost grows worse than linear; makes docs/growth.md.

    python -m bench.growth [--short] [--record] [--gate] [--sweeps NAME ...] [--seconds S] ...

Each sweep measures the gateway with more and more of one thing, and says of each figure whether it
grows linearly. All of them take some twenty minutes, with ``--short`` three.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from bench.__main__ import FAILURES
from bench.growth import catalog, connections, fetch, topics, workers
from bench.growth.curves import Sweep
from bench.growth.page import LATEST, PageError, as_json, record, section, worse
from bench.growth.plan import Plan, Say
from bench.machine import provenance
from gateway.catalog.source import CatalogUnavailable

SECONDS: Final = 5.0
SHORT_SECONDS: Final = 1.0
LIMIT: Final = 300.0
SHORT_LIMIT: Final = 30.0


@dataclass(frozen=True, slots=True)
class Ladder:
    """A sweep: how it measures, its sizes, and those of a short one."""

    measure: Callable[[Plan, Say], Sweep]
    sizes: Sequence[int]
    short: Sequence[int]


SWEEPS: Final[Mapping[str, Ladder]] = {
    "connections": Ladder(
        connections.measure, (100, 1_000, 2_500, 5_000, 10_000, 20_000), (100, 1_000)
    ),
    "topics": Ladder(
        topics.measure, (1_000, 5_000, 20_000, 50_000, 100_000, 200_000), (1_000, 5_000)
    ),
    "namespaces": Ladder(
        catalog.measure_namespaces, (1_000, 10_000, 100_000, 300_000, 1_000_000), (1_000, 10_000)
    ),
    "acls": Ladder(
        catalog.measure_acls, (10_000, 30_000, 100_000, 300_000, 1_000_000), (10_000, 30_000)
    ),
    "partitions": Ladder(
        fetch.measure, (1, 10, 100, 500, 1_000, 2_000, 5_000), (1, 10, 100, 1_000, 5_000)
    ),
    "workers": Ladder(workers.measure, (1, 2), (1, 2)),
}
"""The sweeps by name, in the order of the page."""


def main(arguments: Sequence[str] | None = None) -> int:
    """The command; returns the exit status: 1 if it could not measure, 2 if something grows worse
    than linear and ``--gate`` is given."""
    options = _options(arguments)
    started = time.monotonic()

    def say(what: str) -> None:
        print(f"{time.monotonic() - started:6.0f} s  {what}", file=sys.stderr, flush=True)

    done: list[Sweep] = []
    try:
        for name in options.sweeps:
            done.append(_sweep(name, options, say))
    except (*FAILURES, CatalogUnavailable, PageError) as error:
        print(f"bench-growth: {error}", file=sys.stderr)
        return 1
    finally:
        LATEST.parent.mkdir(exist_ok=True)
        LATEST.write_text(json.dumps([as_json(sweep) for sweep in done], indent=1))
    print(worse(done))
    return 2 if options.gate and any(c.worse for sweep in done for c in sweep.curves) else 0


def _sweep(name: str, options: argparse.Namespace, say: Say) -> Sweep:
    """Measure, print, and record if that is asked for: what comes later may fail."""
    where = provenance()
    ladder = SWEEPS[name]
    sizes = sorted(options.sizes or (ladder.short if options.short else ladder.sizes))
    seconds = options.seconds or (SHORT_SECONDS if options.short else SECONDS)
    limit = options.limit or (SHORT_LIMIT if options.short else LIMIT)
    say(f"sweep: {name}")
    began = time.monotonic()
    sweep = ladder.measure(Plan(sizes, seconds, limit, compiled=not options.pure), say)
    form = "One short round" if options.short else "One round"
    heading = (
        f"{where.line}. {form}: {seconds:g} s for each load, {time.monotonic() - began:.0f} s in"
        " all."
    )
    print(section(sweep, heading))
    if options.record:
        record(sweep, heading)
    return sweep


def _options(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="python -m bench.growth", description=__doc__, allow_abbrev=False
    )
    parser.add_argument("--record", action="store_true", help="write docs/growth.md's figures")
    parser.add_argument("--short", action="store_true", help="few sizes, three minutes in all")
    parser.add_argument("--gate", action="store_true", help="exit status 2 if one is worse")
    parser.add_argument("--pure", action="store_true", help="serve loads with the pure form")
    parser.add_argument(
        "--sweeps", nargs="+", choices=SWEEPS, default=[*SWEEPS], metavar="NAME", help="some only"
    )
    parser.add_argument("--sizes", nargs="+", type=int, metavar="N", help="instead of the sweep's")
    parser.add_argument("--seconds", type=float, metavar="S", help=f"for each load ({SECONDS:g})")
    parser.add_argument("--limit", type=float, metavar="S", help=f"for each size ({LIMIT:g})")
    options = parser.parse_args(arguments)
    if options.sizes and len(options.sweeps) != 1:
        parser.error("--sizes needs --sweeps with one name")
    return options


if __name__ == "__main__":
    sys.exit(main())
