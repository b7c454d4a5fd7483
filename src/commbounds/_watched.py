"""What a watched run leaves: JSON lines of every rank, read back, and judged across the ranks."""

import itertools
import json
import math
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from commbounds.folders import regular
from commbounds.theory import claims
from commbounds.verify.reading import parsed, record
from commbounds.verify.sequential import SecondMomentTest

CHECKS = {
    "finite": "all entries are finite",
    "scales": "no scale of a group that is not zero is zero, infinite or NaN",
    "claim": "a claim of the book holds, at every step or in expectation",
    "bias": "compression is unbiased",
    "residual": "the residual is what was sent less what was received",
    "carried": "what is sent is the gradient and the residual of the step before",
    "hypothesis": "the hypotheses of the claims hold",
    "times": "arrival times have the given law",
    "losses": "messages are lost at the given rate",
    "optimiser": "the weights move by the step size times the result",
    "agreement": "all ranks end with the same bits",
    "sum": "the result is the average of what the ranks' messages decode to",
    "noise": "the ranks' rounding errors are independent",
    "samples": "no two ranks train on the same example",
    "missing": "all ranks are at about the same step",
}
"""What is checked, by name; the last five across the ranks, from their files."""
_LAG = 256
"""Steps that a rank may be behind the first before it counts as missing."""


@dataclass(frozen=True)
class WatchedRun:
    """The first line of a rank's file: what was to be watched.

    Parameters
    ----------
    claims : dict of str to dict
        Name -> values of its symbols; null where a value depends on the tensor.
    alarm : float
        False-alarm rate of the whole run, in (0, 1).
    seed : int
        Of the sketches.
    rank, ranks : int
        0 <= rank < ranks.
    """

    claims: dict[str, dict[str, Any]]
    alarm: float
    seed: int
    rank: int
    ranks: int

    def __post_init__(self) -> None:
        for name in self.claims:
            if name not in claims():
                raise ValueError(f"claims: {name} is not in the book")
        if not 0.0 < self.alarm < 1.0:
            raise ValueError(f"alarm must be in (0, 1), got {self.alarm}")
        if not 0 <= self.rank < self.ranks:
            raise ValueError(f"rank must be in [0, {self.ranks}), got {self.rank}")
        if self.seed < 0:
            raise ValueError(f"seed must not be negative, got {self.seed}")


@dataclass(frozen=True)
class Look:
    """One tensor at one step, as one rank saw it.

    Parameters
    ----------
    step : int
        Not negative, ascending for every tensor.
    tensor : str
        Its name.
    n : int
        Its entries.
    tests : int
        Sequential tests that the rank has begun so far.
    values : dict of str to float
        What was measured, by the quantity's name; all finite, and none but sums of signs negative.
    bounds : dict of str to float
        What claims bound it by, by their names.
    sketches : dict of str to float
        Products with random signs that all ranks share.
    digests : dict of str to int
        Checksums (CRC-32) of what is to have the same bits on all ranks.
    """

    step: int
    tensor: str
    n: int
    tests: int = 0
    values: dict[str, float] = field(default_factory=dict)
    bounds: dict[str, float] = field(default_factory=dict)
    sketches: dict[str, float] = field(default_factory=dict)
    digests: dict[str, int] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if self.step < 0 or self.n < 1 or self.tests < 0:
            raise ValueError(f"step {self.step}, n {self.n} or tests {self.tests} is out of range")
        for name, value in (*self.values.items(), *self.bounds.items(), *self.sketches.items()):
            if not math.isfinite(value):
                raise ValueError(f"{name} must be finite, got {value}")
        for name, value in self.values.items():
            if value < 0:
                raise ValueError(f"{name} must not be negative, got {value}")
        for name, digest in self.digests.items():
            if not 0 <= digest < 1 << 32:
                raise ValueError(f"digest of {name} must have 32 bits, got {digest}")


@dataclass(frozen=True)
class WatchAlarm:
    """What was noticed: of every check, tensor and claim the first time.

    Parameters
    ----------
    step : int
        At which it was noticed.
    tensor : str
        Where.
    check : str
        One of `CHECKS`.
    message : str
        What is wrong, in words.
    claim : str
        The claim that does not hold, or whose hypothesis does not; empty where none is about it.
    """

    step: int
    tensor: str
    check: str
    message: str
    claim: str = ""

    def __post_init__(self) -> None:
        if self.check not in CHECKS:
            raise ValueError(f"check must be one of {', '.join(CHECKS)}, got {self.check!r}")
        if self.step < 0:
            raise ValueError(f"step must not be negative, got {self.step}")


Line = WatchedRun | Look | WatchAlarm
KINDS: dict[str, type[Line]] = {"run": WatchedRun, "look": Look, "alarm": WatchAlarm}


def as_line(what: Line) -> bytes:
    """One line of JSON."""
    kind = next(name for name, of in KINDS.items() if isinstance(what, of))
    return (json.dumps({kind: vars(what)}, allow_nan=False) + "\n").encode()


@dataclass
class RankFile:
    """What one rank wrote.

    Parameters
    ----------
    run : WatchedRun
        Its first line.
    looks, alarms : list
        In their order.
    size : int
        Bytes of whole lines; what comes after them was cut off by a crash.
    """

    run: WatchedRun
    looks: list[Look]
    alarms: list[WatchAlarm]
    size: int


def read_rank(path: Path) -> RankFile | None:
    """What a rank's file holds, every value checked; None where not even its first line is whole.

    Raises
    ------
    ValueError
        A line is none of ours; a last one without its end is left out.
    """
    content, _ = regular(path)
    size = content.rfind(b"\n") + 1
    found: list[Line] = []
    last: dict[str, int] = {}
    for number, line in enumerate(content[:size].splitlines(), 1):
        try:
            found.append(_line(line.decode()))
            if (number == 1) != isinstance(found[-1], WatchedRun):
                raise ValueError("the first line, and no other, must say what is watched")
            if isinstance(look := found[-1], Look):
                if look.step <= last.get(look.tensor, -1):
                    raise ValueError(f"step {look.step} of {look.tensor!r} comes after step {last[look.tensor]}")
                last[look.tensor] = look.step
        except ValueError as error:
            raise ValueError(f"{path}, line {number}: {error!s:.500}") from error
    if not found:
        return None
    run, *rest = found
    assert isinstance(run, WatchedRun)
    return RankFile(run, [x for x in rest if isinstance(x, Look)], [x for x in rest if isinstance(x, WatchAlarm)], size)


def _line(text: str) -> Line:
    value = parsed(text)
    if not isinstance(value, dict) or len(value) != 1 or next(iter(value)) not in KINDS:
        raise ValueError(f"it must be an object with one of {', '.join(KINDS)}")
    ((kind, inside),) = value.items()
    return record(KINDS[kind], inside)


@dataclass(frozen=True)
class Watched:
    """A run as its ranks' files tell it.

    Parameters
    ----------
    ranks : dict of int to RankFile
        Those that have written something.
    across : list of WatchAlarm
        What the files tell together.
    """

    ranks: dict[int, RankFile]
    across: list[WatchAlarm]

    @property
    def run(self) -> WatchedRun:
        """What was watched."""
        return next(iter(self.ranks.values())).run

    @property
    def alarms(self) -> list[tuple[str, WatchAlarm]]:
        """All alarms by step, each with the rank that raised it, or "all"."""
        found = [(str(rank), alarm) for rank, file in self.ranks.items() for alarm in file.alarms]
        return sorted([*found, *(("all", alarm) for alarm in self.across)], key=lambda pair: pair[1].step)

    @property
    def shares(self) -> dict[int, float]:
        """Rank -> the share of the run's time that its monitor had taken at its last look."""
        return {rank: look.values["monitor_share"] for rank, look in self.looks() if "monitor_share" in look.values}

    def latest(self) -> dict[tuple[str, int], Look]:
        """Tensor and rank -> the last look."""
        return {(look.tensor, rank): look for rank, look in self.looks()}

    def looks(self) -> Iterator[tuple[int, Look]]:
        """All looks with their ranks."""
        return ((rank, look) for rank, file in self.ranks.items() for look in file.looks)


def read(folder: str | Path) -> Watched:
    """What monitors have written to a folder, judged across the ranks.

    Raises
    ------
    ValueError
        There is nothing, a line is none of ours, or files are of different runs.
    """
    found: dict[int, RankFile] = {}
    for path in sorted(Path(folder).glob("rank-*.jsonl")):
        file = read_rank(path)
        if file is None:
            continue
        if path.name != file_name(file.run.rank):
            raise ValueError(f"{path} holds the lines of rank {file.run.rank}")
        found[file.run.rank] = file
    if not found:
        raise ValueError(f"no monitor has written to {folder}")
    runs = {(f.run.alarm, f.run.seed, f.run.ranks, json.dumps(f.run.claims, sort_keys=True)) for f in found.values()}
    if len(runs) > 1:
        raise ValueError(f"the files in {folder} are of different runs")
    return Watched(found, judged_across(found))


def nearness(name: str, value: float, bound: float) -> float:
    """Measured over bound; the other way round where the bound is a lower one."""
    above, below = (bound, value) if claims()[name].relation.rel_op == ">=" else (value, bound)
    return above / below if below else math.copysign(1e300, above) if above else 1.0


def file_name(rank: int) -> str:
    """Name of a rank's file."""
    return f"rank-{rank:05d}.jsonl"


def share(alarm: float, number: int) -> float:
    """False-alarm rate of the test with this number, from 1 on: alarm/(number (number + 1)), which add up to alarm."""
    return alarm / (number * (number + 1))


def judged_across(files: Mapping[int, RankFile]) -> list[WatchAlarm]:
    """What the ranks' files tell together, with half of the run's false-alarm rate.

    Notes
    -----
    With random signs d that the ranks share, sum_r d.y_r / P = d.result: a result that is the average of what the
    messages decode to passes for all signs, up to P + 1 roundings of every entry. For rounding errors e_r that are
    independent over ranks and entries and have mean zero, d.e_r d.e_s has mean zero and variance v_r v_s, v the sums
    of the entries' variances, for every d.
    """
    run = next(iter(files.values())).run
    by_place: dict[tuple[int, str], dict[int, Look]] = {}
    for rank, file in files.items():
        for look in file.looks:
            by_place.setdefault((look.step, look.tensor), {})[rank] = look
    found: dict[tuple[str, str], WatchAlarm] = {}
    tests: dict[tuple[str, int, int], tuple[SecondMomentTest, float]] = {}
    before: dict[str, Mapping[int, Look]] = {}
    owners: dict[float, int] = {}

    def raised(check: str, look: Look, message: str) -> None:
        found.setdefault((check, look.tensor), WatchAlarm(look.step, look.tensor, check, message))

    for (_, tensor), looks in sorted(by_place.items()):
        first = next(iter(looks.values()))
        for name in first.digests:
            message = _disagreeing(name, looks, before.get(tensor, {}))
            if message:
                raised("agreement", first, message)
        if len(looks) == run.ranks:
            off = _sum_off(looks)
            if off:
                raised("sum", first, off)
        for pair in itertools.combinations(sorted(looks), 2):
            a, b = (looks[rank] for rank in pair)
            if not all(look.values.get("noise_variance") for look in (a, b)):
                continue
            begun = (SecondMomentTest(), share(run.alarm / 2, len(tests) + 1))
            test, alpha = tests.setdefault((tensor, *pair), begun)
            spread = math.sqrt(a.values["noise_variance"] * b.values["noise_variance"])
            test.feed(a.sketches["noise"] * b.sketches["noise"] / spread)
            if test.refutes(alpha):
                raised("noise", first, f"rounding errors of ranks {pair[0]} and {pair[1]} go together: a shared seed?")
        for rank, look in looks.items():
            if "samples" in look.sketches and (owner := owners.setdefault(look.sketches["samples"], rank)) != rank:
                raised("samples", look, f"ranks {owner} and {rank} train on the same example")
        before[tensor] = looks
    last = {rank: max((look.step for look in file.looks), default=-1) for rank, file in files.items()}
    front = max(last.values())
    late = [str(rank) for rank in range(run.ranks) if last.get(rank, -1) < front - _LAG]
    if late:
        found["missing", ""] = WatchAlarm(front, "", "missing", f"nothing for {_LAG} steps of rank {', '.join(late)}")
    return list(found.values())


def _disagreeing(name: str, looks: Mapping[int, Look], before: Mapping[int, Look]) -> str:
    """Which ranks hold other bits than most; empty where none does."""
    digests = {rank: look.digests[name] for rank, look in looks.items() if name in look.digests}
    common, _ = Counter(digests.values()).most_common(1)[0]
    other = {rank: digest for rank, digest in digests.items() if digest != common}
    if not other:
        return ""
    old = {look.digests.get(name) for look in before.values()}
    stale = " of an earlier step" if set(other.values()) <= old else ""
    return f"rank {', '.join(map(str, other))}: another {name} than most ranks{stale}"


def _sum_off(looks: Mapping[int, Look]) -> str:
    """By how much the result is no average of the messages; empty where rounding explains it."""
    sketches, size = [look.sketches for look in looks.values()], len(looks)
    if not all("received" in sketch for sketch in sketches):
        return ""
    results = {
        f"rank {rank}: the result is": look.sketches["result"]
        for rank, look in looks.items()
        if "result" in look.sketches
    }
    if all("shard" in sketch for sketch in sketches):
        results = {"the parts of the result are": sum(sketch["shard"] for sketch in sketches)}
    elif len(results) < size:
        return ""
    mean = sum(sketch["received"] for sketch in sketches) / size
    of_result = max(look.values.get("result_rounding", 0.0) * look.n for look in looks.values())
    allowance = of_result + sum((size + 1) * v.values["received_rounding"] for v in looks.values()) / size
    for what, found in results.items():
        if abs(found - mean) > allowance:
            return f"{what} off the average of the messages by {abs(found - mean):.3g}, rounding by {allowance:.3g}"
    return ""
