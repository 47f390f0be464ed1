"""The ``gateway.*`` keys: the operations that they allow, and the errors of all others."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gateway.changes.base.rejected import Rejected
from gateway.changes.base.resources import APPEND, DELETE, SET, SUBTRACT, Operation
from gateway.changes.base.virtual_configs import (
    DOCUMENTATION,
    Move,
    Release,
    is_virtual,
    read_adopt,
    read_move,
    read_time,
    reject_on_namespace,
    reject_on_topic,
)

NOW = 1_700_000_000_000
NAMESPACE = Operation("gateway.namespace", SET, "org:apache")


def rejected(*operations: Operation) -> tuple[int, str]:
    with pytest.raises(Rejected) as caught:
        read_move(operations, NOW)
    return caught.value.why.code, caught.value.why.message


def test_broker_configs_alone_are_no_move() -> None:
    assert read_move([Operation("retention.ms", SET, "1")], NOW) is None
    assert read_move([], NOW) is None


def test_a_move() -> None:
    assert read_move([NAMESPACE], NOW) == Move("org:apache")
    assert read_move([Operation("gateway.namespace", SET, "")], NOW) == Move("")
    assert read_move([Operation("gateway.namespace", SET, None)], NOW) == Move("")
    asked = [
        Operation("gateway.alias.until", SET, "2030-12-01"),
        NAMESPACE,
        Operation("gateway.topic", SET, "orders"),
    ]
    until = int(datetime(2030, 12, 1, tzinfo=UTC).timestamp()) * 1000
    assert read_move(asked, NOW) == Move("org:apache", "orders", until)


def test_a_release() -> None:
    for value in ("true", " True"):
        assert read_move([Operation("gateway.release", SET, value)], NOW) == Release()


def test_a_tool_that_deletes_what_it_does_not_know_releases_nothing() -> None:
    operations = [Operation("gateway.namespace", DELETE)]
    code, text = rejected(*operations)
    assert code == 40
    assert text == (
        "'gateway.namespace' cannot be deleted: a topic is always in a namespace. To give the topic"
        " its flat name in the default namespace back, set 'gateway.release' to 'true'."
    )
    assert rejected(*operations, Operation("retention.ms", DELETE)) == (code, text)


@pytest.mark.parametrize(
    ("operations", "code", "text"),
    [
        ([NAMESPACE, Operation("retention.ms", SET, "1")], 42, "stands alone"),
        ([NAMESPACE, NAMESPACE], 42, "twice"),
        ([Operation("gateway.topic", SET, "x")], 40, "along with 'gateway.namespace'"),
        ([Operation("gateway.alias.until", SET, "2030-01-01")], 40, "along with"),
        (
            [
                Operation("gateway.release", SET, "true"),
                Operation("gateway.alias.until", SET, "2030-01-01"),
            ],
            40,
            "set alone",
        ),
        ([Operation("gateway.release", SET, "true"), NAMESPACE], 40, "set alone"),
        ([Operation("gateway.release", SET, "false")], 40, "to 'true' only"),
        ([Operation("gateway.release", SET, None)], 40, "to 'true' only"),
        ([Operation("gateway.release", DELETE)], 40, "set at a move only"),
        ([Operation("gateway.release", APPEND, "true")], 40, "set at a move only"),
        ([Operation("gateway.namespace", SET, "org:")], 40, "without a final colon"),
        ([Operation("gateway.namespace", APPEND, "org")], 40, "no list"),
        ([Operation("gateway.namespace", SUBTRACT, "org")], 40, "no list"),
        ([NAMESPACE, Operation("gateway.topic", DELETE)], 40, "set at a move only"),
        ([Operation("gateway.adopt", SET, "true")], 40, "when a namespace is created"),
        ([Operation("gateway.topics", SET, "1")], 40, "is read-only"),
        ([Operation("gateway.namespaces", DELETE)], 40, "is read-only"),
        ([Operation("gateway.policies", SET, "none")], 40, "is read-only"),
        ([Operation("gateway.deleting", SET, "false")], 40, "is read-only"),
        ([Operation("gateway.name", SET, "x")], 40, "there are gateway.adopt, "),
        ([NAMESPACE, Operation("gateway.alias.until", SET, "soon")], 40, "not 'soon'"),
        ([NAMESPACE, Operation("gateway.alias.until", SET, None)], 40, "not ''"),
    ],
)
def test_anything_else_is_rejected(operations: list[Operation], code: int, text: str) -> None:
    found, message = rejected(*operations)
    assert found == code
    assert text in message
    assert message.endswith(".")


@pytest.mark.parametrize(
    ("text", "at"),
    [
        ("1700000000001", NOW + 1),
        ("2026-12-01", int(datetime(2026, 12, 1, tzinfo=UTC).timestamp() * 1000)),
        (
            "2026-12-01T10:00:00Z",
            int(datetime(2026, 12, 1, 10, tzinfo=UTC).timestamp() * 1000),
        ),
        (
            " 2026-12-01T10:00:00+02:00 ",
            int(datetime(2026, 12, 1, 8, tzinfo=UTC).timestamp() * 1000),
        ),
    ],
)
def test_times(text: str, at: int) -> None:
    assert read_time(text, NOW) == at


@pytest.mark.parametrize("text", ["0", str(NOW), "2001-01-01", "1969-12-31T23:59:59Z"])
def test_a_time_that_is_past(text: str) -> None:
    with pytest.raises(Rejected, match="must be in the future"):
        read_time(text, NOW)


@given(st.text())
def test_any_text_is_a_time_or_rejected(text: str) -> None:
    try:
        at = read_time(text, NOW)
    except Rejected as rejected:
        assert rejected.why.code == 40
    else:
        assert at > NOW


@given(st.datetimes(min_value=datetime(2024, 1, 1), timezones=st.just(UTC)))
def test_written_times_are_read_back(moment: datetime) -> None:
    at = read_time(moment.isoformat(), NOW)
    assert abs(at - moment.timestamp() * 1000) <= 1
    assert read_time(str(at), NOW) == at


KEYS = st.sampled_from([*DOCUMENTATION, "gateway.", "gateway.x", "retention.ms"])
OPERATIONS = st.builds(
    Operation,
    KEYS,
    st.integers(0, 4),
    st.none() | st.sampled_from(["", "org", "true", "2030-01-01"]) | st.text(max_size=8),
)


@given(st.lists(OPERATIONS, max_size=4))
def test_what_is_read_has_no_part_that_is_passed_over(operations: list[Operation]) -> None:
    try:
        read = read_move(operations, NOW)
    except Rejected as rejected:
        assert rejected.why.code in (40, 42)
        return
    if read is None:
        assert not any(is_virtual(one.key) for one in operations)
    elif isinstance(read, Release):
        assert [(one.key, one.operation) for one in operations] == [("gateway.release", SET)]
    else:
        asked = {one.key: one.value for one in operations if one.operation == SET}
        assert len(asked) == len(operations)
        assert asked.pop("gateway.namespace", None) in (read.namespace, None)
        assert asked.pop("gateway.topic", None) == read.topic
        assert ("gateway.alias.until" in asked) == (read.alias_until is not None)


@pytest.mark.parametrize(
    ("configs", "adopts"),
    [({}, False), ({"gateway.adopt": "true"}, True), ({"gateway.adopt": " False"}, False)],
)
def test_adopt(configs: dict[str, str | None], adopts: bool) -> None:
    assert read_adopt(configs) is adopts


@pytest.mark.parametrize(
    ("configs", "text"),
    [
        ({"gateway.adopt": "yes"}, "'true' or 'false', not 'yes'"),
        ({"gateway.adopt": None}, "'true' or 'false'"),
        ({"gateway.adopt": "true", "gateway.topics": "1"}, "is read-only"),
        ({"gateway.namespace": "org"}, "a namespace cannot be moved"),
        ({"gateway.release": "true"}, "a namespace cannot be moved"),
        ({"gateway.other": "org"}, "is no config of this gateway"),
    ],
)
def test_what_a_new_namespace_may_not_have(configs: dict[str, str | None], text: str) -> None:
    with pytest.raises(Rejected, match=text) as caught:
        read_adopt(configs)
    assert caught.value.why.code == 40


def test_every_key_is_rejected_where_it_means_nothing() -> None:
    for key in [*DOCUMENTATION, "gateway.x"]:
        assert reject_on_topic(key).why.code == 40
        rejected = reject_on_namespace(key)
        assert rejected.why.code == 40
        assert key in rejected.why.message
