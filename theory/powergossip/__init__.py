"""PowerGossip: what is claimed."""

from commbounds.theory.column import Column, Synopsis

__all__ = ["COLUMN"]

COLUMN = Column(
    "powergossip",
    "PowerGossip: neighbours send low-rank parts of their difference",
    "Two ends of an edge multiply their matrices by the same few columns, exchange the products, and move towards each "
    "other by what these show of their difference. The authors' code was read, and of the paper the abstract.",
    synopsis=Synopsis(
        found=(
            "Factors that once met no difference are zero for ever, and columns that are nearly dependent may drive "
            "neighbours apart; of one column neither end ever moves away."
        ),
        promise="Any network, no further hyper-parameters, and as much information a bit as power iterations give.",
        holds=(
            "The words of a round (`powergossip.words.sent`), the mean (`powergossip.mean.kept`), that distances do "
            "not grow under one column (`powergossip.distances.one_column`), and how much of a difference of rank one "
            "the epsilon of the code leaves (`powergossip.pair.epsilon`)."
        ),
        fails=(
            "Distances grow under several columns, by default (`powergossip.distances.columns`); a warm start does not "
            "recover from a round without difference (`powergossip.pair.recovers`)."
        ),
        tight="All but the distances are equalities; a distance stays where the columns do not see the difference.",
        lesson="Draw the factors of an edge anew where they are zero, and drop columns that depend on others.",
    ),
)
