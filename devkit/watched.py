"""Two gateways of a tree that produce every metric of the dashboards and alerts.

``root`` has listeners with logins and TLS, ACLs, policies, a policy class that fails, an audit log,
and two children: ``la``, which runs, and ``gone``, which does not. ``la`` gets a broker whose id is
outside its ranges.
"""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from devkit.broker import KafkaCluster
from devkit.certificates import Authority
from devkit.gateway_config import NODE_IDS, Listener, MountedCluster, PeerGateway, TreePlace
from devkit.gateway_process import GatewayProcess
from devkit.ports import free_port

ROOT, LA, GONE = "", "la", "gone"
SEARCH, ADS = "search", "ads"
NAMESPACES: Final = (SEARCH, ADS, "maps", "mail")
SHOWN_NAMESPACES: Final = 3
"""The number of values of the label ``namespace``; further namespaces are counted as
``(other)``."""

USER, PASSWORD = "alice", "wonderland"
_OUTSIDE: Final = NODE_IDS[-1] + 1
_CATALOG: Final = {"replication_factor": 1}

_POLICY_MODULE: Final = "policies_that_fail"
_POLICY: Final = """\
from gateway.policies.interface import CreateTopicPolicy


class Fails(CreateTopicPolicy):
    def validate(self, request_metadata):
        raise RuntimeError("this class fails for every topic")
"""


@dataclass(frozen=True, slots=True)
class Watched:
    """The gateways, the cluster behind each, and the authority of listener ``users``."""

    root: GatewayProcess
    la: GatewayProcess
    root_kafka: KafkaCluster
    la_kafka: KafkaCluster
    authority: Path

    @property
    def metrics_ports(self) -> tuple[int, int]:
        """The ports that Prometheus scrapes."""
        return self.root.plan.metrics_port, self.la.plan.metrics_port

    def add_broker_outside(self) -> None:
        """Start a broker of ``la`` that has a place on no listener. It gets no partition of
        existing topics."""
        self.la_kafka.add_broker(_OUTSIDE)


@contextmanager
def watched() -> Iterator[Watched]:
    """Start the clusters and the gateways; they are stopped and removed at the end of the
    ``with``."""
    with ExitStack() as stack:
        directory = Path(tempfile.mkdtemp(prefix="kafka-gateway-watched-"))
        stack.callback(shutil.rmtree, directory, ignore_errors=True)
        authority = Authority(directory / "tls")
        root_kafka, la_kafka = (stack.enter_context(KafkaCluster(heap="256m")) for _ in (ROOT, LA))
        places = _places(authority, directory)
        root = stack.enter_context(_root(root_kafka, places[ROOT], authority, directory))
        la = stack.enter_context(_la(la_kafka, places[LA]))
        yield Watched(root, la, root_kafka, la_kafka, authority.file)


def _places(authority: Authority, directory: Path) -> dict[str, TreePlace]:
    ports = {mount: free_port() for mount in (ROOT, LA, GONE)}
    children = [PeerGateway(mount, ports[mount], mount) for mount in (LA, GONE)]
    parent = PeerGateway("root", ports[ROOT])
    return {
        ROOT: TreePlace("root", ports[ROOT], authority.peer("root"), authority.file, children),
        LA: TreePlace("la", ports[LA], authority.peer("la"), authority.file, [parent]),
    }


def _volume_listeners() -> list[Listener]:
    return [
        Listener(name, f"of :{volume}", security={"volume": volume, "reach": reach})
        for name, volume, reach in (("root", ROOT, [ROOT, LA, GONE]), ("la", LA, [LA, ROOT]))
    ]


def _root(
    kafka: KafkaCluster, place: TreePlace, authority: Authority, directory: Path
) -> GatewayProcess:
    (directory / f"{_POLICY_MODULE}.py").write_text(_POLICY)
    (directory / USER).write_text(f"{PASSWORD}\n")
    policies = {
        "namespaces": {
            SEARCH: {"partitions": {"max": 6}, "producer": {"acks": "upgrade"}},
            ADS: {"create.topic.policy.class.name": f"{_POLICY_MODULE}:Fails"},
        }
    }
    settings: dict[str, Any] = {
        "catalog": _CATALOG,
        "namespaces": list(NAMESPACES),
        "policies": policies,
    }
    shown = authority.server("gateway")
    users = Listener(
        "users",
        "users prove who they are, and come at most twice a second",
        security={
            "volume": ROOT,
            "reach": [ROOT],
            "security_protocol": "SASL_SSL",
            "tls": {"certificate": str(shown.certificate), "key": str(shown.key)},
            "sasl": {"mechanisms": ["PLAIN"], "users": {USER: {"file": str(directory / USER)}}},
            "max.connection.creation.rate": 2,
        },
    )
    logs = str(directory / "logs")
    return GatewayProcess(
        [MountedCluster(ROOT, 1, kafka.bootstrap_servers, settings)],
        [*_volume_listeners(), users],
        [],
        workers=2,
        tree_place=place,
        environment={"PYTHONPATH": str(directory)},
        overrides={
            "authorization": {"super.users": ["User:ANONYMOUS"]},
            "audit": {"directory": logs, "topic": "audit-events"},
            "metrics": {"max_namespaces": SHOWN_NAMESPACES},
            "traffic_log": {"directory": logs, "topic": "traffic-records", "window_seconds": 1},
        },
    )


def _la(kafka: KafkaCluster, place: TreePlace) -> GatewayProcess:
    settings = {"catalog": _CATALOG, "namespaces": [SEARCH]}
    cluster = MountedCluster(LA, 2, kafka.bootstrap_servers, settings)
    return GatewayProcess([cluster], _volume_listeners(), [], tree_place=place)
