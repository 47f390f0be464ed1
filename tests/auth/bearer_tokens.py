"""Tokens of OAUTHBEARER, made without any key."""

from __future__ import annotations

import base64
import json
from typing import Any


def jwt(claims: Any, header: str = "e30", signature: str = "c2ln") -> str:
    text = claims if isinstance(claims, str) else json.dumps(claims)
    return f"{header}.{base64.urlsafe_b64encode(text.encode()).decode().rstrip('=')}.{signature}"


def bearer(token: str, authzid: str = "") -> bytes:
    gs2 = f"n,a={authzid}," if authzid else "n,,"
    return f"{gs2}\x01auth=Bearer {token}\x01\x01".encode()
