"""A watched run as facts, and as one page: curves against bounds, the worst tensors, what was noticed."""

from typing import Any

from markupsafe import Markup

from commbounds._watched import CHECKS, Look, Watched, nearness
from commbounds.figures.axes import Key, Plane, Scale, legend, upright_ticks, value_ticks
from commbounds.figures.canvas import Drawing, Marks, Stroke
from commbounds.figures.entries import environment, text_of
from commbounds.figures.formula import mathml
from commbounds.figures.svg import inlined
from commbounds.theory import claims
from commbounds.watch import SIGNAL_TO_NOISE

_POINTS = 400
"""Looks that a curve shows at most: of more, the worst of every stretch."""
_TENSORS = 20
"""Tensors that a table shows."""


def watched_facts(watched: Watched) -> dict[str, Any]:
    """All that a page says, as what JSON can hold."""
    looks = list(watched.looks())
    failing = {(a.claim, a.message) for _, a in watched.alarms if a.check == "hypothesis"}
    return {
        "run": {"alarm": watched.run.alarm, "ranks": watched.run.ranks, "claims": watched.run.claims},
        "ranks": {rank: len(file.looks) for rank, file in watched.ranks.items()},
        "monitor's share of the time": watched.shares,
        "steps": [min((look.step for _, look in looks), default=0), max((look.step for _, look in looks), default=0)],
        "alarms": [
            {"rank": rank, "step": a.step, "tensor": a.tensor, "check": a.check, "claim": a.claim, "message": a.message}
            for rank, a in watched.alarms
        ],
        "claims": {
            name: {
                "worst": [{"tensor": t, "ratio": ratio, "step": step} for ratio, t, step in _worst(name, watched)],
                "hypotheses failing": sorted(text for claim, text in failing if claim == name),
                "hypotheses not seen": _not_seen(name, watched),
            }
            for name in watched.run.claims
        },
        "signal to noise": _signal(watched),
    }


def watched_page(watched: Watched) -> str:
    """A page that needs nothing else; markup in names of tensors is shown, not obeyed."""
    drawings = {
        name: Markup(inlined(drawn.svg(), name)) for name in watched.run.claims if (drawn := _curve(name, watched))
    }
    package = "commbounds.figures"
    return (
        environment(package)
        .get_template("watch.html.j2")
        .render(
            facts=watched_facts(watched),
            book=claims(),
            formula=lambda name: Markup(mathml(claims()[name].latex, large=True)),
            drawings=drawings,
            checks=CHECKS,
            least=SIGNAL_TO_NOISE,
            palette=Markup(text_of(package, "palette.css")),
        )
    )


def _not_seen(name: str, watched: Watched) -> list[str]:
    """Hypotheses that a monitor cannot decide: whoever runs it must."""
    known = {"n", "m", "P", "N", "coordinates", "norm1", "norm2", "norminf", "x", *watched.run.claims[name]}
    return [h.statement for h in claims()[name].assumes if not h.needs or not set(h.needs) <= known]


def _pairs(name: str, watched: Watched) -> list[tuple[Look, float, float]]:
    """Looks with the claim's measured value and its bound."""
    quantity = claims()[name].quantity.name
    found = [look for _, look in watched.looks() if name in look.bounds and quantity in look.values]
    return [(look, look.values[quantity], look.bounds[name]) for look in found]


def _worst(name: str, watched: Watched) -> list[tuple[float, str, int]]:
    """Largest measured / bound of every tensor, largest first, with its step; a lower bound's is bound / measured."""
    worst: dict[str, tuple[float, int]] = {}
    for look, value, bound in _pairs(name, watched):
        worst[look.tensor] = max(worst.get(look.tensor, (-1.0, 0)), (nearness(name, value, bound), look.step))
    return sorted(((ratio, tensor, step) for tensor, (ratio, step) in worst.items()), reverse=True)[:_TENSORS]


def _signal(watched: Watched) -> list[dict[str, Any]]:
    """Tensors by the share of looks at which their norm is less than `SIGNAL_TO_NOISE` times the error's."""
    found: dict[str, list[float]] = {}
    for _, look in watched.looks():
        if "signal_to_noise" in look.values:
            found.setdefault(look.tensor, []).append(look.values["signal_to_noise"])
    rows = [(-sum(v < SIGNAL_TO_NOISE for v in values) / len(values), min(values), t) for t, values in found.items()]
    return [{"tensor": t, "least": least, "below": -above} for above, least, t in sorted(rows)[:_TENSORS]]


def _curve(name: str, watched: Watched) -> Drawing | None:
    """Bound and measurement by step, of the tensor that comes closest to its bound; the worst rank's."""
    worst = _worst(name, watched)
    if not worst:
        return None
    by_step: dict[int, tuple[float, float]] = {}
    for look, value, bound in _pairs(name, watched):
        if look.tensor == worst[0][1]:
            by_step[look.step] = max(by_step.get(look.step, (-1.0, 0.0)), (value, bound))
    steps = sorted(by_step)
    stretch = -(-len(steps) // _POINTS)
    steps = [max(steps[i : i + stretch], key=lambda s: by_step[s][0]) for i in range(0, len(steps), stretch)]
    values, bounds = zip(*(by_step[step] for step in steps), strict=True)
    drawing = Drawing(560.0, 210.0)
    top = max(*values, *bounds) or 1.0
    x = Scale("linear", steps[0] - 0.5, steps[-1] + 0.5, 64.0, 548.0)
    y = Scale("linear", 0.0, 1.08 * top, 178.0, 26.0)
    plane = Plane(x, y, value_ticks(x, steps), upright_ticks(y))
    drawing.add(*plane.grid(), *plane.frame())
    drawing.add(Stroke(tuple(plane.runs(steps, bounds)), "ink", 1.8))
    drawing.add(Marks(tuple(plane.at(s, v) for s, v in zip(steps, values, strict=True)), "o", 4.0, "blue"))
    keys = [
        Key("bound", lambda a, b: [Stroke((((a - 11, b), (a + 11, b)),), "ink", 1.8)]),
        Key(f"measured, {worst[0][1][:40]}, by step", lambda a, b: [Marks(((a, b),), "o", 4.0, "blue")]),
    ]
    drawing.add(*legend(keys, 64.0, 4.0, 484.0)[0])
    return drawing
