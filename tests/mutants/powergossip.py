"""Broken twins of PowerGossip, each by one defect."""

from dataclasses import replace

import numpy as np

from commbounds.collectives.powergossip import powergossip_rounds
from commbounds.verify import Method
from mutants.record import Mutant


def _twin(name, broken, call):
    """A twin that makes something else of the right one, the stack and the options."""

    def twin(stack, rows, rank=1, rounds=1, rng=None, **options):
        return call(stack, {"rows": rows, "rank": rank, "rounds": rounds, "rng": rng, **options})

    twin.__name__, twin.__doc__ = f"powergossip_{name}", broken
    return twin


def _with(change):
    """The right one with other options."""
    return lambda stack, options: powergossip_rounds(stack, **{**options, **change(stack, options)})


def _ends_with(change):
    """The right one, whose stack ends as another."""

    def call(stack, options):
        (result, factors), traffic = powergossip_rounds(stack, **options)
        return (change(np.asarray(stack), result), factors), traffic

    return call


def _sends(change):
    """The right one, whose words are others."""

    def call(stack, options):
        ended, traffic = powergossip_rounds(stack, **options)
        return ended, replace(traffic, sent=change(traffic.sent, options))

    return call


def _hands_on(change):
    """The right one, with other factors to go on with."""

    def call(stack, options):
        (result, factors), traffic = powergossip_rounds(stack, **options)
        return (result, [change(edge, options) for edge in factors]), traffic

    return call


def _first_alone(before, after):
    return np.concatenate([after[:1], before[1:]])


def _kept_longer(_stack, options):
    """Of four rounds and more, the fourth and later ones are left out."""
    return {"rounds": min(options["rounds"], 3)}


def _counted_from_one(_stack, options):
    """Round 0 is a round like others: it is counted as round 2."""
    return {"start": options.get("start", 1) or 2}


def _all_moved(stack, options):
    """Seven ranks are taken for a path."""
    return {"graph": "path"} if len(stack) == 7 and options.get("graph") == "ring" else {}


def _swapped(edge, options):
    return np.concatenate([edge[options["rows"] :], edge[: options["rows"]]])


SENT = (
    ("sends_both_factors", "Words are counted twice.", _sends(lambda sent, _: 2 * sent)),
    ("counts_a_rank_more", "A column more is counted.", _sends(lambda sent, o: sent * (o["rank"] + 1) // o["rank"])),
    ("sends_left_alone", "The second round is not counted.", _sends(lambda sent, o: sent // max(o["rounds"], 1))),
)
MEAN = (
    ("upper_end_stays", "Only the first rank moves.", _ends_with(_first_alone)),
    ("all_move", "A billionth is added.", _ends_with(lambda _, after: after * (1 + 1e-9))),
)
GROWN = (("moves_away", "Ranks move away from each other.", _ends_with(lambda before, after: 2 * before - after)),)
DEFINED = (
    ("stops_after_three", _kept_longer.__doc__, _with(_kept_longer)),
    ("round_zero_counts", _counted_from_one.__doc__, _with(_counted_from_one)),
    ("path_of_seven", _all_moved.__doc__, _with(_all_moved)),
    ("one_column_fewer", "There are two columns at most.", _with(lambda _, o: {"rank": min(o["rank"], 2)})),
    ("factors_swapped", "Right factors are handed on above left ones.", _hands_on(_swapped)),
    ("factors_negated", "Factors are handed on with other signs.", _hands_on(lambda edge, _: -edge)),
    ("zeros_positive", "Negative zeros are lost.", _ends_with(lambda _, after: after + after.dtype.type(0))),
)
EPSILON = (
    ("no_epsilon", "Nothing is added to norms.", _with(lambda *_: {"epsilon": 0.0})),
    ("half_epsilon", "Half of epsilon is added.", _with(lambda _, o: {"epsilon": o.get("epsilon", 1e-8) / 2})),
)
_BY = (
    ("words.sent", Method.EXACT, SENT),
    ("mean.kept", Method.SEARCH, MEAN),
    ("distances.one_column", Method.SEARCH, GROWN),
    ("powergossip_rounds.definition", Method.SEARCH, DEFINED),
    ("pair.epsilon", Method.SEARCH, EPSILON),
)
MUTANTS = (
    *(
        Mutant(_twin(*each), "powergossip_rounds", f"powergossip.{claim}", method)
        for claim, method, of in _BY
        for each in of
    ),
)
