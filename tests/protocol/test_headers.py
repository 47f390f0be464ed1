from __future__ import annotations

from io import BytesIO
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from kio.schema.index import api_key_map
from kio.serial import entity_writer

from protocol.errors import ProtocolError, TruncatedError
from protocol.headers import (
    MAX_HEADER_TAGS,
    read_request_header,
    request_header_version,
    response_body_pos,
    response_header,
    response_header_version,
)
from protocol.schema import message_class, message_versions, request_name, response_name

APIS = [(key, version) for key in api_key_map for version in message_versions(request_name(key))]
TAGS = b"\x01\x05\x02ab"
"""A section of tagged fields: a single field, number 5, of two bytes."""


def header_class(name: str, version: int) -> Any:
    cls: Any = message_class(name, version)
    return cls.__header_schema__


@given(
    api=st.sampled_from(APIS),
    correlation_id=st.integers(-(2**31), 2**31 - 1),
    client_id=st.none() | st.sampled_from(["", "app", "ü" * 100]),
    tagged=st.booleans(),
)
def test_request_header_agrees_with_kio(
    api: tuple[int, int], correlation_id: int, client_id: str | None, tagged: bool
) -> None:
    api_key, version = api
    cls = header_class(request_name(api_key), version)
    out = BytesIO()
    entity_writer(cls)(
        out,
        cls(
            request_api_key=api_key,
            request_api_version=version,
            correlation_id=correlation_id,
            client_id=client_id,
        ),
    )
    header = out.getvalue()
    flexible = request_header_version(api_key, version) == 2
    if flexible and tagged:
        header = header[:-1] + TAGS
    buf = b"\0\0\0\0" + header + b"body"
    end = 4 + len(header)
    raw = None if client_id is None else client_id.encode()
    assert read_request_header(buf, 4, end) == (api_key, version, correlation_id, raw, end)
    for cut in range(4, end):
        with pytest.raises(TruncatedError):
            read_request_header(buf, 4, cut)


@pytest.mark.parametrize("api", APIS, ids=str)
def test_header_versions_are_kio_s(api: tuple[int, int]) -> None:
    api_key, version = api
    request = header_class(request_name(api_key), version).__version__
    response = header_class(response_name(api_key), version).__version__
    assert request_header_version(api_key, version) == request
    assert response_header_version(api_key, version) == response


def test_create_topics_has_the_old_headers_before_kio_s_versions() -> None:
    assert [request_header_version(19, version) for version in (0, 1, 4, 5)] == [1, 1, 1, 2]
    assert [response_header_version(19, version) for version in (0, 1, 4, 5)] == [0, 0, 0, 1]


def test_api_versions_is_read_at_any_version() -> None:
    assert [request_header_version(18, version) for version in (0, 2, 3, 4, 99)] == [1, 1, 2, 2, 2]
    assert [response_header_version(18, version) for version in (0, 3, 99)] == [0, 0, 0]


@pytest.mark.parametrize("api", [(0, 2), (0, 99), (4, 0), (999, 0), (-1, 0), (0, -1), (18, -1)])
def test_what_is_not_known_is_rejected(api: tuple[int, int]) -> None:
    api_key, version = api
    header = api_key.to_bytes(2, "big", signed=True) + version.to_bytes(2, "big", signed=True)
    with pytest.raises(ProtocolError):
        read_request_header(header + bytes(7), 0, 11)


def test_a_negative_client_id_length_other_than_null_is_rejected() -> None:
    with pytest.raises(ProtocolError, match="length of -2"):
        read_request_header(b"\0\3\0\0\0\0\0\1\xff\xfe", 0, 10)


def test_response_header() -> None:
    assert response_header(7, 0) == b"\0\0\0\7"
    assert response_header(-1, 1) == b"\xff\xff\xff\xff\0"


@pytest.mark.parametrize(
    ("header", "version"), [(b"\0\0\0\7", 0), (b"\0\0\0\7\0", 1), (b"\0\0\0\7" + TAGS, 1)]
)
def test_response_body_begins_after_the_header(header: bytes, version: int) -> None:
    buf = b"\0\0\0\0" + header + b"body"
    end = 4 + len(header)
    assert response_body_pos(buf, 4, len(buf), version) == end
    assert response_body_pos(buf, 4, end, version) == end
    for cut in range(4, end):
        with pytest.raises(TruncatedError):
            response_body_pos(buf, 4, cut, version)


def test_tagged_fields_of_a_header_are_few() -> None:
    """Otherwise millions of empty fields would be skipped in one go, before anything is decided."""
    head = b"\0\3\0\x0c\0\0\0\1\xff\xff"
    some = b"\x02" + b"\x05\x00" + b"\x06\x01a"
    assert read_request_header(head + some + b"body", 0, 30)[4] == len(head + some)
    many = b"\xff\xff\xff\x01" + b"\x00\x00" * MAX_HEADER_TAGS
    with pytest.raises(ProtocolError):
        read_request_header(head + many, 0, len(head + many))
