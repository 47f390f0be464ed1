"""gateway.referrals.believing: which answers of a peer are accepted, and which are not."""

from __future__ import annotations

from dataclasses import replace
from uuid import UUID

import pytest

from gateway.referrals.believing import inner_of, lie_of, passed_back
from gateway.referrals.numbers import Numbers
from gateway.referrals.questions import MAX_HOPS, MAX_TEXT, Answer, Hop, Kind, Outcome, Question
from gateway.referrals.routing import Routes
from protocol import messages
from protocol.headers import response_header
from protocol.schema import api_key_of
from tests.referrals.memory_links import (
    CHILD,
    METADATA,
    MOUNT,
    NUMBER,
    OWN,
    VERSION,
    answer_to,
    metadata,
    question,
)

ROUTES = Routes([OWN], [("child", CHILD)], ["left"])
REQUEST = question(kind=Kind.REQUEST)


def lie(peer: str, asked: Question, answer: Answer, numbers: Numbers | None = None) -> str | None:
    """The error in an answer, or None if it is accepted."""
    known = Numbers({OWN: 1}) if numbers is None else numbers
    found = lie_of(peer, asked, inner_of(asked), answer, ROUTES, known)
    return None if found is None else found.text


def test_the_head_of_a_request() -> None:
    inner = inner_of(question(kind=Kind.REQUEST, correlation_id=258))
    assert inner is not None
    assert (inner.api_key, inner.version) == (METADATA, VERSION)
    assert inner.correlated(metadata(1)) == metadata(258)
    assert inner_of(question()) is None


@pytest.mark.parametrize("kind", list(Kind))
def test_an_answer_of_the_owner_is_believed(kind: Kind) -> None:
    asked = question(kind=kind)
    assert lie("left", asked, answer_to(asked)) is None


@pytest.mark.parametrize(
    ("peer", "mount", "text"),
    [
        ("left", OWN, "not mounted behind it"),
        ("left", f"{OWN}:x", "not mounted behind it"),
        ("left", CHILD, "not mounted behind it"),
        ("left", f"{CHILD}:x", "not mounted behind it"),
        ("child", MOUNT, "not mounted behind it"),
        ("child", OWN, "not mounted behind it"),
        ("stranger", MOUNT, "not mounted behind it"),
    ],
)
def test_nobody_answers_for_the_mounts_of_others(peer: str, mount: str, text: str) -> None:
    asked = question(mount)
    said = lie(peer, asked, answer_to(asked))
    assert said is not None
    assert said.startswith(f"Gateway '{peer}' answered for ':{mount}'")
    assert text in said


@pytest.mark.parametrize(
    ("kind", "target", "mount", "believed"),
    [
        (Kind.REQUEST, MOUNT, MOUNT, True),
        (Kind.REQUEST, MOUNT, "la", False),
        (Kind.REQUEST, MOUNT, "sf", False),
        (Kind.LOCATE, MOUNT, "la", True),
        (Kind.LOCATE, "larry", "la", False),
        (Kind.LOCATE, MOUNT, f"{MOUNT}:x", False),
        (Kind.DESCRIBE, MOUNT, "sf", False),
    ],
)
def test_an_answer_is_for_what_was_asked(
    kind: Kind, target: str, mount: str, believed: bool
) -> None:
    asked = question(target, kind)
    said = lie("left", asked, answer_to(asked, mount=mount))
    assert (said is None) is believed
    assert believed or f"when asked for ':{target}'" in str(said)


def test_the_mount_of_the_root_has_every_path() -> None:
    asked = question("larry")
    answer = replace(answer_to(asked), mount="")
    assert lie("left", asked, answer) is None


@pytest.mark.parametrize(
    "response",
    [
        b"",
        b"\x00\x00\x00",
        b"\x00\x00\x00\x01",
        metadata()[:-1],
        metadata() + b"\x00",
        metadata(correlation_id=2),
        metadata(number=NUMBER + 1),
        metadata(number=0),
    ],
)
def test_a_response_is_one_and_has_brokers_of_that_mount_alone(response: bytes) -> None:
    numbers = Numbers({})
    said = lie("left", REQUEST, answer_to(REQUEST, response=response), numbers)
    assert said is not None
    assert "has brokers of others" in said
    assert numbers.known == {}


@pytest.mark.parametrize("number", [0, 1, 16_384, NUMBER + 1])
def test_a_number_stays_what_it_was(number: int) -> None:
    numbers = Numbers({OWN: 1}, {MOUNT: NUMBER})
    said = lie("left", question(), answer_to(question(), number=number), numbers)
    assert said is not None
    assert f"with number {number}, which " in said
    found = lie_of("left", question(), None, answer_to(question(), number=number), ROUTES, numbers)
    assert found is not None
    assert found.holder == (OWN if number == 1 else None)


def asked_for(api: str, version: int, values: dict[str, object]) -> Question:
    """A request of a client of this gateway."""
    header = api_key_of(f"{api}Request").to_bytes(2, "big") + version.to_bytes(2, "big")
    body = messages.made(f"{api}Request", version, values)
    return replace(REQUEST, request=header + b"\x00\x00\x00\x01\x00\x01c\x00" + body)


def answered(api: str, version: int, values: dict[str, object]) -> bytes:
    return response_header(1, 1) + messages.made(f"{api}Response", version, values)


ONE_ID = "00000000-0000-0000-0000-000000000001"


@pytest.mark.parametrize(
    ("api", "version", "request_values", "response_values", "believed"),
    [
        ("Metadata", 9, {"topics": [{"name": "a"}]}, {"topics": [{"name": "a"}]}, True),
        ("Metadata", 9, {"topics": [{"name": "a"}]}, {"topics": []}, True),
        ("Metadata", 9, {"topics": [{"name": "a"}]}, {"topics": [{"name": "orders"}]}, False),
        (
            "Metadata",
            9,
            {"topics": [{"name": "a"}]},
            {"topics": [{"name": "a"}, {"name": "orders"}]},
            False,
        ),
        ("Metadata", 9, {"topics": None}, {"topics": [{"name": "any"}]}, True),
        (
            "Metadata",
            12,
            {"topics": [{"name": None, "topic_id": UUID(ONE_ID)}]},
            {"topics": [{"name": "any", "topic_id": UUID(ONE_ID)}]},
            True,
        ),
        (
            "FindCoordinator",
            4,
            {"key_type": 0, "coordinator_keys": ["a"]},
            {"coordinators": [{"key": "a", "node_id": -1}, {"key": "app", "node_id": -1}]},
            False,
        ),
        ("CreateTopics", 7, {"topics": [{"name": "a"}]}, {"topics": [{"name": "b"}]}, False),
        (
            "DescribeTopicPartitions",
            0,
            {"topics": [{"name": "a"}]},
            {"topics": [], "next_cursor": {"topic_name": "b", "partition_index": 0}},
            False,
        ),
    ],
)
def test_a_response_names_nothing_that_was_not_requested(
    api: str,
    version: int,
    request_values: dict[str, object],
    response_values: dict[str, object],
    believed: bool,
) -> None:
    asked = asked_for(api, version, request_values)
    answer = answer_to(asked, response=answered(api, version, response_values))
    said = lie("left", asked, answer)
    assert (said is None) is believed
    assert believed or "names that were not asked for" in str(said)


@pytest.mark.parametrize("outcome", [each for each in Outcome if each is not Outcome.ANSWERED])
def test_other_outcomes_are_believed_but_carry_nothing(outcome: Outcome) -> None:
    answer = Answer(outcome, "why", mount=OWN, number=1, response=b"secret")
    assert lie("left", REQUEST, answer) is None
    assert passed_back("left", answer) == Answer(outcome, "why")
    assert passed_back("left", replace(answer, text="")).text == "Gateway 'left' does not say why."


def test_foreign_text_and_hops_are_bounded() -> None:
    answer = replace(
        answer_to(REQUEST), text="\x1b[2J" + "x" * 5_000, hops=(Hop("far", 1),) * MAX_HOPS
    )
    back = passed_back("left", answer)
    assert back.text.startswith("\\x1b[2Jx")
    assert len(back.text) == MAX_TEXT
    assert len(back.by_way_of(Hop("me", 1)).hops) == MAX_HOPS
    assert back.response == answer.response
