"""gateway.changes.background: the jobs that every worker has."""

from __future__ import annotations

from gateway.changes.background import background_jobs
from gateway.changes.jobs import JobRunner
from tests.changes.fakes import World


def test_all_of_them() -> None:
    assert isinstance(background_jobs(World().gateway().context, "gw"), JobRunner)
