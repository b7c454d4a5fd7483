"""Watch a run: what every rank sends, receives and keeps, held against claims of the book while it trains.

A `Monitor` looks at a sample of steps and tensors, on its own rank, and appends what it sees to a file of JSON lines;
``commbounds watch report FOLDER`` reads the files of all ranks, and judges what only several of them tell. Nothing in
the computation is changed: no argument is written to, no random number is drawn from it, no message is sent.
"""

from __future__ import annotations

import math
import time
import weakref
import zlib
from collections.abc import Callable, Mapping
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import numpy as np

from commbounds._watched import Look, RankFile, WatchAlarm, WatchedRun, as_line, file_name, read_rank, share
from commbounds._watched import read as read
from commbounds.array_types import Array
from commbounds.folders import appended
from commbounds.theory import Claim, Kind, claims
from commbounds.verify.sequential import SecondMomentTest, SequentialTest, WeightedSum
from commbounds.verify.writing import exclusive_lock

SIGNAL_TO_NOISE = math.sqrt(3)
"""Norm of a gradient over that of its rounding error below which training gains little, by Chmiel et al., 2025, FP4
All the Way, arXiv:2505.19115v2, abstract (read): of quantised training. A hint, so nothing below it is an alarm."""
WINDOW = 32
"""Steps over which a monitor measures how long a step is."""
LONGEST = 1 << 16
"""Steps at most between two looks at a tensor."""
MOST_TENSORS = 4096
"""Tensors that are watched at most: the first ones. A tensor takes a few kilobytes."""
_OF_ONE_STEP = ("relative_error", "absolute_error", "second_moment", "variance_in_steps", "support", "mean_received")
"""Quantities whose expectation is over randomness of the step alone, whatever came before."""
_MASK = (1 << 53) - 1
"""Numbers of examples are below it, as are the integers that a float has."""
_GIVEN = {"words": "most_sent", "bits": "bits"}
"""Arguments of `Monitor.step` that are measured quantities, and the quantities' names."""


class _Tensor:
    """What is kept of one tensor from step to step."""

    def __init__(self) -> None:
        self.step = self.given = -1
        """The last step that is known, and the last one that was given in this process."""
        self.held: tuple[int, float, float] | None = None
        """Step, and the residual's product with the signs of that step, and its sum of magnitudes."""
        self.tests: dict[str, tuple[SequentialTest | SecondMomentTest | WeightedSum, float]] = {}


class Monitor:
    """Holds what one rank of a run sends, receives and keeps against claims.

    Parameters
    ----------
    folder : str or Path
        Where ``rank-00000.jsonl`` is written, a file a rank. One that is there is continued: what it has is not
        written again.
    claims : mapping of str to mapping
        Claim -> values of the symbols of its bound that the monitor cannot see. A value is a number, or a function of
        the number of entries. Known are ``n`` (and ``m`` of matrices), ``P`` and ``N`` (ranks), ``itembits``, and the
        norms of what is sent.
    alarm : float
        False-alarm rate of the whole run, over all ranks, tensors and quantities, in (0, 1).
    overhead : float
        The share of the run's time that may be spent here, positive: steps are left out to keep it. What it was so far
        is in every look, and in the report.
    rank, ranks : int
        This rank, and how many there are.
    seed : int
        Of the random signs that sketches are made with; the same on all ranks.
    latency : object or None
        A law of arrival times with a method ``cdf``, as those of `commbounds.collectives.dropcompute` are.
    loss : float or None
        Probability in (0, 1) that a message is lost, whatever happened before.

    Raises
    ------
    ValueError
        A claim that is not in the book or that does not hold, a rate out of range, or a folder with a file of another
        run, or one that another process writes to.

    Notes
    -----
    Half of `alarm` is for what is judged across the ranks, the other half is divided by their number, and test i of a
    rank has 1/(i (i + 1)) of its part: by Ville's inequality and the union bound, a run without a fault raises an
    alarm with probability at most `alarm`, however long it is and whenever one looks. Checks that hold for every
    input have an allowance for rounding and no false alarms. Which steps are looked at depends on time alone.

    Examples
    --------
    >>> import tempfile
    >>> import numpy as np
    >>> from commbounds import watch
    >>> x = np.array([3.0, 1.0, -2.0])
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     with watch.Monitor(folder, {"sparsifiers.topk.contraction": {"k": 1}}) as monitor:
    ...         (alarm,) = monitor.step("weights", sent=x, received=np.array([0.0, 1.0, 0.0]))
    >>> print(alarm.message)
    relative_error is 0.9285714286, bound 0.6666666667
    """

    def __init__(
        self,
        folder: str | Path,
        claims: Mapping[str, Mapping[str, Any]] | None = None,
        *,
        alarm: float = 1e-3,
        overhead: float = 0.01,
        rank: int = 0,
        ranks: int = 1,
        seed: int = 0,
        latency: Any = None,
        loss: float | None = None,
    ) -> None:
        if not overhead > 0:
            raise ValueError(f"overhead must be positive, got {overhead}")
        if loss is not None and not 0 < loss < 1:
            raise ValueError(f"loss must be in (0, 1), got {loss}")
        named = {name: dict(values) for name, values in (claims or {}).items()}
        shown = {name: {k: None if callable(v) else float(v) for k, v in of.items()} for name, of in named.items()}
        self.run = WatchedRun(shown, float(alarm), int(seed), int(rank), int(ranks))
        self._claims = [(_holding(name), values) for name, values in named.items()]
        self._latency, self._loss, self._overhead = latency, loss, overhead
        self.period = 1
        """Steps from one look at a tensor to the next; a power of two."""
        self._began = time.perf_counter()
        self._spent = 0.0
        self._marks = [(self._began, 0.0, 0)] * 2
        """Time, what was spent here and calls until then: at the two last ends of a window."""
        self._calls, self._costs = 0, [0.0, 0.0]
        """Calls, and seconds of a whole look and of one at what was carried alone: running means."""
        self._tensors: dict[str, _Tensor] = {}
        self._raised: set[tuple[str, str, str]] = set()
        self._begun = 0
        SequentialTest(-1.0, math.inf).feed(np.zeros(1))  # compiled before the first step
        path = Path(folder) / file_name(rank)
        with ExitStack() as stack:
            stack.enter_context(exclusive_lock(path))
            before = read_rank(path) if path.exists() else None
            self._file = stack.enter_context(open(path, "ab", buffering=0))
            self._continue(before, path)
            self._open = stack.pop_all()

    def _continue(self, before: RankFile | None, path: Path) -> None:
        """Go on from what the file has."""
        self._file.truncate(before.size if before else 0)
        if before is None:
            appended(self._file, as_line(self.run), lasting=False)
            return
        if before.run != self.run:
            raise ValueError(f"{path} is of another run: choose another folder")
        for look in before.looks:
            tensor = self._tensors.setdefault(look.tensor, _Tensor())
            tensor.step, self._begun = look.step, max(self._begun, look.tests)
            if "residual" in look.sketches:
                tensor.held = (look.step, look.sketches["residual"], look.values["residual_sum"])
        self._raised = {(alarm.check, alarm.tensor, alarm.claim) for alarm in before.alarms}

    def __enter__(self) -> Monitor:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Close the file; another monitor may then continue it."""
        self._open.close()

    @property
    def share(self) -> float:
        """The share of the time since it was made that was spent here."""
        return self._spent / max(time.perf_counter() - self._began, 1e-9)

    def due(self, tensor: str = "all", step: int | None = None) -> bool:
        """Whether the next call of `step`, or that with this number, will look at the tensor."""
        known = self._tensors.get(tensor)
        step = (known.step + 1 if known else 0) if step is None else step
        carried = known is not None and known.held is not None and known.held[0] == step - 1
        return carried or self._sampled(tensor, step)

    def _sampled(self, tensor: str, step: int) -> bool:
        return (step + zlib.crc32(tensor.encode())) % self.period == 0

    def step(
        self,
        tensor: str = "all",
        *,
        step: int | None = None,
        sent: Any = None,
        received: Any = None,
        gradient: Any = None,
        residual: Any = None,
        result: Any = None,
        replicas: Any = None,
        scales: Any = None,
        words: float | None = None,
        bits: float | None = None,
        seconds: Any = None,
        lost: Any = None,
        roundoff: float = 0.0,
        result_rounding: float = 0.0,
        measured: Mapping[str, float] | None = None,
        shard: int | None = None,
        samples: Any = None,
        weights: tuple[Any, Any] | None = None,
        step_size: float | None = None,
    ) -> list[WatchAlarm]:
        """Look at one tensor after one step; what is None is not looked at.

        Parameters
        ----------
        tensor : str
            Its name.
        step : int or None
            Number of the step; one more than at the last call when None. A run that may be resumed says it.
        sent : array
            What this rank compressed: with error feedback the gradient and the residual.
        received : array
            What its message decodes to.
        gradient : array
            What was added to the residual of the step before: the gradient, or times the step size.
        residual : array
            What is kept for the next step.
        result : array
            The average over the ranks that this rank got.
        replicas : (n,) or (P, n) array
            This rank's copy of the weights, which is to be the same on all ranks; or all ranks' copies.
        scales : (g,) array
            Distance of two levels, of g groups of equally many entries; one an entry where they differ.
        words, bits : float
            Words sent by this rank; size of its message.
        seconds : float or array
            Arrival times since the step began.
        lost : bool or array of bool
            Which messages of the step did not arrive.
        roundoff : float
            Unit roundoff of the narrowest format on the way, where it is no dtype of an argument.
        result_rounding : float
            The most by which an entry of `result` may be off the average of what the messages decode to: of a second
            quantisation. Roundings of the dtype come on top.
        measured : mapping of str to float
            Further quantities, by the names that claims have for them.
        shard : int or None
            Place of the first entry of `result` in the vector, where a rank gets a part of the average alone.
        samples : array of int
            Numbers, in [0, 2^53), of the examples of this rank's batch, of which no two ranks have one. Where shards
            are drawn anew every epoch, the epoch is a part of the number.
        weights, step_size : pair of arrays, float
            Weights before and after the step, and the step size by which `result` is to be subtracted from them.

        Returns
        -------
        list of WatchAlarm
            What was noticed here for the first time.

        Raises
        ------
        ValueError
            Sizes differ, a step is negative, or numbers of examples are out of range.
        OSError
            The look cannot be written. The file holds whole lines, and the same call may be made again.

        Notes
        -----
        A step that the file has, of before a resume, is judged once more and not written again. One that this monitor
        was given already, or one before it, is not looked at: it counts once.
        """
        started = time.perf_counter()
        known = self._tensors.get(tensor)
        number = (known.step + 1 if known else 0) if step is None else step
        if number < 0:
            raise ValueError(f"step must not be negative, got {number}")
        if known is None:
            if len(self._tensors) >= MOST_TENSORS:
                return []
            known = self._tensors[tensor] = _Tensor()
        if number <= known.given:
            return []
        repeated = number <= known.step
        due, sampled = self.due(tensor, number), self._sampled(tensor, number)
        alarms: list[WatchAlarm] = []
        if due:
            arrays = {
                name: _array(name, value)
                for name, value in (
                    ("sent", sent),
                    ("received", received),
                    ("gradient", gradient),
                    ("residual", residual),
                    ("result", result),
                )
                if value is not None
            }
            looking = _Looking(self, tensor, number, known, arrays, roundoff, shard)
            looking.carried()
            if sampled:
                given = {_GIVEN[name]: value for name, value in (("words", words), ("bits", bits)) if value is not None}
                looking.whole(replicas, scales, result_rounding, given | dict(measured or {}))
                looking.laws(seconds, lost)
                if weights is not None and step_size is not None:
                    looking.moved(*weights, step_size)
                if samples is not None:
                    looking.drawn(samples)
                if not repeated:
                    appended(self._file, as_line(looking.look(self._begun)), lasting=False)
            for alarm in looking.alarms:
                place = (alarm.check, tensor, alarm.claim)
                if place not in self._raised:
                    appended(self._file, as_line(alarm))
                    self._raised.add(place)
                    alarms.append(alarm)
        known.step, known.given = max(known.step, number), number
        self._account(started, due, sampled)
        return alarms

    def _account(self, started: float, due: bool, sampled: bool) -> None:
        """Note what this call took, and look at as many steps from now on as there is time for."""
        now = time.perf_counter()
        self._spent += now - started
        self._calls += 1
        if not due:
            return
        cost, kind = now - started, int(not sampled)
        self._costs[kind] += (cost - self._costs[kind]) / (4 if self._costs[kind] else 1)
        then, spent, calls = self._marks[0]
        steps = (self._calls - calls) / len(self._tensors)
        if steps > 1:
            rest = max((now - then - (self._spent - spent)) / steps, 1e-9)
            most = sum(self._costs) * len(self._tensors) / (self._overhead * rest)
            wanted = 1 << min(math.ceil(math.log2(max(most, 1.0))), 16)
            self.period = min(max(wanted, self.period // 2), LONGEST)
        if self._calls - self._marks[1][2] >= WINDOW * len(self._tensors):
            self._marks = [self._marks[1], (now, self._spent, self._calls)]

    def _test(self, tensor: _Tensor, name: str, make: Callable[[], Any]) -> tuple[Any, float]:
        """A sequential test, with its part of the false-alarm rate."""
        if name not in tensor.tests:
            self._begun += 1
            tensor.tests[name] = (make(), share(self.run.alarm / 2 / self.run.ranks, self._begun))
        return tensor.tests[name]


class _Looking:
    """One look of a monitor at one tensor."""

    def __init__(
        self,
        monitor: Monitor,
        tensor: str,
        step: int,
        known: _Tensor,
        arrays: Mapping[str, tuple[Array, float]],
        roundoff: float,
        shard: int | None,
    ) -> None:
        sizes = {name: array.size for name, (array, _) in arrays.items() if name != "result" or shard is None}
        if len(set(sizes.values())) > 1:
            raise ValueError(f"arrays of {tensor} must have equally many entries, got {sizes}")
        self.monitor, self.tensor, self.step, self.known = monitor, tensor, step, known
        self.arrays = {name: array.ravel() for name, (array, _) in arrays.items()}
        self.shape = next((array.shape for array, _ in arrays.values()), (1,))
        self.n = math.prod(self.shape)
        self.roundoff = max((u for _, u in arrays.values()), default=0.0)
        self.roundoff = max(self.roundoff, roundoff)
        self.shard = shard
        if shard is not None and not 0 <= shard <= self.n - self.arrays.get("result", np.empty(0)).size:
            raise ValueError(f"shard must begin a part of {self.n} entries, got {shard}")
        self.values: dict[str, float] = {}
        self.bounds: dict[str, float] = {}
        self.sketches: dict[str, float] = {}
        self.digests: dict[str, int] = {}
        self.alarms: list[WatchAlarm] = []

    def look(self, tests: int) -> Look:
        """What is written down."""
        values = {name: float(value) for name, value in self.values.items() if math.isfinite(value)}
        values["monitor_share"] = self.monitor.share
        return Look(self.step, self.tensor, self.n, tests, values, self.bounds, self.sketches, self.digests)

    def _alarm(self, check: str, message: str, claim: str = "") -> None:
        self.alarms.append(WatchAlarm(self.step, self.tensor, check, message, claim))

    def _signs(self, step: int) -> Array:
        """Random signs that all ranks share, of this tensor and step."""
        key = (self.monitor.run.seed, zlib.crc32(self.tensor.encode()), step)
        bits = np.random.Generator(np.random.SFC64(np.random.SeedSequence(key))).bytes(-(-self.n // 8))
        return 1.0 - 2.0 * np.unpackbits(np.frombuffer(bits, np.uint8), count=self.n)

    def carried(self) -> None:
        """Hold what is sent against the gradient and the residual of the step before."""
        held = self.known.held
        self.known.held = None if held is None or held[0] < self.step else held
        if held is None or held[0] != self.step - 1 or not {"sent", "gradient"} <= set(self.arrays):
            return
        sent, gradient = self.arrays["sent"], self.arrays["gradient"]
        signs = self._signs(self.step - 1)
        was, held_sum = held[1], held[2]
        found = float(signs @ (sent - gradient))
        allowance = (2 * self.roundoff + (self.n + 4) * 2.0**-53) * (
            float(np.abs(sent).sum() + np.abs(gradient).sum()) + held_sum
        )
        if not abs(found - was) <= allowance:
            times = f", by its sketch {found / was + 0.0:.4g} times it" if was else ""
            self._alarm("carried", f"what is sent is not the gradient and the residual of step {self.step - 1}{times}")

    def whole(self, replicas: Any, scales: Any, result_rounding: float, given: Mapping[str, float]) -> None:
        """Everything else."""
        for name, array in self.arrays.items():
            bad = array.size - int(np.isfinite(array).sum())
            if bad:
                self._alarm("finite", f"{bad} of {array.size} entries of {name} are not finite")
        if any(alarm.check == "finite" for alarm in self.alarms):
            return
        self.values |= given
        signs = self._signs(self.step)
        spacing = None if scales is None else self._spacing(scales)
        if {"sent", "received"} <= set(self.arrays):
            self._errors(spacing, signs)
        self._kept(signs)
        if replicas is not None:
            self._replicas(replicas)
        if "result" in self.arrays:
            result = self.arrays["result"]
            if self.shard is None:
                self.digests["result"] = zlib.crc32(result.tobytes())
                self.sketches["result"] = float(signs @ result)
            else:
                self.sketches["shard"] = float(signs[self.shard : self.shard + result.size] @ result)
            self.values["result_rounding"] = result_rounding
        for claim, values in self.monitor._claims:
            self._judge(claim, values)
        self._bias(spacing)

    def _spacing(self, scales: Any) -> Array | None:
        """Distance of two levels for every entry; None where it is none."""
        array, _ = _array("scales", scales)
        if self.n % array.size:
            raise ValueError(f"scales must be of equal groups of {self.n} entries, got {array.size}")
        group = self.n // array.size
        spacing = np.repeat(array.ravel(), group)
        sent = self.arrays.get("sent")
        used = np.ones(self.n, bool) if sent is None else sent != 0
        wrong = used & ~((spacing > 0) & np.isfinite(spacing))
        if wrong.any():
            kind = "zero" if (spacing[wrong] == 0).all() else "zero, negative or not finite"
            self._alarm("scales", f"{len(set(np.flatnonzero(wrong) // group))} of {array.size} scales are {kind}")
            return None
        return spacing

    def _errors(self, spacing: Array | None, signs: Array) -> None:
        """What compression did to the vector."""
        sent, received = self.arrays["sent"], self.arrays["received"]
        error, u = received - sent, self.roundoff
        square, squared_error, size = float(sent @ sent), float(error @ error), float(np.abs(received).sum())
        self.values |= {
            "absolute_error": squared_error,
            "support": float(np.count_nonzero(received)),
            "norm2": math.sqrt(square),
            "received_rounding": (2 * u + (self.n + 4) * 2.0**-53) * (size + float(np.abs(sent).sum())),
        }
        if square > 0:
            self.values["relative_error"] = squared_error / square
            self.values["second_moment"] = float(received @ received) / square
        if squared_error > 0:
            self.values["signal_to_noise"] = math.sqrt(square / squared_error)
        # decoding rounds twice: what is beyond that is the compressor's
        beyond = np.maximum(np.abs(error) - 2 * u * (np.abs(sent) + np.abs(received)), 0.0)
        self.values["largest_error"] = float(beyond.max())
        if spacing is not None:
            safe = np.where(spacing > 0, spacing, 1.0)
            self.values["error_in_steps"] = float((beyond / safe).max())
            self.values["variance_in_steps"] = float(np.square(error / safe).mean())
        self.sketches["received"] = float(signs @ received)
        self.sketches["noise"] = float(signs @ error)

    def _kept(self, signs: Array) -> None:
        """The residual."""
        if "residual" not in self.arrays:
            return
        residual, u = self.arrays["residual"], self.roundoff
        self.values["residual"] = float(residual @ residual)
        self.values["residual_sum"] = float(np.abs(residual).sum())
        self.sketches["residual"] = float(signs @ residual)
        self.known.held = (self.step, self.sketches["residual"], self.values["residual_sum"])
        if {"sent", "received"} <= set(self.arrays):
            sent, received = self.arrays["sent"], self.arrays["received"]
            off = np.abs(residual - (sent - received)) - 2 * u * (np.abs(sent) + np.abs(received) + np.abs(residual))
            if (off > 0).any():
                self._alarm("residual", f"{int((off > 0).sum())} of {self.n} entries are not what was not received")

    def _replicas(self, replicas: Any) -> None:
        """Copies of the weights."""
        array = np.asarray(_numpy(replicas))
        if array.ndim < 2:
            self.digests["replica"] = zlib.crc32(np.ascontiguousarray(array).tobytes())
            return
        copies = array.reshape(len(array), -1).astype(np.float64)
        away = copies - copies.mean(axis=0)
        self.values["consensus"] = float(np.square(away).sum() / len(copies))
        pairs = len(copies) * (len(copies) - 1)
        self.values["drift"] = 2 * len(copies) * float(np.square(away).sum()) / pairs if pairs else 0.0
        self.values["disagreeing"] = float((array != array[0]).any(axis=tuple(range(1, array.ndim))).sum())

    def laws(self, seconds: Any, lost: Any) -> None:
        """Arrival times, which under their law its distribution function makes uniform; and losses."""
        latency, loss = self.monitor._latency, self.monitor._loss
        if seconds is not None and latency is not None:
            uniform = np.asarray(latency.cdf(np.atleast_1d(np.asarray(seconds, dtype=np.float64)).ravel()))
            self._mean(
                "times", np.clip(uniform, 0.0, 1.0) - 0.5, 0.5, "arrivals are {} than their law says", "later earlier"
            )
        if lost is not None and loss is not None:
            found = np.atleast_1d(np.asarray(lost, dtype=np.float64)).ravel() - loss
            self._mean("losses", found, loss, f"losses are {{}} than {loss:g}", "more fewer")

    def moved(self, before: Any, after: Any, step_size: float) -> None:
        """Hold what the optimiser did against the step size; two roundings of float32, or of what there is."""
        if "result" not in self.arrays:
            return
        (old, u), (new, v) = _array("weights", before), _array("weights", after)
        old, new, step = old.ravel(), new.ravel(), step_size * self.arrays["result"]
        sizes = np.abs(old) + np.abs(new) + np.abs(step)
        wrong = np.abs(old - new - step) > 2 * max(u, v, self.roundoff) * sizes + 2.0**-148
        if wrong.any():
            part = float((old - new) @ step / (step @ step)) if step.any() else math.inf
            self._alarm(
                "optimiser", f"weights of {int(wrong.sum())} entries moved otherwise: {part:.4g} times the step"
            )

    def drawn(self, samples: Any) -> None:
        """The least of the examples' numbers, permuted at random: ranks with the same data have the same ones."""
        numbers = np.asarray(_numpy(samples)).ravel()
        if numbers.size == 0 or numbers.dtype.kind not in "iu" or numbers.min() < 0 or numbers.max() > _MASK:
            raise ValueError("samples must be integers in [0, 2^53), at least one")
        mixed = numbers.astype(np.uint64)
        for factor, shift in ((0xBF58476D1CE4E5B9, 27), (0x94D049BB133111EB, 31)):  # each has an inverse
            mixed = ((mixed + np.uint64(self.monitor.run.seed & _MASK)) * np.uint64(factor)) & np.uint64(_MASK)
            mixed ^= mixed >> np.uint64(shift)
        self.sketches["samples"] = float(mixed.min())

    def _mean(self, check: str, deviations: Array, low: float, message: str, words: str) -> None:
        """Hold deviations in [-low, 1 - low] against a mean of zero."""
        test, alpha = self.monitor._test(self.known, check, lambda: SequentialTest(-low, 1 - low, two_sided=True))
        test.feed(deviations)
        if test.refutes(alpha):
            word = words.split()[0 if test.mean > 0 else 1]
            self._alarm(check, f"{message.format(word)}, after {test.count}")

    def _parameters(self, claim: Claim, values: Mapping[str, Any]) -> dict[str, Any]:
        """Values of the claim's symbols."""
        run, sent = self.monitor.run, self.arrays.get("sent")
        known: dict[str, Any] = {"n": self.n, "P": run.ranks, "N": run.ranks, "coordinates": self.n}
        if "m" in claim.parameters and len(self.shape) == 2:
            known["m"], known["n"] = self.shape
        if sent is not None:
            known |= {"norm1": float(np.abs(sent).sum()), "norm2": self.values.get("norm2", 0.0), "x": sent}
            known["norminf"] = float(np.abs(sent).max())
        return known | {name: value(self.n) if callable(value) else value for name, value in values.items()}

    def _judge(self, claim: Claim, values: Mapping[str, Any]) -> None:
        """Hold a claim's quantity against its bound; where a hypothesis fails, say that instead."""
        name = claim.quantity.name
        if name not in self.values:
            return
        parameters = self._parameters(claim, values)
        reach = parameters.get("reach", parameters.get("G"))
        if reach is not None and "gradient" in self.arrays:
            norm = float(np.linalg.norm(self.arrays["gradient"]))
            if norm > float(reach) * (1 + self.n * 2.0**-53):
                self._alarm("hypothesis", f"a gradient of norm {norm:.6g}, bounded by {float(reach):g}", claim.name)
                return
        for hypothesis in claim.assumes:
            if hypothesis.needs and set(hypothesis.needs) <= set(parameters) and not hypothesis.admits(**parameters):
                self._alarm("hypothesis", hypothesis.statement, claim.name)
                return
        bound, found = float(claim.bound(**parameters)), self.values[name]
        if not math.isfinite(bound):
            return
        self.bounds[claim.name] = bound
        if claim.kind is Kind.EXPECTED:
            if name != "bias" and bound > 0:
                if name in _OF_ONE_STEP:
                    test, alpha = self.monitor._test(self.known, claim.name, lambda: SequentialTest(-1.0, math.inf))
                    test.feed(np.array([found / bound - 1.0]))
                else:
                    test, alpha = self.monitor._test(self.known, claim.name, WeightedSum)
                    test.feed(found / bound)
                if test.refutes(alpha):
                    self._alarm("claim", f"{name} exceeds {bound:.10g} on average", claim.name)
            return
        if self._violated(claim, found, bound, float(parameters.get("alpha", 1.0))):
            self._alarm("claim", f"{name} is {found:.10g}, bound {bound:.10g}", claim.name)

    def _violated(self, claim: Claim, found: float, bound: float, alpha: float) -> bool:
        """Whether a sure claim fails by more than rounding explains.

        Squared errors are of numbers that were rounded twice in decoding; a residual is off by 4 u/alpha of itself, as
        q/(1 - q) grows by that where q does by 2 u.
        """
        u, relation = self.roundoff, claim.relation.rel_op
        if claim.quantity.name in ("relative_error", "absolute_error"):
            unit = self.values["norm2"] if claim.quantity.name == "relative_error" else 1.0
            received = float(np.linalg.norm(self.arrays["received"]))
            found = max(math.sqrt(found) - 2 * u * (received + self.values["norm2"]) / unit, 0.0) ** 2
        slack = (4 * u / alpha + (self.n + 8) * 2.0**-53) * abs(bound)
        if relation == "==":
            return abs(found - bound) > slack
        return found > bound + slack if relation == "<=" else found < bound - slack

    def _bias(self, spacing: Array | None) -> None:
        """Error along the vector, its signs, and ones: with mean zero and a known variance if rounding is unbiased.

        An entry that is rounded at random to one of the two levels around it is off by a steps, a = f or 1 - f: its
        variance is a (1 - a), and a (2 a - 1) has mean zero and variance a (1 - a)(1 - 2 a)^2, whichever it was.
        Without levels all entries together vary by at most what a variance claim says, and a direction's part is at
        most its largest squared entry of that. Entries are rounded independently.
        """
        if not any(claim.quantity.name == "bias" for claim, _ in self.monitor._claims):
            return
        if "received" not in self.arrays or not (square := self.values.get("norm2", 0.0) ** 2):
            return
        sent = self.arrays["sent"]
        error = self.arrays["received"] - sent
        directions = {"its input": sent, "its entries' signs": np.sign(sent), "one side": np.ones(self.n)}
        if spacing is not None:
            safe = np.where(spacing > 0, spacing, 1.0)
            steps = np.minimum(np.abs(error) / safe, 1.0)
            variances = steps * (1 - steps) * np.square(spacing)
            self._zero("spread", steps * (2 * steps - 1), steps * (1 - steps) * np.square(1 - 2 * steps))
        else:
            most = [
                self.bounds[claim.name] * square
                for claim, _ in self.monitor._claims
                if claim.name in self.bounds and claim.quantity.name == "relative_error" and claim.kind is Kind.EXPECTED
            ]
            if not most:
                return
            variances = np.full(self.n, min(most) / self.n)
        self.values["noise_variance"] = float(variances.sum())
        for name, direction in directions.items():
            squares = np.square(direction)
            if spacing is None:  # where its largest entry is
                squares = np.full(self.n, float(squares.max()))
            self._zero(name, direction * error, squares * variances)

    def _zero(self, name: str, parts: Array, variances: Array) -> None:
        """Hold a sum of independent parts against a mean of zero."""
        variance = float(variances.sum())
        if variance <= 0:
            return
        test, alpha = self.monitor._test(self.known, f"bias, {name}", SecondMomentTest)
        test.feed(float(parts.sum()) / math.sqrt(variance))
        if test.refutes(alpha):
            what = "is not at random" if name == "spread" else f"leans towards {name} or away from it"
            self._alarm("bias", f"rounding {what}, after {test.count} looks")


def _holding(name: str) -> Claim:
    found = claims().get(name)
    if found is None or str(found.stands) != "holds":
        raise ValueError(f"{name} must be a claim that holds, and it {'is none' if found is None else 'does not'}")
    return found


def _numpy(value: Any) -> Any:
    """An array of numpy of an array of any library; a tensor's values are read where they are, on a CPU."""
    if hasattr(value, "detach"):
        value = value.detach().cpu()
        value = value.float() if str(value.dtype) == "torch.bfloat16" else value
    return value


def _array(name: str, value: Any) -> tuple[Array, float]:
    """The entries in float64, and the unit roundoff of what they were."""
    narrow = str(getattr(value, "dtype", "")) in ("torch.bfloat16", "bfloat16")
    array = np.asarray(_numpy(value))
    if array.size == 0 or array.dtype.kind not in "fiuV":
        raise ValueError(f"{name} must have entries that are real numbers, got {array.dtype} of shape {array.shape}")
    u = 2.0**-8 if narrow else np.finfo(array.dtype).eps / 2 if array.dtype.kind == "f" else 2.0**-53
    return array.astype(np.float64), float(u)


def watch(
    hook: Callable[[Any, Any], Any], monitor: Monitor, held: Callable[[Any, Any], Any] | None = None, **given: Any
) -> Callable[[Any, Any], Any]:
    """A communication hook of torch's DistributedDataParallel that does what `hook` does, watched.

    Parameters
    ----------
    hook : callable (state, bucket) -> future
        As ``register_comm_hook`` takes it; its future holds the average.
    monitor : Monitor
        Of this rank. Every bucket is a tensor.
    held : callable (state, bucket) -> tensor or None
        What the state keeps for the bucket; None where it has nothing yet. Without it, and for buckets without memory,
        what is sent is the gradient.
    **given
        Further arguments of `Monitor.step`: for a hook that sends a narrower format, `roundoff` and `result_rounding`.

    Returns
    -------
    callable (state, bucket) -> future
        It makes no call of the process group that `hook` does not make. Where no look is due it only counts.
    """

    def watched(state: Any, bucket: Any) -> Any:
        tensor = f"bucket {bucket.index()}"
        if not monitor.due(tensor):
            monitor.step(tensor)
            return hook(state, bucket)
        gradient = bucket.buffer().detach().clone()
        before = held(state, bucket) if held else None
        before = None if before is None else before.detach().clone()

        def look(done: Any) -> Any:
            result = done.value()
            found = result[0] if isinstance(result, list) else result
            after = held(state, bucket) if held else None
            seen: dict[str, Any] = {"gradient": gradient, "result": found, **given}
            if after is not None:
                seen["sent"] = gradient if before is None else gradient + before.reshape(gradient.shape)
                seen["residual"] = after.detach().reshape(gradient.shape)
                seen["received"] = seen["sent"] - seen["residual"]
            elif not held:
                seen |= {"sent": gradient, "received": gradient}
            monitor.step(tensor, **seen)
            return result

        return hook(state, bucket).then(look)

    watched.__annotations__ = {}  # torch takes no annotations but its own
    return watched


def watch_reduce_scatter(comm: Any, monitor: Monitor, tensor: str, **given: Any) -> Any:
    """What FSDP's ``set_custom_reduce_scatter`` takes: it does what `comm` does, watched.

    Parameters
    ----------
    comm : ReduceScatter
        Of ``torch.distributed.fsdp``: ``allocate``, and a call with ``output_tensor, input_tensor, group, op``.
    monitor : Monitor
        Of this rank.
    tensor : str
        Name of the module's gradient.
    **given
        Further arguments of `Monitor.step`.

    Returns
    -------
    object
        With the same two methods. Where no look is due, and where a call is asynchronous, it only counts.
    """

    class Watched:
        allocate = staticmethod(comm.allocate)

        def __call__(self, output_tensor: Any, input_tensor: Any, group: Any, op: Any, async_op: bool = False) -> Any:
            looks = monitor.due(tensor) and not async_op
            sent = input_tensor.detach().clone() if looks else None
            done = comm(output_tensor, input_tensor, group, op, async_op)
            if sent is None:
                monitor.step(tensor)
                return done
            size, average = group.size(), str(op).rpartition(".")[2] == "AVG"
            result = output_tensor if average else output_tensor / size
            first = group.rank() * output_tensor.numel()
            monitor.step(tensor, gradient=sent, sent=sent, received=sent, result=result, shard=first, **given)
            return done

    return Watched()


def watch_outer(reduce: Callable[..., Any], monitor: Monitor, optimiser: Any, **given: Any) -> Callable[..., Any]:
    """A sum of pseudo-gradients, as DiLoCo's outer step makes it, that does what `reduce` does, watched.

    Parameters
    ----------
    reduce : callable (tensor, ...) -> object
        Averages a tensor over the ranks, in place, until the outer optimiser steps: ``allreduce`` of a torchft manager.
    monitor : Monitor
        Of this rank. The i-th call between two outer steps is the tensor ``outer i``.
    optimiser : torch.optim.Optimizer
        The outer one: the averages are looked at when its step begins.
    **given
        Further arguments of `Monitor.step`.

    Returns
    -------
    callable
        To be used in place of `reduce`. A tensor that is no longer there when the step begins, as after a step that
        was not committed, is not looked at.
    """
    pending: list[tuple[Any, Any]] = []

    def watched(x: Any, *arguments: Any, **named: Any) -> Any:
        pending[:] = [pair for pair in pending if pair[0]() is not None]
        pending.append((weakref.ref(x), x.detach().clone() if monitor.due(f"outer {len(pending)}") else None))
        return reduce(x, *arguments, **named)

    def look(*_: Any) -> None:
        for number, (result, sent) in enumerate((there(), sent) for there, sent in pending):
            seen = {} if sent is None else dict(gradient=sent, sent=sent, received=sent, result=result, **given)
            monitor.step(f"outer {number}", **seen)
        pending.clear()

    optimiser.register_step_pre_hook(look)
    return watched
