"""What is judged: `Codec`, `Stateful`, `AllReduce`; somebody's code, what it claims, and for which inputs."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, ClassVar

import ml_dtypes
import numpy as np

from commbounds.array_types import Array
from commbounds.compressors.base import checked_choice, checked_flag, checked_real, shown
from commbounds.verify.conformance.claim import SubjectClaim

DTYPES: Mapping[str, np.dtype[Any]] = MappingProxyType(
    {
        "float16": np.dtype(np.float16),
        "bfloat16": np.dtype(ml_dtypes.bfloat16),
        "float32": np.dtype(np.float32),
        "float64": np.dtype(np.float64),
    }
)
"""What inputs may be made of."""
RANKS = tuple(range(1, 10))
"""Numbers of ranks that a collective is tried with; 16 as well beyond the quick budget."""
_MEANT = {
    "claims": "a list or tuple of objects such as Unbiased()",
    "shape": "'vector', 'matrix' or a tuple",
    "waivers": "a mapping from checks to reasons",
    "expected_failures": "a mapping from claims to reasons",
}


def checked_limit(time_limit: Any) -> float:
    """The seconds that a call may take, which have to be a positive number; infinite for no limit."""
    limit = checked_real("time_limit", time_limit)
    if not limit > 0.0:
        raise ValueError(f"time_limit must be positive, got {shown(time_limit)}")
    return limit


@dataclass(frozen=True, eq=False, kw_only=True)
class Subject:
    """What all subjects share.

    Parameters
    ----------
    claims : sequence of SubjectClaim
        What it is held to. What is not claimed is not judged.
    name : str
        What the report calls it; the callable's name by default.
    shape : "vector", "matrix" or tuple of int
        Vectors of any length, matrices of any shape, or arrays of this shape alone.
    dtype : str
        Of the input, and of the output: float16, bfloat16, float32 or float64.
    multiple_of : int
        Vectors have a length, matrices a number of columns, that is a multiple of it.
    magnitudes : (low, high)
        The claims are made for arrays whose entries are zero or of a magnitude in [low, high].
    admits : callable (array) -> bool, or None
        What else is required of an input; the other inputs are not tried.
    waivers : mapping of str to str
        Universal checks that it is not held to, and claims, as they print, that need not be judged, each with the
        reason. One that is not needed fails.
    expected_failures : mapping of str to str
        Claims and universal checks that are known to fail, as they print, each with the reason. One that passes fails.
    time_limit : float
        Seconds that a call may take; the first one, which may have to compile, ten times as many, up to 50.
    effort : float
        Share of a budget's calls that are made; below 1 for subjects whose calls are slow.
    origin : str
        ``module:subject`` where it was loaded from, so that reproductions can be run.
    outside : Remote or None
        The other process that it runs in; set by `executable` and `isolated`.
    """

    name: str = ""
    shape: str | tuple[int, ...] = "vector"
    dtype: str = "float32"
    multiple_of: int = 1
    magnitudes: tuple[float, float] = (0.0, float("inf"))
    admits: Callable[[Array], bool] | None = None
    waivers: Mapping[str, str] = field(default_factory=dict)
    expected_failures: Mapping[str, str] = field(default_factory=dict)
    time_limit: float = 30.0
    effort: float = 1.0
    origin: str = ""
    outside: Any = None

    kind: ClassVar[str] = "subject"
    leading: ClassVar[int] = 0
    """Axes of a case before those of one input: steps, or ranks."""

    if TYPE_CHECKING:  # a field of the subclasses, where it comes second

        @property
        def claims(self) -> Sequence[SubjectClaim]: ...

    def __post_init__(self) -> None:
        self._require_types()
        object.__setattr__(self, "claims", tuple(self.claims))
        for claim in self.claims:
            if not isinstance(claim, SubjectClaim):
                raise TypeError(f"claims must be objects such as Unbiased(), got {claim!r}")
            if self.kind not in claim.about:
                raise ValueError(f"{claim} is a claim about {' or '.join(claim.about)}, not about a {self.kind}")
        names = [str(claim) for claim in self.claims]
        if len(set(names)) < len(names):
            raise ValueError(f"claims must differ, got {', '.join(names)}")
        checked_choice("dtype", self.dtype, tuple(DTYPES))
        if isinstance(self.shape, str):
            if self.shape not in ("vector", "matrix"):
                raise ValueError(f"shape must be 'vector', 'matrix' or a tuple, got {self.shape!r}")
        elif not self.shape or any(isinstance(s, bool) or not isinstance(s, int) or s < 1 for s in self.shape):
            raise ValueError(f"shape must hold positive integers, got {self.shape!r}")
        if isinstance(self.multiple_of, bool) or not isinstance(self.multiple_of, int) or self.multiple_of < 1:
            raise ValueError(f"multiple_of must be a positive integer, got {self.multiple_of!r}")
        low, high = (checked_real("magnitudes", end) for end in self.magnitudes)
        if not 0.0 <= low < high:
            raise ValueError(f"magnitudes must be (low, high) with 0 <= low < high, got {self.magnitudes!r}")
        checked_limit(self.time_limit)
        if not 0.0 < checked_real("effort", self.effort) <= 1.0:
            raise ValueError(f"effort must be in (0, 1], got {self.effort!r}")
        for name, what in (("waivers", "the waiver"), ("expected_failures", "that")):
            for about, reason in getattr(self, name).items():
                if not isinstance(reason, str) or not reason.strip():
                    raise ValueError(
                        f"{name} must say why: {what} of {about!r} must give its reason, got {shown(reason)}"
                    )
        if not self.name:
            object.__setattr__(self, "name", self._called())

    def _require_types(self) -> None:
        """Refuse what is no sequence, mapping, string or callable where one is meant."""
        for name, kind in (
            ("claims", list | tuple),
            ("shape", str | tuple),
            ("waivers", Mapping),
            ("expected_failures", Mapping),
        ):
            if not isinstance(getattr(self, name), kind):
                raise TypeError(f"{name} must be {_MEANT[name]}, got {shown(getattr(self, name))}")
        for name in ("name", "origin"):
            if not isinstance(getattr(self, name), str):
                raise TypeError(f"{name} must be a string, got {shown(getattr(self, name))}")
        if not (isinstance(self.magnitudes, list | tuple) and len(self.magnitudes) == 2):
            raise TypeError(f"magnitudes must be (low, high), got {shown(self.magnitudes)}")
        if self.admits is not None and not callable(self.admits):
            raise TypeError(f"admits must be callable, or None, got {shown(self.admits)}")
        if self.outside is not None and not hasattr(self.outside, "process"):
            raise TypeError(f"outside must be a process, or None, got {shown(self.outside)}")

    def _called(self) -> str:
        """A name from the callable."""
        return self.kind

    @property
    def numpy_dtype(self) -> np.dtype[Any]:
        """`dtype` as numpy's."""
        return DTYPES[self.dtype]

    @property
    def ndim(self) -> int:
        """Axes of one input."""
        return len(self.shape) if isinstance(self.shape, tuple) else 1 + (self.shape == "matrix")

    def multiple(self, P: int) -> int:
        """What the last axis of one input is a multiple of, where P ranks bring one each."""
        return self.multiple_of

    def takes(self, x: Array) -> bool:
        """Whether a case's array is one that the claims are made for."""
        if x.ndim != self.leading + self.ndim or x.size == 0 or x.shape[-1] % self.multiple(len(x)):
            return False
        if isinstance(self.shape, tuple) and x.shape[self.leading :] != self.shape:
            return False
        if self.magnitudes != (0.0, float("inf")):
            sizes = np.abs(x.astype(np.float64))
            nonzero = sizes[sizes > 0.0]
            if nonzero.size and (nonzero.min() < self.magnitudes[0] or nonzero.max() > self.magnitudes[1]):
                return False
        return self.admits is None or bool(self.admits(x))

    def loaded_from(self, origin: str) -> Subject:
        """The same, with its origin."""
        return replace(self, origin=origin)


def _require_call(name: str, function: Any, *given: str) -> None:
    """Refuse what cannot be called with what the kit hands over, where its signature is known.

    Raises
    ------
    TypeError
        It is not callable, or its signature takes something else.
    """
    if not callable(function):
        raise TypeError(f"{name} must be callable, got {shown(function)}")
    try:
        signature = inspect.signature(function)
    except (TypeError, ValueError):  # a builtin without one
        return
    try:
        signature.bind(*given)
    except TypeError:
        raise TypeError(
            f"{name} must take what it is given: {name} is called as {name}({', '.join(given)}), "
            f"which {_name_of(function, name)}{signature} does not take"
        ) from None


def parameters_of(function: Any) -> Mapping[str, inspect.Parameter]:
    """A function's parameters by their names; none where they cannot be known, as of some builtins."""
    try:
        return inspect.signature(function).parameters
    except (TypeError, ValueError):
        return {}


def _name_of(function: Any, default: str) -> str:
    return str(getattr(function, "__name__", None) or type(function).__name__ or default)


@dataclass(frozen=True, eq=False)
class Codec(Subject):
    """A compressor of single arrays, seen from outside: what comes out for what goes in.

    Parameters
    ----------
    roundtrip : callable (x, seed) -> y
        Compresses and decompresses. `x` is a numpy array (adapters take care of others), `seed` an integer in
        [0, 2^31) that fixes all randomness. If it has a parameter ``uniforms``, it is also called with an array of
        uniforms in [0, 1), one an entry, that replace its randomness: its law is then read off, not sampled.
    claims, name, shape, dtype, ... :
        See `Subject`.
    bits : callable (x, seed) -> int, or None
        Size of the payload in bits.
    intercept : bool
        Whether generators of numpy, Python and torch that it makes during a call, or that are global, may be given
        their words, so that the law of a subject without ``uniforms`` is read off, too. It is sampled all the same.

    Examples
    --------
    >>> import numpy as np
    >>> from commbounds.verify import conformance as cf
    >>> def half(x, seed):
    ...     return x / 2
    >>> subject = cf.Codec(half, [cf.Contraction(alpha=0.75)])
    >>> cf.check(subject).passed
    True
    """

    roundtrip: Callable[..., Any]
    claims: Sequence[SubjectClaim] = ()
    bits: Callable[[Array, int], int] | None = field(default=None, kw_only=True)
    intercept: bool = field(default=True, kw_only=True)

    kind: ClassVar[str] = "compressor"

    def __post_init__(self) -> None:
        if not isinstance(self.intercept, bool):
            raise TypeError(f"intercept must be True or False, got {self.intercept!r}")
        _require_call("roundtrip", self.roundtrip, "x", "seed")
        if self.bits is not None:
            _require_call("bits", self.bits, "x", "seed")
        super().__post_init__()

    def _called(self) -> str:
        return _name_of(self.roundtrip, "compressor")

    @property
    def injectable(self) -> bool:
        """Whether uniforms can be handed in."""
        return "uniforms" in parameters_of(self.roundtrip)


@dataclass(frozen=True, eq=False)
class Stateful(Subject):
    """A compressor with memory: error feedback, warm starts.

    Parameters
    ----------
    factory : callable (seed) -> step
        A new one, without memory. ``step(x) -> y`` takes one gradient and gives what goes out. Where `step` has an
        attribute ``residual`` (an array, or a callable that returns one), claims look at it.
    claims, name, shape, dtype, ... :
        See `Subject`.
    """

    factory: Callable[[int], Any]
    claims: Sequence[SubjectClaim] = ()

    kind: ClassVar[str] = "stateful compressor"
    leading: ClassVar[int] = 1

    def __post_init__(self) -> None:
        _require_call("factory", self.factory, "seed")
        super().__post_init__()

    def _called(self) -> str:
        return _name_of(self.factory, "stateful")


@dataclass(frozen=True, eq=False)
class AllReduceResult:
    """What an all-reduce leaves.

    Parameters
    ----------
    result : (P, ...) array
        What each rank ends with.
    sent, received : (P,) integers, or None
        Words that each rank sent and received.
    residual : (P, ...) array or None
        What each rank keeps back for later.
    """

    result: Array
    sent: Any = None
    received: Any = None
    residual: Any = None

    @classmethod
    def of(cls, answer: Any) -> AllReduceResult:
        """An answer whose parts may be anything yet: an AllReduceResult, (result, sent, received) or a result."""
        if isinstance(answer, cls):
            return answer
        return cls(*answer) if isinstance(answer, tuple) and len(answer) == 3 else cls(answer)


@dataclass(frozen=True, eq=False)
class AllReduce(Subject):
    """A collective: every rank brings an array, and ends with one.

    Parameters
    ----------
    run : callable (stack, seed) -> (P, n) array, (array, sent, received), or AllReduceResult
        `stack` is (P, n), one row a rank.
    claims, name, shape, dtype, ... :
        See `Subject`; `shape` and `multiple_of` are of one rank's array.
    ranks : sequence of int
        Numbers of ranks that it is tried with; from 1 to 9 by default, and 16 beyond the quick budget.
    op : "sum" or "mean"
        What it comes close to: claims about its error ask for it; `Sums` and `Averages` say it themselves.
    """

    run: Callable[[Array, int], Any]
    claims: Sequence[SubjectClaim] = ()
    ranks: Sequence[int] = field(default=RANKS, kw_only=True)
    op: str = field(default="sum", kw_only=True)

    kind: ClassVar[str] = "all-reduce"
    leading: ClassVar[int] = 1

    def __post_init__(self) -> None:
        _require_call("run", self.run, "stack", "seed")
        if not isinstance(self.ranks, Sequence | range) or isinstance(self.ranks, str | bytes):
            raise TypeError(f"ranks must be a sequence of positive integers, got {shown(self.ranks)}")
        object.__setattr__(self, "ranks", tuple(self.ranks))
        checked_choice("op", self.op, ("sum", "mean"))
        if not self.ranks or any(isinstance(P, bool) or not isinstance(P, int) or P < 1 for P in self.ranks):
            raise ValueError(f"ranks must hold positive integers, got {self.ranks!r}")
        super().__post_init__()

    def _called(self) -> str:
        return _name_of(self.run, "all-reduce")

    def takes(self, x: Array) -> bool:
        return x.ndim > 0 and x.shape[0] in self.ranks and super().takes(x)

    def known(self, result: Any, x: Array) -> tuple[Any, Array]:
        """What every rank ends with, or the others know of it; and an array of the shape and dtype it should have."""
        return result, x


@dataclass(frozen=True, eq=False)
class ReduceScatter(AllReduce):
    """A reduce-scatter: every rank brings an array, and ends with its part of the sum.

    Parameters
    ----------
    run : callable (stack, seed) -> sequence of P arrays, or AllReduceResult that holds one
        What ranks end with: parts, in the order of the ranks, that together have the entries of one rank's array.
    claims, ranks, op, name, shape, dtype, ... :
        As of `AllReduce`. Claims are about the parts put together.
    even : bool
        Whether P divides what a rank brings, as it has to for NCCL; else parts may be of any lengths.
    """

    even: bool = field(default=True, kw_only=True)

    kind: ClassVar[str] = "reduce-scatter"

    def __post_init__(self) -> None:
        checked_flag("even", self.even)
        super().__post_init__()

    def multiple(self, P: int) -> int:
        return self.multiple_of * P if self.even else self.multiple_of

    def known(self, result: Any, x: Array) -> tuple[Any, Array]:
        if self.outside is not None:
            return result, x  # put together there
        if not isinstance(result, list | tuple | np.ndarray) or len(result) != len(x) or 0 in map(np.ndim, result):
            return result, x  # which it is not
        row = np.concatenate([np.asarray(part).ravel() for part in result])
        return np.repeat(row[None], len(x), axis=0).reshape(x.shape) if row.size == x[0].size else row, x


@dataclass(frozen=True, eq=False)
class AllGather(AllReduce):
    """An all-gather: every rank ends with what all ranks have brought, or what was left of it on the way.

    Parameters
    ----------
    run : callable (stack, seed) -> (P, P, n) or (P, P n) array, or AllReduceResult that holds one
        What every rank ends with: all ranks' arrays, in the order of the ranks.
    claims, ranks, name, shape, dtype, ... :
        As of `AllReduce`. What is claimed of a sum there is claimed here of every entry that a rank brought.
    """

    kind: ClassVar[str] = "all-gather"

    def known(self, result: Any, x: Array) -> tuple[Any, Array]:
        wanted = np.broadcast_to(x, (len(x), *x.shape))
        if isinstance(result, np.ndarray) and result.size == wanted.size and len(result) == len(x):
            result = result.reshape(wanted.shape)
        return result, wanted


def with_more_ranks(subject: Subject, budget: str) -> Subject:
    """The subject; beyond the quick budget with 16 ranks too, where nobody has said how many there are."""
    if budget == "quick" or getattr(subject, "ranks", None) is not RANKS:
        return subject
    return replace(subject, ranks=(*RANKS, 16))  # type: ignore[call-arg]
