"""docs/operations.md: its lists of metrics, reasons and rules against the source."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping
from types import MappingProxyType

from gateway.auth.mechanisms import USER_IS_GONE
from gateway.connections.closing import (
    GAVE_WAY,
    INTERNAL,
    LEFT_TOO_LONG,
    NO_ROOM,
    NOT_ANY_MORE,
    OUT_OF_DATE,
    SESSION_EXPIRED,
    TOO_LATE,
    TOO_MANY_LINGERING,
    TOO_MANY_OF_ONE,
    TOO_MUCH_INCOMPLETE,
    UNREAD,
    UNSENT,
    UNTAKEN,
)
from gateway.counts import METRIC_BUCKETS
from gateway.processes.metric_families import COUNTERS, GAUGES, HISTOGRAMS, WORKER_GAUGES
from gateway.processes.metrics import Metrics
from gateway.processes.worker_messages import State
from gateway.tls.handshake import FULL
from tests.docs import markdown

PAGE = markdown.read("docs/operations.md")
GATEWAY = markdown.ROOT / "gateway"

_SUFFIXES = {"counter": "_total", "info": "_info"}

# Rules whose rejections are part of a response, and never a denial of their own.
NOT_COUNTED = {
    "all_or_nothing",
    "broker",
    "error_response",
    "request",
    "spelling",
    "unavailable",
}


# -- metrics ----------------------------------------------------------------------------------


def exposed() -> dict[str, tuple[str, set[str]]]:
    """Every possible metric, by the name that is scraped: its type and its labels."""
    metrics = Metrics("1", max_namespaces=10)
    for name, family in COUNTERS.items():
        metrics.count(name, tuple("1" for _ in family.labels))
    metrics.add((name, ("1",), [1] * METRIC_BUCKETS) for name in HISTOGRAMS)
    gauges = dict.fromkeys([*GAUGES, *WORKER_GAUGES], 1)
    metrics.set_state(0, State({"colon": 1}, gauges, 1.0, {}, {"colon": 1.0}))
    found = {}
    for metric in metrics.collect():
        labels = {label for sample in metric.samples for label in sample.labels} - {"le"}
        found[metric.name + _SUFFIXES.get(metric.type, "")] = (metric.type, labels)
    return found


def test_every_metric_with_its_type_and_labels() -> None:
    rows = markdown.table(PAGE, "metric")
    shown = {markdown.code(row[0]): (row[1], set(markdown.spans(row[2]))) for row in rows}
    assert shown == exposed()


# -- the unit of systemd ----------------------------------------------------------------------


def test_the_settings_shown_are_the_units() -> None:
    """tests/deploy/test_systemd.py compares the unit with the gateway."""
    unit = markdown.read("deploy/systemd/kafka-gateway.service").splitlines()
    rows = markdown.table(PAGE, "setting")
    shown = {span for row in rows for span in markdown.spans(row[0]) if "=" in span}
    assert len(shown) > 12

    def is_set(one: str) -> bool:
        return any(line == one or (one[-1] == "=" and line.startswith(one)) for line in unit)

    assert [one for one in sorted(shown) if not is_set(one)] == []


# -- texts of the source ----------------------------------------------------------------------


def trees() -> Iterator[ast.AST]:
    """Every node of the gateway's source."""
    for path in GATEWAY.rglob("*.py"):
        yield from ast.walk(ast.parse(path.read_text(), str(path)))


def texts(node: ast.AST, constants: Mapping[str, str] = MappingProxyType({})) -> Iterator[str]:
    """The string constants in an expression; an f-string is cut to its first part."""
    if isinstance(node, ast.JoinedStr):
        node = node.values[0]
    if isinstance(node, ast.FormattedValue):
        node = node.value
    if isinstance(node, ast.Name) and node.id in constants:
        yield constants[node.id]
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        yield node.value
    elif isinstance(node, ast.IfExp):
        yield from texts(node.body, constants)
        yield from texts(node.orelse, constants)


ENDING = (
    "connections/admission.py",
    "connections/connection.py",
    "connections/logins.py",
    "connections/login_connection.py",
    "connections/waiting_clients.py",
    "connections/clients.py",
    "tls/handshake.py",
)
CALLS = {"close", "reset", "revoke", "_revoke", "rejected", "_fail"}
"""The functions whose calls end connections."""


def close_reasons() -> set[str]:
    """The reasons for which connections are closed, up to the colon."""
    # Reasons that are passed in variables.
    found: set[str] = {
        USER_IS_GONE,
        TOO_MANY_LINGERING,
        LEFT_TOO_LONG,
        FULL,
        INTERNAL,
        TOO_LATE,
        SESSION_EXPIRED,
        TOO_MANY_OF_ONE,
        TOO_MUCH_INCOMPLETE,
        NO_ROOM,
        GAVE_WAY,
        NOT_ANY_MORE,
        OUT_OF_DATE,
        UNREAD,
        UNSENT,
        UNTAKEN,
    }
    for name in ENDING:
        tree = ast.parse((GATEWAY / name).read_text())
        constants = dict(_constants(tree))
        for node in ast.walk(tree):
            if isinstance(node, ast.Call):
                for argument in _given_to_a_call(node)[:2]:
                    found.update(texts(argument, constants))
            elif isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "reason":
                found.update(texts(node.value, constants))
    return {text.partition(":")[0] for text in found}


def _given_to_a_call(node: ast.Call) -> list[ast.expr]:
    """The arguments of a call of one of :data:`CALLS`, or of a ``partial`` of it."""
    called, given = node.func, node.args
    if ast.unparse(called) == "partial":
        called, given = given[0], given[1:]
    return given if ast.unparse(called).rpartition(".")[2] in CALLS else []


def _constants(tree: ast.Module) -> Iterator[tuple[str, str]]:
    """A module's own names for texts."""
    for node in tree.body:
        if isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name) and node.value:
            yield from ((node.target.id, text) for text in texts(node.value))


def test_every_reason_of_a_close() -> None:
    assert {markdown.code(row[0]) for row in markdown.table(PAGE, "`reason`")} == close_reasons()


def rules() -> set[str]:
    """The last argument of each ``Denied(...)`` and of the view's ``_unknown(...)``."""
    calls = (node for node in trees() if isinstance(node, ast.Call) and node.args)
    named = (node for node in calls if ast.unparse(node.func) in {"Denied", "_unknown"})
    return {text for node in named for text in texts(node.args[-1])}


def test_every_rule() -> None:
    shown = {markdown.code(row[0]) for row in markdown.table(PAGE, "`rule`")}
    assert shown == rules() - NOT_COUNTED
