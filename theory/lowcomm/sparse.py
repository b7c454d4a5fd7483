"""Claims about SparseLoCo and DeMo: what residuals hold, what is lost, what an average is, bits."""

import sympy as sp

from commbounds.theory.claim import Claim, Eq, Ge, Le, Standing
from commbounds.theory.lowcomm.terms import (
    AMPLITUDE_ERROR,
    BIN_ENERGY,
    BIN_SHIFT,
    BIN_SIGN,
    BY_RANKS,
    BY_SENDERS,
    CHUNKS_DIVIDE,
    DECAYS,
    DEMO,
    DEMO_AT,
    EMPTY_MOMENTUM,
    ENTRIES_SENT,
    FITS_CHUNK,
    FOUR_BINS,
    MADE_CHUNK,
    MISSING,
    NOT_TOO_WEAK,
    NOTHING_DECAYS,
    ODD_BINS,
    ONE_AMPLITUDE,
    ONE_OF_TWO,
    POSITIONED_BITS,
    POSITIONS_AS_A_SET,
    POSITIONS_ONE_BY_ONE,
    RESIDUAL_REACH,
    SENDER_GAIN,
    SENT_AS_THEY_ARE,
    SEVERAL_SEND,
    SIGN_FLIPS,
    SOME_VALUE,
    SPARSELOCO,
    TEMPLAR_AT,
    TOO_WEAK,
    WEAK_SENT,
    amplitude_senders,
    decay,
    madechunk,
    outerrounds,
    residualsum,
    valuebits,
    weak,
)
from commbounds.theory.quantities import P, choose, chunk, index_bits, k, n
from commbounds.theory.sources import derived
from commbounds.theory.traffic import MOST_SENT

_left = sp.sqrt(1 - k / chunk)
_turns = sp.floor(outerrounds / (sp.floor(1 / weak) + 1))
_TEMPLAR = "one-covenant/templar, src/tplr/compress.py"
_DEMO_CODE = "demo.py"
_RESIDUALS = (
    "e_t = beta e_(t - 1) + change_t - sent_t; added up over t, the sum of changes less that of what was sent is e_T + "
    "(1 - beta) sum over t < T of e_t."
)
_WAITS = (
    "The other entry is sent and has the residual zero. The weaker one holds d (1 - beta^t)/(1 - beta), which stays "
    "below d/(1 - beta)"
)

SPARSE_CLAIMS = (
    Claim(
        name="lowcomm.sparseloco.words",
        title="A worker of SparseLoCo sends 2 (P - 1) k n/chunk words",
        relation=Eq(MOST_SENT, 2 * (P - 1) * k * n / chunk),
        assumes=(CHUNKS_DIVIDE, SENT_AS_THEY_ARE),
        source=derived("Counted: k indices and values of every chunk, which a ring all-gather passes on P - 1 times."),
    ),
    Claim(
        name="lowcomm.sparseloco.residual",
        title=(
            "After T rounds SparseLoCo's residual is at most M q (1 - (beta q)^T)/(1 - beta q), q = sqrt(1 - k/chunk)"
        ),
        relation=Le(RESIDUAL_REACH, _left * (1 - (decay * _left) ** outerrounds) / (1 - decay * _left)),
        assumes=(CHUNKS_DIVIDE, SENT_AS_THEY_ARE),
        source=derived(
            "||e_t|| <= q ||beta e_(t - 1) + change|| <= q (beta ||e_(t - 1)|| + M), since the k largest of a chunk "
            "have k/chunk of its square at least."
        ),
        tightness=1,
        extremal="one round, entries of one magnitude",
        axis="outerrounds",
        note="Later rounds do not attain it: the residual of entries of one magnitude has fewer nonzero ones.",
    ),
    Claim(
        name="lowcomm.sparseloco.missing",
        title="SparseLoCo loses (1 - beta) times all earlier residuals, neither sent nor in the residual",
        relation=Eq(MISSING, (1 - decay) * residualsum),
        assumes=(SENT_AS_THEY_ARE,),
        source=derived(_RESIDUALS),
        axis="decay",
    ),
    Claim(
        name="lowcomm.sparseloco.keeps",
        title="SparseLoCo's error feedback loses nothing, also with decay",
        relation=Eq(MISSING, 0),
        assumes=(SENT_AS_THEY_ARE, DECAYS),
        source=derived(
            "Refuted by two rounds of the changes (1, 1/2), k = 1, beta = 1/2: the residual 1/2 loses 1/4. "
            f"{_RESIDUALS}",
            "what error feedback is for",
        ),
        stands=Standing.HOLDS_AS_CORRECTED,
        corrected_by="lowcomm.sparseloco.missing",
        extremal="changes (1, 1/2) twice, beta = 1/2",
        axis="decay",
        note="The residual is then a momentum and decays like one.",
    ),
    Claim(
        name="lowcomm.sparseloco.turns",
        title="Without decay SparseLoCo sends a weaker entry every floor(1/d) + 1 rounds",
        relation=Eq(WEAK_SENT, _turns),
        assumes=(ONE_OF_TWO, NOT_TOO_WEAK, NOTHING_DECAYS),
        source=derived(
            "Its residual is j d after j rounds, and the other entry's change 1; ties go to the other. In the round "
            "after it is sent the other has 2."
        ),
        axis="outerrounds",
    ),
    Claim(
        name="lowcomm.sparseloco.starved",
        title="With decay SparseLoCo never sends an entry of at most 1 - beta times the other in its chunk",
        relation=Eq(WEAK_SENT, 0),
        assumes=(ONE_OF_TWO, TOO_WEAK),
        source=derived(f"{_WAITS} <= 1."),
        axis="outerrounds",
        note="With 0.95, entries below a twentieth of the others in their chunk are never sent.",
    ),
    Claim(
        name="lowcomm.sparseloco.gets_through",
        title="With decay SparseLoCo sends a weaker entry every floor(1/d) + 1 rounds",
        relation=Ge(WEAK_SENT, _turns),
        assumes=(ONE_OF_TWO, NOT_TOO_WEAK, DECAYS),
        source=derived(
            f"Refuted by beta = 1/2, d = 1/2, any number of rounds beyond two: it is never sent. {_WAITS}.",
            "what error feedback is for",
        ),
        stands=Standing.HOLDS_AS_CORRECTED,
        corrected_by="lowcomm.sparseloco.turns",
        extremal="beta = 1/2, d = 1/2, three rounds",
        axis="outerrounds",
        note="Error feedback with decay has a threshold: see `lowcomm.sparseloco.starved`.",
    ),
    Claim(
        name="lowcomm.sparseloco.bits",
        title="SparseLoCo's positions coded one by one take k (ceil(log2 chunk) + b) bits a chunk with their values",
        relation=Eq(POSITIONED_BITS, n / chunk * k * (index_bits(chunk) + valuebits)),
        assumes=(CHUNKS_DIVIDE, POSITIONS_ONE_BY_ONE),
        source=SPARSELOCO.official_code(
            "one-covenant/templar, src/tplr/compression/pack12.py and compress.py: indices of 12 bits, for chunks of "
            "4096",
            "The bins' means are not counted.",
            reading="We read it for other chunks and other bits per value.",
            code=TEMPLAR_AT.at("src/tplr/compression/pack12.py", "3-20"),
        ),
    ),
    Claim(
        name="lowcomm.sparseloco.set_bits",
        title="SparseLoCo's positions coded as a set take ceil(log2 C(chunk, k)) + b k bits a chunk with their values",
        relation=Eq(POSITIONED_BITS, n / chunk * (index_bits(choose(chunk, k)) + k * valuebits)),
        assumes=(CHUNKS_DIVIDE, POSITIONS_AS_A_SET),
        source=derived("There are C(chunk, k) sets, and a number identifies each: 7.4 bits an index for 64 of 4096."),
    ),
    Claim(
        name="lowcomm.sparseloco.set_saves",
        title="SparseLoCo's positions take at most as many bits as a set as one by one",
        relation=Le(POSITIONED_BITS, n / chunk * k * (index_bits(chunk) + valuebits)),
        assumes=(CHUNKS_DIVIDE, POSITIONS_AS_A_SET),
        source=derived(
            "C(chunk, k) <= chunk^k, so its logarithm, rounded up, is at most k times that of chunk rounded up."
        ),
        tightness=1,
        extremal="one entry of every chunk",
        axis="k",
    ),
    Claim(
        name="lowcomm.binned.sum",
        title="Binning keeps the sum of values",
        relation=Eq(BIN_SHIFT, 0),
        assumes=(SOME_VALUE,),
        source=SPARSELOCO.official_code(
            f"{_TEMPLAR}, `_quantize_values`: what is sent for a bin is the mean of its values",
            "In every bin the means add up to its values. The bins need not be of one width for that.",
            code=TEMPLAR_AT.at("src/tplr/compress.py", "534-562"),
        ),
    ),
    Claim(
        name="lowcomm.binned.energy",
        title="Binning: the squares kept and the squares lost add up",
        relation=Eq(BIN_ENERGY, 1),
        assumes=(SOME_VALUE,),
        source=derived("The bins' means are the projection onto vectors that are constant in every bin."),
        note="So the error is the variance within bins, and at most that of the values: binning contracts.",
    ),
    Claim(
        name="lowcomm.binned.odd",
        title="With an odd number of bins negated values give negated bins",
        relation=Eq(BIN_SIGN, 0),
        assumes=(SOME_VALUE, ODD_BINS),
        source=derived("round(-y) = -round(y), and codes lie symmetrically about (bins - 1)/2."),
    ),
    Claim(
        name="lowcomm.binned.two_bits",
        title="With two bits negated values give negated bins",
        relation=Eq(BIN_SIGN, 0),
        assumes=(SOME_VALUE, FOUR_BINS),
        source=derived(
            "Refuted by -12, -5 and eighteen zeros: the two fall into separate bins, at -2 and -1. 12 and 5 both fall "
            "into the bin at 1, which is the last.",
            "what one expects of a quantiser",
        ),
        stands=Standing.HOLDS_AS_CORRECTED,
        corrected_by="lowcomm.binned.odd",
        extremal="-12, -5 and eighteen zeros",
        note="The code's offset is half the number of bins: below the middle one there is one bin more than above. "
        "With 256 bins that matters little; with four there are two and one.",
    ),
    Claim(
        name="lowcomm.demo.contraction",
        title="DeMo keeps at most 1 - k/chunk of the momentum's square",
        relation=Le(AMPLITUDE_ERROR, 1 - k / chunk),
        assumes=(CHUNKS_DIVIDE,),
        source=DEMO.official_code(
            f"{_DEMO_CODE}: the cosine transform is made with norm `ortho`, and the k largest amplitudes of a chunk "
            "are subtracted",
            "The transform keeps squares of chunks and of their parts; Top-K of amplitudes has the same bound as Top-K "
            "of entries.",
            reading="The bound is ours; the code states none.",
            code=DEMO_AT.at("demo.py", "134-145"),
        ),
        tightness=1,
        extremal="a chunk whose amplitudes have one magnitude: sums of the transform's rows",
        axis="k",
    ),
    Claim(
        name="lowcomm.demo.missing",
        title="DeMo loses (1 - beta) times all earlier momenta, neither sent nor in the momentum",
        relation=Eq(MISSING, (1 - decay) * residualsum),
        assumes=(CHUNKS_DIVIDE, EMPTY_MOMENTUM),
        source=DEMO.official_code(
            f"{_DEMO_CODE}: the buffer times compression_decay, plus the gradient, less what is sent",
            _RESIDUALS,
            reading="The statement about sums is ours.",
            code=DEMO_AT.at("demo.py", "127-145"),
        ),
        axis="decay",
        note="With the default 0.999 a thousandth of the momentum is lost in every step.",
    ),
    Claim(
        name="lowcomm.demo.by_ranks",
        title="Divided by the number of ranks, an amplitude of DeMo's update is the average of the messages",
        relation=Eq(SENDER_GAIN, 1),
        assumes=(SEVERAL_SEND, BY_RANKS),
        source=derived("The sum of the messages over P."),
        axis="amplitude_senders",
    ),
    Claim(
        name="lowcomm.demo.by_senders",
        title=(
            "Divided by the number of its senders, an amplitude of DeMo's update is P/s times the average of the "
            "messages"
        ),
        relation=Eq(SENDER_GAIN, P / amplitude_senders),
        assumes=(SEVERAL_SEND, BY_SENDERS),
        source=DEMO.official_code(
            f"{_DEMO_CODE}: `scatter_reduce_` with reduce `mean` and include_self False; the same in {_TEMPLAR}",
            "The sum of s equal messages over s.",
            code=DEMO_AT.at("demo.py", "296"),
        ),
        axis="amplitude_senders",
        note="An amplitude sent by one worker has the same weight as one sent by all.",
    ),
    Claim(
        name="lowcomm.demo.any_divisor",
        title="DeMo applies only signs, so the divisor makes no difference",
        relation=Eq(SIGN_FLIPS, 0),
        assumes=(CHUNKS_DIVIDE,),
        source=derived(
            "Refuted by three workers with chunks of two: one sends the amplitude 1 of the constant, two -0.9 of the "
            "other. The second entry is (1/3 + 0.6)/sqrt 2 > 0 over ranks; the first is (1/3 - 0.6)/sqrt 2 < 0 over "
            "ranks, and (1 - 0.9)/sqrt 2 > 0 over senders.",
            "what signs suggest",
        ),
        stands=Standing.HOLDS_AS_CORRECTED,
        corrected_by="lowcomm.demo.one_amplitude",
        extremal="three workers, of whom one sends another amplitude than two",
        axis="chunk",
        note="Signs are taken after the inverse transform, which mixes amplitudes that were divided by different "
        "numbers.",
    ),
    Claim(
        name="lowcomm.demo.one_amplitude",
        title="DeMo's divisor makes no difference if only one amplitude of a chunk is sent",
        relation=Eq(SIGN_FLIPS, 0),
        assumes=(CHUNKS_DIVIDE, ONE_AMPLITUDE),
        source=derived("The update is a positive multiple of one row of the transform, for any divisor."),
        axis="chunk",
    ),
    Claim(
        name="lowcomm.demo.chunk",
        title="DeMo sends n/c min(k, c) amplitudes of n entries, c the largest divisor of n that is at most the chunk",
        relation=Eq(ENTRIES_SENT, n / madechunk * sp.Min(k, madechunk)),
        assumes=(MADE_CHUNK,),
        source=DEMO.official_code(
            f"{_DEMO_CODE}: `_get_smaller_split` takes the largest divisor, and `_clamp_topk` at most all of a "
            "chunk; for one-dimensional weights",
            "Counted.",
            code=DEMO_AT.at("demo.py", "440-449"),
        ),
    ),
    Claim(
        name="lowcomm.demo.rate",
        title="DeMo sends at most k/chunk of a vector's entries",
        relation=Le(ENTRIES_SENT, n * k / chunk),
        assumes=(MADE_CHUNK, FITS_CHUNK),
        source=derived(
            "Refuted by every prime n above the chunk: its chunks have one entry, and everything is sent, with "
            "indices.",
            code=DEMO_AT.at("demo.py", "23-25"),
        ),
        stands=Standing.HOLDS_AS_CORRECTED,
        corrected_by="lowcomm.demo.chunk",
        tightness=chunk / k,
        extremal="a prime number of entries above the chunk",
        note="For such vectors all entries are sent, with indices of 64 bits in the code. Both sides of a matrix are "
        "cut this way, and blocks of 29 x 64 (50257 = 29 * 1733 tokens) send as many entries each as those of 64 x 64.",
    ),
)
