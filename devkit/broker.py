"""A real Apache Kafka in KRaft mode, for the demo, the tests and the bench.

``python -m devkit.broker`` starts a broker, prints its address and runs until Ctrl-C.
"""

from __future__ import annotations

import argparse
import atexit
import shutil
import tempfile
import threading
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Self

from confluent_kafka import KafkaException
from confluent_kafka.admin import AdminClient

from devkit.broker_config import (
    MISSED_QUICKLY,
    PASSED,
    NodePlan,
    properties_text,
    server_properties,
)
from devkit.broker_format import format_data, new_id
from devkit.broker_program import BrokerProgram
from devkit.broker_security import BrokerSecurity
from devkit.ports import free_port
from devkit.process import ManagedProcess
from devkit.waiting import DeadlineError, progress, wait_until

KAFKA_VERSION = BrokerProgram().version

_CONTROLLER_ID = 1
# Long: machines are busy. The wait ends at once when the process has ended.
_START_SECONDS = 240.0
_STOP_SECONDS = 120.0
_ASK_SECONDS = 60.0
_ANSWER_SECONDS = 2.0
_START_TRIES = 3
_PORT_TAKEN = "Address already in use"


class BrokerError(Exception):
    """A broker did not start; the message holds the end of its log."""


class KafkaCluster:
    """Brokers on this machine; node 1 is their only controller, so node 1 cannot be stopped.

    Ports are chosen free; data is in a temporary directory that ``stop`` removes, which also runs
    at exit. Not thread-safe; nothing here needs an event loop.

    ``nodes``: the number of brokers, with ids from 1.
    ``overrides``: broker settings.
    ``security``: adds listeners with TLS or SASL, users and an authorizer; without it all is
    PLAINTEXT.
    ``quick_start``: gives up half of Java's top speed for a quicker start; the bench turns it off.
    ``missed_quickly``: brokers may be killed, and are fenced 3 s later; without it a busy machine
    may stop them for two minutes.
    ``jar_set``: another Kafka, for nodes that ``jar_sets`` does not name.
    ``release``: the release that all nodes support, if they differ (``3.9``).
    ``classes``: a directory that precedes Kafka on the class path.
    ``archive_classes``: the file to which a broker writes its class data when it ends.
    ``passed_by``: the port of a TCP proxy, which clients of the listener ``PASSED`` are told.
    """

    def __init__(
        self,
        nodes: int = 1,
        *,
        overrides: Mapping[str, str] | None = None,
        security: BrokerSecurity | None = None,
        heap: str = "512m",
        quick_start: bool = True,
        missed_quickly: bool = False,
        jar_set: str = "kafka",
        jar_sets: Mapping[int, str] | None = None,
        release: str | None = None,
        classes: Path | None = None,
        archive_classes: Path | None = None,
        passed_by: int | None = None,
    ) -> None:
        self._first_ids = range(1, nodes + 1)
        self._missed_quickly = missed_quickly
        self._overrides = (MISSED_QUICKLY if missed_quickly else {}) | dict(overrides or {})
        self._security = security
        self._program = BrokerProgram(jar_set, classes, heap, quick_start, archive_classes)
        self._jar_sets = dict(jar_sets or {})
        self._release = release
        self._passed_by = passed_by
        self._cluster_id = new_id()
        self._directory: Path | None = None
        self._plans: dict[int, NodePlan] = {}
        self._processes: dict[int, ManagedProcess] = {}

    # --- life ---

    def start(self) -> Self:
        """Start all brokers and wait until every broker responds. Raises BrokerError."""
        atexit.register(self.stop)
        try:
            for node_id in (_CONTROLLER_ID, *self._jar_sets):
                self._program_of(node_id).fetch()
            with progress(f"starting Apache Kafka {self._program.version}"):
                self._start_first_nodes()
        except BaseException:
            self.stop()
            raise
        return self

    def stop(self) -> None:
        """End every broker at once and remove its data. May be called again."""
        atexit.unregister(self.stop)
        for process in self._processes.values():
            process.kill()
        self._processes.clear()
        self._plans.clear()
        if self._directory is not None:
            shutil.rmtree(self._directory, ignore_errors=True)
            self._directory = None

    def __enter__(self) -> Self:
        return self.start()

    def __exit__(self, *_: object) -> None:
        self.stop()

    # --- brokers ---

    def add_broker(self, node_id: int) -> str:
        """Start another broker and wait until it has joined; returns its address."""
        if node_id in self._plans:
            raise ValueError(f"node {node_id} is part of the cluster already")
        with progress(f"adding broker {node_id}"):
            self._start_node(self._plan(node_id))
        return self._plans[node_id].address

    def stop_broker(self, node_id: int) -> None:
        """Stop a broker like an operator does: it hands its leaderships over, then ends."""
        self._reject_controller(node_id)
        with progress(f"stopping broker {node_id}"):
            self._processes.pop(node_id).terminate(seconds=_STOP_SECONDS)

    def kill_broker(self, node_id: int) -> None:
        """End a broker with no warning, like ``kill -9``. Raises ValueError without
        ``missed_quickly``, because the cluster would count on the broker for minutes."""
        if not self._missed_quickly:
            raise ValueError("brokers are killed in a cluster with missed_quickly=True")
        self._reject_controller(node_id)
        self._processes.pop(node_id).kill()

    def restart_broker(
        self, node_id: int, *, elsewhere: bool = False, jar_set: str | None = None
    ) -> None:
        """Start a stopped broker again, or stop and start it, with its data and its port; if
        ``elsewhere``, on another port; with ``jar_set``, as another Kafka."""
        if jar_set is not None:
            self._jar_sets[node_id] = jar_set
            self._program_of(node_id).fetch()
        if node_id in self._processes:
            # The controller's own clean stop waits for a quorum of which it is a member.
            self._processes.pop(node_id).terminate(seconds=_STOP_SECONDS)
        if elsewhere:
            self._plans[node_id] = replace(self._plans[node_id], port=free_port())
            self._configure(self._plans[node_id])
        with progress(f"restarting broker {node_id}"):
            self._launch(self._plans[node_id])
            self._await_node(self._plans[node_id])

    def _reject_controller(self, node_id: int) -> None:
        if node_id == _CONTROLLER_ID and len(self._plans) > 1:
            raise ValueError(f"node {node_id} is the only controller: the others need it")

    # --- what is running ---

    @property
    def bootstrap_servers(self) -> str:
        """``host:port`` of every running broker, joined by commas."""
        return self.servers("PLAINTEXT")

    def servers(self, protocol: str) -> str:
        """``host:port`` of every running broker's listener for ``protocol``, joined by commas."""
        return ",".join(self._plans[node].address_of(protocol) for node in self.running)

    @property
    def addresses(self) -> dict[int, str]:
        """``host:port`` of every broker that was ever started, by node id."""
        return {node_id: plan.address for node_id, plan in self._plans.items()}

    @property
    def running(self) -> list[int]:
        """The node ids of the brokers that run."""
        return sorted(self._processes)

    def process_id(self, node_id: int) -> int:
        """The process id of a running broker."""
        return self._processes[node_id].command_pid

    def log_tail(self, node_id: int, lines: int = 40) -> str:
        """The last lines of a broker's log."""
        return self._processes[node_id].tail(lines)

    def admin(self) -> AdminClient:
        """A client that connects to the brokers directly."""
        return AdminClient({"bootstrap.servers": self.bootstrap_servers, "log_level": 0})

    def topics(self, *, internal: bool = False) -> set[str]:
        """The flat names that the brokers store, without Kafka's own unless ``internal``."""
        names = set(self.admin().list_topics(timeout=_ASK_SECONDS).topics)
        return names if internal else {name for name in names if not name.startswith("__")}

    def live_brokers(self) -> set[int]:
        """The node ids that the cluster's metadata names."""
        return set(self.admin().list_topics(timeout=_ASK_SECONDS).brokers)

    # --- inside ---

    def _start_first_nodes(self) -> None:
        controller = self._plan(_CONTROLLER_ID)
        others = [self._plan(node_id) for node_id in self._first_ids[1:]]
        self._start_node(controller)
        # The others may start together: each waits for the controller by itself.
        for plan in others:
            self._prepare(plan)
            self._launch(plan)
        for plan in others:
            self._await_or_move(plan)

    def _plan(self, node_id: int) -> NodePlan:
        if self._directory is None:
            self._directory = Path(tempfile.mkdtemp(prefix="kafka-gateway-broker-"))
        directory = self._directory / f"node-{node_id}"
        controller_port = free_port() if node_id == _CONTROLLER_ID else None
        protocols = [*(self._security.protocols if self._security is not None else ())]
        if self._passed_by is not None:
            protocols.append(PASSED)
        secure_ports = {protocol: free_port() for protocol in protocols}
        plan = NodePlan(node_id, free_port(), controller_port, directory, secure_ports)
        self._plans[node_id] = plan
        return plan

    def _start_node(self, plan: NodePlan) -> None:
        self._prepare(plan)
        self._launch(plan)
        self._await_or_move(plan)

    def _await_or_move(self, plan: NodePlan) -> None:
        """Wait for a broker; if its port was taken meanwhile, it is started on another port."""
        for tries_left in reversed(range(_START_TRIES)):
            try:
                return self._await_node(plan)
            except BrokerError:
                if not tries_left or _PORT_TAKEN not in plan.log_path.read_text():
                    raise
            self._processes.pop(plan.node_id).kill()
            shutil.rmtree(plan.directory)
            plan = self._plan(plan.node_id)
            self._prepare(plan)
            self._launch(plan)
        return None

    def _prepare(self, plan: NodePlan) -> None:
        """Write the configuration and format the data directory."""
        plan.directory.mkdir()
        self._configure(plan)
        if "log.dirs" in self._overrides:  # several directories, and elsewhere
            return self._run_format(plan)
        program = self._program_of(plan.node_id)
        kind = (
            program.jar_set,
            program.classes,
            plan.controller_port is None,
            *self._format_arguments(),
            *sorted(self._overrides.items()),
        )
        data = plan.directory / "data"
        format_data(data, kind, plan.node_id, self._cluster_id, lambda: self._run_format(plan))
        return None

    def _format_arguments(self) -> list[str]:
        release = ["--release-version", self._release] if self._release is not None else []
        return release + (self._security.format_arguments() if self._security is not None else [])

    def _run_format(self, plan: NodePlan) -> None:
        arguments = ["format", f"--cluster-id={self._cluster_id}", "-c", str(plan.properties_path)]
        arguments += self._format_arguments()
        log_path = plan.directory / "format.log"
        command = self._program_of(plan.node_id).format_command(arguments)
        with ManagedProcess(f"format of node {plan.node_id}", command, log_path) as process:
            wait_until(lambda: not process.running, process.name, _START_SECONDS)
            if process.returncode != 0:
                raise BrokerError(f"{process.name} failed\n{process.tail()}")

    def _program_of(self, node_id: int) -> BrokerProgram:
        jar_set = self._jar_sets.get(node_id, self._program.jar_set)
        return replace(self._program, jar_set=jar_set)

    def _configure(self, plan: NodePlan) -> None:
        voters = [self._plans[_CONTROLLER_ID]]
        replicas = min(len(self._first_ids), 3)
        properties = server_properties(
            plan, voters, replicas, self._overrides, self._security, self._passed_by
        )
        plan.properties_path.write_text(properties_text(properties))

    def _launch(self, plan: NodePlan) -> None:
        name = f"Kafka broker {plan.node_id}"
        command = self._program_of(plan.node_id).serve_command(plan.properties_path)
        self._processes[plan.node_id] = ManagedProcess(name, command, plan.log_path)

    def _await_node(self, plan: NodePlan) -> None:
        """Wait until the broker responds with metadata that names it. Raises BrokerError."""
        process = self._processes[plan.node_id]
        asking: dict[str, str | int | float | bool] = {
            "bootstrap.servers": plan.address,
            "log_level": 0,
            "reconnect.backoff.ms": 20,
            "reconnect.backoff.max.ms": 50,
        }

        def ready() -> bool:
            if not process.running:
                raise BrokerError(f"{process.name} ended by itself\n{process.tail()}")
            with suppress(KafkaException):
                # A new client each time: if a response comes late, a client leaves this address for
                # the advertised address, behind which a test's relay may not be up yet.
                return (
                    plan.node_id in AdminClient(asking).list_topics(timeout=_ANSWER_SECONDS).brokers
                )
            return False

        try:
            wait_until(ready, process.name, _START_SECONDS, poll=0.02)
        except DeadlineError as error:
            raise BrokerError(f"{error}\n{process.tail()}") from error


def main(arguments: Sequence[str] | None = None) -> None:
    """Start a broker, print its address, and serve until Ctrl-C; there are no options."""
    argparse.ArgumentParser(
        prog="python -m devkit.broker",
        description=f"Start one Apache Kafka {KAFKA_VERSION} broker in KRaft mode on a free port, "
        "print its address, and run it until Ctrl-C. Its data goes away with it.",
    ).parse_args(arguments)
    with KafkaCluster() as cluster, suppress(KeyboardInterrupt):
        print(cluster.bootstrap_servers, flush=True)
        threading.Event().wait()


if __name__ == "__main__":
    main()
