"""Names of certificates, and their principals by mapping rules, against Java and Kafka itself."""

from __future__ import annotations

import base64
import random
from collections.abc import Iterator, Sequence

from devkit import java
from gateway.tls.distinguished_name import name_text
from gateway.tls.principal_mapping import InvalidRules, NoMatchingRule, PrincipalMapping
from tests.live.support.java_tools import SOURCES
from tests.tls import name_samples

NAMES = 3_000
MAPPINGS = 6_000


def ask(questions: Sequence[str]) -> list[str | None]:
    """The responses of TlsPrincipals.java, each None if Java threw an exception."""
    classes = java.compile_java(SOURCES / "TlsPrincipals.java")
    text = "".join(f"{question}\n" for question in questions)
    ended = java.run_java("TlsPrincipals", stdin=text, classes=classes)
    assert ended.returncode == 0, ended.stderr
    answers = ended.stdout.splitlines()
    assert len(answers) == len(questions)
    return [None if each == "-" else base64.b64decode(each).decode() for each in answers]


def tlv(tag: int, content: bytes) -> bytes:
    """The DER encoding of an element."""
    length = len(content)
    if length < 0x80:
        return bytes([tag, length]) + content
    size = length.to_bytes((length.bit_length() + 7) // 8, "big")
    return bytes([tag, 0x80 | len(size)]) + size + content


def oid(text: str) -> bytes:
    first, second, *rest = map(int, text.split("."))
    content = b""
    for arc in (40 * first + second, *rest):
        groups = [arc & 0x7F]
        while arc := arc >> 7:
            groups.append(arc & 0x7F | 0x80)
        content += bytes(reversed(groups))
    return tlv(0x06, content)


# Every type with a keyword in RFC 2253, and some types without a keyword.
TYPES = [
    *["2.5.4.3", "2.5.4.6", "2.5.4.7", "2.5.4.8", "2.5.4.9", "2.5.4.10", "2.5.4.11"],
    *["0.9.2342.19200300.100.1.1", "0.9.2342.19200300.100.1.25"],
    *["2.5.4.4", "2.5.4.5", "2.5.4.12", "2.5.4.42", "2.5.4.46", "1.2.840.113549.1.9.1"],
    *["1.3.6.1.4.1.99999.7", "2.999.3"],
]
CHARACTERS = "abcXYZ019 ,=+<>#;\"\\'()-./:?\r\n\t\0äß漢😀@_*&|!$%~^[]{}`"
ENCODINGS = {0x0C: "utf-8", 0x1E: "utf-16-be", 0x1C: "utf-32-be"}


def random_value(source: random.Random) -> bytes:
    """A string of any of DER's kinds; the content of some is invalid for their tag."""
    tag = source.choice([0x0C, 0x0C, 0x12, 0x13, 0x14, 0x16, 0x1A, 0x1B, 0x1C, 0x1E])
    text = "".join(source.choice(CHARACTERS) for _ in range(source.randint(0, 8)))
    if source.random() < 0.3:
        text = " " * source.randint(1, 3) + text + " " * source.randint(0, 2)
    return tlv(tag, text.encode(ENCODINGS.get(tag, "latin-1"), "ignore"))


def random_name(source: random.Random) -> bytes:
    """The DER content of a distinguished name."""

    def part() -> bytes:
        count = source.choice([1, 1, 1, 2, 3])
        attributes = (
            tlv(0x30, oid(source.choice(TYPES)) + random_value(source)) for _ in range(count)
        )
        return tlv(0x31, b"".join(attributes))

    return b"".join(part() for _ in range(source.randint(0, 4)))


def test_names_are_what_java_makes_of_them() -> None:
    source = random.Random(2253)
    contents = [random_name(source) for _ in range(NAMES)]
    answers = ask([f"name {tlv(0x30, content).hex()}" for content in contents])
    assert [name_text(content) for content in contents] == answers


def test_the_samples_of_the_unit_tests_are_java_s() -> None:
    known = {
        name_samples.content_of(attributes): text for attributes, text in name_samples.ATTRIBUTES
    }
    known |= {bytes.fromhex(der): text for der, text in name_samples.DER}
    assert ask([f"name {tlv(0x30, content).hex()}" for content in known]) == [*known.values()]


PATTERNS = (
    "^CN=(.*?),OU=ServiceUsers.*$",
    "CN=(.*?),OU=(.*?),O=(.*?),L=(.*?),ST=(.*?),C=(.*?)",
    "^.*[Cc][Nn]=([a-zA-Z0-9.]*).*$",
    ".*",
    "(.*)",
    "(.+)",
    "x*",
    "a|ab",
    "(a)|(b)",
    r"CN=(\w+)",
    "^CN=([^,ADEFLTU,]+)(.*)$",
    "CN=([^,]+)(,OU=([^,]*))?.*",
    r"CN\/(.*)",
    "(?i)cn=(.*)",
    "((((((((((c))))))))))(.*)",
    r"\Q[a]\E*",
    r"[\]a]*",
    r"\d+",
    "[a-z&&[^b]]*",  # from here on rejected: RE2 cannot read it, or reads it unlike Java
    "[[a]b]*",
    "[]a]*",
    "(",
    "CN=(.+?)(?=,)",
    "[[:alpha:]]*",
)
REPLACEMENTS = (
    *["$1", "$1@$2", "$0", "x", "$10", "$12", "$2$1", "$9", r"\$1", r"a\/b", "$", "${n}", "$a"],
    *["", "$01", "$1-$1", "\\\\", "é"],
)
ODD_RULES = ("default", "RULE:a/b", "RULE:a/b/LU", "RULE:a/b/X", "DEFAULT x", " ", "", "RULE:///")
SUBJECTS = (
    *["CN=kafka,OU=ServiceUsers,O=org", "CN=Duke,OU=JavaSoft,O=Sun Microsystems,L=a,ST=b,C=US"],
    *["a", "ab", "abc", "b", "", "CN=alice,OU=x", "CN/abc", "cc", "c123", "CN=admin", "aaa", "[a]"],
    *["]a]", "Cn=É", r"a\,b", "123"],
)


def random_rule(source: random.Random) -> str:
    kind = source.random()
    if kind < 0.1:
        return "DEFAULT"
    if kind < 0.13:
        return source.choice(ODD_RULES)
    case = source.choice(["", "L", "U"])
    return f"RULE:{source.choice(PATTERNS)}/{source.choice(REPLACEMENTS)}/{case}"


def mappings(source: random.Random) -> Iterator[tuple[str, str]]:
    for _ in range(MAPPINGS):
        rules = [random_rule(source) for _ in range(source.choice([1, 1, 2, 3]))]
        yield source.choice([",", ", "]).join(rules), source.choice(SUBJECTS)


def encoded(text: str) -> str:
    return base64.b64encode(text.encode()).decode()


def test_mapping_rules_give_what_kafka_s_give() -> None:
    """Our rules and Kafka's give the same name, or both give no name.

    If our start rejects rules, Kafka rejects them as well, fails when a client connects, or reads
    them differently from RE2.
    """
    cases = list(mappings(random.Random(371)))
    answers = ask([f"map {encoded(rules)} {encoded(name)}" for rules, name in cases])
    compared = named = 0
    for (rules, name), theirs in zip(cases, answers, strict=True):
        try:
            mapping = PrincipalMapping([rules])
        except InvalidRules:
            continue
        try:
            ours = mapping.name(name)
        except NoMatchingRule:
            ours = None
        # Kafka has a principal with an empty name, 'User:'. We reject such a client.
        assert ours == (theirs or None), (rules, name)
        compared += 1
        named += ours is not None
    assert compared > MAPPINGS / 4
    assert named > MAPPINGS / 10
