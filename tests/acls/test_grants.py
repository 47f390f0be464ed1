"""gateway.acls.grants: the grants of entries, as bits."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gateway.acl_model import Operation, Permission, pattern_of
from gateway.acls.grants import ALLOWS, DENIES, EVERYTHING, Grant, canonical_host
from tests.acls.samples import HOST, HOSTS, OPERATIONS, OTHER_HOST, entries, entry

PATTERN = pattern_of("TOPIC:LITERAL:x")
KAFKAS = [operation for operation in Operation if operation > Operation.ANY]


def grant(*texts: str) -> Grant:
    return Grant(PATTERN, tuple(map(entry, texts)))


def test_what_is_implied() -> None:
    """The sets IMPLIES_DESCRIBE and IMPLIES_DESCRIBE_CONFIGS of Kafka's StandardAuthorizer."""
    implying = {
        wanted: {by.name for by in KAFKAS if ALLOWS[by] & (1 << wanted) and by is not Operation.ALL}
        for wanted in KAFKAS
        if wanted is not Operation.ALL
    }
    expected = {wanted: {wanted.name} for wanted in implying}
    expected[Operation.DESCRIBE] |= {"READ", "WRITE", "DELETE", "ALTER"}
    expected[Operation.DESCRIBE_CONFIGS] |= {"ALTER_CONFIGS"}
    assert implying == expected
    assert ALLOWS[Operation.ALL] == DENIES[Operation.ALL] == EVERYTHING
    assert all(DENIES[one] == (1 << one) for one in KAFKAS if one is not Operation.ALL)


def test_hosts() -> None:
    found = grant("ALLOW READ a", f"DENY READ a {HOST}", f"ALLOW ALTER_CONFIGS a {HOST}")
    here = (1 << Operation.ALTER_CONFIGS) | (1 << Operation.DESCRIBE_CONFIGS)
    everywhere = (1 << Operation.READ) | (1 << Operation.DESCRIBE)
    assert found.at(HOST) == (everywhere | here, (1 << Operation.READ))
    assert found.at(OTHER_HOST) == (everywhere, 0)
    assert grant("ALLOW READ a").by_host is None


def test_what_an_allow_names() -> None:
    found = grant(f"ALLOW READ a {HOST}", "DENY WRITE a", f"ALLOW ALL a {OTHER_HOST}")
    assert found.allowed_operations == {Operation.READ, Operation.ALL}
    assert found.allows_by_name(Operation.READ, HOST)
    assert not found.allows_by_name(Operation.DESCRIBE, HOST)
    assert not found.allows_by_name(Operation.WRITE, HOST)
    assert found.allows_by_name(Operation.WRITE, OTHER_HOST)


def test_the_acl_that_decides_is_the_first_in_their_order() -> None:
    found = grant("ALLOW WRITE a", "ALLOW READ a", f"DENY ALL a {HOST}")
    wanted = 1 << Operation.DESCRIBE
    allowing = found.deciding(Permission.ALLOW, wanted, HOST)
    assert str(allowing) == "ALLOW READ for User:a on TOPIC:LITERAL:x"
    denying = found.deciding(Permission.DENY, wanted, HOST)
    assert str(denying) == f"DENY ALL for User:a from {HOST} on TOPIC:LITERAL:x"
    assert found.deciding(Permission.DENY, wanted, OTHER_HOST) is None


@given(st.lists(entries, max_size=4), st.sampled_from(OPERATIONS), st.sampled_from(HOSTS))
def test_bits_and_the_deciding_acl_agree(
    some: list[object], operation: Operation, host: str
) -> None:
    found = Grant(PATTERN, tuple(some))  # type: ignore[arg-type]
    allow, deny = found.at(host)
    for bits, permission in ((allow, Permission.ALLOW), (deny, Permission.DENY)):
        decided = found.deciding(permission, (1 << operation), host)
        assert bool(bits & (1 << operation)) is (decided is not None)


@pytest.mark.parametrize(
    ("host", "canonical"),
    [
        ("*", "*"),
        ("10.0.0.1", "10.0.0.1"),
        ("somewhere", "somewhere"),
        ("::1", "::1"),
        ("0:0:0:0:0:0:0:1", "::1"),
        ("FE80::0A", "fe80::a"),
        ("fe80::1%eth0", "fe80::1%eth0"),
        ("::ffff:10.0.0.1", "10.0.0.1"),
        ("not:an:address", "not:an:address"),
    ],
)
def test_addresses(host: str, canonical: str) -> None:
    assert canonical_host(host) == canonical
    assert canonical_host(canonical) == canonical
