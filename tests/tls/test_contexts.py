"""gateway.tls.contexts: the certificates that listeners show and trust, and the gateway as a
client."""

from __future__ import annotations

import ssl
from datetime import timedelta
from pathlib import Path

import pytest

from gateway.config.security import ClientTls, ListenerTls, Secret
from gateway.tls.contexts import (
    TlsConnection,
    TlsError,
    client_context,
    client_files,
    listener_files,
    server_context,
)
from tests.tls.pki import Pki
from tests.tls.tls_pair import Pair, trusting

PHRASE = "correct horse"
_HOUR = timedelta(hours=1)


@pytest.fixture
def pki(tmp_path: Path) -> Pki:
    return Pki(tmp_path)


def test_a_client_that_believes_the_authority(pki: Pki) -> None:
    pair = Pair(server_context(pki.listener()), pki.client())
    assert pair.client.version() == "TLSv1.3"
    assert pair.client.compression() is None
    assert pair.client.selected_alpn_protocol() is None
    assert pair.server.getpeercert(binary_form=True) is None


def test_a_client_that_believes_another_authority(pki: Pki) -> None:
    with pytest.raises(ssl.SSLCertVerificationError):
        Pair(server_context(pki.listener()), trusting(str(pki.foreign.file)))


def test_tls_1_2_has_forward_secrecy_and_authenticated_encryption(pki: Pki) -> None:
    client = pki.client()
    client.maximum_version = ssl.TLSVersion.TLSv1_2
    cipher = Pair(server_context(pki.listener()), client).client.cipher()
    assert cipher is not None
    assert cipher[0].startswith("ECDHE-")
    assert "GCM" in cipher[0] or "CHACHA20" in cipher[0]


@pytest.mark.parametrize("ciphers", ["AES256-SHA", "ECDHE-ECDSA-AES256-SHA", "AES128-GCM-SHA256"])
def test_weak_ciphers_are_rejected(pki: Pki, ciphers: str) -> None:
    client = pki.client()
    client.maximum_version = ssl.TLSVersion.TLSv1_2
    client.set_ciphers(f"{ciphers}:@SECLEVEL=0")
    with pytest.raises(ssl.SSLError):
        Pair(server_context(pki.listener()), client)


def test_versions_before_1_2_are_rejected(pki: Pki) -> None:
    client = pki.client()
    client.set_ciphers("ALL:@SECLEVEL=0")
    with pytest.warns(DeprecationWarning):
        client.minimum_version = ssl.TLSVersion.TLSv1
        client.maximum_version = ssl.TLSVersion.TLSv1_1
    with pytest.raises(ssl.SSLError):
        Pair(server_context(pki.listener()), client)


@pytest.mark.parametrize("version", [ssl.TLSVersion.TLSv1_2, ssl.TLSVersion.TLSv1_3])
def test_a_session_is_resumed_by_no_ticket(pki: Pki, version: ssl.TLSVersion) -> None:
    client = pki.client()
    client.maximum_version = version
    pair = Pair(server_context(pki.listener()), client)
    pair.settle()
    assert pair.client.session is None or not pair.client.session.has_ticket


# -- client certificates ------------------------------------------------------------------------


@pytest.mark.parametrize("mode", ["requested", "required"])
def test_a_believed_client_certificate(pki: Pki, mode: str) -> None:
    context = server_context(pki.listener(client_auth=mode, client_ca=pki.ours.file))
    pair = Pair(context, pki.client(pki.ours.client("alice")))
    pair.settle()
    assert pair.server.getpeercert(binary_form=True)


def test_no_client_certificate(pki: Pki) -> None:
    requested = server_context(pki.listener(client_auth="requested", client_ca=pki.ours.file))
    assert Pair(requested, pki.client()).server.getpeercert(binary_form=True) is None
    required = server_context(pki.listener(client_auth="required", client_ca=pki.ours.file))
    with pytest.raises(ssl.SSLError, match=r"(?i)peer did not return a certificate"):
        Pair(required, pki.client())


@pytest.mark.parametrize("mode", ["requested", "required"])
@pytest.mark.parametrize("which", ["foreign", "expired", "server's"])
def test_a_client_certificate_that_is_not_believed(pki: Pki, mode: str, which: str) -> None:
    credentials = {
        "foreign": lambda: pki.foreign.client("mallory"),
        "expired": lambda: pki.ours.client("bob", valid=-_HOUR),
        "server's": lambda: pki.server,
    }[which]()
    context = server_context(pki.listener(client_auth=mode, client_ca=pki.ours.file))
    with pytest.raises(ssl.SSLCertVerificationError):
        Pair(context, pki.client(credentials))


def test_nothing_is_asked_of_clients_by_default(pki: Pki) -> None:
    pair = Pair(server_context(pki.listener()), pki.client(pki.foreign.client("mallory")))
    assert pair.server.getpeercert(binary_form=True) is None


def test_an_authority_has_to_be_given(pki: Pki) -> None:
    with pytest.raises(TlsError) as caught:
        server_context(pki.listener(client_auth="required"))
    assert caught.value.key == "client_ca"


def test_an_intermediate_authority_needs_no_root(pki: Pki, tmp_path: Path) -> None:
    """As in a Java truststore: a listed certificate is trusted."""
    listed = tmp_path / "listed.pem"
    client = pki.ours.client("alice")
    listed.write_bytes(client.certificate.read_bytes())
    context = server_context(pki.listener(client_auth="required", client_ca=listed))
    assert Pair(context, pki.client(client)).server.getpeercert(binary_form=True)
    with pytest.raises(ssl.SSLCertVerificationError):
        Pair(context, pki.client(pki.ours.client("bob")))


# -- names --------------------------------------------------------------------------------------


def test_the_name_that_a_client_asks_for(pki: Pki) -> None:
    asked: list[str | None] = []

    def admits(name: str | None) -> bool:
        asked.append(name)
        return name != "elsewhere"

    context = server_context(pki.listener(), admits)
    named = Pair(context, pki.client()).server
    assert isinstance(named, TlsConnection)
    assert named.server_name == "localhost"
    by_address = Pair(context, pki.client(), "127.0.0.1").server
    assert isinstance(by_address, TlsConnection)
    assert by_address.server_name is None  # SNI has no addresses
    with pytest.raises(ssl.SSLError) as caught:
        Pair(context, pki.client(), "elsewhere")
    assert caught.value.reason == "CALLBACK_FAILED"
    assert asked == ["localhost", None, "elsewhere"]


def test_a_client_is_told_that_there_is_no_such_name(pki: Pki) -> None:
    to_server, to_client = ssl.MemoryBIO(), ssl.MemoryBIO()
    client = pki.client().wrap_bio(to_client, to_server, server_hostname="elsewhere")
    context = server_context(pki.listener(), lambda name: name == "localhost")
    server = context.wrap_bio(to_server, to_client, server_side=True)
    with pytest.raises(ssl.SSLWantReadError):
        client.do_handshake()
    with pytest.raises(ssl.SSLError):
        server.do_handshake()
    with pytest.raises(ssl.SSLError) as caught:
        client.do_handshake()
    assert caught.value.reason == "TLSV1_UNRECOGNIZED_NAME"


# -- files --------------------------------------------------------------------------------------


def test_an_encrypted_key(pki: Pki, tmp_path: Path) -> None:
    secret = tmp_path / "password"
    secret.write_text(PHRASE + "\n")
    made = pki.ours.client("locked", password=PHRASE)
    tls = ListenerTls(certificate=made.certificate, key=made.key, key_password=Secret(file=secret))
    server_context(tls)
    assert listener_files(tls) == (made.certificate, made.key, secret)
    secret.write_text("wrong")
    with pytest.raises(TlsError, match=r"key: .*cannot be decrypted") as caught:
        server_context(tls)
    assert "wrong" not in str(caught.value)


def test_a_key_too_weak_for_openssl_is_told_by_its_file(pki: Pki, tmp_path: Path) -> None:
    weak = pki.ours.weak("weak")
    with pytest.raises(TlsError) as caught:
        server_context(ListenerTls(certificate=weak.certificate, key=weak.key))
    assert str(caught.value) == (
        f"certificate: '{weak.certificate}' cannot be used: ee key too small; give another"
    )


def test_mistakes_name_their_key(pki: Pki, tmp_path: Path) -> None:
    other = pki.ours.client("other")
    nothing = tmp_path / "nothing.pem"
    server = pki.server

    def key_of(tls: ListenerTls | ClientTls) -> str:
        with pytest.raises(TlsError) as caught:
            client_context(tls) if isinstance(tls, ClientTls) else server_context(tls)
        return caught.value.key

    assert key_of(ListenerTls(certificate=nothing, key=server.key)) == "certificate"
    assert key_of(ListenerTls(certificate=server.certificate, key=nothing)) == "key"
    assert key_of(ListenerTls(certificate=server.certificate, key=other.key)) == "key"
    assert key_of(pki.listener(client_auth="requested", client_ca=nothing)) == "client_ca"
    assert key_of(pki.listener(key_password=Secret(file=nothing))) == "key_password"
    assert key_of(ClientTls(ca=nothing)) == "ca"
    assert key_of(ClientTls(certificate=other.certificate)) == "key"
    assert key_of(ClientTls(key=other.key)) == "certificate"
    assert key_of(ClientTls(certificate=server.certificate, key=other.key)) == "key"


def test_files_of_a_context(pki: Pki) -> None:
    tls = pki.listener(client_auth="required", client_ca=pki.ours.file)
    assert listener_files(tls) == (pki.server.certificate, pki.server.key, pki.ours.file)
    assert client_files(ClientTls(ca=pki.ours.file)) == (pki.ours.file,)
    assert client_files(ClientTls(key_password=Secret(env="X"))) == ()


# -- as a client --------------------------------------------------------------------------------


def test_the_gateway_as_a_client(pki: Pki) -> None:
    server = server_context(pki.listener(client_auth="required", client_ca=pki.ours.file))
    own = pki.ours.client("gateway")
    tls = ClientTls(ca=pki.ours.file, certificate=own.certificate, key=own.key)
    assert Pair(server, client_context(tls)).server.getpeercert(binary_form=True)


def test_the_gateway_believes_only_its_authorities(pki: Pki) -> None:
    server = server_context(pki.listener())
    for tls in (ClientTls(ca=pki.foreign.file), ClientTls()):
        with pytest.raises(ssl.SSLCertVerificationError):
            Pair(server, client_context(tls))


def test_the_gateway_looks_at_host_names_unless_told_not_to(pki: Pki) -> None:
    server = server_context(pki.listener())
    with pytest.raises(ssl.SSLCertVerificationError):
        Pair(server, client_context(ClientTls(ca=pki.ours.file)), "broker.example")
    lenient = client_context(ClientTls(ca=pki.ours.file, verify_hostname=False))
    assert Pair(server, lenient, "broker.example").client.version()
    foreign = client_context(ClientTls(ca=pki.foreign.file, verify_hostname=False))
    with pytest.raises(ssl.SSLCertVerificationError):
        Pair(server, foreign, "broker.example")


def test_the_gateway_as_a_client_speaks_no_old_versions(pki: Pki) -> None:
    context = client_context(ClientTls(ca=pki.ours.file))
    assert context.minimum_version is ssl.TLSVersion.TLSv1_2
    assert all(each["protocol"] in ("TLSv1.2", "TLSv1.3") for each in context.get_ciphers())
    assert context.verify_mode is ssl.CERT_REQUIRED
