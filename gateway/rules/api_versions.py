"""ApiVersions: what the gateway has decided, and who the client says it is (KIP-511)."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import fields, replace
from typing import Any

from gateway.error_codes import UNSUPPORTED_VERSION
from gateway.rules.declaration import Declaration
from protocol import messages
from protocol.messages import element_class, has_field, make

_RESPONSE = "ApiVersionsResponse"
API_VERSIONS = 18
OWN_VERSIONS = (0, 4)
"""The versions of ApiVersions itself that the gateway reads."""

_NO_ZERO_FEATURES = 3
"""The last version whose readers refuse features that begin at version 0."""

_SOFTWARE = re.compile(r"[a-zA-Z0-9](?:[a-zA-Z0-9\-.]*[a-zA-Z0-9])?")
UNKNOWN_SOFTWARE = ("unknown", "unknown")
"""What Kafka calls a client that sends no name (before v3)."""


class InvalidClientSoftware(Exception):
    """A client software name or version that Kafka answers with INVALID_REQUEST."""


def cut(version: int, response_body: bytes, decided: Mapping[int, Declaration]) -> bytes:
    """A broker's ApiVersionsResponse, cut to what the gateway has ``decided``, by API key.

    An API appears with the versions that both know, and not at all where there is none; what the
    gateway answers itself appears with its own. A declaration may have another minimum. Features
    are kept. A response with UNSUPPORTED_VERSION is in version 0's form, whatever was asked, and
    tells of ApiVersions alone (KIP-511). Raises ProtocolError.
    """
    if response_body[:2] == UNSUPPORTED_VERSION.to_bytes(2, "big"):
        version = 0
    response = messages.parse(_RESPONSE, version, response_body)
    shared = (_shared(entry, decided) for entry in response.api_keys)
    api_keys = tuple(entry for entry in shared if entry is not None)
    if not response.error_code:
        api_keys += _answered_here(element_class(type(response), "api_keys"), decided)
    return messages.write(replace(response, api_keys=api_keys))


def before_login(version: int, served: Any, decided: Mapping[int, Declaration]) -> bytes:
    """The answer to a client that has not logged in, in the words of a broker asked earlier.

    ``served`` is that broker's ApiVersionsResponse, of any version. No broker is asked for a
    client that may never prove who it is. Features whose lowest version is 0 are left out before
    v4, whose readers take 0 for a mistake (KIP-1022).
    """
    response = messages.message_class(_RESPONSE, version)
    entry = element_class(response, "api_keys")
    shared = (_shared(each, decided) for each in served.api_keys)
    values: dict[str, object] = {
        "api_keys": tuple(make(entry, _values(each)) for each in shared if each is not None)
        + _answered_here(entry, decided)
    }
    if has_field(response, "supported_features") and hasattr(served, "supported_features"):
        for array in ("supported_features", "finalized_features"):
            feature = element_class(response, array)
            values[array] = tuple(
                make(feature, _values(each))
                for each in getattr(served, array)
                if version > _NO_ZERO_FEATURES or getattr(each, "min_version", True)
            )
        values["finalized_features_epoch"] = served.finalized_features_epoch
    return messages.write(make(response, values))


def refused(version: int, error_code: int) -> bytes:
    """The answer to an ApiVersions request that is not as it should be."""
    response = messages.message_class(_RESPONSE, version)
    return messages.write(make(response, {"error_code": error_code}))


def unsupported_version(own: tuple[int, int] = OWN_VERSIONS) -> bytes:
    """The answer to an ApiVersions request of an unknown version: version 0's form (KIP-511)."""
    response_class = messages.message_class(_RESPONSE, 0)
    entry = make(
        element_class(response_class, "api_keys"),
        {"api_key": API_VERSIONS, "min_version": own[0], "max_version": own[1]},
    )
    values = {"error_code": UNSUPPORTED_VERSION, "api_keys": (entry,)}
    return messages.write(make(response_class, values))


def client_software(version: int, request_body: bytes) -> tuple[str, str]:
    """The client's software name and version; UNKNOWN_SOFTWARE before v3.

    Raises InvalidClientSoftware where Kafka refuses them, ProtocolError for an unreadable body.
    """
    if version < 3:
        return UNKNOWN_SOFTWARE
    request = messages.parse("ApiVersionsRequest", version, request_body)
    name, software_version = request.client_software_name, request.client_software_version
    for value in (name, software_version):
        if not _SOFTWARE.fullmatch(value):
            raise InvalidClientSoftware("client software name or version is not valid (KIP-511)")
    return name, software_version


def _values(entity: Any) -> dict[str, object]:
    return {field.name: getattr(entity, field.name) for field in fields(entity)}


def _answered_here(entry: type, decided: Mapping[int, Declaration]) -> tuple[Any, ...]:
    return tuple(
        make(entry, {"api_key": key, "min_version": api.first, "max_version": api.last})
        for key, api in sorted(decided.items())
        if api.answered_here
    )


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
