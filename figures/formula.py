"""Formulas as MathML, which browsers set without any font or script of ours."""

import re
from functools import cache

from latex2mathml.converter import convert

_BAR = "<mo>&#x02016;</mo>"
_FACTORS = re.compile(r"(?<=[\w}]) (?=\\mathrm)|(?<=[A-Za-z]}) (?=\w)")


@cache
def mathml(latex: str, *, large: bool = False) -> str:
    """`latex` as one ``<math>`` element.

    Parameters
    ----------
    latex : str
        As `Claim.latex` gives it.
    large : bool
        Whether fractions are set as tall as on a line of their own.

    Returns
    -------
    str
        MathML, as a fragment of HTML. A word and a letter next to it are set apart. The bars of a norm stay close
        to what they enclose: a browser takes a bare one for a relation and puts space around it.
    """
    element: str = convert(_FACTORS.sub(r"\\,", latex))
    element = element.replace(_BAR, '<mo form="prefix" stretchy="false">&#x02016;</mo>')
    return element.replace('display="inline"', 'displaystyle="true"', 1) if large else element
