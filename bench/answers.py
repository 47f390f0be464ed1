"""What a good answer to a request looks like, so that a load can tell when it gets a bad one."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import fields, is_dataclass, replace
from typing import Any

from kio.schema.errors import ErrorCode

from bench.client import AnswerError, parse_response
from protocol.headers import (
    SIZE_PREFIX,
    read_request_header,
    response_body_pos,
    response_header_version,
)
from protocol.kinds import Kind
from protocol.messages import write
from protocol.schema import response_name
from protocol.walkers import Span, walker

_ANY_ERROR = ErrorCode.unknown_server_error


def error_code_offsets(request: bytes, response: bytes) -> list[int]:
    """The offsets of the error codes in a response frame; each of them must be 0.

    Raises AnswerError if one is not. Records are left out of what is looked at: in a response
    with several partitions, the offsets after the first partition's records hold only for
    responses with records of the same length.
    """
    answer = parse_response(request, response)
    errors = [code for code in _error_codes(answer) if code]
    if errors:
        raise AnswerError(f"{type(answer).__name__}: {errors[0]!r}")
    api_key, version, _, _, _ = read_request_header(request, SIZE_PREFIX.size, len(request))
    header = response_header_version(api_key, version)
    start = response_body_pos(response, SIZE_PREFIX.size, len(response), header)
    # A walker emits error codes that are set, so they are looked for in a copy where all are.
    body = write(_with_errors(answer))
    spans: list[Span] = []
    walk = walker(response_name(api_key), version, frozenset({Kind.ERROR_CODE}))
    walk(body, 0, len(body), spans)
    return [start + span[1] for span in spans]


def _error_codes(value: Any) -> Iterator[ErrorCode]:
    if isinstance(value, ErrorCode):
        yield value
    elif isinstance(value, tuple):
        for element in value:
            yield from _error_codes(element)
    elif is_dataclass(value):
        for field in fields(value):
            yield from _error_codes(getattr(value, field.name))


def _with_errors(value: Any) -> Any:
    """A copy with every error code set."""
    if isinstance(value, ErrorCode):
        return _ANY_ERROR
    if isinstance(value, tuple):
        return tuple(map(_with_errors, value))
    if is_dataclass(value) and not isinstance(value, type):
        changed = {field.name: _with_errors(getattr(value, field.name)) for field in fields(value)}
        return replace(value, **changed)
    return value
