"""Whether a certificate proves its claim: in rational arithmetic, by identities of polynomials, trusting no solver.

A goal says that an expression ``show`` is not negative wherever the conditions of a model hold. A proof of it is an
identity, which one multiplication checks::

    clear * show = sum of  coefficient * product of conditions * square  +  sum of  multiplier * zero

where ``clear`` is a product of conditions that are positive, every coefficient is a positive number, every square is
that of a polynomial, and every ``zero`` is zero by the model. Farkas multipliers, sums of squares, the multipliers of
performance estimation and plain identities all have this form. Of one variable in an interval, Sturm's theorem
counts roots instead; that a kernel is its definition, the record of a run over every bit pattern says.
"""

from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Any

import sympy as sp
from sympy.polys.polyerrors import CoercionFailed

from commbounds import theory
from commbounds.theory.model import Goal, Model, Refutation
from commbounds.verify.certify import letters
from commbounds.verify.certify.certificate import Certificate, CertificateError, rational, require_form
from commbounds.verify.certify.counterexamples import check_point, refutations
from commbounds.verify.certify.hypotheses import require_shown
from commbounds.verify.certify.polynomials import ONE, Polynomial, Polynomials, Quotient, divided

_KINDS = ("identity", "linear", "products", "squares", "sturm", "exhaustion")


def check(
    certificate: Certificate, bound: Any = None, model: Model | None = None, refutation: Refutation | None = None
) -> None:
    """Check a certificate; None where it proves its claim for its scope, or is a counterexample.

    Parameters
    ----------
    certificate : Certificate
        What is checked.
    bound : sympy expression
        The bound that the model's goals are about; the claim's, if nothing is said.
    model : Model
        The model; the book's for the claim, if nothing is said.
    refutation : Refutation
        The same for a counterexample.

    Raises
    ------
    CertificateError
        It does not, with the first reason found.
    """
    require_form(certificate)
    claim = theory.claims().get(certificate.claim)
    if certificate.kind == "counterexample":
        refutation = refutation if refutation is not None else refutations().get(certificate.claim)
        if claim is None or refutation is None or refutation.claim != certificate.claim:
            raise CertificateError(f"{certificate.claim} has no model that a counterexample could be of")
        check_point(certificate, claim, bound if bound is not None else claim.relation.rhs, refutation)
        return
    model = model if model is not None else letters.book().model(certificate.claim)
    if model is None or model.claim != certificate.claim or (claim is None and bound is None):
        raise CertificateError(f"{certificate.claim} has no model that a certificate could prove")
    own = bound is None or bound == letters.book().bound(certificate.claim)
    bound = letters.book().bound(certificate.claim) if bound is None else letters.book().written(bound)
    try:
        scope = model.scope_of(certificate.instances)
    except ValueError as error:
        raise CertificateError(str(error)) from error
    if unknown := [dict(at) for at in certificate.instances if at not in model.instances]:
        raise CertificateError(f"the model is not enumerated at {unknown[0]}")
    if certificate.scope != scope:
        raise CertificateError(f"the scope must be {scope!r}")
    if certificate.kind != kind_of(certificate):
        raise CertificateError(f"the kind must be {kind_of(certificate)}, got {certificate.kind}")
    left: dict[tuple[int, str], Mapping[str, Any]] = {}
    for proof in certificate.proofs:
        key = proof.get("at", 0), proof.get("goal", "")
        if key in left:
            raise CertificateError(f"{key} is proved twice")
        left[key] = proof
    for i, at in enumerate(certificate.instances):
        named = _goals(model, bound, at)
        if own:
            require_shown(model, bound, at, named)
        for name, goal in named.items():
            if (i, name) not in left:
                raise CertificateError(f"no proof of {_where(name, at)}")
            try:
                prove(goal, left.pop((i, name)))
            except CertificateError as error:
                raise CertificateError(f"{_where(name, at)}: {error}") from error
    if left:
        raise CertificateError(f"a proof of what is no goal: {next(iter(left))}")


def _goals(model: Model, bound: Any, at: Mapping[str, Any]) -> dict[str, Goal]:
    try:
        return letters.goals(model, bound, at)
    except (ArithmeticError, ValueError) as error:
        raise CertificateError(f"the model has no goals for the bound {bound}: {error}") from error


def kind_of(certificate: Certificate) -> str:
    """The strongest tool that a certificate's proofs use.

    ``identity``: both sides are the same. ``linear``: one condition a term. ``products`` of conditions. ``squares`` of
    polynomials. ``sturm``: roots are counted. ``exhaustion``: a kernel was run on every bit pattern.
    """
    kinds = {0}
    for proof in certificate.proofs:
        kinds |= {i for i, name in ((4, "sturm"), (5, "run")) if name in proof}
        for term in proof.get("terms", ()):
            kinds.add(3 if len(term) > 2 else 2 if sum(term[1].values()) > 1 else 1)
    return _KINDS[max(kinds)]


def _where(goal: str, at: Mapping[str, Any]) -> str:
    return f"goal {goal!r}" + "".join(f", {name} = {value}" for name, value in at.items())


def prove(goal: Goal, proof: Mapping[str, Any]) -> None:
    """Check the proof of one goal.

    Raises
    ------
    CertificateError
        It does not prove it.
    """
    if goal.run or "run" in proof:
        _run(goal, proof)
        return
    if "sturm" in proof:
        _sturm(goal, proof)
        return
    terms, zero, clear = proof.get("terms", ()), proof.get("zero", {}), proof.get("clear", {})
    if goal.equal and terms:
        raise CertificateError("what is to be zero must be so by an identity: no terms")
    conditions = {**goal.given, **goal.positive}
    space, _ = space_of(goal)
    total = [space.product(space.of(goal.show), _chosen(space, clear, goal.positive))]
    for term in terms:
        coefficient, chosen = _coefficient(term[0]), _chosen(space, term[1], conditions)
        square = space.read(term[2]) if len(term) > 2 else ONE
        if goal.vectors:
            _one_form(space, goal, [(numerator, power) for (numerator, _), power in chosen], square)
        total.append(space.product((-coefficient * space.power(square, 2), {}), chosen))
    for name, text in zero.items():
        if name not in goal.zero:
            raise CertificateError(f"the model does not know that {name!r} is zero")
        (numerator, denominator), multiplier = space.of(goal.zero[name]), space.read(text)
        if goal.vectors:
            _one_form(space, goal, [(numerator, 1), (multiplier, 1)], ONE)
        total.append((-space.times(multiplier, numerator), denominator))
    if not space.degree(total[0][0], goal.vectors) <= {0, 2}:
        raise CertificateError("what is shown must be a form of degree 0 or 2 in the vectors")
    if space.total(total)[0]:
        raise CertificateError("the two sides are not the same polynomial")


def space_of(goal: Goal) -> tuple[Polynomials, list[Polynomial]]:
    """The polynomials of a goal, where no denominator has a zero, and those that are positive.

    Raises
    ------
    CertificateError
        A symbol has assumptions, a denominator may be zero by the goal's conditions, or what is said of vectors is no
        form of degree 0 or 2.
    """
    conditions = {**goal.given, **goal.positive}
    expressions = [goal.show, *conditions.values(), *goal.zero.values()]
    for symbol in set().union(*(sp.sympify(e, strict=True).free_symbols for e in expressions)):
        if assumed := [word for word in symbol._assumptions_orig if word != "commutative"]:
            raise CertificateError(f"{symbol} is assumed to be {', '.join(assumed)}: let it be a condition")
    for expression in expressions if goal.vectors else ():
        _require_form(expression, goal.vectors)
    space = Polynomials(expressions, conditions.values())
    positive: list[Polynomial] = []
    left = [space.of(e) for e in goal.positive.values()]
    while ready := [q for q in left if all(space.sign(factor, positive) for factor in q[1])]:
        # a quotient that is positive has the sign of its denominator in its numerator, and so no zero there
        positive += [numerator * _sign_of(space, denominator, positive) for numerator, denominator in ready]
        left = [q for q in left if q not in ready]
    for expression in expressions:
        for factor in space.of(expression)[1]:
            if not space.sign(factor, positive) and all(divided(other, factor) is None for other in positive):
                raise CertificateError(f"no condition says that the denominator {space.write(factor)} is positive")
    return space, positive


def _require_form(expression: Any, vectors: Sequence[Any]) -> None:
    """That an expression is a form of degree 0 or 2 in vectors as it is written: nothing was cancelled before."""
    if any(vector.is_commutative for vector in vectors):
        raise CertificateError("vectors must not commute: make them by `vectors`")
    if not _degrees(sp.sympify(expression, strict=True), frozenset(vectors)) <= {0, 2}:
        raise CertificateError(f"must be a form of degree 0 or 2 in the vectors, got {expression}")


def _degrees(e: Any, vectors: frozenset[Any]) -> set[int]:
    if e in vectors:
        return {1}
    if vectors.isdisjoint(e.free_symbols):
        return {0}
    if e.is_Add:
        return set().union(*(_degrees(a, vectors) for a in e.args))
    if e.is_Mul:
        factors = [_degrees(a, vectors) for a in e.args]
    elif e.is_Pow and e.exp.is_Integer and e.exp > 0:
        factors = [_degrees(e.base, vectors)] * min(int(e.exp), 3)
    else:
        raise CertificateError(f"must be a form of degree 0 or 2 in the vectors, got {e}")
    degrees = {0}
    for factor in factors:
        degrees = {a + b for a in degrees for b in factor}
    if max(degrees) > 2:
        raise CertificateError(f"must be a form of degree 0 or 2 in the vectors, got {e}")
    return degrees


def _sign_of(space: Polynomials, denominator: Mapping[Polynomial, int], positive: list[Polynomial]) -> Polynomial:
    negative = sum(power for factor, power in denominator.items() if space.sign(factor, positive) < 0)
    return -ONE if negative % 2 else ONE


def _run(goal: Goal, proof: Mapping[str, Any]) -> None:
    """A kernel that was run on every bit pattern, and is its definition: `exhaustion` checks the record."""
    from commbounds.verify.certify.exhaustion import check_record

    if not goal.run or set(proof) - {"at", "goal"} != {"run"}:
        raise CertificateError("a goal about every bit pattern, and no other, is shown by the record of a run alone")
    if goal.show != 0:
        raise CertificateError(f"a run shows that something is zero, not {goal.show}")
    check_record(goal.run, proof["run"])


def _coefficient(text: Any) -> Polynomial:
    value = rational(text)
    if value <= 0:
        raise CertificateError(f"a coefficient must be positive, got {value}")
    return Polynomial({0: value.numerator}, value.denominator)


def _chosen(space: Polynomials, powers: Mapping[str, int], conditions: Mapping[str, Any]) -> list[tuple[Quotient, int]]:
    """Conditions by their names, with the powers in which they are taken."""
    for name in powers:
        if name not in conditions:
            raise CertificateError(f"the model has no condition {name!r} of this kind")
    return [(space.of(conditions[name]), power) for name, power in powers.items()]


def _one_form(space: Polynomials, goal: Goal, factors: Any, square: Any) -> None:
    """Whether a product is a form of inner products: one factor of degree 2, or one square of a combination of them."""
    degrees = [space.degree(factor, goal.vectors) for factor, power in factors for _ in range(power)]
    degrees.append({2 * d for d in space.degree(square, goal.vectors)})
    if any(d - {0, 2} for d in degrees) or sum(2 in d for d in degrees) > 1:
        raise CertificateError("a term must be a form of degree 0 or 2 in the vectors, and not a product of such")


def _sturm(goal: Goal, proof: Mapping[str, Any]) -> None:
    """Sturm's theorem: no root of odd order within an interval, and a positive value there."""
    try:
        low, high = (goal.given[name] for name in proof["sturm"])
    except (KeyError, ValueError) as error:
        raise CertificateError("sturm names the two conditions low <= symbol and symbol <= high") from error
    symbols = low.free_symbols | high.free_symbols | sp.sympify(goal.show, strict=True).free_symbols
    if len(symbols) != 1 or goal.vectors or goal.equal:
        raise CertificateError("Sturm's theorem is about one symbol")
    (x,) = symbols
    least, most = x - low, x + high
    shown = sp.sympify(goal.show, strict=True)
    if not (least.is_Rational and most.is_Rational and least < most) or shown.has(sp.Float):
        raise CertificateError("sturm names the two conditions low <= symbol and symbol <= high, rational numbers")
    try:
        numerator, denominator = (sp.Poly(e, x, domain="QQ") for e in sp.fraction(sp.together(goal.show)))
    except (sp.PolynomialError, CoercionFailed) as error:
        raise CertificateError(f"not a quotient of polynomials over the rational numbers: {goal.show}") from error
    if _roots(denominator, least, most) or not denominator.eval(least) or not denominator.eval(most):
        raise CertificateError(f"the denominator has a root between {least} and {most}")
    polynomial = numerator * denominator  # of the sign of the quotient
    if polynomial.is_zero:
        return
    crossing = sp.Poly(1, x, domain="QQ")
    for factor, order in polynomial.sqf_list()[1]:
        crossing *= factor if order % 2 else 1
    if roots := _roots(crossing, least, most):
        raise CertificateError(f"{roots} changes of sign between {least} and {most}")
    steps = polynomial.degree() + 2  # more points within than there are roots
    if not any(polynomial.eval(least + (most - least) * sp.Rational(i, steps)) > 0 for i in range(1, steps)):
        raise CertificateError(f"negative between {least} and {most}")


def _roots(polynomial: Any, least: Any, most: Any) -> int:
    """How many different roots there are between two numbers, these left out: by Sturm's chain."""
    ends = sp.Poly.from_list([1, -(least + most), least * most], polynomial.gen, domain="QQ")
    polynomial = polynomial.sqf_part()
    polynomial = polynomial.quo(sp.gcd(polynomial, ends))
    chain = [polynomial, polynomial.diff()]
    while not chain[-1].is_zero:
        chain.append(-chain[-2].rem(chain[-1]))
    low, high = (_changes([f.eval(end) for f in chain[:-1]]) for end in (least, most))
    return low - high


def _changes(values: Any) -> int:
    signs = [value > 0 for value in values if value != 0]
    return sum(a != b for a, b in pairwise(signs))
