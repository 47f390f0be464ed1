"""gateway.views.access: if there is no authorizer, everything that a view shows is allowed, and no
more."""

from __future__ import annotations

from gateway.acl_model import Operation, Resource, ResourceType
from gateway.catalog.snapshot import Snapshot
from gateway.decision import Denied, Resolved
from gateway.views.access import ALTER, READ, WRITE, Access
from gateway.views.view import View, ViewSettings

SNAPSHOT = Snapshot.of(["team-a", "team-b"])


def access(home: str = "") -> Access:
    return Access(View(ViewSettings("test", home=home), SNAPSHOT), "", "")


def test_all_that_is_shown_is_allowed() -> None:
    everything = access()
    assert not everything.authorizes
    assert isinstance(everything.to_write(b"team-b:x"), Resolved)
    assert everything.flat_denial(ALTER, b"team-b..x") is None
    assert everything.namespace(ALTER, "team-b") is None
    assert everything.cluster(ALTER) is None
    assert everything.any_topic(WRITE) is None
    assert everything.lists_group(b"app")
    assert everything.creation(Resource(ResourceType.TOPIC, "", "x")) is None
    assert everything.denial(ALTER, Resource(ResourceType.TOPIC, "", "x")) is None
    assert everything.group(READ, b"app") == b"app"
    assert everything.transactional_id(int(Operation.WRITE), b"tx") == b"tx"


def test_what_is_not_shown_is_not() -> None:
    confined = access(home="team-a")
    for found in (confined.to_read(b":team-b:x"), confined.to_write(b":team-b:x")):
        assert isinstance(found, Denied)
    assert confined.group(READ, b"app") == b"team-a..app"
