"""The cluster of a command, from a configuration that may have several."""

from __future__ import annotations

from typing import Final

from gateway.commands.errors import CommandError, UsageError
from gateway.commands.flags import Flag
from gateway.config.models import Config

CLUSTER_FLAG: Final = Flag(
    "--cluster", "NAME", "the cluster, by its name in the file; needed where there are several"
)


def of_cluster(config: Config, name: str | None) -> Config:
    """The configuration reduced to the cluster of this name; without a name, to its only cluster.

    Raises UsageError if the file has several clusters and no name is given, CommandError
    if the name is unknown.
    """
    there = ", ".join(cluster.name for cluster in config.clusters)
    if name is None:
        if len(config.clusters) > 1:
            raise UsageError(f"the file has several clusters; give one of them: --cluster {there}")
        return config.of_volume(config.clusters[0])
    for cluster in config.clusters:
        if cluster.name == name:
            return config.of_volume(cluster)
    raise CommandError(f"there is no cluster '{name}' in the file; the clusters are {there}")
