"""Results of computations that are split over ranks, held to what rounding explains: `assert_parallel_close`.

A plan holds the inputs of a computation and how it is split. It knows the exact result, what rounding may move it by,
and the results of mistakes that are made where computations are split.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import pairwise, permutations
from typing import Any, ClassVar

import numpy as np

from commbounds._arrays import array, format_of, named, stacked
from commbounds.array_types import Floats, Integers, Mask
from commbounds.collectives.cuts import even_cuts
from commbounds.theory.precision import parallel
from commbounds.theory.precision.formats import Format
from commbounds.theory.precision.parallel import Reduction
from commbounds.theory.precision.split import root_moved

_U = 2.0**-53
_RANKS = 8  # up to which one rank's operand is tried in place of another's
_NAMED = 3  # mistakes in a message
_CHANCE = 0.01  # of a mistake that fits by chance, above which none is named


class Split(ABC):
    """A computation that is split: its exact result, what rounding may move it by, and known mistakes."""

    accumulate: str
    wire: str | None
    _reduced: ClassVar[str]
    _summed: ClassVar[str]
    """What is said of a plan that sends, or adds, in fewer digits."""

    @cached_property
    def exact(self) -> Floats:
        """The result, in float64, from the inputs as they are."""
        return self._exact()

    @cached_property
    def allowed(self) -> Floats:
        """What rounding explains at every entry, errors of `exact` included.

        Raises
        ------
        ValueError
            Something may overflow.
        """
        size, form = self._magnitude()
        if not size <= float(form.largest):
            raise ValueError(f"magnitudes add up to {size:.3g}, and may overflow in {form.name}")
        return self._allowed()

    @property
    def whole(self) -> Split:
        """The same computation on one rank."""
        return self

    @property
    def sent(self) -> Format:
        """The format of what is sent."""
        return named(self.wire or self.accumulate)

    @property
    def form(self) -> Format:
        """The format of the result."""
        return self.sent

    def coarser(self) -> Iterator[tuple[str, Split]]:
        """Words, and the plan that rounds so."""
        for name in ("bfloat16", "float16"):
            if self._sends() and self.sent.digits > named(name).digits:
                yield f"{self._reduced} in {name}", self._with_wire(name)
            if named(self.accumulate).digits > named(name).digits:
                yield f"{self._summed} in {name}", replace(self, accumulate=name, wire=self.sent.name)  # type: ignore[type-var]

    def _with_wire(self, name: str) -> Split:
        return replace(self, wire=name, reduce=None)  # type: ignore[type-var]

    def _sends(self) -> bool:
        return True

    @abstractmethod
    def mistakes(self) -> Iterator[tuple[str, Floats]]:
        """Words, and what the mistake gives."""

    @abstractmethod
    def _exact(self) -> Floats: ...

    @abstractmethod
    def _allowed(self) -> Floats: ...

    @abstractmethod
    def _magnitude(self) -> tuple[float, Format]:
        """What must not overflow, and in which format."""


def _wide(value: Any, name: str) -> Floats:
    found = array(value)
    format_of(found, name)
    wide = found.astype(np.float64)
    if not np.isfinite(wide).all():
        raise ValueError(f"{name} must be finite")
    return wide


def _cuts(parts: int | Sequence[int], length: int) -> list[int]:
    """Where parts begin and end."""
    given = np.asarray(parts)
    if given.dtype.kind not in "iu" or given.ndim > 1 or not given.size:
        raise TypeError(f"parts must be an integer, or a sequence of integers, got {parts!r}")
    if given.ndim == 0:
        if given < 1:
            raise ValueError(f"parts must be at least 1, got {parts}")
        even: list[int] = even_cuts(length, int(given)).tolist()
        return even
    if given.sum() != length or given.min() < 0:
        raise ValueError(f"parts must add up to {length}, got {given.tolist()}")
    return [0, *np.cumsum(given).tolist()]


def _longest(cuts: Sequence[int]) -> int:
    return max(stop - start for start, stop in pairwise(cuts))


@dataclass(frozen=True)
class Matmul(Split):
    """a @ b, and a bias, with the inner dimension split over ranks, or over parts of one (split-K, stream-K).

    Parameters
    ----------
    a, b : (m, K) and (K, n) array or tensor
        The operands, whole. A weight gradient is one, too, and the square of a norm: of a row and a column.
    parts : int or sequence of int
        Ranks, with cuts as even as can be; or how much of K every part has. 1 where the outer dimension is split.
    bias : (n,) array or None
        Added once, behind the reduction.
    accumulate : str
        Format of sums within a part.
    wire, reduce : str or None
        Formats of the parts that are sent, and of their additions; `accumulate`, and `wire`, without.
    result : str or None
        Format of the result; that of the additions without.
    schedule : str
        Of the reduction.
    tf32 : bool
        Whether operands are rounded to tf32.
    rounding : str
        Of sums within a part, and of operands to tf32: nearest, or either neighbour.
    additions : int or None
        That a product passes within a part at most; None for any order.
    """

    _reduced, _summed = "the parts are reduced", "sums are accumulated"
    a: Any
    b: Any
    parts: int | Sequence[int] = 1
    bias: Any = None
    accumulate: str = "float32"
    wire: str | None = None
    reduce: str | None = None
    result: str | None = None
    schedule: str = "any"
    tf32: bool = False
    rounding: str = "nearest"
    additions: int | None = None

    @cached_property
    def _operands(self) -> tuple[Floats, Floats, Floats]:
        a, b = _wide(self.a, "a"), _wide(self.b, "b")
        if a.ndim != 2 or b.ndim != 2 or a.shape[1] != b.shape[0] or not a.shape[1]:
            raise ValueError(f"a and b must be (m, K) and (K, n), K >= 1, got {a.shape} and {b.shape}")
        bias = np.zeros(b.shape[1]) if self.bias is None else _wide(self.bias, "bias")
        if bias.shape != (b.shape[1],):
            raise ValueError(f"bias must be ({b.shape[1]},), got {bias.shape}")
        return a, b, bias

    @cached_property
    def _cut(self) -> list[int]:
        return _cuts(self.parts, self._operands[0].shape[1])

    def _exact(self) -> Floats:
        a, b, bias = self._operands
        found: Floats = a @ b + bias
        return found

    def _part(self, p: int) -> Floats:
        a, b, _ = self._operands
        at = slice(self._cut[p], self._cut[p + 1])
        found: Floats = a[:, at] @ b[at]
        return found

    def _allowed(self) -> Floats:
        K = self._operands[0].shape[1]
        inputs = format_of(array(self.a), "a"), format_of(array(self.b), "b")
        bound = parallel.matmul(
            K,
            Reduction(len(self._cut) - 1, self.sent.name, self.reduce, self.schedule),
            inputs=max(inputs, key=lambda form: form.digits).name,
            accumulate=self.accumulate,
            result=self.result,
            tf32=self.tf32,
            bias=None if self.bias is None else format_of(array(self.bias), "bias").name,
            rounding=self.rounding,
            longest=_longest(self._cut),
            additions=self.additions,
        )
        found: Floats = (bound.relative + 4.0 * (K + 1) * _U) * self._size + bound.absolute
        return found

    @cached_property
    def _size(self) -> Floats:
        a, b, bias = map(np.abs, self._operands)
        found: Floats = a @ b + bias
        return found

    def _magnitude(self) -> tuple[float, Format]:
        form = min((self.sent, named(self.accumulate), self.form), key=lambda each: each.largest)
        return float(self._size.max(initial=0.0)), form

    @property
    def form(self) -> Format:
        """The format of the result."""
        return self.sent if self.result is None else named(self.result)

    @property
    def whole(self) -> Matmul:
        """The same computation on one rank."""
        return replace(self, parts=1, wire=None, reduce=None, schedule="any", result=self.result or self.wire)

    def mistakes(self) -> Iterator[tuple[str, Floats]]:
        """Words, and what the mistake gives."""
        a, b, bias = self._operands
        exact, P = self.exact, len(self._cut) - 1
        if P > 1:
            for p in range(P):
                part = self._part(p)
                yield f"the result is the part of rank {p}, not reduced", part
                yield f"the part of rank {p} is missing", exact - part
                yield f"the part of rank {p} is counted twice", exact + part
            yield f"the mean of {P} parts, where the sum is due", (exact - bias) / P + bias
            yield f"multiplied by P = {P}: the result that every rank has whole is added up", P * exact
            yield f"divided by P = {P}", exact / P
        if self.bias is not None:
            yield "the bias is missing", exact - bias
            if P > 1:
                yield f"every one of {P} ranks adds the bias", exact + (P - 1) * bias
                yield f"a bias of 1/{P} is added", exact - bias * (1.0 - 1.0 / P)
        widths = [stop - start for start, stop in pairwise(self._cut)]
        for p, q in permutations(range(P), 2) if P <= _RANKS else ():
            if widths[p] == widths[q]:
                own, other = (slice(self._cut[r], self._cut[r + 1]) for r in (p, q))
                yield f"rank {p} has the left operand of rank {q}", exact - self._part(p) + a[:, other] @ b[own]
        for p in range(P if len(a) > 1 and P > 1 else 0):
            for shift in {1, len(a) // 2}:
                words = f"the operand of rank {p} is of another batch, {shift} rows on"
                yield words, exact - self._part(p) + np.roll(self._part(p), -shift, axis=0)

    def coarser(self) -> Iterator[tuple[str, Split]]:
        """Words, and the plan that rounds so."""
        others = list(super().coarser())
        yield from (other for other in others if other[0].startswith(self._reduced))
        if not self.tf32:
            yield "the operands are rounded to tf32", replace(self, tf32=True)
        yield from (other for other in others if other[0].startswith(self._summed))

    def _sends(self) -> bool:
        return len(self._cut) > 2

    def __str__(self) -> str:
        return f"{len(self._cut) - 1} parts of a product, accumulated in {self.accumulate}, sent as {self.sent.name}"


@dataclass(frozen=True)
class CrossEntropy(Split):
    """The losses of tokens whose logits are split over ranks by vocabulary: maximum, sum of exponentials, target.

    Parameters
    ----------
    logits : (tokens, V) array or tensor
        Whole.
    targets : (tokens,) integers
        Their classes.
    parts : int or sequence of int
        Ranks, or how many classes each has.
    smoothing : float
        Of labels, in [0, 1): (1 - smoothing) times the loss and smoothing times the mean loss over all classes.
    accumulate : str
        Format in which losses are computed.
    wire : str or None
        Of the sums of exponentials that are reduced; `accumulate` without.
    function : float
        Units in the last place that exp and log may be off.
    additions : int or None
        That an exponential passes at its rank at most; None for any order.
    log_first : bool
        Whether a loss is made as (max + log of the sum) - logit, whose first sum is rounded at the size of the logits,
        and not as log of the sum - (logit - max). Without smoothing.
    """

    _reduced, _summed = "the sums of exponentials are reduced", "losses are computed"
    logits: Any
    targets: Any
    parts: int | Sequence[int] = 1
    smoothing: float = 0.0
    accumulate: str = "float32"
    wire: str | None = None
    function: float = 2.0
    additions: int | None = None
    log_first: bool = False

    @cached_property
    def _given(self) -> tuple[Floats, Integers]:
        logits, targets = _wide(self.logits, "logits"), np.asarray(array(self.targets))
        if logits.ndim != 2 or not logits.size or targets.shape != (len(logits),):
            raise ValueError(
                f"logits and targets must be (tokens, V) and (tokens,), got {logits.shape}, {targets.shape}"
            )
        if not np.issubdtype(targets.dtype, np.integer) or targets.min() < 0 or targets.max() >= logits.shape[1]:
            raise ValueError(f"targets must be integers in [0, {logits.shape[1]})")
        if not 0.0 <= self.smoothing < 1.0:
            raise ValueError(f"smoothing must be in [0, 1), got {self.smoothing}")
        if self.log_first and self.smoothing:
            raise ValueError("log_first is of losses without smoothing")
        return logits, targets.astype(np.int64)

    @cached_property
    def _cut(self) -> list[int]:
        return _cuts(self.parts, self._given[0].shape[1])

    @cached_property
    def _shifted(self) -> tuple[Floats, Floats, Floats, Floats]:
        """Logits less their maximum, of targets, their means, and logs of the sums of exponentials."""
        logits, targets = self._given
        z = logits - logits.max(axis=1, keepdims=True)
        return z, z[np.arange(len(z)), targets], z.mean(axis=1), np.log(np.exp(z).sum(axis=1))

    def _exact(self) -> Floats:
        _, target, mean, log = self._shifted
        return log - (1.0 - self.smoothing) * target - self.smoothing * mean

    def _allowed(self) -> Floats:
        z, target, mean, log = self._shifted
        V, unit = z.shape[1], float(named(self.accumulate).unit)
        reduction = Reduction(len(self._cut) - 1, self.sent.name)
        absolute, of_shift, of_loss = parallel.cross_entropy(
            V,
            reduction,
            accumulate=self.accumulate,
            function=self.function,
            longest=_longest(self._cut),
            additions=self.additions,
        )
        shift, smoothed = np.abs(target), np.zeros(len(z))
        if self.log_first:
            absolute *= 1.0 + unit  # which is rounded with the sum that it is in
            shift = np.abs(self._given[0].max(axis=1) + log)
        if self.smoothing:
            # the mean of V differences, summed over ranks as well, two products, and their sum with the loss
            across, under = map(float, reduction.errors(not self.sent.holds(named(self.accumulate))))
            off = ((V + 6.0) * unit + across) * (1.0 + across) * np.abs(mean) + under
            smoothed = self.smoothing * off * (1.0 + of_loss)
            shift = 3.0 * (1.0 - self.smoothing) * shift
        slack = 8.0 * (V + 4.0) * _U * (1.0 + np.abs(target) + np.abs(mean) + shift)
        found: Floats = absolute + of_shift * shift + smoothed + of_loss * np.abs(self.exact) + slack
        return found

    def _magnitude(self) -> tuple[float, Format]:
        z = self._shifted[0]
        reduced = float(z.shape[1]) if not self.smoothing else max(float(z.shape[1]), float(-z.sum(axis=1).min()))
        return (
            (reduced, self.sent)
            if self.sent.largest < named(self.accumulate).largest
            else (max(reduced, float(-z.min())), named(self.accumulate))
        )

    @property
    def form(self) -> Format:
        """The format of the result."""
        return named(self.accumulate)

    def _with_wire(self, name: str) -> Split:
        return replace(self, wire=name)

    def _sends(self) -> bool:
        return len(self._cut) > 2

    @property
    def whole(self) -> CrossEntropy:
        """The same computation on one rank."""
        return replace(self, parts=1, wire=None)

    def mistakes(self) -> Iterator[tuple[str, Floats]]:
        """Words, and what the mistake gives."""
        logits, targets = self._given
        z, target, mean, log = self._shifted
        exact, P, tokens = self.exact, len(self._cut) - 1, np.arange(len(z))
        slices = [slice(start, stop) for start, stop in pairwise(self._cut) if stop > start]
        if P > 1:
            words = f"log P too much: every one of {P} ranks adds up gathered logits, as if they were its own"
            yield words, exact + math.log(P)
            yield "the sum of the losses of all ranks", P * exact
            yield ("the target's logit is that of rank 0 alone", np.where(targets < self._cut[1], exact, log))
            for p, at in enumerate(slices):
                yield (
                    f"the sum of exponentials is that of rank {p} alone",
                    exact - log + np.log(np.maximum(np.exp(z[:, at]).sum(axis=1), 1e-300)),
                )
                own = z[:, at].mean(axis=1)
                count = at.stop - at.start
                if self.smoothing:
                    words = f"labels are smoothed over the classes of rank {p}, and not over all"
                    yield words, exact + self.smoothing * (mean - own)
                    # coefficients alpha K/(K - 1) of the own K classes, as Megatron's formula has them
                    alpha = self.smoothing * count / max(count - 1, 1)
                    yield words + ", by alpha K/(K - 1)", log - (1.0 - alpha) * target - alpha * own
            yield "sums of exponentials are of the ranks' own maxima", self._own_maxima(slices) - target
        yield "the maximum is not subtracted from the target's logit", log - logits[tokens, targets]
        if self.smoothing:
            yield "labels are not smoothed", log - target
        yield "the sign is inverted", -exact

    def _own_maxima(self, slices: Sequence[slice]) -> Floats:
        logits, _ = self._given
        total = sum(np.exp(logits[:, at] - logits[:, at].max(axis=1, keepdims=True)).sum(axis=1) for at in slices)
        return np.asarray(np.log(total))

    def coarser(self) -> Iterator[tuple[str, Split]]:
        """Words, and the plan that rounds so."""
        if not self.log_first and not self.smoothing:
            words = "the maximum and the log are added before the logit is subtracted (log_first=True bounds that)"
            yield words, replace(self, log_first=True)
        yield from super().coarser()

    def __str__(self) -> str:
        return f"cross-entropy of {self._given[0].shape[1]} classes on {len(self._cut) - 1} ranks, in {self.accumulate}"


@dataclass(frozen=True)
class Norm(Split):
    """Root mean square normalisation of a residual and of the sum over ranks of their parts.

    Parameters
    ----------
    parts : (P, tokens, n) array, or sequence of (tokens, n)
        What the ranks bring to the all-reduce.
    residual : (tokens, n) array or None
        Added once.
    weight : (n,) array or None
        Multiplied with.
    eps : float
        Added to the mean square.
    wire, reduce : str or None
        Formats of the all-reduce, and of its additions; of the parts, and of the wire, without.
    hidden : str or None
        Format of the sum with the residual, which is normalised: that of the parts without.
    result : str or None
        Of the result: `hidden` without. To it is rounded before the product with the weight, or behind, or both.
    accumulate : str
        Of the norm.
    schedule, function, additions
        As for `Matmul` and `CrossEntropy`.
    """

    _reduced, _summed = "the parts are reduced", "the norm is computed"
    parts: Any
    residual: Any = None
    weight: Any = None
    eps: float = 1e-6
    wire: str | None = None
    reduce: str | None = None
    hidden: str | None = None
    result: str | None = None
    accumulate: str = "float32"
    schedule: str = "any"
    function: float = 2.0
    additions: int | None = None

    @cached_property
    def _given(self) -> tuple[Floats, Floats, Floats, str]:
        found = stacked(self.parts, "parts")
        parts, own = _wide(found, "parts"), format_of(found, "parts").name
        if parts.ndim != 3 or not parts.size:
            raise ValueError(f"parts must be (P, tokens, n), got {parts.shape}")
        residual = np.zeros(parts.shape[1:]) if self.residual is None else _wide(self.residual, "residual")
        weight = np.ones(parts.shape[2]) if self.weight is None else _wide(self.weight, "weight")
        if residual.shape != parts.shape[1:] or weight.shape != parts.shape[2:]:
            raise ValueError(f"residual and weight must be {parts.shape[1:]} and {parts.shape[2:]}")
        return parts, residual, weight, own

    def _normed(self, x: Floats, eps: float | None = None) -> Floats:
        mean = (x**2).mean(axis=1, keepdims=True)
        found: Floats = x / np.sqrt(mean + (self.eps if eps is None else eps)) * self._given[2]
        return found

    @cached_property
    def _hidden(self) -> Floats:
        parts, residual, *_ = self._given
        found: Floats = parts.sum(axis=0) + residual
        return found

    def _exact(self) -> Floats:
        return self._normed(self._hidden)

    def _allowed(self) -> Floats:
        parts, _, weight, own = self._given
        sent, hidden, acc = self.sent, named(self.hidden or own), named(self.accumulate)
        across, under = Reduction(len(parts), sent.name, self.reduce, self.schedule).errors(not sent.holds(named(own)))
        n, x = parts.shape[2], self._hidden
        off = float(across) * np.abs(parts).sum(axis=0) + float(under)
        # the sum with the residual in the norm's format, then in its own
        casts = [] if self.residual is None else [] if acc == hidden else [acc]
        for form in [*casts, *([hidden] if self.residual is not None or not hidden.holds(sent) else [])]:
            off = off + float(form.unit) * (np.abs(x) + off) + float(form.smallest)
        square = (x**2).mean(axis=1, keepdims=True) + self.eps
        root, tiny = np.sqrt(square), float(acc.normal)
        delta = np.sqrt((off**2).mean(axis=1, keepdims=True)) * (1.0 + 2.0 * n * _U)
        with np.errstate(divide="ignore", invalid="ignore"):
            share = np.where(delta < root, root_moved(delta, root), np.inf)
            # squares below the normal range may be lost: of a mean of at least 4 numbers that large, root and all
            relative = parallel.root_mean_square(n, self.accumulate, self.function, self.additions)[1] + np.where(
                square > 4.0 * tiny * (1.0 + share) ** 2, 2.0 * tiny * (1.0 + share) ** 2 / square, np.inf
            )
            error = (off + (np.abs(x) + off) * share + relative * (np.abs(x) + off) * (1.0 + share)) / root
            found = np.abs(weight) * (error + tiny) + tiny
        last = self.form
        if not last.holds(acc):  # before the weight is multiplied with, and behind
            for _ in range(1 if self.weight is None else 2):
                found = found + float(last.unit) * (np.abs(self.exact) + found)
                found = found + float(last.smallest) * (1.0 + np.abs(weight))
        slack: Floats = found * (1.0 + 64.0 * n * _U) + 64.0 * n * _U * np.abs(self.exact)
        return np.where(np.isnan(slack), np.inf, slack)

    def _magnitude(self) -> tuple[float, Format]:
        parts, residual, *_ = self._given
        size = np.abs(parts).sum(axis=0) + np.abs(residual)
        form = min((self.sent, named(self.hidden or self._given[3])), key=lambda each: each.largest)
        acc = named(self.accumulate)
        squares = float((size**2).sum(axis=1).max())
        return (float(size.max()), form) if squares <= float(acc.largest) else (squares, acc)

    @property
    def sent(self) -> Format:
        """The format of what is sent."""
        return named(self.wire or self._given[3])

    @property
    def form(self) -> Format:
        """The format of the result."""
        return named(self.result or self.hidden or self._given[3])

    def _with_wire(self, name: str) -> Split:
        return replace(self, wire=name, reduce=None, hidden=self.hidden or self._given[3])

    def mistakes(self) -> Iterator[tuple[str, Floats]]:
        """Words, and what the mistake gives."""
        parts, residual, weight, _ = self._given
        x, P = self._hidden, len(parts)
        if P > 1:
            for p in range(P):
                yield f"the part of rank {p} is missing", self._normed(x - parts[p])
                yield f"the part of rank {p} is counted twice", self._normed(x + parts[p])
                yield f"the part of rank {p} alone, not reduced", self._normed(parts[p] + residual)
            yield f"every one of {P} ranks adds the residual", self._normed(x + (P - 1) * residual)
            yield f"the mean of {P} parts, where the sum is due", self._normed(parts.mean(axis=0) + residual)
        if self.residual is not None:
            yield "the residual is missing", self._normed(x - residual)
            yield "the residual is added behind the norm", self._normed(x - residual) + residual
        if self.weight is not None:
            yield "the weight is missing", self._normed(x) / np.where(weight == 0.0, 1.0, weight)
            yield "the weight is 1 + weight", self._normed(x) / np.where(weight == 0.0, 1.0, weight) * (1.0 + weight)
        for Q in {P, 2, 4, 8} - {1}:
            if x.shape[1] % Q == 0:
                blocks = x.reshape(len(x), Q, -1)
                root = np.sqrt((blocks**2).mean(axis=2, keepdims=True) + self.eps)
                yield f"the mean square is of 1/{Q} of the entries", (blocks / root).reshape(x.shape) * weight
        yield "eps is missing", self._normed(x, 0.0) if (x != 0).any(axis=1).all() else x + np.inf
        yield "the mean is subtracted", self._normed(x - x.mean(axis=1, keepdims=True))

    def __str__(self) -> str:
        P = len(self._given[0])
        return f"all-reduce of {P} ranks in {self.sent.name}, residual and norm in {self.accumulate}"


@dataclass(frozen=True)
class Accumulate(Split):
    """A gradient: micro-batches are added at every rank, then the ranks' sums, and the whole is divided.

    Parameters
    ----------
    gradients : (P, M, ...) array
        Of every rank's micro-batches: sums over tokens where `tokens` are given, else means.
    tokens : (P, M) array of integers or None
        How many tokens they are of: the result is divided by all of them. Without, by P M.
    accumulate : str
        Format of the sums over micro-batches.
    wire, reduce : str or None
        Formats of the reductions, and of their additions; `accumulate`, and `wire`, without.
    replicas : int
        Of HSDP: ranks are reduced within P/replicas shards first, then over replicas; divides P.
    divisions : int
        Into how many the division is split: a factor before the reduction, the rest behind. A product with a rounded
        reciprocal counts as two.
    schedule : str
        Of the reductions.
    counted : (P, M) array of integers or None
        Tokens that may have been counted in place of `tokens`, as before labels are shifted or masked: a mistake that
        is named.
    """

    _reduced, _summed = "gradients are reduced", "micro-batches are accumulated"
    gradients: Any
    tokens: Any = None
    accumulate: str = "float32"
    wire: str | None = None
    reduce: str | None = None
    replicas: int = 1
    divisions: int = 2
    schedule: str = "any"
    counted: Any = None

    @cached_property
    def _given(self) -> tuple[Floats, Floats]:
        gradients = _wide(stacked(self.gradients, "gradients"), "gradients")
        if gradients.ndim < 2 or not gradients.size:
            raise ValueError(f"gradients must be (P, M, ...), got {gradients.shape}")
        P, M = gradients.shape[:2]
        if self.replicas < 1 or P % self.replicas:
            raise ValueError(f"replicas must divide P = {P}, got {self.replicas}")
        return gradients, np.ones((P, M)) if self.tokens is None else self._counts("tokens", (P, M))

    def _counts(self, name: str, shape: tuple[int, ...]) -> Floats:
        tokens: Floats = np.asarray(array(getattr(self, name)), np.float64)
        if tokens.shape != shape or tokens.min() < 0 or not tokens.sum():
            raise ValueError(f"{name} must be {shape}, none negative and not all zero")
        return tokens

    def _exact(self) -> Floats:
        gradients, tokens = self._given
        found: Floats = gradients.sum(axis=(0, 1)) / tokens.sum()
        return found

    def _allowed(self) -> Floats:
        gradients, tokens = self._given
        P, M = gradients.shape[:2]
        groups = [P] if self.replicas == 1 else [P // self.replicas, self.replicas]
        bound = parallel.accumulated(
            M,
            [Reduction(size, self.sent.name, self.reduce, self.schedule) for size in groups],
            accumulate=self.accumulate,
            divisions=self.divisions,
            inputs=format_of(stacked(self.gradients, "gradients"), "gradients").name,
        )
        size = np.abs(gradients).sum(axis=(0, 1)) / tokens.sum()
        found: Floats = (bound.relative + 4.0 * (P * M + 4) * _U) * size + bound.absolute
        return found

    def _magnitude(self) -> tuple[float, Format]:
        gradients, tokens = self._given
        before = tokens.sum() if self.divisions > 1 else 1.0
        form = min((self.sent, named(self.accumulate)), key=lambda each: each.largest)
        return float(np.abs(gradients).sum(axis=(0, 1)).max() / before), form

    @property
    def whole(self) -> Accumulate:
        """The same computation on one rank."""
        P, M = self._given[0].shape[:2]
        gradients = stacked(self.gradients, "gradients")
        tokens = None if self.tokens is None else np.asarray(array(self.tokens)).reshape(1, P * M)
        one = gradients.reshape(1, P * M, *gradients.shape[2:])
        return replace(self, gradients=one, tokens=tokens, wire=None, reduce=None, replicas=1, schedule="any")

    def mistakes(self) -> Iterator[tuple[str, Floats]]:
        """Words, and what the mistake gives."""
        gradients, tokens = self._given
        P, M = gradients.shape[:2]
        exact, total = self.exact, tokens.sum()
        ranks = gradients.sum(axis=1)
        if self.tokens is not None:
            own = np.maximum(tokens.sum(axis=1), 1.0)
            means = (ranks.T / own).T
            yield "divided by the ranks' own token counts: the mean of their means", means.mean(axis=0)
            yield "every rank multiplies by the tokens of all, where its own are due", means.sum(axis=0)
            if self.counted is not None:
                before = self._counts("counted", (P, M)).sum(axis=1)
                words = "the ranks' means are weighted by tokens that were counted otherwise, as before a shift or mask"
                yield words, (means.T * before).T.sum(axis=0) / before.sum()
                yield "divided by tokens that were counted otherwise", exact * total / before.sum()
            each = np.maximum(tokens, 1.0).reshape(*tokens.shape, *(1,) * (gradients.ndim - 2))
            yield "divided by the micro-batches' own token counts", (gradients / each).mean(axis=(0, 1))
            for p in range(P):
                if own[p] != total:
                    yield f"divided by the tokens of rank {p} alone", exact * total / own[p]
                    yield f"divided by P times the tokens of rank {p}", exact * total / (own[p] * P)
            most = exact * total
            yield f"divided by the number of micro-batches {P * M}, not by tokens", most / (P * M)
        named_factors = [
            (f"multiplied by P = {P}", float(P)),
            (f"divided by P = {P} twice", 1.0 / P),
            (f"multiplied by the {M} micro-batches", float(M)),
            (f"divided by the {M} micro-batches twice", 1.0 / M),
            ("not divided", float(total)),
            (f"multiplied by the {self.replicas} replicas", float(self.replicas)),
            (f"divided by the {self.replicas} replicas twice", 1.0 / self.replicas),
            (f"divided by P - 1 = {P - 1}", P / (P - 1.0) if P > 1 else 1.0),
            ("all signs are inverted", -1.0),
        ]
        for words, factor in named_factors:
            if factor != 1.0:
                yield words, factor * exact
        for p in range(P if P > 1 else 0):
            yield f"rank {p} is missing", exact - ranks[p] / total
            yield f"rank {p} is counted twice", exact + ranks[p] / total
            yield f"the gradient of rank {p} alone, not reduced", ranks[p] / total
            yield f"the gradient of rank {p} alone, by its own tokens", ranks[p] / max(tokens[p].sum(), 1.0)
        for m in range(M if M > 1 else 0):
            yield f"micro-batch {m} is missing on all ranks", exact - gradients[:, m].sum(axis=0) / total
            yield f"micro-batch {m} alone", gradients[:, m].sum(axis=0) / total
        for r in range(self.replicas if self.replicas > 1 else 0):
            at = slice(r * P // self.replicas, (r + 1) * P // self.replicas)
            yield f"replica {r} alone: nothing is reduced over replicas", ranks[at].sum(axis=0) / total

    def __str__(self) -> str:
        P, M = self._given[0].shape[:2]
        return f"{M} micro-batches in {self.accumulate} on {P} ranks, reduced in {self.sent.name}"


@dataclass(frozen=True)
class Adam(Split):
    """The parameters after a step of Adam, whose gradient is another plan's.

    Parameters
    ----------
    parameters : (...) array
        Before the step.
    gradient : Accumulate, or another plan
        Such as `Accumulate`: its exact result, and what rounding may move it by.
    rate, betas, eps, decay
        Of the step, and 1 - beta, in float64, then rounded; decay is decoupled from the gradient, and times the rate.
    first, second : (...) array or None
        Running means of gradients and of their squares before the step; None for zeros.
    step : int
        Its number, from 1.
    accumulate : str
        Format of the arithmetic, and of what is kept.
    """

    wire = None  # nothing is sent but the gradient
    parameters: Any
    gradient: Any
    rate: float = 1e-3
    betas: tuple[float, float] = (0.9, 0.999)
    eps: float = 1e-8
    decay: float = 0.0
    first: Any = None
    second: Any = None
    step: int = 1
    accumulate: str = "float32"

    def __post_init__(self) -> None:
        if not isinstance(self.gradient, Split):
            raise TypeError(f"gradient must be a plan, such as Accumulate, got {type(self.gradient).__name__}")

    @cached_property
    def _given(self) -> tuple[Floats, Floats, Floats, Floats, Floats]:
        g, off = self.gradient.exact, self.gradient.allowed
        p = _wide(self.parameters, "parameters")
        m = np.zeros(p.shape) if self.first is None else _wide(self.first, "first")
        v = np.zeros(p.shape) if self.second is None else _wide(self.second, "second")
        if not p.shape == g.shape == m.shape == v.shape:
            raise ValueError(f"parameters, gradient, first and second must have one shape, got {p.shape} and {g.shape}")
        if self.step < 1:
            raise ValueError(f"step must be at least 1, got {self.step}")
        if not all(0.0 <= beta < 1.0 for beta in self.betas) or not 0.0 < self.eps < math.inf:
            raise ValueError(f"betas must be in [0, 1), and eps above 0, got {self.betas} and {self.eps}")
        if not (0.0 <= self.rate < math.inf and 0.0 <= self.decay < math.inf) or v.min(initial=0.0) < 0.0:
            raise ValueError(f"rate, decay and second must be at least 0, got {self.rate} and {self.decay}")
        return p, g, off, m, v

    def _stepped(self, g: Floats, *, corrected: bool = True, step: int | None = None, inside: bool = False) -> Floats:
        p, _, _, m, v = self._given
        (a, b), t = self.betas, step or self.step
        m, v = a * m + (1 - a) * g, b * v + (1 - b) * g**2
        if corrected:
            m, v = m / (1 - a**t), v / (1 - b**t)
        root = np.sqrt(v + self.eps) if inside else np.sqrt(v) + self.eps
        found: Floats = p * (1 - self.rate * self.decay) - self.rate * m / root
        return found

    def _exact(self) -> Floats:
        return self._stepped(self._given[1])

    @cached_property
    def _range(self) -> tuple[Floats, Floats]:
        """Ends of the direction m/(sqrt v + eps), for all gradients that rounding explains."""
        _, g, off, m, v = self._given
        a, b = self.betas
        form, t = named(self.accumulate), self.step
        unit, tiny = float(form.unit), float(form.normal)
        # squares below the normal range may be lost
        lost = math.sqrt(tiny / (1 - b**t))
        lower, upper = ((a * m + (1 - a) * (g + s * off)) / (1 - a**t) for s in (-1.0, 1.0))
        # products, sums and quotients of both terms, relatively to their magnitudes
        size = (a * np.abs(m) + (1 - a) * (np.abs(g) + off)) / (1 - a**t)
        slack = 8.0 * unit * size + tiny / (1 - a**t)
        lower, upper = lower - slack, upper + slack
        if not m.any() and not v.any():
            # then both are multiples of one gradient, and the direction grows with it
            ends = [self._first(g + s * off) for s in (-1.0, 1.0)]
            more = (24.0 * unit + 2.0 * lost / self.eps) * np.maximum(np.abs(ends[0]), np.abs(ends[1]))
            more = more + 2.0 * tiny / (1 - a**t) / self.eps
            return ends[0] - more, ends[1] + more
        squares = [np.maximum(np.abs(g) - off, 0.0) ** 2, (np.abs(g) + off) ** 2]
        roots = [np.sqrt((b * v + (1 - b) * s) / (1 - b**t)) for s in squares]
        low = np.maximum(roots[0] * (1.0 - 12.0 * unit) - lost, 0.0) + self.eps * (1.0 - unit)
        high = roots[1] * (1.0 + 12.0 * unit) + lost + self.eps * (1.0 + unit)
        with np.errstate(divide="ignore"):
            first = np.where(lower < 0.0, lower / low, lower / high)
            last = np.where(upper > 0.0, upper / low, upper / high)
        return first * (1.0 + 4.0 * unit * np.sign(-first)), last * (1.0 + 4.0 * unit * np.sign(last))

    def _first(self, g: Floats) -> Floats:
        a, b = self.betas
        m, v = (1 - a) * g / (1 - a**self.step), (1 - b) * g**2 / (1 - b**self.step)
        found: Floats = m / (np.sqrt(v) + self.eps)
        return found

    @cached_property
    def undecided(self) -> Mask:
        """Where rounding decides the sign of the step: the gradient is as small as what it may be off."""
        low, high = self._range
        return np.asarray((low < 0.0) & (high > 0.0))

    def _allowed(self) -> Floats:
        p = self._given[0]
        low, high = self._range
        form = named(self.accumulate)
        middle = self.exact - p * (1 - self.rate * self.decay)
        off = np.maximum(np.abs(-self.rate * low - middle), np.abs(-self.rate * high - middle))
        more = 8.0 * float(form.unit) * (np.abs(p) + np.abs(middle) + off)  # float64's in `exact` included
        found: Floats = off + more + 4.0 * float(form.normal)
        return found

    def _magnitude(self) -> tuple[float, Format]:
        p, g, off, m, v = self._given
        first = np.abs(m) + np.abs(g) + off
        return float(np.max([np.abs(p), first, v + first**2])), self.sent

    @property
    def whole(self) -> Adam:
        """The same computation on one rank."""
        return replace(self, gradient=self.gradient.whole)

    def mistakes(self) -> Iterator[tuple[str, Floats]]:
        """Words, and what the mistake gives."""
        p, g, _, _, _ = self._given
        for words, wrong in self.gradient.mistakes():
            yield f"gradient: {words}", self._stepped(wrong)
        yield "running means are not corrected", self._stepped(g, corrected=False)
        yield "corrected as one step later", self._stepped(g, step=self.step + 1)
        if self.step > 1:
            yield "corrected as one step before", self._stepped(g, step=self.step - 1)
        yield "eps is within the root", self._stepped(g, inside=True)
        yield "the step is not made", p
        yield "the step goes up", 2.0 * p * (1 - self.rate * self.decay) - self.exact
        if self.decay:
            yield "parameters do not decay", self.exact + p * self.rate * self.decay
            yield "the decay is added to the gradient", self._stepped(g + self.decay * p) + p * self.rate * self.decay

    def coarser(self) -> Iterator[tuple[str, Split]]:
        """Words, and the plan that rounds so."""
        for words, plan in self.gradient.coarser():
            yield words, replace(self, gradient=plan)

    def __str__(self) -> str:
        few = int(np.count_nonzero(self.undecided))
        said = f"; rounding decides the sign of {few} of {self.undecided.size} steps" if few else ""
        return f"a step of Adam in {self.accumulate}, its gradient from {self.gradient}{said}"


def assert_parallel_close(
    reference: Any, got: Any, plan: Matmul | CrossEntropy | Norm | Accumulate | Adam, *, allow_vacuous: bool = False
) -> None:
    """Raise an AssertionError unless `got` is what the plan gives, up to what rounding can do.

    Parameters
    ----------
    reference : array, tensor or None
        What one rank gave that did all alone, from the same inputs; held to what one rank may be off. None for none:
        the exact result is computed from the plan's inputs in any case.
    got : array or tensor
        What the ranks gave: the whole result.
    plan : Matmul, CrossEntropy, Norm, Accumulate or Adam
        The computation, its inputs, and how it is split.
    allow_vacuous : bool
        Whether a bound that exceeds most results may accept them: it would accept zeros, too.

    Raises
    ------
    AssertionError
        An entry is off by more than the bound. The message says which of the two is wrong, and which known mistakes
        explain all wrong entries.
    ValueError
        Shapes or options do not fit, an input is not finite, something may overflow, or the bound says nothing: of
        Adam, as rounding decides the signs of most steps.
    TypeError
        Something holds no floating-point numbers, or fewer digits than the plan's result has; or it is no plan.

    Examples
    --------
    >>> a, b = np.arange(8, dtype=np.float32).reshape(1, 8), np.ones((8, 1), np.float32)
    >>> parts = [a[:, :4] @ b[:4], a[:, 4:] @ b[4:]]
    >>> plan = Matmul(a, b, parts=2)
    >>> assert_parallel_close(a @ b, parts[0] + parts[1], plan)
    >>> assert_parallel_close(a @ b, parts[0], plan)
    Traceback (most recent call last):
    AssertionError: 1 of 1 entries of the result are beyond what rounding explains
        worst: entry (0, 0) is 6.0, exact is 28.0: off by 22, where 8.34e-06 is explained
        2 parts of a product, accumulated in float32, sent as float32
        what fits: the result is the part of rank 0, not reduced; the part of rank 1 is missing
    """
    if not isinstance(plan, Split):
        raise TypeError(f"plan must be Matmul, CrossEntropy, Norm, Accumulate or Adam, got {type(plan).__name__}")
    for values, who, of in ((reference, "reference", plan.whole), (got, "result", plan)):
        if values is None:
            continue
        found = array(values)
        if not format_of(found, who).holds(of.form):
            raise TypeError(
                f"the {who} is in {found.dtype.name}, and the plan's in {of.form.name}: no fewer digits fit"
            )
        if found.shape != plan.exact.shape:
            raise ValueError(f"the {who} must have the shape {plan.exact.shape}, got {found.shape}")
        _require_close(found.astype(np.float64), who, of)
    if not allow_vacuous:
        _require_a_verdict(plan)


def _require_close(values: Floats, who: str, plan: Split) -> None:
    exact, allowed = plan.exact, plan.allowed
    distance = np.abs(values - exact)
    wrong = ~(distance <= allowed)
    if not wrong.any():
        return
    with np.errstate(divide="ignore", invalid="ignore"):
        times = np.where(wrong, np.where(np.isfinite(distance), distance / allowed, np.inf), 0.0)
    worst = np.unravel_index(int(np.argmax(times)), exact.shape)
    place = tuple(int(i) for i in worst)
    off = f"off by {distance[worst]:.3g}" if np.isfinite(distance[worst]) else "not finite"
    fits = "; ".join(_explanations(values, wrong, plan)) or "none of the mistakes that are known here"
    raise AssertionError(
        f"{np.count_nonzero(wrong)} of {exact.size} entries of the {who} are beyond what rounding explains\n    worst: "
        f"entry {place} is {float(values[worst])!r}, exact is {float(exact[worst])!r}: {off}, where "
        f"{allowed[worst]:.3g} is explained\n    {plan}\n    what fits: {fits}"
    )


def _explanations(values: Floats, wrong: Mask, plan: Split) -> list[str]:
    """The mistakes that predict all entries that are wrong, within the rounding of a result of their size."""
    y, exact, allowed = values[wrong], plan.exact[wrong], plan.allowed[wrong]
    if not np.isfinite(y).all():
        return ["overflow, or memory that was never written"] if not np.isfinite(y).any() else []
    if not y.any():
        return ["the result was left at zero"]
    size = np.abs(y - exact)
    known = [(words, np.broadcast_to(found, plan.exact.shape)[wrong]) for words, found in plan.mistakes()]
    found: list[str] = []
    with np.errstate(divide="ignore", invalid="ignore"):
        chance = float(np.log(allowed / size).sum()) + math.log(len(known) + 1)
        if chance <= math.log(_CHANCE):
            for words, wanted in known:
                # of a mistake that is larger the rounding is, too
                room = 2.0 * allowed * np.maximum(1.0, np.abs(wanted) / np.maximum(np.abs(exact), 1e-300)).clip(max=1e6)
                room = np.minimum(room, size / 2.0)
                if (np.abs(y - wanted) <= room).all() and words not in found:
                    found.append(words)
                    if len(found) == _NAMED:
                        return found
    if not found:
        for words, other in plan.coarser():
            looser = other.allowed[wrong]
            if (size <= looser).all() and 2 * np.count_nonzero(looser < np.abs(exact)) > looser.size:
                return [words]
    return found


def _require_a_verdict(plan: Split) -> None:
    """That zeros in place of the result would be refused at half of the entries, at least; of Adam, no step at all."""
    if isinstance(plan, Adam):
        moved = np.abs(plan.exact - plan._given[0] * (1 - plan.rate * plan.decay))
        vacuous = int(np.count_nonzero(plan.undecided & (moved > 0.0)))
        if 2 * vacuous > np.count_nonzero(moved):
            raise ValueError(
                f"the bound says nothing: rounding decides the sign of {vacuous} of {plan.undecided.size} steps of "
                "Adam, whose gradients are as small as what they may be off. What helps: compare gradients, or steps "
                "after running means have grown. allow_vacuous=True accepts it as it is"
            )
        return
    sized = np.abs(plan.exact) > 0.0
    vacuous = int(np.count_nonzero(sized & (plan.allowed > np.abs(plan.exact))))
    if 2 * vacuous > np.count_nonzero(sized):
        raise ValueError(
            f"the bound says nothing: it exceeds the result at {vacuous} of {np.count_nonzero(sized)} entries, so that "
            "zeros would pass there. What helps: formats with more digits, schedule=, additions=, or inputs with exact "
            "sums. allow_vacuous=True accepts it as it is"
        )
