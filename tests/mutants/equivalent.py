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
