"""The configuration of the brokers of a test cluster."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from devkit.broker_security import BrokerSecurity

HOST = "127.0.0.1"
PASSED = "PASSED"
"""The listener whose clients are told the port of a TCP proxy before it."""


@dataclass(frozen=True, slots=True)
class NodePlan:
    """A node: its id, its ports, its directory. The controller also has a controller port.

    ``secure_ports`` are the ports of the listeners besides PLAINTEXT, by name.
    """

    node_id: int
    port: int
    controller_port: int | None
    directory: Path
    secure_ports: Mapping[str, int] = field(default_factory=dict)

    @property
    def address(self) -> str:
        """``host:port`` of the listener PLAINTEXT."""
        return f"{HOST}:{self.port}"

    def address_of(self, protocol: str) -> str:
        """``host:port`` of the listener for a security protocol."""
        return self.address if protocol == "PLAINTEXT" else f"{HOST}:{self.secure_ports[protocol]}"

    @property
    def properties_path(self) -> Path:
        """The broker's configuration file."""
        return self.directory / "server.properties"

    @property
    def log_path(self) -> Path:
        """The file of the broker's output."""
        return self.directory / "server.log"


def server_properties(
    node: NodePlan,
    voters: Sequence[NodePlan],
    replicas: int,
    overrides: Mapping[str, str],
    security: BrokerSecurity | None = None,
    passed_by: int | None = None,
) -> dict[str, str]:
    """The configuration of ``node``: Kafka's defaults, unless tests need other values.

    ``replicas`` is the replication factor of new topics and of Kafka's internal topics;
    ``overrides`` replace all other settings; ``passed_by`` is the port of the TCP proxy before
    the listener ``PASSED``, if there is one.
    """
    protocols = ["PLAINTEXT", *node.secure_ports]
    listeners = [f"{protocol}://{node.address_of(protocol)}" for protocol in protocols]
    told = {PASSED: f"{HOST}:{passed_by}"}
    advertised = [f"{name}://{told.get(name, node.address_of(name))}" for name in protocols]
    spoken = {PASSED: "PLAINTEXT"}
    roles = ["broker"]
    if node.controller_port is not None:
        listeners.append(f"CONTROLLER://{HOST}:{node.controller_port}")
        roles.append("controller")
    quorum = [f"{voter.node_id}@{HOST}:{voter.controller_port}" for voter in voters]
    return {
        "process.roles": ",".join(roles),
        "node.id": str(node.node_id),
        "controller.quorum.voters": ",".join(quorum),
        "listeners": ",".join(listeners),
        "advertised.listeners": ",".join(advertised),
        "controller.listener.names": "CONTROLLER",
        "inter.broker.listener.name": "PLAINTEXT",
        "listener.security.protocol.map": ",".join(
            ["CONTROLLER:PLAINTEXT", *(f"{name}:{spoken.get(name, name)}" for name in protocols)]
        ),
        "log.dirs": str(node.directory / "data"),
        "auto.create.topics.enable": "true",
        "num.partitions": "1",
        **_replication(replicas),
        **(_ALONE if replicas == 1 else {}),
        **_HASTE,
        **(security.properties(node.directory) if security is not None else {}),
        **overrides,
    }


def _replication(replicas: int) -> dict[str, str]:
    factor, in_sync = str(replicas), "1"
    return {
        "default.replication.factor": factor,
        "offsets.topic.replication.factor": factor,
        "transaction.state.log.replication.factor": factor,
        "transaction.state.log.min.isr": in_sync,
        "share.coordinator.state.topic.replication.factor": factor,
        "share.coordinator.state.topic.min.isr": in_sync,
    }


MISSED_QUICKLY = {"broker.session.timeout.ms": "3000"}
"""With this setting the controller fences a killed broker after 3 s, instead of Kafka's 9 s. Until
then it also rejects the same broker if it is started again (DUPLICATE_BROKER_REGISTRATION)."""

# If nothing changes, the controller writes a record every 500 ms, which costs a third of an idle
# broker's CPU time. Other nodes learn from it which records are committed, so it is turned off only
# if there are no others.
_ALONE = {"metadata.max.idle.interval.ms": "0"}

# For a single machine, a few topics, and a person who waits.
_HASTE = {
    "offsets.topic.num.partitions": "5",
    "transaction.state.log.num.partitions": "5",
    "share.coordinator.state.topic.num.partitions": "5",
    "group.initial.rebalance.delay.ms": "0",
    "group.consumer.heartbeat.interval.ms": "1000",
    "group.consumer.min.heartbeat.interval.ms": "500",
    "num.network.threads": "2",
    "num.io.threads": "4",
    "log.cleaner.dedupe.buffer.size": "4194304",
    "controlled.shutdown.enable": "true",
    # How soon a started broker is unfenced, and a stopping broker's partitions are handed over.
    "broker.heartbeat.interval.ms": "500",
    # No broker is killed, so the controller never has to notice it; but on a busy machine a
    # heartbeat may be late by more than Kafka's 9 s, and then the broker would be fenced, and its
    # partitions would lose their leader.
    "broker.session.timeout.ms": "120000",
    "leader.imbalance.check.interval.seconds": "5",
}


def properties_text(properties: Mapping[str, str]) -> str:
    """A Java properties file; no value here needs escaping."""
    return "".join(f"{key}={value}\n" for key, value in properties.items())
