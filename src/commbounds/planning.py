"""What the book says of training on a cluster: `Cluster`, `Plan`, `plan`.

A method costs what its schedule, or its claim on bytes, says. What it does to the number of steps is proved, or it is
listed apart and not ranked. Figures are of one step of all ranks, with no overlap of computing and sending.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from fractions import Fraction
from typing import Any

from commbounds.theory import Claim, Standing, claims
from commbounds.theory.cost import Machine
from commbounds.theory.schedules import EXACT, IN_NODES, SCHEDULES

_INDEX = 4
"""Bytes of an index of a sparse vector, as the implementations send it."""
_GROUP, _META = 128, 16
"""Entries of a group of the two-step all-reduce, and bits of its scale and of its zero point."""


@dataclass(frozen=True)
class Cluster:
    """A cluster, and what is trained on it.

    Parameters
    ----------
    ranks : int
        Processes that hold a gradient each, at least 1.
    shapes : tuple of tuples of int
        Of the model's tensors; methods for matrices send all others as they are.
    latency, bandwidth : float
        Seconds a step of messages, and bytes a second of a rank's link, each way.
    item : int
        Bytes of an entry.
    nodes : int
        Nodes of equally many ranks; 1 where links do not differ.
    latency_within, bandwidth_within : float
        The same within a node.
    compute : float
        Seconds that a rank computes in a step.
    density : float
        Share of the entries that a sparse method keeps.
    rank : int
        Of low-rank methods.
    period : int
        Steps between two averages of local SGD.
    heterogeneity : float
        L~/L, at least 1: the root of the mean squared smoothness of the workers' functions over that of their mean.
    """

    ranks: int
    shapes: tuple[tuple[int, ...], ...]
    latency: float = 5e-6
    bandwidth: float = 12.5e9
    item: int = 4
    nodes: int = 1
    latency_within: float = 1e-6
    bandwidth_within: float = 3e11
    compute: float = 0.0
    density: float = 0.01
    rank: int = 4
    period: int = 16
    heterogeneity: float = 1.0

    def __post_init__(self) -> None:
        for name in ("ranks", "item", "nodes", "rank", "period"):
            if not isinstance(getattr(self, name), int) or getattr(self, name) < 1:
                raise ValueError(f"{name} must be an integer that is at least 1, got {getattr(self, name)!r}")
        for name, low in (("latency", 0.0), ("latency_within", 0.0), ("compute", 0.0), ("heterogeneity", 1.0)):
            if not low <= getattr(self, name) < math.inf:
                raise ValueError(f"{name} must be finite and at least {low:g}, got {getattr(self, name)}")
        for name in ("bandwidth", "bandwidth_within"):
            if not 0 < getattr(self, name) < math.inf:
                raise ValueError(f"{name} must be finite and positive, got {getattr(self, name)}")
        if not 0 < self.density <= 1:
            raise ValueError(f"density must be in (0, 1], got {self.density}")
        if self.ranks % self.nodes:
            raise ValueError(f"nodes must divide ranks = {self.ranks}, got {self.nodes}")
        if not self.shapes or any(not s or any(not isinstance(d, int) or d < 1 for d in s) for s in self.shapes):
            raise ValueError(f"shapes must be of tensors with at least one entry, got {self.shapes!r:.80}")

    @property
    def entries(self) -> int:
        """Entries of all tensors together."""
        return sum(math.prod(shape) for shape in self.shapes)

    @property
    def selected(self) -> int:
        """Entries that a sparse method keeps, of all tensors as one vector."""
        return max(1, round(self.density * self.entries))

    def matrices(self) -> tuple[list[tuple[int, int]], int]:
        """Tensors as matrices of more than `rank` rows and columns, first axis by others; and entries of the rest."""
        flat = [(shape[0], math.prod(shape[1:])) for shape in self.shapes]
        large = [pair for pair in flat if min(pair) > self.rank]
        return large, self.entries - sum(m * n for m, n in large)


@dataclass(frozen=True)
class Row:
    """What one method costs, and what is proved of it.

    Parameters
    ----------
    method, title : str
        Its name, and what it is.
    bytes : float
        Of the busiest rank in a step, on the critical path.
    seconds : float
        That a step's messages take.
    slowdown : float or None
        Steps over those of exact gradient descent, proved for every smooth function; None where no claim bounds them.
    memory : float
        Bytes that a rank keeps besides weights and gradient.
    claims : tuple of str
        That cost and slow-down rest on.
    needs : tuple of str
        What these claims assume, in words.
    why : str
        Why the method is not ranked, or what a reader must know besides.
    """

    method: str
    title: str
    bytes: float
    seconds: float
    slowdown: float | None
    memory: float
    claims: tuple[str, ...]
    needs: tuple[str, ...]
    why: str = ""


@dataclass(frozen=True)
class Plan:
    """Methods that the book ranks, the quickest to a target first, and those that it lists."""

    cluster: Cluster
    ranked: tuple[Row, ...]
    listed: tuple[Row, ...]

    def target(self, row: Row) -> float:
        """Time to a target over that of the quickest exact all-reduce; above 1 is slower."""
        return (row.slowdown or math.nan) / self.worth(row)

    def worth(self, row: Row) -> float:
        """The slow-down up to which a method reaches a target before the quickest exact all-reduce does."""
        exact = min(self.cluster.compute + r.seconds for r in self.ranked if r.slowdown == 1)
        return exact / (self.cluster.compute + row.seconds) if exact else 1.0

    def pareto(self) -> tuple[str, ...]:
        """Methods of which none other has both a shorter step and a smaller slow-down."""
        return tuple(
            row.method
            for row in self.ranked
            if not any(
                (o.seconds, o.slowdown) != (row.seconds, row.slowdown)
                and o.seconds <= row.seconds
                and (o.slowdown or 0) <= (row.slowdown or 0)
                for o in self.ranked
            )
        )

    def as_json(self) -> str:
        """All of it as JSON."""
        rows: dict[str, list[dict[str, Any]]] = {"ranked": [], "listed": []}
        for row in (*self.ranked, *self.listed):
            more = {"time_to_target": row.slowdown and self.target(row), "worth_up_to": self.worth(row)}
            rows["listed" if row.slowdown is None else "ranked"].append(asdict(row) | more)
        verdicts = {name: claims()[name].stands.value for r in (*self.ranked, *self.listed) for name in r.claims}
        told = {"cluster": asdict(self.cluster), "pareto": self.pareto(), **rows, "claims": verdicts}
        return json.dumps(told, indent=1, allow_nan=False, default=str)


def plan(cluster: Cluster) -> Plan:
    """What every method costs on the cluster, and what is proved of its steps.

    Examples
    --------
    >>> cluster = Cluster(ranks=8, shapes=((1000, 1000),), bandwidth=1e9)
    >>> plan(cluster).ranked[0].method
    'rabenseifner'
    """
    rows = [row for method in _METHODS for row in method(cluster)]
    ranked = [row for row in rows if row.slowdown is not None]
    found = Plan(cluster, tuple(ranked), tuple(row for row in rows if row.slowdown is None))
    return replace(found, ranked=tuple(sorted(ranked, key=lambda r: (found.target(r), r.seconds))))


def sensitivities(cluster: Cluster) -> dict[str, tuple[str, str]]:
    """Input -> the quickest method at half of it and at twice as much, as far as that is allowed."""
    best = {}
    for name in ("bandwidth", "latency", "compute", "density", "heterogeneity"):
        value = getattr(cluster, name)
        low = max(value / 2, 1.0) if name == "heterogeneity" else value / 2
        high = min(value * 2, 1.0) if name == "density" else value * 2
        first, second = (plan(replace(cluster, **{name: v})).ranked[0].method for v in (low, high))
        best[name] = first, second
    return best


# --- what methods are made of ------------------------------------------------------------------------------------


def _row(
    method: str,
    title: str,
    cost: tuple[float, float],
    slowdown: float | None,
    memory: float,
    names: Sequence[str],
    why: str = "",
) -> Row:
    known = [claims()[name] for name in names]
    for claim in known:
        if claim.stands is not Standing.HOLDS:
            raise ValueError(f"{claim.name} does not hold: {method} cannot rest on it")
    needs = dict.fromkeys(h.statement for claim in known for h in claim.assumes)
    return Row(method, title, *cost, slowdown, memory, tuple(names), tuple(needs), why)


Cost = tuple[float, float]
"""Bytes and seconds."""


def _schedule(cluster: Cluster, name: str, words: int, selected: int = 1, bytes_a_word: float = 0.0) -> Cost | None:
    """Bytes on the critical path of a schedule, and seconds; None where its conditions are not met.

    Schedules in nodes are of equal blocks: vectors are padded to a multiple of the ranks.
    """
    from commbounds._cost import evaluated

    in_nodes = cluster.nodes > 1 and name in IN_NODES
    schedule = IN_NODES[name] if in_nodes else SCHEDULES.get(name) or EXACT[name]
    words = -(-words // cluster.ranks) * cluster.ranks if in_nodes else words
    sizes = {"P": cluster.ranks, "n": words, "k": selected, "nodes": cluster.nodes if in_nodes else 1}
    found, _ = evaluated(schedule, sizes | {"teams": 1, "kept": -(-selected // cluster.ranks)})
    if found is None:
        return None
    word = bytes_a_word or cluster.item
    machine = Machine(
        cluster.latency, word / cluster.bandwidth, 0, cluster.latency_within, word / cluster.bandwidth_within
    )
    return float(found.words) * word, float(found.time(machine))


def _gathered(cluster: Cluster, bits: float) -> tuple[float, float]:
    """Every rank's message of so many bits to all others, by Bruck's all-gather."""
    size = math.ceil(bits / 8)
    found = _schedule(cluster, "allgather_bruck", cluster.ranks * size, bytes_a_word=1.0)
    if found is None:
        raise ValueError(f"there is no schedule for an all-gather of {cluster.ranks} ranks")
    return found


def _summed(cluster: Cluster, words: int) -> tuple[float, float]:
    """The quicker of a ring and Rabenseifner's all-reduce of so many words."""
    found = (_schedule(cluster, name, words) for name in ("ring", "rabenseifner"))
    return min((cost for cost in found if cost), key=lambda cost: cost[1])


def _bound(name: str, **values: Any) -> float:
    return float(claims()[name].bound(**values))


def _largest_step(claim: Claim, condition: str, **values: Any) -> float:
    """The largest step size, in units of 1/L, that a quadratic condition of the claim admits."""
    import sympy as sp

    relation = next(h.condition for h in claim.assumes if h.name == condition)
    symbols = {s.name: s for s in relation.free_symbols}
    given = {symbols[name]: sp.nsimplify(value) for name, value in values.items() if name in symbols}
    step = symbols["stepsize"]
    # exact numbers, so that nothing cancels where a contraction is close to none
    square, linear, constant = sp.Poly((relation.lhs - relation.rhs).subs(given), step).all_coeffs()[-3:]
    root = (-linear + sp.sqrt(linear**2 - 4 * square * constant)) / (2 * square)
    return float(root.evalf(30))


_EF21 = ("feedback.ef21.descent_sharp", "feedback.ef21.rate")


def _ef21(cluster: Cluster, error: Fraction | float) -> float:
    """Steps of EF21 over those of gradient descent, where a message loses at most this share of the square."""
    if not error:
        return 1.0
    claim = claims()[_EF21[0]]
    alpha = 1 - Fraction(error)
    return 1 / _largest_step(
        claim, "ef21_largest_step", alpha=alpha, smoothness=1, smoothness_apart=Fraction(cluster.heterogeneity)
    )


# --- the methods -------------------------------------------------------------------------------------------------


def _exact(cluster: Cluster) -> Iterator[Row]:
    titles = {
        "ring": "dense ring all-reduce",
        "recursive_doubling": "dense all-reduce by recursive doubling",
        "rabenseifner": "dense all-reduce by halving and doubling",
    }
    if cluster.nodes > 1:
        titles["rabenseifner_near"] = "halving and doubling, neighbours first"
        titles["hierarchical"] = "rings within, then between nodes"
    for name, title in titles.items():
        cost = _schedule(cluster, name, cluster.entries)
        column = name.removesuffix("_near")
        names = [f"dense.{column}.sum", f"dense.{column}.critical_path"]
        known = [n for n in names if n in claims()]
        if cost is not None:
            why = "" if known else "Its sum is exact; no claim of the book is about it, and its cost is its schedule's."
            yield _row(name, title, cost, 1.0 if known else None, 0, known, why)
    for group in range(2, cluster.ranks):
        rounds = round(math.log(cluster.ranks, group))
        if rounds > 1 and group**rounds == cluster.ranks:
            words = _bound("moshpit.traffic.critical_path", M=group, n=cluster.entries, rounds=rounds)
            steps = _bound("moshpit.traffic.steps", M=group, rounds=rounds)
            size = words * cluster.item
            yield _row(
                f"moshpit_{group}",
                f"Moshpit all-reduce: {rounds} rounds in groups of {group}",
                (size, steps * (group - 1) * cluster.latency + size / cluster.bandwidth),
                1.0,
                0,
                ("moshpit.grid.exact", "moshpit.traffic.critical_path", "moshpit.traffic.steps"),
            )


def _sparse(cluster: Cluster) -> Iterator[Row]:
    n, k = cluster.entries, cluster.selected
    entry = (cluster.item + _INDEX) / 2  # a word of a sparse vector: half of them are indices
    error = 1 - Fraction(k, n)
    cost = _schedule(cluster, "topk_allgather", n, k, entry)
    if cost is not None:
        names = ("sparsifiers.topk.contraction", "sparse.topka.critical_path", *_EF21)
        memory = 2 * n * cluster.item
        yield _row("topk", "Top-K of every rank, gathered, with EF21", cost, _ef21(cluster, error), memory, names)
    p = Fraction(k, n)
    words = _bound("variance_reduced.marina.words", P=cluster.ranks, full_probability=p, k=k, n=n)
    claim = claims()["variance_reduced.marina.descent_sharp"]
    if k < n:
        step = _largest_step(
            claim,
            "marina_largest_step",
            omega=1 / p - 1,
            full_probability=p,
            P=cluster.ranks,
            smoothness=1,
            smoothness_apart=Fraction(cluster.heterogeneity),
        )
        size = words * entry
        seconds = math.ceil(math.log2(cluster.ranks)) * cluster.latency + size / cluster.bandwidth
        yield _row(
            "marina_randk",
            "Rand-K, gathered, with MARINA",
            (size, seconds),
            1 / step,
            n * cluster.item,
            ("variance_reduced.marina.descent_sharp", "variance_reduced.marina.words"),
            "Bytes are means: now and then all ranks send whole gradients.",
        )
    cost = _schedule(cluster, "oktopk", n, k, entry)
    if cost is not None:
        yield _row(
            "oktopk",
            "Ok-Topk, an ordinary iteration, upper end of its words",
            cost,
            None,
            n * cluster.item,
            ("oktopk.sent.ring", "oktopk.received.limited_inbound", "oktopk.sgd.gradient"),
            "Its bound on the gradient has xi, which a run has to measure (oktopk.sgd.gradient).",
        )
    for name, title in (("gtopk", "gTopk, a tree of Top-K sums"), ("spardl", "SparDL, Top-K of blocks")):
        cost = _schedule(cluster, name, n, k, entry)
        if cost is not None:
            yield _row(name, title, cost, None, n * cluster.item, (), "No claim bounds the steps that its losses cost.")


def _quantised(cluster: Cluster) -> Iterator[Row]:
    from commbounds.compressors.blockformats.elements import ELEMENTS

    n, bits = cluster.entries, 8 * cluster.item
    coded: list[tuple[str, str, str, dict[str, Any]]] = [
        ("sign", "signs and their mean magnitude", "quantizers.scaledsign", {}),
        ("nearest_power", "powers of two", "quantizers.nearestpower", {}),
        ("nvfp4", "NVFP4", "blockformats.nvfp4", {"block": 16}),
    ]
    for kind in ("e4m3", "e2m3", "e2m1"):
        element = ELEMENTS[kind]
        values = {
            "block": 32,
            "elementbits": element.width,
            "element_unit": element.unit,
            "overshoot": 2 - element.reach,
            "peak": int(2 * Fraction(2) ** element.emax / element.smallest),
        }
        name = f"mxfp{element.width}"
        coded.append((name, f"{name.upper()} ({kind.upper()})", "blockformats.microscaling", values))
    for name, title, subject, values in coded:
        wire, contraction = f"{subject}.wire", f"{subject}.contraction"
        error = claims()[contraction].bound(n=n, **values)
        size = _bound(wire, n=n, itembits=bits, **values)
        slowdown = _ef21(cluster, error if isinstance(error, Fraction) else float(error))
        yield _row(
            name, f"{title}, gathered, with EF21", _gathered(cluster, size), slowdown, 2 * n * cluster.item,
            (contraction, wire, *_EF21),
        )  # fmt: skip
    for width in (8, 4):
        groups = math.ceil(n / _GROUP)
        wire = claims()["flashcomm.groupquant.wire"].bound(n=n, width=width, groups=groups, metabits=_META)
        size = _bound("flashcomm.twostep.bytes", P=cluster.ranks, coded_bytes=Fraction(wire, 8))
        steps = _bound("flashcomm.twostep.steps", P=cluster.ranks)
        yield _row(
            f"twostep_int{width}",
            f"two-step all-reduce of int{width} in groups of {_GROUP}",
            (size, steps * cluster.latency + size / cluster.bandwidth),
            None,
            0,
            (
                "flashcomm.groupquant.wire",
                "flashcomm.twostep.bytes",
                "flashcomm.twostep.steps",
                "flashcomm.twostep.error",
            ),
            f"Off by half a scale, (max - min)/{2**width - 1} of a group, a coding; no claim says what that costs.",
        )


def _low_rank(cluster: Cluster) -> Iterator[Row]:
    matrices, others = cluster.matrices()
    if not matrices:
        return
    r, n = cluster.rank, cluster.entries
    words = sum(r * (m + c) for m, c in matrices) + others
    error = max(claims()["lowrank.lowrank.contraction"].bound(m=m, n=c, r=r) for m, c in matrices)
    size = sum(_bound("lowrank.lowrank.wire", m=m, n=c, r=r, itembits=8 * cluster.item) for m, c in matrices)
    yield _row(
        "svd",
        f"best approximation of rank {r}, gathered, with EF21",
        _gathered(cluster, size + 8 * cluster.item * others),
        _ef21(cluster, error),
        2 * n * cluster.item,
        ("lowrank.lowrank.contraction", "lowrank.lowrank.wire", *_EF21),
        "Needs a singular value decomposition of every matrix in every step.",
    )
    yield _row(
        "powersgd",
        f"PowerSGD of rank {r}, two sums",
        _summed(cluster, words),
        None,
        n * cluster.item,
        ("lowrank.powersgd.contraction", "lowrank.powersgd.wire"),
        "With a fresh sketch it contracts in expectation; EF21's claims ask that every draw contracts.",
    )
    kept = [max(1, round(cluster.density * m)) for m, _ in matrices]
    words = sum(m * r + k * c for (m, c), k in zip(matrices, kept, strict=True)) + others
    yield _row(
        "arctopk",
        f"ARC-Top-K with sketches of rank {r}, two sums",
        _summed(cluster, words),
        None,
        2 * n * cluster.item,
        ("arctopk.allreduce.contraction_rho", "arctopk.allreduce.words"),
        "It contracts in expectation: by 1 - K/m on orthogonal rows, on others by less.",
    )


def _local(cluster: Cluster) -> Iterator[Row]:
    size, seconds = _summed(cluster, cluster.entries)
    yield _row(
        "local_sgd",
        f"local SGD or DiLoCo, an average every {cluster.period} steps",
        (size / cluster.period, seconds / cluster.period),
        None,
        2 * cluster.entries * cluster.item,
        ("lowcomm.diloco.words", "lowcomm.local.drift_sharp"),
        "Workers drift apart by up to the square of the period; what that does to the steps depends on the functions.",
    )


_METHODS: tuple[Callable[[Cluster], Iterator[Row]], ...] = (_exact, _sparse, _quantised, _low_rank, _local)


def loss(rate: float, entries: int, ranks: int) -> Mapping[str, float]:
    """Under packet loss: the proved drift of two replicas, in variances of an update, and entries that arrive."""
    if not 0 <= rate < 1:
        raise ValueError(f"loss must be in [0, 1), got {rate}")
    return {
        "drift": _bound("packetloss.drift.pair_limit", p=rate, sigma=1.0),
        "received": _bound("packetloss.volume.received", p=rate, coordinates=entries, N=ranks),
    }
