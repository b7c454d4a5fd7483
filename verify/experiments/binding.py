"""`bind`: a claim, its compressor, and the defaults that follow from what the claim measures."""

from typing import Any

import numpy as np

from commbounds.array_types import Array
from commbounds.theory import claims
from commbounds.verify.compressor_study import CompressorStudy
from commbounds.verify.defects import IdempotenceDefect, ScaleDefect, SignDefect
from commbounds.verify.experiments.setups import SETUPS, SWEEPS
from commbounds.verify.measures import Bias, Distortion, Largest, Measure, MessageBits


def _nonzero(_c: Any, y: Any) -> int:
    return sum(1 for v in y if v != 0)


MEASURES: dict[str, Measure] = {
    "relative_error": Distortion(),
    "absolute_error": Distortion(relative=False),
    "second_moment": Distortion(center=0),
    "bias": Bias(),
    "bits": MessageBits(),
    "support": Largest(_nonzero),
    "sign_defect": SignDefect(),
    "scale_defect": ScaleDefect(),
    "idempotence_defect": IdempotenceDefect(),
}
"""How each quantity is measured unless an experiment says otherwise, by the quantity's symbol."""


def bind(name: str, compressor: str, variant: str = "", **options: Any) -> CompressorStudy:
    """The experiment for the claim `name`, with set-ups, sweep and measure looked up.

    Parameters
    ----------
    name : str
        Name of the claim.
    compressor : str
        Name in the registry.
    variant : str
        Second word of the key in `SETUPS`.
    **options
        Fields of `CompressorStudy` that differ from the defaults.

    Raises
    ------
    ValueError
        There is no such claim, no set-up, or no measure of its quantity.
    """
    if name not in claims():
        raise ValueError(f"there is no claim {name!r} to bind: write it into CLAIMS of its column, in theory")
    key = f"{compressor} {variant}".strip()
    quantity = claims()[name].quantity.name
    defaults: dict[str, Any] = {"sweep": SWEEPS.get(key)}
    if key in SETUPS:
        defaults["setups"] = SETUPS[key]
    elif "setups" not in options:
        raise ValueError(
            f"no hyper-parameters of {key} are known to try: give SETUPS = {{{key!r}: lambda cls, n: [cls(...)]}} in "
            "the column's setups, before it binds claims"
        )
    if quantity in MEASURES:
        defaults["measure"] = MEASURES[quantity]
    elif "measure" not in options:
        raise ValueError(f"{name} is about {quantity}, of which no measure is known: give `measure=`, a `Measure`")
    return CompressorStudy(claim=name, subject=compressor, **{**defaults, **options})


def table(*experiments: CompressorStudy) -> dict[str, CompressorStudy]:
    """The experiments by the name of their claim."""
    by_name = {experiment.claim: experiment for experiment in experiments}
    if len(by_name) != len(experiments):
        raise ValueError("two experiments for one claim")
    return by_name


def ones(_c: Any, n: int) -> Array:
    """All entries equal."""
    return np.ones(n, dtype=np.float32)
