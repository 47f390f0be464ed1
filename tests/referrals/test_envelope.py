from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gateway.mounts import MAX_NUMBER
from gateway.referrals.envelope import (
    API_KEY,
    ERROR_CODES,
    TAG,
    read_request,
    read_response,
    request_body,
    response_body,
)
from gateway.referrals.questions import (
    MAX_HOPS,
    Answer,
    Hop,
    Kind,
    Outcome,
    Question,
)
from protocol.errors import ProtocolError
from protocol.primitives import MAX_INT32, write_uvarint
from protocol.schema import api_key_of
from tests.referrals.envelopes import (
    ANSWER,
    ANSWER_BODY,
    KIO_REQUEST,
    KIO_RESPONSE,
    QUESTION,
    QUESTION_BODY,
    EnvelopeRequest,
    EnvelopeResponse,
    content_of,
    kio_bytes,
    packed,
    principal_data,
    tagged,
)

BOTH = pytest.mark.parametrize(
    ("message", "write", "read"),
    [(QUESTION, request_body, read_request), (ANSWER, response_body, read_response)],
    ids=["question", "answer"],
)


_texts = st.text(st.characters(codec="utf-8"), max_size=20)
_tiers = st.text("azAZ09.-", min_size=1, max_size=4)
_paths = st.lists(_tiers, max_size=4).map(":".join)
_ids = st.text("aZ0._-:# \u00fc\u20ac\U0001f600", min_size=1, max_size=8)
_names = st.text("*ab: ,=\u00fc\U0001f600", min_size=1, max_size=20).filter(
    lambda name: name != "*"
)
_principals = st.builds("{}:{}".format, st.text("User\u00fc", min_size=1, max_size=8), _names)
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
        request_principal=principal_data(kind, name),
        client_host_address=packed(question.host),
    )
    kio = kio_bytes(KIO_REQUEST, request)
    body = request_body(question)
    assert kio[-1:] == b"\x00"
    assert body.startswith(kio[:-1] + b"\x01\x90\x4e")


@given(answers)
def test_an_answer_without_its_tag_is_what_kio_writes(answer: Answer) -> None:
    response = EnvelopeResponse(
        response_data=answer.response or None, error_code=ERROR_CODES[answer.outcome]
    )
    kio = kio_bytes(KIO_RESPONSE, response)
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
    for body in (noise, *(tagged(head, b"\x00" + content) for head in heads)):
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
    head, content = content_of(write(message))
    tag = write_uvarint(TAG) + write_uvarint(len(content)) + content
    assert read(head + b"\x01" + tag) == message
    for tags, error in {
        b"\x00": "has 0 tags",
        b"\x02" + tag + tag: "has 2 tags",
        b"\x02\x00\x00" + tag: "has 2 tags",
        tagged(b"", content, TAG + 1): "has tag 10001",
        tagged(b"", b""): "empty tag",
        tagged(b"", b"\x01" + content[1:]): "has version 1",
        tagged(b"", content[:5]): "ends inside the",
        tagged(b"", content + b"\x00"): "1 bytes after the last field",
    }.items():
        with pytest.raises(ProtocolError, match=error):
            read(head + tags)


def test_a_response_with_an_error_kafka_does_not_have_is_an_error() -> None:
    with pytest.raises(ProtocolError, match="error code 28672 for ANSWERED"):
        read_response(ANSWER_BODY.replace(b"body\x00\x00", b"body\x70\x00"))


@pytest.mark.parametrize("outcome", Outcome)
def test_an_outcome_has_its_error_code(outcome: Outcome) -> None:
    body = response_body(Answer(outcome))
    assert body[:1] == b"\x00"  # response_data is null
    assert int.from_bytes(body[1:3], "big") == ERROR_CODES[outcome]
    assert read_response(body) == Answer(outcome)
    with pytest.raises(ProtocolError, match=f"for {outcome.name}"):
        read_response(body[:1] + b"\x00\x01" + body[3:])
