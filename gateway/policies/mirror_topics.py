"""Topics that MirrorMaker 2 creates for itself, by their names under its default policy.

MirrorMaker names them itself and sets their configs, and does not start without them. So rules on
names (``name_pattern``) and on which configs are set (``configs.required``, ``configs.allowed``) do
not apply to them; ranges, ``configs.forbidden`` and classes do.
"""

from __future__ import annotations

from typing import Final

from gateway.config.policies import ConfigRules

_INTERNAL: Final = ".internal"
_BEGINNINGS: Final = ("mm2-configs.", "mm2-offset-syncs.", "mm2-offsets.", "mm2-status.")
_CHECKPOINTS: Final = ".checkpoints.internal"


def is_made_by_mirror_maker(topic: str) -> bool:
    """Whether a name, without its namespace, is the name of a topic which MirrorMaker creates for
    some alias: ``mm2-configs.A.internal``, ``A.checkpoints.internal``.

    Narrower than ``isMM2InternalTopic`` (KIP-1074), which accepts any name that begins with ``mm2``
    and ends with ``.internal``. Source: MirrorMakerConfig.workerConfig for three of them, and
    DefaultReplicationPolicy.offsetSyncsTopic and checkpointsTopic.
    """
    if topic.endswith(_CHECKPOINTS):
        return topic != _CHECKPOINTS
    return any(
        topic.startswith(beginning)
        and topic.endswith(_INTERNAL)
        and len(topic) > len(beginning) + len(_INTERNAL)
        for beginning in _BEGINNINGS
    )


def config_rules(rules: ConfigRules, topic: str) -> ConfigRules:
    """The rules of a block on configs, for a topic with this name, without its namespace."""
    if not is_made_by_mirror_maker(topic):
        return rules
    return rules.model_copy(update={"required": {}, "allowed": None})
