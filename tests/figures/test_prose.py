"""Formulas within sentences: what becomes one, what stays a word, and that nothing is lost."""

import html
import re
from xml.etree import ElementTree

import pytest

from commbounds.columns import columns
from commbounds.figures.prose import GREEK, formulas, prose
from commbounds.theory import book

NAMED = re.compile(rf"(?<![A-Za-z])({'|'.join((*GREEK, 'sqrt', 'floor', 'ceil', 'sum', 'int', 'grad'))})(?![A-Za-z])")


def found(words):
    return [words[begin:end] for begin, end, _ in formulas(words)]


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        ("At most s^2 of n entries", ["s^2", "n"]),
        ("3LC contracts with alpha = 4 s (2 - s)/(4 + (n - 1) s^2)", ["alpha = 4 s (2 - s)/(4 + (n - 1) s^2)"]),
        ("a rank takes a (1 + w) = 1, a small part of a", ["a (1 + w) = 1"]),
        ("A step takes (a, b) to (a + b, a - b).", ["(a, b)", "(a + b, a - b)"]),
        ("1-bit Adam, 0/1 Adam, EF21-P, Top-K, k-th, alpha-beta, E4M3, FL_PyTorch, x's, 2nd, 1/32, 6.9 %", []),
        ("so (1-p) of it, and (r-1)/(N-1)", ["(1-p)", "(r-1)/(N-1)"]),
        ("E ||x - mean||^2 <= (omega + 1)||x||^2: unbiased", ["E ||x - mean||^2 <= (omega + 1)||x||^2"]),
        ("f(x+) <= f(x) + <grad, x+ - x>, where x+ is new", ["f(x+) <= f(x) + <grad, x+ - x>", "x+"]),
        ("the sum of these, the largest and the mean of all", []),
        ("sum_p T(j_p) = c sum_p j_p; and only then", ["sum_p T(j_p) = c sum_p j_p"]),
        ("floor(log2 P) words, 2 ceil(|T|/P) at most", ["floor(log2 P)", "2 ceil(|T|/P)"]),
        ("see `x^2` in code.of.it and in feedback.ef21.descent", []),
        ("not balanced: (n + 1 and |x of it", ["n + 1", "x"]),
        ("x_1, ..., x_n and 0 .. 2^b - 1", ["x_1", "x_n", "0 .. 2^b - 1"]),
        ("E[1/K; K >= 1] is finite", ["E[1/K; K >= 1]"]),
    ],
)
def test_what_is_a_formula(words, expected):
    assert found(words) == expected


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        ("s^2", "<math><msup><mi>s</mi><mrow><mn>2</mn></mrow></msup></math>"),
        (
            "x_i^-9",
            "<math><msubsup><mi>x</mi><mrow><mi>i</mi></mrow><mrow><mo>−</mo><mn>9</mn></mrow></msubsup></math>",
        ),
        ("sqrt(n)", "<math><msqrt><mi>n</mi></msqrt></math>"),
        (
            "q^(P/2)",
            "<math><msup><mi>q</mi><mrow><mi>P</mi><mo lspace='0' rspace='0'>/</mo><mn>2</mn></mrow></msup></math>",
        ),
        ("L~", '<math><mover accent="true"><mi>L</mi><mo>~</mo></mover></math>'),
        ("k <= n", "<math><mi>k</mi></math> <math><mo form='infix' lspace='0'>≤</mo><mi>n</mi></math>"),
        ("completed <= target & more", "completed ≤ target &amp; more"),
        ("`x^2` <em>", "<code>x^2</code> &lt;em&gt;"),
    ],
)
def test_how_it_is_set(words, expected):
    assert prose(words) == expected


def texts(column):
    for claim in book.columns()[column].claims:
        source = claim.source
        for words in (claim.title, source.proof, source.reading, claim.note, claim.extremal):
            if words:
                yield claim.name, words


def spelled(text):
    """Letters and digits; without the names that have a sign of their own."""
    return re.findall(r"[a-zA-Z0-9]", NAMED.sub("", text.replace("𝔼", "E")))


@pytest.mark.parametrize("column", columns())
def test_every_formula_in_the_words_of_the_book_is_set(column):
    for name, words in texts(column):
        page = prose(words)
        ElementTree.fromstring(f"<p>{page}</p>")
        outside = re.sub(r"<math>.*?</math>|<code>.*?</code>", " ", page)
        assert not re.search(r"\^|sqrt|\|\||(?<![\w.])[A-Za-z]_\w|\|[a-z(]|&lt;=|&gt;=", outside), (name, outside)


@pytest.mark.parametrize("column", columns())
def test_no_letter_and_no_digit_is_lost_or_moved(column):
    for name, words in texts(column):
        page = html.unescape(re.sub(r"<[^>]*>", " ", prose(words)))
        assert spelled(page) == spelled(words), name
