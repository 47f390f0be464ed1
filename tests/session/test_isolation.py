"""Nothing that a tenant does changes a byte that another tenant sees, and no tenant is told a name
of another's: sequences of random requests of every API and version, of two tenants of one cluster
(docs/isolation.md). ISOLATION_OPERATIONS=N does that many (``make isolation``), ISOLATION_SEED=N
repeats a run."""

from __future__ import annotations

import os
import sys
from time import monotonic
from typing import Final

import pytest

from tests.session.isolation_search import Tally, leak, sequels, shrunk
from tests.session.isolation_world import CASES

OPERATIONS: Final = int(os.environ.get("ISOLATION_OPERATIONS", "10000"))
SEED: Final = int(os.environ.get("ISOLATION_SEED", "1"))
REPORT_SECONDS: Final = 2.0

ANSWERED_HERE: Final = {
    *("AlterUserScramCredentials", "DescribeUserScramCredentials", "DescribeClientQuotas"),
    *("CreateAcls", "DescribeAcls", "DeleteAcls"),
    *("GetTelemetrySubscriptions", "PushTelemetry"),
}
"""The APIs of which no request reaches a broker."""

FOR_ADMINISTRATORS: Final = {
    *("WriteTxnMarkers", "AlterPartitionReassignments", "ElectLeaders"),
    *("DescribeQuorum", "UpdateFeatures"),
}
"""The APIs that no tenant may use."""


@pytest.mark.usefixtures("alike_ids", "quietly")
def test_nothing_that_another_tenant_does_shows() -> None:
    tally, reported = Tally(), monotonic()
    for sequel in sequels(SEED):
        if tally.done >= OPERATIONS:
            break
        wrong = leak(sequel, tally)
        if wrong:
            shortest = shrunk(sequel, leak)
            pytest.fail(f"ISOLATION_SEED={SEED}, after {tally.done}:\n{shortest}\n{leak(shortest)}")
        if monotonic() > reported + REPORT_SECONDS:
            reported = monotonic()
            print(f"{tally.done:,} of {OPERATIONS:,} operations", file=sys.stderr, flush=True)
    if OPERATIONS >= 10_000:  # fewer do not meet each version
        _assert_that_all_take_part(tally)


def _assert_that_all_take_part(tally: Tally) -> None:
    """Each API and version was answered on a connection that went on; each API reached a broker."""
    unanswered = [case for case in CASES if not tally.open[case]]
    assert not unanswered, f"they only end connections: {unanswered}"
    reached = {api for (api, _), times in tally.forwarded.items() if times}
    missing = {api for api, _ in CASES} - reached - ANSWERED_HERE - FOR_ADMINISTRATORS
    assert not missing, f"they never reach a broker: {missing}"
