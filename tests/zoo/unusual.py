"""Right subjects in styles that are unusual and legitimate: views, odd strides and dtypes, every kind of generator.

``PYTHONPATH=tests python -m zoo.unusual FIRST LAST`` checks all of them under seeds from FIRST to before LAST and
prints every alarm. Where torch is installed, it is torch's subjects that are checked.
"""

import functools
import hashlib
import random
import sys
import time
from dataclasses import replace
from importlib.util import find_spec

import numpy as np

from commbounds.verify import conformance as cf

F = np.float32
BETWEEN = {"magnitudes": (1e-15, 1e15)}
NARROW = {"magnitudes": (1e-2, 1e2)}


def kept(n):
    """How many entries are sent of n."""
    return max(1, n // 4)


def share(n):
    """The contraction of sending so many of the largest."""
    return kept(n) / n


def largest(x):
    """Where the largest magnitudes are."""
    return np.argsort(-np.abs(x.astype(np.float64)), kind="stable")[: kept(x.size)]


# --- the largest entries: how the answer is handed back ------------------------------------------------------------


def topk_out(x, seed):
    """Writes its answer where it was told to, by `out`."""
    mask = np.zeros(x.size, bool)
    mask[largest(x)] = True
    answer = np.empty_like(x)
    np.multiply(x, mask, out=answer, casting="unsafe")
    return answer


def topk_view(x, seed):
    """Answers with the front of a longer buffer."""
    buffer = np.zeros(x.size + 16, x.dtype)
    places = largest(x)
    buffer[places] = x[places]
    return buffer[: x.size]


def topk_strided(x, seed):
    """Answers with every second entry of a buffer: not contiguous."""
    buffer = np.full(2 * x.size, np.nan, x.dtype)
    buffer[::2] = topk_view(x, seed)
    return buffer[::2]


def topk_backwards(x, seed):
    """Answers with a view of negative strides."""
    return np.ascontiguousarray(topk_view(x, seed)[::-1])[::-1]


def topk_read_only(x, seed):
    """Answers with an array that nobody may write to."""
    answer = topk_out(x, seed)
    answer.setflags(write=False)
    return answer


def topk_of_bytes(x, seed):
    """Goes through bytes, and answers with what lies on them."""
    return np.frombuffer(topk_out(x, seed).tobytes(), x.dtype)


def topk_by_partition(x, seed):
    """Uses argpartition, which breaks ties in its own way."""
    answer = np.zeros_like(x)
    places = np.argpartition(-np.abs(x), kept(x.size) - 1)[: kept(x.size)]
    answer[places] = x[places]
    return answer


def transposed_signs(x, seed):
    """Answers with a matrix in the order of Fortran."""
    return np.asfortranarray(x)


class Selector:
    """An object that is called, and counts its calls."""

    def __init__(self):
        self.calls = 0

    def __call__(self, x, seed):
        self.calls += 1
        return topk_out(x, seed)


def padded_blocks(x, seed):
    """Pads to whole blocks, changes the shape, scales each block, and cuts the padding off."""
    blocks = np.pad(x, (0, -x.size % 16)).reshape(-1, 16)
    top = np.abs(blocks).max(axis=1, keepdims=True)
    scale = np.where(top > 0, top, 1) / F(127)
    return (np.rint(blocks / scale) * scale).ravel()[: x.size].astype(x.dtype)


def block_step(x):
    """Half a step of the block that an entry is in, and the rounding of its scale."""
    tops = np.abs(np.pad(x.astype(np.float64), (0, -x.size % 16)).reshape(-1, 16)).max(axis=1)
    return np.repeat(tops * (1 / 254 + 1e-6), 16)[: x.size]


# --- rounding at random: where the numbers come from ---------------------------------------------------------------


def ternary_by(uniforms):
    """Signs times the largest magnitude with the right probability, by uniforms of some make."""

    def roundtrip(x, seed):
        wide = x.astype(np.float64)
        top = np.abs(wide).max() or 1.0
        return (np.sign(wide) * top * (uniforms(x, seed) < np.abs(wide) / top)).astype(x.dtype)

    roundtrip.__name__ = f"ternary by {uniforms.__name__}"
    return roundtrip


def philox(x, seed):
    """A Philox of numpy, of one seed sequence of several."""
    return np.random.Generator(np.random.Philox(np.random.SeedSequence(seed).spawn(2)[1])).random(x.shape)


def old_state(x, seed):
    """A RandomState."""
    return np.random.RandomState(seed).random_sample(x.shape)


def twister(x, seed):
    """A new generator on the old bits."""
    return np.random.Generator(np.random.MT19937(seed)).uniform(0.0, 1.0, x.shape)


def python(x, seed):
    """Python's generator, one number at a time."""
    rng = random.Random(seed)
    return np.reshape([rng.random() for _ in range(x.size)], x.shape)


def turned(x, seed):
    """1 - u, in (0, 1]; a probability of zero or one is kept all the same, up to a cell of the grid."""
    return 1.0 - np.random.default_rng(seed).random(x.shape) - 2.0**-53


def backwards(x, seed):
    """Uniforms in the other order."""
    return np.random.default_rng(seed).random(x.size)[::-1].reshape(x.shape)


def whole_numbers(x, seed):
    """32 bits over 2^32."""
    return np.random.default_rng(seed).integers(2**32, size=x.shape) / 2**32


def two_generators(x, seed):
    """Half from one generator, half from another, made in the other order."""
    second, first = np.random.default_rng([seed, 1]), np.random.default_rng([seed, 0])
    half = x.size // 2
    return np.concatenate([first.random(half), second.random(x.size - half)]).reshape(x.shape)


def begun_again(x, seed):
    """A generator that is thrown away after a draw, and made again from the same seed: both halves draw alike."""
    half = -(-x.size // 2)
    again = [np.random.default_rng(seed).random(half) for _ in range(2)]
    return np.concatenate(again)[: x.size].reshape(x.shape)


def own_hash(x, seed):
    """SHAKE of the seed: no generator at all."""
    digest = hashlib.shake_128(str(seed).encode()).digest(4 * x.size)
    return np.frombuffer(digest, np.uint32).astype(np.float64).reshape(x.shape) / 2**32


def restored_global(x, seed):
    """numpy's global generator, whose state is put back."""
    state = np.random.get_state(legacy=False)  # noqa: NPY002
    np.random.seed(seed)  # noqa: NPY002
    u = np.random.random_sample(x.shape)  # noqa: NPY002
    np.random.set_state(state)  # noqa: NPY002
    return u


def for_those_that_count(x, seed):
    """Draws for entries that are not zero alone."""
    u = np.ones(x.shape)
    u[x != 0] = np.random.default_rng(seed).random(np.count_nonzero(x))
    return u


def binomial_ternary(x, seed):
    """Asks for Bernoulli variables, not for uniforms."""
    wide = x.astype(np.float64)
    top = np.abs(wide).max() or 1.0
    return (np.sign(wide) * top * np.random.default_rng(seed).binomial(1, np.abs(wide) / top)).astype(x.dtype)


def rand_k_by_keys(x, seed):
    """Keeps the entries with the smallest random keys, times n/k."""
    keys, answer = np.random.default_rng(seed).random(x.size), np.zeros_like(x)
    places = np.argsort(keys)[: kept(x.size)]
    answer[places] = x[places] * x.dtype.type(x.size / kept(x.size))
    return answer


def rand_k_by_shuffle(x, seed):
    """Shuffles a list of indices by Python's generator."""
    places, answer = list(range(x.size)), np.zeros_like(x)
    random.Random(seed).shuffle(places)
    answer[places[: kept(x.size)]] = x[places[: kept(x.size)]] * x.dtype.type(x.size / kept(x.size))
    return answer


def noisy_floor(x, seed):
    """Floor of x/s + u in float64, with the scale a power of two."""
    wide = x.astype(np.float64)
    step = 2.0 ** np.floor(np.log2(np.abs(wide).max() or 1.0)) / 8
    return (step * np.floor(wide / step + np.random.default_rng(seed).random(x.shape))).astype(x.dtype)


# --- memories and sums ---------------------------------------------------------------------------------------------


class Lazy:
    """Error feedback that shows its residual by a method, in float64."""

    def __init__(self, seed):
        self._kept = 0.0

    def __call__(self, x):
        offered = (self._kept + x.astype(np.float64)).astype(x.dtype)
        sent = topk_out(offered.ravel(), 0).reshape(x.shape)
        self._kept = (self._kept + x.astype(np.float64)) - sent
        return sent

    def residual(self):
        """What is held back."""
        return self._kept


def broadcast_sum(stack, seed):
    """Answers with one row, broadcast: no rank has memory of its own."""
    return np.broadcast_to(stack.sum(axis=0, dtype=stack.dtype), stack.shape)


# --- torch ---------------------------------------------------------------------------------------------------------


def torch_ternary_by(uniforms):
    """As above, on tensors; `uniforms` gives (x, seed) -> where to round up, from probabilities."""

    def roundtrip(x, seed):
        import torch

        generator = torch.Generator().manual_seed(seed)
        top = x.abs().max().double()
        top = top if top > 0 else top + 1
        return (torch.sign(x) * top * uniforms(torch, generator, x.abs().double() / top)).to(x.dtype)

    roundtrip.__name__ = f"torch ternary by {uniforms.__name__}"
    return cf.on_torch(roundtrip)


def rand(torch, generator, p):
    """torch.rand."""
    return torch.rand(p.shape, generator=generator, dtype=torch.float64) < p


def bernoulli(torch, generator, p):
    """torch.bernoulli."""
    return torch.bernoulli(p, generator=generator)


def uniform_in_place(torch, generator, p):
    """Tensor.uniform_, on a transposed tensor: not contiguous."""
    return torch.empty((*p.shape, 2), dtype=torch.float64).transpose(0, -1)[0].uniform_(generator=generator) < p


def torch_topk_in_place(x, seed):
    """Zeroes what is small in a clone, in place."""
    answer = x.clone()
    answer[x.abs().argsort(descending=True, stable=True)[kept(x.numel()) :]] = 0
    return answer


TOP = [cf.Contraction(share), cf.Support(kept)]
TERNARY = [cf.Unbiased(), cf.Variance(lambda n: n**0.5)]
UNIFORMS = (philox, old_state, twister, python, turned, backwards, whole_numbers, two_generators, begun_again)
UNIFORMS += (own_hash, restored_global, for_those_that_count)
RAND_K = [cf.Unbiased(), cf.Support(kept)]


def short(x):
    """For those that go through entries one by one."""
    return x.size <= 400


UNUSUAL = (
    *(cf.Codec(f, TOP) for f in (topk_out, topk_view, topk_strided, topk_backwards, topk_read_only, topk_of_bytes)),
    cf.Codec(topk_by_partition, TOP),
    cf.Codec(Selector(), TOP, name="selector"),
    cf.Codec(functools.partial(topk_out), TOP, name="partial"),
    cf.Codec(topk_out, TOP, name="topk in float16", dtype="float16"),
    cf.Codec(topk_view, TOP, name="topk in bfloat16", dtype="bfloat16"),
    cf.Codec(transposed_signs, [cf.Contraction(1.0)], shape="matrix"),
    cf.Codec(padded_blocks, [cf.AbsoluteError(block_step)], **BETWEEN),
    *(cf.Codec(ternary_by(f), TERNARY, admits=short if f is python else None, **BETWEEN) for f in UNIFORMS),
    cf.Codec(ternary_by(old_state), [cf.Unbiased()], name="ternary in float16", dtype="float16", **NARROW),
    cf.Codec(ternary_by(philox), [cf.Unbiased()], name="ternary in bfloat16", dtype="bfloat16", **BETWEEN),
    cf.Codec(binomial_ternary, TERNARY, **BETWEEN),
    cf.Codec(rand_k_by_keys, RAND_K, **BETWEEN),
    cf.Codec(rand_k_by_shuffle, RAND_K, admits=short, **BETWEEN),
    cf.Codec(noisy_floor, [cf.Unbiased()], **BETWEEN),
    cf.Stateful(Lazy, [cf.Telescopes()], magnitudes=(0.0, 1e30)),
    cf.AllReduce(broadcast_sum, [cf.Sums(), cf.RanksAgree()], magnitudes=(0.0, 1e30)),
)
"""Those without torch."""
IN_TORCH = (
    *(cf.Codec(torch_ternary_by(f), TERNARY, **BETWEEN) for f in (rand, bernoulli, uniform_in_place)),
    cf.Codec(torch_ternary_by(rand), [cf.Unbiased()], name="torch ternary in bfloat16", dtype="bfloat16", **BETWEEN),
    cf.Codec(cf.on_torch(torch_topk_in_place), TOP),
    cf.Codec(cf.on_torch(torch_topk_in_place), TOP, name="torch topk in float16", dtype="float16"),
)


def alarms(subject, seeds):
    """Failures of what a subject claims, and of the finite and the repeated, by a twentieth of quick's work."""
    claims = ["finite in, finite out", "same seed, same output", *map(str, subject.claims)]
    reports = (cf.check(replace(subject, effort=0.05), seed=seed, only=claims) for seed in seeds)
    return [(report.subject, report.seed, finding) for report in reports for finding in report.failures]


def main(first, last):
    """Print what fails under seeds from `first` to before `last`."""
    subjects = IN_TORCH if find_spec("torch") else UNUSUAL
    count, found, begin = 0, [], time.process_time()
    for seed in range(first, last):
        for subject in subjects:
            found += alarms(subject, [seed])
            count += 1
        spent = time.process_time() - begin
        print(f"{count} reports, seeds {first} to {seed}: {len(found)} failures, {spent:.0f} s", flush=True)
    for failure in found:
        print(failure)


if __name__ == "__main__":
    main(int(sys.argv[1]), int(sys.argv[2]))
