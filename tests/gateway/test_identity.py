"""gateway.identity: the principals that a client may have, by any proof."""

from __future__ import annotations

import pytest

from gateway.acl_model import ANY_USER
from gateway.auth.exchange import AuthenticationFailed, proved
from gateway.identity import ANONYMOUS, Identity, InvalidPrincipal, check_principal

NOBODY = [
    ANY_USER,
    "Group:*",
    "User:",
    ":alice",
    "alice",
    "",
    "User:a\nb",
    "User:a\u202eb",
    "User:\0",
]
SOMEBODY = ["User:alice", "User:CN=*.example.com,O=x", "User:a*", "User:**", "User:a:b", "User: a"]


@pytest.mark.parametrize("principal", NOBODY)
def test_nobody_is_everyone(principal: str) -> None:
    with pytest.raises(InvalidPrincipal):
        check_principal(principal)
    with pytest.raises(InvalidPrincipal):
        Identity(principal)


@pytest.mark.parametrize("principal", [*SOMEBODY, ANONYMOUS.principal])
def test_who_may_be_somebody(principal: str) -> None:
    assert Identity(principal).principal == principal


@pytest.mark.parametrize("user", ["*", "", "a\nb"])
def test_no_mechanism_proves_it(user: str) -> None:
    with pytest.raises(AuthenticationFailed):
        proved(user, "PLAIN")
