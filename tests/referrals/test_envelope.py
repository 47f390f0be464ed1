from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from io import BytesIO
from ipaddress import ip_address
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from kio.schema.default_principal_data.v0.data import DefaultPrincipalData
from kio.schema.envelope.v0.request import EnvelopeRequest
from kio.schema.envelope.v0.response import EnvelopeResponse
from kio.schema.errors import ErrorCode
from kio.serial import entity_writer

from gateway.mounts import MAX_NUMBER
from gateway.names import InvalidName, check_namespace
from gateway.referrals.envelope import (
    API_KEY,
    ERROR_CODES,
    TAG,
    read_request,
    read_response,
    request_body,
    response_body,
)
from gateway.referrals.envelope_fields import MAX_ID, MAX_PATH
from gateway.referrals.questions import (
    MAX_HOPS,
    MAX_TEXT,
    Answer,
    Hop,
    Kind,
    Outcome,
    Question,
)
from protocol.errors import ProtocolError
from protocol.primitives import MAX_INT32, compact_string, write_uvarint
from protocol.schema import api_key_of

QUESTION = Question(
    kind=Kind.REQUEST,
    volume="la:tracking",
    target="ny",
    path=("gateway-la", "gateway-top"),
    hops=14,
    seconds=1.5,
    principal="User:alice",
    host="192.0.2.7",
    request=b"a header and a body",
)
ANSWER = Answer(
    outcome=Outcome.ANSWERED,
    text="Grüße",
    mount="ny",
    number=7,
    hops=(Hop("gateway-top", 1_500, cached=True), Hop("gateway-ny", 300)),
    response=b"a header and a body",
)

QUESTION_BODY = (
    b"\x14a header and a body"
    b"\x10\x00\x00\x05User\x06alice\x00\x00"
    b"\x05\xc0\x00\x02\x07"
    # One tag, its number, its size; then what is in it.
    b"\x01\x90\x4e\x2c"
    b"\x00\x00\x0cla:tracking\x03ny\x03\x0bgateway-la\x0cgateway-top\x0e\xdc\x0b"
)
ANSWER_BODY = (
    b"\x14a header and a body\x00\x00"
    b"\x01\x90\x4e\x2c"
    b"\x00\x00\x08Gr\xc3\xbc\xc3\x9fe\x03ny\x07\x03\x0cgateway-top\xdc\x0b\x01\x0bgateway-ny\xac\x02\x00"
)

_KIO_REQUEST = entity_writer(EnvelopeRequest)
_KIO_RESPONSE = entity_writer(EnvelopeResponse)
_KIO_PRINCIPAL = entity_writer(DefaultPrincipalData)

_texts = st.text(st.characters(codec="utf-8"), max_size=20)
_tiers = st.text("azAZ09.-", min_size=1, max_size=4)
_paths = st.lists(_tiers, max_size=4).map(":".join)
_ids = st.text("aZ0._-:# \u00fc\u20ac\U0001f600", min_size=1, max_size=8)
_principals = st.builds("{}:{}".format, st.text("User\u00fc", min_size=1, max_size=8), _texts)
_hosts = st.one_of(st.just(""), st.ip_addresses().map(str))
questions = st.builds(
    Question,
    kind=st.sampled_from(Kind),
    volume=_paths,
    target=_paths,
    path=st.lists(_ids, max_size=5).map(tuple),
    hops=st.integers(0, MAX_HOPS),
    seconds=st.integers(0, MAX_INT32).map(lambda millis: millis / 1_000),
    principal=_principals,
    host=_hosts,
    request=st.binary(max_size=140),
)
_hops = st.builds(Hop, _ids, st.integers(0, MAX_INT32), st.booleans())
answers = st.builds(
    Answer,
    outcome=st.sampled_from(Outcome),
    text=_texts,
    mount=_paths,
    number=st.integers(0, MAX_NUMBER),
    hops=st.lists(_hops, max_size=5).map(tuple),
    response=st.binary(max_size=140),
)

Sides = tuple[Any, Callable[[Any], bytes], Callable[[bytes], Any]]
BOTH = pytest.mark.parametrize(
    ("message", "write", "read"),
    [(QUESTION, request_body, read_request), (ANSWER, response_body, read_response)],
    ids=["question", "answer"],
)


def _kio(writer: Any, entity: object) -> bytes:
    out = BytesIO()
    writer(out, entity)
    return out.getvalue()


def _principal_data(kind: str, name: str, token_authenticated: bool = False) -> bytes:
    data = DefaultPrincipalData(type_=kind, name=name, token_authenticated=token_authenticated)
    return b"\x00\x00" + _kio(_KIO_PRINCIPAL, data)


def _packed(host: str) -> bytes:
    return ip_address(host).packed if host else b""


def _content(body: bytes) -> tuple[bytes, bytes]:
    """A body up to its tags, and the content of its only tag, which is not longer than 127."""
    head, mark, rest = body.partition(b"\x01\x90\x4e")
    assert mark
    assert rest[0] == len(rest) - 1
    return head, rest[1:]


def _tagged(head: bytes, content: bytes, tag: int = TAG) -> bytes:
    return head + b"\x01" + write_uvarint(tag) + write_uvarint(len(content)) + content


def _with_content(body: bytes, old: bytes, new: bytes) -> bytes:
    """A body with other bytes once in the content of its tag, whose size is right again."""
    head, content = _content(body)
    assert content.count(old) == 1
    return _tagged(head, content.replace(old, new))


def _envelope(
    *, data: bytes = b"", principal: bytes | None = None, host: bytes = b"\x7f\x00\x00\x01"
) -> bytes:
    """The body of :data:`QUESTION` with other fields of Kafka's."""
    request = EnvelopeRequest(
        request_data=data, request_principal=principal, client_host_address=host
    )
    return _tagged(_kio(_KIO_REQUEST, request)[:-1], _content(QUESTION_BODY)[1])


def test_the_key_and_the_bytes_are_as_they_are_documented() -> None:
    assert api_key_of("EnvelopeRequest") == API_KEY
    assert request_body(QUESTION) == QUESTION_BODY
    assert read_request(QUESTION_BODY) == QUESTION
    assert response_body(ANSWER) == ANSWER_BODY
    assert read_response(ANSWER_BODY) == ANSWER


@given(questions)
def test_a_question_comes_back_as_it_was(question: Question) -> None:
    assert read_request(request_body(question)) == question


@given(answers)
def test_an_answer_comes_back_as_it_was(answer: Answer) -> None:
    assert read_response(response_body(answer)) == answer


@given(questions)
def test_a_question_without_its_tag_is_what_kio_writes(question: Question) -> None:
    kind, _, name = question.principal.partition(":")
    request = EnvelopeRequest(
        request_data=question.request,
        request_principal=_principal_data(kind, name),
        client_host_address=_packed(question.host),
    )
    kio = _kio(_KIO_REQUEST, request)
    body = request_body(question)
    assert kio[-1:] == b"\x00"
    assert body.startswith(kio[:-1] + b"\x01\x90\x4e")


@given(answers)
def test_an_answer_without_its_tag_is_what_kio_writes(answer: Answer) -> None:
    response = EnvelopeResponse(
        response_data=answer.response or None, error_code=ErrorCode(ERROR_CODES[answer.outcome])
    )
    kio = _kio(_KIO_RESPONSE, response)
    assert response_body(answer).startswith(kio[:-1] + b"\x01\x90\x4e")


@BOTH
def test_every_truncation_is_an_error(
    message: Any, write: Callable[[Any], bytes], read: Callable[[bytes], Any]
) -> None:
    body = write(message)
    for end in range(len(body)):
        with pytest.raises(ProtocolError):
            read(body[:end])


@BOTH
def test_a_byte_that_is_another_one_is_an_error_or_another_message(
    message: Any, write: Callable[[Any], bytes], read: Callable[[bytes], Any]
) -> None:
    body = write(message)
    others = errors = 0
    for at in range(len(body)):
        for byte in range(256):
            try:
                found = read(body[:at] + bytes((byte,)) + body[at + 1 :])
            except ProtocolError:
                errors += 1
                continue
            assert read(write(found)) == found
            others += found != message
    assert others > 1_000
    assert errors > 1_000


@given(st.binary(max_size=200), st.binary(max_size=200))
def test_random_bytes_are_errors_or_messages(noise: bytes, content: bytes) -> None:
    heads = (QUESTION_BODY.partition(b"\x01\x90\x4e")[0], ANSWER_BODY.partition(b"\x01\x90\x4e")[0])
    for body in (noise, *(_tagged(head, b"\x00" + content) for head in heads)):
        for read in (read_request, read_response):
            try:
                read(body)
            except ProtocolError:
                continue


@BOTH
def test_bytes_behind_the_tag_are_an_error(
    message: Any, write: Callable[[Any], bytes], read: Callable[[bytes], Any]
) -> None:
    with pytest.raises(ProtocolError, match="1 bytes after its tag"):
        read(write(message) + b"\x00")


@BOTH
def test_there_is_one_tag_and_it_is_this_one(
    message: Any, write: Callable[[Any], bytes], read: Callable[[bytes], Any]
) -> None:
    head, content = _content(write(message))
    tag = write_uvarint(TAG) + write_uvarint(len(content)) + content
    assert read(head + b"\x01" + tag) == message
    for tags, error in {
        b"\x00": "has 0 tags",
        b"\x02" + tag + tag: "has 2 tags",
        b"\x02\x00\x00" + tag: "has 2 tags",
        _tagged(b"", content, TAG + 1): "has tag 10001",
        _tagged(b"", b""): "empty tag",
        _tagged(b"", b"\x01" + content[1:]): "has version 1",
        _tagged(b"", content + b"\x00"): "1 bytes after the last field",
    }.items():
        with pytest.raises(ProtocolError, match=error):
            read(head + tags)


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
        read_request(_with_content(QUESTION_BODY, old, new))


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
        read_response(_with_content(ANSWER_BODY, old, new))


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
        (_principal_data("", "alice"), "of type ''"),
        (_principal_data("User:x", "alice"), "of type 'User:x'"),
        (_principal_data("User", "alice", token_authenticated=True), "delegation token"),
    ],
)
def test_what_is_wrong_in_a_principal(principal: bytes | None, error: str) -> None:
    assert read_request(_envelope(principal=_principal_data("User", "a"))).principal == "User:a"
    with pytest.raises(ProtocolError, match=error):
        read_request(_envelope(principal=principal))


@pytest.mark.parametrize("size", [1, 3, 5, 15, 17])
def test_an_ip_address_has_4_bytes_or_16(size: int) -> None:
    with pytest.raises(ProtocolError, match=f"an IP address of {size} bytes"):
        read_request(_envelope(principal=_principal_data("User", "a"), host=bytes(size)))


def test_a_response_with_an_error_kafka_does_not_have_is_an_error() -> None:
    with pytest.raises(ProtocolError, match="EnvelopeResponse"):
        read_response(ANSWER_BODY.replace(b"body\x00\x00", b"body\x70\x00"))


@pytest.mark.parametrize("outcome", Outcome)
def test_an_outcome_has_its_error_code(outcome: Outcome) -> None:
    body = response_body(Answer(outcome))
    assert body[:1] == b"\x00"  # response_data is null
    assert int.from_bytes(body[1:3], "big") == ERROR_CODES[outcome]
    assert read_response(body) == Answer(outcome)
    with pytest.raises(ProtocolError, match=f"for {outcome.name}"):
        read_response(body[:1] + b"\x00\x01" + body[3:])


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
