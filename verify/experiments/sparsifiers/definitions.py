"""Sparsifiers beside their definitions: the spaces of their cases."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from fractions import Fraction
from functools import cache
from typing import Any

import numpy as np

from commbounds.verify.compressor_run import EXACT
from commbounds.verify.data import EDGES, KINDS, vector_of
from commbounds.verify.definition import Definition, Given, compressed, givens
from commbounds.verify.definitions import sparsifiers
from commbounds.verify.differences import Said
from commbounds.verify.experiments.sparsifiers.vectors import cases
from commbounds.verify.space import Of, Space

LENGTHS = (1, 2, 3, 8, 15, 16, 17, 31, 33, 64, 65, 129)
BETWEEN = (4, 5, 6, 7, 9, 12, 32, 63, 127, 128, 255, 257)
"""One, and those around the widths of words and tiles: beside all data, and beside all options alone."""
DTYPES = ("float32", "float64")
COUNTS = (
    1,
    2,
    Of("ceil(n / 2)", lambda n: -(-n // 2)),
    Of("max(n - 1, 1)", lambda n: max(n - 1, 1)),
    Of("n", lambda n: n),
)
"""Of entries kept; two of one are refused."""
FEW = (Of("min(3, n)", lambda n: min(3, n)), Of("min(5, n)", lambda n: min(5, n)), Of("min(8, n)", lambda n: min(8, n)))


BLOCKS = (
    1,
    Of("ceil(blocks / 2)", lambda n, block: (-(-n // block) + 1) // 2),
    Of("blocks - 1", lambda n, block: max(-(-n // block) - 1, 1)),
    Of("blocks", lambda n, block: -(-n // block)),
)
IN_CHUNK = (
    1,
    Of("ceil(chunk / 2)", lambda chunk: (chunk + 1) // 2),
    Of("chunk", lambda chunk: chunk),
    Of("min(3, chunk)", lambda chunk: min(3, chunk)),
)
WIDTHS, OTHERS = (1, 2, 3, 8, 16, 64), (4, 5, 7, 17, 32, 33)
"""Of blocks and chunks: beside all data, and beside all options alone."""


def vectors(make: Callable[..., Given], **options: Sequence[Any]) -> Space:
    """The space of vectors and of what else varies: every option with every length and dtype."""
    data = tuple(kind for kind in (*KINDS, *EDGES) if kind != "NaN")
    space = Space(
        make,
        {"n": LENGTHS, "data": data, "dtype": DTYPES, **options},
        combined=tuple(("n", "dtype", name) for name in options),
        hiding={"n": BETWEEN},
    ).search(n=(1, 70))
    return space.without("infinite in float32.", lambda data, dtype: data == "over" and dtype == "float32")


def given(parameters: Mapping[str, Any], *names: str) -> Callable[..., Given]:
    """Makes cases of a compressor without randomness whose hyper-parameters are the axes named, "default" left out."""

    def make(n: int, data: str, dtype: str, seed: int, **options: Any) -> Given:
        chosen = {name: options[name] for name in names if options[name] != "default"}
        return Given({"x": vector_of(data, n, dtype, seed)}, {**parameters, **chosen})

    return make


def _drawn_subset(n: int, data: str, dtype: str, k: int, scaled: Any, drawn: str, seed: int) -> Given:
    rng = np.random.default_rng(seed)
    options = {} if scaled == "default" else {"scaled": scaled}
    draws: dict[str, Callable[[], Any]] = {
        "draws": lambda: np.array([rng.integers(0, max(n - k + j, 0) + 1) for j in range(k)]),
        "least": lambda: np.zeros(k, np.int64),
        "largest": lambda: np.array([max(n - k + j, 0) for j in range(k)]),
    }
    randomness = {"seed": seed} if drawn == "seed" else {"draws": draws[drawn]()}
    return Given({"x": vector_of(data, n, dtype, seed)}, {"k": k, **options}, randomness)


def _drawn_entry(n: int, data: str, dtype: str, u: Any, seed: int) -> Given:
    randomness = {"seed": seed} if u == "seed" else {"u": u}
    return Given({"x": vector_of(data, n, dtype, seed)}, {}, randomness)


SPACES = {
    "TopK": vectors(given({}, "k"), k=(*COUNTS, *FEW)),
    "RandK": replace(
        vectors(
            _drawn_subset,
            k=(*COUNTS, *FEW),
            scaled=("default", True, False),
            drawn=("seed", "draws", "least", "largest"),
        ),
        combined=(("n", "k", "drawn"),),
    ),
    "BlockTopK": replace(
        vectors(given({}, "k", "block"), block=WIDTHS, k=BLOCKS), combined=(("data", "block", "k"),)
    ).hidden_by(block=OTHERS),
    "ChunkTopK": replace(
        vectors(given({}, "k", "chunk"), chunk=WIDTHS, k=IN_CHUNK), combined=(("data", "chunk", "k"),)
    ).hidden_by(chunk=OTHERS),
    "HardThreshold": vectors(
        given({}, "threshold"), threshold=(1, 2, 0.5, 100.5, Fraction(1, 3), Fraction(1, 10**320), 1e-30, 1e38, 1e300)
    ).hidden_by(threshold=(0.25, 1.5, 3, 4)),
    "AdaptiveSparsification": vectors(_drawn_entry, u=("seed", 0.0, 0.25, 0.5, 0.75, 1 - 2.0**-53)),
    "Identity": vectors(given({})),
}
LARGE: dict[str, tuple[Mapping[str, Any], ...]] = {
    "TopK": ({"k": 1}, {"k": 40}, {"k": 2500}, {"k": 4096}),
    "RandK": ({"k": 70}, {"k": 4000}),
    "BlockTopK": ({"k": 3, "block": 100},),
    "ChunkTopK": ({"k": 5, "chunk": 127},),
    "HardThreshold": ({"threshold": 1.5}, {"threshold": 2}),
    "AdaptiveSparsification": ({},),
    "Identity": ({},),
}
"""Hyper-parameters that are tried on vectors long enough for samples, tiles and blocks."""


_LONG = (("ties", 4096, "float32"), ("normal", 4097, "float32"), ("ties", 8200, "float64"), ("normal", 8191, "float64"))
"""Kinds, lengths and dtypes."""

_LONGEST = (("ties", 65_543, "float32"), ("zeros", 65_543, "float32"))
"""Longer than a block."""

_REFUSED = (("ties", 4096, "float16"), ("ties", 0, "float32"), ("NaN", 5000, "float64"))


def _long(name: str) -> list[Given]:
    found = [(shape, parameters) for parameters in LARGE[name] for shape in _LONG]
    found += [(shape, LARGE[name][-1]) for shape in (*_LONGEST, *_REFUSED)]
    randomness = {"seed": 5} if name in ("RandK", "AdaptiveSparsification") else {}
    return [Given({"x": vector_of(*shape, 7)}, parameters, randomness) for shape, parameters in found]


BAD: dict[str, tuple[tuple[Mapping[str, Any], Mapping[str, Any]], ...]] = {
    "TopK": (({"k": 9}, {}),),
    "RandK": (({"k": 9}, {"seed": 1}), ({"k": 2}, {"draws": np.array([7, 1])}), ({"k": 1}, {"draws": np.array([-1])})),
    "BlockTopK": (({"k": 5, "block": 2}, {}),),
    "ChunkTopK": (({"k": 3, "chunk": 2}, {}),),
    "HardThreshold": (({"threshold": 0}, {}), ({"threshold": -1.5}, {})),
    "AdaptiveSparsification": (({}, {"u": 1.0}), ({}, {"u": -(2.0**-60)})),
}
"""What is refused with eight entries: hyper-parameters, and what is drawn."""


@cache
def _examples(name: str) -> list[Given]:
    eight = {"x": vector_of("normal", 8, "float32")}
    refused = [Given(eight, parameters, drawn) for parameters, drawn in BAD.get(name, ())]
    small = np.array([1.0, 1e-9, 3e-9, 2e-9])  # the squares of most are lost beside one
    told = [Given({"x": small}, {"k": k, "block": 1}) for k in (2, 3)] if name == "BlockTopK" else []
    if name == "TopK":  # more ties than a tile has are kept, and what is larger comes behind them
        told = [Given({"x": np.repeat(np.array([1.0, 2.0], np.float32), (12_188, 100))}, {"k": 5000})]
    if name == "AdaptiveSparsification":  # as many numbers as a block has, and one that is larger than their sum
        beside = np.repeat(np.array([0.0, 1.0, 8.0], np.float32), (65_535, 1, 1))
        told = [Given({"x": beside}, {}, {"u": 0.3})]
    if name == "RandK":  # more draws than a block has, however many are kept
        told = [Given({"x": vector_of("normal", 2**17 + 9, "float32", 7)}, {"k": 2**16 + 3}, {"seed": 5})]
    return [*givens(cases(name)), *_long(name), *refused, *told]


def defined(
    spaces: Mapping[str, Space], twins: Any, examples: Callable[[str], Sequence[Given]]
) -> dict[str, Definition]:
    """The definitions of compressors, each by the twin that is called as it is."""

    def definition(name: str) -> Definition:
        twin: Callable[[Mapping[str, Any]], Said] = getattr(twins, name)
        refused = {"block": (0, 2**31)} if name == "BlockTopK" else {}
        return Definition(spaces[name], compressed, twin, examples=lambda: examples(name), refused=refused, exact=EXACT)

    return {name: definition(name) for name in spaces}


DEFINITIONS = defined(SPACES, sparsifiers, _examples)
