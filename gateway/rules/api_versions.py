"""ApiVersions: the versions that the gateway serves, and the client's software (KIP-511)."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import fields, replace
from typing import Any

from gateway.error_codes import UNSUPPORTED_VERSION
from gateway.rules.declaration import Declaration
from protocol import messages
from protocol.messages import changed, made

_RESPONSE = "ApiVersionsResponse"
API_VERSIONS = 18
OWN_VERSIONS = (0, 4)
"""The versions of ApiVersions itself that the gateway reads."""

_NO_ZERO_FEATURES = 3
"""The last version whose readers reject features that begin at version 0."""

_SOFTWARE = re.compile(r"[a-zA-Z0-9](?:[a-zA-Z0-9\-.]*[a-zA-Z0-9])?")
UNKNOWN_SOFTWARE = ("unknown", "unknown")
"""Kafka's name for a client that sends none (before v3)."""


class InvalidClientSoftware(Exception):
    """A client software name or version that Kafka answers with INVALID_REQUEST."""


def cut(version: int, response_body: bytes, decided: Mapping[int, Declaration]) -> bytes:
    """A broker's ApiVersionsResponse, cut to the APIs that the gateway has ``decided``, by key.

    An API is listed with the versions that both serve, if any; APIs that the gateway answers itself
    are listed with its own. A declaration may have another minimum. Features are kept. A response
    with UNSUPPORTED_VERSION is in version 0's form, whatever the request's, and lists ApiVersions
    alone (KIP-511). Raises ProtocolError.
    """
    if response_body[:2] == UNSUPPORTED_VERSION.to_bytes(2, "big"):
        version = 0
    response = messages.parse(_RESPONSE, version, response_body)
    shared = (_shared(entry, decided) for entry in response.api_keys)
    api_keys: list[object] = [entry for entry in shared if entry is not None]
    if not response.error_code:
        api_keys += _answered_here(decided)
    return messages.write(changed(response, {"api_keys": api_keys}))


def before_login(version: int, served: Any, decided: Mapping[int, Declaration]) -> bytes:
    """The response to a client that has not logged in, made of a broker's earlier one.

    ``served`` is that broker's ApiVersionsResponse, of any version. No broker is queried for a
    client that may never authenticate. Features whose lowest version is 0 are left out before v4,
    whose readers take 0 for a mistake (KIP-1022).
    """
    shared = (_shared(each, decided) for each in served.api_keys)
    api_keys = [
        *(_values(each) for each in shared if each is not None),
        *_answered_here(decided),
    ]
    return made(_RESPONSE, version, {"api_keys": api_keys, **_features(version, served)})


def between_gateways(
    version: int, served: Any, decided: Mapping[int, Declaration], split: Collection[int]
) -> bytes:
    """The response to another gateway of the tree, made of what a cluster responded earlier.

    It makes of ``served``, of this and of other clusters what its clients get. Only the APIs of
    ``split`` are asked for by way of this gateway, so these are cut to the versions that it serves.
    """
    shared = (_shared(each, decided) if each.api_key in split else each for each in served.api_keys)
    api_keys = [_values(each) for each in shared if each is not None]
    return made(_RESPONSE, version, {"api_keys": api_keys, **_features(version, served)})


def between_peers(version: int, apis: Mapping[int, tuple[int, int]]) -> bytes:
    """The response at the port where gateways ask each other: these APIs, with the lowest and the
    highest version of each."""
    entries = [
        {"api_key": key, "min_version": first, "max_version": last}
        for key, (first, last) in sorted(apis.items())
    ]
    return made(_RESPONSE, version, {"api_keys": entries})


def in_tree(
    version: int,
    served: Any,
    reach: Sequence[Any],
    decided: Mapping[int, Declaration],
    split: Collection[int],
) -> bytes:
    """The response of one node in a tree of clusters.

    ``served`` is the ApiVersionsResponse of its own cluster, ``reach`` those of all clusters that
    the client can reach. The APIs of ``split`` are answered on every node for all of them, so they
    are listed with the versions that all serve, if there are any. Finalized features are the same
    on every node, the lowest of each, because Java's client takes those of the highest epoch,
    whichever node's.
    """
    common = [{each.api_key: each for each in one.api_keys} for one in reach]
    api_keys = []
    for entry in served.api_keys:
        if entry.api_key in split:
            others = [one[entry.api_key] for one in common if entry.api_key in one]
            lowest = max((each.min_version for each in others), default=entry.min_version)
            highest = min((each.max_version for each in others), default=entry.max_version)
            if lowest <= highest:  # else one cluster would take the API from all
                entry = replace(entry, min_version=lowest, max_version=highest)
        api_keys.append(entry)
    changes: dict[str, Any] = {"api_keys": tuple(api_keys)}
    if hasattr(served, "finalized_features") and reach:
        changes |= _least_features(reach)
    return before_login(version, replace(served, **changes), decided)


def _least_features(reach: Sequence[Any]) -> dict[str, Any]:
    """The finalized features that all clusters have, each at the lowest level, and the lowest
    epoch; clusters that tell none (before 2.7) have none."""
    told = [{each.name: each for each in getattr(one, "finalized_features", ())} for one in reach]
    names = [name for name in told[0] if all(name in one for one in told)]
    least = [
        min((one[name] for one in told), key=lambda each: each.max_version_level) for name in names
    ]
    epochs = [getattr(one, "finalized_features_epoch", -1) for one in reach]
    return {"finalized_features": tuple(least), "finalized_features_epoch": min(epochs)}


def rejected(version: int, error_code: int) -> bytes:
    """The response to an ApiVersions request that is not valid."""
    return made(_RESPONSE, version, {"error_code": error_code})


def unsupported_version(own: tuple[int, int] = OWN_VERSIONS) -> bytes:
    """The response to an ApiVersions request of an unknown version: version 0's form (KIP-511)."""
    entry = {"api_key": API_VERSIONS, "min_version": own[0], "max_version": own[1]}
    return made(_RESPONSE, 0, {"error_code": UNSUPPORTED_VERSION, "api_keys": [entry]})


def client_software(version: int, request_body: bytes) -> tuple[str, str]:
    """The client's software name and version; UNKNOWN_SOFTWARE before v3.

    Raises InvalidClientSoftware where Kafka rejects them, ProtocolError for an unreadable body.
    """
    if version < 3:
        return UNKNOWN_SOFTWARE
    request = messages.parse("ApiVersionsRequest", version, request_body)
    name, software_version = request.client_software_name, request.client_software_version
    for value in (name, software_version):
        if not _SOFTWARE.fullmatch(value):
            raise InvalidClientSoftware("client software name or version is not valid (KIP-511)")
    return name, software_version


def _features(version: int, served: Any) -> dict[str, object]:
    """The features of a broker's response, for one of a version; empty before features (2.7)."""
    if not hasattr(served, "supported_features"):
        return {}
    values: dict[str, object] = {"finalized_features_epoch": served.finalized_features_epoch}
    for array in ("supported_features", "finalized_features"):
        values[array] = [
            _values(each)
            for each in getattr(served, array)
            if version > _NO_ZERO_FEATURES or getattr(each, "min_version", True)
        ]
    return values


def _values(entity: Any) -> dict[str, object]:
    return {field.name: getattr(entity, field.name) for field in fields(entity)}


def _answered_here(decided: Mapping[int, Declaration]) -> list[dict[str, object]]:
    return [
        {"api_key": key, "min_version": api.first, "max_version": api.last}
        for key, api in sorted(decided.items())
        if api.answered_here
    ]


def _shared(entry: Any, decided: Mapping[int, Declaration]) -> Any | None:
    api = decided.get(entry.api_key)
    if api is None or api.answered_here:
        return None
    lowest, highest = max(api.first, entry.min_version), min(api.last, entry.max_version)
    if api.lowest is not None:
        lowest = max(api.lowest(entry.min_version), 0)
    if highest < max(lowest, api.first):
        return None
    return replace(entry, min_version=lowest, max_version=highest)
