"""gateway.tls.listener: TLS files that change while the gateway runs."""

from __future__ import annotations

import logging
import os
import ssl
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from time import thread_time

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import rsa

from devkit.certificates import Credentials
from gateway.broker_names import BrokerNames
from gateway.config.security import ListenerTls
from gateway.identity import ANONYMOUS
from gateway.node_ids import NodeIdRanges
from gateway.tls.client_hello import ClientHello
from gateway.tls.contexts import TlsError
from gateway.tls.listener import MAX_CONTEXTS, TlsListener, expiry_text
from gateway.tls.principal_mapping import InvalidRules
from tests.tls.pki import Pki
from tests.tls.tls_pair import Pair, trusting

DAY = 86_400


class Mounted:
    """The files of a listener, as they are mounted; others are copied over them."""

    def __init__(self, pki: Pki, directory: Path) -> None:
        directory.mkdir()
        self._pki = pki
        self.certificate = directory / "tls.crt"
        self.key = directory / "tls.key"
        self.client_ca = directory / "ca.crt"
        self.show(pki.server)
        self.client_ca.write_bytes(pki.ours.file.read_bytes())

    def show(self, credentials: Credentials) -> None:
        self.certificate.write_bytes(credentials.certificate.read_bytes())
        self.key.write_bytes(credentials.key.read_bytes())

    def tls(self, **settings: object) -> ListenerTls:
        return ListenerTls.model_validate(
            {"certificate": self.certificate, "key": self.key, **settings}
        )


@pytest.fixture
def pki(tmp_path: Path) -> Pki:
    return Pki(tmp_path)


@pytest.fixture
def mounted(pki: Pki, tmp_path: Path) -> Mounted:
    return Mounted(pki, tmp_path / "mounted")


def shown(listener: TlsListener, *authorities: Path) -> str:
    """The subject of the certificate that a new client sees."""
    der = Pair(listener.context, trusting(*map(str, authorities))).client.getpeercert(True)
    assert der is not None
    return x509.load_der_x509_certificate(der).subject.rfc4514_string()


def test_what_is_not_changed_is_not_made_anew(mounted: Mounted) -> None:
    listener = TlsListener("secure", mounted.tls(), None)
    context = listener.context
    listener.reload()
    assert listener.context is context
    os.utime(mounted.certificate, (1, 1))
    listener.reload()  # touched, and otherwise unchanged
    assert listener.context is context


def test_a_new_certificate(pki: Pki, mounted: Mounted, caplog: pytest.LogCaptureFixture) -> None:
    listener = TlsListener("secure", mounted.tls(), None)
    assert shown(listener, pki.ours.file) == "CN=server"
    before = listener.context
    mounted.show(pki.ours.server("renewed"))
    with caplog.at_level(logging.INFO):
        listener.reload()
    assert shown(listener, pki.ours.file) == "CN=renewed"
    assert caplog.messages == ["listener secure uses the TLS files as they are now"]
    Pair(before, pki.client())  # a handshake under way ends as it began


def test_seconds_until_the_certificate_in_use_expires(pki: Pki, mounted: Mounted) -> None:
    listener = TlsListener("secure", mounted.tls(), None)
    assert listener.seconds_left == pytest.approx(365 * DAY, abs=600)
    mounted.show(pki.ours.server("short", valid=timedelta(days=2)))
    assert listener.seconds_left == pytest.approx(365 * DAY, abs=600), "not in use yet"
    listener.reload()
    assert listener.seconds_left == pytest.approx(2 * DAY, abs=600)
    mounted.certificate.write_text("torn")
    listener.reload()
    assert listener.seconds_left == pytest.approx(2 * DAY, abs=600), "still in use"


def test_a_link_that_leads_elsewhere(pki: Pki, mounted: Mounted, tmp_path: Path) -> None:
    """As Kubernetes changes a mounted secret."""
    one, other = tmp_path / "..1", tmp_path / "..2"
    for directory, made in ((one, pki.server), (other, pki.ours.server("renewed"))):
        directory.mkdir()
        (directory / "tls.crt").write_bytes(made.certificate.read_bytes())
        (directory / "tls.key").write_bytes(made.key.read_bytes())
    data = tmp_path / "..data"
    data.symlink_to(one)
    tls = ListenerTls(certificate=data / "tls.crt", key=data / "tls.key")
    listener = TlsListener("secure", tls, None)
    turned = tmp_path / "..data_tmp"
    turned.symlink_to(other)
    turned.replace(data)
    listener.reload()
    assert shown(listener, pki.ours.file) == "CN=renewed"


def test_a_new_client_authority(pki: Pki, mounted: Mounted) -> None:
    tls = mounted.tls(client_auth="required", client_ca=mounted.client_ca)
    listener = TlsListener("secure", tls, None)
    alice, mallory = pki.client(pki.ours.client("alice")), pki.client(pki.foreign.client("mallory"))
    Pair(listener.context, alice)
    with pytest.raises(ssl.SSLCertVerificationError):
        Pair(listener.context, mallory)
    mounted.client_ca.write_bytes(pki.foreign.file.read_bytes())
    listener.reload()
    Pair(listener.context, mallory)
    with pytest.raises(ssl.SSLCertVerificationError):
        Pair(listener.context, alice)


def test_a_session_of_before_is_not_resumed(pki: Pki, mounted: Mounted) -> None:
    """Otherwise a client whose authority was removed could come back."""
    tls = mounted.tls(client_auth="required", client_ca=mounted.client_ca)
    listener = TlsListener("secure", tls, None)
    alice = pki.client(pki.ours.client("alice"))
    alice.maximum_version = ssl.TLSVersion.TLSv1_2
    first = Pair(listener.context, alice)  # kept: OpenSSL forgets sessions that just break off
    session = first.client.session
    assert session is not None
    assert Pair(listener.context, alice, session=session).server.session_reused
    mounted.client_ca.write_bytes(pki.foreign.file.read_bytes())
    listener.reload()
    with pytest.raises(ssl.SSLCertVerificationError):
        Pair(listener.context, alice, session=session)


def breakages(mounted: Mounted, pki: Pki) -> dict[str, tuple[Callable[[], object], str]]:
    other = pki.ours.client("other")
    return {
        "gone": (
            mounted.certificate.unlink,
            f"certificate: '{mounted.certificate}' cannot be read: no such file or directory; "
            "correct it",
        ),
        "half written": (
            lambda: mounted.key.write_bytes(mounted.key.read_bytes()[:90]),
            f"key: '{mounted.key}' cannot be read; export it again",
        ),
        "not a pair": (
            lambda: mounted.key.write_bytes(other.key.read_bytes()),
            f"key: '{mounted.key}' is not the key of the certificate; "
            "give the two that belong together",
        ),
        "no authority": (
            lambda: mounted.client_ca.write_text("nothing"),
            f"client_ca: '{mounted.client_ca}' holds no PEM certificate; give one that does",
        ),
    }


@pytest.mark.parametrize("which", ["gone", "half written", "not a pair", "no authority"])
def test_a_broken_file_changes_nothing_but_the_log(
    pki: Pki, mounted: Mounted, which: str, caplog: pytest.LogCaptureFixture
) -> None:
    tls = mounted.tls(client_auth="requested", client_ca=mounted.client_ca)
    listener = TlsListener("secure", tls, None)
    context = listener.context
    breaking, reason = breakages(mounted, pki)[which]
    breaking()
    listener.reload()
    listener.reload()
    assert listener.context is context
    assert caplog.messages == [
        f"listener secure keeps the certificates it has: listeners[].tls.{reason}"
    ]
    mounted.show(pki.ours.server("mended"))
    mounted.client_ca.write_bytes(pki.ours.file.read_bytes())
    listener.reload()
    assert shown(listener, pki.ours.file) == "CN=mended"


def test_what_is_broken_at_start_is_rejected(pki: Pki, mounted: Mounted) -> None:
    mounted.key.write_bytes(pki.ours.client("other").key.read_bytes())
    with pytest.raises(TlsError):
        TlsListener("secure", mounted.tls(), None)
    with pytest.raises(InvalidRules):
        TlsListener("secure", pki.listener(principal_mapping_rules=("x",)), None)


@pytest.mark.parametrize(
    ("valid", "told"), [(29.9, "expires in 29 days"), (-1, "has expired"), (31, None)]
)
def test_a_certificate_that_soon_expires_is_told(
    pki: Pki,
    mounted: Mounted,
    valid: float,
    told: str | None,
    caplog: pytest.LogCaptureFixture,
) -> None:
    mounted.show(pki.ours.server("old", valid=timedelta(days=valid)))
    TlsListener("secure", mounted.tls(), None)
    assert caplog.messages == ([] if told is None else [f"listener secure: the certificate {told}"])


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (-1, "has expired"),
        (0, "has expired"),
        (1, "expires in 0 days"),
        (DAY, "expires in 1 day"),
        (2.5 * DAY, "expires in 2 days"),
    ],
)
def test_expiry_in_words(seconds: float, text: str) -> None:
    assert expiry_text(seconds) == text


def test_a_broker_by_its_name(pki: Pki) -> None:
    names = BrokerNames("b{node_id}.localhost", "localhost", NodeIdRanges.parse(["1-3"]))
    listener = TlsListener("secure", pki.listener(), names)
    client = pki.client()
    client.check_hostname = False

    def broker(name: str | None) -> int | None:
        return listener.broker_of(Pair(listener.context, client, name).server)

    assert [broker("b2.localhost"), broker("localhost"), broker("127.0.0.1")] == [2, None, None]
    with pytest.raises(ssl.SSLError):
        broker("b4.localhost")
    plain = TlsListener("secure", pki.listener(), None)
    assert plain.broker_of(Pair(plain.context, client, "b2.localhost").server) is None


def test_with_sasl_a_certificate_names_nobody(pki: Pki) -> None:
    tls = pki.listener(client_auth="required", client_ca=pki.ours.file)
    alice = pki.client(pki.ours.client("alice"))
    by_certificate = TlsListener("secure", tls, None)
    connection = Pair(by_certificate.context, alice).server
    assert by_certificate.identity_of(connection).principal == "User:CN=alice"
    by_sasl = TlsListener("secure", tls, None, identifies=False)
    assert by_sasl.identity_of(Pair(by_sasl.context, alice).server) is ANONYMOUS


# -- server names: before a client has logged in, and on the event loop --------------------------

NAMES = BrokerNames("b{node_id}.localhost", "localhost", NodeIdRanges.parse(["0-999"]))


def named(listener: TlsListener, node_id: int) -> ssl.SSLContext:
    return listener.context_for(ClientHello(b"", f"b{node_id}.localhost".encode()))


def lenient(client: ssl.SSLContext) -> ssl.SSLContext:
    client.check_hostname = False
    return client


def rsa_files(directory: Path) -> tuple[Path, Path]:
    """A certificate and a key of RSA, whose primes took 45 ms to test."""
    key = rsa.generate_private_key(public_exponent=65_537, key_size=2_048)
    name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, "rsa")])
    now = datetime.now(UTC)
    certificate = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(1)
        .not_valid_before(now)
        .not_valid_after(now + timedelta(days=100))
        .sign(key, hashes.SHA256())
    )
    files = directory / "rsa.pem", directory / "rsa-key.pem"
    files[0].write_bytes(certificate.public_bytes(serialization.Encoding.PEM))
    files[1].write_bytes(
        key.private_bytes(
            serialization.Encoding.PEM,
            serialization.PrivateFormat.PKCS8,
            serialization.NoEncryption(),
        )
    )
    return files


def test_a_server_name_reads_no_file_and_costs_little(pki: Pki, tmp_path: Path) -> None:
    """More names than contexts are kept, twice; with 140 authorities a name took 50 ms."""
    certificate, key = rsa_files(tmp_path)
    authorities = tmp_path / "authorities.pem"
    authorities.write_bytes(pki.ours.file.read_bytes() * 140)
    tls = ListenerTls(
        certificate=certificate, key=key, client_auth="required", client_ca=authorities
    )
    listener = TlsListener("secure", tls, NAMES)
    for file in (certificate, key, authorities):
        file.unlink()
    began = thread_time()
    for node_id in [*range(MAX_CONTEXTS + 1)] * 2:
        named(listener, node_id)
    assert (thread_time() - began) / (2 * MAX_CONTEXTS) < 0.002  # seconds; measured: 0.0003


def test_a_named_context_has_the_certificate_and_the_authorities(pki: Pki) -> None:
    tls = pki.listener(client_auth="required", client_ca=pki.ours.file)
    listener = TlsListener("secure", tls, NAMES)
    for version in (ssl.TLSVersion.TLSv1_2, ssl.TLSVersion.TLSv1_3):
        clients = [
            lenient(pki.client(each))
            for each in (pki.ours.client("alice"), pki.foreign.client("mallory"), None)
        ]
        for client in clients:
            client.maximum_version = client.minimum_version = version
        alice, mallory, nobody = clients
        pair = Pair(named(listener, 2), alice, "b2.localhost")
        assert (listener.broker_of(pair.server), pair.client.version()) == (
            2,
            version.name.replace("_", "."),
        )
        assert listener.identity_of(pair.server).principal == "User:CN=alice"
        for other in (mallory, nobody):
            with pytest.raises(ssl.SSLError):
                Pair(named(listener, 2), other, "b2.localhost").settle()
        with pytest.raises(ssl.SSLError):
            Pair(named(listener, 2), alice, "elsewhere.localhost")


def test_a_session_is_resumed_under_its_own_name_alone(pki: Pki) -> None:
    """RFC 6066, 3: under another name the handshake is a full one."""
    listener = TlsListener("secure", pki.listener(), NAMES)
    client = lenient(pki.client())
    client.maximum_version = ssl.TLSVersion.TLSv1_2
    first = Pair(named(listener, 1), client, "b1.localhost")  # kept: see above
    session = first.client.session
    again = Pair(named(listener, 1), client, "b1.localhost", session=session)
    assert again.server.session_reused
    other = Pair(named(listener, 2), client, "b2.localhost", session=session)
    assert not other.server.session_reused
    assert listener.broker_of(other.server) == 2


def test_a_named_context_after_a_reload(pki: Pki, mounted: Mounted) -> None:
    listener = TlsListener("secure", mounted.tls(), NAMES)
    before = named(listener, 1)
    assert not listener.touched
    mounted.show(pki.ours.server("renewed"))
    assert listener.touched
    listener.reload()
    assert not listener.touched
    seen = []
    for context in (before, named(listener, 1)):
        der = Pair(context, lenient(pki.client()), "b1.localhost").client.getpeercert(True)
        assert der is not None
        seen.append(x509.load_der_x509_certificate(der).subject.rfc4514_string())
    assert seen == ["CN=server", "CN=renewed"]
