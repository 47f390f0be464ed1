"""gateway.tls.distinguished_name: subjects as Java writes them."""

from __future__ import annotations

from pathlib import Path

import pytest
from cryptography import x509
from cryptography.hazmat.primitives.serialization import Encoding
from hypothesis import given
from hypothesis import strategies as st

from devkit.certificates import Authority, subject
from gateway.tls.distinguished_name import MAX_CHARACTERS, UnreadableName, name_text, subject_name
from tests.tls import name_samples
from tests.tls.name_samples import CN, ORG, OU, Attributes, C, content_of


@pytest.mark.parametrize(("attributes", "text"), name_samples.ATTRIBUTES)
def test_as_java_writes_it(attributes: Attributes, text: str) -> None:
    assert name_text(content_of(attributes)) == text


@pytest.mark.parametrize(("der", "text"), name_samples.DER)
def test_unusual_names(der: str, text: str) -> None:
    assert name_text(bytes.fromhex(der)) == text


@pytest.mark.parametrize(
    "der",
    [
        "310a30080603550403" + "0c0261",  # a value that is cut off
        "310a30080603550403" + "0c80",  # a length without an end
        "300a30080603550403" + "0c0161",  # no SET
        "310a31080603550403" + "0c0161",  # no SEQUENCE in it
        "310a30080403550403" + "0c0161",  # a type that is no OID
        "310a3008060355048" + "30c0161",  # an OID that is cut off
        "310c300a0603550403" + "0c01610500",  # something behind the value
        "31073005060355040" + "3",  # no value
        "310d300b0603550403" + "1f0c0161",  # a tag of more than a byte
    ],
)
def test_no_names(der: str) -> None:
    with pytest.raises(UnreadableName):
        name_text(bytes.fromhex(der))


def test_the_subject_of_a_certificate(tmp_path: Path) -> None:
    authority = Authority(tmp_path)
    made = authority.client("alice", subject((C, "CH"), (ORG, "Example, Inc."), (CN, "alice")))
    certificate = x509.load_pem_x509_certificate(made.certificate.read_bytes())
    assert subject_name(certificate.public_bytes(Encoding.DER)) == r"CN=alice,O=Example\, Inc.,C=CH"


def test_a_name_that_goes_on_and_on() -> None:
    assert len(name_text(content_of(((OU, "x" * 60),) * 60))) <= MAX_CHARACTERS
    with pytest.raises(UnreadableName, match="over 4096 characters"):
        name_text(content_of(((OU, "x" * 60),) * 70))


def _tlv(tag: int, *contents: bytes) -> bytes:
    content = b"".join(contents)
    length = len(content)
    return bytes([tag, length] if length < 0x80 else [tag, 0x81, length]) + content


def _certificate() -> bytes:
    """The part of a certificate up to its subject, and a little behind it."""
    version, serial, algorithm = _tlv(0xA0, b"\x02\x01\x02"), _tlv(0x02, b"\x01"), _tlv(0x30)
    issuer, validity = _tlv(0x30, content_of(((CN, "ca"),))), _tlv(0x30, b"\x05\x00")
    name = _tlv(0x30, content_of(((ORG, "Example"), (CN, "alice"))))
    signed = _tlv(0x30, version, serial, algorithm, issuer, validity, name, _tlv(0x30))
    return _tlv(0x30, signed, algorithm, _tlv(0x03, b"\x00"))


CERTIFICATE = _certificate()


def test_a_certificate_of_version_1_has_no_version() -> None:
    name = _tlv(0x30, content_of(((CN, "old"),)))
    signed = _tlv(0x30, _tlv(0x02, b"\x01"), _tlv(0x30), _tlv(0x30), _tlv(0x30), name)
    assert subject_name(_tlv(0x30, signed)) == "CN=old"
    assert subject_name(CERTIFICATE) == "CN=alice,O=Example"


@given(st.binary(max_size=80))
def test_nothing_but_a_name_or_a_rejection(data: bytes) -> None:
    for read in (name_text, subject_name):
        try:
            assert isinstance(read(data), str)
        except UnreadableName as error:
            assert str(error)


@given(st.integers(0, len(CERTIFICATE) - 1), st.integers(0, 255))
def test_a_certificate_with_a_wrong_byte(place: int, value: int) -> None:
    data = bytearray(CERTIFICATE)
    data[place] = value
    try:
        assert isinstance(subject_name(bytes(data)), str)
    except UnreadableName as error:
        assert str(error)


@pytest.mark.parametrize("length", range(len(CERTIFICATE)))
def test_a_certificate_that_is_cut_off(length: int) -> None:
    with pytest.raises(UnreadableName):
        subject_name(CERTIFICATE[:length])


@given(
    st.lists(
        st.tuples(
            st.sampled_from([CN, OU, ORG]),
            st.text(
                st.characters(codec="utf-8", exclude_characters=' \r\0,=+<>#;"\\'),
                min_size=1,
                max_size=20,
            ),
        ),
        min_size=1,
        max_size=5,
    )
)
def test_ordinary_names_are_reversed(attributes: list[tuple[x509.ObjectIdentifier, str]]) -> None:
    short = {CN: "CN", OU: "OU", ORG: "O"}
    expected = ",".join(f"{short[kind]}={value}" for kind, value in reversed(attributes))
    assert name_text(content_of(tuple(attributes))) == expected
