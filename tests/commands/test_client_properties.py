"""gateway.commands.client_properties: Kafka's properties files as logins."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gateway.brokers.login import BrokerLogin
from gateway.commands import client_properties
from gateway.commands.client_properties import KEY, ClientSecurity, read_properties
from gateway.commands.errors import UsageError
from gateway.config.connecting import SecurityValues
from tests.commands.fake_gateway import FakeGateway
from tests.commands.running import command

JAAS = "sasl.jaas.config=org.apache.kafka.common.security.{}LoginModule required {};\n".format
SCRAM = JAAS("scram.Scram", 'username="alice" password="se\\\\"cret;"')
PLAIN = JAAS("plain.Plain", "password=secret username='al ice'")


def settings(tmp_path: Path, text: str) -> SecurityValues:
    path = tmp_path / "client.properties"
    path.write_text(text)
    return client_properties._settings(path)


def rejected(tmp_path: Path, text: str) -> str:
    with pytest.raises(UsageError) as caught:
        settings(tmp_path, text)
    assert "secret" not in str(caught.value)
    assert "client.properties" in str(caught.value)
    return str(caught.value)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", {}),
        ("# a=b\n ! c=d\n\n", {}),
        ("a=b\nc : d\ne f\ng\n", {"a": "b", "c": "d", "e": "f", "g": ""}),
        ("a = b = c \n", {"a": "b = c "}),
        ("a=one, \\\n   two, \\\n   three\nb=x", {"a": "one, two, three", "b": "x"}),
        ("a=ends with\\\\\nb=c", {"a": "ends with\\", "b": "c"}),
        (r"a\ b\=c\:=\u00e4\tx\!", {"a b=c:": "ä\tx!"}),
        ("a=1\na=2", {"a": "2"}),
        ("a=b\\", {"a": "b"}),
        ("a=b\\\n# no comment", {"a": "b# no comment"}),
    ],
)
def test_properties(text: str, expected: dict[str, str]) -> None:
    assert read_properties(text) == expected


KEYS = st.text("abc.=: \\#!ä\t", min_size=1, max_size=8)


@given(st.dictionaries(KEYS, KEYS))
def test_whatever_is_escaped_is_read_back(values: dict[str, str]) -> None:
    def escaped(text: str) -> str:
        return "".join(f"\\u{ord(letter):04x}" for letter in text)

    text = "".join(f"{escaped(key)}={escaped(value)}\n" for key, value in values.items())
    assert read_properties(text) == values


@given(st.text(max_size=30))
def test_any_text_is_read(text: str) -> None:
    read_properties(text)


@pytest.mark.parametrize(
    ("text", "mechanism", "user", "password"),
    [
        (f"sasl.mechanism=SCRAM-SHA-256\n{SCRAM}", "SCRAM-SHA-256", "alice", 'se"cret;'),
        (f"sasl.mechanism=PLAIN\n{PLAIN}", "PLAIN", "al ice", "secret"),
        (
            "sasl.mechanisms=SCRAM-SHA-512\nsasl.username=bob\nsasl.password=pw",
            "SCRAM-SHA-512",
            "bob",
            "pw",
        ),
    ],
)
def test_logins(tmp_path: Path, text: str, mechanism: str, user: str, password: str) -> None:
    found = settings(tmp_path, f"security.protocol=sasl_plaintext\n{text}")
    assert found.protocol == "SASL_PLAINTEXT"
    assert found.sasl is not None
    assert (found.sasl.mechanism, found.sasl.username) == (mechanism, user)
    assert found.sasl.password.read() == password
    assert password not in repr(found)
    security = ClientSecurity(tmp_path / "client.properties")
    assert isinstance(security.login(), BrokerLogin)


def test_tls(tmp_path: Path) -> None:
    java = """\
security.protocol=SSL
ssl.truststore.type=PEM
ssl.truststore.location=/etc/ca.pem
ssl.keystore.type=pem
ssl.keystore.location=/etc/alice.pem
ssl.key.password=secret
ssl.endpoint.identification.algorithm=
"""
    found = settings(tmp_path, java)
    tls = found.tls
    assert (str(tls.ca), str(tls.certificate), str(tls.key)) == (
        "/etc/ca.pem",
        "/etc/alice.pem",
        "/etc/alice.pem",
    )
    assert tls.key_password is not None
    assert tls.key_password.read() == "secret"
    assert "secret" not in repr(found)
    assert (tls.verify_hostname, found.sasl) == (False, None)
    librdkafka = """\
security.protocol=ssl
ssl.ca.location=ca.pem
ssl.certificate.location=cert.pem
ssl.key.location=key.pem
"""
    tls = settings(tmp_path, librdkafka).tls
    assert [str(path) for path in (tls.ca, tls.certificate, tls.key)] == [
        "ca.pem",
        "cert.pem",
        "key.pem",
    ]
    assert tls.verify_hostname


def test_what_is_no_security_is_left_alone(tmp_path: Path) -> None:
    found = settings(tmp_path, "client.id=x\nbootstrap.servers=a:1\nrequest.timeout.ms=5\n")
    assert found == SecurityValues()
    assert not ClientSecurity(None).has_login


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("security.protocol=TLS", "security.protocol is one of PLAINTEXT, SSL, SASL_PLAINTEXT"),
        ("sasl.oauthbearer.token.endpoint.url=x", "'sasl.oauthbearer.token.endpoint.url' is not"),
        ("ssl.cipher.suites=x", "'ssl.cipher.suites' is not known here; there are sasl.jaas"),
        ("ssl.truststore.type=JKS", "ssl.truststore.type is PEM here; export"),
        ("ssl.keystore.type=PKCS12", "ssl.keystore.type is PEM here"),
        ("security.protocol=SASL_SSL", "sasl.mechanism is one of PLAIN, SCRAM-SHA-256"),
        ("security.protocol=SASL_SSL\nsasl.mechanism=GSSAPI", "sasl.mechanism is one of"),
        ("security.protocol=SASL_SSL\nsasl.mechanism=PLAIN", "give the user in sasl.jaas.config"),
        (
            "security.protocol=SASL_SSL\nsasl.mechanism=PLAIN\nsasl.username=a",
            "give the user in sasl.jaas.config",
        ),
        (
            f"security.protocol=SASL_SSL\nsasl.mechanism=PLAIN\n{SCRAM}",
            "sasl.jaas.config is like 'org.apache.kafka.common.security.plain.PlainLoginModule",
        ),
        (
            "security.protocol=SASL_SSL\nsasl.mechanism=SCRAM-SHA-256\nsasl.jaas.config=secret",
            "security.scram.ScramLoginModule required username=",
        ),
    ],
)
def test_what_cannot_be_done(tmp_path: Path, text: str, reason: str) -> None:
    assert reason in rejected(tmp_path, text)


def test_files_that_cannot_be_read(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="cannot be read: No such file"):
        ClientSecurity(tmp_path / "nothing")
    (tmp_path / "binary").write_bytes(b"\xff\xfe")
    with pytest.raises(UsageError, match="cannot be read: it is not text"):
        ClientSecurity(tmp_path / "binary")


@pytest.mark.parametrize(
    ("reason", "told"),
    [
        (f"correct {KEY}.sasl.username or so", "correct the user name in FILE or so"),
        (f"as {KEY}.protocol says", "as security.protocol in FILE says"),
        (f"correct {KEY}.tls.ca", "correct ssl.truststore.location in FILE"),
        (f"no TLS: x ({KEY}.tls)", "no TLS: x (the security settings in FILE)"),
        ("nothing of it", "nothing of it"),
    ],
)
def test_errors_name_the_properties(tmp_path: Path, reason: str, told: str) -> None:
    path = tmp_path / "x"
    path.write_text("")
    assert ClientSecurity(path).with_properties(reason).replace(str(path), "FILE") == told


async def test_a_login_that_is_rejected_ends_the_command(tmp_path: Path) -> None:
    path = tmp_path / "login.properties"
    path.write_text(f"security.protocol=SASL_PLAINTEXT\nsasl.mechanism=PLAIN\n{PLAIN}")

    class Rejecting(FakeGateway):
        def handlers(self) -> Any:
            return {
                **super().handlers(),
                "SaslHandshake": lambda *_: {"error_code": 0, "mechanisms": ("PLAIN",)},
                "SaslAuthenticate": lambda *_: {"error_code": 58, "error_message": "No."},
            }

    async with Rejecting() as gateway:
        at = ("--bootstrap-server", gateway.address, "--command-config", str(path))
        said = await command("topics", *at, "--list")
        assert (said.status, said.out) == (1, "")
        assert "refuses user 'al ice' by PLAIN (No.); correct the user name in" in said.err
        assert "secret" not in said.err
        assert not gateway.asked("Metadata")


async def test_hints_keep_the_login(tmp_path: Path) -> None:
    path = tmp_path / "none.properties"
    path.write_text("client.id=me\n")
    async with FakeGateway() as gateway:
        at = ("--bootstrap-server", gateway.address, "--command-config", str(path))
        said = await command("topics", *at, "--describe", "--topic", "nothing:x")
        assert said.status == 1
        where = f"kafka-gateway topics --bootstrap-server {gateway.address} --command-config {path}"
        assert where in said.err
