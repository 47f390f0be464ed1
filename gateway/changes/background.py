"""The background jobs that every worker has."""

from __future__ import annotations

from gateway import version
from gateway.changes.apply_job import ApplyJob
from gateway.changes.context import Context
from gateway.changes.deletion_job import NamespaceDeletion
from gateway.changes.housekeeping import Housekeeping
from gateway.changes.jobs import JobRunner
from gateway.changes.registration import Registration


def background_jobs(context: Context, gateway_id: str) -> JobRunner:
    """All of them, not started yet."""
    jobs = (
        NamespaceDeletion(context),
        ApplyJob(context),
        Housekeeping(context),
        Registration(context, gateway_id, version()),
    )
    return JobRunner(context, jobs)
