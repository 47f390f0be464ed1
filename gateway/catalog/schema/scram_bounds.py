"""The bounds of SCRAM credentials, by requests and in files."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from gateway.catalog.entities import ScramCredential

MIN_ITERATIONS: Final = 4_096
MAX_ITERATIONS: Final = 16_384
"""Kafka's upper bound, for both mechanisms: every login has to compute the iterations."""

MAX_USER_BYTES: Final = 1_024
MIN_SALT_BYTES: Final = 12
MAX_SALT_BYTES: Final = 1_024
"""Kafka has no bounds for salts; its clients make salts of 26 bytes or more. A shorter salt would
prevent every login: scramp, which checks logins, rejects it."""


@dataclass(frozen=True, slots=True)
class Mechanism:
    """A SCRAM mechanism. ``digest`` is Python's name of its hash, ``size`` the hash's bytes."""

    name: str
    digest: str
    size: int


MECHANISMS: Final[Mapping[int, Mechanism]] = {
    1: Mechanism("SCRAM-SHA-256", "sha256", 32),
    2: Mechanism("SCRAM-SHA-512", "sha512", 64),
}
"""The mechanisms by their codes on the wire (ScramMechanism.type)."""


def wrong_credential(credential: ScramCredential) -> str:
    """The reason why no upsertion could have made a credential, a sentence; empty for a valid
    one."""
    mechanism = next(one for one in MECHANISMS.values() if one.name == credential.mechanism)
    if {len(credential.stored_key), len(credential.server_key)} != {mechanism.size}:
        return f"The keys of {mechanism.name} have {mechanism.size} bytes."
    if len(credential.user.encode(errors="surrogatepass")) > MAX_USER_BYTES:
        return f"A user's name has at most {MAX_USER_BYTES:,} bytes."
    return out_of_bounds(mechanism, credential.iterations, credential.salt)


def out_of_bounds(mechanism: Mechanism, iterations: int, salt: bytes) -> str:
    if iterations < MIN_ITERATIONS:
        return f"{mechanism.name} needs at least {MIN_ITERATIONS:,} iterations."
    if iterations > MAX_ITERATIONS:
        return f"{mechanism.name} takes at most {MAX_ITERATIONS:,} iterations."
    if not MIN_SALT_BYTES <= len(salt) <= MAX_SALT_BYTES:
        return f"A salt has {MIN_SALT_BYTES} to {MAX_SALT_BYTES:,} bytes."
    return ""
