"""Every public callable as a `HostileFace`: a right call of it, whose arguments are spoilt one at a time."""

import inspect
from functools import partial

import numpy as np
from hostile_calls import HostileFace
from mutants.registry import EXAMPLES

from commbounds import collectives as co
from commbounds import compressors as cp
from commbounds.theory.precision.tolerance import tolerance
from commbounds.verify import conformance as cf

P, N = 4, 6


def rng():
    return np.random.default_rng(3)


def stack(dtype=np.float64):
    return np.linspace(-1.0, 2.0, P * N).reshape(P, N).astype(dtype)


def latencies():
    return 1.0 + np.arange(12.0).reshape(3, 4) / 7


def half(x, seed):
    return x / 2


def calls_of(call, **makers):
    """The face of `call`, whose arguments are made anew by each maker; what is no function is the argument itself."""

    def good():
        return {k: v() if inspect.isfunction(v) and v.__name__ == "<lambda>" else v for k, v in makers.items()}

    return good


def face(call, name=None, infinite="", any_value=None, also=(), **makers):
    return HostileFace(name or call.__name__, call, calls_of(call, **makers), infinite, any_value, also)


def used(cls, use):
    """What builds `cls` and uses the result at once: what a constructor takes has to be usable."""

    def built(**given):
        made = cls(**given)
        return made, use(made)

    built.__signature__ = inspect.signature(cls)
    return built


def called(x, compressor):
    return compressor(x(), rng())


def of_compressors():
    """Constructors, compress, decompress and law of every compressor, with its first example."""
    found = []
    for name, given in EXAMPLES.items():
        cls = cp.COMPRESSORS[name]
        c = cls(**given[0])
        x = partial(np.linspace, -1.0, 2.0, 12) if c.ndim == 1 else (lambda: np.linspace(-1.0, 2.0, 12).reshape(3, 4))
        rows = [1, -2, 1] if c.ndim == 1 else [[1, -2, 1]]
        small = c if name not in ("LowRank", "PowerSGD") else cls(1)
        found.append(face(used(cls, partial(called, x)), name, **given[0]))
        free = {} if c.randomised else {"rng": "ignored, as documented"}
        c = {"LowRank": cls(1), "PowerSGD": cls(1)}[name] if c.ndim == 2 else c
        found.append(face(c.compress, f"{c}.compress", any_value=free, x=lambda x=x: x(), rng=lambda: rng()))
        found.append(face(c.decompress, f"{c}.decompress", message=lambda c=c, x=x: c.compress(x(), rng())))
        if name != "PowerSGD":
            found.append(face(small.law, f"{small}.law", x=lambda rows=rows: list(rows)))
    return found


def of_feedback():
    found = []
    for cls in (cp.Plain, cp.EF14, cp.EF21, cp.EF21M, cp.EControl):
        take = lambda made: made.start(np.linspace(-1.0, 2.0, 6))  # noqa: E731
        found.append(face(used(cls, take), cls.__name__, compressor=lambda: cp.TopK(2)))
        m, g = cls(cp.TopK(2)), lambda: np.linspace(-1.0, 2.0, 6)
        found.append(face(m.start, f"{cls.__name__}.start", gradient=lambda g=g: g()))
        found.append(
            face(
                m.step,
                f"{cls.__name__}.step",
                any_value={"rng": "ignored by TopK"},
                state=lambda m=m, g=g: m.start(g()),
                gradient=lambda g=g: g(),
            )
        )
    q = cp.GroupQuantizer(4, 4)
    message = lambda: q.compress(np.linspace(-1.0, 2.0, 12))  # noqa: E731
    for cls in (cp.GroupQuantizer, cp.StochasticGroupQuantizer):
        take = lambda made: made(np.linspace(-1.0, 2.0, 12), rng())  # noqa: E731
        found.append(face(used(cls, take), cls.__name__, width=4, group=4))
        c = cls(4, 4)
        found += [
            face(
                c.compress,
                f"{cls.__name__}.compress",
                any_value={} if c.randomised else {"rng": "ignored"},
                x=lambda: np.linspace(-1.0, 2.0, 12),
                rng=lambda: rng(),
            ),
            face(c.law, f"{cls.__name__}.law", x=lambda: [0.5, -1.0, 0.25]),
            face(c.decompress, f"{cls.__name__}.decompress", message=lambda: message()),
        ]
    found += [
        face(cp.packed, codes=lambda: np.arange(8, dtype=np.uint8), bits=4),
        face(cp.packed_bytes, n=8, bits=4),
        face(cp.unpacked, planes=lambda: cp.packed(np.arange(8, dtype=np.uint8), 4), bits=4, n=8),
        face(cp.wire_bytes, message=lambda: message()),
        face(
            cp.message_from_bytes,
            sent=lambda: cp.wire_bytes(message()),
            quantiser=lambda: q,
            n=12,
            dtype=lambda: np.float64,
        ),
    ]
    return found


def of_collectives():
    s, q = (lambda: stack()), (lambda: cp.GroupQuantizer(4, 4))
    keys = lambda: co.initial_keys(P, 2, 2)  # noqa: E731
    free = {"rng": "ignored where nothing is drawn"}
    step_law = co.StepLaw(co.Gamma(2.0, 0.5), 3, 2)
    sgd = co.FeedbackSGD(cp.EF14(cp.TopK(2)), 0.1)
    ok = co.OkTopkSGD(2, 0.1)
    ge, be = co.GilbertElliott(0.1, 0.4), co.Bernoulli(0.25)
    fresh = lambda: co.fresh_replicas(np.linspace(-1.0, 2.0, N), 2)  # noqa: E731
    found = [face(getattr(co, name), infinite=SUMS, stack=s) for name in DENSE]
    found += [
        face(co.reduce_scatter, infinite=SUMS, stack=s),
        face(co.allgather, blocks=lambda: stack()),
        face(co.allgatherv, blocks=lambda: list(stack())),
        face(co.gather_blocks, sizes=lambda: np.array([1, 2, 3])),
        face(co.arctopk_allreduce, gradients=lambda: stack().reshape(P, 3, 2), K=2, rank=1, rng=lambda: rng()),
        face(co.kept_of_orthogonal_rows, infinite=SUMS, squares=lambda: np.array([1.0, 2.0, 3.0]), K=2, rank=2),
        face(co.kept_of_planar_rows, infinite=SUMS, rows=lambda: np.array([[1.0, 2.0], [3.0, 1.0]]), K=2, rank=2),
        face(co.row_count, m=10, share=0.25),
        face(co.mean_of_compressed, infinite=SUMS, any_value=free, stack=s, compressor=lambda: cp.TopK(2)),
        face(co.oktopk_allreduce, acc=s, k=2),
        face(co.oktopk_boundaries, selected=lambda: [np.array([0, 3]), np.array([1, 5])], n=N),
        face(used(co.OkTopkSGD, stepped), "OkTopkSGD", k=2, step_size=0.1),
        face(ok.start, "OkTopkSGD.start", also=("k",), weights=lambda: np.linspace(-1.0, 2.0, N), P=P),
        face(ok.step, "OkTopkSGD.step", state=lambda: ok.start(np.linspace(-1.0, 2.0, N), P), gradients=s),
        face(used(co.ArcRows, aggregated), "ArcRows", K=2),
        face(used(co.GatheredTopK, aggregated), "GatheredTopK", k=2),
        face(used(co.OkTopK, aggregated), "OkTopK", k=2),
        face(used(co.FeedbackSGD, stepped), "FeedbackSGD", mechanism=lambda: cp.EF14(cp.TopK(2)), step_size=0.1),
        face(sgd.start, "FeedbackSGD.start", weights=lambda: np.linspace(-1.0, 2.0, N), P=P),
        face(
            sgd.step,
            "FeedbackSGD.step",
            any_value=free,
            state=lambda: sgd.start(np.linspace(-1.0, 2.0, N), P),
            gradients=s,
        ),
        face(co.oneshot_quantised_allreduce, also=("x",), any_value=free, stack=s, quantiser=q),
        face(co.twostep_quantised_allreduce, also=("x",), any_value=free, stack=s, quantiser=q),
        face(co.ring_quantised_allreduce, also=("x",), any_value=free, stack=s, quantiser=q),
        face(co.hierarchical_quantised_allreduce, also=("x",), any_value=free, stack=s, quantiser=q, node=2),
        face(co.gtopk_allreduce, infinite=SUMS, stack=s, k=2),
        face(co.gaussiank_allreduce, stack=s, k=2),
        face(co.spardl_allreduce, infinite=SUMS, stack=s, k=4, teams=1),
        face(co.topk_allgather, infinite=SUMS, stack=s, k=2),
        face(co.topk_dsa, infinite=SUMS, stack=s, k=2),
        # gossip and groups
        face(co.gossip, infinite=SUMS, stack=s, topology="ring", rounds=1),
        face(co.push_sum, infinite=SUMS, stack=s, topology="one-peer", rounds=1),
        face(co.allreduce_with_restarts, infinite=SUMS, stack=s, p=0.0, rng=lambda: rng()),
        face(co.distortion, infinite=SUMS, stack=s),
        face(co.initial_keys, N=P, M=2, d=2),
        face(co.moshpit, infinite=SUMS, stack=s, keys=keys, M=2, rounds=2, rng=lambda: rng()),
        face(
            co.grid_average,
            infinite=SUMS,
            stack=s,
            cells=lambda: np.array([[0, 0], [0, 1], [1, 0], [1, 1]]),
            M=2,
            rounds=2,
            start=0,
        ),
        face(co.group_average, infinite=SUMS, stack=s, groups=lambda: np.array([0, 0, 1, 1])),
        face(co.random_groups, infinite=SUMS, stack=s, r=2, rng=lambda: rng()),
        face(co.regrouping, infinite=SUMS, stack=s, M=2, rng=lambda: rng()),
        face(co.group_trials, infinite=SUMS, stack=s, kind="random", M=2, rounds=2, trials=2, seed=0),
        face(
            co.moshpit_sgd,
            also=("stack",),
            infinite="a descent may diverge",
            points=s,
            gradient=lambda: np.copy,
            gamma=0.5,
            noise=lambda: np.zeros((2, P, N)),
            period=2,
            groups=lambda: [[[0, 0, 1, 1]]],
        ),
        # latencies
        face(co.Exponential, scale=1.0),
        face(co.Gamma, shape=2.0, scale=0.5),
        face(co.Histogram, start=0.5, width=0.25, counts=lambda: np.array([1, 2, 1])),
        face(co.Lattice, base=0.5, unit=0.25, weights=lambda: np.array([1.0, 2.0, 1.0])),
        face(co.Lognormal, location=0.0, shape=0.5),
        face(co.Normal, average=2.0, deviation=0.25),
        face(co.Uniform, low=0.5, high=1.5),
        face(co.bernoulli, low=0.5, high=1.5, probability=0.25),
        face(co.released_noise),
        face(co.gaussian_maximum, N=4),
        face(co.StepLaw, law=lambda: co.Gamma(2.0, 0.5), N=3, M=2),
        face(co.trial_latencies, law=lambda: co.Gamma(2.0, 0.5), N=3, M=2, seed=0, trial=1),
        face(co.backup_step, infinite=SUMS, latencies=lambda: latencies(), spare=1),
        face(co.best_threshold, infinite=SUMS, latencies=lambda: latencies()[None], overhead=0.5),
        face(
            co.released_threshold,
            infinite=SUMS,
            latencies=lambda: 1.0 + np.arange(84.0).reshape(3, 4, 7) / 7,
            overhead=0.5,
        ),
        face(co.drop_step, infinite=SUMS, latencies=lambda: latencies(), tau=3.0),
        face(
            co.drop_gradient, infinite=SUMS, gradients=lambda: np.ones((3, 4, 2)), completed=lambda: np.array([4, 2, 3])
        ),
        face(co.drop_trials, law=lambda: co.Gamma(2.0, 0.5), N=3, M=2, tau=1.5, trials=2, seed=0),
        face(co.local_sgd_period, infinite=SUMS, latencies=lambda: latencies()[None]),
        face(
            co.random_batch_sgd,
            also=("stack",),
            infinite="a descent may diverge",
            start=lambda: np.array([1.0]),
            gradient=lambda: np.copy,
            noise=lambda: np.zeros((3, 2, 1)),
            batches=lambda: np.array([2, 1, 0]),
            learning_rate=0.5,
        ),
        # losses
        face(co.Bernoulli, p=0.25),
        face(co.GilbertElliott, fail=0.1, recover=0.4),
        face(be.lost, "Bernoulli.lost", any_value={"state": "ignored"}, address=lambda: (7, 0, 0), step=0, links=8),
        face(ge.lost, "GilbertElliott.lost", address=lambda: (7, 0, 0), step=0, links=8),
        face(co.layout, n=N, workers=2),
        face(co.fresh_replicas, parameters=lambda: np.linspace(-1.0, 2.0, N), workers=2),
        face(
            co.lossy_reduce_scatter, infinite=SUMS, stack=lambda: stack()[:2], arrived=lambda: np.ones((2, 2, 1), bool)
        ),
        face(
            co.lossy_broadcast,
            replicas=lambda: stack()[:2],
            owned=lambda: np.linspace(0.0, 1.0, N),
            arrived=lambda: np.ones((2, 2, 1), bool),
        ),
        face(
            co.lossy_step,
            state=lambda: fresh(),
            gradients=lambda: stack()[:2],
            rate=0.1,
            reduce_arrived=lambda: np.ones((2, 2, 1), bool),
            broadcast_arrived=lambda: np.ones((2, 2, 1), bool),
        ),
        face(
            co.lossy_training,
            any_value={"observe": "called with what it does not take, a callable raises what it likes"},
            state=lambda: fresh(),
            gradient=lambda: at_weights,
            loss=lambda: be,
            steps=2,
            rate=0.1,
        ),
        face(co.drift_trials, workers=2, steps=2, loss=lambda: be),
        face(co.staleness_trials, receivers=2, steps=2, loss=lambda: be),
    ]
    for name in ("capped", "capped_worker", "late", "completed"):
        found.append(face(getattr(step_law, name), f"StepLaw.{name}", infinite=SUMS, tau=1.5))
    found += [
        face(step_law.quantile, "StepLaw.quantile", probability=0.5),
        face(step_law.speedup, "StepLaw.speedup", infinite=SUMS, tau=1.5, overhead=0.5),
        face(step_law.ideal, "StepLaw.ideal", infinite=SUMS, overhead=0.5),
        face(step_law.best, "StepLaw.best", infinite=SUMS, overhead=0.5),
    ]
    for law in (co.Normal(2.0, 0.25), co.Lognormal(0.0, 0.5), co.Gamma(2.0, 0.5), co.Uniform(0.5, 1.5)):
        found.append(face(law.cdf, f"{type(law).__name__}.cdf", x=1.5))
        if isinstance(law, co.Lognormal):
            found.append(face(law.excess, "Lognormal.excess", x=1.5))
    return found


def aggregated(made):
    return made(stack(), None, rng())


def stepped(made):
    state = made.start(np.linspace(-1.0, 2.0, N), P)
    return made.step(stack(), state)


def at_weights(step, parameters):
    return np.array(parameters)


SUMS = "sums that leave the dtype's range become infinite, as the modules say"
LIMITS = "magnitudes and time limits may be infinite"
DENSE = ("ring_allreduce", "butterfly_allreduce", "rabenseifner_allreduce", "recursive_doubling_allreduce")


def of_theory():
    # the face of the room passes its options on to this
    return [face(tolerance, op="allreduce", P=4, n=8)]


def claims_of():
    """Claims about subjects, with right numbers."""
    return [
        (cf.AbsoluteError, {"bound": 0.5}),
        (cf.Bits, {"at_most": 8}),
        (cf.Bounded, {"factor": 1.0}),
        (cf.Codebook, {"values": lambda: [0.0, 1.0]}),
        (cf.Conserves, {}),
        (cf.Contraction, {"alpha": 0.5}),
        (cf.ExactOn, {"inputs": lambda: [np.ones(2)]}),
        (cf.Matches, {"reference": lambda: half_of()}),
        (cf.MemoryBounded, {"bound": 2.0}),
        (cf.RelativeError, {"bound": 0.5}),
        (cf.SameLaw, {"reference": lambda: cp.RandK(1)}),
        (cf.ScaleEquivariant, {}),
        (cf.Support, {"k": 2}),
        (cf.Variance, {"omega": 1.0}),
        (cf.WordsAtMost, {"bound": 8.0}),
    ]


def of_conformance():
    claims = [cf.Contraction(0.75)]
    return [
        *(face(cls, infinite=LIMITS, **given) for cls, given in claims_of()),
        face(cf.Codec, infinite=LIMITS, roundtrip=lambda: half_of(), claims=lambda: claims),
        *subjects_of(),
        face(cf.Stateful, infinite=LIMITS, factory=lambda: memory_of(), claims=()),
        *(
            face(one, infinite=LIMITS, run=lambda: half_of(), claims=(), op="sum")
            for one in (cf.AllReduce, cf.ReduceScatter, cf.AllGather)
        ),
        face(cf.in_rounds, infinite=LIMITS, factory=lambda: memory_of(), claims=()),
        face(cf.word_law, kernel=lambda: floor_of(), x=lambda: np.ones(2), bits=4, dtype="float32"),
    ]


def subjects_of():
    """What makes subjects and claims of something else; nothing of it runs."""
    tiny = cf.Codec(half, [cf.Contraction(0.75)])
    return [
        face(cf.like, reference=lambda: cp.TopK(2), wire=False),
        face(cf.takes, reference=lambda: cp.TopK(2)),
        face(cf.on_arrays, function=lambda: half_of(), namespace=lambda: np),
        face(cf.rank_program, infinite=LIMITS, program=lambda: half_of(), claims=()),
        face(cf.launched, infinite=LIMITS, launch=lambda: command_of(), claims=(), ranks=(1, 2), time_limit=30.0),
        face(cf.executable, infinite=LIMITS, command=lambda: ["true"], claims=(), kind=lambda: cf.Codec),
        face(cf.conforms, subject=lambda: tiny, budget="quick", seed=0),
        face(cf.recheck, subject=lambda: tiny, claim="answers", x=lambda: np.ones(2), seed=0),
    ]


def floor_of():
    return lambda x, words: np.floor(x + words / 16.0)


def command_of():
    return lambda P: ["true"]


def half_of():
    return half


def memory_of():
    return lambda seed: lambda x: half(x, seed)


FACES = [*of_compressors(), *of_feedback(), *of_collectives(), *of_theory(), *of_conformance()]
