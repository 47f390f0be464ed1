"""gateway.page.clusters: a worker's report on a cluster, bounded."""

from __future__ import annotations

from types import SimpleNamespace
from typing import cast

from gateway.catalog.entities import CatalogFormat, Gateway, Member
from gateway.catalog.replicated import ReplicatedCatalog
from gateway.catalog.snapshot import Snapshot
from gateway.cluster.cluster import Cluster
from gateway.page.clusters import MAX_GATEWAYS, MAX_NAMESPACES, DescribedCluster


class FakeCatalog:
    position, age, fresh, damaged, skipped = 44, 0.25, True, 1, 2

    def __init__(self, snapshot: Snapshot) -> None:
        self.snapshot = snapshot


def described(snapshot: Snapshot, mount: str | None = None) -> tuple[DescribedCluster, FakeCatalog]:
    catalog = FakeCatalog(snapshot)
    index = SimpleNamespace(names=lambda: [b"a", b"b"])
    cluster = SimpleNamespace(reachable=True, index=index)
    number = 0 if mount is None else 7
    return (
        DescribedCluster(
            "main", mount, number, cast(Cluster, cluster), cast(ReplicatedCatalog, catalog)
        ),
        catalog,
    )


def test_a_cluster_with_its_fleet() -> None:
    snapshot = Snapshot.of(["org:apache", "hr"]).apply(
        [
            CatalogFormat(4),
            Gateway("gw-b", 4, "0.2.0"),
            Gateway("gw-a", 3, "0.1.0"),
            Member("gw-b", 2, {"all": "gw-b.example:9300"}, {}, ()),
        ],
        9,
    )
    cluster, _ = described(snapshot)
    assert cluster.item() == {
        "name": "main",
        "mount": None,
        "number": 0,
        "reachable": True,
        "topics": 2,
        "offset": 44,
        "age": 0.25,
        "fresh": True,
        "damaged": 1,
        "skipped": 2,
        "format": 4,
        "entities": snapshot.size,
        "namespaces": ["hr", "org", "org:apache"],
        "namespaces_in_all": 3,
        "gateways": [
            {"id": "gw-a", "software": "0.1.0", "format": 3, "node": None, "addresses": {}},
            {
                "id": "gw-b",
                "software": "0.2.0",
                "format": 4,
                # Node ids of gateways begin at 2^30 (gateway/node_ids.py).
                "node": 2**30 + 2,
                "addresses": {"all": "gw-b.example:9300"},
            },
        ],
        "gateways_in_all": 2,
        "gateways_down": [],
    }


def test_names_in_a_tree_begin_at_its_root() -> None:
    cluster, _ = described(Snapshot.of(["search"]), "la:tracking")
    item = cluster.item()
    assert (item["mount"], item["number"]) == ("la:tracking", 7)
    assert item["namespaces"] == ["la:tracking:search"]


def test_many_namespaces_and_gateways_are_cut() -> None:
    paths = [f"a{n:04}:b" for n in range(1_000)]
    gateways = [Gateway(f"g{n:03}", 4, "1") for n in range(200)]
    cluster, _ = described(Snapshot.of(paths).apply(gateways, 2))
    item = cluster.item()
    # The outermost first, because the others follow from them.
    assert item["namespaces"] == [f"a{n:04}" for n in range(MAX_NAMESPACES)]
    assert item["namespaces_in_all"] == 2_000
    assert [one["id"] for one in item["gateways"]] == [f"g{n:03}" for n in range(MAX_GATEWAYS)]
    assert item["gateways_in_all"] == 200


def test_a_change_of_the_catalog_is_told() -> None:
    cluster, catalog = described(Snapshot.of(["org"]))
    assert cluster.item()["namespaces"] == ["org"]
    catalog.snapshot = Snapshot.of(["org", "hr"])
    assert cluster.item()["namespaces"] == ["hr", "org"]


def test_gateways_that_are_down_are_named() -> None:
    cluster, _ = described(Snapshot.of(["org"]))
    cluster.down = lambda: {"gw-c", "gw-b"}
    assert cluster.item()["gateways_down"] == ["gw-b", "gw-c"]
