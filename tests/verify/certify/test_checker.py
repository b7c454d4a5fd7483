import json
from dataclasses import replace
from fractions import Fraction
from pathlib import Path

import pytest
import sympy as sp
from samples import first_of_each

from commbounds import theory
from commbounds.theory.model import Goal, Model, ranges, recurrence, vectors
from commbounds.theory.mutation import formula_mutants
from commbounds.verify import certify
from commbounds.verify.certify import certificate, letters
from commbounds.verify.certify.certificate import folder, save
from commbounds.verify.certify.checker import kind_of, prove
from commbounds.verify.certify.finder import NotFoundError, contradiction, proof_of
from commbounds.verify.certify.polynomials import Polynomials
from commbounds.verify.confront import confront

x, y, p, t, P = sp.symbols("x y p t P")
u, v = vectors("u v")
TOPK = "sparsifiers.topk.contraction"
SOME = (
    TOPK,
    "packetloss.drift.pair",
    "packetloss.drift.pair_limit",
    "feedback.ef14.residual",
    "flashcomm.bitplanes.bytes",
    "quantizers.sign.sign_symmetry",
    "sparse.gtopk.code_mass",
)
"""Certificates of all kinds that the book has."""


def refused(match, goal, **proof):
    with pytest.raises(certify.CertificateError, match=match):
        prove(goal, proof)


def product(at):
    """x (1 - x) >= 0 in [0, 1], times the enumerated P."""
    return Model(
        "made.up.product",
        "as it says",
        "every x in [0, 1], P = {P}",
        lambda bound, P: (Goal("product", P * bound, given={"x": x, "1 - x": 1 - x}),),
        ("made.up",),
        tuple({"P": value} for value in at),
    )


def of_product(at=(2, 3)):
    """A certificate of it."""
    proofs = tuple(
        {"at": i, "goal": "product", "terms": [[str(value), {"x": 1, "1 - x": 1}]]} for i, value in enumerate(at)
    )
    return certify.Certificate(
        "made.up.product",
        "products",
        f"every x in [0, 1], P = {ranges(at)}",
        tuple({"P": value} for value in at),
        proofs,
        "by hand",
    )


def check_product(certificate, at=(2, 3)):
    certify.check(certificate, x * (1 - x), product(at))


def test_a_right_certificate_checks_and_survives_its_file(tmp_path):
    certificate = of_product()
    check_product(certificate)
    path = save(certificate, tmp_path)
    assert path.name == "made.up.product.json"
    again = certify.from_json(path.read_text("utf-8"))
    assert again == certificate
    assert again.to_json() == path.read_text("utf-8")


def planted():
    """Certificates that must be refused, by what is wrong with them."""
    right = of_product()
    first, second = right.proofs

    def with_term(*term):
        return replace(right, proofs=({**first, "terms": [list(term)]}, second))

    return {
        "a flipped sign": with_term("-2", {"x": 1, "1 - x": 1}),
        "the last digit": with_term("2000000000001/1000000000000", {"x": 1, "1 - x": 1}),
        "a float": with_term(2.0, {"x": 1, "1 - x": 1}),
        "no number": with_term("two", {"x": 1, "1 - x": 1}),
        "an infinite number": with_term("inf", {"x": 1, "1 - x": 1}),
        "division by zero": with_term("1/0", {"x": 1, "1 - x": 1}),
        "an unknown condition": with_term("2", {"x": 1, "2 - x": 1}),
        "a negative power": with_term("2", {"x": 1, "1 - x": -1}),
        "a power that is no number": with_term("2", {"x": True, "1 - x": 1}),
        "a square that is not there": with_term("2", {"x": 1, "1 - x": 1}, "x"),
        "a square of another symbol": with_term("2", {"x": 1, "1 - x": 1}, "z"),
        "code": with_term("2", {"x": 1, "1 - x": 1}, "__import__('os')"),
        "a goal without a proof": replace(right, proofs=(first,)),
        "a goal proved twice": replace(right, proofs=(first, second, second)),
        "a proof without a goal": replace(right, proofs=(first, second, {"at": 0, "goal": "other"})),
        "an enlarged scope": replace(right, scope="every x in [0, 1], P = 2..4"),
        "an instance without a proof": replace(
            right, scope="every x in [0, 1], P = 2..4", instances=(*right.instances, {"P": 4})
        ),
        "another parameter": replace(right, instances=({"P": 2}, {"N": 3})),
        "no instance": replace(right, instances=(), proofs=()),
        "another kind": replace(right, kind="identity"),
        "another claim": replace(right, claim="no.such.claim"),
        "something more": replace(right, proofs=({**first, "trust": "me"}, second)),
        "positive that is only given": replace(right, proofs=({**first, "clear": {"x": 1}}, second)),
    }


@pytest.mark.parametrize("kind", list(planted()))
def test_a_bad_certificate_is_refused(kind):
    with pytest.raises(certify.CertificateError):
        certify.check(planted()[kind], x * (1 - x), None if kind == "another claim" else product((2, 3)))


@pytest.mark.parametrize(
    "text",
    [
        "",
        "[]",
        "{}",
        '{"format": 0}',
        '{"format": 1, "claim": "a.b"}',
        "not json",
        '{"format": 1, "instances": [{"P": "x"}]}',
        '{"format": 1, "instances": [{"P": 0.5}]}',
        '{"format": 1, "instances": [{"P": true}]}',
        '{"format": 1, "instances": [{"P": Infinity}]}',
        '{"format": 1, "instances": [{"P": "1e999999999"}]}',
        '{"format": 1, "instances": [{"P": ' + "9" * 5000 + "}]}",
        "[" * 100_000,
        '{"format": ' * 100_000,
    ],
)
def test_what_is_no_certificate_is_refused(text):
    with pytest.raises(certify.CertificateError):
        certify.from_json(text)


def test_a_file_that_is_no_text_is_refused(monkeypatch, tmp_path):
    path = tmp_path / f"{TOPK}.json"
    path.write_bytes(b"\xff")
    monkeypatch.setattr(certificate, "files", lambda: {TOPK: path})
    with pytest.raises(certify.CertificateError, match="not a certificate"):
        certify.load(TOPK)


OTHER_VALUES = (None, True, 0, -1, 1.5, "", "x", "1/0", [], [[]], {}, {"x": 1}, [None, None], {"": None}, 10**400)


def places(value, path=()):
    """The paths to all values within one that was read from JSON, the outermost left out."""
    inside = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, part in inside:
        yield (*path, key)
        yield from places(part, (*path, key))


def at_place(value, path):
    for key in path:
        value = value[key]
    return value


@pytest.mark.parametrize("name", [*SOME, "by Sturm's theorem"])
def test_no_value_of_another_type_is_taken_or_escapes_as_another_error(name):
    if name in SOME:
        text, options = certify.files()[name].read_text("utf-8"), {}
    else:
        proofs = tuple({"at": i, "goal": "product", "sturm": ["x", "1 - x"]} for i in range(2))
        text, options = (
            replace(of_product(), kind="sturm", proofs=proofs).to_json(),
            {"bound": x * (1 - x), "model": product((2, 3))},
        )
    tried, neutral = 0, set()
    for path in places(json.loads(text)):
        for other in OTHER_VALUES:
            data = json.loads(text)
            *before, last = path
            place = at_place(data, before)
            same = type(place[last]) is type(other) and place[last] == other
            place[last] = other
            tried += not same
            try:
                certify.check(certify.from_json(json.dumps(data)), **options)
            except certify.CertificateError:
                assert not same, path
            else:
                neutral |= set() if same else {(path, str(other))}
    assert tried > 100
    assert {path for path, _ in neutral} <= {("found",)}, neutral


@pytest.mark.parametrize(
    "text",
    [
        "(" * 5000 + "x" + ")" * 5000,
        "-" * 5000 + "x",
        "+".join(["x"] * 5000),
        "((x + y)**64)**64",
        "((((2**64)**64)**64)**64)**64",
        "(x + y + 1)**64*(x + 2*y + 1)**64*(x - y + 1)**64",
        "9" * 5000,
        "0**0*x/0",
        "x\0",
    ],
)
def test_polynomials_that_would_take_for_ever_are_refused(text):
    with pytest.raises(certify.CertificateError):
        Polynomials([x, y]).read(text)


def test_powers_that_would_take_for_ever_are_refused():
    goal = Goal("long", x, given={"x": x, "sum": 1 + x + y + p + t + P})
    refused("takes more than", goal, terms=[["1", {"sum": 64}]])


def test_an_identity_needs_no_terms_and_gets_none():
    goal = Goal("powers", p ** (2 * t + 1) - p * (p**t) ** 2, equal=True, given={"p": p})
    prove(goal, {})
    refused("no terms", goal, terms=[["1", {"p": 1}]])
    refused("not the same", replace(goal, show=goal.show + p**t))


def test_powers_of_sums_are_symbols_of_their_own():
    prove(Goal("", (1 - p) ** (t + 2) - (1 - p) ** t * (1 - 2 * p + p**2), equal=True), {})
    prove(Goal("", 1 / (1 - p) ** t - (1 - p) ** (-t), equal=True), {})
    refused("not the same", Goal("", (1 - p) ** t - (1 - p**t), equal=True))


@pytest.mark.parametrize(
    "e", [sp.sqrt(x), sp.log(x), sp.floor(x), x ** sp.Rational(1, 3), sp.pi * x, sp.Max(x, y), sp.Float(0.5) * x]
)
def test_what_is_no_rational_function_is_refused(e):
    with pytest.raises(certify.CertificateError, match="not a rational function"):
        Polynomials([e])


@pytest.mark.parametrize(
    "text", ["x/y", "x/0", "x**-1", "x**y", "1.5*x", "x < y", "sin(x)", "x**65", "True", "x +", "[x]", ""]
)
def test_texts_that_are_no_polynomials_are_refused(text):
    with pytest.raises(certify.CertificateError):
        Polynomials([x, y]).read(text)


def test_a_polynomial_is_read_as_it_is_written():
    space = Polynomials([x, y, p**t])
    for text in ("3*x**2 - y/2 + [p**t]*x", "0", "-(x - y)**3/7"):
        polynomial = space.read(text)
        assert space.read(space.write(polynomial)) == polynomial
    assert space.read("[p**t]*x") == space.of(x * p**t)[0]


def test_a_denominator_is_cleared_by_what_is_positive_alone():
    goal = Goal("share", x / (x + y), given={"x": x}, positive={"sum": x + y})
    prove(goal, {"clear": {"sum": 1}, "terms": [["1", {"x": 1}]]})
    refused("not the same", goal, terms=[["1", {"x": 1}]])
    refused("no condition", goal, clear={"x": 1}, terms=[["1", {"x": 1}]])


def test_zeros_take_any_multiplier_and_nothing_else_does():
    goal = Goal("root", x - 1, given={"x + 1": x + 1}, zero={"x**2 = 1": x**2 - 1, "x = 1": x - 1})
    prove(goal, {"zero": {"x = 1": "1"}})
    refused("does not know", goal, zero={"x + 1": "1"})
    refused("not the same", goal, zero={"x**2 = 1": "1"})


def test_squares_of_vectors_are_of_linear_forms():
    inner = Goal("cauchy", u**2 + v**2 - 2 * u * v, vectors=(u, v))
    prove(inner, {"terms": [["1", {}, "u - v"]]})
    refused("form of degree", inner, terms=[["1", {}, "u**2 - v**2"]])
    doubled = Goal("doubled", u**2, given={"u u": u**2, "v v": v**2}, vectors=(u, v))
    refused("form of degree", doubled, terms=[["1", {"u u": 1, "v v": 1}]])
    refused("degree 0 or 2", replace(doubled, positive={"u > 0": v**2 + u**2}), clear={"u > 0": 1})
    scaled = Goal("scaled", p * u**2, given={"p": p, "u u": u**2}, vectors=(u,))
    prove(scaled, {"terms": [["1", {"p": 1, "u u": 1}]]})


@pytest.mark.parametrize(
    ("show", "holds"),
    [
        (x * (1 - x), True),
        ((x - sp.Rational(1, 2)) ** 2, True),
        ((x - sp.Rational(1, 2)) ** 2 - sp.Rational(1, 10**9), False),
        ((x - sp.Rational(1, 2)) ** 3, False),
        (-x * (1 - x), False),
        (x - 1, False),
        (1 / (1 + x) - sp.Rational(1, 2), True),
        (1 / (x - 2), False),
        (-(x**2), False),
        (sp.Integer(0) * x, True),
        (x**5 - x**4 + x**3 + sp.Rational(1, 100), True),
    ],
)
def test_sturm_counts_what_crosses_zero(show, holds):
    goal = Goal("sign", show, given={"x": x, "1 - x": 1 - x})
    if holds:
        prove(goal, {"sturm": ["x", "1 - x"]})
    else:
        with pytest.raises(certify.CertificateError):
            prove(goal, {"sturm": ["x", "1 - x"]})


@pytest.mark.parametrize("between", [["x"], ["x", "y"], ["1 - x", "x"], [], "x"])
def test_sturm_needs_an_interval(between):
    goal = Goal("sign", 1 + x, given={"x": x, "1 - x": 1 - x, "y": y})
    with pytest.raises(certify.CertificateError, match=r"[Ss]turm"):
        prove(goal, {"sturm": between})


def test_kinds_are_told_by_the_strongest_tool():
    certificate = of_product()
    proofs = {
        "identity": {},
        "linear": {"terms": [["1", {"x": 1}]]},
        "products": {"terms": [["1", {"x": 2}]]},
        "squares": {"terms": [["1", {"x": 1}, "x"]]},
        "sturm": {"sturm": ["x", "1 - x"]},
    }
    for kind, proof in proofs.items():
        assert kind_of(replace(certificate, proofs=({}, proof))) == kind


def test_what_is_found_is_checked_and_what_is_false_is_not_found():
    half = Fraction(1, 2)
    true = Goal("true", p * (1 - p) * half, given={"p": p, "1 - p": 1 - p})
    prove(true, proof_of(true)[0])
    with pytest.raises(NotFoundError):
        proof_of(replace(true, show=p * (1 - p) - half), degree=3)
    square = Goal("square", x**2 - 2 * x * y + y**2, hints=(x - y,))
    prove(square, proof_of(square, degree=1)[0])
    with pytest.raises(NotFoundError, match="time"):
        proof_of(true, deadline=0.0)


def test_a_closed_form_is_proved_by_induction():
    first, step = recurrence(t * (t + 1) / 2, t, 0, lambda total, index: total + index + 1)
    prove(first, {})
    prove(step, {})
    refused("not the same", recurrence(t**2, t, 0, lambda total, index: total + index + 1)[1])


def test_models_have_names_and_a_scope():
    def goals(bound):
        return (Goal("one", bound), Goal("one", bound))

    with pytest.raises(ValueError, match="words"):
        Model("a.b", " ", "scope", goals, ("a.b",))
    with pytest.raises(ValueError, match="different names"):
        Model("a.b", "words", "scope", goals, ("a.b",)).goals_at(x, {})
    with pytest.raises(ValueError, match="different names"):
        Goal("g", x, given={"a": x}, positive={"a": x})


# --- the book's -------------------------------------------------------------------------------------------------------


def is_a_test(tie):
    """Whether a test of that name is there."""
    file, _, name = tie.partition("::")
    path = Path(__file__).parents[3] / file
    return path.is_file() and f"def {name}(" in path.read_text("utf-8")


PROVED = [name for name in certify.files() if name not in certify.refutations()]


def test_every_certificate_is_of_a_model_that_is_tied_to_the_implementation():
    book = theory.claims()
    assert PROVED
    for name, refutation in certify.refutations().items():
        assert (refutation.claim, is_a_test(refutation.checked_by)) == (name, True)
    for name in PROVED:
        claim, model = book[name], certify.models()[name]
        assert claim.stands is theory.Standing.HOLDS, name
        assert model.claim == name
        assert folder(claim.column) == certify.files()[name].parent
        for tie in model.checked_by:
            assert tie in book, (name, tie)


@pytest.mark.parametrize("name", list(certify.files()))
def test_a_certificate_proves_its_claim(name):
    certify.check(certify.load(name))


@pytest.mark.parametrize(
    "name",
    first_of_each(
        PROVED,
        lambda name: certify.load(name).kind,
        often=lambda name: name.rpartition(".")[0],
    ),
)
def test_a_certificate_proves_no_stronger_neighbour_of_its_claim(name):
    certificate = certify.load(name)
    for mutant in formula_mutants(theory.claims()[name].relation.rhs):
        if mutant.name in STILL_TRUE.get(name, ()) or weaker(theory.claims()[name].relation, mutant.bound):
            continue
        with pytest.raises(certify.CertificateError):
            certify.check(certificate, mutant.bound)


def weaker(relation, other):
    """Whether another bound is a weaker number: what proves the claim without multipliers proves that, too."""
    if relation.rhs.free_symbols or isinstance(relation, sp.Eq):
        return False
    return bool(other > relation.rhs) == isinstance(relation, sp.Le)


_FOR_ONE_RANK = (
    "without the factor index_bits(P) - Max(0, index_bits(P) - 1)",
    "index_bits(P) - 1 for Max(0, index_bits(P) - 1)",
)
STILL_TRUE: dict[str, tuple[str, ...]] = {
    "dense.allgather.bruck_words": _FOR_ONE_RANK,  # differ in terms that are zero for one rank
    "dense.reduce_scatter.bruck_words": _FOR_ONE_RANK,
}
"""Neighbours that are the same within the scope of the model."""


def test_a_finding_says_for_what_it_is_proved():
    finding = confront(TOPK, drawn=False)
    assert finding.verdict == "proved"
    assert finding.proved_for == certify.proved_for(certify.load(TOPK))


@pytest.mark.parametrize(
    ("name", "hypotheses"), [(TOPK, "; hypotheses: nonzero"), ("packetloss.workers.range", "; hypotheses: ")]
)
def test_for_what_is_the_scope_with_the_hypotheses(name, hypotheses):
    certificate = certify.load(name)
    words = certify.proved_for(certificate)
    assert words.startswith(certificate.scope + hypotheses)
    assert all(hypothesis.name in words for hypothesis in theory.claims()[name].assumes)


BY_CONTRADICTION = {"moshpit.grid.no_repeats": "two meetings contradict"}
"""Goals whose conditions are to contradict each other."""


@pytest.mark.parametrize("name", first_of_each(PROVED, lambda name: name.partition(".")[0]))
def test_conditions_of_a_model_do_not_contradict_each_other(name):
    """From conditions that do, everything would follow: -1 >= 0 too."""
    for at in certify.load(name).instances[:2]:
        for goal in letters.goals(letters.book().model(name), letters.book().bound(name), at).values():
            if not goal.run:
                assert (contradiction(goal) is not None) == (BY_CONTRADICTION.get(name) == goal.name), goal.name


@pytest.mark.parametrize(
    "conditions",
    [
        {"given": {"x <= 0": -x, "x >= 1": x - 1}},
        {"zero": {"x^2 + 1 = 0": x**2 + 1}},
        {"given": {"-1 - x^2 >= 0": -1 - x**2}},
        {"given": {"x >= 0": x, "-x^3 - 1 >= 0": -(x**3) - 1}},
        {"given": {"x": x, "y": y}, "positive": {"-x y > 0": -x * y}},
        {
            "given": {"-||u + v||^2 - 1 >= 0": -((u + v) ** 2) - 1, "||v||": -(v**2), "||u||": -(u**2)},
            "vectors": (u, v),
        },
    ],
    ids=lambda conditions: ", ".join(name for kind in conditions.values() for name in map(str, kind)),
)
def test_conditions_that_contradict_each_other_are_noticed(conditions):
    goal = Goal("vacuous", sp.Integer(-1), **conditions)
    proof = contradiction(goal)
    assert proof is not None
    prove(goal, proof)
