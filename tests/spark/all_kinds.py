"""A traffic log with every kind of record that the jobs look for, and the catalog it is compared
with."""

from __future__ import annotations

import json
import random
from collections.abc import Iterator
from typing import Final

from tests.spark import samples
from tests.spark.samples import START_MS, Row

FLOWS: Final = 3_000

BAD_LINES: Final = ("cut sho", '{"kind":"flow"}', '{"schema_version":99}', "")
"""Lines that are no records: two are corrupt, another lacks fields, and another is of a newer
gateway."""

CATALOG: Final = {
    "format": 1,
    "acls": [
        {
            "type": "TOPIC",
            "pattern": "LITERAL",
            "name": "org:orders",
            "entries": [
                {"permission": "ALLOW", "operation": operation, "principal": "User:alice"}
                for operation in ("READ", "ALTER")
            ],
        }
    ],
}
"""An export of the catalog: only one of its two ACLs was used."""

NEVER_NAMED: Final = "org:never-named"
"""A topic that is in no record."""


def lines(seed: int = 7) -> list[str]:
    """The lines of the log, in a random order, each record with an id of its own."""
    draw = random.Random(seed)
    made = [json.dumps(row | {"id": f"r-{number}"}) for number, row in enumerate(_rows(draw))]
    made += BAD_LINES
    draw.shuffle(made)
    return made


def _rows(draw: random.Random) -> Iterator[Row]:
    yield from _flows(draw)
    for number in range(60):
        yield samples.denial(
            time_ms=START_MS + number,
            rule=draw.choice(["acl", "policies"]),
            namespace=draw.choice(["org", "team-a", None]),
            principal=draw.choice(["User:bob", "User:eve"]),
            resource=f"org:orders-{number}",
        )
        yield samples.policy(
            draw.choice(["org:orders", "team-a:orders"]),
            time_ms=START_MS + number,
            outcome=draw.choice(["refused", "warned", "near"]),
            value=80 + number,
        )
    yield samples.used_acl("ALLOW READ for User:alice on TOPIC:LITERAL:org:orders")


def _flows(draw: random.Random) -> Iterator[Row]:
    for row in samples.random_flows(draw.randrange(1_000), FLOWS):
        times = [draw.randrange(1, 2**22) for _ in range(2 * row["led_requests"])]
        sides = {"gateway": times[::2], "broker": times[1::2]}
        if draw.randrange(3):
            row |= {f"{side}_us_quarters": samples.histogram(of) for side, of in sides.items()}
        else:
            row["schema_version"] = 1
            row |= {f"{side}_us_log2": samples.earlier_histogram(of) for side, of in sides.items()}
        yield row
    # Topics that MirrorMaker takes for its own, and weak producers.
    for name in ("org:a.internal", "org:mm2-offsets.a.internal", "team-a:a-internal", "b.internal"):
        yield samples.flow(name, bytes_in=draw.randrange(500), records=5, batches=2, acks_1=1)
    yield samples.flow("org:written", records=7, bytes_in=70, acks_0=3, batches=3)
    yield samples.flow(None, "Metadata", bytes_out=70, client_id="</script>", namespace="")
