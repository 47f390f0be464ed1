"""``make dashboards``: runs every query of every panel, variable and rule in a real Prometheus.

Prometheus scrapes two gateways of a tree under load, in which everything that can fail fails.
promtool checks the rules and runs their unit tests. The exit status is 0 if every query has data.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Final

from dashboards import files
from dashboards.promql import read
from dashboards.queries import PUSHED
from devkit.broker import BrokerError
from devkit.debian import DebianError
from devkit.gateway_process import GatewayError
from devkit.prometheus import Prometheus, PrometheusError, promtool
from devkit.waiting import DeadlineError, progress
from devkit.watched import SEARCH, watched
from devkit.watched_traffic import WEAK_CLIENT, traffic

_SECONDS: Final = 240.0
_VARIABLES: Final = {
    "$__rate_interval": "30s",
    "$__range": "5m",
    "$job": ".*",
    "$instance": ".*",
    "$listener": ".*",
    "$cluster": ".*",
    "$peer": ".*",
    "$client_id": WEAK_CLIENT,
    "$namespace": SEARCH,
}
"""The values of Grafana's variables."""


@dataclass(frozen=True, slots=True)
class Question:
    """A query, ready for Prometheus, and its origin."""

    place: str
    expression: str


def main() -> int:
    """Check the rules and run all queries; returns the exit status."""
    try:
        checked = _check_rules()
        missing, count = _ask_all()
    except (BrokerError, DeadlineError, DebianError, GatewayError, PrometheusError) as error:
        print(f"make dashboards: {error}", file=sys.stderr)
        return 1
    print(checked)
    for question in missing:
        print(f"no data: {question.place}: {question.expression}", file=sys.stderr)
    print(f"{count - len(missing)} of {count} queries have data")
    return 1 if missing else 0


def questions() -> Iterator[Question]:
    """Every query of what gateways count; tests/live/operations/test_pushed_metrics.py has those of
    what clients push. For an alert, the query of each of its metrics, because the alert itself has
    data only while it fires."""
    for query in (*files.panel_queries(), *files.variable_queries()):
        if PUSHED in query.expression:  # by Java's clients alone
            continue
        where = f"{query.dashboard}: {query.panel}"
        yield Question(where, filled(query.expression))
    for rule in files.rules():
        if not rule.alert:
            yield Question(rule.name, rule.name)
            yield Question(f"{rule.name}: its expression", rule.expression)
            continue
        for selector in read(rule.expression).selectors:
            yield Question(f"alert {rule.name}", str(selector))


def filled(expression: str) -> str:
    """An expression with a value for each of Grafana's variables. Raises ValueError if a variable
    has no value."""
    for name, value in _VARIABLES.items():
        expression = expression.replace(name, value)
    if "$" in expression:
        raise ValueError(f"a variable has no value: {expression}")
    return expression


def _check_rules() -> str:
    """promtool's output on the rules and their unit tests. Raises PrometheusError."""
    with progress("promtool checks the rules"):
        names = [path.name for path in files.RULE_FILES]
        said = promtool("check", "rules", *names, folder=files.RULES)
        return said + promtool("test", "rules", files.RULE_TESTS.name, folder=files.RULES)


def _ask_all() -> tuple[list[Question], int]:
    """The queries without data after a while under load, and the number of all queries."""
    with (
        watched() as gateways,
        traffic(gateways),
        Prometheus(gateways.metrics_ports, files.RULE_FILES) as prometheus,
    ):
        with progress("asking Prometheus") as state:
            left = total = [*questions()]
            deadline = time.monotonic() + _SECONDS
            while left and time.monotonic() < deadline:
                left = _without_data(prometheus, left)
                state.detail = f"{len(left)} of {len(total)} queries have no data yet"
                time.sleep(1.0)
        _check_health(prometheus)
        return left, len(total)


def _without_data(prometheus: Prometheus, asked: Sequence[Question]) -> list[Question]:
    with ThreadPoolExecutor(4) as pool:
        answers = pool.map(lambda one: prometheus.has_data(one.expression), asked)
        return [one for one, has_data in zip(asked, answers, strict=True) if not has_data]


def _check_health(prometheus: Prometheus) -> None:
    """Raise PrometheusError if a rule could not be evaluated."""
    ill = [rule for rule in prometheus.rules() if rule["health"] != "ok"]
    if ill:
        errors = "\n".join(f"{rule['name']}: {rule.get('lastError')}" for rule in ill)
        raise PrometheusError(f"{len(ill)} rules are not evaluated\n{errors}")


if __name__ == "__main__":
    sys.exit(main())
