"""Sites of a tree: each is a Kafka with a gateway of its own that knows only its neighbours."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from functools import partial
from typing import Any, Final, Literal

from devkit.broker import KafkaCluster
from devkit.certificates import Authority
from devkit.gateway_config import Listener, MountedCluster, PeerGateway, TreePlace
from devkit.gateway_process import GatewayProcess
from devkit.ports import free_port
from devkit.waiting import wait_until
from tests.live.support import clients
from tests.live.support.wire import Wire

ROOT, LA, TRACKING = "", "la", "la:tracking"

VOLUMES: Final = (ROOT, LA, TRACKING)
NUMBERS: Final = {ROOT: 1, LA: 2, TRACKING: 3}
NAMES: Final = {ROOT: "root", LA: "la", TRACKING: "tracking"}
"""By volume: the name of its gateway, and of its listener at every gateway."""

SPELLINGS: Final = {ROOT: "slash", LA: "colon", TRACKING: "slash"}
"""By the volume of the listener, and the same at all gateways."""

CATALOG: Final = {"replication_factor": 1, "max_staleness": 5}
NAMESPACE: Final = "search"

Principals = Mapping[str, str] | Literal["all"]


@dataclass(frozen=True, slots=True)
class Site:
    """A cluster of the tree, and its gateway."""

    mount: str
    kafka: KafkaCluster
    gateway: GatewayProcess
    place: TreePlace

    def servers(self, volume: str | None = None) -> str:
        """The address of the gateway's listener for a volume, or for its own volume if None."""
        return self.gateway.bootstrap_servers(NAMES[self.mount if volume is None else volume])

    @property
    def peer_address(self) -> str:
        """The address of the gateway's peer listener."""
        return f"127.0.0.1:{self.place.port}"


Tree = Mapping[str, Site]
"""Sites by the mounts of their volumes."""


def relative(volume: str, name: str) -> str:
    """A name such as ``search:clicks`` as the listeners for a volume spell it."""
    return name.replace(":", "/") if SPELLINGS[volume] == "slash" else name


def absolute(volume: str, mount: str, name: str) -> str:
    """A name in the volume at ``mount``, from the root, as listeners for a volume spell it."""
    return relative(volume, f":{mount}:{name}" if mount else f":{name}")


def flat(name: str) -> str:
    """A name of at most one namespace, such as ``search:clicks``, as the cluster stores it."""
    return "..".join(name.rsplit(":", 1))


def listeners(reach: Sequence[str] = VOLUMES) -> list[Listener]:
    """A listener for each volume, which reaches its own volume and all others."""
    return [
        Listener(
            NAMES[volume],
            f"names are relative to :{volume}",
            spelling=SPELLINGS[volume],
            security={
                "volume": volume,
                "reach": [volume, *(each for each in reach if each != volume)],
            },
        )
        for volume in reach
    ]


def start_clusters(stack: ExitStack, count: int) -> list[KafkaCluster]:
    """Start so many Kafkas at once; they stop with the stack."""
    with ThreadPoolExecutor(count) as pool:
        clusters = [KafkaCluster(heap="256m", missed_quickly=True) for _ in range(count)]
        started = list(pool.map(KafkaCluster.start, clusters))
    for kafka in started:
        stack.callback(kafka.stop)
    return started


def places(
    authority: Authority, *, names: Mapping[str, str] = NAMES, principals: Principals = "all"
) -> dict[str, TreePlace]:
    """The places in the tree: the root has the child ``la``, whose child is ``la:tracking``.

    ``principals``: the principals that each gateway lets each of its peers speak for.
    """
    ports = {mount: free_port() for mount in VOLUMES}

    def peer(mount: str, *, child: bool) -> PeerGateway:
        below = mount if child else None
        return PeerGateway(names[mount], ports[mount], below, principals)

    peers = {
        ROOT: [peer(LA, child=True)],
        LA: [peer(ROOT, child=False), peer(TRACKING, child=True)],
        TRACKING: [peer(LA, child=False)],
    }
    return {
        mount: TreePlace(
            names[mount], ports[mount], authority.peer(names[mount]), authority.file, peers[mount]
        )
        for mount in VOLUMES
    }


def gateway_at(
    mount: str,
    kafka: KafkaCluster,
    place: TreePlace,
    *,
    at: Sequence[Listener] | None = None,
    **overrides: Any,
) -> GatewayProcess:
    """A gateway, not started, of the cluster at a mount.

    ``at``: its listeners, by default those of every volume. ``overrides``: top-level keys of its
    configuration.
    """
    cluster = MountedCluster(
        mount,
        NUMBERS[mount],
        kafka.bootstrap_servers,
        {"namespaces": [NAMESPACE], "catalog": CATALOG},
    )
    return GatewayProcess(
        [cluster], listeners() if at is None else at, [], tree_place=place, overrides=overrides
    )


def await_acquainted(tree: Tree) -> None:
    """Wait until every listener of every gateway lists the brokers of all volumes in the tree."""
    for site in tree.values():
        for volume in VOLUMES:
            lists_all = partial(_lists, site.servers(volume), len(tree))
            wait_until(lists_all, f"all brokers at {NAMES[site.mount]}", clients.SECONDS)


def _lists(servers: str, count: int) -> bool:
    return len(metadata(servers).brokers) == count


def metadata(servers: str, *names: str) -> Any:
    """The response to Metadata of these topics."""
    with Wire(servers) as wire:
        topics = [{"topic_id": None, "name": name} for name in names]
        return wire.ask("Metadata", 12, topics=topics, allow_auto_topic_creation=False)


@contextmanager
def sites(clusters: Mapping[str, KafkaCluster], where: Mapping[str, TreePlace]) -> Iterator[Tree]:
    """Start a gateway at each of these places in turn, parents first.

    Each must serve before its children are there.
    """
    with ExitStack() as stack:
        found = {}
        for mount, place in where.items():
            kafka = clusters[mount]
            gateway = stack.enter_context(gateway_at(mount, kafka, place))
            found[mount] = Site(mount, kafka, gateway, place)
        yield found
