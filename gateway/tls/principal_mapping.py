"""Kafka's ``ssl.principal.mapping.rules`` (KIP-371): a distinguished name becomes a short name.

A rule is ``DEFAULT`` or ``RULE:pattern/replacement/[LU]``; the first rule whose pattern matches the
whole name decides. Patterns are RE2's, because its matching takes time linear in the name. If Java
reads a pattern differently, or RE2 cannot read it, it is rejected at start-up, not when a client
connects.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, Final

import re2

from gateway.identity import ANONYMOUS, Identity, InvalidPrincipal
from gateway.tls.contexts import TlsConnection
from gateway.tls.distinguished_name import UnreadableName, subject_name

MAX_COMPILED_BYTES: Final = 1 << 20
"""Bytes of a compiled pattern; a pattern that would take more is rejected."""

_UNESCAPED = r"((?:\\.|[^\\/])*)"
_RULE = re.compile(rf"\s*(?:(DEFAULT)|RULE:{_UNESCAPED}/{_UNESCAPED}/([LU]?))?\s*(?:,|\Z)")


class InvalidRules(Exception):
    """The rules cannot be used; the text is a sentence that says why."""


class NoMatchingRule(Exception):
    """No rule matches this distinguished name."""


@dataclass(frozen=True, slots=True)
class _Rule:
    """A rule. ``pattern`` is None for DEFAULT. ``pieces``: texts, and numbers of groups."""

    pattern: Any
    pieces: tuple[str | int, ...]
    case: Callable[[str], str] | None

    def apply(self, name: str) -> str | None:
        if self.pattern is None:
            return name
        if self.pattern.fullmatch(name) is None:
            return None
        found = self._replaced(name)
        return found if self.case is None else self.case(found)

    def _replaced(self, name: str) -> str:
        """The name with every match replaced, as Java's ``replaceAll`` does: ``.*`` matches once
        more at the end, and ``a|ab`` only the ``a`` of ``ab``."""
        parts: list[str] = []
        end = 0
        for match in self.pattern.finditer(name):
            parts.append(name[end : match.start()])
            parts += (
                piece if isinstance(piece, str) else match.group(piece) or ""
                for piece in self.pieces
            )
            end = match.end()
        return "".join(parts) + name[end:]


class PrincipalMapping:
    """The rules of a listener, in order; an item of ``rules`` may hold several, with commas between
    them, as Kafka's property does."""

    __slots__ = ("_rules",)

    def __init__(self, rules: Iterable[str]) -> None:
        """Parse the rules. Raises InvalidRules."""
        self._rules = tuple(rule for text in rules for rule in _parsed(text))
        if not self._rules:
            raise InvalidRules("there is no rule, so nobody could connect; write DEFAULT")

    def name(self, distinguished_name: str) -> str:
        """The principal's name. Raises NoMatchingRule."""
        for rule in self._rules:
            found = rule.apply(distinguished_name)
            if found:  # not empty: a principal without a name could be anyone's
                return found
            if found is not None:
                break
        raise NoMatchingRule(distinguished_name)


def _parsed(text: str) -> list[_Rule]:
    rules: list[_Rule] = []
    offset = 0
    while offset < len(text):
        match = _RULE.match(text, offset)
        if match is None:
            raise InvalidRules(
                f"'{text[offset:].strip()}' is no rule; "
                "write DEFAULT or RULE:pattern/replacement/, with L or U after the last slash"
            )
        offset = match.end()
        default, pattern, replacement, case = match.groups()
        if default:
            rules.append(_Rule(None, (), None))
        elif pattern is not None:
            rules.append(_rule(pattern, replacement, case))
    return rules


def _rule(pattern: str, replacement: str, case: str) -> _Rule:
    problem = _read_differently(pattern)
    if problem is not None:
        raise InvalidRules(f"'{pattern}' has {problem}; write it another way")
    options = re2.Options()
    options.log_errors = False
    options.max_mem = MAX_COMPILED_BYTES
    try:
        compiled = re2.compile(pattern, options=options)
    except (re2.error, UnicodeError) as error:
        reason = error.args[0] if error.args else error
        text = reason.decode(errors="replace") if isinstance(reason, bytes) else str(reason)
        raise InvalidRules(f"'{pattern}' is no regular expression of RE2: {text}") from None
    pieces = _pieces(replacement, compiled.groups)
    return _Rule(compiled, pieces, {"L": str.lower, "U": str.upper}.get(case))


def _read_differently(pattern: str) -> str | None:
    """The construct, if any, that Java and RE2 read differently: a character class inside
    another."""
    inside = False
    quoted = False
    offset = 0
    while offset < len(pattern):
        pair = pattern[offset : offset + 2]
        if quoted or pair[0] == "\\":
            quoted = pair == r"\Q" or (quoted and pair != r"\E")
            offset += 1 if quoted and pair != r"\Q" else 2
            continue
        if inside and (pair[0] == "[" or pair == "&&"):
            return f"'{pair if pair == '&&' else '['}' in a character class"
        if pair[0] == "[":
            # A bracket that comes first is a member of its class.
            offset += 1 + (pattern[offset + 1 : offset + 2] == "^")
            if pattern[offset : offset + 1] == "]":
                return "']' as the first member of a character class"
            inside = True
            continue
        if pair[0] == "]":
            inside = False
        offset += 1
    return None


def _pieces(replacement: str, groups: int) -> tuple[str | int, ...]:
    r"""A replacement of Java's: ``$1`` is a group, ``\x`` an x. If the pattern has groups, a number
    without a group is text, as in Kafka. Raises InvalidRules."""
    pieces: list[str | int] = []
    text = ""
    offset = 0
    while offset < len(replacement):
        char = replacement[offset]
        following = replacement[offset + 1 : offset + 2]
        offset += 1
        if char == "\\":
            text += following
            offset += 1
        elif char != "$":
            text += char
        elif not (following.isascii() and following.isdigit()):
            raise InvalidRules(rf"'{replacement}' has a $ without a number; write \$ for the sign")
        elif int(following) > groups:
            if not groups:
                raise InvalidRules(f"'{replacement}' has ${following}, the pattern has no group")
            text += "$"
        else:
            group, offset = _group_number(replacement, offset, groups)
            pieces += (text, group)
            text = ""
    return (*pieces, text)


def _group_number(replacement: str, offset: int, groups: int) -> tuple[int, int]:
    """The longest number from ``offset`` that a group has, and the position after it."""
    number = int(replacement[offset])
    offset += 1
    while offset < len(replacement) and replacement[offset] in "0123456789":
        longer = number * 10 + int(replacement[offset])
        if longer > groups:
            break
        number = longer
        offset += 1
    return number, offset


MECHANISM: Final = "TLS"


class NoPrincipal(Exception):
    """A client certificate gives no principal here; the text says why."""


def identity_of(transport: asyncio.BaseTransport) -> Identity:
    """The identity that the handshake gave; ANONYMOUS without TLS or a certificate."""
    connection = transport.get_extra_info("ssl_object")
    return connection.identity if isinstance(connection, TlsConnection) else ANONYMOUS


def certificate_identity(certificate: bytes, mapping: PrincipalMapping) -> Identity:
    """The identity of a client by its certificate (DER), which TLS has verified, as Kafka's
    DefaultKafkaPrincipalBuilder builds it. Raises NoPrincipal."""
    from cryptography import x509

    try:
        ends = x509.load_der_x509_certificate(certificate).not_valid_after_utc
        name = subject_name(certificate)
    except (UnreadableName, ValueError) as error:
        raise NoPrincipal(f"its certificate cannot be read: {error}") from None
    # Checked again, because a resumed TLS 1.2 session shows a certificate that was verified up to
    # two hours ago.
    if ends <= datetime.now(UTC):
        raise NoPrincipal(f"the certificate of '{name}' has expired")
    try:
        return Identity(f"User:{mapping.name(name)}", MECHANISM)
    except NoMatchingRule:
        raise NoPrincipal(f"no rule of principal_mapping_rules is for '{name}'") from None
    except InvalidPrincipal as error:
        raise NoPrincipal(str(error)) from None
