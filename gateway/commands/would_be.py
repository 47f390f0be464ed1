"""``topics --create --validate-only``: what would be made, and which policies apply to it."""

from __future__ import annotations

from collections.abc import Iterator

from gateway.commands.answers import Config, Created
from gateway.commands.applied import Applied, as_json, lines
from gateway.commands.config_lines import DEFAULT_CONFIG, source_name
from gateway.commands.config_lines import as_json as configs_as_json
from gateway.commands.told import print_json, say_error, table
from gateway.error_codes import POLICY_VIOLATION


def tell(kind: str, name: str, created: Created, applied: Applied, *, accepted: bool) -> None:
    """Print it for people. Why it is refused, unless it is ``accepted``, is told by others."""
    shown = []
    if accepted and created.code:
        shown.append(f"{kind.capitalize()} {name} exists already.")
    elif accepted:
        shown.append(
            "\n".join([f"{kind.capitalize()} {name} could be created.", *_counts(created)])
        )
        if _set(created):
            shown.append(_config_table(created))
    if applied.rows is not None:
        heading = ""
        if kind == "namespace" and applied.namespace != name:
            heading = f"In and below namespace {applied.namespace}:\n"
        shown.append(heading + lines(applied))
    if shown:
        print("\n\n".join(shown))
    _say_why(created, applied, accepted=accepted)


def tell_json(kind: str, name: str, created: Created, applied: Applied, *, accepted: bool) -> None:
    """The same for programs. ``error`` is Kafka's name of what it is refused for, or null;
    ``policies_of`` the namespace that ``policies`` apply in."""
    print_json(
        {
            kind: name,
            "created": created.code == 0,
            "validate_only": True,
            "error": None if accepted else created.error,
            "message": None if accepted else created.message,
            "partitions": created.partitions,
            "replication_factor": created.replication_factor,
            "configs": configs_as_json(_set(created)),
            "policies_of": applied.namespace,
            "policies": as_json(applied.rows),
            "more_policies": applied.more,
        }
    )
    _say_why(created, applied, accepted=accepted)


def _say_why(created: Created, applied: Applied, *, accepted: bool) -> None:
    """Why no policies are told, unless something else is the matter with the name."""
    if applied.why and (accepted or created.code == POLICY_VIOLATION):
        say_error(applied.why)


def _counts(created: Created) -> Iterator[str]:
    """As ``topics --describe`` shows them; a namespace has none, and old versions tell none."""
    if created.partitions is not None:
        yield (
            f"PartitionCount: {created.partitions}\tReplicationFactor: {created.replication_factor}"
        )


def _config_table(created: Created) -> str:
    rows = [(one.name, one.value or "", source_name(one.source)) for one in _set(created)]
    return table([("config", "value", "source"), *rows])


def _set(created: Created) -> list[Config]:
    """What is not a default, sorted by key, as topics --describe shows it."""
    told = sorted(created.configs, key=lambda one: one.name)
    return [one for one in told if one.source != DEFAULT_CONFIG]
