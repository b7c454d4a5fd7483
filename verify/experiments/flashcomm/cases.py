"""Vectors and stacks on which group quantisers are confronted."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from commbounds.array_types import Array
from commbounds.compressors import GroupQuantizer
from commbounds.verify import inputs
from commbounds.verify.family import Family
from commbounds.verify.marginals import Marginals, kernel_marginals
from commbounds.verify.space import RANKS, Of, Settings, Space
from commbounds.verify.study import Case, Curve

_OPTIONS = ("metadata", "repaired", "quantise_with", "zero", "scale", "theta", "spikes")
NEVER = 2**64
"""More steps than any claim allows."""


def in_steps(error: Any, step: Any) -> Any:
    """An error over a scale; where that is zero, nothing for no error, and more than any bound else."""
    if step:
        return error / step
    return 0 * error if not error else NEVER


def through(c: Any, x: Array) -> Array:
    """`x` as its receiver reads it, by way of the message."""
    read: Array = c.decompress(c.compress(x))
    return read


@dataclass(frozen=True, eq=False)
class GroupCoded:
    """A vector and what a quantiser makes of it, each worked out when it is first asked for.

    Parameters
    ----------
    c : GroupQuantizer
        The quantiser.
    x : array
        The vector: Fractions where `exact`, floats else.
    exact : bool
        Whether the quantiser's law is computed, in place of its message.
    """

    c: Any
    x: Array
    exact: bool = False

    @cached_property
    def message(self) -> Any:
        """The message."""
        return self.c.compress(self.x)

    @cached_property
    def law(self) -> Any:
        """The law, in Fractions."""
        return self.c.law(self.x)

    @cached_property
    def wide(self) -> Array:
        """The vector, in Fractions or in float64."""
        return self.x if self.exact else self.x.astype(np.float64)

    @cached_property
    def read(self) -> Array:
        """The vector as its receiver reads it, in Fractions or in float64."""
        if not self.exact:
            return np.asarray(self.c.decompress(self.message).astype(np.float64))
        ((_, output),) = self.law
        return np.array(output, dtype=object)

    @cached_property
    def marginals(self) -> Marginals:
        """The kernel's own law, entry by entry: where it goes from the upper to the lower level, bisected."""
        return kernel_marginals(self.c, self.x)

    @property
    def ranges(self) -> Any:
        """The metadata of the message."""
        return self.message.ranges

    @property
    def groups(self) -> list[slice]:
        """The groups; the last one may be shorter."""
        return [slice(start, min(start + self.c.group, self.x.size)) for start in range(0, self.x.size, self.c.group)]

    @property
    def steps(self) -> list[Any]:
        """The exact scales of the groups."""
        return [(self.wide[part].max() - self.wide[part].min()) / (2**self.c.width - 1) for part in self.groups]


def _quantiser(cls: Any, settings: Mapping[str, Any]) -> Any:
    options = {name: settings[name] for name in _OPTIONS if name in settings}
    return cls(settings["width"], settings["group"], **{"metadata": "float64", **options})


def coded(implementation: Any, settings: Mapping[str, Any], x: Array) -> GroupCoded:
    """The vector and the quantiser that a case asks for."""
    return GroupCoded(_quantiser(implementation, settings), x, bool(settings.get("exact")))


def quantiser_of(settings: Mapping[str, Any]) -> dict[str, Any]:
    """What hypotheses ask of the quantiser; where a collective is confronted, of the one that it is given."""
    return {"compressor": _quantiser(GroupQuantizer, settings)}


_PATTERNS: dict[str, Callable[[int], Sequence[float] | Array]] = {
    "half-way": lambda width: (0.0, 2.0**width - 1.0, 0.5, 1.0),
    "half-way, and spikes": lambda width: (0.0, 2.0**width - 1.0, 0.5, 1000.0, -1000.0),
    "just above a level": lambda width: (0.0, 2.0**width - 1.0, 2.0**-40),
    "tenths": lambda _width: np.arange(4) / 10,
}
"""Entries that are repeated, by the number of bits: on levels, and half-way between two."""


def _vector(data: Any, n: int, width: int, moved: tuple[float, float], dtype: str, seed: int) -> Array:
    """The vector of this name, times a factor, and with an offset; entries that are given are taken as they are."""
    if isinstance(data, tuple):
        return np.array(data, dtype)
    if data in _PATTERNS:
        x = np.resize(_PATTERNS[data](width), n)
    else:
        x = inputs.CORPUS[data](n) if data in inputs.CORPUS else inputs.family(data, n, seed, 1.0, np.float64)
    return np.asarray((x * moved[0] + moved[1]).astype(dtype))


ENDS = {"float32": ((1e-40, 0.0), (1e31, 0.0)), "float64": ((1e-310, 0.0), (1e300, 0.0))}
"""Factors at which scales are subnormal, and sums almost overflow."""


def vectors(dtype: str = "float64", **axes: Sequence[Any]) -> Space:
    """Hostile and drawn vectors at moderate scales, and at both ends of the dtype, at every width."""
    return Space(
        _vector,
        {
            "dtype": (dtype,),
            "n": (8, 1, 2, 3, 33, 257),
            "width": (4, 1, 2, 3, 5, 6, 7, 8),
            "data": ("half-way", "just above a level", *inputs.CORPUS, *inputs.FAMILIES),
            "group": (8, 4, 1, 2, 7, 32),
            "moved": ((1.0, 0.0), (1e-3, 0.0), (1.0, 100.0), (1.0, -7.0), *ENDS[dtype]),
            "metadata": ("float64",),
            **axes,
            "exact": (False,),
        },
    ).search(n=(1, 100), moved=((1.0, 1.0), (1.0, -30.0), (1.0, 1000.0)))


def quantised(prefix: str, space: Space, subject: str = "GroupQuantizer", arrays: int = 3, **options: Any) -> Family:
    """Claims about what a quantiser makes of the vectors of a space."""
    return Family(prefix, subject, space, quantiser_of, coded, exact=False, arrays=arrays, **options)


def every_vector(family: Family) -> dict[str, Any]:
    """The grid of every vector of up to four small integers, at one to three bits, in groups of two to four."""
    return {
        "grid": family.every(
            n=(2, 3, 4),
            data=lambda level, n: inputs.grid(n, {2: 4, 3: 2}.get(n, 1 + level)),
            width=(1, 2, 3),
            group=lambda n: (2, 4)[: n - 1],
            dtype=["object"],
            exact=[True],
        ),
        "enumerated": "every vector of two to four small integers, at one to three bits; rational arithmetic",
    }


def error_curve(family: Family, dtype: str = "float32") -> Curve:
    """Error in steps over the number of bits: normal vectors, and the worst of two short ones besides."""

    def points(seed: int) -> list[tuple[float, list[Case]]]:
        return [
            (float(width), [family.case(family.space.at(width=width, **row)) for row in _rows(seed, dtype)])
            for width in range(1, 9)
        ]

    return Curve("bits", "groups of 128 normal entries; worst also over groups of 4", points, typical=9)


def _rows(seed: int, dtype: str) -> list[dict[str, Any]]:
    normal = [{"data": "normal", "n": 4096, "group": 128, "dtype": dtype, "seed": 9 * seed + i} for i in range(9)]
    short = {"n": 4, "group": 4, "dtype": "float64"}
    return [*normal, {"data": "half-way", **short}, {"data": "tenths", "moved": (1.0, 103.0), **short}]


def _stack(P: int, n: int, width: int, data: Any, seed: int) -> Array:
    """Rows of this family, or all with the same pattern; rows that are given are taken as they are, then zeros."""
    if data in _PATTERNS:
        return np.tile(np.resize(_PATTERNS[data](width), n), (P, 1))
    if isinstance(data, str):
        return np.array([inputs.family(data, n, seed + p, 1.0, np.float64) for p in range(P)])
    stack = np.zeros((P, n))
    stack[:, : len(data[0])] = data
    return stack


def stacks_of(**axes: Sequence[Any]) -> Space:
    """Stacks of several families at every number of ranks."""
    return (
        Space(
            _stack,
            {
                "P": RANKS,
                "n": (33, 5, Of("4 P", lambda P: 4 * P), Of("3 P + 1", lambda P: 3 * P + 1)),
                "width": (4, 1, 2),
                "group": (4, 3, 7),
                "data": ("normal", "small integers", "student", "sparse", "half-way"),
                **axes,
            },
        )
        .hidden_by(n=(1, 2), group=(1,))
        .search(n=(1, 8), width=(3, 5, 6), group=(1, 8), data=tuple(inputs.FAMILIES))
    )


def random_stacks(family: Family, hostile: Callable[[int], list[Settings]], **axes: Any) -> Curve:
    """Error over bound against the number of ranks: normal entries, and the worst of hostile rows besides."""

    def points(seed: int) -> list[tuple[float, list[Case]]]:
        found = []
        for P in (1, 2, 3, 4, 5, 8, 16):
            normal = [family.space.at(P=P, n=512, group=32, seed=16 * (9 * seed + i), **axes) for i in range(9)]
            found.append((float(P), [*map(family.case, [*normal, *hostile(P)])]))
        return found

    return Curve("P", "random: normal entries, four bits, groups of 32", points, typical=9, relative=True)


def rms(x: Array) -> float:
    """The root of the mean square of the entries, in float64."""
    return float(np.sqrt(np.mean(np.square(x.astype(np.float64)))))
