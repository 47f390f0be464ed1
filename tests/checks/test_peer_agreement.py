"""gateway.checks.peer_agreement: the descriptions of peers, compared with the file."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from gateway.checks.peers import ask_peers
from gateway.config_file.loading import load_config
from gateway.referrals.description import (
    DescribedListener,
    DescribedMount,
    DescribedPeer,
)
from tests.checks.fake_peers import (
    ALL,
    DEEP,
    LA,
    ROOT,
    Fakes,
    Says,
    config,
    deep,
    described,
    found,
    listeners,
    root,
    shown,
    values,
    written,
)

# -- neighbours -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("says", "problems"),
    [
        (
            {"deep": deep(mounts=(DescribedMount("la:depp", 3),))},
            [
                "tree.children[0].mount: gateway 'deep' has no cluster at ':la:deep', its mounts "
                "are ':la:depp'; correct one of the two files"
            ],
        ),
        (
            {"deep": deep(parents=(DescribedPeer("root", "CN=root"),))},
            [
                "tree.children[0]: gateway 'deep' does not have this gateway ('CN=gw') among its "
                "tree.parents, so its clients find nothing above it; add it there"
            ],
        ),
        (
            {"root": root(children=(DescribedPeer("sf", "CN=gw", "sf"),))},
            [
                "tree.parents[0]: gateway 'root' does not have ':la' among the mounts of its "
                "tree.children, so nothing there is found from above; add it there"
            ],
        ),
        (
            {"root": root(children=(DescribedPeer("la", "CN=old", LA),))},
            [
                "tree.parents[0]: gateway 'root' has 'CN=old' as its child at ':la', which is a "
                "mount of this gateway ('CN=gw'); correct one"
            ],
        ),
        (
            {"root": root(gateway="deep")},
            [
                "tree.children[0]: gateway 'deep' has the gateway_id 'deep', as gateway 'root' "
                "has, so that questions which pass both seem to go in a circle; give each gateway "
                "its own"
            ],
        ),
        (
            {"root": root(gateway="la")},
            [
                "tree.parents[0]: gateway 'root' has the gateway_id 'la', as this gateway has, so "
                "that questions which pass both seem to go in a circle; give each gateway its own"
            ],
        ),
        (
            {"root": root(mounts=(DescribedMount(ROOT, 1), DescribedMount(LA, 2)))},
            [
                "tree.parents[0]: gateway 'root' has a cluster at ':la', as this gateway has; a "
                "mount is one gateway's, so correct one of the two files"
            ],
        ),
        (
            {"deep": deep(mounts=(DescribedMount(DEEP, 2),))},
            [
                "tree.children[0]: gateway 'deep' gives ':la:deep' number 2, which is that of "
                "':la'; choose another for one of them"
            ],
        ),
    ],
)
async def test_neighbours_that_disagree(
    tmp_path: Path, says: dict[str, Says], problems: list[str]
) -> None:
    assert shown((await found(config(tmp_path), **says)).problems) == problems


async def test_a_child_above_a_mount_leads_there(tmp_path: Path) -> None:
    """Another gateway is between the parent and this one, or this one has both mounts."""
    made = values(tmp_path)
    made["clusters"][0]["mount"] = "la:west"
    for listener in made["listeners"]:
        listener["volume"] = {LA: "la:west"}.get(listener["volume"], listener["volume"])
        listener["reach"] = [ROOT, "la:west", DEEP]
    made["tree"]["children"] = []
    there = tuple(
        replace(
            one, volume={LA: "la:west"}.get(one.volume, one.volume), reach=(ROOT, "la:west", DEEP)
        )
        for one in listeners(*ALL)
    )
    fakes = Fakes(says={"root": root(listeners=there)})
    fakes.found[DEEP] = described(deep(listeners=there), DEEP, 3)
    result = await ask_peers(load_config(written(tmp_path, made)), fakes.link)
    assert shown(result.problems) == []


# -- listeners ------------------------------------------------------------------------------------


def changed(volume: str, **changes: Any) -> tuple[DescribedListener, ...]:
    """The listeners of a peer, with changes to the listener of a volume."""
    return tuple(
        replace(one, **changes) if one.volume == volume else one for one in listeners(*ALL)
    )


THERE = "listener 'of-la' of gateway 'root', of the same volume"


@pytest.mark.parametrize(
    ("theirs", "problems"),
    [
        (
            changed(LA, reach=(LA, ROOT, "sf")),
            [
                f"listeners[1].reach: is another than that of {THERE}, which lacks ':la:deep' and "
                "has ':sf' besides; make them alike"
            ],
        ),
        (changed(LA, reach=ALL[::-1]), []),
        (
            changed(LA, spelling="colon"),
            [
                f"listeners[1].spelling: is slash, and colon at {THERE}, where the same clients "
                "go; make them alike"
            ],
        ),
        (
            changed(LA, security_protocol="SSL"),
            [
                f"listeners[1].security_protocol: is PLAINTEXT, and SSL at {THERE}, where the same "
                "clients go; make them alike"
            ],
        ),
        (
            listeners(ROOT, LA),
            [
                "listeners[2].reach: has ':', and gateway 'root', which has that, has no listener "
                "with volume ':la:deep' that reaches it, so clients are not led there; give it one"
            ],
        ),
        (
            (
                *listeners(*ALL),
                DescribedListener("of-sf", "sf", ("sf", LA), "slash", "PLAINTEXT"),
            ),
            [
                "listeners: lack one with volume ':sf' that reaches ':la', so clients of listener "
                "'of-sf' of gateway 'root' are not led here; add one"
            ],
        ),
        # Neither gateway leads to the other.
        (
            (
                *listeners(*ALL),
                DescribedListener("root-only", ROOT, (ROOT,), "colon", "SSL"),
                DescribedListener("sf-only", "sf", ("sf", ROOT), "colon", "SSL"),
            ),
            [],
        ),
        # Clients are led to the first gateway, here and there.
        (
            (
                *listeners(*ALL),
                DescribedListener("second", LA, (LA, ROOT, DEEP), "slash", "SSL"),
            ),
            [
                "listeners[1].security_protocol: is PLAINTEXT, and SSL at listener 'second' of "
                "gateway 'root', of the same volume, where the same clients go; make them alike"
            ],
        ),
    ],
)
async def test_listeners_for_one_volume(
    tmp_path: Path, theirs: tuple[DescribedListener, ...], problems: list[str]
) -> None:
    says = {"root": root(listeners=theirs)}
    assert shown((await found(config(tmp_path), **says)).problems) == problems


async def test_mechanisms(tmp_path: Path) -> None:
    made = values(tmp_path)
    secret = tmp_path / "secret"
    secret.write_text("alice-secret\n")
    sasl = {"mechanisms": ["PLAIN", "SCRAM-SHA-256"], "users": {"alice": {"file": str(secret)}}}
    made["listeners"][1] |= {"security_protocol": "SASL_PLAINTEXT", "sasl": sasl}
    loaded = load_config(written(tmp_path, made))
    same = {"security_protocol": "SASL_PLAINTEXT"}
    both = changed(LA, **same, mechanisms=("SCRAM-SHA-256", "PLAIN", "OAUTHBEARER"))
    lacks = changed(LA, **same, mechanisms=("SCRAM-SHA-256",))
    says = {"root": root(listeners=lacks), "deep": deep(listeners=both)}
    assert shown((await found(loaded, **says)).problems) == [
        f"listeners[1].sasl.mechanisms: has PLAIN, which {THERE}, lacks; clients log in at both, "
        "so make them alike"
    ]
