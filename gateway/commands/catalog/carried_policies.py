"""The policies in a file of namespaces, compared with the configuration's policies.

Policies live in the configuration, not in the catalog: an import shows the differences, and writes
the blocks to a file (``--policies-to``) for the operator to merge.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from gateway.catalog.schema.yaml_values import write
from gateway.commands.catalog.carrying import path_under
from gateway.commands.catalog.file import Imported
from gateway.commands.errors import UsageError
from gateway.commands.output_files import write_file
from gateway.config.errors import ConfigError, Problem, key_text
from gateway.config.models import Config
from gateway.config.policy_blocks import blocks_of, read_blocks

_HEADING: Final = """\
# Policies for the configuration of a gateway: merge them into its `{key}`, look at them with
# `kafka-gateway check`, and reload.
"""


@dataclass(frozen=True, slots=True)
class CarriedPolicies:
    """The policies of a file, compared with the configuration's."""

    key: str
    """The configuration's key of its policies."""
    blocks: Mapping[str, Mapping[str, Any]]
    """The file's blocks, by the path that each is carried to."""
    differing: tuple[tuple[str, Mapping[str, Any], Mapping[str, Any]], ...]
    """Each block that the configuration lacks or has otherwise: its path, the configuration's block
    (empty if there is no block) and the file's block."""

    @classmethod
    def of(cls, config: Config, imported: Imported, options: argparse.Namespace) -> CarriedPolicies:
        """The policies of a file. Raises ConfigError, and UsageError if the file
        has no policies to write."""
        under = options.under or ""
        if options.policies_to is not None and not imported.only_namespaces:
            raise UsageError("--policies-to goes with a file that export --namespaces has written")
        written = {path_under(under, path): path for path in imported.policies}
        found = read_blocks({new: imported.policies[path] for new, path in written.items()})
        if isinstance(found, list):
            raise ConfigError(
                imported.path, [_placed(problem, imported, written) for problem in found]
            )
        here = blocks_of(config.policies)
        differing = tuple(
            (path, here.get(path, {}), block)
            for path, block in found.items()
            if here.get(path) != block
        )
        return cls(key_text(config.key_of("policies")), found, differing)

    def lines(self) -> list[str]:
        """The differences as lines to print."""
        if not self.differing:
            return []
        found = [
            f"Policies that are not in {self.key}.namespaces yet; an import leaves them to you "
            "(--policies-to FILE writes them):"
        ]
        for path, before, after in self.differing:
            found.append(f"{'~' if before else '+'} policies of namespace {path}")
            old, new = dict(_flat(before)), dict(_flat(after))
            for key in sorted(old.keys() | new.keys()):
                left, right = old.get(key, "(none)"), new.get(key, "(none)")
                if left != right:
                    found.append(
                        f"    {key}: {left} -> {right}" if before else f"    {key}: {right}"
                    )
        return found

    def to_json(self) -> list[dict[str, object]]:
        """The differences as JSON; ``before`` is null if the configuration has no block."""
        return [
            {"namespace": path, "before": before or None, "after": after}
            for path, before, after in self.differing
        ]

    def write(self, path: Path | None, *, force: bool) -> None:
        """Write all blocks in the form that a configuration takes. Raises CommandError. If the file
        exists, it is replaced only with ``force``."""
        if path is None:
            return
        content = {"policies": {"namespaces": dict(self.blocks)}}
        text = _HEADING.format(key=self.key) + write(content)
        write_file(path, "--policies-to", text, force=force)


def _placed(problem: Problem, imported: Imported, written: Mapping[str, str]) -> Problem:
    """The problem at the key of the file that caused it."""
    path, *rest = problem.key
    place = key = ("policies", written.get(str(path), str(path)), *rest)
    while place and place not in imported.lines:
        place = place[:-1]
    return Problem(key, problem.text, imported.lines.get(place, 0))


def _flat(block: Mapping[str, Any], prefix: str = "") -> Iterator[tuple[str, str]]:
    """Each value by its key, as an operator writes it: ``partitions.max``."""
    for key, value in block.items():
        if isinstance(value, dict):
            yield from _flat(value, f"{prefix}{key}.")
        elif isinstance(value, list):
            yield f"{prefix}{key}", ", ".join(map(str, value))
        else:
            yield f"{prefix}{key}", "any" if value is None else str(value)
