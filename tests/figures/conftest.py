"""Synthetic claims and findings, one for every look that a figure can have. None of the numbers was measured."""

import math

import pytest
import sympy as sp

from commbounds.theory import Claim, Code, Hypothesis, Kind, Source, Standing, Tag
from commbounds.theory import quantities as q
from commbounds.verify.finding import Counterexample, Evidence, Finding, Method, Series, Verdict

RECALLED = Source(
    "A. Nobody, Q. Nobody et al., 1900, A made-up paper & more, arXiv:0001.00001v2", "the bound on page 0", Tag.RECALLED
)
READ_CODE = Source(
    "Nobody 1901, A made-up program",
    "what its loop does",
    Tag.OFFICIAL_CODE,
    code=Code("nobody/made-up", "0123456789" * 4, "src/loop.py", "7-9", "loop=True", "mended in 2000000 <by hand>"),
)
DERIVED = Source("this test", "made up", Tag.DERIVED, proof="One line.\nAnother line: a < b & c > d.")
KINDS = ("iid, early", "iid, late", "by label, early", "by label, late")


def claim(name, quantity, bound, relation=sp.Le, **rest):
    if rest.get("stands", Standing.HOLDS) is not Standing.HOLDS:
        rest["extremal"] = "a made-up input"
    rest = {"source": RECALLED, **rest}
    return Claim(f"synthetic.{name}", f"Made up: {name}", relation(quantity, bound), **rest)


def series(axis, x, bound, worst, label="n = 256", random=0.6, gradients=0.3):
    return Series(
        label,
        axis,
        list(x),
        list(bound),
        list(worst),
        [0.8 * random * b for b in bound],
        [random * b for b in bound],
        [1.2 * random * b for b in bound],
        {kind: [gradients * (1 + i) / 2 * b for b in bound] for i, kind in enumerate(KINDS)},
    )


def example(measured, bound, exact="", x=(1.0, -2.0, 0.1), length=0):
    return Counterexample("Made(up=1)", list(x), measured, bound, exact, length or len(x))


DENSITIES = [1 / 64, 1 / 16, 1 / 4, 1 / 2, 1.0]
SIZES = [2, 16, 128, 1024, 8192, 65536, 1048576, 2**23, 2**27]
LEVELS = [1, 2, 4, 8, 16, 32, 64, 127]
RISING = [math.sqrt(v) / 4 for v in SIZES]
HALF = [1 / (s * s) for s in LEVELS]

CLAIMS = [
    claim(
        "topk.contraction",
        q.RELATIVE_ERROR,
        1 - q.k / q.n,
        tightness=sp.Integer(1),
        extremal="equal magnitudes",
        assumes=(Hypothesis("equal", "all entries have one magnitude"),),
    ),
    claim(
        "qsgd.variance",
        q.RELATIVE_ERROR,
        sp.Min(q.n / q.s**2, sp.sqrt(q.n) / q.s),
        kind=Kind.EXPECTED,
        source=READ_CODE,
    ),
    claim(
        "topk.global_contraction",
        q.GLOBAL_ERROR,
        1 - q.k / q.n,
        stands=Standing.REFUTED,
        note="Averaging does not commute with selection.",
        assumes=(Hypothesis("equal", "all workers send equally many"),),
    ),
    claim(
        "signs.contraction",
        q.RELATIVE_ERROR,
        1 - 1 / q.n,
        stands=Standing.HOLDS_AS_CORRECTED,
        corrected_by="synthetic.signs.identity",
    ),
    claim("signs.identity", q.ABSOLUTE_ERROR, q.norm2**2 - q.norm1**2 / q.n, sp.Eq, source=DERIVED),
    claim("signs.sign_symmetry", q.SIGN_DEFECT, 0, sp.Eq, kind=Kind.LAW),
    claim("signs.scale_equivariance", q.SCALE_DEFECT, 0, sp.Eq, kind=Kind.LAW, stands=Standing.REFUTED, source=DERIVED),
    claim("topk.wire", q.BITS, q.k * q.itembits, sp.Eq),
    claim("topk.moment", q.SECOND_MOMENT, q.k / q.n, sp.Ge),
    claim("powersgd.contraction", q.RELATIVE_ERROR, 1 - q.r / sp.Min(q.m, q.n), stands=Standing.REFUTED),
    claim("powersgd.broken", q.RELATIVE_ERROR, 1 - q.r / sp.Min(q.m, q.n)),
    claim("qsgd.level", q.LEVEL, q.s),
]
BOOK = {c.name: c for c in CLAIMS}

FOUND = {
    "topk.contraction": Finding(
        "",
        Verdict.ENUMERATED,
        True,
        (
            Evidence(
                Method.EXACT,
                Verdict.ENUMERATED,
                12345,
                "every sign pattern up to n = 5",
                tightness=1.0,
                nontrivial=12000,
                scope={"P": "1, 2, 3", "n": "1 to 5"},
            ),
            Evidence(Method.ATTACK, Verdict.SURVIVED, 900, "differential evolution", tightness=0.99999),
        ),
        (series("k/n", DENSITIES, [1 - d for d in DENSITIES], [1 - d for d in DENSITIES]),),
        1.0,
        versions={"commbounds": "0.0.0"},
        left_out={"equal": 12},
        unmeasured={"too large a law": 3},
        mutants=8,
        untested=("k + 1 for k", "0.9 times the bound"),
        explained={"n + 1 for n": "equivalent"},
    ),
    "qsgd.variance": Finding(
        "",
        Verdict.CONSISTENT,
        True,
        (Evidence(Method.SAMPLE, Verdict.CONSISTENT, 10**6, "n = 4096", 0.26, 0.02, 1e-8, 0.013),),
        (
            series("levels", LEVELS, HALF, [h / 4 for h in HALF], "n = 64", 0.15, 0.05),
            series("levels", LEVELS, [8 * h for h in HALF], [2 * h for h in HALF], "n = 4096", 0.15, 0.05),
        ),
        0.26,
    ),
    "topk.global_contraction": Finding(
        "",
        Verdict.REFUTED,
        True,
        (Evidence(Method.SEARCH, Verdict.REFUTED, 7, "two workers", None, counterexample=example(1e6, 0.5, "10**6")),),
        (series("e", [1e-3, 1e-2, 0.1, 1.0], [0.5] * 4, [1e6, 1e4, 100.0, 1.0]),),
        2e6,
    ),
    "signs.contraction": Finding(
        "",
        Verdict.REFUTED,
        True,
        (
            Evidence(
                Method.EXACT, Verdict.REFUTED, 3, "", counterexample=example(0.8, 0.75, "4/5 > 3/4", [0.5] * 64, 99)
            ),
        ),
        (series("n", SIZES, [1 - 1 / n for n in SIZES], [1 - 1 / (n + 2) for n in SIZES]),),
        1.07,
    ),
    "signs.identity": Finding(
        "", Verdict.ENUMERATED, True, (), (series("n", SIZES, RISING, RISING, random=0.9, gradients=0.7),), 1.0
    ),
    "signs.sign_symmetry": Finding(
        "", Verdict.ENUMERATED, True, (), (series("n", SIZES, [0.0] * 9, [0.0] * 9),), None, message="plain <b>text</b>"
    ),
    "signs.scale_equivariance": Finding(
        "",
        Verdict.REFUTED,
        True,
        (Evidence(Method.EXACT, Verdict.REFUTED, 1, "", counterexample=example(1.0, 0.0)),),
        (series("n", SIZES, [0.0] * 9, [0.0, 0.25, 0.5, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0]),),
        math.inf,
    ),
    "topk.wire": Finding(
        "",
        Verdict.SURVIVED,
        True,
        (),
        (series("n", SIZES, [10.0 * n for n in SIZES], [10.0 * n for n in SIZES], "k = 1", 1.0, 1.0),),
        1.0,
    ),
    "topk.moment": Finding("", Verdict.SURVIVED, True, (), (series("n", [64], [0.5], [0.625]),), 0.8),
    "powersgd.contraction": Finding(
        "",
        Verdict.REFUTED,
        True,
        (
            Evidence(
                Method.SEARCH,
                Verdict.REFUTED,
                2,
                "warm start",
                counterexample=example(1.0, 0.5, x=[[1.0, 0.0], [0.0, 0.125]], length=4),
            ),
        ),
        (
            series("rank", [1, 2, 4], [0.9, 0.8, 0.5], [1.0, math.inf, 1.0], "m = n = 8"),
            series("rank", [1, 2, 4], [0.9, 0.8, 0.5], [1.0, 1.0, 1.0], "m = 8, n = 16"),
            series("rank", [1, 2, 4], [0.9, 0.8, 0.5], [1.0, 1.0, 1.0], "m = n = 64"),
        ),
        2.0,
    ),
    "powersgd.broken": Finding("", Verdict.ERROR, False, (), (), None, message="LinAlgError: no convergence"),
    "qsgd.level": Finding("", Verdict.SURVIVED, False, (), (), 0.75, message="the book says that the bound is tight"),
}


@pytest.fixture(scope="session")
def book():
    return dict(BOOK)


@pytest.fixture(scope="session")
def findings():
    from dataclasses import replace

    return [replace(finding, claim=f"synthetic.{name}") for name, finding in FOUND.items()]
