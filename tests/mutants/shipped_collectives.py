"""Broken twins of shipped collectives, each by one defect."""

from dataclasses import replace

import numpy as np

from commbounds.collectives.shipped_collectives import COLLECTIVES
from commbounds.collectives.shipped_collectives.torchcomms import words_of
from commbounds.verify import Method
from mutants.record import Mutant

_DEFAULTS = {
    "quickreduce": {"width": 8, "tile": 16384, "saturates": True},
    "flashinfer_allreduce": {"group": 256, "block": 4096},
    "torchft_allreduce": {"columns": 1, "native": True, "mean": False},
    "quantization_hook": {"channel": None},
    "nccl_sum": {"element": "e4m3"},
    "torchcomms_reduce_scatter": {"key": 0, "words": None},
    "loongforge_hook": {"rounds": 1, "group": 256, "feedback": "none"},
}


def _twin(subject, name, broken, call):
    """A twin that makes something else of the right one, the stack and the options."""

    def twin(stack, *positional, **options):
        given = {**_DEFAULTS[subject], **dict(zip(_DEFAULTS[subject], positional, strict=False)), **options}
        return call(COLLECTIVES[subject], np.asarray(stack), given)

    twin.__name__, twin.__doc__ = f"{subject}_{name}", broken
    return twin


def _with(change):
    """The right one with other options."""
    return lambda right, stack, o: right(stack, **{**o, **change(stack, o)})


def _of(change):
    """The right one of another stack."""
    return lambda right, stack, o: right(change(stack), **o)


def _ends_with(change):
    """The right one, whose result ends as another."""

    def call(right, stack, o):
        result, traffic = right(stack, **o)
        return change(stack, result), traffic

    return call


def _sends(change):
    """The right one, whose bytes are others."""

    def call(right, stack, o):
        result, traffic = right(stack, **o)
        return result, replace(traffic, sent=change(traffic.sent, stack, o))

    return call


def _one_rank_more(_stack, result):
    """From four ranks on, the last one's bits differ."""
    if len(result) < 4:
        return result
    changed = result.copy()
    changed[-1] = np.nextafter(changed[-1], np.inf)
    return changed


def _shrunk(_stack, result):
    return result * result.dtype.type(0.5)


def _without_the_last(stack):
    return np.concatenate([stack[:-1], 0 * stack[-1:]]) if len(stack) > 3 else stack


def _infinite(_stack, result):
    return np.where(np.abs(result) >= 65504, np.inf, result)


def _no_negative_zeros(_stack, result):
    return result + result.dtype.type(0)


def _twice(sent, _stack, _o):
    return 2 * sent


def _padded_away(sent, stack, o):
    """The zeros that fill the last tile are not sent."""
    return sent * stack.shape[1] // (-(-stack.shape[1] // o["tile"]) * o["tile"])


def _no_scales(sent, _stack, o):
    return sent * (8 * o["width"]) // (8 * o["width"] + 4)


def _words(change):
    """The right one with other words."""

    def changed(stack, o):
        P, n = stack.shape
        words = [words_of(o["key"], p * n, n) for p in range(P)] if o["words"] is None else o["words"]
        return {"words": change(np.array(words))}

    return _with(changed)


_Q, _F, _T, _H, _N, _C, _L = tuple(_DEFAULTS)
_EXACT, _SEARCH = Method.EXACT, Method.SEARCH
_LISTED = (
    (_Q, "halved", "The sum is halved.", _ends_with(_shrunk), "quickreduce.error", _SEARCH),
    (_Q, "four_bits", "Codes have four bits.", _with(lambda *_: {"width": 4}), "quickreduce.error", _SEARCH),
    (
        _Q,
        "skips_the_last",
        "Of four ranks and more the last is left out.",
        _of(_without_the_last),
        "quickreduce.error",
        _SEARCH,
    ),
    (_Q, "infinite", "65504 is taken for infinite.", _ends_with(_infinite), "quickreduce.finite_saturated", _SEARCH),
    (_Q, "one_rank_apart", _one_rank_more.__doc__, _ends_with(_one_rank_more), "quickreduce.agreement", _SEARCH),
    (_Q, "sends_no_zeros", _padded_away.__doc__, _sends(_padded_away), "quickreduce.bytes", _EXACT),
    (_Q, "sends_no_scales", "Scales are not counted.", _sends(_no_scales), "quickreduce.bytes", _EXACT),
    (_Q, "positive_zeros", "Zeros are positive.", _ends_with(_no_negative_zeros), "quickreduce.definition", _SEARCH),
    (
        _Q,
        "never_saturates",
        "Overflows are infinite.",
        _with(lambda *_: {"saturates": False}),
        "quickreduce.definition",
        _SEARCH,
    ),
    (
        _Q,
        "six_for_eight",
        "Eight bits are six.",
        _with(lambda _, o: {"width": min(o["width"], 6)}),
        "quickreduce.definition",
        _SEARCH,
    ),
    (_F, "halved", "The sum is halved.", _ends_with(_shrunk), "flashinfer.error", _SEARCH),
    (
        _F,
        "skips_the_last",
        "Of four ranks and more the last is left out.",
        _of(_without_the_last),
        "flashinfer.error",
        _SEARCH,
    ),
    (
        _F,
        "agrees",
        "All ranks have rank 0's numbers.",
        _ends_with(lambda _, result: np.tile(result[:1], (len(result), 1))),
        "flashinfer_allreduce.definition",
        _SEARCH,
    ),
    (
        _F,
        "other_blocks",
        "Owners have twice as long blocks.",
        _with(lambda _, o: {"block": 2 * o["block"]}),
        "flashinfer_allreduce.definition",
        _SEARCH,
    ),
    (_F, "sends_twice", "Bytes are counted twice.", _sends(_twice), "flashinfer.bytes", _EXACT),
    (_T, "halved", "The sum is halved.", _ends_with(_shrunk), "torchft.error", _SEARCH),
    (
        _T,
        "always_integers",
        "Codes are integers.",
        _with(lambda *_: {"native": False}),
        "torchft_allreduce.definition",
        _SEARCH,
    ),
    (_T, "never_integers", "Codes are float8.", _with(lambda *_: {"native": True}), "torchft.error_cut", _SEARCH),
    (_T, "always_means", "The mean is returned.", _with(lambda *_: {"mean": True}), "torchft.error", _SEARCH),
    (
        _T,
        "one_row",
        "All entries are a row.",
        _with(lambda stack, _: {"columns": stack.shape[1]}),
        "torchft.bytes",
        _EXACT,
    ),
    (
        _T,
        "skips_the_last",
        "Of four ranks and more the last is left out.",
        _of(_without_the_last),
        "torchft_allreduce.definition",
        _SEARCH,
    ),
    (_H, "sums", "The sum is returned.", _ends_with(lambda stack, result: result * len(stack)), "hook.error", _SEARCH),
    (_H, "one_channel", "All entries are a channel.", _with(lambda *_: {"channel": None}), "hook.error", _SEARCH),
    (
        _H,
        "skips_the_last",
        "Of four ranks and more the last is left out.",
        _of(_without_the_last),
        "quantization_hook.definition",
        _SEARCH,
    ),
    (_H, "sends_twice", "Bytes are counted twice.", _sends(_twice), "hook.bytes", _EXACT),
    (_N, "halved", "The sum is halved.", _ends_with(_shrunk), "nccl.error", _SEARCH),
    (
        _N,
        "skips_the_last",
        "Of four ranks and more the last is left out.",
        _of(_without_the_last),
        "nccl.error",
        _SEARCH,
    ),
    (_N, "one_rank_apart", _one_rank_more.__doc__, _ends_with(_one_rank_more), "nccl.agreement", _SEARCH),
    (_N, "sends_twice", "Bytes are counted twice.", _sends(_twice), "nccl.bytes", _EXACT),
    (_N, "two_bits", "E4M3 is E5M2.", _with(lambda *_: {"element": "e5m2"}), "nccl_sum.definition", _SEARCH),
    (
        _N,
        "from_another_rank_on",
        "Sums begin one rank further on.",
        _of(lambda stack: np.roll(stack, 1, axis=0)),
        "nccl_sum.definition",
        _SEARCH,
    ),
    (_C, "halved", "The sum is halved.", _ends_with(_shrunk), "torchcomms.error", _SEARCH),
    (
        _C,
        "skips_the_last",
        "Of four ranks and more the last is left out.",
        _of(_without_the_last),
        "torchcomms.error",
        _SEARCH,
    ),
    (
        _C,
        "eight_bits",
        "Words have their upper eight bits.",
        _words(lambda w: w & 0xFF00),
        "torchcomms.unbiased",
        _EXACT,
    ),
    (_C, "to_nearest", "Words are all 2^15.", _words(lambda w: np.full_like(w, 2**15)), "torchcomms.unbiased", _EXACT),
    (
        _C,
        "one_word_for_all",
        "All ranks have the last one's words.",
        _words(lambda w: np.tile(w[-1:], (len(w), 1))),
        "torchcomms.variance",
        _EXACT,
    ),
    (_C, "sends_float32", "Bytes are those of float32.", _sends(_twice), "torchcomms.bytes", _EXACT),
    (
        _C,
        "another_key",
        "The key is one more.",
        _with(lambda _, o: {"key": (o["key"] + 1) % 2**64}),
        "torchcomms_reduce_scatter.definition",
        _SEARCH,
    ),
    (
        _L,
        "sums",
        "The sum is returned.",
        _ends_with(lambda stack, result: result * len(stack)),
        "loongforge.error",
        _SEARCH,
    ),
    (_L, "halved", "The mean is halved.", _ends_with(_shrunk), "loongforge.error", _SEARCH),
    (_L, "nothing_fed_back", "No error is kept.", _with(lambda *_: {"feedback": "none"}), "loongforge.kept", _SEARCH),
    (
        _L,
        "codes_not_fed_back",
        "The errors of the ranks' codes are not kept.",
        _with(lambda _, o: {"feedback": o["feedback"].replace("both", "allgather")}),
        "loongforge.kept",
        _SEARCH,
    ),
    (_L, "one_rank_apart", _one_rank_more.__doc__, _ends_with(_one_rank_more), "loongforge.agreement", _SEARCH),
    (_L, "sends_twice", "Bytes are counted twice.", _sends(_twice), "loongforge.bytes", _EXACT),
    (
        _L,
        "longer_groups",
        "Groups are twice as long.",
        _with(lambda _, o: {"group": min(2 * o["group"], 1024)}),
        "loongforge_hook.definition",
        _SEARCH,
    ),
    (
        _L,
        "skips_the_last",
        "Of four ranks and more the last is left out.",
        _of(_without_the_last),
        "loongforge_hook.definition",
        _SEARCH,
    ),
)
MUTANTS = (
    *(
        Mutant(_twin(subject, name, broken, call), subject, f"shipped_collectives.{claim}", method)
        for subject, name, broken, call, claim, method in _LISTED
    ),
)
