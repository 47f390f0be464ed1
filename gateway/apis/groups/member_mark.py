"""The mark of a member of a KIP-848 group or a share group: an extra name by which its broker keeps
the whole subscription, so that any gateway can go on with the member.

A broker has the flat names that the gateway subscribed a member to. If these names do not hold the
whole subscription (an expression, a name that reaches no topic yet, a link, a moved topic), the
gateway subscribes to one more name: the mark, which holds the rest. No topic can have this name,
and clients never see it. Another gateway, or another worker, recalls the member by
ConsumerGroupDescribe or ShareGroupDescribe. A client that describes a group gets the expression of
the mark, as it would get a member's expression from a broker. What is too long for one name is
divided over several.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from gateway.rules.group_members import Member
from protocol import messages
from protocol.messages import changed
from protocol.pausing import FEW, in_order, paced, pause_point

PREFIX: Final = "kafka-gateway:"
"""Marks begin with this prefix, whose ``:`` is in no topic's name on a broker."""

TOO_LONG: Final = PREFIX + "?"
"""The mark of a member that would need more than ``MAX_MARKS``: the member has to join again."""

_DESCRIBED: Final = "ConsumerGroupDescribeResponse"

MAX_MARK: Final = 32_767
"""Bytes: the longest string of Kafka's protocol."""

MAX_MARKS: Final = 16
"""The marks of a member, at most, for the names of some 4,000 topics of other volumes. A broker
keeps all names of a member in one record, whose 1 MiB (``message.max.bytes``) the topics' own names
need as well."""

_PART: Final = re.compile(r"([1-9][0-9]?)/([1-9][0-9]?):(.*)", re.DOTALL)
_LONGEST_NUMBERS: Final = len("16/16:")


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
    marks = () if flats is None else marks_of(member, flats, reached, spellings)
    if not marks:
        return body
    return messages.write(changed(request, {"subscribed_topic_names": (*flats, *marks)}))


def marks_of(
    member: Member, flats: Sequence[str], reached: Mapping[bytes, str], spellings: Spellings
) -> Sequence[str]:
    """The marks of a member that is subscribed to these flat names, which mostly needs one at
    most."""
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
        return ()
    if sum(map(len, names)) + sum(map(len, called)) > MAX_MARKS * MAX_MARK:
        return (TOO_LONG,)  # before it is written, which takes long
    listed = {"names": _listed(member.names), "called": _mapped(called)}
    if member.pattern and by_name:
        listed["by_name"] = _listed(by_name)
    told = {"scope": _json(spellings.scope), "regex": _json(member.pattern)}
    # Sorted, so that the broker's assignors see equal subscriptions as equal.
    written = (f'"{key}":{value}' for key, value in sorted((told | listed).items()))
    return _divided("{" + ",".join(written) + "}")


_json: Final[Callable[[object], str]] = json.JSONEncoder(separators=(",", ":")).encode


def _listed(texts: Iterable[str]) -> str:
    """Texts as a JSON array, sorted; of many, a run at a time."""
    written = [_json(run)[1:-1] for run in _runs(texts)]
    return f"[{','.join(written)}]"


def _mapped(texts: Mapping[str, str]) -> str:
    """Texts as a JSON object, sorted by their keys; of many, a run at a time."""
    written = [_json({key: texts[key] for key in run})[1:-1] for run in _runs(texts)]
    return f"{{{','.join(written)}}}"


def _runs(texts: Iterable[str]) -> Iterator[list[str]]:
    """Texts in order, some at a time: a run takes 0.3 ms to write."""
    every = in_order(texts)
    for start in range(0, len(every), FEW):
        pause_point()
        yield every[start : start + FEW]


def _divided(text: str) -> Sequence[str]:
    """The marks that hold a text (ASCII)."""
    if len(PREFIX) + len(text) <= MAX_MARK:
        return (PREFIX + text,)
    size = MAX_MARK - len(PREFIX) - _LONGEST_NUMBERS
    parts = [text[at : at + size] for at in range(0, len(text), size)]
    if len(parts) > MAX_MARKS:
        return (TOO_LONG,)
    return [f"{PREFIX}{number}/{len(parts)}:{part}" for number, part in enumerate(parts, 1)]


def _joined(marks: Sequence[str]) -> str:
    """The text that marks hold, whatever their order. Raises ValueError if a part is missing, or is
    there twice."""
    texts = [mark.removeprefix(PREFIX) for mark in marks]
    if len(texts) == 1 and _PART.fullmatch(texts[0]) is None:
        return texts[0]
    parts: dict[int, str] = {}
    for text in texts:
        part = _PART.fullmatch(text)
        if part is None or int(part[2]) != len(texts):
            raise ValueError("a part of another mark")
        parts[int(part[1])] = part[3]
    if parts.keys() != {*range(1, len(texts) + 1)}:
        raise ValueError("not all of the parts")
    return "".join(parts[number] for number in range(1, len(texts) + 1))


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
    """What the marks among a member's names hold. Any principal that may write to the group at the
    broker could have written it, so it is used for this member alone, whose client may name
    anything."""
    if not marks:
        return _Mark((), "", {})
    try:
        told = json.loads(_joined(marks))
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
        told = json.loads(_joined(marks)) if marks else {}
        expression = _text(told["regex"])
        by_name = {_text(flat) for flat in told.get("by_name", ())}
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError):
        return flats, ""
    if not expression:
        return flats, ""
    return tuple(flat for flat in flats if flat in by_name), expression
