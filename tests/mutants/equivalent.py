"""Mutants of the source that change no result, with the reason; and the columns of which none survives."""

FULLY_KILLED: tuple[str, ...] = ()
"""Columns of which every mutant is killed or explained: CI fails where a sample has another."""

EQUIVALENT: dict[tuple[str, str, str, str, str], str] = {
    (
        "collectives/lowcomm/lowbit.py",
        "_codes",
        "return np.clip(np.rint(x.astype(np.float64) / step), -top, top).astype(np.int16)",
        "np.clip(np.rint(x.astype(np.float64) / step), -top, top)",
        "np.clip(-top, np.rint(x.astype(np.float64) / step), top)",
    ): "clip(a, b, c) is min(max(a, b), c), and the larger of two numbers is the same in either order",
    (
        "compressors/shipped/bernoullilazy.py",
        "BernoulliLazy._sent",
        "scaled = np.clip(x.astype(np.float64) / float(self.keep), -top, top)",
        "np.clip(x.astype(np.float64) / float(self.keep), -top, top)",
        "np.clip(-top, x.astype(np.float64) / float(self.keep), top)",
    ): "clip(a, b, c) is min(max(a, b), c), and the larger of two numbers is the same in either order",
    (
        "compressors/shipped/bernoullilazy.py",
        "BernoulliLazy._checked",
        "array = checked_array(x, finite=False)",
        "False",
        "True",
    ): "what is not finite is refused in the next line with the same error: the vector is looked through twice",
    (
        "compressors/shipped/clipped.py",
        "ClippedTernGrad._encoded",
        "x = np.clip(x, -bound, bound)",
        "np.clip(x, -bound, bound)",
        "np.clip(-bound, x, bound)",
    ): "clip(a, b, c) is min(max(a, b), c), and the larger of two numbers is the same in either order",
    (
        "compressors/shipped/atomic.py",
        "_keep",
        "for i in range(x.size):",
        "x",
        "uniforms",
    ): "there are as many uniforms as entries: both callers see to it",
    (
        "compressors/shipped/buckets.py",
        "_add_up",
        "for i in range(x.size):",
        "x",
        "codes",
    ): "there are as many codes as entries",
    (
        "compressors/shipped/buckets.py",
        "SPARE",
        "SPARE = 64",
        "64",
        "65",
    ): "scaling by a power of two and back is exact, but for entries far below the last bit of a sum that overflows",
    (
        "compressors/shipped/buckets.py",
        "_add_up",
        "if abs(sums[code]) >= abs(value):",
        "abs(sums[code]) >= abs(value)",
        "abs(sums[code]) > abs(value)",
    ): "of equal magnitudes the sum is twice one, or zero: exact, and both branches add zero",
    (
        "compressors/shipped/dynamictree.py",
        "_not_above",
        "return nearest if nearest <= value else float(np.nextafter(nearest, -1.0))",
        "1.0",
        "2.0",
    ): "the next number on the way to -1 is the next on the way to -2, as all borders are above -1",
    (
        "compressors/shipped/dynamictree.py",
        "dynamic_tree",
        "codes = np.searchsorted(_BORDERS, array / np.where(of_entries > 0, of_entries, 1.0), "
        'side="left").astype(np.uint8)',
        "1.0",
        "2.0",
    ): "it divides zeros alone",
    (
        "compressors/shipped/spectral.py",
        "spectral_atoms",
        "scaled = np.where(chosen, wide, 0.0) / np.where(chosen, chances, 1.0)",
        "1.0",
        "2.0",
    ): "it divides zeros alone",
    (
        "compressors/shipped/threelc.py",
        "_pack",
        "digit = 2 if x[i] > 0 else 0",
        "x[i] > 0",
        "x[i] >= 0",
    ): "zeros do not come here",
    (
        "compressors/shipped/replacement.py",
        "_places",
        "unfair = (_LOW32 - span + np.uint64(1)) % span",
        "_LOW32 - span",
        "_LOW32 + span",
    ): "2^32 - span and 2^32 + span leave the same rest when they are divided by span, and both are below 2^64",
    (
        "compressors/lowrank/approximations.py",
        "_scales",
        "half = -exponent // 2",
        "2",
        "3",
    ): "2^-exponent is the product of any two powers that are floats, and a third of 1074 is an exponent of some",
    (
        "compressors/lowrank/approximations.py",
        "LowRank.compress",
        "u, sigma, vt = np.linalg.svd(matrix, full_matrices=False)",
        "False",
        "True",
    ): "the first min(m, n) singular vectors are the same; the others are not used",
    (
        "compressors/lowrank/approximations.py",
        "LowRank.compress",
        "signs = np.where(left[abs(left).argmax(axis=0), np.arange(self.rank)] < 0, -1.0, 1.0)",
        "left[abs(left).argmax(axis=0), np.arange(self.rank)] < 0",
        "left[abs(left).argmax(axis=0), np.arange(self.rank)] <= 0",
    ): "the largest entry of a column of length one is not zero",
    (
        "compressors/lowrank/exact_rank.py",
        "_orthogonal",
        "return all(_dot(rows[i], rows[j]) == 0 for i in range(len(rows)) for j in range(i))",
        "_dot(rows[i], rows[j])",
        "_dot(rows[j], rows[i])",
    ): "an inner product is the same in either order",
    (
        "compressors/lowrank/exact_rank.py",
        "_best_rank_one",
        "a, b, c = _dot(first, first), _dot(first, second), _dot(second, second)",
        "_dot(first, second)",
        "_dot(second, first)",
    ): "an inner product is the same in either order",
    (
        "compressors/feedback/mechanisms.py",
        "_blend",
        "for i in range(momentum.size):",
        "momentum",
        "gradient",
    ): "a state has the shape of its gradients: what does not is refused before",
    (
        "compressors/feedback/mechanisms.py",
        "_controlled",
        "for i in range(error.size):",
        "error",
        "gradient",
    ): "a state has the shape of its gradients: what does not is refused before",
    (
        "compressors/feedback/state.py",
        "_scattered",
        "for j in range(indices.size):",
        "indices",
        "values",
    ): "a sparse message has as many indices as values",
    (
        "collectives/feedback/sgd.py",
        "_gathered",
        "counts.flags.writeable = False",
        "counts.flags.writeable = False",
        "nothing",
    ): "a guard for what is kept for later steps: nobody here writes to a traffic",
    (
        "collectives/feedback/sgd.py",
        "_gathered",
        "counts.flags.writeable = False",
        "False",
        "True",
    ): "a guard for what is kept for later steps: nobody here writes to a traffic",
    (
        "collectives/feedback/aggregators.py",
        "ArcRows.__call__",
        "matrices = stack.reshape(*stack.shape[:2], -1)",
        "1",
        "2",
    ): "numpy takes every negative size of a shape for the one that is left open",
    (
        "collectives/feedback/sgd.py",
        "FeedbackSGD.step",
        "sums, traffic = ring_allreduce(given.reshape(state.P, -1))",
        "1",
        "2",
    ): "numpy takes every negative size of a shape for the one that is left open",
    (
        "collectives/feedback/steps.py",
        "average_of_messages",
        "if isinstance(message, Sparse):",
        "isinstance(message, Sparse)",
        "False",
    ): "all entries are added in place of those that are sent: zeros change no sum that begins with 0.0",
    (
        "collectives/dense/result_memory.py",
        "uninitialised",
        "if not LEAST <= size <= MOST:",
        "LEAST <= size <= MOST",
        "LEAST < size <= MOST",
    ): "decides whether memory of this one size is kept, not what is written there",
    (
        "collectives/dense/result_memory.py",
        "uninitialised",
        "if not LEAST <= size <= MOST:",
        "LEAST <= size <= MOST",
        "LEAST <= size < MOST",
    ): "decides whether memory of this one size is kept, not what is written there",
    (
        "collectives/lowcomm/outer.py",
        "diloco_round.settings",
        'first = checked_count("start", start, 0, n - 1)',
        "n - 1",
        "n + 1",
    ): "a start of n or n + 1 leaves no stop in [start + 1, n], which the next line refuses by the same kind of error",
    (
        "compressors/sparsifiers/grouped_topk.py",
        "_square_norms",
        "total += value * value",
        "total += value * value",
        "total -= value * value",
    ): "the largest in magnitude are taken of the sums, which are the same but for the sign",
    (
        "compressors/rotations/centroids.py",
        "EDEN._encoded",
        "y, square = forward(near, signs), float(np.add.reduce(np.square(near)))",
        "forward(near, signs)",
        "forward(signs, near)",
    ): "a product is the same in either order, and a vector has as many entries as signs",
    (
        "compressors/rotations/dithered.py",
        "dithered_hadamard",
        "codes = np.clip(codes, -limit, limit)",
        "np.clip(codes, -limit, limit)",
        "np.clip(-limit, codes, limit)",
    ): "clip(a, b, c) is min(max(a, b), c), and the larger of two numbers is the same in either order",
    (
        "compressors/rotations/hadamard.py",
        "_FEW",
        "_FEW = 64",
        "64",
        "65",
    ): "one way and the other find the same of 65 signs; one is quicker",
    (
        "compressors/rotations/hadamard.py",
        "forward",
        "np.multiply(x, signs, out=y[: x.size])",
        "np.multiply(x, signs, out=y[:x.size])",
        "np.multiply(signs, x, out=y[:x.size])",
    ): "a product is the same in either order",
    (
        "compressors/rotations/kashin.py",
        "kashin",
        "if top == 0.0:",
        "top == 0.0",
        "False",
    ): "of zeros the level and all coefficients are +0.0 as well",
    (
        "compressors/rotations/levels.py",
        "RotatedDithering.compress",
        "array = checked_array(x, finite=False)",
        "False",
        "True",
    ): "NaN and infinities are refused in either place, by errors of one kind",
    (
        "compressors/rotations/levels.py",
        "RotatedDithering.compress_with",
        "array = checked_array(x, finite=False)",
        "False",
        "True",
    ): "NaN and infinities are refused in either place, by errors of one kind",
    (
        "compressors/rotations/lloyd_max.py",
        "_tridiagonal",
        "n = len(diagonal)",
        "diagonal",
        "upper",
    ): "all parts of the system have as many entries as the diagonal",
    (
        "compressors/rotations/message.py",
        "decoded",
        "largest = max(map(abs, message.numbers.tolist())) if message.numbers.size < 8 "
        "else np.abs(message.numbers).max()",
        "max(map(abs, message.numbers.tolist())) if message.numbers.size < 8 else np.abs(message.numbers).max()",
        "max(map(abs, message.numbers.tolist()))",
    ): "the largest magnitude is the same, however it is found",
    (
        "compressors/rotations/message.py",
        "decoded",
        "largest = max(map(abs, message.numbers.tolist())) if message.numbers.size < 8 "
        "else np.abs(message.numbers).max()",
        "message.numbers.size < 8",
        "message.numbers.size <= 8",
    ): "the largest magnitude is the same, however it is found",
    (
        "compressors/rotations/signs.py",
        "DRIVE.compress",
        "array = checked_array(x, finite=False)",
        "False",
        "True",
    ): "NaN and infinities are refused in either place, by errors of one kind",
    (
        "compressors/rotations/signs.py",
        "DRIVE._encoded",
        "y = forward(near, signs)",
        "forward(near, signs)",
        "forward(signs, near)",
    ): "a product is the same in either order, and a vector has as many entries as signs",
    (
        "collectives/rotations/sums.py",
        "rotated_sum",
        'y = comm.agreed(lambda: _finite(forward(x, turned), "the rotated entries"))',
        "forward(x, turned)",
        "forward(turned, x)",
    ): "a product is the same in either order, and a vector has as many entries as signs",
    (
        "collectives/rotations/sums.py",
        "_rounded",
        "return np.clip(codes, -levels, levels)",
        "np.clip(codes, -levels, levels)",
        "np.clip(-levels, codes, levels)",
    ): "clip(a, b, c) is min(max(a, b), c), and the larger of two numbers is the same in either order",
    (
        "collectives/rotations/sums.py",
        "_added",
        "message = Parcel((mine,), _bytes(mine.size, 2 * comm.size * levels + 1))",
        "1",
        "2",
    ): "2 P s + 1 is odd and more than one: no power of two, and so one number more takes no bit more",
}
"""(path, function, the line, what is changed, into what) -> why nothing can tell."""


def explained(mutants):
    """The name of every mutant that the table explains, with the reason.

    Raises
    ------
    ValueError
        An entry is about no mutant: its line has changed, and its reason must be looked at again.
    """
    known = {}
    for m in mutants:
        known.setdefault((m.path, m.function, m.text, m.before, m.after), []).append(m.name)
    lost = [entry for entry in EQUIVALENT if entry not in known]
    if lost:
        raise ValueError(f"equivalent.py explains what is no mutant (any more): {lost}")
    return {name: reason for entry, reason in EQUIVALENT.items() for name in known[entry]}
