"""Responses of brokers to ApiVersions."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from protocol import messages
from protocol.messages import element_class, make


def served(
    ranges: Mapping[int, tuple[int, int]],
    features: Mapping[str, int] | None = None,
    *,
    epoch: int = -1,
    version: int = 4,
) -> Any:
    """A broker's response to ApiVersions: ranges by API key; features with their highest level,
    which is finalized."""
    cls = messages.message_class("ApiVersionsResponse", version)
    entry = element_class(cls, "api_keys")
    values: dict[str, object] = {
        "api_keys": tuple(
            make(entry, {"api_key": key, "min_version": first, "max_version": last})
            for key, (first, last) in ranges.items()
        )
    }
    if features is not None:
        supported = element_class(cls, "supported_features")
        finalized = element_class(cls, "finalized_features")
        values |= {
            "supported_features": tuple(
                make(supported, {"name": name, "min_version": 1, "max_version": level})
                for name, level in features.items()
            ),
            "finalized_features": tuple(
                make(
                    finalized,
                    {"name": name, "max_version_level": level, "min_version_level": level},
                )
                for name, level in features.items()
            ),
            "finalized_features_epoch": epoch,
        }
    return make(cls, values)
