"""Log lines of policies."""

from __future__ import annotations

from typing import Final

from devkit.log_lines.log_line import LogLine

LINES: Final = (
    LogLine(
        "error",
        "policy %s, failed on %s: %s",
        "tell whoever wrote the class what it raised; the topic was refused; at most 10 lines"
        " about failing classes a second and worker",
    ),
    LogLine(
        "error",
        "policy %s, does not answer within %d ms",
        "the same; a class that waits for something may need a longer "
        "`create.topic.policy.timeout.ms`",
    ),
    LogLine(
        "error",
        "policy %s, is busy, and not asked within %d ms",
        "the same: it was still busy with earlier topics",
    ),
    LogLine(
        "warning",
        "policy %s is not closed within %g s",
        "a call of it, or its `close()`, takes too long; it is left behind",
    ),
    LogLine(
        "error",
        "policy %s failed while it was closed: %s",
        "tell whoever wrote the class; all else goes on",
    ),
    LogLine(
        "warning",
        "policies warn of what %s asks for: %s",
        "`mode: warn`: tell the principal before the block enforces; at most 20 a second and "
        "worker",
    ),
)
