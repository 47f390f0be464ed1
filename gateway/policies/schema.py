"""The JSON Schema of ``policies:``, for editors and for checks before a file is deployed.

It is generated from the models that read the configuration. ``kafka-gateway check`` finds errors
that a schema cannot express, such as a ``min`` above ``max``.
"""

from __future__ import annotations

import json
from typing import Any, Final

from gateway.config.policies import PolicySettings

DIALECT: Final = "https://json-schema.org/draft/2020-12/schema"

_SETTINGS: Final = "PolicySettings"
_ABOUT: Final = "Which topics may be made and changed, and how they are written: docs/policies.md."


def policies_schema() -> dict[str, Any]:
    """The schema of a file with a key ``policies``; other keys are left open."""
    settings = PolicySettings.model_json_schema(by_alias=True)
    definitions = settings.pop("$defs")
    settings["description"] = _ABOUT
    for model in definitions.values():
        # Docstrings are for readers of the source.
        model.pop("description", None)
    definitions = {_SETTINGS: settings, **definitions}
    for model in definitions.values():
        _tidy(model)
    return {
        "$schema": DIALECT,
        "title": "policies of kafka-gateway",
        "type": "object",
        "properties": {"policies": {"$ref": f"#/$defs/{_SETTINGS}"}},
        "$defs": definitions,
    }


def schema_text() -> str:
    """The same as JSON, as it stands in config/policies.schema.json."""
    return json.dumps(policies_schema(), indent=2, ensure_ascii=False) + "\n"


def _tidy(model: dict[str, Any]) -> None:
    """Remove titles, which only repeat the keys, and defaults that have no value."""
    model.pop("title", None)
    for rule in model["properties"].values():
        rule.pop("title", None)
        if not isinstance(rule.get("default"), int | str):
            rule.pop("default", None)
    names = model["properties"].get("namespaces")
    if names is not None:
        names["additionalProperties"] = False
