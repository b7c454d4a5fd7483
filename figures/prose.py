"""Formulas within sentences: what the book writes as ``s^2 <= sqrt(n)`` becomes MathML, and the words stay."""

import html
import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache

from sympy.core.alphabets import greeks

_CAPITALS = ("Gamma", "Delta", "Theta", "Lambda", "Xi", "Pi", "Sigma", "Phi", "Psi", "Omega")
GREEK = {name: html.unescape(f"&{name};") for name in {*greeks, "lambda", *_CAPITALS} - {"lamda"}} | {
    "eps": "ε",
    "inf": "∞",
}
_FUNCTION = re.compile(
    "log(2|10)?|ln|exp|max|min|det|tr|sign|arctan|atan|cosh?|sin|tan|erfc?|diag|mean|var|Bin(omial)?"
)
_DIFFERENTIAL = re.compile("d[utx]")
_NAMED = re.compile("lo|hi|low|[gx]bar|ghat|sumsq|norm[12]|grad|turn|HDx|Pk|kP|kd|Var|d[utx]")
"""Names of quantities that are longer than a letter."""
_SIGNS = {
    **{"<=": "≤", ">=": "≥", "!=": "≠", "->": "→", "+-": "±", "..": "…"},
    **{"<": "<", ">": ">", "=": "=", "~": "∼", "+": "+", "-": "−", "/": "/", "*": "⋅"},
}
_MARKS = {"'": "′", "*": "∗", "+": "+"}
_RELATIONS = frozenset(("<=", ">=", "!=", "->", "<", ">", "=", "~"))
_BREAKS = _RELATIONS | {"+", "-", "+-"}
_FIRST = "<mo form='infix' lspace='0'>{}</mo>"
"""An operator that a piece begins with keeps no space before it: the text has one there."""
_THIN = "<mspace width='0.17em'/>"
_LARGE = {"sum": "∑", "int": "∫"}
_GROUPS = {"(": (")",), "[": ("]", ")"), "{": ("}",)}
_ARTICLES = frozenset("aAI")
_NUMBERED = re.compile(r"([a-zC])(\d)")
_TOKEN = re.compile(
    r"(?P<text>`[^`]*`|[^\W\d_]\w+(?:\.\w+)+|[^\W\d_]{2,}(?:_[^\W_]{2,})+|[^\W_]+(?:[-–’'][^\W\d_]+)+)|(?P<number>\d+(?:,\d{3}(?!\d))*(?:\.\d+)?(?:e[-+]?\d+)?)|(?P<word>[^\W\d_][^\W_]*)|(?P<sign>\|\||<=|>=|!=|->|\+-|\.\.\.|\.\.|[-+*/^_=<>|(){}\[\],~'!#])|(?P<other>\S)"
)


@dataclass(frozen=True)
class _Token:
    kind: str
    text: str
    start: int
    end: int
    spaced: bool
    """Whether white space stands before it."""


def _known(word: str) -> bool:
    known = len(word) == 1 or word in ("sqrt", "floor", "ceil", *_LARGE) or _NUMBERED.fullmatch(word)
    return bool(known) or word in GREEK or bool(_FUNCTION.fullmatch(word) or _NAMED.fullmatch(word))


def _tokens(words: str) -> list[_Token]:
    found: list[_Token] = []
    at = 0
    while match := _TOKEN.search(words, at):
        kind, text = str(match.lastgroup), match[0]
        if kind == "text" and text[0] != "`":  # 1-p is a difference; n-bit, x's and alpha-beta are words
            parts = re.split(r"([-–’'_.])", text)
            names, joined = parts[::2], set(parts[1::2])
            plain = joined == {"-"} and all(part.isdecimal() or _known(part) for part in names)
            if (plain and not all(len(part) > 1 for part in names)) or (joined == {"_"} and _known(names[0])):
                text = names[0]
                kind = "number" if text.isdecimal() else "word"
        end = match.start() + len(text)
        found.append(_Token(kind, text, match.start(), end, match.start() > 0 and words[match.start() - 1].isspace()))
        at = end
    return found


class _FormulaReader:
    """Reads formulas from tokens; every method gives MathML and the place behind it, or None."""

    def __init__(self, tokens: list[_Token]) -> None:
        self.tokens = tokens
        self.barred = 0  # how many bars are open
        self.depth = 0  # how many groups are
        self.inner = False  # whether an inner product is

    def _is(self, at: int, *texts: str) -> bool:
        return at < len(self.tokens) and self.tokens[at].kind == "sign" and self.tokens[at].text in texts

    def _joined(self, at: int) -> bool:
        """Whether the token stands directly behind the one before."""
        return at < len(self.tokens) and not self.tokens[at].spaced

    def pieces(self, at: int) -> tuple[list[str], int] | None:
        """A formula, cut where a line may be broken: before a relation, and before + and -."""
        first = self._operand(at, first=True)
        if first is None:
            return None
        pieces, (row, at) = [], first
        while True:
            if self._is(at, *_SIGNS) and not self._bounds_product(at):
                sign = self.tokens[at].text
                after = self._operand(at + 1, behind=True)
                if after is None:
                    break
                if sign in _BREAKS and not self.barred and not self.depth:
                    pieces.append(row)
                    row = _FIRST.format(html.escape(_SIGNS[sign]))
                else:
                    row += (
                        "<mo lspace='0' rspace='0'>/</mo>" if sign == "/" else f"<mo>{html.escape(_SIGNS[sign])}</mo>"
                    )
                row, at = row + after[0], after[1]
            else:
                factor = self._operand(at)
                if factor is None:
                    break
                long = any(
                    t.kind == "word" and len(t.text) > 1 and t.text not in GREEK for t in self.tokens[at - 1 : at + 1]
                )
                row, at = row + (_THIN if long and self.tokens[at].spaced else "") + factor[0], factor[1]
        return [*pieces, row], at

    def _bounds_product(self, at: int) -> bool:
        """Whether a sign begins or ends an inner product, <x, y>, and is no relation."""
        return (self.inner and self._is(at, ">")) or (self._is(at, "<") and self._joined(at + 1))

    def _formula(self, at: int) -> tuple[str, int] | None:
        found = self.pieces(at)
        return found and ("".join(found[0]), found[1])

    def _operand(self, at: int, *, first: bool = False, behind: bool = False) -> tuple[str, int] | None:
        """A factor with its signs, indices and exponents; `behind` an operator, or the `first` of a formula."""
        if (first or behind) and self._is(at, "-", "+-", "+") and self._joined(at + 1):
            found = self._operand(at + 1, behind=True)
            return found and (f'<mo form="prefix">{_SIGNS[self.tokens[at].text]}</mo>{found[0]}', found[1])
        atom = self._atom(at, behind=behind, opens=first or behind)
        return atom and self._scripts(*atom)

    def _scripts(self, base: str, at: int) -> tuple[str, int]:
        lower = upper = ""
        while self._joined(at):
            if self._is(at, "_") and not lower and self._joined(at + 1):
                found = self._script(at + 1)
                if found is None:
                    break
                lower, at = found
            elif self._is(at, "^") and self._joined(at + 1):
                found = self._script(at + 1, upper=True)
                if found is None:
                    break
                upper, at = upper + found[0], found[1]
            elif self._is(at, "'", "+", "*") and self._ends(at + 1) and not base.startswith("<mn"):
                upper, at = upper + f"<mo>{_MARKS[self.tokens[at].text]}</mo>", at + 1
            elif self._is(at, "~") and self._ends(at + 1):
                base, at = f'<mover accent="true">{base}<mo>~</mo></mover>', at + 1
            elif self._is(at, "!"):
                base, at = f"<mrow>{base}<mo>!</mo></mrow>", at + 1
            else:
                break
        if lower and upper:
            return f"<msubsup>{base}<mrow>{lower}</mrow><mrow>{upper}</mrow></msubsup>", at
        if lower or upper:
            tag = "msub" if lower else "msup"
            return f"<{tag}>{base}<mrow>{lower or upper}</mrow></{tag}>", at
        return base, at

    def _ends(self, at: int) -> bool:
        """Whether a mark before this place belongs to what is before it: nothing follows that it could join."""
        return not self._joined(at) or self.tokens[at].kind not in ("number", "word")

    def _script(self, at: int, *, upper: bool = False) -> tuple[str, int] | None:
        """An index or exponent: a sign and a number or name, or what is in parentheses, without these."""
        if self._is(at, "+", "*") and self._ends(at + 1):
            return f"<mo>{_MARKS[self.tokens[at].text]}</mo>", at + 1
        if self._is(at, "-", "+") and self._joined(at + 1):
            found = self._script(at + 1, upper=upper)
            return found and (f"<mo>{_SIGNS[self.tokens[at].text]}</mo>{found[0]}", found[1])
        if self._is(at, "("):
            inside = self._list(at + 1, (")",))
            return inside and (inside[0], inside[1])
        if at < len(self.tokens) and self.tokens[at].kind in ("number", "word"):
            name = _name(self.tokens[at])
            if upper and self._is(at + 1, "_") and self._joined(at + 1) and (found := self._script(at + 2)):
                return f"<msub>{name}<mrow>{found[0]}</mrow></msub>", found[1]
            return name, at + 1
        return None

    def _list(self, at: int, closing: tuple[str, ...]) -> tuple[str, int] | None:
        """Formulas, with commas or bars between them, up to what closes them."""
        row, bars, self.barred, self.depth = "", self.barred, 0, self.depth + 1
        try:
            while True:
                found = self._formula(at)
                if found is None:
                    return None
                row, at = row + found[0], found[1]
                if self._is(at, *closing):
                    return row, at + 1
                if self._is(at, ",", "|") or (at < len(self.tokens) and self.tokens[at].text == ";"):
                    row, at = row + f"<mo>{self.tokens[at].text}</mo>", at + 1
                else:
                    return None
        finally:
            self.barred, self.depth = bars, self.depth - 1

    def _atom(self, at: int, *, behind: bool, opens: bool) -> tuple[str, int] | None:
        if at >= len(self.tokens):
            return None
        token = self.tokens[at]
        if token.kind == "number":
            if self._joined(at + 1) and self.tokens[at + 1].kind == "word" and not _known(self.tokens[at + 1].text):
                return None  # 2nd
            return f"<mn>{token.text}</mn>", at + 1
        if token.kind == "word":
            return self._word(at, behind=behind)
        if token.kind != "sign":
            return None
        if token.text in _GROUPS:
            inside = self._list(at + 1, _GROUPS[token.text])
            if inside is None:
                return None
            closing = self.tokens[inside[1] - 1].text
            return f"<mrow>{_fence(token.text)}{inside[0]}{_fence(closing, 'postfix')}</mrow>", inside[1]
        if token.text in ("|", "||") and (opens or not self.barred):
            self.barred += 1
            inside = self._formula(at + 1)
            self.barred -= 1
            if inside is None or not self._is(inside[1], token.text):
                return None
            bar = "‖" if token.text == "||" else "|"
            return f"<mrow>{_fence(bar)}{inside[0]}{_fence(bar, 'postfix')}</mrow>", inside[1] + 1
        if token.text == "<":
            return self._product(at)
        if token.text == "...":
            return "<mo>…</mo>", at + 1
        if token.text == "#" and self._is(at + 1, "{"):
            inside = self._list(at + 2, ("}",))
            return inside and (f"<mrow><mi>#</mi>{_fence('{')}{inside[0]}{_fence('}', 'postfix')}</mrow>", inside[1])
        return None

    def _product(self, at: int) -> tuple[str, int] | None:
        """An inner product."""
        if self.inner or not self._joined(at + 1):
            return None
        self.inner = True
        inside = self._list(at + 1, (">",))
        self.inner = False
        if inside is None or "<mo>,</mo>" not in inside[0]:
            return None
        return f"<mrow>{_fence('⟨')}{inside[0]}{_fence('⟩', 'postfix')}</mrow>", inside[1]

    def _word(self, at: int, *, behind: bool) -> tuple[str, int] | None:
        token, name = self.tokens[at], self.tokens[at].text
        if name in ("sqrt", "floor", "ceil") and self._is(at + 1, "(") and self._joined(at + 1):
            inside = self._list(at + 2, (")",))
            if inside is None:
                return None
            if name == "sqrt":
                return f"<msqrt>{inside[0]}</msqrt>", inside[1]
            left, right = ("⌊", "⌋") if name == "floor" else ("⌈", "⌉")
            return f"<mrow>{_fence(left)}{inside[0]}{_fence(right, 'postfix')}</mrow>", inside[1]
        if name == "sqrt":
            inside = self._operand(at + 1)
            return inside and (f"<msqrt>{inside[0]}</msqrt>", inside[1])
        if name in _LARGE or _FUNCTION.fullmatch(name) or name == "grad":
            found = self._function(at)
            return found or ((_name(token), at + 1) if name == "grad" else None)
        if name in _ARTICLES and not self._used(at, behind=behind):
            return None
        if name == "E" and self._operand(at + 1) is not None:
            return f"<mi>𝔼</mi>{_THIN}", at + 1
        if _known(name) or self.barred or (self._joined(at + 1) and self._is(at + 1, "^", "_", "~")):
            return _name(token), at + 1
        follows = at + 1 == len(self.tokens) or self.tokens[at + 1].kind in ("sign", "other")
        opened = self._is(at - 1, "(", ",") and self._is(at + 1, "+", "-", "*", "/")
        called = self._is(at - 1, "(") and self._joined(at - 1) and self.tokens[at - 2].kind == "word"
        opened |= called and self._is(at + 1, ",", ")")
        return (_name(token), at + 1) if opened or (behind and follows) else None

    def _used(self, at: int, *, behind: bool) -> bool:
        """Whether a letter that is an English word as well stands in a formula."""
        after = self.tokens[at + 1] if at + 1 < len(self.tokens) else None
        word_follows = after is not None and after.kind in ("word", "text", "other")
        if after is not None and after.kind == "word" and _known(after.text) and after.text not in _ARTICLES:
            word_follows = False
        if self._is(at + 1, "("):  # a (1 + w) = 1, but not: a (small) part
            group = self._list(at + 2, (")",))
            if group is not None and self._is(group[1], *_SIGNS):
                return True
        if self._is(at + 1, "^", "_", "'", "~", "=", "<=", ">=", "<", ">", "+", "-", "*", "/"):
            return True
        return (
            behind
            if word_follows
            else behind or self._is(at - 1, "(", "[", "|", "||", "<") or self._is(at + 1, ")", "|")
        )

    def _function(self, at: int) -> tuple[str, int] | None:
        """A sum, an integral, a gradient or a function with its argument; a function alone before a relation."""
        name = self.tokens[at].text
        if name == "grad":
            sign = "<mo form='prefix' lspace='0' rspace='0'>∇</mo>"
        elif name in _LARGE:
            sign = f"<mo movablelimits='true' largeop='false'>{_LARGE[name]}</mo>"
        elif name[-1].isdecimal():
            sign = f"<msub><mi>log</mi><mn>{name[3:]}</mn></msub>"
        else:
            sign = f"<mi>{name}</mi>"
        base, after = self._scripts(sign, at + 1)
        argument = None if self._is(after, "<", "#") else self._operand(after)
        if argument is None:
            alone = _FUNCTION.fullmatch(name) and self._is(after, "=", "<=", ">=", "<", ")", "]", "|", "||")
            return (base, after) if alone else None
        space = "" if self._is(after, "(", "[", "|", "||") or name == "grad" else _THIN
        return f"<mrow>{base}{space}{argument[0]}</mrow>", argument[1]


def _fence(sign: str, form: str = "prefix") -> str:
    return f"<mo form='{form}' stretchy='false'>{sign}</mo>"


def _name(token: _Token) -> str:
    if token.kind == "number":
        return f"<mn>{token.text}</mn>"
    if token.text in GREEK:
        return f"<mi>{GREEK[token.text]}</mi>"
    if numbered := _NUMBERED.fullmatch(token.text):
        return f"<msub><mi>{numbered[1]}</mi><mn>{numbered[2]}</mn></msub>"
    if len(token.text) == 1 or _DIFFERENTIAL.fullmatch(token.text) or token.text in ("HDx", "Pk", "kP", "kd"):
        return "".join(f"<mi>{html.escape(letter)}</mi>" for letter in token.text)
    return f"<mi>{html.escape(token.text)}</mi>"


def _worth(tokens: list[_Token]) -> bool:
    """Whether what was read says more as a formula: numbers and quotients of numbers stay as they are."""
    return any(token.kind == "word" or token.text in ("^", "<=", ">=", "!=", "*", "|", "||") for token in tokens)


@cache
def formulas(words: str) -> tuple[tuple[int, int, str], ...]:
    """Where formulas begin and end in `words`, and each as HTML with MathML; a long one in pieces between line breaks.

    Examples
    --------
    >>> [words[begin:end] for words in ["At most s^2 of n entries."] for begin, end, _ in formulas(words)]
    ['s^2', 'n']
    """
    return tuple(_found(words))


def _found(words: str) -> Iterator[tuple[int, int, str]]:
    tokens = _tokens(words)
    reader = _FormulaReader(tokens)
    at = 0
    while at < len(tokens):
        read = reader.pieces(at)
        if read is None or not _worth(tokens[at : read[1]]):
            at = at + 1 if read is None else read[1]
            continue
        pieces, end = read
        math = " ".join(f"<math>{piece}</math>" for piece in pieces)
        yield tokens[at].start, tokens[end - 1].end, math
        at = end


def prose(words: str) -> str:
    """`words` as HTML: formulas as MathML, and what stands in backticks as code.

    Examples
    --------
    >>> prose("n & more")
    '<math><mi>n</mi></math> &amp; more'
    """
    shown, at = "", 0
    for begin, end, math in formulas(words):
        shown += _plain(words[at:begin]) + math
        at = end
    return re.sub(r"`([^`]*)`", r"<code>\1</code>", shown + _plain(words[at:]))


def _plain(words: str) -> str:
    """What stands between formulas; relations between words have their signs as well."""
    return html.escape(re.sub(r"(?<=\s)(<=|>=|!=)(?=\s)", lambda sign: _SIGNS[sign[0]], words))
