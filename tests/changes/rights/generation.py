"""Random worlds: names that are close to each other, ACLs of every type of pattern, delegates of
each kind."""

from __future__ import annotations

from random import Random

from gateway.names import LogicalName, encode
from tests.changes.rights.worlds import DELEGATE, HOSTS, PRINCIPALS, Plan, Step

NAMESPACES = ("org", "org:a", "org:b", "org:a:x", "other", "team-a", "team-a:x", "team-a:x:y")
FLAT_TOPICS = ("orders", "pub-t", "pub-u", "team-b..t", "t")
TOPICS = ("t", "u", "pub-t", "orders")
FRESH = ("l", "pub-l", "m")
IDS = (
    "g",
    "pub-g",
    "team-a:x:g",
    *(encode(LogicalName(path, "g")) for path in NAMESPACES),
)
_OPERATIONS = ("ALL", "READ", "WRITE", "DESCRIBE", "DELETE", "ALTER", "CREATE", "ALTER_CONFIGS")


def random_name(rng: Random, *, fresh: bool = False) -> str:
    """A logical name of a topic; if ``fresh``, rather a name that no topic has yet."""
    namespace = rng.choice([*NAMESPACES, "", "", ""])
    if not namespace and not fresh:
        return rng.choice(FLAT_TOPICS)
    topic = rng.choice(FRESH if fresh else TOPICS)
    return f"{namespace}:{topic}" if namespace else topic


def random_acl(rng: Random, principal: str | None = None) -> str:
    """An entry on a pattern of any type."""
    permission = rng.choices(["ALLOW", "DENY"], [6, 4])[0]
    who = principal or rng.choice([*PRINCIPALS, DELEGATE, "User:*"])
    if rng.random() < 0.15:
        who += "@" + rng.choice(HOSTS)
    return f"{permission} {rng.choice(_OPERATIONS)} {who} {random_pattern(rng)}"


def random_pattern(rng: Random) -> str:
    """A pattern, as text: most often of topics and namespaces."""
    kind = rng.choices(["TOPIC", "GROUP", "TRANSACTIONAL_ID"], [7, 2, 1])[0]
    if rng.random() < 0.08:
        return f"{kind}:LITERAL:*"
    pattern_type = rng.choice(["LITERAL", "LITERAL", "PREFIXED"])
    if rng.random() < 0.4:
        name = rng.choice(NAMESPACES) + ":"
    elif kind == "TOPIC":
        name = random_name(rng, fresh=rng.random() < 0.2)
    else:
        name = rng.choice(IDS)
    if pattern_type == "PREFIXED" and not name.endswith(":") and rng.random() < 0.5:
        name = name[: -rng.randrange(1, 3)] or name
    if kind != "TOPIC" and name.endswith(":"):
        pattern_type = "PREFIXED"
    return f"{kind}:{pattern_type}:{name}"


def delegation(rng: Random) -> list[str]:
    """The ACLs that make the delegate a delegate, of one kind."""
    who, tier = DELEGATE, rng.choice(NAMESPACES) + ":"
    prefix = rng.choice(["pub-", "team-a.", "team-", "o", "l"])
    match rng.randrange(6):
        case 0 | 1:
            operations = rng.choice([["ALL"], ["ALTER"], ["ALTER", "DELETE"]])
            return [f"ALLOW {one} {who} TOPIC:LITERAL:{tier}" for one in operations]
        case 2:
            return [f"ALLOW {one} {who} TOPIC:PREFIXED:{prefix}" for one in ("CREATE", "DELETE")]
        case 3:
            kept = rng.choice(["LITERAL", "PREFIXED", "PREFIXED"])
            return [f"ALLOW {one} {who} TOPIC:{kept}:{tier}" for one in ("CREATE", "DELETE")]
        case 4:
            denied = f"DENY ALTER {who} TOPIC:PREFIXED:{tier}"
            return [f"ALLOW ALL {who} TOPIC:LITERAL:{tier}", denied]
        case _:
            operation = rng.choice(["ALTER", "ALL"])
            return [f"ALLOW {operation} {who} TOPIC:LITERAL:{rng.choice(FLAT_TOPICS)}"]


def random_plan(rng: Random) -> Plan:
    """A world."""
    chosen = [path for path in NAMESPACES if rng.random() < 0.6]
    tiers = {":".join(path.split(":")[:n]) for path in chosen for n in range(1, 4)}
    namespaces = tuple(sorted(tiers))
    names = [LogicalName(path, topic) for path in namespaces for topic in TOPICS]
    flats = [encode(name) for name in names if rng.random() < 0.2]
    flats += [name for name in FLAT_TOPICS if rng.random() < 0.5]
    acls: list[str] = []
    for _ in range(rng.choice([1, 2, 2, 3, 4])):
        acls += delegation(rng)
    if rng.random() < 0.7:
        acls += [f"ALLOW DESCRIBE {DELEGATE} TOPIC:LITERAL:{path}:" for path in namespaces]
    acls += [random_acl(rng) for _ in range(rng.randrange(2, 12))]
    setup = _setup(rng, namespaces, flats)
    return Plan(
        namespaces,
        tuple(dict.fromkeys(flats)),
        tuple(dict.fromkeys(acls)),
        tuple(one for one in IDS if rng.random() < 0.5),
        tuple(one for one in IDS if rng.random() < 0.3),
        setup,
        rng.random() < 0.1,
    )


def _setup(rng: Random, namespaces: tuple[str, ...], flats: list[str]) -> tuple[Step, ...]:
    """Moves and links that exist before, as an administrator makes them."""
    steps: list[Step] = []
    for flat in flats:
        name = _logical(flat, namespaces)
        if rng.random() < 0.12:
            namespace, topic = rng.choice([*namespaces, ""]), rng.choice([*TOPICS, "n"])
            steps.append(("move", name, namespace, topic, rng.choice(["", "2024-01-01"])))
        elif rng.random() < 0.2:
            steps.append(("link", name, "APPEND", random_name(rng, fresh=True)))
    return tuple(steps)


def _logical(flat: str, namespaces: tuple[str, ...]) -> str:
    for path in namespaces:
        for topic in TOPICS:
            if encode(LogicalName(path, topic)) == flat:
                return f"{path}:{topic}"
    return flat
