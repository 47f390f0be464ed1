"""Checks that a gateway's metrics, its traffic log and its audit log have the same counts.

If the environment variable ``KAFKA_GATEWAY_SUMS`` names a file, the devkit's gateways are compared
when they are stopped, if they end in good order; a difference is an error. The file gets a line for
each gateway: the counts that agreed, the counts that differed, or why nothing was compared. ``make
sums`` runs the live tests with it.
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Final, NamedTuple

from prometheus_client.parser import text_string_to_metric_families

from devkit.traffic_sums import Counts, Record, of_metrics, of_records, read_files
from gateway.audit.fields import TYPES

VARIABLE: Final = "KAFKA_GATEWAY_SUMS"
"""The environment variable that names the file."""

PROGRAM: Final = "devkit.final_metrics"
"""The module that is run in place of ``kafka-gateway``."""

FILE: Final = "KAFKA_GATEWAY_FINAL_METRICS"
"""The environment variable that names the file for a gateway's last metrics."""

_SHOWN: Final = 20
"""Differences of a gateway that are printed."""

_PREFIX: Final = "kafka_gateway_"
_OTHER: Final = "(other)"


class Logs(NamedTuple):
    """The directories of a gateway's logs, or None if it has no such log, or the log is not its
    own."""

    traffic: Path | None
    audit: Path | None


class Agreement(NamedTuple):
    """The result of a comparison: the ``differences``, and a summary of what agreed, or why nothing
    was compared."""

    differences: Sequence[str]
    summary: str


def asked_for() -> bool:
    """Whether gateways are compared when they are stopped."""
    return bool(os.environ.get(VARIABLE))


def with_audit(overrides: Mapping[str, Any], directory: Path) -> dict[str, Any]:
    """The overrides of a configuration, with an audit log if they have no audit log."""
    return {"audit": {"directory": str(directory)}, **overrides}


def logs_of(config: Mapping[str, Any]) -> Logs:
    """The logs of a gateway that is about to start, with a configuration of
    :func:`devkit.gateway_config.plan_gateway`; without directories that other gateways have written
    to."""
    traffic, audit = config["traffic_log"], config.get("audit", {})
    directory = traffic.get("directory") if traffic.get("enabled", True) else None
    return Logs(*map(_unwritten, (directory, audit.get("directory"))))


def _unwritten(directory: str | None) -> Path | None:
    if not directory or any(Path(directory).glob("*.jsonl*")):
        return None
    return Path(directory)


def note(text: str) -> None:
    """Write a line about a gateway to the file, with the name of the test that ends it."""
    test = os.environ.get("PYTEST_CURRENT_TEST", "").rpartition(" ")[0] or "no test"
    with Path(os.environ[VARIABLE]).open("a") as file:
        file.write(f"{test}: {text}\n")


def compare(metrics: str, logs: Logs) -> Agreement:
    """Compare the last metrics of a gateway with its logs."""
    totals = _totals(metrics)
    if totals["worker_restarts_total"]:
        return Agreement((), "not compared: a worker was started again")
    counted = of_metrics(metrics)
    compared: list[str] = []
    differences: list[str] = []
    if logs.traffic is not None and not totals["traffic_log_dropped_total"]:
        records = read_files(logs.traffic)
        requests = sum(count for key, count in counted.items() if key[0] == "requests_total")
        compared.append(f"{requests} requests of the traffic log")
        differences += _different(counted, of_records(records), "the traffic log")
        if not totals["denial_events_dropped_total"]:
            events = [record for record in records if record["kind"] == "denial"]
            differences += _denied(counted, events, "the traffic log's denials")
    if logs.audit is not None and not totals["audit_events_dropped_total"]:
        events = [
            {**event, **event["data"]}
            for event in read_files(logs.audit)
            if event["type"] == TYPES["denied"]
        ]
        compared.append(f"{len(events)} denials of the audit log")
        differences += _denied(counted, events, "the audit log")
        by_acl = Counter(_acl_labels(event) for event in events if event["because"])
        differences += _different(_of_acls(metrics), by_acl, "the audit log")
    if differences:
        return Agreement(differences[:_SHOWN], f"{len(differences)} differences")
    return Agreement((), f"agree: {', '.join(compared)}" if compared else "not compared: no logs")


def _different(counted: Counts, logged: Counts, where: str) -> Iterator[str]:
    """The counters whose sums differ. If a counter has a label ``(other)``, the sums of all labels
    are compared, because a log has no limit of labels."""
    folded = {key[0] for key in counted if _OTHER in key}
    counted, logged = _folded(counted, folded), _folded(logged, folded)
    for key in sorted(counted.keys() | logged.keys()):
        if counted[key] != logged[key]:
            yield f"{' '.join(key)}: {counted[key]} in the metrics, {logged[key]} in {where}"


def _folded(counts: Counts, names: set[str]) -> Counts:
    sums: Counts = Counter()
    for key, count in counts.items():
        sums[key[:1] if key[0] in names else key] += count
    return sums


def _denied(counted: Counts, events: Sequence[Record], where: str) -> Iterator[str]:
    """The differences between denials as events and as counts. Each rule must have as many, and an
    API and an error no more events than responses."""
    rules: Counts = Counter(("denials_total", event["rule"]) for event in events)
    of_rules = Counter({key: count for key, count in counted.items() if key[0] == "denials_total"})
    yield from _different(of_rules, rules, where)
    errors = Counter[tuple[str, str]]()
    for key, count in counted.items():
        if key[0] == "errors_total":
            errors[key[2], key[3]] += count
    for (api, error), count in Counter((event["api"], event["error"]) for event in events).items():
        if count > errors[api, error]:
            yield f"{api} {error}: {errors[api, error]} in the metrics, {count} denials in {where}"


def _acl_labels(event: Record) -> tuple[str, ...]:
    return (
        "authorization_denials_total",
        event["listener"],
        event["operation"] or "",
        event["resource_type"] or "",
    )


def _of_acls(metrics: str) -> Counts:
    counts: Counts = Counter()
    for name, labels, count in _samples(metrics):
        if name == "authorization_denials_total":
            found = (labels[label] for label in ("listener", "operation", "resource_type"))
            counts[name, *found] += count
    return counts


def _totals(metrics: str) -> Counter[str]:
    """The sums of counters over all of their labels."""
    totals = Counter[str]()
    for name, _, count in _samples(metrics):
        if name.endswith("_total"):
            totals[name] += count
    return totals


def _samples(metrics: str) -> Iterator[tuple[str, Mapping[str, str], int]]:
    for family in text_string_to_metric_families(metrics):
        for sample in family.samples:
            if sample.name.endswith("_total"):
                yield sample.name.removeprefix(_PREFIX), sample.labels, round(sample.value)
