"""gateway.checks.listeners: findings about listeners that other machines reach."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from gateway.checks.listeners import authenticates, exposures, warn_of_exposures
from gateway.config.models import Config, Listener
from gateway.config.policies import PolicySettings
from gateway.config.security import ListenerTls

NO_LOGIN = "clients need not authenticate"
NO_ACLS = "every client that can connect may do everything, as there is no authorization"

PASSES_THROUGH = "every client that can log in at the brokers may do everything in namespaces"
OWN_WORK = (
    ": there is no authorization, and the brokers' ACLs on clients do not cover the requests of the"
    " gateway's own"
)

_TLS = {"certificate": Path("c"), "key": Path("k")}


def config(*, authorization: bool = False, **listener: Any) -> Config:
    """A configuration with a listener on an address that other machines reach."""
    values: dict[str, Any] = {
        "clusters": (
            {"name": "main", "bootstrap_servers": ("127.0.0.1:9092",), "node_ids": ("1",)},
        ),
        "listeners": ({"name": "a", "port": 9000, "bind": "0.0.0.0", **listener},),  # noqa: S104
    }
    if authorization:
        values["authorization"] = {}
    return Config.model_validate(values)


def found(config: Config) -> list[str]:
    return [what for _, what in exposures(config)]


SECURE = {"security_protocol": "SSL", "tls": {**_TLS, "client_auth": "required"}}
SASL = {"security_protocol": "SASL_SSL", "tls": _TLS}


@pytest.mark.parametrize(
    ("listener", "authorization", "told"),
    [
        ({}, False, [NO_LOGIN]),
        ({}, True, [NO_LOGIN]),
        (SECURE, False, [NO_ACLS]),
        (SECURE, True, []),
        (SASL, False, [NO_ACLS]),
        (SASL, True, []),
        ({"security_protocol": "SSL", "tls": _TLS}, True, [NO_LOGIN]),
        (
            {"security_protocol": "SSL", "tls": {**_TLS, "client_auth": "requested"}},
            True,
            [NO_LOGIN],
        ),
        ({"bind": "127.0.0.1"}, False, []),
        ({"bind": "127.1.2.3"}, False, []),
        ({"bind": "::1"}, False, []),
        ({"bind": "LocalHost"}, False, []),
        ({"bind": "::"}, False, [NO_LOGIN]),
        ({"bind": "192.0.2.1"}, False, [NO_LOGIN]),
        ({"bind": "gateway.example"}, False, [NO_LOGIN]),
    ],
)
def test_what_a_listener_lacks(
    listener: dict[str, Any], authorization: bool, told: list[str]
) -> None:
    assert found(config(authorization=authorization, **listener)) == told


PASS_THROUGH: dict[str, Any] = {
    **SASL,
    "sasl": {"mechanisms": ("SCRAM-SHA-512",), "pass_through": True},
}
LIMITED = {"max_topics": 5}


@pytest.mark.parametrize(
    ("policies", "told"),
    [
        ({}, [f"{PASSES_THROUGH}{OWN_WORK}"]),
        (
            {"everywhere": {"producer": {"acks": "require"}}},
            [f"{PASSES_THROUGH}{OWN_WORK}"],
        ),
        *(
            (
                policies,
                [
                    f"{PASSES_THROUGH}, and create and alter topics of the default namespace,"
                    f" as there are policies{OWN_WORK}"
                ],
            )
            for policies in (
                {"everywhere": LIMITED},
                {"default_namespace": LIMITED},
                {"namespaces": {"org": LIMITED}},
            )
        ),
    ],
)
def test_pass_through_without_authorization(policies: dict[str, Any], told: list[str]) -> None:
    """Brokers would deny a client's request that they allow the gateway."""
    settings = PolicySettings.model_validate(policies)
    open_one = config(**PASS_THROUGH).model_copy(update={"policies": settings})
    assert found(open_one) == told
    closed = config(authorization=True, **PASS_THROUGH)
    assert found(closed.model_copy(update={"policies": settings})) == []


def test_who_authenticates() -> None:
    tls = ListenerTls.model_validate({**_TLS, "client_auth": "required"})
    assert authenticates(Listener(name="a", port=1, security_protocol="SASL_PLAINTEXT"))
    assert authenticates(Listener(name="a", port=1, security_protocol="SSL", tls=tls))
    assert not authenticates(Listener(name="a", port=1))


def test_one_line_for_each(caplog: pytest.LogCaptureFixture) -> None:
    warn_of_exposures(config())
    warn_of_exposures(config(bind="127.0.0.1"))
    assert caplog.messages == [f"listener a is open to other machines: {NO_LOGIN}"]
