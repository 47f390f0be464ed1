"""gateway.config_file.security_rules: ``clusters.security``, and logins that pass through to it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from devkit.certificates import Authority
from gateway.config.errors import ConfigError
from gateway.config_file.loading import load_config
from tests.config.config_samples import values, write

SECURITY = "clusters[0].security"


@pytest.fixture
def secret(tmp_path: Path) -> str:
    path = tmp_path / "password"
    path.write_text("gateway-secret\n")
    return str(path)


def identity(secret: str, **changes: Any) -> dict[str, Any]:
    return {
        "mechanism": "SCRAM-SHA-512",
        "username": "gateway",
        "password": {"file": secret},
        **changes,
    }


def told(directory: Path, security: dict[str, Any], **listener: Any) -> list[str]:
    """The errors of a file with these settings, without the file's name."""
    given = values()
    given["clusters"][0]["security"] = security
    given["listeners"][0] |= listener
    path = write(directory, **given)
    try:
        load_config(path)
    except ConfigError as error:
        return [line.partition(": ")[2] for line in str(error).splitlines()]
    return []


@pytest.mark.parametrize("protocol", ["SASL_PLAINTEXT", "SASL_SSL"])
def test_an_identity(tmp_path: Path, secret: str, protocol: str) -> None:
    assert told(tmp_path, {"protocol": protocol, "sasl": identity(secret)}) == []


def test_tls_with_every_key(tmp_path: Path) -> None:
    ca = Authority(tmp_path / "ca")
    own = ca.client("gateway")
    tls = {
        "ca": str(ca.file),
        "certificate": str(own.certificate),
        "key": str(own.key),
        "verify_hostname": False,
    }
    assert told(tmp_path, {"protocol": "SSL", "tls": tls}) == []
    assert told(tmp_path, {"protocol": "SSL"}) == []


@pytest.mark.parametrize(
    ("protocol", "told_of"),
    [
        ("SASL_SSL", "sasl: is missing, as protocol is SASL_SSL; give mechanism, username and "),
        ("SASL_PLAINTEXT", "sasl: is missing, as protocol is SASL_PLAINTEXT; give mechanism"),
    ],
)
def test_an_identity_is_missing(tmp_path: Path, protocol: str, told_of: str) -> None:
    (line,) = told(tmp_path, {"protocol": protocol})
    assert line.startswith(f"{SECURITY}.{told_of}")


@pytest.mark.parametrize(
    ("protocol", "other"), [("PLAINTEXT", "SASL_PLAINTEXT or SASL_SSL"), ("SSL", "SASL_SSL")]
)
def test_an_identity_that_nobody_asks_for(
    tmp_path: Path, secret: str, protocol: str, other: str
) -> None:
    assert told(tmp_path, {"protocol": protocol, "sasl": identity(secret)}) == [
        f"{SECURITY}.sasl: means nothing with {protocol}; make protocol {other}"
    ]


def test_tls_that_is_not_spoken(tmp_path: Path, secret: str) -> None:
    assert told(tmp_path, {"tls": {}}) == [
        f"{SECURITY}.tls: means nothing with PLAINTEXT; make protocol SSL or remove it"
    ]
    security = {"protocol": "SASL_PLAINTEXT", "sasl": identity(secret), "tls": {}}
    assert told(tmp_path, security) == [
        f"{SECURITY}.tls: means nothing with SASL_PLAINTEXT; make protocol SASL_SSL or remove it"
    ]


@pytest.mark.parametrize(
    ("tls", "told_of"),
    [
        ({"ca": "/no/ca.pem"}, "tls.ca: '/no/ca.pem' cannot be read: no such file or directory"),
        ({"certificate": "/no/own.pem"}, "tls.key: is missing"),
        ({"key": "/no/own.key"}, "tls.certificate: is missing"),
    ],
)
def test_files_that_are_not_there(tmp_path: Path, tls: dict[str, str], told_of: str) -> None:
    (line,) = told(tmp_path, {"protocol": "SSL", "tls": tls})
    assert line.startswith(f"{SECURITY}.{told_of}")


def test_a_password_that_cannot_be_read(tmp_path: Path) -> None:
    security = {"protocol": "SASL_SSL", "sasl": identity("/no/password")}
    assert told(tmp_path, security) == [
        f"{SECURITY}.sasl.password: '/no/password' cannot be read: No such file or directory; "
        "correct it"
    ]
    sasl = identity("", password={"env": "KAFKA_GATEWAY_TEST_UNSET"})
    assert told(tmp_path, {"protocol": "SASL_SSL", "sasl": sasl}) == [
        f"{SECURITY}.sasl.password: environment variable KAFKA_GATEWAY_TEST_UNSET is not set; "
        "set it"
    ]


def test_a_password_that_scram_forbids(tmp_path: Path, secret: str) -> None:
    Path(secret).write_text("a\x07b\n")
    (line,) = told(tmp_path, {"protocol": "SASL_SSL", "sasl": identity(secret)})
    assert line.startswith(f"{SECURITY}.sasl: SCRAM-SHA-512 does not allow that user or password")
    assert line.endswith("; change username or password")


@pytest.mark.parametrize("mechanism", ["GSSAPI", "OAUTHBEARER", "plain"])
def test_mechanisms_that_the_gateway_cannot_log_in_with(
    tmp_path: Path, secret: str, mechanism: str
) -> None:
    sasl = identity(secret, mechanism=mechanism)
    (line,) = told(tmp_path, {"protocol": "SASL_SSL", "sasl": sasl})
    assert line.startswith(f"{SECURITY}.sasl.mechanism: ")
    assert "'SCRAM-SHA-512'" in line


class TestPassThrough:
    """Listeners whose clients log in at the brokers."""

    def through(self, *mechanisms: str, **more: Any) -> dict[str, Any]:
        sasl = {"mechanisms": list(mechanisms or ["PLAIN"]), "pass_through": True, **more}
        return {"security_protocol": "SASL_PLAINTEXT", "sasl": sasl}

    def test_to_brokers_with_sasl(self, tmp_path: Path, secret: str) -> None:
        security = {"protocol": "SASL_SSL", "sasl": identity(secret)}
        every = ("PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512", "OAUTHBEARER")
        assert told(tmp_path, security, **self.through(*every)) == []
        claim = self.through("OAUTHBEARER", oauthbearer={"principal_claim": "email"})
        assert told(tmp_path, security, **claim) == []

    @pytest.mark.parametrize("protocol", ["PLAINTEXT", "SSL"])
    def test_to_brokers_without_sasl(self, tmp_path: Path, protocol: str) -> None:
        assert told(tmp_path, {"protocol": protocol}, **self.through()) == [
            "listeners[0].sasl.pass_through: needs brokers that let clients log in, not "
            f"{protocol}; make clusters[0].security.protocol SASL_PLAINTEXT or SASL_SSL"
        ]

    def test_a_mechanism_that_hides_the_name(self, tmp_path: Path, secret: str) -> None:
        security = {"protocol": "SASL_SSL", "sasl": identity(secret)}
        (line,) = told(tmp_path, security, **self.through("GSSAPI"))
        assert line.startswith("listeners[0].sasl.mechanisms[0]: ")
        assert "'SCRAM-SHA-512'" in line

    def test_what_brokers_check_is_not_the_gateways(self, tmp_path: Path, secret: str) -> None:
        security = {"protocol": "SASL_SSL", "sasl": identity(secret)}
        bearer = {"jwks": "/no/jwks.json", "audience": ["kafka"]}
        lines = told(tmp_path, security, **self.through("OAUTHBEARER", oauthbearer=bearer))
        assert lines == [
            f"listeners[0].sasl.oauthbearer.{key}: means nothing with pass_through: brokers check "
            "tokens; remove it"
            for key in ("jwks", "audience")
        ]
        users = self.through(users={"alice": {"file": secret}})
        assert told(tmp_path, security, **users) == [
            "listeners[0].sasl.users: means nothing with pass_through: brokers have them; remove it"
        ]


# -- the catalog ----------------------------------------------------------------------------------


def told_of_catalog(directory: Path, catalog: dict[str, Any]) -> list[str]:
    """The errors of a file with this ``catalog``."""
    path = write(directory, catalog=catalog)
    try:
        load_config(path)
    except ConfigError as error:
        return [line.partition(": ")[2] for line in str(error).splitlines()]
    return []


def test_an_identity_of_its_own_for_the_catalog(tmp_path: Path, secret: str) -> None:
    security = {"protocol": "SASL_PLAINTEXT", "sasl": identity(secret)}
    assert told_of_catalog(tmp_path, {"security": security}) == []


def test_one_that_cannot_be(tmp_path: Path, secret: str) -> None:
    security = {"protocol": "PLAINTEXT", "sasl": identity(secret)}
    (line,) = told_of_catalog(tmp_path, {"security": security})
    assert line.startswith("catalog.security.sasl: means nothing with PLAINTEXT")


def test_the_keys_of_the_catalog(tmp_path: Path) -> None:
    path = tmp_path / "keys"
    path.write_text(f"k1 {'11' * 32}\n")
    assert told_of_catalog(tmp_path, {"key_file": str(path)}) == []
    path.write_text("k1 short\n")
    (line,) = told_of_catalog(tmp_path, {"key_file": str(path)})
    assert line.startswith("catalog.key_file: line 1 of ")
    assert "short" not in line
