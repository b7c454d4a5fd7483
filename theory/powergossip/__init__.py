"""PowerGossip: what is claimed."""

from commbounds.theory.column import Column, Synopsis

__all__ = ["COLUMN"]

COLUMN = Column(
    "powergossip",
    "PowerGossip: neighbours send low-rank parts of their difference",
    "Two ends of an edge multiply their matrices by the same few columns, exchange the products, and move towards each "
    "other by the part of their difference that these show. The authors' code and the paper's abstract were read.",
    synopsis=Synopsis(
        found=(
            "Factors that met a zero difference once stay zero, and nearly dependent columns can drive neighbours "
            "apart; with one column they never move apart."
        ),
        promise="PowerGossip works on any network, without further hyper-parameters, and sends as much information per "
        "bit as power iterations.",
        holds=(
            "The words of a round are exact (`powergossip.words.sent`), the mean does not change "
            "(`powergossip.mean.kept`), distances do not grow under one column (`powergossip.distances.one_column`), "
            "and the code’s epsilon leaves a known part of a difference of rank one (`powergossip.pair.epsilon`)."
        ),
        fails=(
            "Distances can grow under several columns, the default (`powergossip.distances.columns`); a warm start "
            "does not recover from a round without difference (`powergossip.pair.recovers`)."
        ),
        tight="All claims but those on distances are equalities; a distance stays if the columns do not see the "
        "difference.",
        lesson="Redraw the factors of an edge if they are zero, and drop columns that depend on others.",
    ),
)
