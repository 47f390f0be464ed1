"""Log lines of the traffic log and the audit log."""

from __future__ import annotations

from typing import Final

from devkit.log_lines.log_line import LogLine

LINES: Final = (
    LogLine(
        "error",
        "%s: records are dropped, writing failed: %s",
        "make room for the traffic log, or the audit log, or see to the disk; clients are not"
        " slowed; at most once a minute",
    ),
    LogLine(
        "warning",
        "%s: %s stays as it is, compressing failed: %s",
        "the same",
    ),
    LogLine(
        "warning",
        "%s: %d records were not written in time",
        "the disk was slow at the end",
    ),
    LogLine(
        "error",
        "%s: %s wait, writing failed: %s",
        "see to the cluster, or to the gateway's rights on the topic; clients are not slowed,"
        " what does not fit into the queue is dropped; at most once a minute",
    ),
    LogLine(
        "warning",
        "%s: %d %s were not written in time",
        "the cluster was slow, or away, at the end",
    ),
    LogLine(
        "error",
        "writing the %s failed",
        "a defect: keep the lines; it is tried again",
    ),
)
