"""What ``commbounds tolerance`` prints of computations that are split over ranks."""

import json
from dataclasses import replace
from typing import Any

from commbounds.theory.precision.formats import format_named
from commbounds.theory.precision.parallel import Reduction, accumulated, cross_entropy, matmul, root_mean_square
from commbounds.theory.precision.split import softmax_distance
from commbounds.theory.precision.tolerance import rounded_up

PLANS = {
    "matmul": "inner dimension",
    "linear": "inner dimension",
    "cross-entropy": "classes",
    "norm": "hidden entries",
    "accumulate": "micro-batches of a rank",
    "adam": "micro-batches of a rank",
}
"""Operations, and what their terms are."""


def digits_up(value: float) -> str:
    """Three significant digits, upwards."""
    if value == 0.0:
        return "0"
    text = f"{value:.2e}"
    if float(text) < value:
        mantissa, exponent = text.split("e")
        text = f"{float(mantissa) + 0.01:.2f}e{exponent}"
    return f"{float(text):.3g}"


def printed(
    op: str,
    ranks: int,
    terms: int | None,
    wire: str,
    accumulate: str,
    schedule: str | None,
    rounding: str,
    inputs: str,
    tf32: bool,
    additions: int | None,
    replicas: int,
    divisions: int,
    as_json: bool,
) -> tuple[str, bool]:
    """The text, or JSON; and whether the bound says nothing.

    Raises
    ------
    ValueError
        Terms are missing, or nothing is derived for what is asked.
    """
    if terms is None:
        raise ValueError(f"terms must be given: the {PLANS[op]}")
    wire, accumulate = format_named(wire).name, format_named(accumulate).name
    reduction = Reduction(ranks, wire, None, schedule or "any")
    more = (f', wire="{wire}"' if wire != accumulate else "") + (f', schedule="{schedule}"' if schedule else "")
    more += f", additions={additions}" if additions is not None else ""
    rounding = rounding.replace("-", " ").replace("_", " ")
    if op in ("matmul", "linear"):
        bound = matmul(
            terms,
            reduction,
            inputs=format_named(inputs).name,
            accumulate=accumulate,
            tf32=tf32,
            bias=wire if op == "linear" else None,
            rounding=rounding,
            additions=additions,
        )
        called = f"a product of {terms} terms split over {ranks} ranks" + (", and a bias" if op == "linear" else "")
        more += ", tf32=True" if tf32 else ""
        more += f', rounding="{rounding}"' if rounding != "nearest" else ""
        bias = ", bias=bias" if op == "linear" else ""
        line = f'Matmul(a, b, parts={ranks}{bias}, accumulate="{accumulate}"{more})'
    elif op in ("accumulate", "adam"):
        if ranks % replicas:
            raise ValueError(f"replicas must divide P = {ranks}, got {replicas}")
        groups = [ranks] if replicas == 1 else [ranks // replicas, replicas]
        reductions = [replace(reduction, parts=size) for size in groups]
        bound = accumulated(terms, reductions, accumulate=accumulate, divisions=divisions, inputs=inputs)
        called = f"a gradient of {terms} micro-batches on each of {ranks} ranks"
        more += f", replicas={replicas}" if replicas != 1 else ""
        line = f'Accumulate(gradients, accumulate="{accumulate}"{more}, divisions={divisions})'
    elif op == "norm":
        return _norm(terms, reduction, accumulate, additions, more, as_json)
    else:
        if schedule:
            raise ValueError("schedule: not for this operation, whose sums are held to any order")
        return _loss(terms, reduction, accumulate, additions, more, as_json)
    plus = f" + {digits_up(bound.absolute)}" if bound.absolute else ""
    data = {"relative": bound.relative, "absolute": bound.absolute, "reference": bound.reference}
    stages = [f"  {words}: {digits_up(size)}" for words, size in bound.stages]
    head = [
        f"{called}, in {accumulate}, sent in {wire}",
        f"|result - exact| at every entry is at most, with S the {bound.reference}:",
        f"  surely    {digits_up(bound.relative)} S{plus}",
        "of which",
        *stages,
    ]
    if op == "adam":
        head += ["", *_sign(bound.relative)]
        line = f"Adam(parameters, {line}, rate=1e-3)"
    vacuous = bound.relative >= 1.0
    if vacuous:
        head += ["", "The bound says nothing: a correct result may lose everything."]
    return _said(op, ranks, terms, head, line if not vacuous else "", data, as_json), vacuous


def _sign(relative: float) -> list[str]:
    return [
        "The first step of Adam is the rate times g/(|g| + eps): it goes by the sign of g. Where |g| is above the",
        f"bound, {digits_up(relative)} S, the sign is sure; the step is off by eps/(|g| + eps) of what g is.",
        "Where it is below, rounding decides the sign, and the step may be off by twice the rate: no bound is less.",
    ]


def _norm(
    n: int, reduction: Reduction, accumulate: str, additions: int | None, more: str, as_json: bool
) -> tuple[str, bool]:
    across, _ = reduction.errors(False)
    root, own = root_mean_square(n, accumulate, additions=additions)
    sent = float(format_named(reduction.wire).unit)
    head = [
        f"sum of {reduction.parts} ranks, residual and norm of {n} entries, in {accumulate}, sent in {reduction.wire}",
        "the sum with the residual is off by at most, with S the sum over ranks of |x|:",
        f"  d = {digits_up(rounded_up(across))} S + {digits_up(sent)} |x|",
        "|result - exact| is at most, with r the root of the mean square, D that of d, and w the weight:",
        f"  surely    |w| (d + |x| D/r)/(r - D), and {digits_up(own)} of the result",
    ]
    data = {"sum": rounded_up(across), "rounded": sent, "root": root, "own": own}
    line = f'Norm(parts, residual, weight, accumulate="{accumulate}"{more})'
    return _said("norm", reduction.parts, n, head, line, data, as_json), root == float("inf")


def _loss(
    V: int, reduction: Reduction, accumulate: str, additions: int | None, more: str, as_json: bool
) -> tuple[str, bool]:
    absolute, of_shift, of_loss = cross_entropy(V, reduction, accumulate=accumulate, additions=additions)
    distance = float(softmax_distance(V))
    head = [
        f"loss of {V} classes split over {reduction.parts} ranks, in {accumulate}, sums sent in {reduction.wire}",
        "|loss - exact| of every token is at most, with x its logits and t the target:",
        f"  surely    {digits_up(absolute)} + {digits_up(of_shift)} (max x - x_t) + {digits_up(of_loss)} loss",
        "exp and log are taken to be within two units in the last place.",
        f"Roundings of differences to the maximum count W((V - 1)/e) = {distance:.4g} times, for any x.",
    ]
    data: dict[str, Any] = {"absolute": absolute, "of_shift": of_shift, "of_loss": of_loss, "lambert": distance}
    line = f'CrossEntropy(logits, targets, parts={reduction.parts}, accumulate="{accumulate}"{more})'
    return _said("cross-entropy", reduction.parts, V, head, line, data, as_json), absolute == float("inf")


def _said(op: str, P: int, terms: int, head: list[str], line: str, data: dict[str, Any], as_json: bool) -> str:
    call = f"assert_parallel_close(None, result, {line})" if line else ""
    if as_json:
        return json.dumps({"op": op, "P": P, "terms": terms, **data, "lines": {"commbounds": call} if call else {}})
    return "\n".join([*head, *(["", call] if call else [])])
