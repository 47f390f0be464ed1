"""What a good answer to a request looks like, so that a load can tell when it gets a bad one."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from bench.client import AnswerError, parse_response
from gateway.error_codes import UNKNOWN_SERVER_ERROR
from protocol.headers import (
    SIZE_PREFIX,
    read_request_header,
    response_body_pos,
    response_header_version,
)
from protocol.kinds import Kind
from protocol.messages import write
from protocol.schema import error_name, response_name, struct_spec
from protocol.walkers import Span, walker


def error_code_offsets(request: bytes, response: bytes) -> list[int]:
    """The offsets of the error codes in a response frame; each of them must be 0.

    Raises AnswerError if one is not. Records are left out of what is looked at: in a response
    with several partitions, the offsets after the first partition's records hold only for
    responses with records of the same length.
    """
    answer = parse_response(request, response)
    errors = [code for code in _error_codes(answer) if code]
    if errors:
        raise AnswerError(f"{type(answer).__name__}: {error_name(errors[0])}")
    api_key, version, _, _, _ = read_request_header(request, SIZE_PREFIX.size, len(request))
    header = response_header_version(api_key, version)
    start = response_body_pos(response, SIZE_PREFIX.size, len(response), header)
    # A walker emits error codes that are set, so they are looked for in a copy where all are.
    body = write(_with_errors(answer))
    spans: list[Span] = []
    walk = walker(response_name(api_key), version, frozenset({Kind.ERROR_CODE}))
    walk(body, 0, len(body), spans)
    return [start + span[1] for span in spans]


def _error_codes(entity: Any) -> Iterator[int]:
    """Every error code of a message, at any depth, 0 included."""
    cls: Any = type(entity)
    spec = struct_spec(cls)
    for field in spec.fields + spec.tagged:
        value = getattr(entity, field.name)
        if field.type == "error_code":
            yield value
        elif field.struct is not None and value is not None:
            for each in value if field.array else (value,):
                yield from _error_codes(each)


def _with_errors(entity: Any) -> Any:
    """A copy with every error code set."""
    cls: Any = type(entity)
    spec = struct_spec(cls)
    changes: dict[str, Any] = {}
    for field in spec.fields + spec.tagged:
        value = getattr(entity, field.name)
        if field.type == "error_code":
            changes[field.name] = UNKNOWN_SERVER_ERROR
        elif field.struct is not None and value is not None:
            array = field.array
            changes[field.name] = tuple(map(_with_errors, value)) if array else _with_errors(value)
    return replace(entity, **changes)
