"""gateway.changes.jobs.background: the jobs that every worker runs."""

from __future__ import annotations

from gateway.changes.jobs.background import background_jobs
from gateway.changes.jobs.job_runner import JobRunner
from tests.changes.fakes import World


def test_all_of_them() -> None:
    assert isinstance(background_jobs(World().gateway().context, "gw"), JobRunner)
