"""Log lines of clusters, and gateways of a tree."""

from __future__ import annotations

from typing import Final

from devkit.log_lines.log_line import LogLine

LINES: Final = (
    LogLine(
        "warning",
        "broker %d of cluster %r %s, with %d open from this worker, which go on: see %s",
        "a broker is at a [limit of its connections](brokers.md#limits-of-connections), which"
        " the line names: raise it for the gateway's address. Logged once when it begins, by each"
        " worker, and not for each client",
    ),
    LogLine(
        "info, warning",
        "new connections to broker %d of cluster %r %s: in %d s it let %d in and closed %d,"
        " %d were rejected here, and %d idle ones gave way",
        "the same goes on (`are still refused`, a warning a minute), or is over: a minute has"
        " passed without a refusal",
    ),
    LogLine(
        "info",
        "cluster %r has brokers %s",
        "nothing: brokers came, went or moved",
    ),
    LogLine(
        "warning",
        "gateway '%s' does not respond: %s",
        "see to that [gateway of the tree](configuration.md#several-gateways-one-tree), to "
        "[what is between](tree-of-gateways.md#when-something-is-down), or to what it says of"
        " its certificate; names below it, or above for a parent, are not found until it "
        "responds; it is tried again every second, and logged again only after a change",
    ),
    LogLine(
        "info",
        "gateway '%s' responds again",
        "nothing",
    ),
    LogLine(
        "warning",
        "not believed: %s",
        "an answer of another gateway, which was dropped: see to that one, or [whose number "
        "it is](tree-of-gateways.md#what-a-gateway-that-lies-can-do)",
    ),
    LogLine(
        "warning",
        "'%s' is left out: what it keeps cannot be read: %s",
        "nothing: a file of `tree.directory`; what it kept of clusters behind other gateways "
        "is learned anew from those. If it is logged at each start, remove the file",
    ),
    LogLine(
        "warning",
        "'%s' cannot be written, and is tried again: %s",
        "make room in `tree.directory`, or let the gateway write there: until then what is "
        "known of clusters behind other gateways is lost at a restart",
    ),
    LogLine(
        "warning",
        "%s",
        "see to the brokers or the network, or to [what it says](brokers.md#what-goes-wrong) "
        "of `clusters.security`; it is tried again, and logged again only after a change",
        at="cluster/cluster.py",
        shown="cluster … is not reachable: …",
    ),
    LogLine(
        "warning",
        "cluster %r is asked at %s now: %s",
        "see to the broker named; the gateway asks another one",
    ),
    LogLine(
        "info",
        "cluster %r answers again",
        "nothing",
    ),
    LogLine(
        "error",
        "listing cluster %r failed",
        "a defect: keep the line; it is tried again",
    ),
    LogLine(
        "error",
        "on_change of cluster %r failed",
        "a defect: keep the line",
    ),
)
