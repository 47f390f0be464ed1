"""The mark of a member of a KIP-848 group or a share group: an extra name by which its broker keeps
the whole subscription, so that any gateway can go on with the member.

A broker has the flat names that the gateway subscribed a member to. If these names do not hold the
whole subscription (an expression, a name that reaches no topic yet, a link, a moved topic), the
gateway subscribes to one more name: the mark, which holds the rest. No topic can have this name,
and clients never see it. Another gateway, or another worker, recalls the member by
ConsumerGroupDescribe or ShareGroupDescribe. A client that describes a group gets the expression of
the mark, as it would get a member's expression from a broker.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from gateway.rules.group_members import Member
from protocol import messages
from protocol.messages import changed
from protocol.pausing import paced

PREFIX: Final = "kafka-gateway:"
"""Marks begin with this prefix, whose ``:`` is in no topic's name on a broker."""

TOO_LONG: Final = PREFIX + "?"
"""The mark of a member whose own mark would exceed ``MAX_MARK``: the member has to join again."""

_DESCRIBED: Final = "ConsumerGroupDescribeResponse"

MAX_MARK: Final = 32_767
"""Bytes: the longest string of Kafka's protocol."""


@dataclass(frozen=True, slots=True)
class Spellings:
    """The client's names for flat names."""

    scope: str
    """The listener and the home of the member's client."""

    spell: Callable[[bytes], bytes | None]
    """A flat name -> the client's name for the topic; None: the client may not see it."""

    moved: Callable[[bytes], bool]
    """A flat name -> whether its topic was ever moved."""


@dataclass(frozen=True, slots=True)
class _Mark:
    names: tuple[str, ...]
    pattern: str
    called: Mapping[bytes, str]


def is_mark(name: str) -> bool:
    """Whether a subscribed name is a mark."""
    return name.startswith(PREFIX)


def with_mark(
    api: str,
    version: int,
    body: bytes,
    member: Member,
    reached: Mapping[bytes, str],
    spellings: Spellings,
) -> bytes:
    """A heartbeat of ``api`` (flat names) that subscribes a member, with a mark if the member needs
    one.

    ``reached`` maps flat names to the client's names. Raises ProtocolError.
    """
    request = messages.parse(f"{api}Request", version, body)
    flats = request.subscribed_topic_names
    mark = None if flats is None else mark_of(member, flats, reached, spellings)
    if mark is None:
        return body
    return messages.write(changed(request, {"subscribed_topic_names": (*flats, mark)}))


def mark_of(
    member: Member, flats: Sequence[str], reached: Mapping[bytes, str], spellings: Spellings
) -> str | None:
    """The mark of a member that is subscribed to these flat names; None: it needs no mark."""
    called: dict[str, str] = {}
    plain: set[str] = set()
    by_name: list[str] = []
    names = set(member.names)
    for flat in paced(flats):
        key = flat.encode()
        own = spellings.spell(key)
        name = reached.get(key, flat)
        if name in names:
            by_name.append(flat)
        if own is None or own.decode() != name or spellings.moved(key):
            called[flat] = name
        else:
            plain.add(name)
    if not member.pattern and not called and plain == names:
        return None
    if sum(map(len, names)) + sum(map(len, called)) > MAX_MARK:
        return TOO_LONG  # before it is written, which takes long
    told = {"scope": spellings.scope, "regex": member.pattern}
    listed: dict[str, object] = {"names": sorted(member.names), "called": called}
    if member.pattern and by_name:
        listed["by_name"] = sorted(by_name)
    # Sorted, so that the broker's assignors see equal subscriptions as equal.
    mark = PREFIX + json.dumps(told | listed, sort_keys=True, separators=(",", ":"))
    return mark if len(mark) <= MAX_MARK else TOO_LONG


def recall(names: Sequence[str], regex: str | None, spellings: Spellings) -> Member | None:
    """A member, made from its broker's state: the subscribed names (flat), and an expression, which
    a broker has only if the member joined without a gateway.

    None: the meaning of the names for this client is uncertain, so the member has to join again.
    """
    marks = [name for name in names if is_mark(name)]
    flats = [name.encode() for name in names if not is_mark(name)]
    mark = _read(marks, spellings.scope)
    if regex or mark is None:
        return None
    reached: dict[bytes, str] = {}
    for flat in flats:
        own = spellings.spell(flat)
        if flat in mark.called:
            reached[flat] = mark.called[flat]
        elif own is None or spellings.moved(flat):
            return None
        else:
            reached[flat] = own.decode()
    subscribed = tuple(sorted(set(reached.values())))
    return Member(
        names=mark.names if marks else subscribed,
        pattern=mark.pattern,
        accepted=subscribed,
        names_version=-1,
        reached=reached,
    )


def _read(marks: Sequence[str], scope: str) -> _Mark | None:
    """The only mark among a member's names. Any principal that may write to the group at the broker
    could have written it, so it is used for this member alone, whose client may name anything."""
    if not marks:
        return _Mark((), "", {})
    if len(marks) > 1:
        return None
    try:
        told = json.loads(marks[0].removeprefix(PREFIX))
        if told["scope"] != scope:
            return None
        names = tuple(_text(name) for name in told["names"])
        called = {_text(flat).encode(): _text(name) for flat, name in told["called"].items()}
        return _Mark(names, _text(told["regex"]), called)
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError):
        return None


def _text(value: Any) -> str:
    if not isinstance(value, str):
        raise TypeError
    value.encode()  # JSON can hold half of a surrogate pair; a message cannot
    return value


Expressions = Mapping[tuple[int, str], str]
"""The expressions of described members, by the position of the group and the member id."""


def without_marks(api: str, version: int, body: bytes) -> tuple[bytes, Expressions]:
    """The response of ``api`` (ConsumerGroupDescribe, ShareGroupDescribe) without marks, and the
    marks' expressions. A member with an expression keeps the names that its client named, as on a
    broker, and loses names that only the expression matches. Raises ProtocolError."""
    if PREFIX.encode() not in body:
        return body, {}
    response = messages.parse(f"{api}Response", version, body)
    expressions: dict[tuple[int, str], str] = {}
    groups = []
    for at, group in enumerate(response.groups):
        members = []
        for member in paced(group.members):
            names, expression = _described(member.subscribed_topic_names)
            members.append(changed(member, {"subscribed_topic_names": names}))
            if expression:
                expressions[at, member.member_id] = expression
        groups.append(changed(group, {"members": tuple(members)}))
    return messages.write(changed(response, {"groups": tuple(groups)})), expressions


def with_expressions(version: int, body: bytes, expressions: Expressions) -> bytes:
    """A ConsumerGroupDescribeResponse (the client's names) with the expressions of its members. An
    expression is not renamed: it is a client's text, in the spelling of that client's listener.
    Raises ProtocolError."""
    response = messages.parse(_DESCRIBED, version, body)
    groups = tuple(
        changed(group, {"members": tuple(_with_expressions(at, group, expressions))})
        for at, group in enumerate(response.groups)
    )
    return messages.write(changed(response, {"groups": groups}))


def _with_expressions(at: int, group: Any, expressions: Expressions) -> Iterator[Any]:
    for member in paced(group.members):
        expression = expressions.get((at, member.member_id))
        if expression is None:
            yield member
        else:
            yield changed(member, {"subscribed_topic_regex": expression})


def _described(names: Sequence[str]) -> tuple[tuple[str, ...], str]:
    """The names (flat) of a member to show, and its expression. If the mark does not hold the names
    that the client named itself, because it was too long or another program wrote it, the result is
    all names and no expression."""
    flats = tuple(name for name in names if not is_mark(name))
    marks = [name for name in names if is_mark(name)]
    try:
        told = json.loads(marks[0].removeprefix(PREFIX)) if len(marks) == 1 else {}
        expression = _text(told["regex"])
        by_name = {_text(flat) for flat in told.get("by_name", ())}
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError):
        return flats, ""
    if not expression:
        return flats, ""
    return tuple(flat for flat in flats if flat in by_name), expression
