"""``kafka-gateway tree``: the clusters behind a gateway, drawn as a single
tree. An operator's tool."""

from __future__ import annotations

import argparse
import asyncio
import re
from collections.abc import Sequence
from typing import Any, Final

from gateway.commands import backend, log_dirs
from gateway.commands.actions import run
from gateway.commands.asking import Asker
from gateway.commands.errors import CommandError, Unavailable
from gateway.commands.flags import Flag, fill_operator_parser
from gateway.commands.output import Output, Progress, counted, table
from gateway.commands.tree_nodes import Hidden, VolumeState, drawn, tree_of
from gateway.commands.tree_walk import FarMount, walk
from gateway.config.models import Cluster, Config
from gateway.config.reach import mounts_of
from gateway.config_file.loading import load_config

_EXAMPLES: Final = """\
examples:
  kafka-gateway tree --config gateway.yaml
  kafka-gateway tree --config gateway.yaml --depth 2
  kafka-gateway tree --config gateway.yaml --all
  kafka-gateway tree --config gateway.yaml --json
"""
_MOST: Final = 1_000
_METADATA_VERSION: Final = "metadata.version"


def _depth(text: str) -> int:
    if not re.fullmatch(r"[0-9]{1,3}", text):
        raise argparse.ArgumentTypeError(f"'{text}' is not a number of levels, 0 or more")
    return int(text)


_FLAGS: Final = (
    Flag("--depth", "N", "levels to draw (default: all)", {"type": _depth, "default": _MOST}),
    Flag("--all", "", "ask the other gateways of the tree, too, what is mounted where"),
    Flag("--json", "", "print JSON"),
)


def fill(parser: argparse.ArgumentParser) -> None:
    """Fill the parser of the subcommand; its options' ``run`` returns the exit status."""
    fill_operator_parser(
        parser,
        _FLAGS,
        _run,
        description="Draw what is behind a gateway: every cluster where it is mounted, its"
        " namespaces, and how many topics and bytes there are.",
        examples=_EXAMPLES,
    )


def _run(options: argparse.Namespace) -> int:
    config = load_config(options.config)
    return run(lambda: _tree(config, options.depth, everywhere=options.all), options)


async def _tree(config: Config, depth: int, *, everywhere: bool) -> Output:
    notes: list[str] = []
    far = await _other_gateways(config, notes) if everywhere else ()
    async with Progress("asking the clusters") as progress:
        waiting = [cluster.name for cluster in config.clusters]
        progress.text = f"no answer yet of {', '.join(waiting)}"

        async def ask(cluster: Cluster) -> VolumeState:
            found = await _state(config.of_volume(cluster), notes)
            waiting.remove(cluster.name)
            progress.text = f"no answer yet of {', '.join(waiting)}"
            return found

        volumes = await asyncio.gather(*map(ask, config.clusters))
    root, hidden = tree_of(volumes, mounts_of(config), far)
    rows = [("namespace", "topics", "size", "state"), *drawn(root, depth)]
    content = {**root.as_json(depth), "hidden": [_hidden_json(one) for one in hidden]}
    return Output(content, table(rows), [*notes, *map(_hidden_text, hidden)])


async def _other_gateways(config: Config, notes: list[str]) -> Sequence[FarMount]:
    """The mounts of all other gateways; a warning for each failure is added to ``notes``. Raises
    CommandError if there are no other gateways."""
    if config.tree is None:
        raise CommandError("the file names no other gateways; add tree: to it, or leave out --all")
    async with Progress("asking the other gateways") as progress:
        with Asker(config, config.tree) as asker:
            found = await walk(config, asker, progress)
    notes.extend(f"warning: {one}" for one in found.warnings)
    return found.mounts


async def _state(config: Config, notes: list[str]) -> VolumeState:
    """The state of a cluster; a warning for each failure is added to ``notes``. Raises CommandError
    if its catalog cannot be used."""
    cluster = config.clusters[0]
    try:
        async with backend.open_backend(config, read_only=True, or_empty=True) as found:
            sizes = await log_dirs.stored_sizes(found.cluster)
            notes.extend(f"warning: cluster '{cluster.name}': {one}" for one in sizes.missing)
            return VolumeState(
                cluster.name,
                cluster.mount,
                cluster.number,
                brokers=len(found.cluster.brokers),
                metadata_version=metadata_version(found.cluster.served),
                snapshot=found.catalog.snapshot,
                has_catalog=bool(found.catalog.snapshot.version),
                topics=[name.decode() for name in found.cluster.index.names()],
                sizes=None if sizes.missing else sizes.topics,
            )
    except Unavailable as error:
        notes.append(f"warning: {error}")
        return VolumeState(cluster.name, cluster.mount, cluster.number, failure=str(error))
    except CommandError as error:
        raise CommandError(f"{error} (cluster '{cluster.name}')") from None


def metadata_version(served: Any) -> int | None:
    """The finalized level of ``metadata.version`` in an ApiVersions response, or None if
    it has no such feature."""
    features: Sequence[Any] = getattr(served, "finalized_features", None) or ()
    for feature in features:
        if str(feature.name) == _METADATA_VERSION:
            return int(feature.max_version_level)
    return None


def _hidden_text(hidden: Hidden) -> str:
    topics = counted(hidden.topics, "topic")
    return (
        f"warning: namespace '{hidden.namespace}' of cluster '{hidden.cluster}' ({topics}) is"
        f" hidden by the mount '{hidden.mount}': only relative names reach it"
    )


def _hidden_json(hidden: Hidden) -> dict[str, object]:
    return {
        "cluster": hidden.cluster,
        "namespace": hidden.namespace,
        "mount": hidden.mount,
        "topics": hidden.topics,
    }
