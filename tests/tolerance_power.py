"""Planted bugs of all-reduces, and which tolerances notice them: the table of ``docs/tolerance.md``.

``python tests/tolerance_power.py`` prints it.
"""

from dataclasses import dataclass, field

import ml_dtypes
import numpy as np

from commbounds.testing import assert_allreduce_close

BFLOAT16 = np.dtype(ml_dtypes.bfloat16)
RUNS = 10
SCALES = (1.0, 1e-3)
"""Standard deviations of entries: of one, and of a gradient."""
TORCH = {"float32": (1.3e-6, 1e-5), "bfloat16": (1.6e-2, 1e-5), "float16": (1e-3, 1e-5), "float64": (1e-7, 1e-7)}
"""rtol and atol of ``torch.testing.assert_close`` by dtype, as its documentation lists them."""


@dataclass(frozen=True)
class Reduction:
    """What ranks brought, what one of them ended with, and what was promised."""

    inputs: np.ndarray
    result: np.ndarray
    promised: dict = field(default_factory=dict)


def gaussian(rng, P, scale, n=4096, dtype=np.float32):
    return (scale * rng.standard_normal((P, n))).astype(dtype)


def added(rows):
    """The sum, one row after another in their own dtype."""
    total = rows[0].copy()
    for row in rows[1:]:
        total = total + row
    return total


def exact(reduction):
    total = reduction.inputs.astype(np.float64).sum(axis=0)
    return total / len(reduction.inputs) if reduction.promised.get("op") == "mean" else total


def chunk(x, index):
    """The entries of a chunk, of as many as there are ranks."""
    length = x.shape[1] // len(x)
    return slice(index * length, (index + 1) * length)


# --- bugs ----------------------------------------------------------------------------------------------------------


def rank_lost(rng, scale, P=64):
    x = gaussian(rng, P, scale)
    return Reduction(x, added(np.delete(x, P // 3, axis=0)))


def rank_lost_of_many(rng, scale):
    return rank_lost(rng, scale, P=1024)


def rank_twice(rng, scale):
    x = gaussian(rng, 64, scale)
    return Reduction(x, added(x) + x[5])


def rank_replaced(rng, scale):
    x = gaussian(rng, 64, scale)
    rows = x.copy()
    rows[7] = x[8]
    return Reduction(x, added(rows))


def rank_negative(rng, scale):
    x = gaussian(rng, 64, scale)
    return Reduction(x, added(np.concatenate([x[:9], -x[9:10], x[10:]])))


def chunk_twice(rng, scale):
    x = gaussian(rng, 64, scale)
    result, at = added(x), chunk(x, 3)
    result[at] += x[11, at]
    return Reduction(x, result)


def chunk_lost(rng, scale):
    x = gaussian(rng, 64, scale)
    at, rows = chunk(x, 63), x.copy()
    rows[20, at] = 0.0
    return Reduction(x, added(rows))


def chunk_shifted(rng, scale):
    x = gaussian(rng, 64, scale)
    result, at = added(x), chunk(x, 10)
    result[at] = result[at.start - 1 : at.stop - 1].copy()
    return Reduction(x, result)


def chunk_of_another(rng, scale):
    x = gaussian(rng, 64, scale)
    result = added(x)
    result[chunk(x, 10)] = result[chunk(x, 11)]
    return Reduction(x, result)


def chunk_not_reduced(rng, scale):
    x = gaussian(rng, 64, scale)
    result, at = added(x), chunk(x, 0)
    result[at] = x[0, at]
    return Reduction(x, result)


def rest_left_at_zero(rng, scale):
    x = gaussian(rng, 64, scale, n=4100)
    result = added(x)
    result[4096:] = 0.0
    return Reduction(x, result)


def rank_one_entry_off(rng, scale):
    x = gaussian(rng, 64, scale)
    rows = x.copy()
    rows[30] = np.roll(x[30], 1)
    return Reduction(x, added(rows))


def stale_chunk(rng, scale):
    x = gaussian(rng, 64, scale)
    before = x + 0.01 * gaussian(rng, 64, scale)
    result, at = added(x), chunk(x, 40)
    result[at] = added(before)[at]
    return Reduction(x, result)


def stale_rank(rng, scale):
    x = gaussian(rng, 64, scale)
    rows = x.copy()
    rows[2] += 0.01 * gaussian(rng, 64, scale)[2]
    return Reduction(x, added(rows))


def added_in_bfloat16(rng, scale):
    x = gaussian(rng, 64, scale)
    return Reduction(x, added(x.astype(BFLOAT16)).astype(np.float32))


def rounded_to_float16(rng, scale):
    x = gaussian(rng, 64, scale)
    return Reduction(x, added(x).astype(np.float16).astype(np.float32))


def rounded_at_every_hop(rng, scale):
    x = gaussian(rng, 64, scale, dtype=BFLOAT16)
    return Reduction(x, added(x), {"accumulate": "float32", "schedule": "direct"})


def divided_by_one_less(rng, scale):
    x = gaussian(rng, 1024, scale)
    return Reduction(x, added(x) / np.float32(1023), {"op": "mean"})


def divided_twice(rng, scale):
    x = gaussian(rng, 64, scale)
    return Reduction(x, added(x) / np.float32(64 * 64), {"op": "mean"})


def all_negative(rng, scale):
    x = gaussian(rng, 64, scale)
    return Reduction(x, -added(x) / np.float32(64), {"op": "mean"})


def bit_flipped(rng, scale):
    x = gaussian(rng, 64, scale)
    result = added(x)
    largest = int(np.argmax(np.abs(result)))
    result.view(np.uint32)[largest] ^= np.uint32(1 << 13)
    return Reduction(x, result)


BUGS = {
    "one of 64 ranks lost": rank_lost,
    "one of 1024 ranks lost": rank_lost_of_many,
    "one rank counted twice": rank_twice,
    "one rank in place of another": rank_replaced,
    "one rank with the wrong sign": rank_negative,
    "one chunk of one rank added twice": chunk_twice,
    "one chunk of one rank lost": chunk_lost,
    "one chunk shifted by one entry": chunk_shifted,
    "one chunk holds its neighbour's sums": chunk_of_another,
    "one chunk not reduced": chunk_not_reduced,
    "entries beyond P chunks left at zero": rest_left_at_zero,
    "one rank read one entry off": rank_one_entry_off,
    "one chunk stale, 1 % ago": stale_chunk,
    "one rank's vector stale, 1 % ago": stale_rank,
    "added in bfloat16, float32 promised": added_in_bfloat16,
    "rounded to float16, float32 promised": rounded_to_float16,
    "bfloat16 at every hop, float32 sums promised": rounded_at_every_hop,
    "mean over 1023 of 1024": divided_by_one_less,
    "divided by P twice": divided_twice,
    "mean with all signs inverted": all_negative,
    "one bit flipped, 2^-10 of the largest entry": bit_flipped,
}


# --- right implementations -----------------------------------------------------------------------------------------


def one_after_another(rng, scale):
    x = gaussian(rng, 64, scale)
    return Reduction(x, added(x))


def pairwise(rows):
    while len(rows) > 1:
        rows = np.concatenate([rows[0 : len(rows) - 1 : 2] + rows[1::2], rows[len(rows) - len(rows) % 2 :]])
    return rows[0]


def in_pairs(rng, scale):
    x = gaussian(rng, 1024, scale)
    return Reduction(x, pairwise(x))


def divided_first(rng, scale):
    x = gaussian(rng, 48, scale)
    return Reduction(x, added(x * np.float32(1 / 48)), {"op": "mean"})


def bfloat16_ring(rng, scale):
    x = gaussian(rng, 64, scale, dtype=BFLOAT16)
    return Reduction(x, added(x))


def bfloat16_direct(rng, scale):
    x = gaussian(rng, 64, scale, dtype=BFLOAT16)
    total = added(x.astype(np.float32)).astype(BFLOAT16)
    return Reduction(x, total, {"accumulate": "float32", "schedule": "direct"})


def cancelling(rng, scale):
    x = gaussian(rng, 64, 1000 * scale)
    x[32:] = np.float32(1 + 2.0**-20) * -x[:32]
    return Reduction(x, added(x))


RIGHT = {
    "float32, one after another, P = 64": one_after_another,
    "float32, in pairs, P = 1024": in_pairs,
    "float32 mean, times 1/48 first": divided_first,
    "float32, a thousand times as large, terms that cancel": cancelling,
    "bfloat16, one after another": bfloat16_ring,
    "bfloat16, added in float32": bfloat16_direct,
}


# --- what notices ----------------------------------------------------------------------------------------------------


def beyond(reduction, rtol, atol):
    """Whether ``allclose`` with these tolerances refuses the result."""
    wanted = exact(reduction)
    return not (np.abs(reduction.result.astype(np.float64) - wanted) <= atol + rtol * np.abs(wanted)).all()


def refused(reduction):
    """Whether ours does, and what it says."""
    try:
        assert_allreduce_close(reduction.result, reduction.inputs, **reduction.promised, allow_vacuous=True)
    except AssertionError as error:
        return str(error)
    return ""


TESTS = {
    "1e-2": lambda reduction: beyond(reduction, 1e-2, 1e-2),
    "1e-3": lambda reduction: beyond(reduction, 1e-3, 1e-3),
    "torch's": lambda reduction: beyond(reduction, *TORCH[reduction.result.dtype.name]),
    "ours": lambda reduction: bool(refused(reduction)),
}


def noticed(make, runs=range(RUNS)):
    """Test -> in how many runs it refuses, with entries of size 1 and of size 1/1000."""
    counts = {test: [0, 0] for test in TESTS}
    for at, scale in enumerate(SCALES):
        for run in runs:
            reduction = make(np.random.default_rng([at, run]), scale)
            for test, refuses in TESTS.items():
                counts[test][at] += refuses(reduction)
    return counts


def rows(makers, runs=range(RUNS)):
    for name, make in makers.items():
        counts = noticed(make, runs)
        yield f"| {name} | " + " | ".join(f"{a} / {b}" for a, b in counts.values()) + " |"


def table(heading, makers):
    columns = " | ".join(TESTS)
    return "\n".join([f"| {heading} | {columns} |", "|---|" + "---|" * len(TESTS), *rows(makers)])


if __name__ == "__main__":
    print(table("bug", BUGS), table("right implementation", RIGHT), sep="\n\n")
