from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gateway.mounts import MAX_NUMBER
from gateway.names import InvalidName, check_namespace
from gateway.referrals.envelope import (
    read_request,
    read_response,
    request_body,
    response_body,
)
from gateway.referrals.envelope_fields import MAX_ID, MAX_PATH
from gateway.referrals.questions import (
    MAX_HOPS,
    MAX_TEXT,
    Hop,
)
from protocol.errors import ProtocolError
from protocol.primitives import MAX_INT32, compact_string, write_uvarint
from tests.referrals.envelopes import (
    ANSWER,
    ANSWER_BODY,
    QUESTION,
    QUESTION_BODY,
    envelope,
    principal_data,
    with_content,
)

HUGE = write_uvarint(MAX_INT32)
LONG_PATH = ":".join(["a"] * (MAX_PATH // 2))


@pytest.mark.parametrize(
    ("old", "new", "error"),
    [
        # The tag begins with its version and the kind.
        (b"\x00\x00\x0cla", b"\x00\x03\x0cla", "3 as the kind"),
        (b"\x0cla:tracking", b"\x00", "the asker's volume is null"),
        (b"\x0cla:tracking", HUGE + b"la:tracking", "the length of the asker's volume"),
        (b"\x0cla:tracking", b"\xff\xff\xff\xff\x1f", "does not fit an int32"),
        (b"\x0cla:tracking", b"\xff\xff\xff\xff\xff\x01", "longer than five bytes"),
        (b"\x0cla:tracking", b"\x03\xc3\x28", "the asker's volume not in UTF-8"),
        (b"\x0cla:tracking", b"\x0cla:tr_cking", "no path of a tree"),
        (b"\x0cla:tracking", b"\x0c:la:trackin", "no path of a tree"),
        (b"\x03ny", b"\x03n\n", r"'n\\n' as the target"),
        (b"\x03ny", b"\x04:ny", "':ny' as the target"),
        (b"\x03ny", b"\x03\xff\xff", "the target not in UTF-8"),
        (b"\x03ny", compact_string(b"a" * (MAX_PATH + 1)), "1001 as the length of the target"),
        (b"\x03\x0bgateway-la", b"\x00\x0bgateway-la", "the path is null"),
        (b"\x03\x0bgateway-la", b"\x42\x0bgateway-la", "65 as the length of the path"),
        (b"\x03\x0bgateway-la", HUGE + b"\x0bgateway-la", "the length of the path"),
        (b"\x0bgateway-la", b"\x01", "'' as a gateway's id"),
        (b"\x0bgateway-la", b"\x0bgateway\x1bla", "as a gateway's id"),
        (b"\x0bgateway-la", b"\x0bgateway\xffla", "a gateway's id not in UTF-8"),
        (b"\x0bgateway-la", compact_string(b"x" * (MAX_ID + 1)), "65 as the length of a gateway"),
        (b"\x0bgateway-la", b"\x00", "a gateway's id is null"),
        (b"\x0e\xdc\x0b", b"\x41\xdc\x0b", "65 as the hops"),
        (b"\x0e\xdc\x0b", b"\x0e", "end inside a varint"),
        (b"\x0e\xdc\x0b", b"\x0e\xff\xff\xff\xff\x0f", "does not fit an int32"),
    ],
)
def test_what_is_wrong_in_the_tag_of_a_question(old: bytes, new: bytes, error: str) -> None:
    with pytest.raises(ProtocolError, match=error):
        read_request(with_content(QUESTION_BODY, old, new))


@pytest.mark.parametrize(
    ("old", "new", "error"),
    [
        (b"\x00\x00\x08Gr", b"\x00\x05\x08Gr", "5 as the outcome"),
        (b"\x00\x00\x08Gr", b"\x00\x01\x08Gr", "error code 0 for NO_SUCH_MOUNT"),
        (b"\x08Gr\xc3\xbc\xc3\x9fe", b"\x03\xc3\x28", "the text not in UTF-8"),
        (b"\x08Gr", HUGE + b"Gr", "the length of the text"),
        (
            b"\x08Gr\xc3\xbc\xc3\x9fe",
            compact_string("ü".encode() * (MAX_TEXT + 1)),
            "1001 as the length of the text",
        ),
        (b"\x03ny", b"\x03n_", "'n_' as the mount"),
        (b"\x07\x03\x0cgateway-top", b"\x80\x80\x01\x03\x0cgateway-top", "16384 as the number"),
        (b"\x03\x0cgateway-top", b"\x42\x0cgateway-top", "65 as the length of the hops"),
        (b"\xdc\x0b\x01", b"\xdc\x0b\x02", "2 as whether a hop was cached"),
        (b"\xdc\x0b\x01", b"\xff\xff\xff\xff\x0f\x01", "does not fit an int32"),
    ],
)
def test_what_is_wrong_in_the_tag_of_an_answer(old: bytes, new: bytes, error: str) -> None:
    with pytest.raises(ProtocolError, match=error):
        read_response(with_content(ANSWER_BODY, old, new))


@pytest.mark.parametrize(
    ("principal", "error"),
    [
        (None, "no principal of version 0"),
        (b"", "no principal of version 0"),
        (b"\x00", "no principal of version 0"),
        (b"\x00\x01\x05User\x02a\x00\x00", "no principal of version 0"),
        (b"\x00\x00\x05User\x02a\x00", "."),
        (b"\x00\x00\x05User\x02a\x00\x00\x00", "1 bytes after its end"),
        (b"\x00\x00\x05User\x03\xc3\x28\x00\x00", "cannot be read"),
        (b"\x00\x00\x05User" + HUGE + b"a\x00\x00", "."),
        (principal_data("", "alice"), "of type ''"),
        (principal_data("User:x", "alice"), "of type 'User:x'"),
        (principal_data("User", "alice", token_authenticated=True), "delegation token"),
        (principal_data("User", "*"), "that no client may be"),
        (principal_data("User", "a\nb"), "that no client may be"),
        (principal_data("User", ""), "that no client may be"),
    ],
)
def test_what_is_wrong_in_a_principal(principal: bytes | None, error: str) -> None:
    assert read_request(envelope(principal=principal_data("User", "a"))).principal == "User:a"
    with pytest.raises(ProtocolError, match=error):
        read_request(envelope(principal=principal))


@pytest.mark.parametrize("size", [1, 3, 5, 15, 17])
def test_an_ip_address_has_4_bytes_or_16(size: int) -> None:
    with pytest.raises(ProtocolError, match=f"an IP address of {size} bytes"):
        read_request(envelope(principal=principal_data("User", "a"), host=bytes(size)))


@pytest.mark.parametrize(
    "change",
    [
        {"principal": "alice"},
        {"principal": ":alice"},
        {"principal": ""},
        {"principal": "User:\ud800"},
        {"host": "broker-1.example"},
        {"volume": "a_b"},
        {"volume": ":la"},
        {"target": "la:"},
        {"target": LONG_PATH + ":bc"},
        {"path": ("a",) * (MAX_HOPS + 1)},
        {"path": ("",)},
        {"path": ("a\nb",)},
        {"path": ("\ud800",)},
        {"path": ("a" * (MAX_ID + 1),)},
        {"hops": -1},
        {"hops": MAX_HOPS + 1},
    ],
    ids=repr,
)
def test_a_question_that_no_gateway_reads_is_not_written(change: dict[str, Any]) -> None:
    with pytest.raises(ProtocolError):
        request_body(replace(QUESTION, **change))


@pytest.mark.parametrize(
    "change",
    [
        {"mount": "a_b"},
        {"mount": LONG_PATH + ":bc"},
        {"number": -1},
        {"number": MAX_NUMBER + 1},
        {"hops": (Hop("a", 1),) * (MAX_HOPS + 1)},
        {"hops": (Hop("", 1),)},
    ],
    ids=repr,
)
def test_an_answer_that_no_gateway_reads_is_not_written(change: dict[str, Any]) -> None:
    with pytest.raises(ProtocolError):
        response_body(replace(ANSWER, **change))


def test_the_limits_themselves_are_allowed() -> None:
    path = LONG_PATH + "b"
    assert len(path) == MAX_PATH
    ids = ("x" * MAX_ID,) * MAX_HOPS
    question = replace(QUESTION, volume=path, target=path, path=ids, hops=MAX_HOPS)
    assert read_request(request_body(question)) == question
    hops = tuple(Hop(each, MAX_INT32) for each in ids)
    answer = replace(ANSWER, mount=path, number=MAX_NUMBER, hops=hops, text="€" * MAX_TEXT)
    assert read_response(response_body(answer)) == answer


def test_a_long_text_is_cut_and_halves_of_characters_are_question_marks() -> None:
    answer = replace(ANSWER, text="\ud800" + "€" * MAX_TEXT)
    assert read_response(response_body(answer)).text == "?" + "€" * (MAX_TEXT - 1)


@pytest.mark.parametrize(
    ("seconds", "read"),
    [(-1.0, 0.0), (0.0004, 0.0), (0.0006, 0.001), (1e12, MAX_INT32 / 1_000), (float("inf"), None)],
)
def test_the_time_is_in_milliseconds_and_not_negative(seconds: float, read: float | None) -> None:
    expected = MAX_INT32 / 1_000 if read is None else read
    assert read_request(request_body(replace(QUESTION, seconds=seconds))).seconds == expected


def test_the_time_of_a_hop_that_does_not_fit_is_the_longest() -> None:
    answer = replace(ANSWER, hops=(Hop("a", MAX_INT32 + 1),))
    assert read_response(response_body(answer)).hops == (Hop("a", MAX_INT32),)


@given(st.text(max_size=20))
def test_paths_are_those_of_the_tree(path: str) -> None:
    try:
        check_namespace(path)
        valid = True
    except InvalidName:
        valid = not path
    if valid:
        assert read_request(request_body(replace(QUESTION, target=path))).target == path
    else:
        with pytest.raises(ProtocolError):
            request_body(replace(QUESTION, target=path))
