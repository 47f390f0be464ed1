"""devkit.sums: the metrics of a gateway are compared with its logs."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

import pytest
from prometheus_client import generate_latest

from devkit import sums
from devkit.sums import Logs, compare, logs_of, note, with_audit
from gateway.audit.event import AuditEvent, encode
from gateway.counts import Counts
from gateway.flows import Denial, Flow, FlowSource
from gateway.places import Place
from gateway.processes.metrics import Metrics
from gateway.traffic.record import Origin, Window
from gateway.traffic.rows import FlowWindow, denial_record, flow_record

PRODUCE, DENIED = 0, 29
ORIGIN: Final = Origin("gateway", 0)
ACL_LABELS: Final = ("users", "WRITE", "TOPIC")


def flow(place: Place, namespace: str = "team-a", *, denied: bool = False) -> Flow:
    """A request, which may have been denied."""
    source = FlowSource("users", "User:alice", "", "", "", "127.0.0.1:1", place)
    made = Flow(source, PRODUCE, 9, namespace, "", "")
    made.led, made.bytes_in = 1, 100
    if denied:
        made.errors, made.denials = {DENIED: 1}, {"acl": 1}
    return made


def denial() -> Denial:
    source = flow(Place()).source
    texts = ("message", "WRITE", "TOPIC team-a:x", "no ACL allows it", "team-a")
    return Denial(source, PRODUCE, 9, "acl", DENIED, "team-a:x", *texts)


def metrics(flows: Sequence[Flow], *, max_namespaces: int = 10, **more: int) -> str:
    """A supervisor's metrics of these flows; if a flow is denied, ACLs denied it."""
    made = Metrics("1.0", max_namespaces, in_tree=any(each.source.place.mount for each in flows))
    counts = Counts()
    counts.add_flows(flows)
    made.add(list(counts.take()))
    denials = sum(sum(each.denials.values()) for each in flows)
    if denials:
        made.count("authorization_denials", ACL_LABELS, denials)
    for name, count in more.items():
        made.count(name, (), count)
    return generate_latest(made).decode()


def logged(directory: Path, flows: Sequence[Flow], denials: Sequence[Denial] = ()) -> Logs:
    """The two logs of these flows."""
    window, records = FlowWindow(), list[dict[str, Any]]()
    window.add(flows)
    for item in window.sums.items():
        records.append(flow_record(ORIGIN, f"f{len(records)}", Window(0, 1000), *item))
    records += [denial_record(ORIGIN, f"d{n}", 0, each) for n, each in enumerate(denials)]
    logs = Logs(directory / "traffic", directory / "audit")
    assert logs.traffic is not None
    assert logs.audit is not None
    logs.traffic.mkdir()
    (logs.traffic / "t-1.jsonl").write_text("".join(f"{json.dumps(each)}\n" for each in records))
    logs.audit.mkdir()
    events = [encode("here", AuditEvent(str(n), 0.0, each)) for n, each in enumerate(denials)]
    (logs.audit / "a-1.jsonl").write_bytes(b"".join(event + b"\n" for event in events))
    return logs


@pytest.mark.parametrize("place", [Place(), Place("la", "la:tracking")])
def test_logs_that_hold_what_was_counted_agree(tmp_path: Path, place: Place) -> None:
    flows = [flow(place), flow(place, ""), flow(place, "(none)"), flow(place, denied=True)]
    found = compare(metrics(flows), logged(tmp_path, flows, [denial()]))
    text = "agree: 4 requests of the traffic log, 1 denials of the audit log"
    assert (found.differences, found.summary) == ((), text)


def test_what_differs_is_named(tmp_path: Path) -> None:
    here = Place()
    logs = logged(tmp_path, [flow(here), flow(here, "team-b")], [denial()])
    found = compare(metrics([flow(here), flow(here)]), logs)
    assert set(found.differences) == {
        "requests_total team-a Produce 9: 2 in the metrics, 1 in the traffic log",
        "requests_total team-b Produce 9: 0 in the metrics, 1 in the traffic log",
        "bytes_total team-a in: 200 in the metrics, 100 in the traffic log",
        "bytes_total team-b in: 0 in the metrics, 100 in the traffic log",
        *(
            text
            for where in ("the traffic log's denials", "the audit log")
            for text in (
                f"denials_total acl: 0 in the metrics, 1 in {where}",
                "Produce TOPIC_AUTHORIZATION_FAILED: 0 in the metrics, 1 denials in " + where,
            )
        ),
        "authorization_denials_total users WRITE TOPIC: 0 in the metrics, 1 in the audit log",
    }


def test_namespaces_beyond_the_bound_are_compared_together(tmp_path: Path) -> None:
    flows = [flow(Place(), name) for name in ("team-a", "team-b", "team-c")]
    assert "(other)" in metrics(flows, max_namespaces=1)
    assert not compare(metrics(flows, max_namespaces=1), logged(tmp_path, flows)).differences


def test_a_gateway_whose_worker_died_is_not_compared(tmp_path: Path) -> None:
    logs = logged(tmp_path, [])
    found = compare(metrics([flow(Place())], worker_restarts=1), logs)
    assert (found.differences, found.summary[:12]) == ((), "not compared")


def test_logs_are_those_of_the_configuration(tmp_path: Path) -> None:
    config = {"traffic_log": {"directory": str(tmp_path)}, **with_audit({}, tmp_path / "audit")}
    assert logs_of(config) == Logs(tmp_path, tmp_path / "audit")
    (tmp_path / "of-another-1.jsonl").touch()
    assert logs_of({"traffic_log": {"directory": str(tmp_path)}}) == Logs(None, None)
    assert logs_of({"traffic_log": {"enabled": False}}) == Logs(None, None)
    own = {"audit": {"topic": "audit"}}
    assert with_audit(own, tmp_path) == own


def test_each_gateway_gets_a_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(sums.VARIABLE, raising=False)
    assert not sums.asked_for()
    monkeypatch.setenv(sums.VARIABLE, str(tmp_path / "sums"))
    assert sums.asked_for()
    note("agree")
    assert (tmp_path / "sums").read_text().endswith("::test_each_gateway_gets_a_line: agree\n")
