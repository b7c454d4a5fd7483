"""Claims about memories: error feedback that is right passes, what is broken is told by the claim that it breaks."""

import numpy as np
import pytest
from samples import first_of_each

from commbounds.compressors import EF14, EF21, EF21M, Identity, PowerSGD, RandK, ScaledSign, TopK
from commbounds.verify import conformance as cf
from commbounds.verify.conformance.budgets import BUDGETS
from commbounds.verify.conformance.inputs import corpus

TELESCOPES, RECOVERS, BOUNDED = cf.Telescopes(), cf.RecoversAfterZero(), cf.MemoryBounded()
ALL = [TELESCOPES, RECOVERS, BOUNDED]


def judged(factory, claims=ALL, **options):
    """The report on the claims alone."""
    subject = cf.Stateful(factory, claims, time_limit=300.0, **options)  # kernels may have to be compiled
    return cf.check(subject, only=[str(claim) for claim in subject.claims])


def verdicts(report):
    return {finding.claim.split("(")[0]: str(finding.verdict) for finding in report.findings}


def led(mechanism, shown=True):
    """A factory of steps of one of this package's mechanisms."""

    class Step:
        def __init__(self, seed):
            self.rng, self.state = np.random.default_rng(seed), None

        def __call__(self, x):
            if self.state is None:
                self.state = mechanism.start(np.zeros_like(x))
            message, self.state = mechanism.step(self.state, x, self.rng)
            return self.state.memory.copy() if mechanism.adds_up else mechanism.compressor.decompress(message)

        @property
        def residual(self):
            return self.state.memory if shown and self.state is not None else None

    return Step


class Loop:
    """Error feedback with Top-1, by hand; subclasses break it."""

    def __init__(self, seed):
        self.seed, self.held, self.steps = seed, None, 0

    def compressed(self, p):
        y = np.zeros_like(p)
        if p.size:
            at = np.unravel_index(np.abs(p).argmax(), p.shape)
            y[at] = p[at]
        return y

    def offered(self, x):
        return self.held + x

    def kept(self, p, y):
        return p - y

    def __call__(self, x):
        if self.held is None:
            self.held = np.zeros_like(x)
        p = self.offered(x)
        y = self.compressed(p)
        self.held = self.kept(p, y)
        self.steps += 1
        return y

    def residual(self):
        return self.held


class Hidden(Loop):
    residual = None


RIGHT = {
    "Top-1": (led(EF14(TopK(1))), ALL, {}),
    "Top-1, hidden": (led(EF14(TopK(1)), False), ALL, {}),
    "Top-1 in float64": (led(EF14(TopK(1))), ALL, {"dtype": "float64"}),
    "Rand-1": (led(EF14(RandK(1, scaled=False))), ALL, {}),
    "Rand-1, hidden": (led(EF14(RandK(1, scaled=False)), False), ALL, {}),
    "sign": (led(EF14(ScaledSign())), ALL, {}),
    "sign, hidden": (led(EF14(ScaledSign()), False), ALL, {}),
    "identity": (led(EF14(Identity())), [*ALL, cf.MemoryBounded(bound=0.0)], {}),
    "low rank": (led(EF14(PowerSGD(1))), ALL, {"shape": "matrix"}),
    "EF21": (led(EF21(TopK(1), dense=False)), [RECOVERS], {}),
    "EF21 with momentum": (led(EF21M(TopK(1), dense=False)), [RECOVERS], {}),
    "by hand": (Loop, ALL, {}),
    "by hand in float16": (Loop, ALL, {"dtype": "float16"}),
    "by hand in bfloat16": (Loop, ALL, {"dtype": "bfloat16"}),
    "by hand in float16, hidden": (Hidden, ALL, {"dtype": "float16"}),
    "by hand in bfloat16, hidden": (Hidden, ALL, {"dtype": "bfloat16"}),
}


@pytest.mark.parametrize("name", first_of_each(RIGHT, lambda name: str(RIGHT[name][1])))
def test_right_memories_keep_what_is_theirs(name):
    factory, claims, options = RIGHT[name]
    report = judged(factory, claims, effort=0.04, **options)
    assert {finding.verdict for finding in report.findings} == {cf.CheckVerdict.PASS}, report


@pytest.mark.long
@pytest.mark.parametrize("name", RIGHT)
def test_right_memories_keep_what_is_theirs_on_all_hostile_runs(name):
    factory, claims, options = RIGHT[name]
    report = judged(factory, claims, **options)
    assert {finding.verdict for finding in report.findings} == {cf.CheckVerdict.PASS}, report


class Momentum:
    """Gradients that go on: v <- beta v + x; nothing is compressed."""

    def __init__(self, seed):
        self.velocity = 0

    def __call__(self, x):
        self.velocity = (np.float32(0.9) * self.velocity + x).astype(x.dtype)
        return self.velocity.copy()


class WarmPower:
    """PowerSGD of rank 1 whose sketch is the last right factor, with error feedback or without."""

    feedback, again = True, True

    def __init__(self, seed):
        self.rng, self.right, self.held = np.random.default_rng(seed), None, 0

    def __call__(self, x):
        p = x + self.held if self.feedback else x
        if self.right is None or (self.again and not self.right.any()):
            self.right = self.rng.standard_normal((x.shape[1], 1)).astype(x.dtype)
        scale = np.abs(p).max() or np.float32(1)
        left = (p / scale) @ self.right
        size = np.linalg.norm(left)
        left = left / size if size > 0 else left
        right = p.T @ left
        self.right = right / (np.abs(right).max() or np.float32(1))
        y = left @ right.T
        self.held = p - y
        return y


class WarmPowerAlone(WarmPower):
    feedback = False


class StuckPower(WarmPower):
    again = False


class StuckPowerAlone(StuckPower):
    feedback = False


@pytest.mark.parametrize(
    ("factory", "options"),
    [
        (Momentum, {}),
        (WarmPower, {"shape": "matrix"}),
        (WarmPowerAlone, {"shape": "matrix"}),
        (lambda seed: lambda x: np.sign(x), {}),
        (lambda seed: Loop(seed).compressed, {}),
    ],
)
def test_memories_of_other_kinds_recover(factory, options):
    report = judged(factory, [RECOVERS], effort=0.1, **options)
    assert report["RecoversAfterZero"].verdict is cf.CheckVerdict.PASS, report


# --- what is broken -----------------------------------------------------------------------------------------------


class Decays(Loop):
    def kept(self, p, y):
        return np.float32(0.9) * (p - y)


class Forgets(Loop):
    def kept(self, p, y):
        return np.zeros_like(p) if self.steps % 5 == 4 else p - y


class Narrow(Loop):
    def kept(self, p, y):
        return (p - y).astype(np.float16).astype(p.dtype)


class Repeats(Loop):
    def kept(self, p, y):
        return p


class Ignores(Loop):
    """The residual is summed up, but never sent."""

    def offered(self, x):
        self.x = x
        return x

    def kept(self, p, y):
        return self.held + (p - y)


class Wrong(Loop):
    """The sign of the residual is wrong."""

    def kept(self, p, y):
        return y - p


def hiding(kind):
    return type(f"Hidden{kind.__name__}", (kind,), {"residual": None})


@pytest.mark.parametrize("kind", [Decays, Forgets, Narrow, Repeats, Wrong])
@pytest.mark.parametrize("shown", [True, False])
def test_what_is_lost_or_sent_twice_is_found_and_comes_out_small(kind, shown):
    report = judged(kind if shown else hiding(kind), [TELESCOPES])
    finding = report["Telescopes"]
    assert finding.verdict is cf.CheckVerdict.FAIL, report
    assert np.size(finding.counterexample) <= 12, report


@pytest.mark.parametrize("kind", [Decays, Forgets])
def test_a_memory_that_leaks_still_recovers_and_stays_bounded(kind):
    report = judged(kind, ALL, effort=0.08)
    assert verdicts(report) == {"Telescopes": "fail", "RecoversAfterZero": "pass", "MemoryBounded": "pass"}, report


def test_estimates_are_no_telescoping_sums():
    assert not judged(led(EF21(TopK(1), dense=False), False), [TELESCOPES]).passed


class Growing(Loop):
    """Twice what is missing is kept."""

    def kept(self, p, y):
        return 2 * (p - y)


class UnscaledSign(Loop):
    """Signs of size one, whatever the gradient."""

    def compressed(self, p):
        return np.sign(p)


@pytest.mark.parametrize(
    "factory",
    [Ignores, hiding(Ignores), Growing, UnscaledSign, led(EF14(RandK(1))), lambda seed: Loop(seed).compressed],
)
def test_memories_without_bound_are_found(factory):
    report = judged(factory, [BOUNDED])
    finding = report["MemoryBounded"]
    assert finding.verdict is cf.CheckVerdict.FAIL, report
    assert np.size(finding.counterexample) <= 6, report


def test_what_grows_but_is_accounted_for_telescopes():
    report = judged(Ignores, [TELESCOPES, BOUNDED], effort=0.08)
    assert verdicts(report) == {"Telescopes": "pass", "MemoryBounded": "fail"}


def contracted(n, G):
    q = np.sqrt(1.0 - 1.0 / n)
    return q / (1.0 - q) * G


def test_a_claimed_bound_is_held_at_every_step():
    assert judged(Loop, [cf.MemoryBounded(bound=contracted)], effort=0.05).passed
    report = judged(Loop, [cf.MemoryBounded(bound=lambda n, G: 0.5 * G)])
    assert "claimed at most" in report["MemoryBounded"].message
    assert np.size(report["MemoryBounded"].counterexample) <= 6
    one = judged(Loop, [cf.MemoryBounded(bound=10.0)])
    assert not one.passed


def test_bounds_of_matrices_get_both_sizes():
    seen = set()
    report = judged(Loop, [cf.MemoryBounded(bound=lambda m, n, G: seen.add((m, n)) or contracted(m * n, G))],
                    shape=(2, 3), effort=0.1)  # fmt: skip
    assert report.passed
    assert seen == {(2, 3)}


class ScaleOfLast(Loop):
    """What is sent is scaled by the ratio of this step's norm to the last one's."""

    def __init__(self, seed):
        super().__init__(seed)
        self.last = None

    def __call__(self, x):
        size = np.linalg.norm(x.astype(np.float64))
        ratio = 1.0 if self.last is None else np.float64(size) / self.last
        self.last = np.float64(size)
        with np.errstate(all="ignore"):
            return (x * (ratio / ratio)).astype(x.dtype)


class Threshold:
    """Entries above a threshold that a step without any raises beyond everything."""

    def __init__(self, seed):
        self.least = None

    def __call__(self, x):
        if self.least is None:
            self.least = np.abs(x).max() / 2
        if not x.any():
            self.least = np.inf
        return np.where(np.abs(x) > self.least, x, 0).astype(x.dtype)


class HalfAfterwards:
    def __init__(self, seed):
        self.factor = np.float32(1)

    def __call__(self, x):
        if not x.any():
            self.factor = np.float32(0.5)
        return x * self.factor


@pytest.mark.parametrize(
    ("factory", "options"),
    first_of_each(
        [
            (StuckPower, {"shape": "matrix"}),
            (StuckPowerAlone, {"shape": "matrix"}),
            (ScaleOfLast, {}),
            (Threshold, {}),
            (HalfAfterwards, {}),
        ],
        lambda pair: tuple(pair[1]),
        lambda pair: pair[0].__name__,
    ),
)
def test_memories_that_a_zero_breaks_are_found_and_come_out_small(factory, options):
    report = judged(factory, [RECOVERS], **options)
    finding = report["RecoversAfterZero"]
    assert finding.verdict is cf.CheckVerdict.FAIL, report
    found = np.array(finding.counterexample)
    assert len(found) <= 3
    assert found.size <= 8
    assert any(not row.any() for row in found)


def test_runs_without_a_zero_say_nothing_about_recovery():
    subject = cf.Stateful(StuckPower, [RECOVERS], shape="matrix")
    assert "no zero step" in cf.recheck(subject, "RecoversAfterZero()", np.ones((3, 2, 2)))


def test_thresholds_that_hold_small_entries_back_have_to_show_them():
    class Above(Loop):
        def compressed(self, p):
            return np.where(np.abs(p) >= 1, p, 0).astype(p.dtype)

    assert judged(Above, [TELESCOPES], effort=0.05).passed
    report = judged(hiding(Above), [TELESCOPES])
    assert "still missing" in report["Telescopes"].message
    bounded = judged(Above, [cf.MemoryBounded(bound=lambda n, G: float(np.sqrt(n)))], effort=0.05)
    assert bounded.passed


def test_residuals_of_another_shape_are_no_answer():
    class Flat(Loop):
        def residual(self):
            return np.zeros(self.held.size + 1)

    class Text(Loop):
        residual = "nothing"

    for kind, told in ((Flat, "residual has shape"), (Text, "no array of numbers")):
        finding = judged(kind, [TELESCOPES], effort=0.1)["Telescopes"]
        assert finding.verdict is cf.CheckVerdict.NOT_JUDGED
        assert told in finding.message


def test_a_step_that_returns_its_buffer_again_is_found():
    class Buffer(Loop):
        def __call__(self, x):
            self.out = getattr(self, "out", np.empty_like(x))
            self.out[...] = super().__call__(x)
            return self.out

    subject = cf.Stateful(Buffer, ALL, effort=0.05)
    report = cf.check(subject, only=["order of calls does not matter", "Telescopes"])
    assert "changed in a later step" in report["order of calls does not matter"].message
    assert report["Telescopes"].verdict is cf.CheckVerdict.PASS


def test_instances_that_share_their_memory_are_found():
    class Shared(Loop):
        common = {}  # noqa: RUF012  that it is shared is the defect

        def __call__(self, x):
            self.held = self.common.get(x.shape)
            y = super().__call__(x)
            self.common[x.shape] = self.held
            return y

    report = cf.check(cf.Stateful(Shared, [], effort=0.1), only=["same seed, same output"])
    assert not report.passed
    assert np.size(report.findings[0].counterexample) <= 8


def test_the_hostile_runs_hold_zeros_at_the_start_and_between():
    cases = list(corpus(cf.Stateful(Loop), BUDGETS["quick"]))
    assert 400 <= len(cases) <= 650
    silent = [np.array([not row.any() for row in c.x]) for c in cases]
    assert any(z[0] and not z.all() for z in silent)
    assert any(z.any() and not z[0] and not z[-1] for z in silent)
    assert any(z.sum() > 1 and not z.all() for z in silent)


def test_reproductions_show_the_failure_again(capsys):
    for factory, claim in ((Decays, TELESCOPES), (hiding(Repeats), TELESCOPES), (Ignores, BOUNDED),
                           (ScaleOfLast, RECOVERS)):  # fmt: skip
        finding = judged(factory, [claim]).findings[0]
        program = finding.reproduce.replace("subject = ...  # yours", "")
        exec(program, {"subject": cf.Stateful(factory, [claim])})
        assert finding.message in capsys.readouterr().out
