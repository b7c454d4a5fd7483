"""Programs for three ranks, most of them wrong; this file is also what ``mpirun`` runs, to see what becomes of each.

With names as arguments, it runs these one after another and prints on its first rank, as one JSON object, what every
process was left with. With ``--uncaught`` before the name, nothing is caught.
"""

import json
import sys

import numpy as np

from commbounds.collectives.ranks import MpiWorld, parcel

RANKS = 3
WORDS = np.arange(5.0)


def passes_on(comm):
    """A right one: two phases, one of them silent, and a message without words."""
    comm.phase("round")
    left, right = (comm.rank - 1) % comm.size, (comm.rank + 1) % comm.size
    arrived = comm.step({right: parcel(WORDS[: comm.rank], np.array([comm.rank]))}, [left])
    comm.step({0: parcel()} if comm.rank == 1 else {}, [1] if comm.rank == 0 else [])
    comm.phase("silence")
    return [a.tolist() for a in arrived[left].arrays]


def takes_a_step_more(comm):
    comm.step({1: parcel(WORDS)} if comm.rank == 0 else {}, [0] if comm.rank == 1 else [])
    if comm.rank == 0:
        comm.step({1: parcel(WORDS)})


def sends_unasked(comm):
    comm.step({1: parcel(WORDS)} if comm.rank == 0 else {})


def waits_for_nobody(comm):
    comm.step({}, [0] if comm.rank == 1 else [])


def sends_to_itself(comm):
    comm.step({1: parcel(WORDS)} if comm.rank == 1 else {}, [1] if comm.rank == 1 else [])


def sends_to_nobody(comm):
    comm.step({RANKS: parcel(WORDS)} if comm.rank == 2 else {})


def sends_no_parcel(comm):
    comm.step({0: WORDS[:4]} if comm.rank == 2 else {}, [2] if comm.rank == 0 else [])


def gathers_in_a_step(comm):
    if comm.rank == 2:
        comm.allgather_object("hello")
    else:
        comm.step()


def has_phases_of_its_own(comm):
    comm.phase("second" if comm.rank == 1 else "first")
    comm.step()


def names_a_phase_more(comm):
    comm.phase("first")
    comm.step()
    if comm.rank == 2:
        comm.phase("second")


def raises_while_others_wait(comm):
    if comm.rank == 1:
        raise KeyError("lost the key")
    comm.step()
    return comm.allgather_object(comm.rank)


def raises_at_the_end(comm):
    comm.step()
    if comm.rank == 2:
        raise ZeroDivisionError("too late")


def finds_input_wrong_on_two_ranks(comm):
    def check():
        if comm.rank:
            raise ValueError(f"input of rank {comm.rank} is wrong")

    comm.agreed(check)
    return comm.allgather_object(comm.rank)


WRONG = {
    takes_a_step_more: (ValueError, "the same steps, but rank 0 is in a step, rank 1 has ended, rank 2 has ended"),
    sends_unasked: (ValueError, "rank 1 waits for [], but [0] send to it"),
    waits_for_nobody: (ValueError, "rank 1 waits for [0], but [] send to it"),
    sends_to_itself: (ValueError, "rank 1 must send to other ranks below 3, got 1"),
    sends_to_nobody: (ValueError, "rank 2 must send to other ranks below 3, got 3"),
    sends_no_parcel: (TypeError, "rank 2 must send parcels, such as parcel(array), got ndarray for 0"),
    gathers_in_a_step: (ValueError, "but rank 0 is in a step, rank 1 is in a step, rank 2 gathers objects"),
    has_phases_of_its_own: (ValueError, "step 0 must be of one phase, got 'first' on rank 0, 'second' on rank 1"),
    names_a_phase_more: (ValueError, "got ['first'] on rank 0, ['first', 'second'] on rank 2"),
    raises_while_others_wait: (KeyError, "lost the key"),
    raises_at_the_end: (ZeroDivisionError, "too late"),
    finds_input_wrong_on_two_ranks: (ValueError, "input of rank 1 is wrong"),
}
"""Program -> what it raises, and a part of what that says."""


# --- under mpirun only ------------------------------------------------------------------------------------------------


class Stubborn(Exception):
    """Does not survive being sent."""

    def __init__(self, one, two):
        super().__init__(f"{one} and {two}")


def raises_what_cannot_be_sent(comm):
    if comm.rank == 1:
        raise Stubborn("this", "that")
    comm.step()


def returns_what_cannot_be_sent(comm):
    return lambda: None


def leaves_python(comm):
    if comm.rank == 1:
        sys.exit(0)
    comm.step()


def sends_much(comm):
    """Everybody to everybody at once: more than any buffer holds, so sends that wait would wait for ever."""
    others = [rank for rank in range(comm.size) if rank != comm.rank]
    content = np.full((1000, 1000), comm.rank, np.int16)
    arrived = comm.step({rank: parcel(content.T, content[:0], np.array(comm.rank)) for rank in others}, others)
    return [[(a.shape, int(a.sum())) for a in arrived[rank].arrays] for rank in others]


def main():
    uncaught, names = "--uncaught" in sys.argv, [name for name in sys.argv[1:] if name != "--uncaught"]
    world = MpiWorld(longest=100_003)
    left_with = {}
    for name in names:
        try:
            results, traffic = world.run(globals()[name], RANKS)
            mine = [results, traffic.as_dict()]
        except Exception as error:
            if uncaught:
                raise
            mine = [type(error).__name__, str(error)]
        everybody, _ = world.run(lambda comm, mine=mine: comm.allgather_object(mine), world.size)
        left_with[name] = everybody[0]
    if world.rank == 0:
        print(json.dumps(left_with))


if __name__ == "__main__":
    main()
