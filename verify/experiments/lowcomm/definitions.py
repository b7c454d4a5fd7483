"""Low-communication rounds beside their definitions: the spaces of their cases."""

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from commbounds.array_types import Array
from commbounds.collectives.lowcomm.transform import dct_matrix
from commbounds.verify.data import IDLE, stack_of
from commbounds.verify.definition import Definition, Given, called, chosen
from commbounds.verify.definitions import lowcomm
from commbounds.verify.differences import Said
from commbounds.verify.space import RANKS, TILES, Of, Space, sizes

DATA = ("normal", "ties", "zeros", "of all sizes", "cancelling")
DTYPES = ("float32", "float64")


def _workers(data: str, P: int, rows: int, n: int, dtype: str, seed: int) -> Array:
    """What every worker brings: as many vectors, of one kind."""
    return np.stack([stack_of(data, P, n, dtype, 16 * seed + row) for row in range(rows)], 1)


def _in_rounds(again: Callable[[Array, Mapping[str, Array]], Mapping[str, Any]]) -> Callable[[Any, Given], Said]:
    """A round, and those that are given under "later", each from what `again` makes of the result before it."""

    def run(implementation: Any, given: Given) -> Said:
        inputs = dict(given.inputs)
        later = inputs.pop("later", None)
        result, traffic = implementation(**inputs, **given.parameters)
        said: dict[str, Any] = {"result": result, "traffic": traffic}
        if later is not None:
            said["later"] = []
            for more in later:
                inputs = {**inputs, **again(result, more)}
                result, traffic = implementation(**inputs, **given.parameters)
                said["later"].append({"result": result, "traffic": traffic})
        return said

    return run


_with_gradients = _in_rounds(lambda result, more: {"workers": np.stack([more["gradient"], result[:, 1]], 1)})


def _with_basis(implementation: Any, given: Given) -> Said:
    said = _with_gradients(implementation, given)
    refused = []
    for size in (0, 4097):
        try:
            dct_matrix(size)
        except ValueError as error:
            refused.append(type(error).__name__)
    return {**said, "basis": dct_matrix(given.parameters.get("chunk", 64)), "sizes refused": refused}


def _later(data: str, P: int, n: int, dtype: str, rounds: int, seed: int) -> dict[str, Any]:
    gradients = [stack_of(data, P, n, dtype, 997 * seed + t) for t in range(1, rounds)]
    return {"later": [{"gradient": gradient} for gradient in gradients]} if rounds > 1 else {}


STEPS = (1e-30, 1e30)
"""The smallest and the largest step of codes."""


def beyond(**ranges: tuple[Any, Any]) -> dict[str, tuple[Any, ...]]:
    """The numbers just beyond the ends of ranges, integers or floats."""

    def beside(end: Any, way: int) -> Any:
        return end + way if isinstance(end, int) else float(np.nextafter(end, way * np.inf))

    return {name: (beside(least, -1), beside(largest, 1)) for name, (least, largest) in ranges.items()}


# --- outer rounds, pairs and quorums -----------------------------------------------------------------------------

FRAGMENTS: Mapping[str, Callable[[int], Mapping[str, int]]] = {
    "all": lambda _n: {},
    "from the second": lambda n: {"start": min(1, n - 1)},
    "but the last": lambda n: {"stop": max(1, n - 1)},
    "one": lambda n: {"start": n // 2, "stop": n // 2 + 1},
}


def _outer(
    P: int, n: int, data: str, dtype: str, rounds: int, momentum: bool, outer_lr: float | None, mu: float | None,
    rule: str | None, direction: str | None, fragment: str, blend: float | None, seed: int,
) -> Given:  # fmt: skip
    stacks = [stack_of(data, P, n, dtype, 97 * seed + t) for t in range(rounds)]
    inputs: dict[str, Any] = {"stack": stacks[0], "anchor": stack_of(data, 2, n, dtype, seed + 1)[1]}
    if momentum:
        inputs["momentum"] = stack_of("normal", 2, n, dtype, seed + 2)[1]
    if rounds > 1:
        inputs["later"] = [{"stack": stack} for stack in stacks[1:]]
    options = chosen(outer_lr=outer_lr, mu=mu, rule=rule, direction=direction, blend=blend)
    return Given(inputs, {**options, **FRAGMENTS[fragment](n)})


def _outer_rounds(implementation: Any, given: Given) -> Said:
    inputs = dict(given.inputs)
    later = inputs.pop("later", None)

    def of_round(**more: Any) -> dict[str, Any]:
        state, traffic = implementation(**inputs, **given.parameters, **more)
        inputs.update(anchor=state.anchor[0], momentum=state.momentum[0])
        return {name: getattr(state, name) for name in ("parameters", "anchor", "momentum")} | {"traffic": traffic}

    said = of_round()
    if later is not None:
        said["later"] = []
        for more in later:
            inputs.update(more)
            said["later"].append(of_round())
    return said


OUTER = Space(
    _outer,
    {
        "P": RANKS,
        "n": sizes(16, *TILES),
        "data": DATA,
        "dtype": DTYPES,
        "rounds": (1, 3),
        "momentum": (False, True),
        "outer_lr": (None, 0.5, 1.0),
        "mu": (None, 0.5, 0.0, 1.0),
        "rule": (None, "nesterov", "heavy-ball"),
        "direction": (None, "anchor - local", "local - anchor"),
        "fragment": tuple(FRAGMENTS),
        "blend": (None, 0.0, 0.3, 1.0),
    },
    options=("dtype", "rounds", "rule", "direction", "fragment", "blend"),
    combined=(("momentum", "outer_lr", "mu", "rule", "blend"),),
    hiding={"rounds": (7, 34), "data": tuple(IDLE), "blend": (0.05, 0.1, 0.45, 0.9)},
).search(P=(1, 12), n=(1, 40))


def _pairs(
    P: int, n: int, data: str, dtype: str, rounds: int, momentum: float | None, outer_lr: float | None,
    pull: float | None, seed: int,
) -> Given:  # fmt: skip
    rng = np.random.default_rng(seed)
    inputs: dict[str, Any] = {"workers": _workers(data, P, 3, n, dtype, seed), "order": rng.permutation(P)}
    if rounds > 1:
        changes = [stack_of(data, P, n, dtype, 997 * seed + t) for t in range(1, rounds)]
        inputs["later"] = [{"change": change, "order": rng.permutation(P)} for change in changes]
    return Given(inputs, chosen(momentum=momentum, outer_lr=outer_lr, pull=pull))


PAIRS = Space(
    _pairs,
    {
        "P": RANKS,
        "n": (1, 3, 16, *TILES),
        "data": DATA,
        "dtype": DTYPES,
        "rounds": (1, 3),
        "momentum": (None, 0.0, 0.9),
        "outer_lr": (None, 0.0, 1.1),
        "pull": (None, 0.0, 0.3, 1.9),
    },
    hiding={"rounds": (7, 34), "data": tuple(IDLE)},
).search(P=(1, 14), n=(1, 40))


def _pair_ends() -> list[Given]:
    """Pairs whose weights, or pseudo-gradients, have sums beyond all floats, or means between two of them."""
    found = []
    for dtype in DTYPES:
        ends = np.finfo(dtype)
        over, least = [0.75 * float(ends.max)] * 2, [float(ends.smallest_subnormal)] * 2
        for own, change in ((over, [0.0, 0.0]), ([0.0, 0.0], over), (least, least), (over, least)):
            workers = np.array([[[w], [0.0], [g]] for w, g in zip(own, change, strict=True)], dtype)
            found.append(Given({"workers": workers, "order": np.array([1, 0])}))
    return found


_pair_rounds = _in_rounds(
    lambda result, more: {"workers": np.concatenate([result, more["change"][:, None]], 1), "order": more["order"]}
)


def _merged(
    P: int, n: int, data: str, dtype: str, tokens: str, arrived: str | None, divisor: str | None, seed: int
) -> Given:
    rng = np.random.default_rng(seed)
    # sums of tokens are exact, in any order
    weights = {"equal": np.ones(P), "counts": rng.integers(1, 2**20, P), "eighths": rng.integers(1, 64, P) / 8}[tokens]
    there = {
        "all": np.ones(P, np.bool_), "some": rng.random(P) < 0.6, "nobody": np.zeros(P, np.bool_),
        "not the server": np.arange(P) > 0, "the server": np.arange(P) == 0,
    }  # fmt: skip
    inputs = {"stack": stack_of(data, P, n, dtype, seed), "tokens": weights}
    return Given(inputs | ({} if arrived is None else {"arrived": there[arrived]}), chosen(divisor=divisor))


MERGED = Space(
    _merged,
    {
        "P": RANKS,
        "n": (1, 3, 16, *TILES),
        "data": DATA,
        "dtype": DTYPES,
        "tokens": ("counts", "equal", "eighths"),
        "arrived": (None, "some", "all", "nobody", "not the server", "the server"),
        "divisor": (None, "arrived", "expected"),
    },
    hiding={"data": tuple(IDLE)},
).search(P=(1, 14), n=(1, 40))

# --- sparse rounds -----------------------------------------------------------------------------------------------


def _sparse(
    P: int, n: int, data: str, dtype: str, k: int, chunk: int | None, beta: float | None, bins: int | None,
    share: str | None, rounds: int, seed: int,
) -> Given:  # fmt: skip
    size = n if chunk is None else min(chunk, n)
    inputs = {"workers": _workers(data, P, 2, n, dtype, seed), **_later(data, P, n, dtype, rounds, seed)}
    return Given(inputs, chosen(k=min(k, size), chunk=chunk, beta=beta, bins=bins, share=share))


SPARSE = (
    Space(
        _sparse,
        {
            "P": RANKS,
            "n": (1, 2, 16, 48, *TILES),
            "data": ("normal", "ties", "zeros", "signs", "of all sizes"),
            "dtype": DTYPES,
            "k": (1, 2, 5, 16),
            "chunk": (None, 1, 4, 16),
            "beta": (None, 0.0, 0.5, 1.0),
            "bins": (None, 0, 2, 4, 5),
            "share": (None, "ranks", "senders"),
            "rounds": (1, 3),
        },
        options=("dtype", "k", "chunk", "bins", "share", "rounds"),
    )
    .without(
        "what bins are off by in one round would be added to in the next", lambda bins, rounds: bins and rounds > 1
    )
    .without(
        "means of numbers of all sizes are off by more than the small ones",
        lambda bins, data: bins and data == "of all sizes",
    )
    .search(P=(1, 12), n=(1, 64), k=(1, 16))
)


def _demo(
    P: int, chunks: int, data: str, dtype: str, k: int, chunk: int | None, beta: float | None, share: str | None,
    signed: bool | None, seed: int,
) -> Given:  # fmt: skip
    size = 64 if chunk is None else chunk
    workers = _workers(data, P, 2, chunks * size, dtype, seed)
    return Given({"workers": workers}, chosen(k=min(k, size), chunk=chunk, beta=beta, share=share, signed=signed))


DEMO = Space(
    _demo,
    {
        "P": RANKS,
        "chunks": (1, 2, 3),
        "data": ("normal", "sparse", "zeros"),
        "dtype": DTYPES,
        "k": (1, 2, 5),
        "chunk": (None, 1, 2, 3, 5, 8, 16),
        "beta": (None, 0.0, 0.5, 1.0),
        "share": (None, "ranks", "senders"),
        "signed": (None, False, True),
    },
    options=("dtype", "k", "share", "signed"),
    combined=(("chunk", "k", "share", "signed"), ("data", "share", "signed")),
    hiding={"data": tuple(IDLE)},
)


def _values(n: int, data: str, dtype: str, bins: int | None, reach: float | None, seed: int) -> Given:
    return Given({"values": stack_of(data, 2, n, dtype, seed)[1]}, chosen(bins=bins, reach=reach))


BINS = (
    Space(
        _values,
        {
            "n": (1, 2, 3, 7, 8, 9, 16, 17, 64, 129),
            "data": ("normal", "ties", "zeros", "alike", "signs", "eighths", "sparse", "over"),
            "dtype": DTYPES,
            "bins": (None, *range(2, 10), 16, 256),
            "reach": (None, 1.0, 3.0, 20.0, 0.01, 100.0),
        },
        combined=(("n", "data", "bins"), ("data", "bins", "reach", "dtype")),
    )
    .without("infinite in float32.", lambda data, dtype: data == "over" and dtype == "float32")
    .search(n=(1, 64))
)


def _between_bins() -> list[Given]:
    """Half-way between two bins: mean 0 and deviation 1, in exact numbers."""
    rows = [np.array([-1.0, 0.0, 1.0]), np.array([3.0, 2.0, 4.0])]
    options = (
        {"bins": 4, "reach": 8.0},
        {"bins": 6, "reach": 4.0},
        {"bins": 5, "reach": 2.0},
        {"bins": 2, "reach": 4.0},
    )
    return [Given({"values": row.astype(dtype)}, given) for row in rows for given in options for dtype in DTYPES]


def _halves() -> list[Given]:
    powers, halves = 2.0 ** np.arange(-9, 3), 1.5 * 2.0 ** -np.arange(1.0, 9.0)
    between = [halves, *(np.nextafter(halves, end) for end in (0.0, 2.0))]
    rows = [powers, 0.75 * powers, *(np.append(row, (1.0, 2.0**-7)) for row in between)]
    return [Given({"values": (sign * row).astype(dtype)}) for row in rows for sign in (1, -1) for dtype in DTYPES]


POWERS = Space(
    _values,
    {
        "n": (1, 2, 3, 8, 17, 64),
        "data": ("normal", "ties", "zeros", "signs", "eighths", "of all sizes", "subnormal"),
        "dtype": DTYPES,
        "bins": (None,),
        "reach": (None,),
    },
).search(n=(1, 64))

# --- low-bit rounds ----------------------------------------------------------------------------------------------


def _loco(
    P: int, n: int, data: str, dtype: str, step: float, bits: int | None, fresh: float | None, reset: bool | None,
    kept: float | None, rounds: int, seed: int,
) -> Given:  # fmt: skip
    inputs = {"workers": _workers(data, P, 2, n, dtype, seed), **_later(data, P, n, dtype, rounds, seed)}
    return Given(inputs, chosen(step=step, bits=bits, fresh=fresh, reset=reset, kept=kept))


LOCO = Space(
    _loco,
    {
        "P": RANKS,
        "n": sizes(16, *TILES),
        "data": ("normal", "ties", "eighths", "zeros", "of all sizes"),
        "dtype": DTYPES,
        "step": (0.5, 0.3, 1.0, 1e-3),
        "bits": (None, 2, 3, 4, 8, 16),
        "fresh": (None, 0.0, 0.3, 1.0),
        "reset": (None, False, True),
        "kept": (None, 0.125, 0.01),
        "rounds": (1, 3),
    },
    options=("dtype", "bits", "fresh", "reset", "kept", "rounds"),
    combined=(("fresh", "reset", "kept", "rounds"),),
    hiding={"rounds": (7, 34), "bits": (5, 6, 7, 9, 12, 15), "data": tuple(IDLE)},
).search(P=(1, 12), n=(1, 40), bits=(2, 16))
LOCO = LOCO.including(*LOCO.every(P=(3,), n=(33,), step=(1e-3,), bits=LOCO.hiding["bits"]))
"""Steps so small that codes of any width reach their ends."""

NODES = (1, Of("P", lambda P: P), Of("the least divisor", lambda P: next((d for d in range(2, P) if P % d == 0), P)),
         Of("the largest divisor", lambda P: next((d for d in range(P - 1, 0, -1) if P % d == 0), 1)))  # fmt: skip


def _scatter(
    P: int, width: int, data: str, dtype: str, step: float, bits: int | None, way: str | None, node: int | None,
    reorder: bool | None, seed: int,
) -> Given:  # fmt: skip
    options = chosen(step=step, bits=bits, way=way, node=node if node is None or P % node == 0 else P, reorder=reorder)
    return Given({"stack": stack_of(data, P, width * P, dtype, seed)}, options)


SCATTER = Space(
    _scatter,
    {
        "P": RANKS,
        "width": (1, 2, 5, 16),
        "data": ("normal", "ties", "eighths", "zeros", "of all sizes"),
        "dtype": DTYPES,
        "step": (0.25, 0.3, 1e-3),
        "bits": (None, 2, 5, 16),
        "way": (None, "one-hop", "hierarchical", "ring"),
        "node": (None, *NODES),
        "reorder": (None, True, False),
    },
    options=("dtype", "step", "bits", "way", "node", "reorder"),
    combined=(("P", "way", "node", "reorder"),),
    hiding={"width": (3, 17, 33), "bits": (3, 4, 7, 8, 12), "data": tuple(IDLE)},
).search(P=(1, 12), width=(1, 9), bits=(2, 16))

# --- what is counted ---------------------------------------------------------------------------------------------


def _counted(name: str) -> Callable[[Any, Given], Said]:
    return lambda implementation, given: {name: np.array([implementation(**given.parameters)], np.int64)}


def _numbers(seed: int, **settings: Any) -> Given:
    return Given({}, chosen(**settings))


def _bits(chunks: int, k: int, chunk: int, value_bits: int | None, positions: str | None, seed: int) -> Given:
    options = chosen(n=chunks * chunk, k=min(k, chunk), chunk=chunk, value_bits=value_bits, positions=positions)
    return Given({}, options)


LENGTHS = Space(
    _numbers,
    {
        "n": (*range(1, 41), 63, 64, 65, 96, 97, 121, 128, 132, 242, 720, 2**12, 50257),
        "target": (None, *range(1, 14), 32, 64, 720),
    },
).search(n=(1, 3000), target=(1, 100))
RESETS = Space(
    _numbers,
    {"tensors": tuple(range(1, 13)), "reset_after": (*range(13), 23, 24, 35, 100), "passes": (0, 1, 2, 3, 5, 13, 40)},
    combined=(("tensors", "reset_after", "passes"),),
).search(tensors=(1, 20), reset_after=(0, 60), passes=(0, 60))
BITS = Space(
    _bits,
    {
        "chunks": (1, 2, 7),
        "k": (1, 2, 3, 7, 64),
        "chunk": (1, 2, 3, 4, 5, 15, 16, 17, 64, 100, 4096, 65536),
        "value_bits": (None, 1, 2, 8, 64),
        "positions": (None, "one by one", "as a set"),
    },
    combined=(("k", "chunk", "positions"),),
)


def _alike_amplitudes() -> list[Given]:
    """One entry of every chunk: amplitudes are single products, and many are equal but for the sign.

    Chunks are odd: in even ones the first amplitude equals others, though not in its bits.
    """
    found = []
    for chunk, place, k in ((9, 4, 3), (9, 0, 1), (15, 2, 4), (15, 7, 3), (25, 7, 6), (63, 10, 11), (63, 31, 20)):
        workers = np.zeros((2, 2, 2 * chunk))
        workers[:, 0, place], workers[0, 1, chunk + place] = 3.0, -1.0
        found += [Given({"workers": workers.astype(dtype)}, {"k": k, "chunk": chunk, "beta": 1.0}) for dtype in DTYPES]
    return found


def _many_updates() -> list[Given]:
    """The ends of the ranges, where the others are small."""
    ends = ((10**4, 0, 1), (1, 10**6, 3), (1, 0, 10**4), (2, 3, 10**4))
    return [Given({}, dict(zip(("tensors", "reset_after", "passes"), end, strict=True))) for end in ends]


def _long_chunks() -> list[Given]:
    """More entries than the chunk that is the default, and one bin, which is none."""
    rows = stack_of("normal", 2, 4097, "float32", 5)
    return [Given({"workers": np.stack([rows, rows[::-1]], 1)}, {"k": k}) for k in (1, 3)]


DEFINITIONS = {
    "binned": Definition(
        BINS,
        called("values"),
        lowcomm.of_bins,
        examples=_between_bins,
        refused=beyond(bins=(2, 256), reach=(0.01, 100.0)),
    ),
    "chunk_length": Definition(LENGTHS, _counted("length"), lowcomm.of_length, refused={"n": (0,), "target": (0,)}),
    "demo_round": Definition(
        DEMO,
        _with_basis,
        lowcomm.of_demo,
        examples=_alike_amplitudes,
        refused={
            **beyond(beta=(0.0, 1.0)),
            "k": (0, Of("chunk + 1", lambda chunk: (chunk or 64) + 1)),
            "chunk": (0, 4097, Of("n + 1", lambda chunk, chunks: chunks * (chunk or 64) + 1)),
        },
    ),
    "diloco_round": Definition(
        OUTER,
        _outer_rounds,
        lowcomm.in_rounds(lowcomm.of_outer_round),
        refused={
            **beyond(outer_lr=(0.0, 100.0), mu=(0.0, 1.0), blend=(0.0, 1.0)),
            "start": (-1, Of("n", lambda n: n)),
            "stop": (0, Of("n + 1", lambda n: n + 1)),
        },
    ),
    "e3m0": Definition(POWERS, called("values"), lowcomm.of_powers, examples=_halves),
    "loco_round": Definition(
        LOCO,
        _with_gradients,
        lowcomm.in_rounds(lowcomm.of_low_bit_round),
        refused=beyond(step=STEPS, kept=STEPS, bits=(2, 16), fresh=(0.0, 1.0)),
    ),
    "noloco_round": Definition(
        PAIRS,
        _pair_rounds,
        lowcomm.in_rounds(lowcomm.of_pair_round),
        examples=_pair_ends,
        refused=beyond(momentum=(0.0, 1.0), outer_lr=(0.0, 100.0), pull=(0.0, 100.0)),
    ),
    "quantised_reduce_scatter": Definition(
        SCATTER,
        called("result", "traffic"),
        lowcomm.of_scattered,
        refused={**beyond(step=STEPS, bits=(2, 16)), "node": (0, Of("P + 1", lambda P: P + 1))},
    ),
    "quorum_merge": Definition(MERGED, called("result", "traffic"), lowcomm.of_merge),
    "resets": Definition(
        RESETS,
        called("resets"),
        lowcomm.of_resets,
        examples=_many_updates,
        refused=beyond(tensors=(1, 10**4), reset_after=(0, 10**6), passes=(0, 10**4)),
    ),
    "sparse_bits": Definition(
        BITS,
        _counted("bits"),
        lowcomm.of_bits,
        examples=lambda: [Given({}, {"n": 2 * 65537, "k": 1, "chunk": 65537})],
        refused={**beyond(value_bits=(1, 64)), "chunk": (0,), "k": (0, 65537)},
    ),
    "sparseloco_round": Definition(
        SPARSE,
        _with_gradients,
        lowcomm.in_rounds(lowcomm.of_sparse_round),
        examples=_long_chunks,
        refused={
            **beyond(beta=(0.0, 1.0)),
            "bins": (-1, 1, 257),
            "k": (0, Of("chunk + 1", lambda chunk: (chunk or 4096) + 1)),
        },
    ),
}
