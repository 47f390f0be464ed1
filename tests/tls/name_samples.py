"""Subjects, and the result of javax.security.auth.x500.X500Principal.getName() for each.

tests/live/authentication/test_tls_oracle.py compares every one of them with Java.
"""

from __future__ import annotations

from cryptography.x509.oid import NameOID, ObjectIdentifier

from devkit.certificates import subject

CN = NameOID.COMMON_NAME
OU = NameOID.ORGANIZATIONAL_UNIT_NAME
ORG = NameOID.ORGANIZATION_NAME
C = NameOID.COUNTRY_NAME

Attributes = tuple[tuple[ObjectIdentifier, str], ...]

ATTRIBUTES: tuple[tuple[Attributes, str], ...] = (
    (
        ((C, "US"), (ORG, "Example"), (OU, "Payments"), (CN, "alice")),
        "CN=alice,OU=Payments,O=Example,C=US",
    ),
    (((ORG, "Example, Inc."),), r"O=Example\, Inc."),
    (((CN, '<a+b=c>;"#\\'),), r"CN=\<a\+b\=c\>\;\"\#\\"),
    (((CN, "  x  y "),), r"CN=\ \ x  y\ "),
    (((CN, "\rx\n"),), "CN=\\\rx\n"),
    (((CN, "a\0b"),), r"CN=a\00b"),
    (((CN, "   "),), r"CN=\ \ \ "),
    (((CN, "Жанна 漢 😀"),), "CN=Жанна 漢 😀"),
    (((CN, "a/b'c*d"),), "CN=a/b'c*d"),
    (
        ((NameOID.STATE_OR_PROVINCE_NAME, "Bern"), (NameOID.LOCALITY_NAME, "Thun")),
        "L=Thun,ST=Bern",
    ),
    (
        (
            (NameOID.STREET_ADDRESS, "x"),
            (NameOID.USER_ID, "u"),
            (NameOID.DOMAIN_COMPONENT, "d"),
        ),
        "DC=d,UID=u,STREET=x",
    ),
    (((NameOID.EMAIL_ADDRESS, "a@b.c"),), "1.2.840.113549.1.9.1=#1605614062" + "2e63"),
    (((NameOID.SERIAL_NUMBER, "01"),), "2.5.4.5=#13023031"),
    (((NameOID.TITLE, "Dr"),), "2.5.4.12=#0c024472"),
    (((ObjectIdentifier("2.999.3"), "x"),), "2.999.3=#0c0178"),
    ((), ""),
)
"""A single attribute in each part of the name."""

DER: tuple[tuple[str, str], ...] = (
    ("310930070603550403" + "0c00", "CN="),
    ("310c300a0603550403" + "0c03e4e4e4", "CN=\ufffd\ufffd\ufffd"),  # no UTF-8, as it claims
    ("310b30090603550403" + "1402e461", "CN=\ufffda"),  # a T61String is taken for UTF-8
    ("310b30090603550403" + "1e020061", r"CN=\00a"),  # a BMPString too
    ("310b30090603550403" + "12023031", "CN=#12023031"),  # a NumericString is shown unchanged
    (
        "311430080603550403" + "0c0161" + "30080603550" + "40b" + "0c0162",
        "CN=a+OU=b",
    ),  # two in one part
)
"""The content of a name, in hex."""


def content_of(attributes: Attributes) -> bytes:
    """The content of the outer SEQUENCE of a name."""
    der = subject(*attributes).public_bytes()
    return der[2:] if der[1] < 0x80 else der[2 + (der[1] & 0x7F) :]
