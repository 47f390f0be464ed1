"""The gateway, as its wheel installs it: ``kafka-gateway serve`` with metrics, traffic log and an
authorizer on."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import Any

from bench.targets.target import Target, TargetError, Versions, port_of
from bench.usage import with_descendants
from devkit.broker import BrokerError, KafkaCluster
from devkit.build_tree import CompileError
from devkit.gateway_config import NODE_IDS, Listener, MountedCluster
from devkit.gateway_process import GatewayError, GatewayProcess
from devkit.installed import InstallError, installed_command
from devkit.wheels import WheelError

_NAMESPACE = "team-a"
_MOUNT, _IDLE_MOUNT = "la:tracking", "ny:tracking"

_ACLS_ON = {"authorization": {"allow.everyone.if.no.acl.found": True}}
"""Every name is asked about, as where there are ACLs; what they cost to look up: bench/acls.py."""


def install(*, compiled: bool) -> Path:
    """The ``kafka-gateway`` of a form, installed now if it is missing, which takes minutes if it is
    compiled. Raises TargetError."""
    try:
        return installed_command("compiled" if compiled else "pure")
    except (CompileError, InstallError, WheelError) as error:
        raise TargetError(str(error)) from error


class Gateway(Target):
    """One worker, or ``workers``, with the packages that users install, and the wheel in one of its
    forms.

    What its clients say in Produce and Fetch depends on the versions they use.

    ``compiled``: the wheel with the hot path compiled by mypyc, else the pure one.
    ``security`` are a listener's keys, for clients that come over TLS.
    """

    def __init__(
        self,
        name: str,
        title: str,
        versions: Versions,
        *,
        compiled: bool = False,
        security: Mapping[str, Any] = MappingProxyType({}),
        workers: int = 1,
    ) -> None:
        self.name = f"{name}-compiled" if compiled else name
        self.title = f"{title}, compiled" if compiled else title
        self.versions = versions
        self._compiled = compiled
        self._workers = workers
        self._listener = Listener("bench", "every namespace", security=security)
        self._process: GatewayProcess | None = None

    def start(self, broker: str) -> None:
        """Start it, and wait until it is ready."""
        command = install(compiled=self._compiled)
        try:
            clusters = self._clusters(broker)
            self._process = GatewayProcess(
                clusters,
                [self._listener],
                [_NAMESPACE] if isinstance(clusters, str) else [],
                workers=self._workers,
                overrides=_ACLS_ON,
                interpreter=command.with_name("python"),
                environment={"PYTHONPATH": ""},
            )
            self._process.start()
        except GatewayError as error:
            raise TargetError(str(error)) from error

    def _clusters(self, broker: str) -> str | list[MountedCluster]:
        return broker

    def stop(self) -> None:
        """End it at once, and remove its files."""
        if self._process is not None:
            self._process.close()
            self._process = None

    @property
    def port(self) -> int:
        """The listener's bootstrap port."""
        return port_of(self._running.bootstrap_servers(self._listener.name))

    @property
    def ports(self) -> Sequence[int]:
        """The bootstrap port, and the port of every broker there may be."""
        return [self.port, *(self.port + node_id for node_id in NODE_IDS)]

    def processes(self) -> list[int]:
        """The supervisor and its workers."""
        return with_descendants(self._running.process.command_pid)

    def log(self) -> str:
        """The whole output of the gateway."""
        return self._running.log()

    def topic(self, stem: str) -> str:
        """A topic in a namespace, with a colon."""
        return f"{_NAMESPACE}:{self.name}-{stem}"

    @property
    def _running(self) -> GatewayProcess:
        assert self._process is not None, "the gateway does not run"
        return self._process


class TreeGateway(Gateway):
    """The same with two clusters mounted: the loaded broker of the bench, and an idle one."""

    def __init__(self, name: str, title: str, versions: Versions, *, compiled: bool) -> None:
        super().__init__(name, title, versions, compiled=compiled)
        self._listener = Listener("bench", "every namespace", security={"volume": _MOUNT})
        self._idle = KafkaCluster()

    def _clusters(self, broker: str) -> list[MountedCluster]:
        try:
            self._idle.start()
        except BrokerError as error:
            raise TargetError(str(error)) from error
        namespaces = {"namespaces": [_NAMESPACE]}
        return [
            MountedCluster(_MOUNT, 1, broker, namespaces),
            MountedCluster(_IDLE_MOUNT, 2, self._idle.bootstrap_servers, namespaces),
        ]

    def stop(self) -> None:
        """End it and the idle cluster at once, and remove their files."""
        super().stop()
        self._idle.stop()


def tree_gateway(*, by_name: bool, compiled: bool = False) -> TreeGateway:
    """Two clusters mounted, and newest clients or, ``by_name``, those of the versions before."""
    if by_name:
        versions = Versions(produce=12, fetch=12)
        return TreeGateway(
            "gateway-tree-names", "gateway, two clusters, names", versions, compiled=compiled
        )
    title = "gateway, two clusters, topic ids"
    return TreeGateway("gateway-tree-ids", title, Versions(), compiled=compiled)


def gateway_with_topic_ids(
    *,
    compiled: bool = False,
    security: Mapping[str, Any] = MappingProxyType({}),
    workers: int = 1,
) -> Gateway:
    """Newest clients: Produce 13 and Fetch 13 and later carry topic ids, nothing is spliced."""
    return Gateway(
        "gateway-ids",
        "gateway, topic ids",
        Versions(),
        compiled=compiled,
        security=security,
        workers=workers,
    )


def gateway_with_names(
    *, compiled: bool = False, security: Mapping[str, Any] = MappingProxyType({})
) -> Gateway:
    """Clients of the versions before: every Produce and Fetch carries names."""
    versions = Versions(produce=12, fetch=12)
    return Gateway(
        "gateway-names", "gateway, names", versions, compiled=compiled, security=security
    )
