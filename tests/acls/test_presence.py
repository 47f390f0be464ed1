"""gateway.acls.index: which names any ACL covers."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from gateway.acl_model import PatternType, ResourcePattern, ResourceType, covers
from gateway.acls.index import Presence
from tests.acls.samples import KINDS, NAMES, patterns


@given(st.sampled_from(KINDS), st.lists(st.tuples(patterns, st.booleans()), max_size=20))
def test_it_knows_what_covers_a_name(
    kind: ResourceType, steps: list[tuple[ResourcePattern, bool]]
) -> None:
    presence = Presence(kind)
    held: set[ResourcePattern] = set()
    for pattern, there in steps:
        if pattern.type is kind and there is not (pattern in held):
            presence.put(pattern, there=there)
            (held.add if there else held.discard)(pattern)
    for text in NAMES:
        covering = {pattern for pattern in held if covers(pattern, kind, text)}
        assert presence.covers(text) is bool(covering)
        prefixes = [one.name for one in covering if one.pattern_type is PatternType.PREFIXED]
        assert sorted(presence.prefixes_of(text)) == sorted(prefixes)
