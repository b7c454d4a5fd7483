"""Vectors that were altered in transit: every alteration is told as a difference, and none breaks the comparison."""

import json
import os
import random

import pytest

from commbounds.verify.vectors import checking
from commbounds.verify.vectors.files import contents, put

MUTATIONS = 300


@pytest.fixture(scope="module")
def expected():
    return contents(("Identity", "ScaledSign"))


def places(value, path=()):
    """Where something can be altered in a JSON value."""
    yield path
    for key, entry in value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ():
        yield from places(entry, (*path, key))


ODD = (None, True, -1, 0, 2**64, 1.5, 1e308, "", "x", "\x1b[2J", [], [1], {}, {"a": 1})


def altered(text, rng):
    """A file's bytes, altered: a value of it, but the version that wrote it, or bytes of it."""
    if rng.random() < 0.3:
        data = bytearray(text.encode())
        for _ in range(rng.choice((1, 1, 20))):
            data[rng.randrange(len(data))] = rng.randrange(256)
        return bytes(rng.choice((data, data[: rng.randrange(len(data))], data + data, b"", b"[" * 10**5)))
    value = json.loads(text)
    *path, last = rng.choice([place for place in places(value) if place[:1] not in ((), ("commbounds",))])
    inside = value
    for key in path:
        inside = inside[key]
    inside[last] = rng.choice([odd for odd in ODD if odd != inside[last] or type(odd) is not type(inside[last])])
    return json.dumps(value).encode()


def test_every_alteration_is_told(expected, tmp_path, monkeypatch):
    monkeypatch.setattr(checking, "contents", lambda patterns, progress: dict(expected))
    for name, text in expected.items():
        put(tmp_path / name, text.encode())
    assert checking.differences(tmp_path) == []
    rng, names = random.Random(3), [name for name in expected if name.endswith(".json")]
    for _ in range(MUTATIONS):
        name = rng.choice(names)
        changed = altered(expected[name], rng)
        if changed == expected[name].encode():
            continue
        put(tmp_path / name, changed)
        found = checking.differences(tmp_path)
        assert found, (name, changed[:200])
        assert all(len(line) < 2000 and "\x1b" not in line for line in found), found
        put(tmp_path / name, expected[name].encode())


@pytest.mark.parametrize("strange", ["pipe", "folder", "broken link", "link"])
def test_what_is_no_file_is_told(strange, expected, tmp_path, monkeypatch):
    monkeypatch.setattr(checking, "contents", lambda patterns, progress: dict(expected))
    for name, text in expected.items():
        put(tmp_path / name, text.encode())
    name = next(name for name in expected if "/" in name)
    place = tmp_path / name
    place.unlink()
    {
        "pipe": lambda: os.mkfifo(place),
        "folder": place.mkdir,
        "broken link": lambda: place.symlink_to("nowhere"),
        "link": lambda: place.symlink_to("/etc/passwd"),
    }[strange]()
    assert any(line.startswith(name) for line in checking.differences(tmp_path))
