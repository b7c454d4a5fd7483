"""Where refuted claims about low-communication training are computed: the models of their smallest counterexamples."""

import sympy as sp

from commbounds.theory.lowcomm import terms as t
from commbounds.theory.lowcomm.kept import keptstep
from commbounds.theory.model import Refutation, by_claim
from commbounds.theory.quantities import P, chunk, k, n

_u, _v, _w, _j = sp.symbols("u v w j", integer=True, nonnegative=True)
_HALF = sp.Rational(1, 2)
_NESTEROV = {"nesterov_outer": "The collective runs this way."}
_AS_THEY_ARE = {"values_as_they_are": "The collective runs this way."}
_q, _second = _u / _v, _w / _v

REFUTATIONS = by_claim(
    Refutation(
        claim="lowcomm.streaming.peak_any",
        words="Two ranks: each sends every entry of the longest fragment once, of ceil(n/fragments).",
        whole={n: 1, t.fragments: 1},
        measured=sp.ceiling(n / t.fragments),
        values={P: 2, n: n, t.fragments: t.fragments},
    ),
    Refutation(
        claim="lowcomm.diloco.reversed",
        words="One worker, no momentum: the anchor goes u times as far as it is from the worker, away from it.",
        whole={_u: 0},
        measured=-_u,
        values={t.outerlr: _u, t.outermu: 0},
        met={
            **_NESTEROV,
            "first_outer_round": "It is the first.",
            "local_minus_anchor": "The collective runs this way.",
        },
    ),
    Refutation(
        claim="lowcomm.diloco.ball_is_nesterov",
        words="The first round moves by the step, one, for any momentum u/v.",
        whole={_u: 0, _v: 1},
        measured=sp.Integer(1),
        values={t.outerlr: 1, t.outermu: _u / _v, t.outerrounds: 1},
        met={"heavy_ball_outer": "The collective runs this way.", "same_change": "There is one round."},
    ),
    Refutation(
        claim="lowcomm.diloco.contraction_suffices",
        words="Step one, momentum 1/2: the map of anchor and momentum has the trace 3 (1 - c)/2 and the determinant "
        "(1 - c)/2, and one and both, 3 - 2 c, are not positive from c = 3/2 on; c = u/v.",
        whole={_u: 1, _v: 1},
        measured=sp.Integer(0),
        values={t.outerlr: 1, t.outermu: _HALF, t.innershare: _u / _v},
        given={"c >= 3/2": 2 * _u - 3 * _v},
        met={**_NESTEROV, "one_quadratic": "There is one."},
    ),
    Refutation(
        claim="lowcomm.local.optimum",
        words="Two workers with minima at 0 and 1 keep u/v and w/v of a deviation in each of H steps; the fixed point "
        "of their average.",
        whole={t.localsteps: 1, _u: 0, _v: 1, _w: 0},
        measured=(1 - _second**t.localsteps) / (2 - _q**t.localsteps - _second**t.localsteps),
        values={t.localsteps: t.localsteps, t.retained: _q, t.retained_second: _second},
        positive={"u < v": _v - _u, "w < v": _v - _w},
    ),
    Refutation(
        claim="lowcomm.quorum.unbiased",
        words="The worker with w tokens is in K/P of the quorums, and has w of w + K - 1 there.",
        whole={P: 1, t.quorum: 1, t.heavytokens: 1},
        measured=t.quorum * t.heavytokens / (P * (t.heavytokens + t.quorum - 1)),
        values={P: P, t.quorum: t.quorum, t.heavytokens: t.heavytokens},
        given={"K <= P": P - t.quorum},
        met={
            "any_quorum_alike": "All are merged.",
            "one_heavy_worker": "There is one.",
            "divided_by_arrived": "The collective runs this way.",
        },
    ),
    Refutation(
        claim="lowcomm.noloco.range",
        words="Three workers, momentum 1/2: mean squares do not tend to zero from the pull 2 (1 - 1/4) on.",
        whole={_u: 0},
        measured=sp.Integer(0),
        values={P: 3, t.pairmomentum: _HALF, t.pairpull: _u},
        given={"pull >= 3/2": 2 * _u - 3},
        met={"random_pairs": "All are run."},
    ),
    Refutation(
        claim="lowcomm.sparseloco.keeps",
        words="One of two equal entries is sent; the other, 1, is halved before the second round, and of what is then "
        "offered, 1 and 3/2, the larger is sent.",
        whole={t.outerrounds: 1},
        measured=(t.outerrounds - 1) * _HALF,
        values={t.decay: _HALF, t.outerrounds: t.outerrounds},
        given={"two rounds at most": 2 - t.outerrounds},
        met=_AS_THEY_ARE,
    ),
    Refutation(
        claim="lowcomm.sparseloco.gets_through",
        words="Decay and ratio are 1/2: what is offered of the weaker entry stays below 1, and it is never sent.",
        whole={t.outerrounds: 1},
        measured=sp.Integer(0),
        values={t.decay: _HALF, t.weak: _HALF, t.outerrounds: t.outerrounds},
        met={"one_of_a_chunk_of_two": "The collective runs this way."},
    ),
    Refutation(
        claim="lowcomm.demo.rate",
        words="Three entries have no chunks of two: they are cut into three of one entry, and all are sent.",
        whole={},
        measured=sp.Integer(3),
        values={n: 3, chunk: 2, k: 1, t.madechunk: 1},
        met={"made_chunk": "One is the largest divisor of three that is at most two."},
    ),
    Refutation(
        claim="lowcomm.loco.cut_off",
        words="Four bits send seven of an entry of eight steps, and the error is kept entirely.",
        whole={},
        measured=sp.Integer(1),
        values={},
    ),
    Refutation(
        claim="lowcomm.loco.late_at_once",
        words="Weight 1/2, gradients of half a step less the compensation: nothing is sent, and the compensation goes "
        "half of the way to 1/2 in every round. The unsent sum is twice that.",
        whole={t.outerrounds: 1},
        measured=1 - 2 ** (-t.outerrounds),
        values={t.fresh: _HALF, t.outerrounds: t.outerrounds},
        met={"not_cut_off": "Codes have four bits.", "never_reset": "It is not."},
    ),
    Refutation(
        claim="lowcomm.loco.resets_all",
        words="Two tensors, and an interval of one: every second pass of a tensor is a turn, always of the same one.",
        whole={},
        measured=sp.Integer(1),
        values={t.tensors: 2, t.shared_turns: 2},
        met={"common_turns": "Two is the divisor of two and two.", "many_passes": "There are two."},
    ),
    Refutation(
        claim="lowcomm.qgz.in_a_row",
        words="Two nodes of two ranks: the second and the third end with each other's block.",
        whole={},
        measured=sp.Integer(2),
        values={P: 4, n: 4, t.pernode: 2},
        met={"by_two_hops": "The collective runs this way.", "slices_in_a_row": "The collective runs this way."},
    ),
    Refutation(
        claim="lowcomm.loco.kept_late",
        words="Gradients of half a step, of which nothing is sent; the newest error's weight and the step of the "
        "bits are 1/v, so that half a step of them is left of it, and rounded to zero. A power of two for v, so that "
        "floats are exact.",
        whole={_v: 1, t.outerrounds: 1},
        measured=t.outerrounds / 2,
        values={t.fresh: 1 / _v, keptstep: 1 / _v, t.outerrounds: t.outerrounds},
        zero={"v is a power of two": sp.Mod(2**20, _v)},
        met={"not_cut_off": "Codes have four bits.", "never_reset": "It is not.", "kept_in_bits": "It is."},
    ),
    Refutation(
        claim="lowcomm.e3m0.relative",
        words="1 and 2^-j: from 1/128 on the second is read as zero, which is the nearest, or as near as 1/64.",
        whole={_j: 0},
        measured=sp.Piecewise((0, _j < 7), (1, True)),
        x=(1, _HALF**_j),
    ),
)
