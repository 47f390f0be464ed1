"""Keys and tokens as an issuer makes them."""

from __future__ import annotations

import json
import time
from functools import cache
from typing import Any

import jwt
from cryptography.hazmat.primitives.asymmetric import ec, ed25519, rsa

AUDIENCE = "kafka"
PrivateKey = rsa.RSAPrivateKey | ec.EllipticCurvePrivateKey | ed25519.Ed25519PrivateKey


def private_key(algorithm: str, name: str = "one") -> PrivateKey:
    """A key for an algorithm; another ``name`` is another key. An RSA key serves all RSA
    algorithms."""
    return _made("RSA" if algorithm[:2] in ("RS", "PS") else algorithm, name)


@cache
def _made(algorithm: str, name: str) -> PrivateKey:
    match algorithm[:2]:
        case "RS":
            return rsa.generate_private_key(65_537, 2_048)
        case "ES":
            curves = {"ES256": ec.SECP256R1(), "ES384": ec.SECP384R1(), "ES512": ec.SECP521R1()}
            return ec.generate_private_key(curves[algorithm])
    return ed25519.Ed25519PrivateKey.generate()


def jwk(algorithm: str, name: str = "one", **more: Any) -> dict[str, Any]:
    """The public key as an issuer publishes it; a value of None leaves a member out."""
    public = private_key(algorithm, name).public_key()
    maker = jwt.get_algorithm_by_name(algorithm)
    made: dict[str, Any] = json.loads(maker.to_jwk(public))
    members = {**made, "kid": name, "use": "sig", "alg": algorithm, **more}
    return {key: value for key, value in members.items() if value is not None}


def key_set(*keys: dict[str, Any]) -> str:
    """A JWKS document."""
    return json.dumps({"keys": list(keys)})


def claims(**more: Any) -> dict[str, Any]:
    """A token's claims, valid for a minute; a value of None leaves a claim out."""
    made = {"sub": "alice", "aud": AUDIENCE, "exp": int(time.time()) + 60, **more}
    return {key: value for key, value in made.items() if value is not None}


def token(algorithm: str = "ES256", name: str = "one", kid: str | None = "one", **more: Any) -> str:
    """A signed token; ``more`` are claims."""
    headers = {} if kid is None else {"kid": kid}
    return jwt.encode(claims(**more), private_key(algorithm, name), algorithm, headers)
