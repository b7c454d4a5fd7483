"""What each method says of studies: enumeration, injection, search, attack, extremal cases, sequential tests.

Studies are judged together: a case that several of them measure is made once, and run once (see `Case.once`). What is
found about one does not depend on which others are there.
"""

import contextlib
import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from types import MappingProxyType
from typing import Any

import numpy as np
import sympy as sp
from hypothesis import strategies as st

from commbounds.array_types import Array
from commbounds.theory import Standing
from commbounds.verify import certify
from commbounds.verify.experiment import Budget, Implementations
from commbounds.verify.finding import Counterexample, Evidence, Method, Verdict
from commbounds.verify.judgement import Judgement, Probe
from commbounds.verify.search import Violation, falsified, generated, simplest
from commbounds.verify.sequential import SequentialTest, detectable_violation
from commbounds.verify.study import AnyStudy, Case

ATTAINED = 0.999
"""Share of the stated tightness that counts as attained."""


Judgements = Sequence[Judgement]


def _by_source(judgements: Judgements, name: str) -> list[tuple[Any, list[Judgement]]]:
    """The studies that take their cases from the same source, under that source, without those that raised."""
    shared: dict[Any, list[Judgement]] = {}
    for j in judgements:
        source = getattr(j.study, name)
        if source is not None and j.error is None:
            shared.setdefault(source, []).append(j)
    return list(shared.items())


def _cases(source: Callable[..., Iterable[Case]], argument: Any, members: Sequence[Judgement]) -> Iterator[Case]:
    """The cases of a source; what it raises is the error of all its studies."""
    try:
        yield from source(argument)
    except Exception as error:
        for j in members:
            j.error = j.error or error


def _kept(probe: Probe, case: Case) -> bool:
    """Whether the case keeps the relation, or is none of the claim's."""
    try:
        probe(case)
    except Violation:
        return False
    return True


def _tried(j: Judgement, probe: Probe, case: Case) -> bool:
    """The same; an exception becomes the study's error."""
    try:
        return _kept(probe, case)
    except Exception as error:
        j.error = error
    return True


# --- exact arithmetic -------------------------------------------------------------------------------------------------


def enumerate_grids(judgements: Judgements, budget: Budget, _seed: int = 0, _alpha: float = 0.0) -> None:
    """Every case of the grids, exactly, smallest first; kernels are held against their laws on the same cases."""
    for source, members in _by_source(judgements, "grid"):
        probes = {id(j): j.probe(exact=True) for j in members}
        shapes: set[tuple[int, ...]] = set()
        open_, injected = list(members), {id(j): _Injection(j) for j in members}
        for case in _cases(source, budget.level, members):
            for j in list(open_):
                if j.error is None and not _tried(j, probes[id(j)], case):
                    probe = probes[id(j)]
                    detail = f"{_enumerated(j.study, shapes)}, smallest first"
                    j.take(Method.EXACT, _evidence(Method.EXACT, Verdict.REFUTED, probe, detail), probe)
                    open_.remove(j)
            for j in members:
                injected[id(j)].hold(case)
            if case.x is not None:
                shapes.add(case.x.shape)
            if all(j.error is not None or (j not in open_ and injected[id(j)].closed) for j in members):
                break
        for j in members:
            if j.error is None and j in open_:
                probe = probes[id(j)]
                if probe.nontrivial == 0:
                    what = "admissible case" if probe.cases == 0 else "case that could break the claim"
                    j.error = ValueError(f"the grid of {j.study.claim} holds no {what}")
                    continue
                found = _evidence(Method.EXACT, Verdict.ENUMERATED, probe, _enumerated(j.study, shapes))
                j.take(Method.EXACT, found, probe)
            if j.error is None:
                j.take(Method.INJECT, injected[id(j)].evidence())


def _evidence(method: Method, verdict: Verdict, probe: Probe, detail: str) -> Evidence:
    """What a probe found, with what it was run on."""
    return Evidence(
        method,
        verdict,
        probe.cases,
        detail,
        probe.tightness,
        counterexample=probe.violation if verdict is Verdict.REFUTED else None,
        nontrivial=probe.nontrivial,
        scope=probe.scope.words(),
    )


def _enumerated(study: AnyStudy, shapes: set[tuple[int, ...]]) -> str:
    """What was enumerated; with the shapes of the inputs where the study does not say them."""
    if not study.continuous:
        return study.enumerated
    return f"{study.enumerated}; inputs of shape {', '.join(' x '.join(map(str, s)) for s in sorted(shapes))}"


class _Injection:
    """Holds a kernel against its exact law, case by case."""

    def __init__(self, judgement: Judgement) -> None:
        self._of, self._cases = judgement, 0
        self._found: Counterexample | None = None

    @property
    def closed(self) -> bool:
        """Whether there is nothing more to find."""
        return self._found is not None or not self._of.study.injectable

    def hold(self, case: Case) -> None:
        j = self._of
        if self.closed or j.error is not None:
            return
        try:
            compared = j.study.law_gap(j.implementation, case)
        except Exception as error:
            j.error = error
            return
        if compared is None:
            return
        self._cases += 1
        gap, allowance = compared
        if gap > allowance:
            x = np.asarray(case.array, dtype=np.float64)
            subject = j.study.shown(j.implementation, case)
            self._found = Counterexample(subject, x[..., :64].tolist(), gap, allowance, x_length=x.size)

    def evidence(self) -> Evidence | None:
        if self._found is not None:
            detail = "the kernel's distribution differs from the exact law"
            return Evidence(Method.INJECT, Verdict.REFUTED, self._cases, detail, counterexample=self._found)
        if self._cases == 0:
            return None
        detail = "kernel's switching points bisected, against the exact law"
        return Evidence(Method.INJECT, Verdict.SURVIVED, self._cases, detail)


# --- search -----------------------------------------------------------------------------------------------------------


def search(judgements: Judgements, budget: Budget, seed: int, _alpha: float = 0.0) -> None:
    """Extremal cases and cases by hand, then generated ones; what fails is searched for again, and shrinks."""
    found: dict[int, tuple[Case, Counterexample]] = {}
    wanted = [j for j in judgements if j.error is None and (j.study.corpus or j.study.cases)]
    for j in wanted:
        j.searched = j.probe()
    for name in ("extremal", "corpus"):
        for source, members in _by_source(wanted, name):
            _gone_through(_cases(source, budget, members), members, budget, found)
    by_hand = {id(j): j.searched.cases for j in wanted if j.searched is not None}
    for source, members in _by_source(wanted, "cases"):
        examples = budget.examples // members[0].study.drawn_of
        cases = _cases(_generated(source, members[0].study.subject, seed), examples, members)
        _gone_through(cases, members, budget, found)
    for j in wanted:
        if j.error is None:
            try:
                _conclude(j, budget, seed, by_hand[id(j)], found.get(id(j)))
            except Exception as error:
                j.error = error


def _gone_through(
    cases: Iterator[Case], members: Judgements, budget: Budget, found: dict[int, tuple[Case, Counterexample]]
) -> None:
    """Measures the cases for each that is still open; the first violation of each goes into `found`."""
    for case in cases:
        open_ = [j for j in members if j.error is None and not (budget.first and id(j) in found)]
        if not open_:
            return
        for j in open_:
            assert j.searched is not None
            if not _tried(j, j.searched, case):
                assert j.searched.violation is not None
                found.setdefault(id(j), (case, j.searched.violation))


def _conclude(j: Judgement, budget: Budget, seed: int, by_hand: int, first: tuple[Case, Counterexample] | None) -> None:
    probe, study = j.searched, j.study
    assert probe is not None
    if budget.first and first is not None:
        detail = f"the first of {probe.cases} cases that breaks it"
        j.take(Method.SEARCH, _evidence(Method.SEARCH, Verdict.REFUTED, probe, detail), probe)
        return
    shrunk = None
    climbs = study.statement.tightness is None and not isinstance(study.statement.relation, sp.Eq)
    if study.cases is not None and (first is not None or climbs or study.statement.stands is not Standing.HOLDS):
        probe.violation = None
        shrunk = _shrunk(probe, study.cases(), budget.examples, own_seeds(seed, study.claim)[0])
    if probe.cases == 0:
        if not study.may_be_unreadable:
            raise ValueError(f"the search for {study.claim} met no admissible case")
        return
    counterexample = shrunk or (first and _simplified(j, *first))
    verdict = Verdict.SURVIVED if counterexample is None else Verdict.REFUTED
    detail = f"{by_hand} cases by hand, {probe.cases - by_hand} generated"
    if probe.best is not None:
        detail += f"; closest to the bound: {probe.best_shown()}"
    if probe.nontrivial == 0 and counterexample is None:
        raise ValueError(f"the search for {study.claim} met no case that could break the claim")
    evidence = replace(_evidence(Method.SEARCH, verdict, probe, detail), counterexample=counterexample)
    j.take(Method.SEARCH, evidence, probe)


def _generated(
    source: Callable[[], st.SearchStrategy[Case]], subject: str, seed: int
) -> Callable[[int], Iterator[Case]]:
    """(examples) -> the cases that are generated for this source: the same for every study."""
    return lambda examples: generated(source(), examples, _mixed(seed, subject))


def _shrunk(probe: Probe, cases: st.SearchStrategy[Case], examples: int, seed: int) -> Counterexample | None:
    """A shrunk violation, searched for by climbing on measured / bound; None where there is none."""
    climbing = not isinstance(probe.study.statement.relation, sp.Eq)  # an equality has nothing to climb to

    def confront(case: Case) -> float | None:
        close = probe(case)
        return close if climbing else None

    return probe.violation if falsified(confront, cases, examples, seed) else None


def _simplified(j: Judgement, case: Case, found: Counterexample) -> Counterexample:
    """A violation by a simpler case, or with a simpler array, where there may be one; else what was found."""
    probe = j.probe()
    while (simpler := next((c for c in j.study.simpler(case) if not _kept(probe, c)), None)) is not None:
        case = simpler
    if case.x is not None:
        simplest(case.x, lambda x: not _kept(probe, Case(case.settings, x)), partial(j.study.takes, case))
    return probe.violation or found  # the last array that fails is the simplest


def _mixed(seed: int, name: str) -> int:
    return int(np.random.SeedSequence([seed, zlib.crc32(name.encode())]).generate_state(1)[0])


def own_seeds(seed: int, claim: str) -> list[int]:
    """Seeds of one claim's own search, attack and draws."""
    return [int(s) for s in np.random.SeedSequence([seed, zlib.crc32(claim.encode())]).generate_state(4)]


# --- attack -----------------------------------------------------------------------------------------------------------


def attack(judgements: Judgements, budget: Budget, seed: int, _alpha: float = 0.0) -> None:
    """Maximise measured / bound from the best case of the search: by neighbours, or continuously in the input."""
    for j in judgements:
        if j.error is None:
            try:
                _attacked(j, budget, own_seeds(seed, j.study.claim)[1])
            except Exception as error:
                j.error = error


def _attacked(j: Judgement, budget: Budget, seed: int) -> None:
    study, start = j.study, None if j.searched is None else j.searched.best
    rng, probe = np.random.default_rng(seed), j.probe()
    if study.mutate is not None:
        _by_neighbours(probe, study.mutate, budget, rng, start)
    elif study.continuous and study.statement.tightness is not None:
        if j.searched is not None and j.searched.cases == 0:
            return  # only draws can be had
        _continuously(probe, budget, rng, start)
    if probe.cases == 0:
        return
    verdict = Verdict.SURVIVED if probe.violation is None else Verdict.REFUTED
    if probe.best is None and start is not None:
        probe.best = start
    detail = "nothing to climb on" if probe.best is None else f"largest measured / bound at {probe.best_shown()}"
    j.take(Method.ATTACK, _evidence(Method.ATTACK, verdict, probe, detail), probe)


def _by_neighbours(
    probe: Probe,
    mutate: Callable[[np.random.Generator, Case], Case],
    budget: Budget,
    rng: np.random.Generator,
    current: Case | None,
) -> None:
    for _ in range(max(1, budget.evaluations)):
        if current is None:
            break
        try:
            probe(mutate(rng, current))
        except Violation:
            break
        if probe.best is not None:
            current = probe.best


def _continuously(probe: Probe, budget: Budget, rng: np.random.Generator, start: Case | None) -> None:
    """From the best input of the search, then globally and locally at small shapes."""
    targets = probe.study.starts(probe.implementation, rng)
    if start is not None and start.array.size <= 64 and start.array.any():
        settings = start.settings

        def same(x: Array) -> Case:
            return Case(settings, x)

        _climb(probe, same, start.array.astype(np.float64), budget.evaluations // 4)
    share = max(1, (budget.evaluations - budget.evaluations // 4) // max(1, len(targets)))
    for at, x in targets:
        if probe.violation is not None:
            break
        _climb(probe, at, x, share // 2)
        _globally(probe, at, x.shape, share - share // 2, rng)


def _objective(probe: Probe, case: Case) -> float:
    """Minus measured / bound; zero where it cannot be measured or the relation broke (which the probe remembers)."""
    if not np.isfinite(case.array).all() or not case.array.any():
        return 0.0
    try:
        close = probe(case)
    except Violation:
        return 0.0
    return 0.0 if close is None or not np.isfinite(close) else -close


def _climb(probe: Probe, at: Callable[[Array], Case], x: Array, evaluations: int) -> None:
    """Nelder-Mead from `x`: objectives here have kinks."""
    if evaluations < 2:
        return
    from scipy import optimize  # a quarter of a second

    optimize.minimize(
        lambda flat: _objective(probe, at(flat.reshape(x.shape))),
        x.ravel() / (np.abs(x).max() or 1.0),
        method="Nelder-Mead",
        options={"maxfev": evaluations, "xatol": 1e-10, "fatol": 1e-10},
    )


def _globally(
    probe: Probe, at: Callable[[Array], Case], shape: tuple[int, ...], evaluations: int, rng: np.random.Generator
) -> None:
    """Differential evolution on the unit cube; ratios do not depend on scale for most compressors."""
    size = int(np.prod(shape))
    population = 5 * size
    if evaluations < 2 * population:
        return
    from scipy import optimize

    optimize.differential_evolution(
        lambda flat: _objective(probe, at(flat.reshape(shape))),
        [(-1.0, 1.0)] * size,
        popsize=5,
        maxiter=max(1, evaluations // population - 1),
        polish=False,
        rng=rng,
    )


# --- extremal cases ---------------------------------------------------------------------------------------------------


def extremal(judgements: Judgements, budget: Budget, _seed: int = 0, _alpha: float = 0.0) -> None:
    """The cases that theory calls extremal: on each, the stated tightness must be attained."""
    for j in judgements:
        if j.error is None and j.study.extremal is not None and j.study.statement.tightness is not None:
            try:
                _extremal(j, budget)
            except Exception as error:
                j.error = error


def _extremal(j: Judgement, budget: Budget) -> None:
    study, claim = j.study, j.study.statement
    assert study.extremal is not None
    probe, least, worst = j.probe(), np.inf, None
    for case in study.extremal(budget):
        before, probe.attained = probe.attained, -np.inf
        close: float | None = 0.0  # refuted claims are broken here; how far, the probe remembers
        with contextlib.suppress(Violation):
            close = probe(case)
        if close is not None and probe.attained < least:
            least, worst = probe.attained, case
        probe.attained = max(before, probe.attained)
    if probe.cases == 0:
        if study.may_be_unreadable:
            return
        raise ValueError(f"{study.claim} has no admissible extremal case")
    if worst is None:
        raise ValueError(f"the extremal cases of {study.claim} say nothing about its tightness")
    if claim.tightness == sp.oo:  # nothing to attain: the ratio grows without bound
        detail = f"{claim.extremal}: measured / bound up to {probe.close:.6g}"
        j.take(Method.EXTREMAL, _evidence(Method.EXTREMAL, Verdict.REFUTED, probe, detail), probe)
        return
    verdict = Verdict.SURVIVED if least >= ATTAINED else Verdict.REFUTED
    where = f" (least at {study.shown(j.implementation, worst)})"
    detail = f"{claim.extremal}: attains at least {least:.6g} of the stated tightness{where}"
    j.take(Method.EXTREMAL, _evidence(Method.EXTREMAL, verdict, probe, detail), probe)
    j.least = least


# --- sequential tests -------------------------------------------------------------------------------------------------


def sample(judgements: Judgements, budget: Budget, seed: int, alpha: float) -> None:
    """A sequential test by betting on every stream; each gets an equal part of the claim's false-alarm rate."""
    for j in judgements:
        if j.error is None and j.study.streams is not None:
            try:
                found = _sampled(j, budget, own_seeds(seed, j.study.claim)[2], alpha)
                j.take(Method.SAMPLE, found)
            except Exception as error:
                j.error = error


def _sampled(j: Judgement, budget: Budget, seed: int, alpha: float) -> Evidence:
    assert j.study.streams is not None
    streams = j.study.streams(j.implementation)
    rngs = np.random.default_rng(seed).spawn(len(streams))
    part = alpha / len(streams)
    log_e, detects, count, refuted, outside = -np.inf, 0.0, 0, False, ""
    for stream, rng in zip(streams, rngs, strict=True):
        if refuted and budget.first:
            break
        test = SequentialTest(stream.low, stream.high, two_sided=stream.two_sided)
        draws = max(1, int(budget.observations / (len(streams) * stream.cost)))
        try:
            test.feed(np.asarray(stream.draw(rng, draws), dtype=np.float64))
        except ValueError as error:
            refuted, outside = True, f"; {stream.label}: {error}"
            continue
        count += test.count
        log_e = max(log_e, test.log_e)
        refuted |= test.refutes(part)
        limit = min(-1.0 / test.low, 1.0 / test.high) if test.two_sided else -1.0 / test.low
        violation = detectable_violation(test.deviation, test.count, part, limit)
        relative = violation / abs(stream.unit) if stream.unit else violation
        detects = max(detects, relative)
        if stream.values and stream.unit and test.two_sided:
            j.measurements.heard(stream.values, relative)
    e_value = float(np.exp(min(log_e - np.log(len(streams)), 690.0)))
    detail = f"{len(streams)} streams ({', '.join(s.label for s in streams)}), sequential test by betting{outside}"
    verdict = Verdict.REFUTED if refuted else Verdict.CONSISTENT
    return Evidence(Method.SAMPLE, verdict, count, detail, e_value=e_value, alpha=alpha, detects=detects)


# --- certificates -----------------------------------------------------------------------------------------------------


def certified(judgements: Judgements, _budget: Budget, _seed: int = 0, _alpha: float = 0.0) -> None:
    """The certificates of claims about the book's own implementations: a proof says nothing of a stand-in."""
    for j in judgements:
        name = j.study.claim
        if j.error is None and name in certify.files() and j.implementation is j.study.implementation({}):
            try:
                j.take(Method.CERTIFICATE, certificate_evidence(name))
            except certify.CertificateError as error:
                j.refused = error


def certificate_evidence(name: str) -> Evidence:
    """What the certificate of a claim shows, now that it was checked.

    Raises
    ------
    CertificateError
        It does not check.
    """
    certificate = certify.load(name)
    certify.check(certificate)
    if certificate.kind == "counterexample":
        detail = f"smallest counterexample; the implementation is run there by {certify.refutations()[name].checked_by}"
        return Evidence(Method.CERTIFICATE, Verdict.REFUTED, 1, detail, scope={"smallest": certificate.scope})
    tie, seen = certify.models()[name].checked_by, certify.seen().get(name)
    detail = certificate.kind + (f"; the model is tied to the implementation by {', '.join(tie)}" if tie else "")
    detail += f"; {seen}" if seen else ""
    scope = certify.record(certificate)
    verdict = Verdict.DEFINITION if scope["grade"] == certify.Grade.DEFINITION else Verdict.PROVED
    return Evidence(Method.CERTIFICATE, verdict, len(certificate.proofs), detail, scope=scope)


# --- all together -----------------------------------------------------------------------------------------------------

METHODS: Mapping[Method, Callable[[Judgements, Budget, int, float], None]] = MappingProxyType(
    {
        Method.CERTIFICATE: certified,
        Method.EXACT: enumerate_grids,
        Method.INJECT: enumerate_grids,
        Method.SEARCH: search,
        Method.ATTACK: attack,
        Method.EXTREMAL: extremal,
        Method.SAMPLE: sample,
    }
)
"""(judgements, budget, seed, alpha) -> None: adds its evidence to each of the judgements."""


def judge(
    studies: Sequence[AnyStudy],
    budget: Budget,
    seed: int,
    alpha: float,
    implementations: Implementations,
    methods: Sequence[Method] = tuple(METHODS),
) -> list[Judgement]:
    """What the methods say of the studies.

    Parameters
    ----------
    studies : sequence of Study or CompressorStudy
        Best of one subject, whose cases they share.
    budget : Budget
        How much work.
    seed : int
        Root of all randomness.
    alpha : float
        False-alarm rate of the sequential test of one claim.
    implementations : mapping
        Stand-ins.
    methods : sequence of Method
        Which methods; the attack begins where the search ended, if that is one of them.
    """
    judgements = [Judgement(study, study.implementation(implementations)) for study in studies]
    for function in dict.fromkeys(METHODS[method] for method in methods):
        function(judgements, budget, seed, alpha)
    return judgements
