"""A gateway that its peers ask, without sockets: the owner of two volumes, on the way to other
volumes."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from types import SimpleNamespace
from typing import Any, cast

from gateway.config.models import Cluster, Config, Listener, Trust
from gateway.config.tree import Child, Peer, TreeSettings
from gateway.connections.volumes import Volumes
from gateway.referrals.locations import Locations
from gateway.referrals.lookups import Lookups
from gateway.referrals.numbers import Numbers
from gateway.referrals.peer_link import PeerLink
from gateway.referrals.questions import Answer, Hop, Kind, Outcome, Question
from gateway.referrals.routing import Routes
from gateway.tree.lanes import LaneHub
from gateway.tree.referred import Referred
from gateway.views.views import Views
from protocol import messages
from protocol.schema import api_key_of
from tests.session.allowing import Allowing
from tests.session.pair import raw_frame
from tests.tree.fake_tree import LISTENER, PATHS, FakeTree
from tests.tree.test_lanes import answers_metadata, wanted
from tests.views.trees import mounts, tree_settings

ALICE = "User:alice"
SIZE = 4


def peer(name: str, principals: Any = "all") -> Peer:
    return Peer.model_construct(name=name, principals=principals)


ROOT, DEEP = peer("root"), peer("deep")


class FakeLink:
    """The way to a peer, which has every mount; ``asked`` are the questions sent there."""

    up = True

    def __init__(self, name: str) -> None:
        self.name = name
        self.asked: list[Question] = []

    async def ask(self, question: Question) -> Answer:
        self.asked.append(question)
        hops = (Hop("gw-far", 10),)
        return Answer(Outcome.ANSWERED, mount=question.target, number=77, hops=hops)


class Owner:
    """A gateway with the volumes ``la`` and ``ny``, the parent ``root``, and below ``ny`` the child
    ``deep``. Clients of ``la``'s listener may see both."""

    def __init__(
        self,
        *,
        allowed: Iterable[str] | None = None,
        trust: Sequence[Trust] = (Trust(listener=LISTENER),),
        **listener: Any,
    ) -> None:
        self.tree = FakeTree()
        for path in PATHS:
            answers_metadata(self.tree.clusters[path])
        settings = {"name": LISTENER, "port": 9000, "volume": "la", "reach": None, **listener}
        self.tree.listener = Listener.model_construct(**settings)
        self._rights(allowed, trust)
        clusters = [
            Cluster.model_construct(name=f"c{n}", mount=path, number=n)
            for n, path in enumerate(PATHS, 1)
        ]
        below = Child.model_construct(
            name="deep", mount="ny:deep", principals="all", certificate=None
        )
        above = Peer.model_construct(name="root", principals="all", certificate=None)
        self.config = Config.model_construct(
            gateway_id="gw",
            clusters=tuple(clusters),
            listeners=(self.tree.listener,),
            tree=TreeSettings.model_construct(parents=(above,), children=(below,)),
        )
        routes = Routes.of_config(self.config)
        self.links = {name: FakeLink(name) for name in ("root", "deep")}
        lookups = Lookups(
            "gw",
            routes,
            {name: cast(PeerLink, link) for name, link in self.links.items()},
            locations=Locations(expiry_seconds=30, unknown_seconds=5),
            numbers=Numbers({path: n for n, path in enumerate(PATHS, 1)}),
            max_hops=16,
        )
        self.referred = Referred(cast(LaneHub, self.tree), self.config, routes, lookups)

    def _rights(self, allowed: Iterable[str] | None, trust: Sequence[Trust]) -> None:
        """Let volumes trust the listener, and allow the listed operations in ``ny`` (None:
        everything)."""
        tree = self.tree
        authorizer = None if allowed is None else Allowing(allowed)
        settings = [tree_settings(mounts(*PATHS), "ny", "la")]
        tree.views["ny"] = Views(tree.catalogs["ny"], settings, authorizer)
        config = cast(Any, SimpleNamespace(principals={}, clusters=[SimpleNamespace(trust=trust)]))
        volumes = [
            replace(each, views=tree.views[each.path], config=config) for each in tree.volumes
        ]
        tree.volumes = Volumes(volumes, [tree.listener])

    def asked(self) -> list[tuple[str, Any]]:
        """The requests that the clusters got."""
        return [each for path in PATHS for each in self.tree.clusters[path].asked]

    def passed_on(self) -> list[tuple[str, Question]]:
        """The questions passed on to peers."""
        return [(link.name, each) for link in self.links.values() for each in link.asked]


def question(kind: Kind = Kind.REQUEST, target: str = "ny", **values: Any) -> Question:
    """A question of a client at ``la``'s listener of another gateway."""
    asked = Question(kind, "la", target, ("gw-asker",), 8, 60.0, ALICE, "192.0.2.7")
    return replace(asked, **values)


def request(
    api: str, version: int, body: bytes, *, client_id: bytes | None = b"app", number: int = 5
) -> bytes:
    """A request without its size."""
    return raw_frame(api_key_of(f"{api}Request"), version, body, number, client_id)[SIZE:]


def metadata(*names: str, **values: Any) -> Question:
    return question(request=request("Metadata", 12, wanted(*names)), **values)


def read(answer: Answer, api: str, version: int, header: int = 5) -> Any:
    """The response in an answer; ``header`` is the number of bytes of its header."""
    assert answer.outcome is Outcome.ANSWERED, answer.text
    return messages.parse(f"{api}Response", version, answer.response[header:])
