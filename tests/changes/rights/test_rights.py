"""Whatever a delegate changes (topics moved, linked, released, deleted and made anew, namespaces
likewise, ACLs added and removed, aliases that end), no principal gets a right that the delegate
could not have granted before, and no ACL is gone that the delegate could not have removed.

RIGHTS_SEQUENCES=N tries so many sequences (``make rights``), from seed RIGHTS_SEED=N on.
"""

from __future__ import annotations

import asyncio
import os
from dataclasses import dataclass
from typing import Final

import pytest

from gateway.decision import Denied
from gateway.views.access import CREATE, READ
from tests.changes.rights.judging import violations
from tests.changes.rights.search import fewest, make, run, run_seed
from tests.changes.rights.steps import take
from tests.changes.rights.worlds import HOME_HOST, Plan, Rights, Step

SEQUENCES: Final = int(os.environ.get("RIGHTS_SEQUENCES", "2000"))
SEED: Final = int(os.environ.get("RIGHTS_SEED", "1"))
PARTS: Final = 6 if SEQUENCES > 1 else 1

LEADS = "ALLOW {} User:bob TOPIC:LITERAL:{}".format


async def _search(first: int, sequences: int) -> str:
    """The first seed whose sequence violates the rule, with the fewest steps; "" if none does."""
    changed = 0
    for seed in range(first, first + sequences):
        outcome = await run_seed(seed)
        changed += any(0 in codes for codes in outcome.codes)
        if outcome.found:
            return f"RIGHTS_SEED={seed} RIGHTS_SEQUENCES=1\n{await fewest(outcome)}"
    assert changed >= sequences // 4, f"only {changed} sequences change anything"
    return ""


@pytest.mark.timeout(300 + SEQUENCES)
@pytest.mark.parametrize("part", range(PARTS))
def test_no_sequence_of_changes_gives_or_sheds_what_the_delegate_could_not(part: int) -> None:
    each = max(1, SEQUENCES // PARTS)
    found = asyncio.run(_search(SEED + part * each, each))
    assert not found, found


# -- sequences that once did -----------------------------------------------------------------------


@dataclass(frozen=True)
class Case:
    """Steps of bob; ``codes`` are the error codes of each step."""

    title: str
    acls: tuple[str, ...]
    steps: tuple[Step, ...]
    codes: tuple[int, ...]
    namespaces: tuple[str, ...] = ("org", "org:a", "org:b", "other", "team-a")
    topics: tuple[str, ...] = ("org.a..t", "other..t", "orders", "pub-x")
    groups: tuple[str, ...] = ()
    ids: tuple[str, ...] = ()
    setup: tuple[Step, ...] = ()

    @property
    def plan(self) -> Plan:
        """The case's world."""
        return Plan(self.namespaces, self.topics, self.acls, self.groups, self.ids, self.setup)


PUB = ("ALLOW CREATE User:bob TOPIC:PREFIXED:pub-", "ALLOW ALTER User:bob TOPIC:PREFIXED:pub-")
OTHER = LEADS("ALL", "other:")
PASSES = LEADS("DESCRIBE", "org:")

CASES = [
    # 1. The default namespace.
    Case(
        "literal-acls-enter-the-default-namespace",
        (OTHER, *PUB, "ALLOW ALL User:eve TOPIC:LITERAL:other:t"),
        (("move", "other:t", "", "pub-new", ""),),
        (0,),
    ),
    Case(
        "the-administrators-acls-leave-it",
        (
            OTHER,
            *PUB,
            "DENY READ User:eve TOPIC:LITERAL:pub-x",
            "ALLOW READ User:ann TOPIC:LITERAL:pub-x",
        ),
        (("move", "pub-x", "other", "mine", ""),),
        (29,),
    ),
    Case(
        "acls-there-and-back",
        (
            OTHER,
            *PUB,
            "DENY READ User:eve TOPIC:LITERAL:pub-n",
            "ALLOW READ User:bob GROUP:LITERAL:*",
        ),
        (
            ("grant", "ALLOW ALL User:eve TOPIC:LITERAL:other:t"),
            ("move", "other:t", "", "pub-n", ""),
            ("move", "pub-n", "other", "t", ""),
        ),
        (0, 0, 29),
    ),
    Case(
        "a-release-into-the-default-namespace",
        (OTHER, *PUB, "ALLOW ALL User:eve TOPIC:LITERAL:other:mine"),
        (("release", "other:mine"),),
        (0,),
        setup=(("move", "pub-x", "other", "mine", ""),),
    ),
    # 2. DENYs that the client cannot remove, but a move would.
    Case(
        "a-deny-above-is-shed-by-a-move",
        (LEADS("ALTER", "org:a:"), OTHER, PASSES, "DENY READ User:bob TOPIC:LITERAL:org:"),
        (("move", "org:a:t", "other", "n", ""),),
        (29,),
    ),
    Case(
        "a-deny-above-is-shed-by-a-link",
        (LEADS("ALTER", "org:a:"), OTHER, PASSES, "DENY READ User:bob TOPIC:LITERAL:org:"),
        (("link", "org:a:t", "APPEND", "other:l"),),
        (29,),
    ),
    Case(
        "out-of-a-namespace-that-denies-delete",
        (
            LEADS("ALTER", "org:a:"),
            OTHER,
            PASSES,
            "DENY CREATE User:bob TOPIC:LITERAL:org:",
            "DENY DELETE User:bob TOPIC:LITERAL:org:",
        ),
        (("move", "org:a:t", "other", "n", ""), ("delete", "other:n")),
        (29, 3),
    ),
    Case(
        "a-flat-topic-is-linked-home",
        (LEADS("ALTER", "orders"), "DENY READ User:bob TOPIC:LITERAL:orders", OTHER),
        (("link", "orders", "APPEND", "other:l"),),
        (29,),
    ),
    Case(
        "a-flat-topic-is-moved-home",
        (LEADS("ALTER", "orders"), "DENY READ User:bob TOPIC:LITERAL:orders", OTHER),
        (("move", "orders", "other", "o", ""),),
        (29,),
    ),
    # 3. Groups and transactional ids that a namespace would capture.
    Case(
        "groups-are-captured-and-deleted",
        (
            "ALLOW CREATE User:bob TOPIC:PREFIXED:team-a:",
            "ALLOW DELETE User:bob TOPIC:PREFIXED:team-a:",
            "ALLOW ALL User:eve GROUP:LITERAL:team-a.x..g",
        ),
        (("create", "team-a:x:"), ("delete", "team-a:x:")),
        (17, 3),
        groups=("team-a.x..g",),
        ids=("team-a.x..tx",),
    ),
    # 5. DENYs that are deleted with a namespace.
    Case(
        "a-deny-on-a-namespace-that-is-made-anew",
        (
            "ALLOW CREATE User:bob TOPIC:PREFIXED:other:",
            "ALLOW DELETE User:bob TOPIC:PREFIXED:other:",
            "DENY READ User:bob TOPIC:LITERAL:other:",
            "DENY READ User:eve TOPIC:PREFIXED:other:t",
        ),
        (("delete", "other:"), ("create", "other:"), ("create", "other:t")),
        (0, 0, 0),
    ),
    Case(
        "a-deny-that-was-there-before-the-namespace",
        (
            "ALLOW CREATE User:bob TOPIC:LITERAL:new:",
            "ALLOW DELETE User:bob TOPIC:LITERAL:new:",
            "DENY READ User:eve TOPIC:LITERAL:new:",
        ),
        (("create", "new:"), ("delete", "new:"), ("create", "new:")),
        (0, 0, 0),
    ),
]


@pytest.mark.parametrize("case", CASES, ids=[case.title for case in CASES])
async def test_a_sequence_that_once_did(case: Case) -> None:
    outcome = await run(case.plan, case.steps)
    assert not outcome.found, str(outcome)
    assert outcome.codes == [[code] for code in case.codes], str(outcome)


async def test_a_deny_binds_the_namespace_that_is_made_anew() -> None:
    case = next(one for one in CASES if one.title == "a-deny-on-a-namespace-that-is-made-anew")
    world = await make(case.plan)
    world.add_acls(["ALLOW READ User:* TOPIC:LITERAL:*"])
    before = world.state()
    for step in case.steps:
        await take(world, step)
    for state in (before, world.state()):
        rights = Rights(state)
        for who in ("User:bob", "User:eve"):
            assert isinstance(rights.access(who, HOME_HOST).topic(READ, b"other:t"), Denied)
        ann = rights.access("User:ann", HOME_HOST)
        assert isinstance(ann.topic(CREATE, b"other:t"), Denied)
    assert not list(violations(before, world.state()))
