"""gateway.acls.authorizer: the class that a configuration names."""

from __future__ import annotations

import pytest

from gateway.acl_model import Operation, ResourceType, resource
from gateway.acls.authorizer import AuthorizerError, load_authorizer
from gateway.acls.standard import StandardAuthorizer
from gateway.config.security import Authorization
from tests.acls.custom import ListAuthorizer
from tests.acls.samples import HOST


def custom(name: str, **configs: object) -> Authorization:
    return Authorization.model_validate(
        {"authorizer.class.name": f"tests.acls.custom.{name}", "configs": configs}
    )


def unchanged() -> None:
    raise AssertionError("nothing has changed")


def test_without_a_block_there_is_none() -> None:
    assert load_authorizer(None, unchanged) is None


def test_ours_is_the_default() -> None:
    block = {"super.users": ("User:root",), "allow.everyone.if.no.acl.found": True}
    made = load_authorizer(Authorization.model_validate(block), unchanged)
    assert isinstance(made, StandardAuthorizer)
    topic = resource(ResourceType.TOPIC, "x")
    rules = [
        made.authorize(user, HOST, Operation.READ, topic).rule for user in ("User:root", "User:a")
    ]
    assert rules == ["super.users", "allow.everyone.if.no.acl.found"]


def test_one_of_your_own_gets_the_whole_block() -> None:
    changes: list[int] = []
    made = load_authorizer(
        custom("ListAuthorizer", url="http://localhost"), lambda: changes.append(1)
    )
    assert isinstance(made, ListAuthorizer)
    assert made.configs == {
        "url": "http://localhost",
        "super.users": (),
        "allow.everyone.if.no.acl.found": False,
    }
    made.changed()
    assert changes == [1]


@pytest.mark.parametrize(
    ("block", "told"),
    [
        (custom("Missing"), "'tests.acls.custom.Missing' cannot be made: AttributeError: module"),
        (
            custom("missing.Class"),
            "cannot be made: ModuleNotFoundError: No module named",
        ),
        (custom("NeedsArguments"), "cannot be made: .*missing 1 required positional argument"),
        (custom("NoAuthorizer"), "is no gateway.acls.authorizer.Authorizer"),
        (custom("entry"), "cannot be made: "),
        (Authorization.model_validate({"authorizer.class.name": "nonsense"}), "is no class; write"),
        (custom("PickyAuthorizer"), "^authorization: policy.url is missing; add it to configs$"),
        (
            Authorization.model_validate({"configs": {"x": 1}}),
            "^authorization: the standard authorizer takes no 'x'; leave it out$",
        ),
    ],
)
def test_what_cannot_be_loaded_says_why(block: Authorization, told: str) -> None:
    with pytest.raises(AuthorizerError, match=told):
        load_authorizer(block, unchanged)
