"""What the book says of training on a cluster: `Cluster`, `MethodCost`, `ClusterPlan`, `plan`.

A method costs what its schedule, or its claim on bytes, says. What it does to the number of steps is proved, or it is
listed apart and not ranked. Figures are of one step of all ranks, with no overlap of computing and sending.
"""

import json
import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from functools import lru_cache
from types import ModuleType
from typing import Any

from commbounds.columns import Registry
from commbounds.theory.book import claims
from commbounds.theory.claim import Claim, Standing
from commbounds.theory.cost import Cost as CostOfMessages
from commbounds.theory.cost import Machine
from commbounds.theory.schedules import EXACT, IN_NODES, SCHEDULES, evaluated
from commbounds.theory.symbols import expression

INDEX = 4
"""Bytes of an index of a sparse vector, as the implementations send it."""


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

    @property
    def sparse_word(self) -> float:
        """Bytes of a word of a sparse vector: half of them are indices."""
        return (self.item + INDEX) / 2

    def matrices(self) -> tuple[list[tuple[int, int]], int]:
        """Tensors as matrices of more than `rank` rows and columns, first axis by others; and entries of the rest."""
        flat = [(shape[0], math.prod(shape[1:])) for shape in self.shapes]
        large = [pair for pair in flat if min(pair) > self.rank]
        return large, self.entries - sum(m * n for m, n in large)


@dataclass(frozen=True)
class MethodCost:
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
class ClusterPlan:
    """Methods that the book ranks, the quickest to a target first, and those that it lists."""

    cluster: Cluster
    ranked: tuple[MethodCost, ...]
    listed: tuple[MethodCost, ...]

    def target(self, row: MethodCost) -> float:
        """Time to a target over that of the quickest exact all-reduce; above 1 is slower."""
        return (row.slowdown or math.nan) / self.worth(row)

    def worth(self, row: MethodCost) -> float:
        """The slow-down up to which a method reaches a target before the quickest exact all-reduce does."""
        exact = min(self.cluster.compute + r.seconds for r in self.ranked if r.slowdown == 1)
        step = self.cluster.compute + row.seconds
        return 1.0 if not exact else exact / step if step else math.inf

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
            worth = self.worth(row)
            more = {
                "time_to_target": row.slowdown and self.target(row),
                "worth_up_to": None if math.isinf(worth) else worth,
            }
            rows["listed" if row.slowdown is None else "ranked"].append(asdict(row) | more)
        verdicts = {name: claims()[name].stands.value for r in (*self.ranked, *self.listed) for name in r.claims}
        told = {"cluster": asdict(self.cluster), "pareto": self.pareto(), **rows, "claims": verdicts}
        return json.dumps(told, indent=1, allow_nan=False, default=str)


def plan(cluster: Cluster) -> ClusterPlan:
    """What every method costs on the cluster, and what is proved of its steps.

    Examples
    --------
    >>> cluster = Cluster(ranks=8, shapes=((1000, 1000),), compute=0.1)
    >>> [row.method for row in plan(cluster).ranked][:2]
    ['rabenseifner', 'ring']
    """
    rows = [row for methods in METHODS.values() for row in methods(cluster)]
    ranked = [row for row in rows if row.slowdown is not None]
    found = ClusterPlan(cluster, tuple(ranked), tuple(row for row in rows if row.slowdown is None))
    return replace(found, ranked=tuple(sorted(ranked, key=lambda r: (found.target(r), r.seconds))))


def sensitivities(cluster: Cluster) -> dict[str, tuple[str, str]]:
    """Input -> the quickest method at half of it and at twice as much, as far as that is allowed."""
    best = {}
    for name in ("bandwidth", "latency", "compute", "density", "heterogeneity"):
        value = getattr(cluster, name)
        low = max(value / 2, 1.0) if name == "heterogeneity" else value / 2 or value  # of the least number, itself
        high = min(value * 2, 1.0) if name == "density" else value * 2
        first, second = (plan(replace(cluster, **{name: v})).ranked[0].method for v in (low, high))
        best[name] = first, second
    return best


def best_of(cluster: Cluster) -> tuple[str, float, str, float, str]:
    """The quickest method, its seconds a step, the one after it, how much slower that is, and the best to try.

    The last is the method without a proof that is worth the largest slow-down.
    """
    found = plan(cluster)
    first, second = found.ranked[:2]
    trial = max(found.listed, key=found.worth)
    return (
        first.method,
        cluster.compute + first.seconds,
        second.method,
        found.target(second) / found.target(first),
        trial.method,
    )


def bests(clusters: Sequence[Cluster]) -> list[tuple[str, float, str, float, str]]:
    """`best_of` of each."""
    return [best_of(cluster) for cluster in clusters]


# --- what methods are made of ------------------------------------------------------------------------------------


def method_cost(
    method: str,
    title: str,
    cost: tuple[float, float],
    slowdown: float | None,
    memory: float,
    names: Sequence[str],
    why: str = "",
) -> MethodCost:
    """A row of a plan, with what its claims assume.

    Raises
    ------
    ValueError
        A claim of these names does not hold as it stands.
    """
    known = [claims()[name] for name in names]
    for claim in known:
        if claim.stands is not Standing.HOLDS:
            raise ValueError(f"{claim.name} does not hold: {method} cannot rest on it")
    needs = dict.fromkeys(h.statement for claim in known for h in claim.assumes)
    return MethodCost(method, title, *cost, slowdown, memory, tuple(names), tuple(needs), why)


Cost = tuple[float, float]
"""Bytes and seconds."""


def schedule_cost(cluster: Cluster, name: str, words: int, selected: int = 1, bytes_a_word: float = 0.0) -> Cost | None:
    """Bytes on the critical path of a schedule, and seconds; None where its conditions are not met.

    Schedules in nodes are of equal blocks: vectors are padded to a multiple of the ranks.
    """
    nodes = cluster.nodes if name in IN_NODES else 1
    found = _moved(
        name, cluster.ranks, -(-words // cluster.ranks) * cluster.ranks if nodes > 1 else words, selected, nodes
    )
    if found is None:
        return None
    word = bytes_a_word or cluster.item
    machine = Machine(
        cluster.latency, word / cluster.bandwidth, 0, cluster.latency_within, word / cluster.bandwidth_within
    )
    return float(found.words) * word, float(found.time(machine))


@lru_cache(maxsize=4096)
def _moved(name: str, ranks: int, words: int, selected: int, nodes: int) -> CostOfMessages | None:
    """What a schedule moves, whatever the links are."""
    schedule = IN_NODES[name] if nodes > 1 else SCHEDULES.get(name) or EXACT[name]
    sizes = {"P": ranks, "n": words, "k": selected, "nodes": nodes, "teams": 1, "kept": -(-selected // ranks)}
    return evaluated(schedule, sizes)[0]


def sparse_cost(cluster: Cluster, name: str) -> Cost | None:
    """`schedule_cost` of a schedule of sparse vectors."""
    return schedule_cost(cluster, name, cluster.entries, cluster.selected, cluster.sparse_word)


def gathered_cost(cluster: Cluster, bits: float) -> tuple[float, float]:
    """Every rank's message of so many bits to all others, by Bruck's all-gather."""
    size = math.ceil(bits / 8)
    found = schedule_cost(cluster, "allgather_bruck", cluster.ranks * size, bytes_a_word=1.0)
    if found is None:
        raise ValueError(f"there is no schedule for an all-gather of {cluster.ranks} ranks")
    return found


def summed_cost(cluster: Cluster, words: int) -> tuple[float, float]:
    """The quicker of a ring and Rabenseifner's all-reduce of so many words."""
    found = (schedule_cost(cluster, name, words) for name in ("ring", "rabenseifner"))
    return min((cost for cost in found if cost), key=lambda cost: cost[1])


def bound_of(name: str, **values: Any) -> float:
    """The bound of a claim, as a float."""
    return float(claims()[name].bound(**values))


@lru_cache(maxsize=4096)
def largest_step(claim: Claim, condition: str, **values: Any) -> float:
    """The largest step size, in units of 1/L, that a quadratic condition of the claim admits."""
    import sympy as sp

    relation = next(h.condition for h in claim.assumes if h.name == condition)
    symbols = {s.name: s for s in relation.free_symbols}
    given = {symbols[name]: expression(name, value) for name, value in values.items() if name in symbols}
    step = symbols["stepsize"]
    # exact numbers, so that nothing cancels where a contraction is close to none
    square, linear, constant = sp.Poly((relation.lhs - relation.rhs).subs(given), step).all_coeffs()[-3:]
    root = (-linear + sp.sqrt(linear**2 - 4 * square * constant)) / (2 * square)
    return float(root.evalf(30))


def _in_column(column: str, found: ModuleType) -> dict[str, Callable[[Cluster], Iterator[MethodCost]]]:
    return {column: found.methods} if hasattr(found, "methods") else {}


METHODS: Registry[Callable[[Cluster], Iterator[MethodCost]]] = Registry(
    "methods", "theory", "plans", _in_column, written=False
)
"""Column -> `methods` of its ``theory/NAME/plans.py``: what its methods cost on a cluster."""
