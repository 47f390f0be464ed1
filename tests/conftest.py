"""Fixtures and hooks for every test."""

from __future__ import annotations

import asyncio
import gc
import logging
import os
from collections.abc import Callable, Coroutine, Generator, Iterator, Sequence
from typing import Any, TypeAlias

import pytest
import uvloop
from hypothesis import HealthCheck, settings

from devkit import ports
from devkit.process import outputs
from devkit.suite.stages import EXAMPLES, MOST_EXAMPLES
from tests import property_seeds
from tests.marks import check_marks
from tests.pace import Pace

# A loaded machine is no bug, and a failure that cannot be repeated is worth little.
settings.register_profile(
    "project",
    max_examples=int(os.environ.get(EXAMPLES, MOST_EXAMPLES)),
    deadline=None,
    derandomize=True,
    print_blob=True,
    suppress_health_check=[HealthCheck.too_slow],
)
settings.load_profile("project")

Test: TypeAlias = Callable[[], Coroutine[Any, Any, None]]

LONGEST = (
    "tests/devkit/test_compiled.py",
    "tests/devkit/test_installed.py",
    "tests/scenarios/test_scenarios.py",
    "tests/live/moves/test_move_crash.py",
    "tests/live/fleet/test_killed_gateways.py",
    "tests/live/fleet/test_rolling_brokers.py",
    "tests/live/fleet/test_share_groups.py",
    "tests/live/groups/test_share_group_failover.py",
    "tests/live/groups/test_share_group_restarts.py",
    "tests/live/access/test_share_rights.py",
    "tests/live/fuzz/test_differential_fuzz.py",
    "tests/live/oracle/test_acl_oracle_wire.py",
    "tests/live/oracle/test_acl_oracle_changes.py",
    "tests/live/tree_of_gateways/test_three_gateways.py",
    "tests/live/tree/test_groups.py",
    "tests/live/tree/test_groups_unread_cluster.py",
    "tests/live/tree/test_isolation.py",
    "tests/live/clients/test_java_versions.py",
    "tests/live/clients/test_schema_registry.py",
    "tests/live/clients/test_spark.py",
    "tests/live/clients/test_go_clients.py",
    "tests/live/clients/test_rskafka.py",
    "tests/live/clients/test_kafka_console.py",
    "tests/live/clients/test_kaskade.py",
    "tests/live/clients/test_kafkatop.py",
    "tests/live/clients/test_tools_beside_direct.py",
    "tests/live/clients/test_streams_groups.py",
    "tests/live/mirror/test_flows.py",
    "tests/live/authentication/test_broker_side.py",
    "tests/live/moves/test_move_under_load.py",
    "tests/live/installed/test_installed_forms.py",
    "tests/live/fleet/test_rolling_upgrade.py",
    "tests/live/access/test_access_table.py",
    "tests/live/authentication/test_broker_sessions.py",
    "tests/live/policies/test_policy_classes.py",
    "tests/live/operations/test_page.py",
    "tests/live/namespaces/test_planted_topics.py",
    "tests/live/namespaces/test_declaring_tools.py",
    "tests/live/namespaces/test_namespaces_cli.py",
    "tests/devkit/test_demo.py",
    "tests/devkit/test_demo_tree.py",
    "tests/devkit/test_report.py",
    "tests/live/operations/test_traffic_totals.py",
    "tests/bench/test_wire.py",
    "tests/bench/test_tls.py",
    "tests/bench/growth/test_connections.py",
    "tests/page/test_page_in_browser.py",
    "tests/spark/test_cluster.py",
    "tests/spark/test_compaction.py",
    "tests/spark/test_ingest_kill.py",
    "tests/spark/test_report.py",
)
"""Files that take half a minute or more begin first (``--no-loadscope-reorder``), so that at the
end no process is left alone with such a file."""


TOGETHER = (
    (
        "tree_of_gateways/test_commands",
        "tree_of_gateways/test_peer_attacks",
        "tree_of_gateways/test_three_gateways",
    ),
    (
        "tree/test_admin_of_both",
        "tree/test_broker_configs",
        "tree/test_far_names",
        "tree/test_group_clients",
        "tree/test_groups",
        "tree/test_guide",
        "tree/test_tools",
        "tree/test_transactions",
        "tree/test_two_clusters",
    ),
    ("tree/test_isolation", "tree/test_trust"),
    (
        "authentication/test_broker_side",
        "authentication/test_pass_through",
        "init/test_init",
        "oracle/test_unknown_numbers",
    ),
    (
        "authentication/test_connection_limits",
        "authentication/test_sasl_clients",
        "authentication/test_sasl_rejections",
        "authentication/test_sasl_sessions",
    ),
)
"""Files of live tests that run in one process, one after the other, because they share clusters and
gateways: in three processes each would start its own."""


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Put the longest files first, the others in their order."""
    check_marks(items, config.rootpath)
    order = {config.rootpath / path: place for place, path in enumerate(LONGEST)}
    items.sort(key=lambda item: order.get(item.path, len(order)))


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> Any:
    """Spread files over the processes (``--dist loadfile``), except for files in ``TOGETHER``."""
    from xdist.scheduler import LoadFileScheduling  # a plugin that some runs lack

    places = {
        f"tests/live/{name}.py": f"tests/live/{names[0]}.py" for names in TOGETHER for name in names
    }

    class Scheduling(LoadFileScheduling):  # type: ignore[misc]
        def _split_scope(self, nodeid: str) -> str:
            file = nodeid.partition("::")[0]
            return places.get(file, file)

        def add_node_collection(self, node: Any, collection: Sequence[str]) -> None:
            super().add_node_collection(node, collection)
            if node in self.registered_collections:
                self.registered_collections[node] = Numbered(collection)

        def _assign_work_unit(self, node: Any) -> None:
            """xdist looks through finished files after each test, so they are left out."""
            assigned = self.assigned_work.get(node, {})
            for scope in [scope for scope, tests in assigned.items() if all(tests.values())]:
                del assigned[scope]
            super()._assign_work_unit(node)

    return Scheduling(config, log) if config.getoption("dist") == "loadfile" else None


class Numbered(list[str]):
    """Tests of a process with their numbers, because xdist asks for the number of each of
    29,000."""

    def __init__(self, tests: Sequence[str]) -> None:
        super().__init__(tests)
        self._numbers = {test: number for number, test in enumerate(tests)}

    def index(self, test: str, *_: Any) -> int:
        """The number of a test."""
        return self._numbers[test]


def pytest_collection_finish() -> None:
    """Keep the garbage collector away from 20,000 tests, because looking through them took each
    full collection half a second."""
    gc.collect()
    gc.freeze()


def pytest_configure(config: pytest.Config) -> None:
    """Give processes that test side by side ports of their own (pytest-xdist)."""
    config.pluginmanager.register(property_seeds)
    number = os.environ.get("PYTEST_XDIST_WORKER", "gw0").removeprefix("gw")
    ports.keep_to(int(number), int(os.environ.get("PYTEST_XDIST_WORKER_COUNT", "1")))


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    call: pytest.CallInfo[None],
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Make a test that skips itself fail, because an untested case must not look tested. A failure
    shows the last output of gateways and brokers, because it may not happen a second time."""
    report = yield
    if report.failed:
        ends = outputs(call.start)
        report.sections += [(f"end of the output of {name}", text) for name, text in ends]
    if report.skipped and not hasattr(report, "wasxfail"):
        report.outcome = "failed"
        report.longrepr = f"no test may be skipped: {report.longrepr}"
    return report


@pytest.hookimpl(wrapper=True, trylast=True)
def pytest_runtest_call() -> Generator[None]:
    """Restore logging after a test that sets it up, as a process of its own does, because the order
    of tests in this process is chance."""
    root = logging.getLogger()
    handlers, level = root.handlers[:], root.level
    try:
        return (yield)
    finally:
        logging.captureWarnings(capture=False)
        root.handlers[:] = handlers
        root.setLevel(level)


@pytest.fixture
def pace() -> Iterator[Pace]:
    """Watch the machine while the test runs, and stretch the test's bounds on time. The garbage
    collector rests meanwhile, because its time depends on the tests before."""
    gc.disable()
    try:
        with Pace() as watched:
            yield watched
    finally:
        gc.enable()


@pytest.fixture(params=[uvloop.new_event_loop, asyncio.new_event_loop], ids=["uvloop", "asyncio"])
def run(request: pytest.FixtureRequest) -> Callable[[Test], None]:
    """Run a test of sockets on an event loop of this kind."""

    def on_loop(test: Test) -> None:
        with asyncio.Runner(loop_factory=request.param) as runner:
            runner.run(test())

    return on_loop
