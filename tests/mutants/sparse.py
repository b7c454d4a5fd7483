"""Broken twins of the column sparse, each by one defect."""

from contextlib import contextmanager
from dataclasses import replace
from importlib import import_module

import numpy as np
from zoo.right import K, sparse

from commbounds import collectives as co
from commbounds.collectives import Traffic
from commbounds.collectives.cuts import even_cuts
from commbounds.collectives.dense.gathering import gather_blocks
from commbounds.collectives.ranks import parcel
from commbounds.collectives.sparse.entries import Entries, strongest
from commbounds.verify import Method
from commbounds.verify import conformance as cf
from commbounds.verify.conformance import book_bound as bound
from mutants.record import Mutant

GTOPK, GAUSSIANK, SPARDL, TOPKA, DSA, SHARED = (
    import_module(f"commbounds.collectives.sparse.{name}")
    for name in ("gtopk", "gaussiank", "spardl", "topk_allgather", "topk_dsa", "entries")
)


GATHERED = SPARDL.gathered_entries


@contextmanager
def using(module, **stand_ins):
    """The module with some of its functions replaced."""
    kept = {name: getattr(module, name) for name in stand_ins}
    try:
        for name, function in stand_ins.items():
            setattr(module, name, function)
        yield
    finally:
        for name, function in kept.items():
            setattr(module, name, function)


def phase(traffic, name, other):
    """The traffic with one phase replaced."""
    return Traffic.of_phases({**traffic.phases, name: other})


# --- TopkA -------------------------------------------------------------------------------------------------------


def values_without_indices(stack, k, **options):
    """Counts one word an entry, as if indices travelled for nothing."""
    result, t = TOPKA.topk_allgather(stack, k, **options)
    return result, Traffic(t.sent // 2, t.received // 2, t.messages, t.steps, t.critical_path // 2)


def residual_not_cleared(stack, k, **options):
    """Keeps in the residual what was sent."""
    result, traffic = TOPKA.topk_allgather(stack, k, **options)
    return replace(result, residual=np.array(stack)), traffic


def last_rank_not_added(stack, k, **options):
    """Leaves the last rank's entries out of the sum."""
    result, traffic = TOPKA.topk_allgather(stack, k, **options)
    update = result.update.copy()
    update[result.selected[-1]] -= np.asarray(stack)[-1, result.selected[-1]]
    return replace(result, update=update), traffic


def nonzeros_alone(stack, k, **options):
    """Sends no zeros, and so messages shorter than their fixed size."""
    result, _ = TOPKA.topk_allgather(stack, k, **options)
    sizes = [2 * np.count_nonzero(x[own]) for x, own in zip(np.asarray(stack), result.selected, strict=True)]
    return result, gather_blocks(np.array(sizes, np.int64), "bruck")


# --- TopkDSA -----------------------------------------------------------------------------------------------------


def last_entry_in_no_region(stack, k, **options):
    """Ends the last region one entry before the vector's end."""

    def short(n, P):
        cuts = even_cuts(n, P)
        cuts[-1] -= n > P
        return cuts

    with using(DSA, even_cuts=short):
        return DSA.topk_dsa(stack, k, **options)


def no_rotation(stack, k, **options):
    """Lets all ranks send to rank s in step s of the split."""
    result, traffic = DSA.topk_dsa(stack, k, **options)
    P, n = np.shape(stack)
    cuts = even_cuts(n, P)
    sent, received, messages = np.zeros((3, P, P), np.int64)
    for p, (x, own) in enumerate(zip(np.asarray(stack), result.selected, strict=True)):
        places = np.searchsorted(own[x[own] != 0], cuts)
        for r in set(range(P)) - {p}:
            words = 2 * (places[r + 1] - places[r])
            sent[r, p] += words
            received[r, r] += words
            messages[r, p] += 1
    return result, phase(traffic, "split", Traffic.of_steps(sent, received, messages))


def dense_blocks_with_indices(stack, k, **options):
    """Counts an index beside every value of a dense block."""
    result, traffic = DSA.topk_dsa(stack, k, **options)
    if "dense" not in traffic.phases:
        return result, traffic
    sizes = 2 * np.diff(even_cuts(np.shape(stack)[1], len(stack)))
    return result, phase(traffic, "dense", gather_blocks(sizes, "ring"))


def early_switch(stack, k, **options):
    """Switches to dense blocks from a quarter of the entries on."""
    P, n = np.shape(stack)
    result, traffic = DSA.topk_dsa(stack, k, switch="never")
    if 4 * np.unique(np.concatenate(result.selected)).size < n:
        return result, traffic
    phases = {"split": traffic.phases["split"], "dense": gather_blocks(np.diff(even_cuts(n, P)), "ring")}
    return result, Traffic.of_phases(phases)


def own_messages_counted(stack, k, **options):
    """Counts, in the split, what a rank hands to itself in place of nothing: every rank's whole selection moves."""
    result, traffic = DSA.topk_dsa(stack, k, **options)
    sizes = np.array([[2 * own.size for own in result.selected]], np.int64)
    return result, phase(traffic, "split", Traffic.of_steps(sizes, sizes, np.ones_like(sizes)))


def sums_of_one_rank_not_gathered(stack, k, **options):
    """Forgets to gather the sums of the last region."""
    result, traffic = DSA.topk_dsa(stack, k, **options)
    cuts = even_cuts(np.shape(stack)[1], len(stack))
    union = np.unique(np.concatenate(result.selected))
    sizes = 2 * np.diff(np.searchsorted(union, cuts))
    sizes[-1] = 0
    return result, phase(traffic, "allgather", gather_blocks(sizes, "ring"))


# --- gTopk -------------------------------------------------------------------------------------------------------


def broadcast_counted_twice(stack, k, **options):
    """Counts every message of the broadcast twice."""
    result, traffic = GTOPK.gtopk_allreduce(stack, k, **options)
    again = {"again": traffic.phases["broadcast"]}
    return result, Traffic.of_phases({**traffic.phases, **again})


def ranks_beyond_a_power_of_two_lost(stack, k, **options):
    """Takes floor(log2 P) rounds, so that the last ranks' entries are cleared but never merged."""
    array = np.asarray(stack)
    few = 1 << (len(array).bit_length() - 1)
    result, traffic = GTOPK.gtopk_allreduce(array[:few], k, **options)
    rest, _ = TOPKA.topk_allgather(array[few:], k) if few < len(array) else (result, None)
    if few < len(array):
        result = replace(result, residual=np.vstack([result.residual, rest.residual]))
    return result, traffic


def drops_forgotten(stack, k, **options):
    """Forgets what a rank drops at a merge."""
    return GTOPK.gtopk_allreduce(stack, k, putback="published")


def merge_overwrites(stack, k, **options):
    """Overwrites where it should add."""

    def overwritten(a, b):
        both = {**dict(zip(*a, strict=True)), **dict(zip(*b, strict=True))}
        indices = np.array(sorted(both), np.int64)
        return Entries(indices, np.array([both[i] for i in indices.tolist()], a.values.dtype))

    with using(GTOPK, added=overwritten):
        return GTOPK.gtopk_allreduce(stack, k, **options)


def signed_topk(stack, k, **options):
    """Keeps the largest values at a merge, instead of magnitudes."""

    def largest(entries, count):
        first = np.sort(np.argsort(-entries.values, kind="stable")[:count])
        others = np.setdiff1d(np.arange(entries.indices.size), first)
        return tuple(Entries(entries.indices[i], entries.values[i]) for i in (first, others))

    with using(GTOPK, strongest=largest):
        return GTOPK.gtopk_allreduce(stack, k, **options)


def one_entry_more(stack, k, **options):
    """Keeps k + 1 entries at every merge."""
    with using(GTOPK, strongest=lambda entries, count: strongest(entries, count + 1)):
        return GTOPK.gtopk_allreduce(stack, k, **options)


# --- Gaussiank ---------------------------------------------------------------------------------------------------


def own_block_received(stack, k, **options):
    """Counts a rank's own block as received."""
    result, traffic = GAUSSIANK.gaussiank_allreduce(stack, k, **options)
    gathered, own = traffic.phases["allgather"], 2 * np.array([s.size for s in result.selected])
    return result, phase(traffic, "allgather", replace(gathered, received=gathered.received + own))


def one_sided_quantile(stack, k, **options):
    """Takes the quantile of 1 - k/n: twice as many pass."""
    right = GAUSSIANK._normal_quantile
    with using(GAUSSIANK, _normal_quantile=lambda q: right(2 * q)):
        return GAUSSIANK.gaussiank_allreduce(stack, k, **options)


def mean_of_magnitudes(stack, k, **options):
    """Adds the mean magnitude to the threshold, instead of the mean."""
    right = GAUSSIANK._threshold
    with using(GAUSSIANK, _threshold=lambda x, size, z: right(x, size, z) - x.mean() + size.mean()):
        return GAUSSIANK.gaussiank_allreduce(stack, k, **options)


def variance_for_deviation(stack, k, **options):
    """Multiplies the quantile with the variance, whatever the scale."""
    with using(GAUSSIANK, _threshold=lambda x, _size, z: x.mean() + z * x.var()):
        return GAUSSIANK.gaussiank_allreduce(stack, k, **options)


# --- SparDL ------------------------------------------------------------------------------------------------------


def whole_vectors_put_back(stack, k, **options):
    """Clears at the update's indices what ranks did not send or dropped there."""
    with using(SPARDL, left_over=lambda x, held, indices: SHARED.left_over(x, 0 * held, indices)):
        return SPARDL.spardl_allreduce(stack, k, **options)


def drops_of_every_replica(stack, k, **options):
    """Keeps what the teams drop together at every rank that knows it, not at one."""

    def merged(teams, bag, h, held):
        for distance in (1 << level for level in range((teams.size - 1).bit_length())):
            partner = teams.rank ^ distance
            arrived = Entries(*teams.step({partner: parcel(*bag)}, [partner])[partner].arrays)
            low, high = (bag, arrived) if teams.rank < partner else (arrived, bag)
            bag, dropped = strongest(SHARED.added(low, high), h)
            held[dropped.indices] += dropped.values
        return bag

    with using(SPARDL, _recursively=merged):
        return SPARDL.spardl_allreduce(stack, k, **options)


def shares_rounded_up(stack, k, **options):
    """Takes ceil(k/P) entries of every block."""
    P, n = np.shape(stack)
    return SPARDL.spardl_allreduce(stack, min(n, -(-k // P) * P), **options)


def last_step_of_bruck_uncut(stack, k, **options):
    """Sends a power of two of blocks in the last step of the all-gather too."""

    def uncut(team, bag, n, algorithm):
        blocks = GATHERED(team, bag, n, algorithm)
        rank, size = team.rank, team.size
        whole = 1 << (size - 1).bit_length()
        if whole > size:
            again = [array for b in range(whole - size) for array in blocks[(rank + b) % size]]
            team.step({(rank - whole // 2) % size: parcel(*again)}, [(rank + whole // 2) % size])
        return blocks

    with using(SPARDL, gathered_entries=uncut):
        return SPARDL.spardl_allreduce(stack, k, **options)


# --- what only definitions see -----------------------------------------------------------------------------------


def gathered_in_a_ring(stack, k, *, allgather="ring"):
    """TopkA whose all-gather goes round a ring where nothing is said."""
    return co.topk_allgather(stack, k, allgather=allgather)


def six_ranks_add_backwards(stack, k, **options):
    """TopkA of six ranks adds the last rank's entries first."""
    if len(stack) != 6:
        return co.topk_allgather(stack, k, **options)
    result, traffic = co.topk_allgather(stack[::-1], k, **options)
    return replace(result, residual=result.residual[::-1], selected=result.selected[::-1]), traffic


def switches_at_a_third(stack, k, *, switch="code", **options):
    """TopkDSA that switches to dense blocks at a third where nothing is said."""
    return co.topk_dsa(stack, k, switch=switch, **options)


def published_put_back(stack, k, *, putback="published"):
    """gTop-k that puts back what was published where nothing is said."""
    return co.gtopk_allreduce(stack, k, putback=putback)


def lstm_for_vgg_of_five_ranks(stack, k, *, adapt="none", **options):
    """Gaussiank of five ranks that never raises a threshold."""
    return co.gaussiank_allreduce(stack, k, adapt="lstm" if len(stack) == 5 and adapt == "vgg" else adapt, **options)


def teams_gather_all_they_have(stack, k, *, sag_entries=None, **options):
    """SparDL whose teams gather whole blocks, however many entries were asked for."""
    return co.spardl_allreduce(stack, k, **options)


MUTANTS = (
    Mutant(gathered_in_a_ring, "topk_allgather", "sparse.topk_allgather.definition", Method.SEARCH),
    Mutant(six_ranks_add_backwards, "topk_allgather", "sparse.topk_allgather.definition", Method.SEARCH),
    Mutant(switches_at_a_third, "topk_dsa", "sparse.topk_dsa.definition", Method.SEARCH),
    Mutant(published_put_back, "gtopk_allreduce", "sparse.gtopk_allreduce.definition", Method.SEARCH),
    Mutant(lstm_for_vgg_of_five_ranks, "gaussiank_allreduce", "sparse.gaussiank_allreduce.definition", Method.SEARCH),
    Mutant(teams_gather_all_they_have, "spardl_allreduce", "sparse.spardl_allreduce.definition", Method.SEARCH),
    Mutant(values_without_indices, "topk_allgather", "sparse.topka.received", Method.EXACT),
    Mutant(nonzeros_alone, "topk_allgather", "sparse.topka.critical_path", Method.SEARCH),
    Mutant(residual_not_cleared, "topk_allgather", "sparse.topka.mass", Method.EXACT),
    Mutant(last_rank_not_added, "topk_allgather", "sparse.topka.mass", Method.EXACT),
    Mutant(last_entry_in_no_region, "topk_dsa", "sparse.topkdsa.mass", Method.SEARCH),
    Mutant(no_rotation, "topk_dsa", "sparse.topkdsa.identical", Method.EXACT),
    Mutant(dense_blocks_with_indices, "topk_dsa", "sparse.topkdsa.gathered", Method.EXACT),
    Mutant(early_switch, "topk_dsa", "sparse.topkdsa.code_switch", Method.SEARCH),
    Mutant(own_messages_counted, "topk_dsa", "sparse.topkdsa.identical", Method.EXACT),
    Mutant(sums_of_one_rank_not_gathered, "topk_dsa", "sparse.lower_bound.mean", Method.EXACT),
    Mutant(broadcast_counted_twice, "gtopk_allreduce", "sparse.gtopk.critical_path", Method.EXACT),
    Mutant(ranks_beyond_a_power_of_two_lost, "gtopk_allreduce", "sparse.gtopk.mass", Method.EXACT),
    Mutant(drops_forgotten, "gtopk_allreduce", "sparse.gtopk.mass", Method.EXACT),
    Mutant(merge_overwrites, "gtopk_allreduce", "sparse.gtopk.two_ranks", Method.EXACT),
    Mutant(signed_topk, "gtopk_allreduce", "sparse.gtopk.two_ranks", Method.EXACT),
    Mutant(one_entry_more, "gtopk_allreduce", "sparse.gtopk.received", Method.EXACT),
    Mutant(own_block_received, "gaussiank_allreduce", "sparse.gaussiank.received", Method.EXACT),
    Mutant(one_sided_quantile, "gaussiank_allreduce", "sparse.gaussiank.normal_most", Method.SEARCH),
    Mutant(mean_of_magnitudes, "gaussiank_allreduce", "sparse.gaussiank.normal_least", Method.SEARCH),
    Mutant(variance_for_deviation, "gaussiank_allreduce", "sparse.gaussiank.any_input", Method.SEARCH),
    Mutant(whole_vectors_put_back, "spardl_allreduce", "sparse.spardl.mass", Method.EXACT),
    Mutant(drops_of_every_replica, "spardl_allreduce", "sparse.spardl.mass", Method.SEARCH),
    Mutant(shares_rounded_up, "spardl_allreduce", "sparse.spardl.entries", Method.EXACT),
    Mutant(last_step_of_bruck_uncut, "spardl_allreduce", "sparse.spardl.most", Method.EXACT),
)

CONTROLS = (
    sparse(co.topk_allgather),
    sparse(co.gtopk_allreduce, cf.WordsAtMost(bound("sparse.gtopk.sent", ("P", "n"), k=K), of="sent")),
    sparse(co.topk_dsa),
    sparse(co.spardl_allreduce),
    sparse(co.gaussiank_allreduce),
)
"""Right ones, with what the book says of them, for the conformance kit."""
