"""Certificates as lemmas of Coq: a second checker, whose kernel is not ours.

A goal of a model becomes a statement about real numbers, written down from the model's expressions as they are: its
conditions are hypotheses, one by one and by name. The certificate becomes the proof: ``field`` checks the identity, and
the sign of every term follows from the signs of its factors. Nothing is assumed but what Coq's own theory of the real
numbers assumes, which ``Print Assumptions`` prints at the end of every file.

Symbols are real numbers. So are powers with symbolic exponents, ``p**t``: what holds whatever number stands for one
holds for it; that it is positive where its base is, is a hypothesis, and exponents are added up before. Vectors are
known by their inner products, of which all that is said is that no combination of vectors has a negative square.
Left out are proofs by Sturm's theorem, runs over every bit pattern, and lemmas that are too long.
"""

import ast
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import combinations_with_replacement
from pathlib import Path
from typing import Any

import sympy as sp

from commbounds import theory
from commbounds.theory.model import Goal
from commbounds.verify.certify import letters
from commbounds.verify.certify.certificate import Certificate, load, rational
from commbounds.verify.certify.checker import space_of
from commbounds.verify.certify.letters import declared
from commbounds.verify.certify.polynomials import ONE, Polynomial, divided
from commbounds.verify.writing import written

LEFT_OUT = {"sturm": "a count of roots by Sturm's theorem", "run": "the record of a run over every bit pattern"}
"""Proofs that are no algebra, by their part in the certificate, with what they are."""

LONGEST, TOO_LONG = 20_000, "more than 20,000 characters long"
"""Of a lemma that is written: Coq takes longer and longer to read and to check what is longer."""

PRELUDE = Path(__file__).with_name("prelude.v")
"""What every file begins with: three lemmas, and tactics for signs and identities."""


@dataclass(frozen=True)
class Lemma:
    """A goal of a certificate for Coq.

    Parameters
    ----------
    name : str
        Of the lemma.
    claim, goal : str
        What it is about: the claim, and the goal with the instance.
    text : str
        Statement and proof.
    vectors : bool
        Whether it is about inner products.
    """

    name: str
    claim: str
    goal: str
    text: str
    vectors: bool


def lemmas(certificate: Certificate) -> Iterator[Lemma | tuple[str, str]]:
    """The lemmas of a certificate that proves something; for a goal that is left out, its name and why."""
    model, bound = letters.book().model(certificate.claim), letters.book().bound(certificate.claim)
    used: Counter[str] = Counter()
    for i, at in enumerate(certificate.instances):
        named = letters.goals(model, bound, at)
        for proof in certificate.proofs:
            if proof.get("at", 0) != i:
                continue
            goal = named[proof["goal"]]
            where = goal.name + "".join(f", {name} = {value}" for name, value in at.items())
            out = next((why for part, why in LEFT_OUT.items() if part in proof), None)
            if out is not None:
                yield where, out
                continue
            name = _identifier(f"{certificate.claim}__{where}")
            used[name] += 1  # names of goals may differ in signs alone
            name += f"__{used[name]}" if used[name] > 1 else ""
            text = Writer(goal).lemma(name, proof)
            if len(text) > LONGEST:
                yield where, TOO_LONG
                continue
            yield Lemma(name, certificate.claim, where, text, bool(goal.vectors))


def _identifier(text: str) -> str:
    return re.sub(r"\W+", "_", text, flags=re.ASCII).strip("_")


def files(names: Sequence[str]) -> tuple[dict[str, str], list[Lemma], list[tuple[str, str, str]]]:
    """The development, one file a column.

    Parameters
    ----------
    names : sequence of str
        Claims that have a certificate; counterexamples are no proofs, and are passed over.

    Returns
    -------
    files : dict from str to str
        Text by name of the file.
    lemmas : list of Lemma
        All that they hold.
    left_out : list of (claim, goal, why)
        What they do not.
    """
    texts: dict[str, list[str]] = {}
    made: list[Lemma] = []
    left: list[tuple[str, str, str]] = []
    for name in names:
        certificate = load(name)
        if certificate.kind == "counterexample":
            continue
        parts = [
            f"\n(* {_comment(name)}: {_comment(theory.claims()[name].title)}\n   {_comment(certificate.scope)} *)\n"
        ]
        for found in lemmas(certificate):
            if isinstance(found, Lemma):
                made.append(found)
                parts.append(found.text)
            else:
                left.append((name, *found))
        texts.setdefault(name.partition(".")[0], []).extend(parts if len(parts) > 1 else [])
    whole = {}
    for column, parts in texts.items():
        if parts:
            last = next(lemma for lemma in reversed(made) if lemma.claim.partition(".")[0] == column)
            whole[f"{column}.v"] = PRELUDE.read_text("utf-8") + "".join(parts) + f"\nPrint Assumptions {last.name}.\n"
    return whole, made, left


def _comment(text: str) -> str:
    return text.replace("(*", "( *").replace("*)", "* )").replace('"', "'")


def write(names: Sequence[str], folder: Path) -> tuple[list[Path], list[Lemma], list[tuple[str, str, str]]]:
    """Write the development into a folder, and what it holds: see `files`."""
    whole, made, left = files(names)
    folder.mkdir(parents=True, exist_ok=True)
    for name, text in whole.items():
        written(folder / name, text.encode())
    return [folder / name for name in whole], made, left


# --- writing a goal ----------------------------------------------------------------------------------------------

_Form = dict[Any, str]
"""A combination of vectors: what each is multiplied by. The key None is a number by itself."""


class Writer:
    """A goal's expressions in the words of Coq.

    Parameters
    ----------
    goal : Goal
        In letters.
    """

    def __init__(self, goal: Goal) -> None:
        self._goal = goal
        self._names: dict[Any, str] = {}
        self._taken: set[str] = set()
        self._signs: dict[str, str] = {}
        self._rewritten: dict[str, str] = {}
        self._used: list[str] = []
        self._vectors = {vector: i for i, vector in enumerate(goal.vectors)}
        self._conditions = {sp.sympify(e, strict=True) for e in (*goal.given.values(), *goal.positive.values())}
        self._space, self._positive = space_of(goal)

    def lemma(self, name: str, proof: Mapping[str, Any]) -> str:
        """Statement and proof."""
        goal = self._goal
        given = {key: self._written(e) for key, e in goal.given.items()}
        positive = {key: self._written(e) for key, e in goal.positive.items()}
        zero = {key: self._written(e) for key, e in goal.zero.items()}
        show = self._written(goal.show)
        conditions = {**given, **positive}
        clear = " * ".join(["1", *(f"({positive[key]}) ^ {power}" for key, power in proof.get("clear", {}).items())])
        terms = [self._term(term, conditions) for term in proof.get("terms", ())]
        zeros = [f"({self._read(text)}) * ({zero[key]})" for key, text in proof.get("zero", {}).items()]
        lines = [f"\n(* {_comment(goal.name)} *)", f"Lemma {name}"]
        bound = [*dict.fromkeys([*self._names.values(), *self._gram_names()])]
        if bound:
            lines.append(f"  ({' '.join(bound)} : R)")
        if self._vectors:
            lines.append(f"  (squares : {self._squares()})")
        hypotheses = [*self._signs.items()]
        hypotheses += [(f"0 <= {text}", _comment(key)) for key, text in given.items()]
        hypotheses += [(f"0 < {text}", _comment(key)) for key, text in positive.items()]
        hypotheses += [(f"{text} = 0", _comment(key)) for key, text in zero.items()]
        lines[-1] += " :"
        lines += [f"  {text} -> (* {why} *)" for text, why in hypotheses]
        lines.append(f"  {show} = 0." if goal.equal else f"  0 <= {show}.")
        lines.append("Proof.")
        lines.append("  intros.")
        lines += [f"  pose proof (squares {weights})." for weights in dict.fromkeys(self._used)]
        for i, (text, other) in enumerate(self._rewritten.items()):
            why = "apply root; [nonneg | identity]" if text.startswith("sqrt") else "identity"
            lines.append(f"  assert ({text} = {other}) as same_{i} by ({why}).")
            lines.append(f"  try rewrite same_{i} in *.")
        clearing = f"({clear})"
        lines.append(f"  apply ({'factor_zero' if goal.equal else 'factor_nonneg'} {clearing}); [pos |].")
        right = " + ".join([*terms, *zeros]) or "0"
        shown = self._simpler(show)
        right = self._simpler(right)
        lines.append(f"  replace ({clearing} * ({shown})) with ({right}) by identity.")
        lines += [
            f"  replace ({self._simpler(zero[key])}) with 0 by (symmetry; assumption)." for key in proof.get("zero", {})
        ]
        lines.append("  ring." if goal.equal else "  try rewrite !Rmult_0_r. nonneg.")
        return "\n".join([*lines, "Qed.", ""])

    def _simpler(self, text: str) -> str:
        """A text where roots are rational, and denominators have none of their own: see `_rewritten`."""
        for found, other in self._rewritten.items():
            text = text.replace(found, other)
        return text

    def _term(self, term: Sequence[Any], conditions: Mapping[str, str]) -> str:
        factors = [_number(rational(term[0]))]
        factors += [f"({conditions[key]}) ^ {power}" for key, power in term[1].items()]
        if len(term) > 2:
            square = self._form_of(ast.parse(self._brackets(term[2]), mode="eval").body)
            if set(square) <= {None}:
                factors.append(f"({square[None]}) ^ 2")
            else:  # of all vectors, as the hypothesis about squares is
                whole = {vector: square.get(vector, "0") for vector in self._vectors}
                factors.append(f"({self._square(whole)})")
                self._used.append(" ".join(f"({text})" for text in whole.values()))
        return " * ".join(factors)

    # --- expressions -----------------------------------------------------------------------------------------

    def _written(self, e: Any) -> str:
        form = self._form(sp.sympify(e, strict=True))
        assert set(form) <= {None}, "a form of degree 1 is no number"
        return form.get(None, "0")

    def _form(self, e: Any) -> _Form:
        """A number, or a combination of vectors."""
        if e in self._vectors:
            return {e: "1"}
        if not self._vectors or not (e.free_symbols & self._vectors.keys()):
            return {None: self._scalar(e)}
        if e.is_Add:
            total: dict[Any, list[str]] = {}
            for part in e.args:
                for vector, text in self._form(part).items():
                    total.setdefault(vector, []).append(text)
            return {vector: _added(texts) for vector, texts in total.items()}
        if e.is_Mul:
            product: _Form = {None: "1"}
            for factor in e.args:
                product = self._times(product, self._form(factor))
            return product
        form = self._form(e.base)
        return self._times(form, form)

    def _times(self, a: _Form, b: _Form) -> _Form:
        if set(a) <= {None} or set(b) <= {None}:
            number, other = (a, b) if set(a) <= {None} else (b, a)
            return {vector: _multiplied(number[None], text) for vector, text in other.items()}
        return {None: f"({self._inner(a, b)})"}

    def _inner(self, a: _Form, b: _Form) -> str:
        terms = ((x, y, self._gram(u, v)) for u, x in a.items() for v, y in b.items())
        return " + ".join(_multiplied(_multiplied(x, y), gram) for x, y, gram in terms)

    def _gram(self, u: Any, v: Any) -> str:
        i, j = sorted((self._vectors[u], self._vectors[v]))
        names = list(self._vectors)
        return f"ip_{_identifier(str(names[i]))}_{_identifier(str(names[j]))}"

    def _gram_names(self) -> list[str]:
        return [self._gram(u, v) for u, v in combinations_with_replacement(self._vectors, 2)]

    def _squares(self) -> str:
        """That no combination of the vectors has a negative square."""
        weights = {vector: f"a_{i}" for i, vector in enumerate(self._vectors)}
        return f"forall {' '.join(weights.values())} : R, 0 <= {self._square(weights)}"

    def _square(self, weights: _Form) -> str:
        """The square of a combination of all vectors, in the words of the hypothesis whatever the weights are."""
        return " + ".join(f"({x}) * ({y}) * {self._gram(u, v)}" for u, x in weights.items() for v, y in weights.items())

    def _scalar(self, e: Any) -> str:
        if e.is_Symbol:
            return self._named(e)
        if e.is_Rational:
            return _number(Fraction(int(e.p), int(e.q)))
        if e.is_Add:
            return f"({' + '.join(map(self._scalar, e.args))})"
        if e.is_Mul:
            return f"({' * '.join(map(self._scalar, e.args))})"
        if e.base.is_Pow and e.base.exp.is_Integer and self._not_negative(e.base.base):
            return self._scalar(sp.Pow(e.base.base, e.base.exp * e.exp))
        if e.exp.is_Rational and e.exp.q == 2:
            return self._power(self._root(e.base), int(e.exp.p))
        if e.exp.is_Integer:
            text = self._scalar(e.base)
            if e.exp < 0 and e.base.is_Add and ("/ (" in text or self._is_product(e.base)):
                self._rewritten.setdefault(self._simpler(text), self._quotient(e.base))
            return self._power(text, int(e.exp))
        factors = []
        for monomial, multiple in sp.expand(e.exp).as_coefficients_dict().items():
            atom = e.base if monomial == 1 else sp.Pow(e.base, monomial, evaluate=False)
            text = self._scalar(atom) if monomial == 1 else self._named(atom)
            factors.append(self._power(text, int(multiple)))
        return f"({' * '.join(factors)})"

    @staticmethod
    def _power(text: str, exponent: int) -> str:
        return (
            f"{text} ^ {exponent}" if exponent > 0 else f"/ ({text} ^ {-exponent})" if exponent < -1 else f"/ ({text})"
        )

    def _root(self, e: Any) -> str:
        text = f"sqrt ({self._scalar(e)})"
        self._rewritten.setdefault(self._simpler(text), self._scalar(self._base(e)))
        return text

    def _quotient(self, e: Any) -> str:
        """An expression as a quotient of products of what is known to be positive, and of what is left."""
        above, below = self._space.of(e)
        factors = [f"({self._product(factor)}) ^ {power}" for factor, power in below.items()]
        return f"(({self._product(above)}) / ({' * '.join(factors) or '1'}))"

    def _is_product(self, e: Any) -> bool:
        above = self._space.of(e)[0]
        return any(divided(above, other) not in (None, ONE) for other in self._positive)

    def _product(self, polynomial: Polynomial) -> str:
        def first(p: Polynomial) -> Fraction:
            return Fraction(p.terms[max(p.terms)], p.below)

        scale, factors = Fraction(1), []
        for other in self._positive:
            while (quotient := divided(polynomial, other)) is not None:
                scale *= first(polynomial) / (first(other) * first(quotient))
                polynomial = quotient
                factors.append(other)
        texts = [f"({self._read(self._space.write(factor))})" for factor in (polynomial, *factors)]
        return " * ".join([_number(scale), *texts])

    def _base(self, e: Any) -> Any:
        """The root of a product of even powers of what is not negative."""
        if e.is_Mul:
            return sp.Mul(*map(self._base, e.args))
        return sp.sqrt(e) if e.is_Rational else e.base ** (e.exp / 2)

    def _not_negative(self, e: Any) -> bool:
        if e.is_Mul:
            return all(map(self._not_negative, e.args))
        return e in self._conditions or declared(e, "positive", "nonnegative") or bool(e.is_Rational and e >= 0)

    def _named(self, atom: Any) -> str:
        """The variable of a symbol, or of a power with a symbolic exponent; with what is known of its sign."""
        if atom in self._names:
            return self._names[atom]
        name = _identifier(str(atom).replace("**", "_to_")) + "_"  # no word of Coq ends so
        name = name if name[0].isalpha() else f"x{name}"
        while name in self._taken:
            name += "_"
        self._taken.add(name)
        self._names[atom] = name
        if declared(atom, "positive"):
            self._signs[f"0 < {name}"] = "declared"
        elif declared(atom, "nonnegative"):
            self._signs[f"0 <= {name}"] = "declared"
        elif atom.is_Pow and self._space.is_positive(atom, self._positive):
            self._signs[f"0 < {name}"] = "a power of what is positive"
        elif atom.is_Pow and self._not_negative(atom.base):
            self._signs[f"0 <= {name}"] = "a power of what is not negative"
        return name

    # --- what a certificate writes ---------------------------------------------------------------------------

    def _brackets(self, text: str) -> str:
        """A certificate's polynomial, where powers with symbolic exponents are names."""
        for i, atom in enumerate(self._space.generators):
            text = text.replace(f"[{atom}]", f"_g{i}")
        return text

    def _read(self, text: str) -> str:
        form = self._form_of(ast.parse(self._brackets(text), mode="eval").body)
        return form.get(None, "0")

    def _form_of(self, node: ast.expr) -> _Form:
        match node:
            case ast.Constant(value=int() as value):
                return {None: str(value)}
            case ast.Name(id=name):
                return self._found(name)
            case ast.UnaryOp(operand=operand):
                return self._times({None: "(-1)"}, self._form_of(operand))
            case ast.BinOp(left=left, op=ast.Add() | ast.Sub() as op, right=right):
                a, b = self._form_of(left), self._form_of(right)
                if isinstance(op, ast.Sub):
                    b = self._times({None: "(-1)"}, b)
                return {v: _added([f[v] for f in (a, b) if v in f]) for v in {**a, **b}}
            case ast.BinOp(left=left, op=ast.Mult(), right=right):
                return self._times(self._form_of(left), self._form_of(right))
            case ast.BinOp(left=left, op=ast.Div(), right=ast.Constant(value=int() as value)):
                return self._times({None: f"/ {value}"}, self._form_of(left))
            case ast.BinOp(left=left, op=ast.Pow(), right=ast.Constant(value=int() as value)):
                form = self._form_of(left)
                if set(form) <= {None}:
                    return {None: f"({form[None]}) ^ {value}"}
                return self._times(form, form)
        raise TypeError(f"not a polynomial: {ast.unparse(node)}")

    def _found(self, name: str) -> _Form:
        if name.startswith("_g"):
            return {None: self._named(list(self._space.generators)[int(name[2:])])}
        atom = next(atom for atom in self._space.generators if str(atom) == name)
        return {atom: "1"} if atom in self._vectors else {None: self._named(atom)}


def _added(texts: Sequence[str]) -> str:
    return texts[0] if len(texts) == 1 else f"({' + '.join(texts)})"


def _multiplied(a: str, b: str) -> str:
    """A product; one as a factor is left out, so that texts do not grow."""
    return b if a == "1" else a if b == "1" else f"({a} * {b})"


def _number(value: Fraction) -> str:
    text = str(abs(value.numerator)) if value.denominator == 1 else f"({abs(value.numerator)} / {value.denominator})"
    return text if value >= 0 else f"(- {text})"
