"""What certificates about Moshpit all-reduce on grids, about the mean and about what is sent prove."""

from typing import Any

import sympy as sp

from commbounds.theory.finite_laws import over_all, over_histories, uncorrelated
from commbounds.theory.model import Goal, Model, by_claim, cases, recurrence, vectors
from commbounds.theory.moshpit.models_groups import blocks_of_skipped, seated
from commbounds.theory.moshpit.terms import M, N, dims, mean_overlap, rounds
from commbounds.theory.quantities import n

_full, _over, _own = sp.symbols("full over own", integer=True, nonnegative=True)
_held, _weight = sp.symbols("held weight", positive=True)


def off_the_mean(held: Any, weight: Any) -> Any:
    """Squared distance of `held` equal weights, and N - held zeros, from the weights 1/N of the mean."""
    return held * (weight - 1 / N) ** 2 + (N - held) / N**2


def sets_by_digit() -> tuple[Goal, ...]:
    """What a member has the mean of: the peers whose remaining digits at the start were its own, whatever the others.

    A peer's digits at the start are a number, ``low`` those that were replaced in the rounds before. A group's members
    have the ``rest`` in common, and every digit before it, one each: their sets have no peer in common, and together
    they are the peers with that ``rest``.
    """
    rest, had, digit, other, low = sp.symbols("rest had digit other low", integer=True, nonnegative=True)
    power = M**rounds
    digits = {"digit < M": M - 1 - digit, "low < power": power - 1 - low, "power": power}
    return (
        Goal("the digit is one of those below", (rest * M + digit) * power + low
             - (rest * M ** (rounds + 1) + (digit * power + low)), equal=True),
        Goal("there are M times as many", M ** (rounds + 1) - 1 - (digit * power + low), given=digits),
        Goal("a peer of one set is in no other", (had - other) ** 2 - 1, zero={"its digit is the set's": had - digit},
             given={"different whole numbers": (digit - other) ** 2 - 1}),
        *over_all(lambda peers, sets: peers - _held * sets, (_held, sp.S.One), case="sets: ", equal=True),
    )  # fmt: skip


def whole_mean(bound: Any, side: Any, count: Any) -> tuple[Goal, ...]:
    """That `count` rounds among `side` peers each, who hold means of disjoint sets, end with the mean of all peers."""
    ones = {"the weights add up to 1": _held * _weight - 1}
    sizes = {"peers": N - side**count, "held": _held - side**count}
    return (
        Goal("one more round", (_held * side) * (_weight / side) - 1, equal=True, zero=ones),
        Goal("distortion", bound - off_the_mean(_held, _weight), equal=True, positive={"N": N}, zero={**sizes, **ones}),
    )


def independent_inputs() -> tuple[Goal, ...]:
    """That sums of squared weights are variances, what a mean of disjoint means has, and what is off the mean.

    Inputs are independent, with variance one: without products in the mean. A peer's weights add up to one.
    """
    weights, squares, own, others = sp.symbols("weights squares own others", real=True)
    members, disjoint = sp.symbols("members disjoint", positive=True)
    summed = {"members before": disjoint - members * squares}
    from_mean = {"peers before: squares": others - (squares - 2 * weights / N + members / N**2)}
    more = (own - 1 / N) ** 2
    after = squares + own**2 - 2 * (weights + own) / N + (members + 1) / N**2
    return (
        *uncorrelated(sp.S.One),
        Goal("weights of one more member's set", disjoint + squares - (members + 1) * squares, equal=True, zero=summed),
        Goal("off the mean, one more input", others + more - after, equal=True, positive={"N": N}, zero=from_mean),
        Goal("off the mean", others - (squares - 1 / N), equal=True, positive={"N": N},
             zero={**from_mean, "weights add up to one": weights - 1, "all inputs": members - N}),
    )  # fmt: skip


def by_size_of_sets(variance: Any, side: Any) -> tuple[Goal, ...]:
    """That a variance starts at one and is divided by `side` in every round."""
    mean = sp.Symbol("mean_of_squares", nonnegative=True)
    return (
        *independent_inputs(),
        Goal("a mean of disjoint sets", side * mean / side**2 - mean / side, equal=True),
        *recurrence(variance, rounds, 1, lambda before, _: before / side),
    )


def variance_of_factor(factor: Any) -> Any:
    """A peer's variance, by the factor that is left of the expected distortion of independent inputs."""
    return sp.expand(factor * (N - 1)) / N + 1 / N


def _exact(bound: Any) -> tuple[Goal, ...]:
    return *sets_by_digit(), *whole_mean(bound, M, dims)


def _no_repeats(bound: Any) -> tuple[Goal, ...]:
    again = sp.Symbol("again", integer=True, positive=True)
    digit, other = sp.symbols("digit other", integer=True)
    apart = {"again >= 0": again, "different whole numbers": (digit - other) ** 2 - 1}
    same = {"equal keys": digit - other}
    return (
        Goal("one meeting", bound - 1, given={}),
        Goal("two meetings contradict", bound - 1 - again, given=apart, zero=same),
    )


def _rectangular(bound: Any) -> tuple[Goal, ...]:
    after = off_the_mean(_held * M, 1 / _held / M)
    positive = {"N": N, "held": _held, "M": M}
    return (
        *sets_by_digit(),
        Goal("distortion", bound - after, equal=True, positive=positive, zero={"peers": N - _held * M}),
    )


def _factor(bound: Any) -> tuple[Goal, ...]:
    return *sets_by_digit(), *by_size_of_sets(variance_of_factor(bound), M)


def _failures_of(variance: Any) -> tuple[Goal, ...]:
    axis = variance.subs(dims, 1)
    size, own, more_blocks, rows, chance, chances, lines, together = sp.symbols(
        "size own blocks_before rows chance chances lines together", positive=True
    )
    return (
        *independent_inputs(),
        Goal(
            "rows of one more block",
            rows + size * (size / size**2) - (more_blocks + 1),
            equal=True,
            positive={"size": size},
            zero={"blocks before": rows - more_blocks},
        ),
        *over_histories("one more axis", ((sp.S.One, size * own),), {lines: own}, size * lines),
        Goal(
            "independent axes, one more outcome",
            together + chance * own * lines - (chances + chance * own) * lines,
            equal=True,
            zero={"outcomes before": together - chances * lines},
        ),
        *recurrence(variance, dims, 1, lambda before, _: before * axis),
        *blocks_of_skipped(sp.expand(M * axis)),
    )


def _failures(bound: Any) -> tuple[Goal, ...]:
    return _failures_of(bound + 1 / N)


def _keys(bound: Any) -> tuple[Goal, ...]:
    return *seated(), *_factor(bound)


def _failures_factor(bound: Any) -> tuple[Goal, ...]:
    return *seated(), *_failures_of(sp.expand(bound * (N - 1)) / N + 1 / N)


def _partial(bound: Any) -> tuple[Goal, ...]:
    overlap, variance, column, rows = sp.symbols("overlap variance column rows", positive=True)
    claimed = bound.subs(mean_overlap(N, M), (overlap + rows / column) / N)
    measured = (variance + column * (rows / column**2)) / N - 1 / N
    row_cells, row_fewer, of_column, elsewhere = sp.symbols("row row_fewer column_ways elsewhere", positive=True)
    a, b, summed, choices, ways, longer = sp.symbols("a b summed choices ways longer", positive=True)
    chance = row_cells * of_column * elsewhere / ways
    sizes = {"1 + a": 1 + a, "1 + b": 1 + b, "ways": ways}
    return (
        Goal("other cells", (M - 1) + (M - 1) + (M - 1) ** 2 - (M**2 - 1), equal=True),
        Goal(
            "ways, one more cell of a part",
            longer * of_column * elsewhere - (row_cells + row_fewer) * of_column * elsewhere,
            equal=True,
            zero={"it is chosen, or not": longer - row_cells - row_fewer},
        ),
        Goal(
            "numbers in row and column",
            chance / ((1 + a) * (1 + b)) - mean_overlap.share(row_cells, of_column, elsewhere, ways, a, b),
            equal=True,
            positive=sizes,
        ),
        Goal(
            "a peer, of all choices of cells",
            M**2 * summed / choices - N * summed / ways,
            equal=True,
            positive={"choices": choices, "ways": ways},
            zero={"a choice and one of its cells": N * choices - M**2 * ways},
        ),
        *independent_inputs(),
        Goal(
            "one more column",
            claimed - measured,
            equal=True,
            positive={"N": N},
            zero={"the columns before": overlap - variance},
        ),
    )


def _preserved(bound: Any) -> tuple[Goal, ...]:
    group, others = vectors("group others")
    moved = (others + _held * (group / _held) - others - group) / N
    return (Goal("one more group", bound - moved**2, equal=True, vectors=(group, others)),)


# --- traffic -----------------------------------------------------------------------------------------------------


def with_chunk(bound: Any, largest: Any) -> Any:
    """The bound where n = M full + over, by the largest chunk."""
    return bound.subs(sp.ceiling(n / M), sp.sympify(largest, strict=True)).subs(n, M * _full + _over)


def _per_round(bound: Any) -> Any:
    return sp.expand(bound.subs(rounds, rounds + 1)) - sp.expand(bound)


_several = {"M >= 2": M - 2}


def _words(bound: Any) -> tuple[Goal, ...]:
    sent = (_full * M + _over - _own) + (M - 1) * _own
    equal, unequal = with_chunk(bound, _full).subs(_over, 0), with_chunk(bound, _full + 1)
    return (
        Goal("no round", bound.subs(rounds, 0), equal=True),
        Goal("alone", bound.subs(M, 1).subs(sp.ceiling(n), n), equal=True),
        Goal("equal chunks", _per_round(equal) - sent.subs({_over: 0, _own: _full}), given=_several),
        Goal("unequal chunks", _per_round(unequal) - sent, given={"chunks": _full + 1 - _own, **_several}),
    )


def _equal_chunks(bound: Any) -> tuple[Goal, ...]:
    return recurrence(bound.subs(n, M * _full), rounds, 0, lambda sent, _: sent + (M * _full - _full) + (M - 1) * _full)


def _critical_path(bound: Any) -> tuple[Goal, ...]:
    goals = [Goal("no round", bound.subs(rounds, 0), equal=True)]
    for name, largest, over in (("equal", _full, sp.Integer(0)), ("unequal", _full + 1, _over)):
        step = _per_round(with_chunk(bound, largest).subs(_over, over))
        given = {
            "M >= 1": M - 1,
            "own chunk <= largest": largest - _own,
            "own chunk >= n/M, rounded down": _own - _full,
        }
        most = step / 2 - (M * _full + over - _own)
        goals += [
            Goal(f"{name} chunks: both steps", step - 2 * (M - 1) * largest, equal=True),
            Goal(f"{name} chunks: no member receives more", step / 2 - (M - 1) * _own, given=given),
            Goal(f"{name} chunks: no member sends more", most, given={"over <= M - 1": M - 1 - over, **given}),
        ]
    return tuple(goals)


def _messages(bound: Any) -> tuple[Goal, ...]:
    return recurrence(bound, rounds, 0, lambda sent, _: sent + (M - 1) + (M - 1))


def _steps(bound: Any) -> tuple[Goal, ...]:
    alone, several = cases(bound, sp.Eq(M, 1))
    return (Goal("alone", alone, equal=True), *recurrence(several, rounds, 0, lambda steps, _: steps + 1 + 1))


_LAW = "every stack of vectors, real arithmetic"
_GRID = f"every side M, every d, N = M^d, {_LAW}"
_WEIGHTS = (
    "A peer's vector is a weighted sum of the initial ones: `held` equal weights. A key's digits are "
    "replaced one a round, by chunk indices. A peer holds the mean of those that had its remaining digits at the "
    "start; a group's members differ in the one that is replaced, so that their sets are disjoint: a round multiplies "
    "`held` by M and divides the weights by M. "
)
_CHUNKS = (
    "n = M full + over, 0 <= over < M: chunks have `full` or full + 1 entries, and full + 1 if over > 0 for some. A "
    "member with a chunk of `own` entries sends n - own words to the owners of the other chunks, and its averaged "
    "chunk to the M - 1 others. Two cases, over = 0 and over >= 1. "
)
_SENT = "every M, n and T, every chunk index"

GRID_MODELS = by_claim(
    Model(
        claim="moshpit.grid.exact",
        words=_WEIGHTS
        + "By induction they add up to one; there are M^d = N after d rounds, and their squared distance "
        "from the weights of the mean is zero.",
        scope=_GRID,
        goals=_exact,
    ),
    Model(
        claim="moshpit.grid.late",
        words="In the first round every peer is alone: weights stay, and with all last digits zero a full grid of d "
        "axes is left. " + _WEIGHTS + "There are M^d = N after d more rounds.",
        scope=_GRID + ", chunk indices by rank",
        goals=_exact,
    ),
    Model(
        claim="moshpit.grid.no_repeats",
        words="Two peers that share a group get different chunk indices there, `digit` and `other`, which stay in "
        "their keys for the next d - 1 rounds. If they met `again` within them their keys would be equal: a difference "
        "of whole numbers would be zero with a square of one or more, a contradiction.",
        scope="every side M, every d, N = M^d, every way to deal out chunk indices",
        goals=_no_repeats,
    ),
    Model(
        claim="moshpit.grid.rectangular",
        words="`held` = N/M peers are in every first group, so that all hold means of `held`; the second groups have "
        "one member of each of the M first ones, and means of `held` M = N are left.",
        scope=f"every M, every multiple N <= M^2 of M, {_LAW}, chunk indices by rank",
        goals=_rectangular,
    ),
    Model(
        claim="moshpit.grid.factor",
        words="Independent inputs have no products in the mean: variances are sums of squared weights. A peer holds "
        "the mean of disjoint means, M a round: the variance v of its vector is divided by M. The mean of all has the "
        "variance 1/N, so the expected distortion is v - 1/N, of 1 - 1/N at the start: v by the claim is shown to be 1 "
        "and then divided by M. Induction on t.",
        scope="every side M, every d, N = M^d >= 2, every t <= d, real arithmetic",
        goals=_factor,
    ),
    Model(
        claim="moshpit.trials.keys",
        words="As moshpit.grid.factor. Peers take cells in any order, all with one probability: of all orders an Nth "
        "has a peer in a cell, and of these one of N - 1 another in another. So the factor of any inputs without a "
        "mean is (N v - 1)/(N - 1), as of independent ones. Induction on t.",
        scope="every side M, every d, N = M^d >= 2, every t <= d, real arithmetic; the law that trials draw from",
        goals=_keys,
        checked_by=("moshpit.grid.factor", "moshpit.trials.keys"),
    ),
    Model(
        claim="moshpit.grid.failures",
        words="v = E D + 1/N is the expected sum of squared weights of one peer's vector. Averaging a line multiplies "
        "it by h, the expected squared norm of a row of the line's averaging matrix, which is (number of blocks)/M in "
        "the mean; axes are independent, each is used once: induction on d, where h is v of one axis. M h is the "
        "number of blocks: induction on M, as in moshpit.random_groups.skip.",
        scope="every side M, every d, N = M^d, every p, real arithmetic",
        goals=_failures,
    ),
    Model(
        claim="moshpit.trials.fixed",
        words="As moshpit.grid.failures, over 1 - 1/N. Peers take cells in any order, all with one probability, so "
        "that the factor is that of independent inputs, see moshpit.trials.keys. Induction on d and on M.",
        scope="every side M, every d, N = M^d >= 2, every p, real arithmetic; the law that trials draw from",
        goals=_failures_factor,
        checked_by=("moshpit.grid.failures", "moshpit.trials.fixed"),
    ),
    Model(
        claim="moshpit.grid.partial",
        words="A row's mean has the variance 1/n_row, and row means are independent. A peer's vector at the end is the "
        "mean over its column of row means: variance `rows`/`column`^2, with `column` the peers of the column and "
        "`rows` the sum over them of 1/n_row. `overlap` and `variance` are the sums over the columns before of the "
        "peers' 1/(n_row n_col) and of their variances, equal by induction; the mean of all has the variance 1/N. A "
        "cell that is chosen has M - 1 others in its row, as many in its column, and (M - 1)^2 elsewhere: `summed` is "
        "the sum over the `ways` to choose N - 1 of these of 1/(n_row n_col), the same for all M^2 cells, and N "
        "`choices` = M^2 `ways`. So N times the mean overlap, `summed` over `ways`, is the mean of `overlap`.",
        scope="every side M, every N <= M^2, real arithmetic",
        goals=_partial,
    ),
    Model(
        claim="moshpit.mean.preserved",
        words="`group` is the sum of a group's `held` vectors (a failed peer is a group of one), and `others` that of "
        "the groups before, which does not change. All members get group/held.",
        scope=f"every N, every partition into groups in every round, every failures, {_LAW}",
        goals=_preserved,
    ),
    Model(
        claim="moshpit.traffic.words",
        words=_CHUNKS + "Induction on the rounds; a group of one sends nothing.",
        scope=_SENT,
        goals=_words,
    ),
    Model(
        claim="moshpit.traffic.equal_chunks",
        words="All chunks have `full` = n/M entries. A member sends n - full words to the owners of the other chunks, "
        "and its averaged chunk to the M - 1 others. Induction on the rounds.",
        scope="every M, every multiple n of M, every T",
        goals=_equal_chunks,
    ),
    Model(
        claim="moshpit.traffic.critical_path",
        words=_CHUNKS + "In reduce-scatter it receives M - 1 copies of its own chunk and sends the rest of its vector, "
        "in all-gather the other way round. The owner of a largest chunk receives and sends the most. Induction on the "
        "rounds.",
        scope=_SENT,
        goals=_critical_path,
    ),
    Model(
        claim="moshpit.traffic.messages",
        words="A member sends a chunk to each of the M - 1 others, and its averaged chunk. Induction on the rounds.",
        scope="every M and T, every n >= 1",
        goals=_messages,
    ),
    Model(
        claim="moshpit.traffic.steps",
        words="A round has a reduce-scatter and an all-gather where groups have M = more + 2 members, and no step "
        "where they have one. Induction on the rounds.",
        scope="every M and T, every n >= 1",
        goals=_steps,
    ),
)
