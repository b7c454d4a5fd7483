"""Odd arguments and files of every command: a sentence and a status, or the answer; no traceback, hang or litter."""

import contextlib
import gzip
import io
import json
import os
import re
import resource
import signal
import sys
import zipfile
from pathlib import Path

import click
import numpy as np
import pytest
from click.testing import CliRunner
from hostile_calls import MEMORY

from commbounds.cli import main
from commbounds.verify import run

CLAIM = "quantizers.sign.unbiased"
SUBJECT = """
from commbounds.verify.conformance import Codec
sub = Codec(lambda x, seed: x.copy(), [], name="same")
def total(x):
    return x.sum(0)
"""
SHAPES = "[[4, 8], [16]]"
RUN = {"run": {"claims": {}, "alarm": 0.1, "seed": 0, "rank": 0, "ranks": 1}}
SECONDS = 60.0
GOOD = {
    "bench": ("--quick", "--n", "1000", "nothing"),
    "certificates": ("quantizers.sign.*",),
    "certify": ("quantizers.sign.unbiased", "--seconds", "1", "--out", "made"),
    "check": ("mine.py:sub", "--here", "--only", "same seed, same output"),
    "check-column": ("nothing", "imports"),
    "claims": (CLAIM,),
    "cost": ("ring",),
    "demo": ("--out", "made"),
    "dossier": ("quantizers.sign",),
    "figures": (CLAIM, "--findings", "findings.jsonl", "--jobs", "1", "--out", "made"),
    "fingerprint": ("mine.py:total", "--P", "3", "--sizes", "2", "--dtypes", "float32"),
    "new-column": ("planets",),
    "plan": ("--P", "4", "--n", "64"),
    "ranks": ("ring_allreduce", "--ranks", "2"),
    "recheck": ("findings.jsonl", "--jobs", "1"),
    "replay": (),
    "report": (CLAIM, "--findings", "findings.jsonl", "--jobs", "1", "--out", "made"),
    "scoreboard": ("--page", "--folder", "board"),
    "tolerance": ("allreduce", "--P", "4"),
    "vectors": ("Identity", "--out", "made"),
    "verify": (CLAIM, "--jobs", "1", "--out", "f.jsonl"),
    "watch export": ("watched", "--openmetrics", "metrics.txt"),
    "watch report": ("watched", "--json"),
}
"""A right call of every command, in a second or two."""
TEXTS = {
    "nothing": "",
    "a space": " ",
    "a newline": "a\nb",
    "colours": "\x1b[31m\x1b]0;title\x07",
    "no UTF-8": "\udcff\udc80",
    "backwards": "\u202eabc",
    "long": "x" * 5000,
    "stars": "*a" * 60 + "zz",
    "brackets": "[" * 300,
    "markup": "[red]x[/]",
    "an option": "--help-me",
    "above": "../..",
    "a text": "planets",
    "a template": "{0.__class__} %s %(x)s $HOME",
    "other digits": "٣",
}
NUMBERS = {
    "-1": "-1",
    "0": "0",
    "1": "1",
    "1e9": "1e9",
    "a prime": "999999999999999989",
    "1e30": "1e30",
    "2^63": str(2**63),
    "5000 digits": "9" * 5000,
    "an exponent": "1e999999999",
    "NaN": "nan",
    "inf": "inf",
    "-inf": "-inf",
    "least": "5e-324",
    "1.5": "1.5",
    "hexadecimal": "0x10",
    "underlined": "1_0",
    "a fraction": "1/3",
    "one unit": "1e308TB/s",
    "zero of a unit": "0s",
}


def put(name, content):
    Path(name).write_bytes(content if isinstance(content, bytes) else content.encode())


def _sparse(name):
    with open(name, "wb") as file:
        file.truncate(1 << 36)


def _bomb(name):
    with zipfile.ZipFile(name, "w", zipfile.ZIP_DEFLATED) as file:
        file.writestr("a.npy", bytes(1 << 24))


def _archive(name):
    held = io.BytesIO()
    np.savez(held, a=np.zeros(3), b=np.array([None, {}], object))
    put(name, held.getvalue())


FILES = {
    "a folder": os.mkdir,
    "a pipe": os.mkfifo,
    "a dangling link": lambda name: os.symlink("nowhere", name),
    "a link to itself": lambda name: os.symlink(name, name),
    "a link to zeros": lambda name: os.symlink("/dev/zero", name),
    "a link to a full disk": lambda name: os.symlink("/dev/full", name),
    "empty": lambda name: put(name, b""),
    "a newline alone": lambda name: put(name, b"\n\n\n"),
    "NUL bytes": lambda name: put(name, bytes(1000)),
    "no UTF-8": lambda name: put(name, b"\xff\xfe{\x00}\x00\n\x80\n"),
    "a byte order mark": lambda name: put(name, b"\xef\xbb\xbf" + SHAPES.encode()),
    "carriage returns": lambda name: put(name, SHAPES.replace(" ", "\r\n")),
    "deep": lambda name: put(name, "[" * 100_000),
    "deep objects": lambda name: put(name, '{"a":' * 100_000),
    "closed and deep": lambda name: put(name, "[" * 900 + "]" * 900),
    "NaN": lambda name: put(name, "[NaN, Infinity, -Infinity]"),
    "duplicate keys": lambda name: put(name, '{"a": [1], "a": [2], "claims": {}, "claims": 3}'),
    "long numbers": lambda name: put(name, "[" + "9" * 6000 + "]"),
    "large exponents": lambda name: put(name, "[1e400, -1e400, 1e-400]"),
    "a number": lambda name: put(name, "3"),
    "null": lambda name: put(name, "null"),
    "a text": lambda name: put(name, '"x"'),
    "texts": lambda name: put(name, '["a", "b"]'),
    "objects": lambda name: put(name, '[{"a": 1}, {}]'),
    "an object": lambda name: put(name, '{"run": {}, "look": null}'),
    "surrogates": lambda name: put(name, r'["\ud800", "\udfff\u0000"]'),
    "colours": lambda name: put(name, "\x1b[31m: x  # \x1b]0;t\x07\n"),
    "one column": lambda name: put(name, "1\n2\n3\n"),
    "two columns": lambda name: put(name, "1,2\n2,1\n"),
    "a table": lambda name: put(name, "0,0,1.0\n0,1,2.0\n"),
    "a table with NaN": lambda name: put(name, "0,0,nan\n0,1,inf\n"),
    "a ragged table": lambda name: put(name, "0,0,1\n1,2\n"),
    "a zip bomb": _bomb,
    "an archive of arrays": _archive,
    "gzip": lambda name: put(name, gzip.compress(bytes(1 << 24))),
    "torn gzip": lambda name: put(name, gzip.compress(SHAPES.encode())[:-9]),
    "a pickle": lambda name: put(name, b"cos\nsystem\n(S'touch planted'\ntR."),
    "sparse": _sparse,
}
"""What lies where a file is expected -> how it is put there."""
LONG = (
    # go on until they are interrupted, take minutes, or speak through MPI and torch, which have their own tests
    *("watch report follow", "certify exhaustive", "check mpi", "ranks mpi", "fingerprint mpi", "fingerprint backend"),
)
ENDINGS = ("", ".json", ".csv", ".gz", ".npz", ".svg")
PATHS = {
    "a long name": "x" * 300,
    "a long path": "d/" * 2500 + "x",
    "below a file": "mine.py/x",
    "a device": "/dev/null",
    "all zeros": "/dev/zero",
    "a full disk": "/dev/full",
    "its own input": "/dev/stdin",
    "the system": "/proc/self/mem",
    "below the system": "/proc/x/y",
    "the root": "/",
    "here": ".",
    "nowhere": "nowhere/at/all",
    **{f"called {kind}": TEXTS[kind] for kind in ("nothing", "a newline", "colours", "no UTF-8", "backwards")},
}


def commands(group=main, before=()):
    for name, command in group.commands.items():
        if isinstance(command, click.Group):
            yield from commands(command, (*before, name))
        else:
            yield " ".join((*before, name)), command


def cases():
    """(command, parameter, kind, arguments, file to make or None) of every command and parameter."""
    for name, command in commands():
        good = GOOD[name]
        for parameter in command.params:
            kinds = {}
            if isinstance(parameter.type, click.Path):
                kinds |= {kind: (f"odd{end}", put_there) for kind, put_there in FILES.items() for end in ENDINGS[:1]}
                kinds |= {f"{kind} {end}": (f"odd{end}", FILES[kind]) for end in ENDINGS[1:] for kind in
                          ("gzip", "torn gzip", "a zip bomb", "a table", "an archive of arrays")}  # fmt: skip
                kinds |= {kind: (path, None) for kind, path in PATHS.items()}
            elif f"{name} {parameter.name}" in LONG:
                continue
            elif isinstance(parameter, click.Option) and parameter.is_flag:
                kinds = {"given": (None, None)}
            else:
                kinds = {kind: (text, None) for kind, text in {**TEXTS, **NUMBERS}.items()}
            for kind, (value, put_there) in kinds.items():
                yield name, parameter.name, kind, arguments(good, parameter, value), put_there


def arguments(good, parameter, value):
    """The right call with another value of this parameter."""
    if isinstance(parameter, click.Argument):
        if parameter.name == "part":
            return (good[0], value)
        rest = good[1:] if good and not good[0].startswith("-") else good
        return (*rest, "--", value)
    option = max(parameter.opts, key=len)
    given = list(good)
    for name in parameter.opts:
        if name in given:
            place = given.index(name)
            del given[place : place + (1 if parameter.is_flag else 2)]
    if value is None:
        return (*given, option)
    return (*given, option, *[value] * parameter.nargs)


CASES = list(cases())


@pytest.fixture(scope="module")
def findings(tmp_path_factory):
    path = tmp_path_factory.mktemp("given") / "findings.jsonl"
    run([CLAIM], out=path)
    return path.read_bytes()


@pytest.fixture
def in_place(tmp_path, monkeypatch, findings):
    """What makes a folder with all that commands start from, two levels down, and goes there."""
    monkeypatch.setenv("COMMBOUNDS_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr("sys.path", [*sys.path])

    def go(number):
        work = tmp_path / str(number) / "a" / "b"
        work.mkdir(parents=True)
        monkeypatch.chdir(work)
        put("mine.py", SUBJECT)
        put("findings.jsonl", findings)
        Path("watched").mkdir()
        put("watched/rank-00000.jsonl", json.dumps(RUN) + "\n")
        return work.parents[1]

    return go


class Hung(BaseException):
    """Raised in a command that takes too long, which sees to exceptions of its own."""


@contextlib.contextmanager
def within(seconds):
    """A hang is an exception."""

    def broken_off(*_):
        raise Hung(f"more than {seconds:g} s")

    before = signal.signal(signal.SIGALRM, broken_off)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0.0)
        signal.signal(signal.SIGALRM, before)


@contextlib.contextmanager
def limited(memory):
    """The process may grow by so many bytes."""
    pages = int(Path("/proc/self/statm").read_text().split()[0])
    soft, hard = resource.getrlimit(resource.RLIMIT_AS)
    resource.setrlimit(resource.RLIMIT_AS, (pages * resource.getpagesize() + memory, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_AS, (soft, hard))


def wrong(result):
    """What is wrong with the way in which a command ended; empty where nothing is."""
    error = result.exception
    if error is not None and not isinstance(error, SystemExit):
        return f"{type(error).__name__}: {str(error)[:100]}"
    if result.exit_code not in (0, 1, 2, 3):
        return f"status {result.exit_code}"
    said = result.output
    if "Traceback" in said:
        return "a traceback"
    if result.exit_code in (2, 3) and not said.strip():
        return "no word"
    if re.search("[\x00-\x08\x0b-\x1f\x7f\u202e\ud800-\udfff]", said):
        return f"what a terminal obeys: {said[:100]!r}"
    if result.exit_code in (2, 3) and len(said) > 12_000:
        return f"{len(said)} characters"
    return ""


def tried(case):
    name, _, _, given, put_there = case
    if put_there is not None:
        put_there(next(value for value in given if str(value).startswith("odd")))
    try:
        with within(SECONDS), limited(MEMORY):
            env = {"COMMBOUNDS_COLUMNS": "columns"} if name == "new-column" else {}  # else to this checkout
            return wrong(CliRunner().invoke(main, [*name.split(), *given], input="", env=env))
    except Hung as hung:
        return str(hung)


PARTS = 40
"""One part of the cases of every command runs by default, four more with ``wide``, the others with ``long``."""


@pytest.mark.parametrize("name", [pytest.param(n, marks=pytest.mark.wide) if n == "demo" else n for n in GOOD])
@pytest.mark.parametrize(
    "parts",
    [
        pytest.param((0,), id="sample"),
        pytest.param((1, 2, 3, 4), id="more", marks=pytest.mark.wide),
        pytest.param(tuple(range(5, PARTS)), id="rest", marks=pytest.mark.long),
    ],
)
def test_odd_arguments_are_answered_or_refused(name, parts, in_place, record_property):
    chosen = [case for case in CASES if case[0] == name]
    chosen = [case for number, case in enumerate(chosen) if number % PARTS in parts]
    found = []
    for number, case in enumerate(chosen):
        above = in_place(number)
        if said := tried(case):
            found.append((*case[:3], said))
        litter = {path.name for path in (*above.iterdir(), *(above / "a").iterdir())} - {"a", "b"}
        if litter:
            found.append((*case[:3], f"outside of the folder: {litter}"))
    record_property("tried", len(chosen))
    record_property("lost", len(found))
    assert not found


def test_every_command_is_tried():
    assert {name for name, _ in commands()} == set(GOOD)


@pytest.mark.parametrize("kind", [*(kind for kind, path in PATHS.items() if path), "a folder", "a pipe", "sparse"])
def test_folders_of_columns_that_hold_none_are_refused(kind, in_place):
    in_place(0)
    if kind in FILES:
        FILES[kind]("odd")
    result = CliRunner().invoke(main, ["claims", CLAIM], env={"COMMBOUNDS_COLUMNS": PATHS.get(kind, "odd")})
    assert not wrong(result)
    assert result.exit_code == 2
    assert "COMMBOUNDS_COLUMNS" in result.stderr
