"""ApiVersions: the versions that the gateway serves, and the client's software (KIP-511)."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import fields, replace
from typing import Any, Final

from gateway.error_codes import UNSUPPORTED_VERSION
from gateway.rules.declaration import Declaration
from protocol import messages
from protocol.messages import changed, made

_RESPONSE = "ApiVersionsResponse"
API_VERSIONS = 18
OWN_VERSIONS = (0, 4)
"""The versions of ApiVersions itself that the gateway reads."""

NOTHING_SERVED: Final = messages.build(messages.message_class(_RESPONSE, 4))
"""The response of a broker that serves no API."""

_NO_ZERO_FEATURES = 3
"""The last version whose readers reject features that begin at version 0."""

_SOFTWARE = re.compile(r"[a-zA-Z0-9](?:[a-zA-Z0-9\-.]*[a-zA-Z0-9])?")
UNKNOWN_SOFTWARE = ("unknown", "unknown")
"""Kafka's name for a client that sends none (before v3)."""


class InvalidClientSoftware(Exception):
    """The client software name or version is one that Kafka rejects with INVALID_REQUEST."""


def cut(version: int, response_body: bytes, decided: Mapping[int, Declaration]) -> bytes:
    """A broker's ApiVersionsResponse, cut to the APIs that ``decided`` has, by API key.

    The gateway lists an API with the versions that the gateway and the broker both serve, and drops
    it if there are no such versions. If the gateway answers the API itself, it lists its own
    versions. A declaration may set another minimum. Features are kept. A response with
    UNSUPPORTED_VERSION is in version 0's form, whatever the request's version, and lists
    ApiVersions alone (KIP-511). Raises ProtocolError.
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
    """The response to a client that has not logged in, made from a broker's earlier response.

    ``served`` is that broker's ApiVersionsResponse, of any version. The gateway does not query a
    broker here, because the client may never authenticate. Before v4, features whose lowest version
    is 0 are left out: the client would reject a minimum of 0 (KIP-1022).
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
    """The response to another gateway of the tree, made from a cluster's earlier response.

    The other gateway combines ``served`` of this cluster and of other clusters into the response
    for its clients. It sends this gateway requests of the ``split`` APIs only, so only these APIs
    are cut to the versions that this gateway serves.
    """
    shared = (_shared(each, decided) if each.api_key in split else each for each in served.api_keys)
    api_keys = [_values(each) for each in shared if each is not None]
    return made(_RESPONSE, version, {"api_keys": api_keys, **_features(version, served)})


def between_peers(version: int, apis: Mapping[int, tuple[int, int]]) -> bytes:
    """The response at the port where gateways query each other: the APIs of ``apis``, each with its
    lowest and highest version."""
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

    ``served`` is the ApiVersionsResponse of the node's own cluster, ``reach`` the responses of all
    clusters that the client can reach. Every node answers the ``split`` APIs for all clusters, so
    these are listed with the versions that all clusters serve, if there are any. The finalized
    features are the same on every node, each at the lowest level of all clusters, because Java's
    client uses the features with the highest epoch, whichever node sent them.
    """
    common = [{each.api_key: each for each in one.api_keys} for one in reach]
    api_keys = []
    for entry in served.api_keys:
        if entry.api_key in split:
            others = [one[entry.api_key] for one in common if entry.api_key in one]
            lowest = max((each.min_version for each in others), default=entry.min_version)
            highest = min((each.max_version for each in others), default=entry.max_version)
            if lowest <= highest:  # else one cluster would remove the API for all clusters
                entry = replace(entry, min_version=lowest, max_version=highest)
        api_keys.append(entry)
    changes: dict[str, Any] = {"api_keys": tuple(api_keys)}
    if hasattr(served, "finalized_features") and reach:
        changes |= _least_features(reach)
    return before_login(version, replace(served, **changes), decided)


def _least_features(reach: Sequence[Any]) -> dict[str, Any]:
    """The finalized features that all clusters have, each at the lowest level, and the lowest
    epoch. A cluster before Kafka 2.7 reports no features, so the result is then empty."""
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
    """The features of a broker's response, as fields of a response of ``version``; empty if the
    broker is older than features (2.7)."""
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
