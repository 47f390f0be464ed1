"""Readiness: whether the states of the clusters let traffic come."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, NamedTuple

from gateway.config.models import Cluster
from gateway.processes.metrics import Metrics

LOST: Final = (
    "the catalog's topic is gone or empty; do not restart the gateway, which has the catalog in"
    " memory: kafka-gateway catalog export --from-memory"
)
LOOK_AT: Final = (
    "look at their max.connections.per.ip for this machine's address, max.connections, and"
    " connection creation rates"
)
LOCKED_OUT: Final = (
    f"new clients cannot get through, since no broker lets in new connections; older ones work;"
    f" {LOOK_AT}"
)
REFUSE: Final = f"let in no new connections, while older ones work; {LOOK_AT}"
STALE: Final = "the catalog could not be read within catalog.max_staleness"


class Readiness(NamedTuple):
    """``not_ready``: why no traffic should come.
    ``degraded``: problems of clusters while others can be used. Both in sentences.
    """

    not_ready: Sequence[str] = ()
    degraded: Sequence[str] = ()


def readiness(clusters: Sequence[Cluster], metrics: Metrics) -> Readiness:
    """Readiness by the last reports of all workers; a tree is ready if one of its clusters is
    usable."""
    if clusters[0].mount is None:
        name = clusters[0].name
        return Readiness(_problems(metrics, name, None), _warnings(metrics, name, None))
    found = {each.name: _problems(metrics, each.name, each.name) for each in clusters}
    problems = [one for each in found.values() for one in each]
    warnings = tuple(one for name in found for one in _warnings(metrics, name, name))
    if all(found.values()):
        return Readiness(problems, warnings)
    return Readiness((), [*problems, *warnings])


def _problems(metrics: Metrics, name: str, cluster: str | None) -> list[str]:
    problems = []
    if metrics.gauge("cluster_reachable", cluster) != 1:
        problems.append(f"cluster '{name}' is not known to be reachable")
    if metrics.gauge("catalog_fresh", cluster) != 1:
        text = LOST if metrics.gauge("catalog_lost", cluster) else STALE
        problems.append(text if cluster is None else f"cluster '{name}': {text}")
    if metrics.gauge("locked_out", cluster):
        problems.append(f"cluster '{name}': {LOCKED_OUT}")
    return problems


def _warnings(metrics: Metrics, name: str, cluster: str | None) -> tuple[str, ...]:
    """A warning if some brokers refuse new connections, while others do not."""
    refusing = metrics.gauge("refusing_brokers", cluster)
    if not refusing or metrics.gauge("locked_out", cluster):
        return ()
    return (f"cluster '{name}': {refusing:g} of its brokers {REFUSE}",)
