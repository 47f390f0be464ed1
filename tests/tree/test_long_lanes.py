"""Long requests for other volumes are decided in slices, between which other clients are served."""

from __future__ import annotations

import asyncio
import gc
from collections.abc import Iterator
from time import thread_time
from typing import Any

import pytest

from gateway.error_codes import LEADER_NOT_AVAILABLE, TOPIC_AUTHORIZATION_FAILED
from gateway.views.views import Views
from tests.session.allowing import Allowing
from tests.session.long_requests import TRIES, Longest
from tests.tree.fake_tree import FakeTree
from tests.tree.referred_owner import ROOT, Owner, question, read, request
from tests.tree.test_lanes import answers_metadata, wanted
from tests.views.trees import mounts, tree_settings

pytestmark = pytest.mark.alone

MANY = 30_000
WANTED_SECONDS = 0.05


@pytest.fixture
def longest(monkeypatch: pytest.MonkeyPatch) -> Iterator[Longest]:
    """The CPU time of the longest callback of the event loop."""
    gc.collect()
    gc.freeze()  # Python looks at no objects of other tests, as in a worker
    found = Longest()
    run = asyncio.Handle._run

    def timed(handle: asyncio.Handle) -> None:
        before = thread_time()
        run(handle)
        found.seconds = max(found.seconds, thread_time() - before)

    monkeypatch.setattr(asyncio.Handle, "_run", timed)
    yield found


def tree(*, down: bool, rights: bool) -> FakeTree:
    """A tree and a client without rights in ``ny``, or with ``ny`` down."""
    made = FakeTree()
    answers_metadata(made.clusters["ny"])
    if not rights:
        settings = [tree_settings(mounts("la", "ny"), "ny", "la")]
        views = Views(made.catalogs["ny"], settings, Allowing([]))
        object.__setattr__(made.volumes["ny"], "views", views)
    made.clusters["ny"].reachable = not down
    return made


async def asked(made: FakeTree, longest: Longest, *names: str) -> tuple[float, Any]:
    """The seconds of the longest callback while a client's request is answered, and the
    response."""
    session = made.begin("Metadata", 9, {"topics": [{"name": name} for name in names]})
    await asyncio.sleep(0)
    longest.seconds = 0.0
    await asyncio.create_task(made.settle(session))
    seconds = longest.seconds
    return seconds, made.answered("Metadata", 9, session)


@pytest.mark.parametrize(
    ("down", "rights", "code", "many"),
    [
        (False, False, TOPIC_AUTHORIZATION_FAILED, 3 * MANY),
        (True, True, LEADER_NOT_AVAILABLE, MANY),
    ],
)
async def test_names_of_another_volume(
    longest: Longest, down: bool, rights: bool, code: int, many: int
) -> None:
    names = [f":ny:t{n}" for n in range(many)]
    for _ in range(TRIES):
        seconds, answer = await asked(tree(down=down, rights=rights), longest, *names)
        if seconds < WANTED_SECONDS:
            break
        gc.collect()
    assert len(answer.topics) == many
    assert {int(topic.error_code) for topic in answer.topics} == {code}
    assert seconds < WANTED_SECONDS


async def test_names_of_several_volumes(longest: Longest) -> None:
    made = tree(down=True, rights=True)
    made.clusters["la"].reachable = False
    names = [f"{':ny:' * (n % 2)}t{n}" for n in range(MANY)]
    seconds, answer = await asked(made, longest, *names)
    assert [topic.name for topic in answer.topics] == names
    assert seconds < WANTED_SECONDS


async def test_names_that_a_peer_asks_for(longest: Longest) -> None:
    owner = Owner(allowed=())
    body = wanted(*(f":ny:t{n}" for n in range(MANY)), version=9)
    asked_by_peer = question(request=request("Metadata", 9, body))
    await asyncio.sleep(0)
    longest.seconds = 0.0
    answer = await asyncio.create_task(owner.referred.answer(ROOT, asked_by_peer))
    seconds = longest.seconds
    topics = read(answer, "Metadata", 9).topics
    assert {int(topic.error_code) for topic in topics} == {TOPIC_AUTHORIZATION_FAILED}
    assert seconds < WANTED_SECONDS
