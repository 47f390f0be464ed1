"""gateway.page.passwords: the file of hashed passwords. Hashes are from OpenSSL and RFC 7914."""

from __future__ import annotations

import base64
from pathlib import Path

import pytest
from cryptography.hazmat.primitives.kdf.scrypt import Scrypt

from gateway.page.passwords import PasswordHash, PasswordsError, password_line, read_passwords

GOOD = password_line("alice", "correct horse")


def test_a_line_is_scrypt_with_a_salt_of_its_own() -> None:
    user, method, n, r, p, salt, digest = GOOD.split(":")
    assert (user, method, int(n), int(r), int(p)) == ("alice", "scrypt", 32_768, 8, 3)
    expected = Scrypt(base64.b64decode(salt), 32, 32_768, 8, 3).derive(b"correct horse")
    assert base64.b64decode(digest) == expected
    assert "correct horse" not in GOOD
    assert password_line("alice", "correct horse") != GOOD


def test_the_vector_of_the_rfc() -> None:
    """RFC 7914, section 12: P="pleaseletmein", S="SodiumChloride", N=16384, r=8, p=1."""
    digest = bytes.fromhex(
        "7023bdcb3afd7348461c06cd81fd38ebfda8fbba904f8e3ea9b543f6545da1f2"
        "d5432955613f0fcf62d49705242a9af9e61e85dc0d651e40dfcf017b45575887"
    )
    hashed = PasswordHash(16_384, 8, 1, b"SodiumChloride", digest)
    assert hashed.matches("pleaseletmein")
    assert not hashed.matches("pleaseletmeout")


def test_a_file_with_comments_and_two_users(tmp_path: Path) -> None:
    file = tmp_path / "page-passwords"
    file.write_text(f"# who looks\n{GOOD}\n\n{password_line('böb', 'schön lang')}\n")
    users = read_passwords(file)
    assert set(users) == {"alice", "böb"}
    assert users["böb"].matches("schön lang")
    assert not users["alice"].matches("schön lang")


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("", "has no user"),
        ("alice:secret\n", "line 1: it is no scrypt hash"),
        (f"{GOOD}\n{GOOD}\n", "line 2: 'alice' is there twice"),
        (f"\n{GOOD.replace('32768', '32767')}\n", "line 2: its parameters are not scrypt's"),
        (GOOD.replace("32768", "1048576"), "too large"),
        (GOOD.replace("32768", "many"), "no numbers"),
        (GOOD[:-10], "salt or hash"),
        (GOOD.replace("alice", ""), "no user name"),
        ("a\x07:" + GOOD.partition(":")[2], "no user name"),
    ],
    ids=[
        "empty",
        "password",
        "twice",
        "odd cost",
        "large cost",
        "no cost",
        "cut",
        "no user",
        "control character",
    ],  # the hash differs in each process
)
def test_what_is_wrong_is_said_with_its_line(tmp_path: Path, text: str, told: str) -> None:
    file = tmp_path / "page-passwords"
    file.write_text(text)
    with pytest.raises(PasswordsError) as caught:
        read_passwords(file)
    assert told in str(caught.value)
    assert str(file) in str(caught.value)


def test_a_file_that_cannot_be_read(tmp_path: Path) -> None:
    with pytest.raises(PasswordsError, match="cannot be read: No such file"):
        read_passwords(tmp_path / "none")
    (tmp_path / "binary").write_bytes(b"\xff\xfe")
    with pytest.raises(PasswordsError, match="it is not text"):
        read_passwords(tmp_path / "binary")
