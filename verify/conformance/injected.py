"""The law of a subject whose uniforms are given: handed in, or put in the place of what its generators draw."""

import contextlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from commbounds.array_types import Array, Floats, Integers
from commbounds.verify.conformance.bench import Bench
from commbounds.verify.conformance.calls import Unanswered
from commbounds.verify.conformance.case import CheckCase
from commbounds.verify.conformance.claim import NotHere
from commbounds.verify.conformance.inputs import generic
from commbounds.verify.conformance.random_words import SINGLE, intercepted
from commbounds.verify.conformance.report import CheckFinding, CheckVerdict
from commbounds.verify.conformance.subject import AllReduce, Codec
from commbounds.verify.conformance.torch_words import Drawn, answered, prepare
from commbounds.verify.marginals import Reader, StepLaws, step_laws

_PROBES = 6
SEEDS = (1, 2, 7, 2**20 + 3, 2**31 - 1)
"""Seeds for which a law has to be the same."""
_KEPT = 1 << 21
"""Numbers in the laws that are kept for the next claim."""


class NotElementwise(NotHere):
    """An entry of the output is no monotone step function of its own uniform alone."""


def _grid(bench: Bench) -> tuple[int, type]:
    """How many uniforms there are, and their dtype: that of the input, float32 for those that are narrower."""
    return (1 << 53, np.float64) if bench.subject.dtype == "float64" else (1 << 24, np.float32)


def uniforms_for(bench: Bench, case: CheckCase) -> NDArray[np.floating]:
    """Uniforms that belong to the case's seed, one an entry; every eighth, on average, is the first or the last one."""
    cells, dtype = _grid(bench)
    rng = np.random.default_rng(case.seed)
    places = rng.integers(cells, size=case.x.shape)
    edge = rng.random(case.x.shape)
    places = np.where(edge < 1 / 16, 0, np.where(edge < 1 / 8, cells - 1, places))
    return (places / cells).astype(dtype)


def injected_law(bench: Bench, case: CheckCase, probes: int = _PROBES) -> StepLaws:
    """The laws of the entries of the output at the case's input, flat, each on the grid of the uniforms.

    Parameters
    ----------
    bench : Bench
        Its subject takes uniforms, or draws one an entry, in order, from generators that can be intercepted: those of
        numpy and Python that it makes during the call or that are global, and torch's uniform and Bernoulli tensors.
        Or one for every entry that is not zero; what it draws besides, behind those, must not matter.
    case : CheckCase
        The input; the seed is handed on.
    probes : int
        Other uniforms at which the laws are compared with the output.

    Raises
    ------
    NotElementwise
        There are more than six values of an entry; or the output for other uniforms, some of them at the ends of the
        range and on either side of a switch, is not what these laws say; or draws cannot be intercepted.
    Unanswered
        The subject did not answer.
    """
    key = case.x.shape, case.x.tobytes(), case.seed, probes
    known = bench.laws.get(key)
    if known is None:
        try:
            known = _read(bench, case, probes)
        except NotElementwise as error:
            known = error
        size = 1 if isinstance(known, NotElementwise) else 2 * known.values.size
        if bench.kept_laws + size <= _KEPT:
            bench.laws[key], bench.kept_laws = known, bench.kept_laws + size
    if isinstance(known, NotElementwise):
        raise known
    law: StepLaws = known
    return law


def has_law(bench: Bench, case: CheckCase, expected: StepLaws) -> bool:
    """Whether the entries of the output at the case's input have these laws, by a call on either side of every switch.

    That takes a third of the calls that `injected_law` takes. False where it is not known: then the law is to be read.
    """
    with reading(bench, case) as read:
        if read.cells != expected.cells:
            return False
        rng = np.random.default_rng([case.seed, 2])
        n, last = case.x.size, expected.cells - 1
        sides = [side for ends in expected.ends[:-1] for side in (ends - 1, np.minimum(ends, last))]
        probes = [rng.integers(expected.cells, size=n) for _ in range(2)]
        for places in (np.zeros(n, np.int64), *sides, np.full(n, last), *probes):
            said, came = expected.at(places), read.output(case.x, places)
            if not ((said == came) | (np.isnan(said) & np.isnan(came))).all():
                return False
    return True


def readable(bench: Bench) -> bool:
    """Whether the laws of entries can be read off: uniforms are handed in, or its draws intercepted.

    `bench.unread` says why not.
    """
    subject = bench.subject
    if bench.unread is None:
        bench.unread = ""
        try:
            foreign = bench.foreign
        except Unanswered as error:
            bench.unread = f"its process does not answer: {error}"
            return False
        if not isinstance(subject, Codec):
            bench.unread = f"laws of an entry are not read off for the kind {subject.kind}"
        elif subject.outside is not None and not subject.injectable and foreign:
            bench.unread = "its process does not tell of its generators"
        elif not subject.injectable:
            bench.unread = _refusal(bench) if subject.intercept else "its generators are to be left alone"
    return not bench.unread


def seed_alone(bench: Bench, case: CheckCase) -> bool:
    """Whether the law at the case's input is the same for other seeds: else it says nothing about the mean over them.

    Raises
    ------
    NotElementwise
        A law cannot be read off.
    """
    law = injected_law(bench, case)
    for seed in SEEDS:
        other = injected_law(bench, CheckCase(case.x, seed))
        same = law.values.shape == other.values.shape and np.array_equal(law.values, other.values, equal_nan=True)
        if not (same and np.array_equal(law.ends, other.ends)):
            return False
    return True


def _refusal(bench: Bench) -> str:
    """Why laws cannot be read off, at a few generic inputs; empty if at one of them they can."""
    bench.unread, said = None, "it takes no input that is tried"
    rng = bench.rng("readable")
    for size in (6, 50):
        x = generic(bench.subject, rng, size)
        if x is None:
            continue
        try:
            if not seed_alone(bench, CheckCase(x)):
                return "it depends on its seed besides its draws"
        except NotElementwise as error:
            said = str(error)
        except Unanswered as error:
            said = f"intercepted, it does not answer: {error}"
        else:
            return ""
    return said


def limited(bench: Bench, drawn: CheckFinding, read: CheckFinding | None = None) -> CheckFinding:
    """A finding by draws, which says what it could not see; or what was seen besides, where laws were read off.

    Parameters
    ----------
    drawn : CheckFinding
        What draws showed.
    read : CheckFinding or None
        What the laws showed that were read off by interception.
    """
    if drawn.verdict is not CheckVerdict.PASS:
        return drawn
    if read is not None and read.verdict is CheckVerdict.PASS:
        how = "laws of entries read off by giving its generators their words"
        return replace(drawn, evidence=f"{read.evidence}, {how}; {drawn.evidence}")
    why = f" ({bench.unread})" if bench.unread else ""
    said = f"by draws alone{why}: not seen is what comes less than once in {bench.draws} draws, or at other inputs only"
    return replace(drawn, evidence=f"{drawn.evidence}; {said}")


@dataclass(frozen=True)
class GivenOutputs:
    """How the output of a subject is had for given uniforms.

    Parameters
    ----------
    output : callable (x, places) -> (n,) float64
        The output for an input like that of the case, flat, with ``places / cells`` for uniforms, one an entry.
    cells : int
        How fine they are.
    """

    output: Callable[[Array, Integers], Floats]
    cells: int


@contextlib.contextmanager
def reading(bench: Bench, case: CheckCase) -> Iterator[GivenOutputs]:
    """While it is open, outputs for given uniforms can be had.

    Raises
    ------
    NotElementwise
        They cannot.
    """
    subject, seed = bench.subject, case.seed
    if isinstance(subject, Codec) and subject.injectable:
        cells, dtype = _grid(bench)

        def output(x: Array, places: Integers) -> Floats:
            uniforms: Array = (places.reshape(x.shape) / cells).astype(dtype)
            answer: Floats = bench.output(CheckCase(x, seed), uniforms=uniforms).astype(np.float64).ravel()
            return answer

        yield GivenOutputs(output, cells)
        return
    with intercepted() if subject.outside is None else contextlib.nullcontext():
        yield _interception(bench, case, np.random.default_rng([seed, 1]))


def _read(bench: Bench, case: CheckCase, probes: int) -> StepLaws:
    with reading(bench, case) as read:
        return _compared(lambda places: read.output(case.x, places), case, read.cells, probes)


def _compared(output: Reader, case: CheckCase, cells: int, probes: int) -> StepLaws:
    """The laws by bisection, and that they are laws."""
    laws = step_laws(output, case.x.ravel(), cells)
    if laws is None:
        raise NotElementwise("an entry takes more than six values")
    rng = np.random.default_rng(case.seed)
    for probe in range(probes):
        places = rng.integers(cells, size=case.x.size)
        if probe % 2:
            switch = laws.ends[0] - rng.integers(2, size=case.x.size)
            ends = np.where(rng.random(case.x.size) < 0.5, 0, cells - 1)
            places = np.clip(np.where(rng.random(case.x.size) < 0.5, switch, ends), 0, cells - 1)
        said, came = laws.at(places), output(places)
        if not ((said == came) | (np.isnan(said) & np.isnan(came))).all():
            raise NotElementwise("an entry of the output is no step function of its own uniform")
    return laws


def _interception(bench: Bench, case: CheckCase, rng: np.random.Generator) -> GivenOutputs:
    """What comes out for given uniforms, which are put in the place of what is drawn; and how fine these are."""
    x = case.x
    _, first = with_words(bench, case, rng.random(x.size), rng)
    if first.refused:
        raise NotElementwise(f"it draws by {first.refused}")
    own = np.arange(x.size) if first.drawn >= x.size else np.flatnonzero(x)[: None if first.drawn else 0]
    if first.drawn == 0 and bench.unread is None:  # elsewhere it is known to draw, and here it does not
        raise NotElementwise("no draw of it can be intercepted")
    if first.drawn < len(own) or (first.drawn > len(own) and len(own) < x.size):
        raise NotElementwise(f"{first.drawn} numbers are drawn for {x.size} entries")
    cells = 1 << (24 if first.kinds == SINGLE else 53)

    def output(like: Array, places: Integers) -> Floats:
        answer, drawn = with_words(bench, CheckCase(like, case.seed), places[own] / cells, rng)
        if drawn.refused or drawn.drawn != first.drawn:
            raise NotElementwise("what is drawn differs from call to call")
        return answer.ravel()

    return GivenOutputs(output, cells)


def with_words(bench: Bench, case: CheckCase, uniforms: Floats, rng: np.random.Generator) -> tuple[Floats, Drawn]:
    """The output for words of these leading bits and random ones behind them; and what became of them."""
    subject, spare = bench.subject, int(rng.integers(2**63))
    if subject.outside is not None and not hasattr(subject.outside, "intercepted"):
        raise NotElementwise("its ranks are processes, which cannot be given words together")

    def called(x: Array, seed: int) -> tuple[Any, Drawn]:
        if subject.outside is not None:
            return subject.outside.intercepted(x, seed, uniforms, spare)  # type: ignore[no-any-return]
        function = subject.run if isinstance(subject, AllReduce) else subject.roundtrip  # type: ignore[attr-defined]
        return answered(function, x, seed, uniforms, spare)

    prepare()
    y, drawn = bench.call(called, case.x.copy(), case.seed)
    return bench.checked(y, case.x).astype(np.float64), drawn
