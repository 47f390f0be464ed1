"""Files that are almost valid: values of other types and sizes, paths that lead to no file, other
encodings, aliases and merge keys, and files that do not parse."""

from __future__ import annotations

import copy
import os
import random
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, Final, NamedTuple

import yaml

from tests.checks.fuzz.valid import Sample
from tests.checks.fuzz.values import ENCODINGS, NO_FILES, PATHS, SNIPPETS, TAGS, VALUES

Key = tuple[str | int, ...]


class Case(NamedTuple):
    """A file: the command that reads it, its mutation, and the function that writes it in its
    place."""

    reader: str
    what: str
    write: Callable[[Path], object]


def write_traps(directory: Path) -> None:
    """Make the paths that lead to anything but a good file."""
    os.mkfifo(directory / "fifo")
    (directory / "loop").symlink_to("loop")
    (directory / "dangling").symlink_to("missing/file")
    (directory / "empty").touch()
    (directory / "binary").write_bytes(bytes(range(256)) * 64)
    (directory / "unreadable").touch(mode=0)
    with (directory / "huge").open("wb") as huge:
        huge.truncate(1 << 40)


def mutated(source: random.Random, sample: Sample) -> Case:
    """A file that differs from a valid file in one to three places."""
    if source.random() < 0.05:
        return _no_file(source, sample)
    content = copy.deepcopy(sample.content)
    done = []
    for _ in range(source.choice((1, 1, 1, 2, 3))):
        change = source.choice(_CHANGES)
        content, what = change(source, content)
        done.append(what)
    text = yaml.safe_dump(content, sort_keys=False, default_flow_style=source.choice((None, True)))
    data = text.encode("utf-8", "surrogatepass")
    if source.random() < 0.35:
        data, what = _written_otherwise(source, text)
        done.append(what)
    return Case(sample.reader, f"{sample.name}: {'; '.join(done)}"[:500], _writer(data))


def _writer(data: bytes) -> Callable[[Path], object]:
    return lambda path: path.write_bytes(data)


def _no_file(source: random.Random, sample: Sample) -> Case:
    target = source.choice(NO_FILES)
    return Case(sample.reader, f"a link to {target}", lambda path: path.symlink_to(target))


# -- of the content ------------------------------------------------------------------------------


def places(value: Any, key: Key = ()) -> Iterator[Key]:
    """The keys of all values in a content."""
    items = value.items() if isinstance(value, dict) else enumerate(value)
    for part, inner in items:
        yield (*key, part)
        if isinstance(inner, dict | list):
            yield from places(inner, (*key, part))


def _at(content: Any, key: Key) -> Any:
    for part in key:
        content = content[part]
    return content


def _chosen(source: random.Random, content: Any) -> tuple[Any, Any, Key]:
    """The mapping or list around a place, the place in it, and its key."""
    found = [*places(content)] if isinstance(content, dict | list) else []
    if not found:
        return {"x": None}, "x", ()
    key = source.choice(found)
    return _at(content, key[:-1]), key[-1], key


def _replace(source: random.Random, content: Any) -> tuple[Any, str]:
    around, part, key = _chosen(source, content)
    around[part] = copy.deepcopy(source.choice(VALUES))
    return content, f"{key} is {str(around[part])[:60]!r}"


def _alike(source: random.Random, content: Any) -> tuple[Any, str]:
    """A value that is likely to be as good as the old one."""
    around, part, key = _chosen(source, content)
    match around[part]:
        case bool() as value:
            around[part] = not value
        case int() as value:
            around[part] = source.choice((value + 1, value - 1, 2 * value, 1, 10, 1_000))
        case float() as value:
            around[part] = source.choice((value * 2, value / 2, 1.0))
        case str() as value:
            around[part] = source.choice((value.upper(), value[1:], value + "x", value[::-1], "a"))
        case list() as value:
            around[part] = source.choice((value[1:], value[::-1], value + value[:1]))
        case dict() as value:
            around[part] = dict(source.sample([*value.items()], len(value)))
    return content, f"{key} is {str(around[part])[:60]!r}"


def _path(source: random.Random, content: Any) -> tuple[Any, str]:
    """A path in place of a text, preferably in place of one of the file's own paths."""
    texts = [key for key in places(content) if isinstance(_at(content, key), str) and is_path(key)]
    if not texts:
        return _replace(source, content)
    key = source.choice(texts)
    _at(content, key[:-1])[key[-1]] = target = source.choice(PATHS)
    return content, f"{key} is {target[:60]!r}"


_PATH_KEYS: Final = frozenset(
    {
        *("ca", "certificate", "key", "client_ca", "file", "jwks", "key_file", "directory"),
        "passwords",
    }
)


def is_path(key: Key) -> bool:
    """Whether a key of a configuration, or of an export, has a path."""
    return key[-1] in _PATH_KEYS


def _remove(source: random.Random, content: Any) -> tuple[Any, str]:
    around, part, key = _chosen(source, content)
    del around[part]
    return content, f"{key} is removed"


def _rename(source: random.Random, content: Any) -> tuple[Any, str]:
    around, part, key = _chosen(source, content)
    if not isinstance(around, dict):
        return _replace(source, content)
    name = source.choice((*VALUES, f"{part}x", "directory", "mount", "number", "tls"))
    if isinstance(name, list | dict):
        name = "x"
    around[name] = around.pop(part)
    return content, f"{key} is called {str(name)[:60]!r}"


def _swap(source: random.Random, content: Any) -> tuple[Any, str]:
    one, other = _chosen(source, content), _chosen(source, content)
    moved = copy.deepcopy(
        other[0].get(other[1]) if isinstance(other[0], dict) else other[0][other[1]]
    )
    one[0][one[1]] = moved
    return content, f"{one[2]} is what {other[2]} is"


def _repeat(source: random.Random, content: Any) -> tuple[Any, str]:
    """Many copies of an item of a list, or of a key of a mapping."""
    around, part, key = _chosen(source, content)
    count = source.choice((2, 100, 1_000, 20_000))
    count = min(count, 60_000 // max(1, _size(around[part])))
    if isinstance(around, list):
        around.extend(copy.deepcopy(around[part]) for _ in range(count))
        for number, item in enumerate(around):
            if isinstance(item, str) and source.random() < 0.9:
                around[number] = f"{item}{number}"
    else:
        for number in range(count):
            around[f"{part}{number}"] = copy.deepcopy(around[part])
    return content, f"{key} is there {count} times more"


def _size(value: Any) -> int:
    inner = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    return 1 + sum(map(_size, inner))


def _nest(source: random.Random, content: Any) -> tuple[Any, str]:
    around, part, key = _chosen(source, content)
    depth = source.choice((2, 50, 99, 101, 150))
    for _ in range(depth):
        around[part] = [around[part]] if source.random() < 0.5 else {"x": around[part]}
    return content, f"{key} is {depth} levels deeper"


_CHANGES: Final = (
    *(_replace, _replace, _replace, _alike, _alike, _alike, _alike, _path, _path, _path),
    *(_remove, _remove, _rename, _swap, _repeat, _nest),
)


# -- of the text ---------------------------------------------------------------------------------


def _written_otherwise(source: random.Random, text: str) -> tuple[bytes, str]:
    match source.randrange(7):
        case 0:
            encoding = source.choice(ENCODINGS)
            return text.encode(encoding, "replace"), f"in {encoding}"
        case 1:
            data = bytearray(text.encode("utf-8", "replace"))
            for _ in range(source.choice((1, 3, 20))):
                data[source.randrange(len(data))] = source.randrange(256)
            return bytes(data), "with other bytes"
        case 2:
            return text[: source.randrange(len(text))].encode("utf-8", "replace"), "cut"
        case 3:
            return _bomb(source, text).encode("utf-8", "replace"), "with aliases of aliases"
        case 4:
            lines = text.splitlines(keepends=True)
            lines.insert(source.randrange(len(lines)), lines[source.randrange(len(lines))])
            return "".join(lines).encode("utf-8", "replace"), "with a line twice"
        case 5:
            place = source.randrange(len(text))
            tag = source.choice(TAGS)
            place = text.find(": ", place) + 2 or place
            return f"{text[:place]}{tag} {text[place:]}".encode("utf-8", "replace"), f"with {tag}"
        case _:
            place, snippet = source.randrange(len(text)), source.choice(SNIPPETS)
            at_value = text.find(": ", place)
            if source.random() < 0.5 and at_value > 0:
                end = text.find("\n", at_value)
                made = f"{text[: at_value + 2]}{snippet}{text[end:]}"
            else:
                made = f"{text[:place]}{snippet}{text[place:]}"
            return made.encode("utf-8", "replace"), f"with {snippet[:20]!r}"


def _bomb(source: random.Random, text: str) -> str:
    """Aliases, or merge keys, that stand for a hundred or for a thousand million values."""
    levels, held = source.choice(((2, 10), (9, 9), (30, 2), (2_000, 1))), source.random() < 0.5
    rows = ["x0: &x0 {a: 1, b: 2}"]
    for level in range(1, levels[0]):
        below = ", ".join([f"*x{level - 1}"] * levels[1])
        rows.append(f"x{level}: &x{level} " + (f"{{<<: [{below}]}}" if held else f"[{below}]"))
    used = f"<<: *x{levels[0] - 1}\n" if held and source.random() < 0.5 else ""
    return "\n".join(rows) + "\n" + used + text
