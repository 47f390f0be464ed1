"""Reasons for which a test may be left out of ``make test``: the arguments of the mark ``long``.

A test that asserts a promise about time is marked ``alone``, because no other test may run beside
it.
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Final

import pytest

from devkit.suite.stages import GATE, long_stages

LONG: Final = {
    "builds": "it compiles, or builds and installs wheels or programs",
    "kills": "it kills, hangs, restarts or outwaits processes, sessions or connections",
    "brokers": "it needs three brokers or more, or MirrorMaker, Connect or Spark beside Kafka",
    "versions": "it runs a program with each of several versions of a client",
    "measures": "it lets the bench measure gateways, one load after the other",
    "searches": "it searches at random",
    "spark": "it makes Spark plan a whole report, or several batches in turn, or start anew",
}
"""The words that may stand in the mark, with their meanings."""


def check_marks(items: Iterable[pytest.Item], root: Path) -> None:
    """Raise pytest.UsageError if a mark ``long`` has none of the reasons, or if no stage of the
    suite, or more than one, runs a test."""
    stages = (*GATE, *long_stages(root))
    for item in items:
        for mark in item.iter_markers("long"):
            if len(mark.args) != 1 or mark.args[0] not in LONG or mark.kwargs:
                known = ", ".join(LONG)
                raise pytest.UsageError(f"{item.nodeid}: mark long needs one reason of: {known}")
        marks = {mark.name for mark in item.iter_markers()}
        path = str(item.path.relative_to(root))
        running = [stage.name for stage in stages if stage.selects(marks, path)]
        if len(running) != 1:
            raise pytest.UsageError(
                f"{item.nodeid} runs in {' and '.join(running) or 'no stage'}: see"
                " devkit/suite/stages.py for which marks stand where"
            )
