"""How changes are decided; and the namespace tree: its children, its topics, and when it is
rebuilt."""

from __future__ import annotations

from gateway.catalog.entities import Namespace, TopicEntry
from gateway.catalog.snapshot import Snapshot
from gateway.changes.base.usage import Trees
from gateway.names import LogicalName
from gateway.topic_ids import TopicIndex
from tests.changes.fakes import World

TOPICS = ["plain", "org..a", "org.x..b", "org.x..c", "moved", "__consumer_offsets"]


def index() -> TopicIndex:
    found = TopicIndex()
    found.replace([(name.encode(), None) for name in TOPICS])
    return found


def test_children_and_counts() -> None:
    snapshot = Snapshot.of(
        ["org:x", "org:y", "a"], topics=[TopicEntry("moved", LogicalName("a", "b"))]
    )
    tree = Trees().of(snapshot, index())
    assert tree.children == {"": ["a", "org"], "org": ["org:x", "org:y"]}
    assert tree.topics == {"": 1, "org": 1, "org:x": 2, "a": 1}


def test_it_is_kept_until_something_changes() -> None:
    trees, topics, snapshot = Trees(), index(), Snapshot.of(["org"])
    tree = trees.of(snapshot, topics)
    assert trees.of(snapshot, topics) is tree
    topics.learn(b"org..new", None)
    assert trees.of(snapshot, topics).topics["org"] == 2
    later = snapshot.apply([Namespace("org:x")], 2)
    assert trees.of(later, topics).topics["org:x"] == 2


async def test_what_is_only_validated_is_not_written() -> None:
    world = World()
    context = world.gateway().context
    await context.decide(lambda _: [Namespace("org")], validate_only=True)
    assert not world.log.decisions
    await context.decide(lambda _: [Namespace("org")], validate_only=False)
    assert world.log.decisions == [(Namespace("org"),)]


async def test_what_is_tidy_is_left_alone() -> None:
    world = World()
    gateway = world.gateway()
    assert await gateway.context.tidy(lambda _: []) is None
    assert not world.log.decisions
    assert await gateway.context.tidy(lambda _: [Namespace("org")]) is None
    assert world.log.decisions == [(Namespace("org"),)]
    gateway.catalog.down = True
    assert isinstance(await gateway.context.tidy(lambda _: [Namespace("a")]), OSError)
