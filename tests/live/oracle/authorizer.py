"""Kafka's own StandardAuthorizer as the oracle: its Java class, in a process of its own.

The same comparison with a whole broker, over the protocol, is in ``request_parts``.
"""

from __future__ import annotations

import json
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Self

from devkit.java import compile_java, java_command
from gateway.acl_model import (
    AclBinding,
    AclFilter,
    Operation,
    Resource,
)
from gateway.acl_model import ResourceType as Type
from gateway.acls.authorizer import Authorizer
from gateway.acls.standard import StandardAuthorizer
from gateway.catalog.snapshot import Snapshot
from tests.acls.bindings import by_pattern
from tests.live.support import java_tools

_SOURCE = java_tools.SOURCES / "AuthorizerOracle.java"


@dataclass(frozen=True, slots=True)
class Rules:
    """The rules of an authorizer: its configuration, and its ACLs."""

    acls: tuple[AclBinding, ...]
    super_users: tuple[str, ...] = ()
    allow_everyone: bool = False


@dataclass(frozen=True, slots=True)
class Question:
    """Whether a principal at a host may do an operation on a resource.

    If the name is None, on any resource of its type.
    """

    principal: str
    host: str
    operation: Operation
    type: Type
    name: str | None


@dataclass(frozen=True, slots=True)
class Answers:
    """Whether each question is allowed, and which ACLs each filter matches.

    ``by_default``: the answers to questions without a name by the interface's default method, which
    other authorizers inherit.
    """

    allowed: tuple[bool, ...]
    meant: tuple[frozenset[AclBinding], ...]
    by_default: tuple[bool, ...] = ()


class KafkaAuthorizer:
    """AuthorizerOracle.java while it runs. It ends with its input, so it cannot outlive this
    process."""

    def __init__(self) -> None:
        command = java_command("AuthorizerOracle", classes=compile_java(_SOURCE))
        self._process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, bufsize=1
        )

    def answers(
        self, rules: Rules, questions: Sequence[Question], filters: Sequence[AclFilter] = ()
    ) -> Answers:
        """The answers of Kafka's authorizer."""
        named = [one for one in questions if one.name is not None]
        unnamed = [one for one in questions if one.name is None]
        answer = self._exchange(
            {
                "configs": {
                    "super.users": ";".join(rules.super_users),
                    "allow.everyone.if.no.acl.found": rules.allow_everyone,
                },
                "acls": [_acl_fields(acl) for acl in rules.acls],
                "asked": [(q.principal, q.host, q.operation, q.type, q.name) for q in named],
                "any": [(q.principal, q.host, q.operation, q.type) for q in unnamed],
                "filters": [_filter_fields(each) for each in filters],
            }
        )
        about = {True: iter(answer["any"]), False: iter(answer["asked"])}
        allowed = tuple(next(about[one.name is None]) == "1" for one in questions)
        meant = (frozenset(rules.acls[number] for number in found) for found in answer["filters"])
        return Answers(allowed, tuple(meant), tuple(one == "1" for one in answer["default"]))

    def _exchange(self, asked: dict[str, Any]) -> dict[str, Any]:
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(json.dumps(asked) + "\n")
        self._process.stdin.flush()
        line = self._process.stdout.readline()
        assert line, f"AuthorizerOracle.java ended with status {self._process.wait()}"
        answer = json.loads(line)
        assert isinstance(answer, dict)
        return answer

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._process.communicate(timeout=120)


def our_answers(
    rules: Rules, questions: Sequence[Question], filters: Sequence[AclFilter] = ()
) -> Answers:
    """The answers of the gateway's authorizer."""
    authorizer = our_authorizer(rules)
    allowed = []
    by_default = []
    for one in questions:
        who = (one.principal, one.host, one.operation)
        if one.name is None:
            verdict = authorizer.authorize_any(*who, one.type)
            by_default.append(Authorizer.authorize_any(authorizer, *who, one.type).allowed)
        else:
            verdict = authorizer.authorize(*who, Resource(one.type, "", one.name))
        allowed.append(verdict.allowed)
    meant = (frozenset(authorizer.acls(each)) for each in filters)
    return Answers(tuple(allowed), tuple(meant), tuple(by_default))


def our_authorizer(rules: Rules) -> StandardAuthorizer:
    """The gateway's authorizer with these rules."""
    authorizer = StandardAuthorizer()
    configs = {
        "super.users": rules.super_users,
        "allow.everyone.if.no.acl.found": rules.allow_everyone,
    }
    authorizer.configure(configs, lambda: None)
    authorizer.see(Snapshot().apply(by_pattern(rules.acls), 1))
    return authorizer


def _acl_fields(acl: AclBinding) -> tuple[int | str, ...]:
    pattern, entry = acl.pattern, acl.entry
    head = (pattern.type, pattern.pattern_type, pattern.name)
    return (*head, entry.principal, entry.host, entry.operation, entry.permission)


def _filter_fields(one: AclFilter) -> tuple[int | str | None, ...]:
    head = (one.type, one.pattern_type, one.name)
    return (*head, one.principal, one.host, one.operation, one.permission)
