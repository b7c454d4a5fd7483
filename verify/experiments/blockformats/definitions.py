"""Block formats and all-reduces in them, beside their definitions: the spaces of their cases."""

from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np

from commbounds.array_types import Array
from commbounds.collectives.blockformats import EVEN_TABLE, Thinned
from commbounds.compressors.blockformats import (
    NVFP4,
    FourOverSix,
    Microscaling,
    StochasticMicroscaling,
    StochasticNVFP4,
)
from commbounds.verify.compressor_run import EXACT
from commbounds.verify.data import IDLE, stack_of, vector_of
from commbounds.verify.definition import Definition, Given, called, chosen, compressed
from commbounds.verify.definitions import blockformats
from commbounds.verify.space import RANKS, Space, sizes
from commbounds.verify.vectors.collectives import special_stacks
from commbounds.verify.vectors.inputs import hostile

DATA = ("normal", "ties", "eighths", "of all sizes", "sparse", "zeros", "subnormal")
LENGTHS = (1, 2, 3, 7, 15, 16, 17, 31, 32, 33, 65)
LONG = {"n": (63, 129)}
DRAWN = ("given", "seed", "least", "largest")


def uniforms_of(drawn: str, shape: tuple[int, ...], dtype: str, seed: int) -> Array:
    """Uniforms on the grid of the dtype: drawn, or all at an end of their range."""
    unit = 2.0**-24 if dtype == "float32" else 2.0**-53
    if drawn in ("least", "largest"):
        return np.full(shape, 0.0 if drawn == "least" else 1 - unit, dtype)
    return np.asarray((np.floor(np.random.default_rng(seed).random(shape) / unit) * unit).astype(dtype))


# --- compressors -------------------------------------------------------------------------------------------------


def _plain(n: int, data: str, dtype: str, seed: int, **options: Any) -> Given:
    return Given({"x": vector_of(data, n, dtype, seed)}, chosen(**options))


def _drawn(n: int, data: str, dtype: str, drawn: str, seed: int, **options: Any) -> Given:
    x = vector_of(data, n, dtype, seed)
    given = {"seed": seed} if drawn == "seed" else {"uniforms": uniforms_of(drawn, x.shape, dtype, seed)}
    return Given({"x": x}, chosen(**options), given)


def _in_pairs(n: int, data: str, dtype: str, drawn: str, seed: int, **options: Any) -> Given:
    given = {"seed": seed} if drawn == "seed" else {"pairs": uniforms_of(drawn, (2, n), dtype, seed)}
    return Given({"x": vector_of(data, n, dtype, seed)}, chosen(**options), given)


def _turned(n: int, data: str, dtype: str, drawn: str, dim: int | None, seed: int) -> Given:
    signs = 2 * np.random.default_rng(seed).integers(0, 2, dim or 16, dtype=np.int8) - np.int8(1)
    given = {"seed": seed} if drawn == "seed" else {"signs": signs}
    return Given({"x": vector_of(data, n, dtype, seed)}, chosen(dim=dim), given)


def of_hostile(make: Callable[[Array], Given]) -> Callable[[], list[Given]]:
    """Cases by hand: vectors at the ends of their dtypes, half-way between numbers, and those that are refused."""
    names = ("largest", "subnormals", "halfway", "powers", "negative zeros", "ties", "NaN", "infinity")

    def found() -> list[Given]:
        return [make(hostile(name, dtype)) for name in names for dtype in ("float32", "float64")]

    return found


def _vectors(make: Any, **options: Any) -> Space:
    axes = {"n": LENGTHS, "data": DATA, "dtype": ("float32", "float64"), **options}
    space = Space(make, axes, hiding=LONG).search(n=(1, 70))
    both = {name: axes[name] for name in ("element", "scale") if name in axes}
    return space.including(*space.every(**both, block=(1,), n=(65,))) if "element" in both else space


ELEMENTS = (None, "e2m1", "e2m3", "e3m2", "e4m3", "e5m2", "int8", "int4")
ROUNDED = (None, "floor", "even", "rceil", "ceil", "double", "nearest", "three_quarters")
BLOCKS = (None, 1, 2, 3, 4, 8, 16, 32)
ENDS = (None, "nearest", "up")
MICROSCALING = {"element": ELEMENTS, "block": BLOCKS, "scale": ROUNDED}
SCALED = {"block": BLOCKS, "scale": ENDS}

HALFWAY = tuple(
    tuple(map(Fraction, x))
    for x in ((2688, 102, 114), (1536, 68, 76), (1536, 102, 114), (1536, 5 / 1024, 3 / 1024), (1536, 0, 12, 7), (19, 5))
)
"""Between scales of E4M3, 16 and 18 or 18 and 20, of NVFP4 and of Four Over Six, which
ends at 4 or at 6; next to a scale of zero; where 4 and 6 err alike; and two that are rotated to levels of 6 and 3.5."""

# --- all-reduces ---------------------------------------------------------------------------------------------------

FORMATS: dict[str, Any] = {
    "MXFP4": Microscaling(block=4),
    "MXFP6": Microscaling("e3m2", 3, "rceil"),
    "MXINT8": Microscaling("int8", 5, "even"),
    "NVFP4": NVFP4(4),
    "default NVFP4": NVFP4(),
    "NVFP4, up": NVFP4(2, "up"),
    "Four Over Six": FourOverSix(4),
    "stochastic MXFP4": StochasticMicroscaling("e2m1", 4, "three_quarters"),
    "stochastic NVFP4": StochasticNVFP4(3, "up"),
}
THINNED = {"half": Thinned(), "most": Thinned(0.75), "all": Thinned(1.0)}
SUMS = ("normal", "ties", "of all sizes", "zeros", "sparse", "subnormal", "one rank")


def _requantised(
    P: int, n: int, data: str, dtype: str, quantiser: str, schedule: str | None, drawn: str, seed: int
) -> Given:
    return _hops(P, n, data, dtype, quantiser, drawn, seed, P if schedule != "direct" else 2, schedule=schedule)


def _multihop(
    P: int, n: int, data: str, dtype: str, quantiser: str, topology: str | None, drawn: str, seed: int
) -> Given:
    return _hops(P, n, data, dtype, quantiser, drawn, seed, P if topology == "ring" else P.bit_length(),
                 topology=topology)  # fmt: skip


def _hops(
    P: int, n: int, data: str, dtype: str, quantiser: str, drawn: str, seed: int, stages: int, **options: Any
) -> Given:
    used = {**FORMATS, **THINNED}[quantiser]
    given: dict[str, Any] = {}
    if used.randomised:
        given = {"seed": seed} if drawn == "seed" else {"uniforms": uniforms_of(drawn, (stages, P, n), dtype, seed)}
    return Given({"stack": stack_of(data, P, n, dtype, seed)}, {"quantiser": used, **chosen(**options)}, given)


def _homomorphic(
    P: int, n: int, data: str, dtype: str, width: int | None, block: int | None, rounding: str | None,
    sum_width: int | None, drawn: str, seed: int,
) -> Given:  # fmt: skip
    rng, given = np.random.default_rng(seed), dict[str, Any]()
    if rounding in ("independent", "correlated"):
        given = {"seed": seed} if drawn == "seed" else {"uniforms": uniforms_of(drawn, (P, n), "float64", seed)}
        if rounding == "correlated" and drawn != "seed":
            given["orders"] = rng.permuted(np.tile(np.arange(P)[:, None], n), axis=0)
    options = chosen(width=width, block=block, rounding=rounding, sum_width=sum_width)
    return Given({"stack": stack_of(data, P, n, dtype, seed)}, options, given)


def _tabled(
    P: int, n: int, data: str, dtype: str, table: tuple[int, ...] | None, top: float | None, rotated: bool | None,
    reach: float | None, fine: int | None, sum_bits: int | None, drawn: str, seed: int,
) -> Given:  # fmt: skip
    rng, turned = np.random.default_rng(seed), rotated is not False
    d = 1 << (n - 1).bit_length() if turned else n
    options = chosen(table=table, top=top, rotated=rotated, reach=reach, fine=fine, sum_bits=sum_bits)
    given: dict[str, Any] = {"seed": seed}
    if drawn != "seed":
        given = {"uniforms": rng.random((1 if fine is None else 2, P, d))}
        if turned:
            given["signs"] = rng.choice((-1, 1), n)
    return Given({"stack": stack_of(data, P, n, dtype, seed)}, options, given)


summed = called("sums", "traffic")


def _stacks(**options: Any) -> dict[str, Any]:
    return {"P": RANKS, "n": sizes(17, 33), "data": SUMS, "dtype": ("float32", "float64"), **options}


LONG_SUMS = {**LONG, "data": tuple(IDLE)}


def _special(**options: Any) -> Any:
    def found() -> list[Given]:
        stacks = [stack for _, stack, flags in special_stacks() if "refused" not in flags]
        return [Given({"stack": stack}, options) for stack in stacks]

    return found


HOPS = Space(
    _multihop,
    _stacks(quantiser=(*FORMATS, *THINNED), topology=(None, "ring", "butterfly"), drawn=("given", "seed")),
    options=("quantiser", "topology"),
    hiding=LONG_SUMS,
).search(P=(1, 12), n=(1, 40))


def _turned_ties() -> list[Given]:
    """Groups whose entries, once they are turned, lie half-way between all neighbouring elements."""
    turned = np.array([(6.0, 5.0, 3.5, 2.5), (6.0, -1.75, 1.25, 0.75), (-6.0, 0.25, 0.0, 5.0)])
    back = np.array([[(-1.0) ** (i & j).bit_count() for j in range(4)] for i in range(4)]) / 2
    x, signs = (turned @ back).ravel(), np.ones(4, np.int8)
    return [Given({"x": x.astype(dtype)}, {"dim": 4}, {"signs": signs}) for dtype in ("float32", "float64")]


def _two_stretches() -> list[Given]:
    """More entries than are coded at once."""
    return [Given({"x": vector_of("normal", 2**16 + 5, "float32", 3)})]


def _long_block() -> list[Given]:
    """Blocks of more entries than the formats have, and several stretches of blocks that share no power of two."""
    return [
        Given({"x": vector_of("normal", n, "float32", 3)}, {"block": block}) for n, block in ((130, 64), (700, 300))
    ]


def _compressor(
    space: Space, twin: Any, *names: str, further: Callable[[], list[Given]] = list, **options: Any
) -> Definition:
    def made(x: Array) -> Given:
        shapes = {"uniforms": x.shape, "pairs": (2, x.size), "signs": (16,)}
        drawn = {name: uniforms_of("given", shapes[name], str(x.dtype), 5) for name in names}
        if "signs" in drawn:
            drawn["signs"] = np.where(drawn["signs"] < 0.5, -1, 1)
        return Given({"x": x}, options, drawn)

    by_hand = of_hostile(made)
    refused = {"block": (0, 2**31)} if "block" in space.axes else {}
    exact = (*EXACT, *HALFWAY)
    return Definition(space, compressed, twin, examples=lambda: [*by_hand(), *further()], refused=refused, exact=exact)


DEFINITIONS = {
    "Microscaling": _compressor(_vectors(_plain, **MICROSCALING), blockformats.of_microscaling),
    "StochasticMicroscaling": _compressor(
        _vectors(_drawn, **MICROSCALING, drawn=DRAWN), blockformats.of_microscaling, "uniforms", scale="rceil"
    ),
    "NVFP4": _compressor(_vectors(_plain, **SCALED), blockformats.of_nvfp4, further=_long_block),
    "StochasticNVFP4": _compressor(_vectors(_drawn, **SCALED, drawn=DRAWN), blockformats.of_nvfp4, "uniforms", block=4),
    "FourOverSix": _compressor(_vectors(_plain, **SCALED), blockformats.of_four_over_six, block=3),
    "StochasticFourOverSix": _compressor(
        _vectors(_in_pairs, **SCALED, choice=(None, "drawn", "expected"), drawn=DRAWN),
        blockformats.of_four_over_six,
        "pairs",
    ),
    "SharedMicroexponents": _compressor(
        _vectors(_plain, digits=(None, 1, 2, 3, 4, 7, 10), block=BLOCKS),
        blockformats.of_microexponents,
        further=_two_stretches,
        block=3,
    ),
    "MSEden": _compressor(
        _vectors(_turned, dim=(None, 1, 4, 16, 64), drawn=("given", "seed")),
        blockformats.of_eden,
        "signs",
        further=_turned_ties,
    ),
    "requantised_allreduce": Definition(
        Space(
            _requantised,
            _stacks(quantiser=tuple(FORMATS), schedule=(None, "ring", "direct"), drawn=("given", "seed")),
            options=("quantiser", "schedule"),
            hiding=LONG_SUMS,
        ).search(P=(1, 12), n=(1, 40)),
        summed,
        blockformats.summed,
        examples=_special(quantiser=NVFP4(2)),
        refused={"schedule": ("tree",)},
    ),
    "homomorphic_allreduce": Definition(
        Space(
            _homomorphic,
            _stacks(
                width=(None, 2, 3, 4, 8, 16),
                block=(None, 1, 3, 4),
                rounding=(None, "nearest", "independent", "correlated"),
                sum_width=(None, 2, 5, 20),
                drawn=("given", "seed"),
            ),
            options=("width", "rounding", "sum_width"),
            hiding=LONG_SUMS,
        ).search(P=(1, 12), n=(1, 40), width=(2, 16)),
        summed,
        blockformats.coded,
        examples=_special(width=3),
        refused={"width": (1, 17), "block": (0, 2**31), "sum_width": (1, 49), "rounding": ("down",)},
    ),
    "table_allreduce": Definition(
        Space(
            _tabled,
            _stacks(
                table=(None, EVEN_TABLE, (0, 1), (0, 1, 2, 4)),
                top=(None, 2.15, 0.5),
                rotated=(None, True, False),
                reach=(None, 1.5, 1.0),
                fine=(None, 30, 1000, 3),
                sum_bits=(None, 5, 20),
                drawn=("given", "seed"),
            ),
            options=("table", "rotated", "reach", "fine"),
            hiding=LONG_SUMS,
        ).search(P=(1, 12), n=(1, 40)),
        summed,
        blockformats.looked_up,
        examples=lambda: [Given({"stack": np.zeros((3, 5))}, {"table": (0, 1), "rotated": False}, {"seed": 3})],
        refused={
            "table": ((0,), ((0, 1),), (1, 2), (0, 2, 2), (0, 2**31)),
            "top": (0.0, np.inf),
            "reach": (0.0, np.inf),
            "fine": (0, 2**20 + 1),
            "sum_bits": (0, 49),
        },
    ),
    "multihop_allreduce": Definition(
        HOPS, summed, blockformats.by_hops, examples=_special(quantiser=NVFP4(2)), refused={"topology": ("tree",)}
    ),
}
