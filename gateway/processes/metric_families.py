"""The metrics' families: names, labels and help of all counters, histograms and gauges."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from itertools import product

from gateway.counts import Labels
from gateway.sinks.record_writer import QUEUE_FULL, STOPPED, TOO_LARGE, WRITE_FAILED


@dataclass(frozen=True, slots=True)
class Family:
    """A metric: its labels in order, and its help."""

    labels: tuple[str, ...]
    help: str


COUNTERS: Mapping[str, Family] = {
    "requests": Family(
        ("namespace", "api", "version"), "Requests, by the namespace of the topic named first"
    ),
    "errors": Family(("namespace", "api", "error"), "Error codes in responses, by Kafka's name"),
    "denials": Family(("rule",), "Items of requests that a rule refused"),
    "authorization_denials": Family(
        ("listener", "operation", "resource_type"), "Items of requests that ACLs refused"
    ),
    "deprecated_grants": Family(
        ("operation",), "ACLs made that allow a deprecated operation (KIP-679)"
    ),
    "bytes": Family(("namespace", "direction"), "Frame bytes from (in) and to (out) clients"),
    "records": Family(("namespace", "api"), "Records that passed, as batch headers tell"),
    "weak_producer_requests": Family(
        ("namespace", "client_id", "software_name", "weakness", "decision"),
        "Produce requests that ask for less than the strongest guarantee (KIP-679)",
    ),
    "connections": Family(("listener",), "Client connections accepted"),
    "closes": Family(("reason",), "Client connections ended"),
    "broker_refusals": Family(
        ("cluster", "reason"),
        "Connections for clients that a broker closed before it answered, or that were beyond the"
        " share of a principal",
    ),
    "accept_delays": Family(
        ("listener", "reason"), "Times that a worker accepted no more clients for a while"
    ),
    "collected_response_waits": Family(
        ("listener", "setting"),
        "Responses that waited for memory to be collected in, by the setting that gave no more",
    ),
    "authentications": Family(
        ("listener", "mechanism", "result"), "Logins and re-authentications by SASL"
    ),
    "nodes_outside_ranges": Family(
        ("listener",), "Brokers found outside node_ids, once per broker and worker"
    ),
    "denials_dropped": Family((), "Denial events that came too fast for the traffic log"),
    "policy_events_dropped": Family((), "Policy events that came too fast for the traffic log"),
    "traffic_log_records": Family(
        ("sink",), "Records written to the traffic log's files or its topic"
    ),
    "traffic_log_dropped": Family(
        ("sink", "reason"), "Records that a place of the traffic log missed"
    ),
    "traffic_log_folded": Family(
        (), "Flows counted under client (other): too many clients in one window"
    ),
    "audit_events": Family(("type",), "Events for the audit log"),
    "audit_written": Family(("sink",), "Events written to the audit log's files or its topic"),
    "audit_dropped": Family(("sink", "reason"), "Events that a place of the audit log missed"),
    "policy_violations": Family(
        ("namespace", "rule", "mode"), "Rules of policies that topics did not satisfy"
    ),
    "policy_failures": Family(
        ("class_name", "reason"), "Calls of policy classes that failed, so that they refused"
    ),
    "policy_reloads": Family(("outcome",), "Reloads of policies, by SIGHUP"),
    "catalog_skipped_records": Family(
        ("reason",), "Records of the catalog's topic that no gateway wrote, once by each worker"
    ),
    "catalog_mended_records": Family(
        (), "Records of the catalog written again because junk had replaced them"
    ),
    "tree_lookups": Family(
        ("peer", "outcome"), "Questions to other gateways of the tree, by what came of them"
    ),
    "tree_number_conflicts": Family(
        ("number", "mount", "holder"),
        "Answers for a mount that were dropped since another mount has its number",
    ),
    "client_telemetry_dropped": Family(
        ("reason",), "Clients and series that were pushed and are not kept (KIP-714)"
    ),
    "worker_restarts": Family((), "Workers started again after they had died"),
    "label_overflow": Family(("label",), "Increments counted under (other): too many label values"),
}
NAMES: Mapping[str, str] = {
    "audit_dropped": "audit_events_dropped",
    "audit_written": "audit_events_written",
    "closes": "connection_closes",
    "denials_dropped": "denial_events_dropped",
}

_DROPS: tuple[Labels, ...] = tuple(
    product(("file", "topic"), (QUEUE_FULL, WRITE_FAILED, TOO_LARGE, STOPPED))
)
SKIP_REASONS = (
    "malformed",
    "unsigned",
    "forged",
    "misplaced",
    "out of sequence",
    "unknown key",
)
"""The reasons of :mod:`gateway.catalog.log`, copied, since a supervisor does not load it."""

ZEROS: Mapping[str, tuple[Labels, ...]] = {
    "audit_dropped": _DROPS,
    "client_telemetry_dropped": tuple(
        (reason,) for reason in ("clients", "name", "not_requested", "series", "type")
    ),
    "catalog_skipped_records": tuple((reason,) for reason in SKIP_REASONS),
    "closes": (
        ("internal error",),
        ("a change failed",),
        ("a long response was held for too long",),
    ),
    "label_overflow": (("namespace",),),
    "tree_number_conflicts": (("", "", ""),),
    "policy_reloads": (("done",), ("failed",)),
    "traffic_log_dropped": _DROPS,
}
"""Label values that are shown from the start, as 0, because an alert cannot tell how much a counter
has grown if it sees the counter for the first time."""

HISTOGRAMS: Mapping[str, Family] = {
    "gateway_seconds": Family(
        ("api",), "Time that requests spent in the gateway; the sum is estimated from the buckets"
    ),
    "broker_seconds": Family(
        ("api",), "Time that the broker took to answer; the sum is estimated from the buckets"
    ),
}


@dataclass(frozen=True, slots=True)
class Gauge:
    """A state that every worker reports; ``merge`` combines the workers' values. If it is
    ``of_cluster``, each cluster of a tree has a value."""

    merge: Callable[[Iterable[float]], float]
    help: str
    of_cluster: bool = False


GAUGES: Mapping[str, Gauge] = {
    "cluster_reachable": Gauge(
        min, "Whether every worker reached the cluster the last time (0, 1)", of_cluster=True
    ),
    "catalog_fresh": Gauge(
        min,
        "Whether every worker has read the catalog within catalog.max_staleness (0, 1)",
        of_cluster=True,
    ),
    "catalog_lost": Gauge(
        max,
        "Whether the catalog's topic is gone or empty, and a worker has what was in it (0, 1)",
        of_cluster=True,
    ),
    "refusing_brokers": Gauge(
        max,
        "Brokers that let in no new connection, by the worker that sees the most",
        of_cluster=True,
    ),
    "locked_out": Gauge(
        max,
        "Whether no broker lets a new connection in while older ones work (0, 1)",
        of_cluster=True,
    ),
    "accepting": Gauge(
        min, "Whether every worker can accept clients, as far as the system goes (0, 1)"
    ),
    "cut_off": Gauge(
        max, "Whether a worker hears nothing of its clusters and refuses clients (0, 1)"
    ),
    "other_gateways_down": Gauge(
        max, "Other gateways of the fleet that accept no connections, by the last look at them"
    ),
    "catalog_version": Gauge(min, "The oldest catalog version that a worker has", of_cluster=True),
    "catalog_damaged_records": Gauge(
        max, "Records of the catalog in whose place there is junk, or nothing", of_cluster=True
    ),
    "topics": Gauge(max, "Topics of the cluster", of_cluster=True),
    "client_telemetry_clients": Gauge(sum, "Clients whose pushed metrics are kept (KIP-714)"),
    "audit_queued_events": Gauge(sum, "Events that wait for the audit log's files and topic"),
    "traffic_log_queued_records": Gauge(sum, "Records that wait to be written"),
}

WORKER_GAUGES: Mapping[str, str] = {
    "cpu_seconds": "CPU time of the worker process since it started",
    "resident_bytes": "Memory of the worker process",
}


def with_cluster(families: Mapping[str, Family]) -> Mapping[str, Family]:
    """The families of a tree: a family with the label ``namespace`` has ``cluster``, too."""
    return {
        name: replace(family, labels=(*family.labels, "cluster"))
        if "namespace" in family.labels
        else family
        for name, family in families.items()
    }
