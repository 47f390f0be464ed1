"""gateway.brokers.security: the settings of connections to brokers."""

from __future__ import annotations

import os
import ssl
from pathlib import Path
from typing import Any

import pytest

from devkit.certificates import Authority
from gateway.brokers.errors import BrokerError
from gateway.brokers.security import KEY, BrokerSecurity
from gateway.config.security import ClientSasl, ClientTls, ClusterSecurity, Secret

SECRET = "gateway-secret"  # noqa: S105


@pytest.fixture
def password(tmp_path: Path) -> Path:
    path = tmp_path / "password"
    path.write_text(f"{SECRET}\n")
    return path


def security_of(protocol: Any, **parts: Any) -> BrokerSecurity:
    return BrokerSecurity(ClusterSecurity(protocol=protocol, **parts))


def sasl_of(password: Path, mechanism: Any = "PLAIN") -> ClientSasl:
    return ClientSasl(mechanism=mechanism, username="gateway", password=Secret(file=password))


def first_token(security: BrokerSecurity) -> bytes:
    login = security.login()
    assert login is not None
    return login.first_token(0, ["PLAIN"])


def test_by_default_nothing_is_proved() -> None:
    security = BrokerSecurity()
    assert (security.has_tls, security.has_login) == (False, False)
    assert security.socket_options("broker") == {}
    assert security.login() is None


@pytest.mark.parametrize(
    ("protocol", "tls", "sasl"),
    [
        ("PLAINTEXT", False, False),
        ("SSL", True, False),
        ("SASL_PLAINTEXT", False, True),
        ("SASL_SSL", True, True),
    ],
)
def test_what_a_protocol_is(protocol: str, tls: bool, sasl: bool, password: Path) -> None:
    parts = {"sasl": sasl_of(password)} if sasl else {}
    security = security_of(protocol, **parts)
    assert (security.has_tls, security.has_login) == (tls, sasl)
    assert (security.login() is not None) is sasl
    assert set(security.socket_options("broker")) == ({"ssl", "server_hostname"} if tls else set())


def test_the_host_is_what_the_certificate_has_to_name(tmp_path: Path) -> None:
    ca = Authority(tmp_path / "ca")
    security = security_of("SSL", tls=ClientTls(ca=ca.file))
    options = security.socket_options("broker-1.example")
    assert options["server_hostname"] == "broker-1.example"
    assert options["ssl"].verify_mode is ssl.CERT_REQUIRED
    assert options["ssl"].check_hostname


def test_a_host_that_need_not_be_named_still_has_to_be_believed() -> None:
    context = security_of("SSL", tls=ClientTls(verify_hostname=False)).context()
    assert context.verify_mode is ssl.CERT_REQUIRED
    assert not context.check_hostname


def test_the_password_is_read_at_every_login(password: Path) -> None:
    security = security_of("SASL_PLAINTEXT", sasl=sasl_of(password))
    assert first_token(security) == b"\0gateway\0gateway-secret"
    password.write_text("another\n")
    assert first_token(security) == b"\0gateway\0another"


def test_a_password_that_is_gone(password: Path) -> None:
    security = security_of("SASL_PLAINTEXT", sasl=sasl_of(password))
    password.unlink()
    with pytest.raises(BrokerError) as raised:
        security.login()
    expected = f"no login: {KEY}.sasl.password: '{password}' cannot be read: No such file"
    assert str(raised.value).startswith(expected)


def test_files_that_have_changed_are_read_again(tmp_path: Path) -> None:
    first, second = Authority(tmp_path / "1", "first"), Authority(tmp_path / "2", "second")
    ca = tmp_path / "ca.pem"
    ca.write_bytes(first.file.read_bytes())
    security = security_of("SSL", tls=ClientTls(ca=ca))
    before = security.context()
    assert security.context() is before
    ca.write_bytes(second.file.read_bytes())
    os.utime(ca, ns=(1, 1))
    after = security.context()
    assert after is not before
    (believed,) = after.get_ca_certs()
    assert believed["subject"] == ((("commonName", "second"),),)


def test_a_file_that_is_gone_is_told_with_its_key(tmp_path: Path) -> None:
    ca = tmp_path / "ca.pem"
    ca.write_bytes(Authority(tmp_path / "ca").file.read_bytes())
    security = security_of("SSL", tls=ClientTls(ca=ca))
    security.context()
    ca.unlink()
    with pytest.raises(BrokerError, match=r"no TLS: clusters\[0\]\.security\.tls\.ca: .*no such f"):
        security.context()
    ca.write_bytes(Authority(tmp_path / "ca2").file.read_bytes())
    assert security.context().get_ca_certs()


def test_a_key_with_a_password(tmp_path: Path, password: Path) -> None:
    own = Authority(tmp_path / "ca").client("gateway", password=SECRET)
    tls = ClientTls(certificate=own.certificate, key=own.key, key_password=Secret(file=password))
    security_of("SSL", tls=tls).context()
    password.write_text("wrong\n")
    with pytest.raises(BrokerError) as raised:
        security_of("SSL", tls=tls).context()
    assert "clusters[0].security.tls.key" in str(raised.value)
    assert "wrong" not in str(raised.value)


def test_nothing_shows_the_password(password: Path) -> None:
    security = security_of("SASL_SSL", sasl=sasl_of(password))
    assert SECRET not in f"{security!r} {security.login()!r} {security.__dict__}"


@pytest.mark.parametrize(
    ("error", "reason"),
    [
        (ConnectionRefusedError(111, "Connect call failed ('10.0.0.7', 9092)"), "Connection refu"),
        (ValueError("port 99999"), "port 99999"),
        (OSError(), "OSError"),
    ],
)
def test_reasons_without_tls(error: Exception, reason: str) -> None:
    text = BrokerSecurity().reason(error)
    assert text.startswith(reason)
    assert "10.0.0.7" not in text


def test_a_broker_that_speaks_no_tls() -> None:
    text = security_of("SSL").reason(ConnectionResetError(104, "reset"))
    assert f"does it speak TLS there, as {KEY}.protocol says?" in text
    assert "max.connections.per.ip" in text
