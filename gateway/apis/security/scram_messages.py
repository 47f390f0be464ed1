"""DescribeUserScramCredentials and AlterUserScramCredentials (KIP-554): requests and responses.

A request holds the salted password (RFC 5802), not the password. The gateway keeps only the two
keys that a server needs, from which neither can be derived.
"""

from __future__ import annotations

import hashlib
import hmac
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Any

from gateway.catalog.entities import Change, Removal, ScramCredential, key_of
from gateway.catalog.schema.scram_bounds import (
    MAX_USER_BYTES,
    MECHANISMS,
    Mechanism,
    out_of_bounds,
)
from gateway.catalog.snapshot import Snapshot
from gateway.changes.base.context import write_response
from gateway.decision import Denied
from gateway.error_codes import (
    DUPLICATE_RESOURCE,
    RESOURCE_NOT_FOUND,
    UNACCEPTABLE_CREDENTIAL,
    UNSUPPORTED_SASL_MECHANISM,
)
from protocol.messages import made
from protocol.pausing import in_order, paced


@dataclass(frozen=True, slots=True)
class Alteration:
    """The outcome of one request: an answer for each user (None: done), and the changes."""

    answers: Mapping[str, Denied | None]
    changes: Sequence[Change]


def alter(snapshot: Snapshot, request: Any) -> Alteration:
    """Decide an AlterUserScramCredentialsRequest on one state of the catalog.

    A user gets a single answer, so either all items of a user are done or none. KIP-554 lets a
    request name several mechanisms of a user, each once; KRaft brokers reject this as a repetition.
    """
    changes: dict[str, list[Change]] = {}
    denied: dict[str, Denied] = {}
    seen: set[tuple[str, int]] = set()
    decisions: Iterator[tuple[Any, Callable[[Snapshot, Any], Change | Denied | None]]] = chain(
        ((deletion, _deleted) for deletion in request.deletions),
        ((upsertion, _upserted) for upsertion in request.upsertions),
    )
    for item, decide in paced(decisions):
        user = item.name
        decided = changes.setdefault(user, [])
        if user in denied:
            continue
        found = _invalid(item, seen) or decide(snapshot, item)
        if isinstance(found, Denied):
            denied[user] = found
        elif found is not None:
            decided.append(found)
    answers = {user: denied.get(user) for user in paced(changes)}
    made_by_user = paced(changes.items())
    done = [change for user, made in made_by_user if user not in denied for change in made]
    return Alteration(answers, done)


def users_of(request: Any) -> list[str]:
    """The users in an AlterUserScramCredentialsRequest, each once."""
    every = paced(chain(request.deletions, request.upsertions))
    return list(dict.fromkeys(one.name for one in every))


def alteration_response(version: int, answers: Mapping[str, Denied | None]) -> bytes:
    """AlterUserScramCredentialsResponse: a result for each user."""
    results = ({"user": user, **_error(why)} for user, why in answers.items())
    return write_response("AlterUserScramCredentialsResponse", version, "results", results)


def description_response(version: int, snapshot: Snapshot, users: Sequence[str]) -> bytes:
    """DescribeUserScramCredentialsResponse: the mechanisms and iterations of the users, or of all
    users if none is named; never salt or keys."""
    times_named = Counter(paced(users))
    if not users:
        times_named.update(in_order({user for _, user in paced(snapshot.scram)}))

    def values(user: str, times: int) -> dict[str, object]:
        if times > 1:
            text = f"User '{user}' is in the request {times} times; once is enough."
            return _error(Denied(DUPLICATE_RESOURCE, text, "request"))
        infos = [
            {"mechanism": code, "iterations": found.iterations}
            for code, mechanism in MECHANISMS.items()
            if (found := snapshot.scram.get((mechanism.name, user))) is not None
        ]
        return {"credential_infos": infos} if infos else _error(_unknown(user))

    results = ({"user": user, **values(user, times)} for user, times in times_named.items())
    return write_response("DescribeUserScramCredentialsResponse", version, "results", results)


def description_error(
    version: int, why: Denied, users: Sequence[str] = (), *, whole: bool = True
) -> bytes:
    """DescribeUserScramCredentialsResponse with an error for each named user; ``whole``: also for
    the request."""
    results = [{"user": user, **_error(why)} for user in dict.fromkeys(paced(users))]
    values = {"results": results, **(_error(why) if whole else {})}
    return made("DescribeUserScramCredentialsResponse", version, values)


# -- one credential --------------------------------------------------------------------------------


def _invalid(item: Any, seen: set[tuple[str, int]]) -> Denied | None:
    """The denial of an item that is not valid in any state of the catalog; ``seen`` has the earlier
    items of the request."""
    if not item.name:
        return Denied(UNACCEPTABLE_CREDENTIAL, "The user name is empty.", "request")
    if len(item.name.encode()) > MAX_USER_BYTES:
        text = f"A user name has at most {MAX_USER_BYTES:,} bytes."
        return Denied(UNACCEPTABLE_CREDENTIAL, text, "request")
    if item.mechanism not in MECHANISMS:
        known = " and ".join(one.name for one in MECHANISMS.values())
        text = f"There is no SCRAM mechanism of type {item.mechanism}; there are {known}."
        return Denied(UNSUPPORTED_SASL_MECHANISM, text, "request")
    key = (item.name, item.mechanism)
    if key in seen:
        name = MECHANISMS[item.mechanism].name
        text = f"The {name} credential of user '{item.name}' is in the request twice."
        return Denied(DUPLICATE_RESOURCE, text, "request")
    seen.add(key)
    return None


def _deleted(snapshot: Snapshot, deletion: Any) -> Change | Denied:
    found = snapshot.scram.get((MECHANISMS[deletion.mechanism].name, deletion.name))
    return _unknown(deletion.name) if found is None else Removal(key_of(found))


def _upserted(snapshot: Snapshot, upsertion: Any) -> Change | Denied | None:
    """The changed credential; None if the catalog has the same credential already."""
    mechanism = MECHANISMS[upsertion.mechanism]
    wrong = _wrong(mechanism, upsertion)
    if wrong:
        return Denied(UNACCEPTABLE_CREDENTIAL, wrong, "request")
    stored_key, server_key = keys(mechanism, upsertion.salted_password)
    found = ScramCredential(
        upsertion.name,
        mechanism.name,
        upsertion.iterations,
        upsertion.salt,
        stored_key,
        server_key,
    )
    return None if snapshot.scram.get((mechanism.name, upsertion.name)) == found else found


def keys(mechanism: Mechanism, salted_password: bytes) -> tuple[bytes, bytes]:
    """StoredKey and ServerKey (RFC 5802, section 3)."""
    client_key = hmac.digest(salted_password, b"Client Key", mechanism.digest)
    stored_key = hashlib.new(mechanism.digest, client_key).digest()
    return stored_key, hmac.digest(salted_password, b"Server Key", mechanism.digest)


def _wrong(mechanism: Mechanism, upsertion: Any) -> str:
    """The reason why a credential is not acceptable, a sentence; empty for a valid one."""
    wrong = out_of_bounds(mechanism, upsertion.iterations, upsertion.salt)
    if wrong:
        return wrong
    if len(upsertion.salted_password) != mechanism.size:
        return f"The salted password of {mechanism.name} has {mechanism.size} bytes."
    return ""


def _unknown(user: str) -> Denied:
    return Denied(RESOURCE_NOT_FOUND, f"User '{user}' has no such SCRAM credential.", "request")


def _error(why: Denied | None) -> dict[str, object]:
    if why is None:
        return {"error_code": 0, "error_message": None}
    return {"error_code": why.code, "error_message": why.message}
