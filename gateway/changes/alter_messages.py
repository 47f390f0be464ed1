"""AlterConfigs and IncrementalAlterConfigs: the client's response."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from gateway.decision import Denied
from gateway.rules.nested import element_class, make
from protocol import messages


def response(
    name: str, version: int, resources: Sequence[Any], answers: Sequence[Denied | None]
) -> bytes:
    """The body of the response ``name``: each resource of the request with its answer, None for one
    that is done."""
    cls = messages.message_class(name, version)
    answer_class = element_class(cls, "responses")
    responses = tuple(
        make(
            answer_class,
            {
                "error_code": 0 if denied is None else denied.code,
                "error_message": None if denied is None else denied.message,
                "resource_type": resource.resource_type,
                "resource_name": resource.resource_name,
            },
        )
        for resource, denied in zip(resources, answers, strict=True)
    )
    return messages.write(replace(messages.build(cls), responses=responses))
