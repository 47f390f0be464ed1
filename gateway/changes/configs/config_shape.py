"""The results of DescribeConfigs in a client's version."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from gateway.changes.base.broker import Default
from gateway.changes.base.context import error_fields
from gateway.changes.base.resources import DEFAULT, INHERITED, LIST_TYPE, OWN, STRING_TYPE
from gateway.changes.base.virtual_configs import DOCUMENTATION
from gateway.decision import Denied
from protocol.messages import element_class, make
from protocol.pausing import FEW, paced

INT_TYPE: Final = 3
"""INT (DescribeConfigsResponse.ConfigType)."""

CLIENT_METRICS: Final = 7
"""CLIENT_METRICS_CONFIG: set on the subscription (DescribeConfigsResponse.ConfigSource)."""


@dataclass(frozen=True, slots=True)
class Shape:
    """The results and configs in the client's version, with the parts of a config that it
    requested."""

    result_class: type
    synonyms: bool
    documentation: bool

    def rebuilt(self, config: Any) -> Any:
        """A config of the broker's version as a config of the client's version."""
        values: dict[str, object] = {
            "config_type": getattr(config, "config_type", 0),
            "documentation": getattr(config, "documentation", None),
        }
        for name in ("name", "value", "read_only", "config_source", "is_sensitive"):
            values[name] = getattr(config, name)
        return self._config(values, ((s.name, s.value, s.source) for s in config.synonyms))

    def layered(self, default: Default, own: str | None, above: str | None) -> Any:
        """A config of a namespace: its own value before the inherited value, before the
        cluster's."""
        key = default.key
        layers = [
            (key, value, source)
            for value, source in ((own, OWN), (above, INHERITED))
            if value is not None
        ]
        _, value, source = layers[0] if layers else (key, default.value, default.source)
        values: dict[str, object] = {
            "name": key,
            "value": None if default.is_sensitive else value,
            "read_only": default.read_only,
            "config_source": source,
            "is_sensitive": default.is_sensitive,
            "config_type": default.config_type,
            "documentation": default.documentation,
        }
        return self._config(values, (*layers, *default.synonyms) if self.synonyms else ())

    def virtual(self, key: str, value: str, *, config_type: int = STRING_TYPE) -> Any:
        """A config that the gateway adds, as a read-only default (``base.virtual_configs`` gives
        the reason); ``key`` is a key of DOCUMENTATION."""
        values: dict[str, object] = {
            "name": key,
            "value": value,
            "read_only": True,
            "config_source": DEFAULT,
            "config_type": config_type,
            "documentation": DOCUMENTATION[key] if self.documentation else None,
        }
        return self._config(values, ((key, value, DEFAULT),) if self.synonyms else ())

    def client_metrics(
        self, key: str, value: str, *, own: bool, is_list: bool, documentation: str
    ) -> Any:
        """A config of a subscription of client metrics; ``own``: it is set, and no default."""
        values: dict[str, object] = {
            "name": key,
            "value": value,
            "config_source": CLIENT_METRICS if own else DEFAULT,
            "config_type": LIST_TYPE if is_list else INT_TYPE,
            "documentation": documentation if self.documentation else None,
        }
        synonyms = ((key, value, CLIENT_METRICS),) if own and self.synonyms else ()
        return self._config(values, synonyms)

    def _config(
        self, values: Mapping[str, object], synonyms: Iterable[tuple[str, str | None, int]]
    ) -> Any:
        """``synonyms`` are (name, value, source), the synonym in force first."""
        cls = element_class(self.result_class, "configs")
        synonym_class = element_class(cls, "synonyms")
        made = tuple(
            make(synonym_class, {"name": name, "value": value, "source": source})
            for name, value, source in synonyms
        )
        return make(cls, {**values, "synonyms": made})

    def described(self, resource: Any, configs: Sequence[Any]) -> Any:
        """The result of a resource, with the configs that the request names."""
        keys: Collection[str] | None = resource.configuration_keys or None
        if keys is not None and len(keys) > FEW:
            keys = frozenset(paced(keys))
        shown = tuple(c for c in configs if keys is None or c.name in keys)
        return self._result(resource, {"configs": shown})

    def rejected(self, resource: Any, why: Denied) -> Any:
        """The result of a resource whose description is rejected."""
        return self._result(resource, error_fields(why))

    def _result(self, resource: Any, values: Mapping[str, object]) -> Any:
        named = {
            "resource_type": resource.resource_type,
            "resource_name": resource.resource_name,
        }
        return make(self.result_class, {**named, **values})
