"""What is expected of a compressor: its message in parts, their size in bits, and the vector that they stand for."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from commbounds.array_types import Array
from commbounds.compressors import Message
from commbounds.compressors._random import fill_uniforms, key_from
from commbounds.verify.vectors.case import VectorCase
from commbounds.verify.vectors.numbers import Record


def parts_of(message: Message) -> Record:
    """What goes on the wire, part by part; of `GroupCodes` the codes as well, which the planes hold packed."""
    return Record(type(message).__name__, message.parts)


def sent(compressor: Any, case: VectorCase) -> Any:
    """The message that `compressor` makes of the case's x, with the randomness of the case in place of its own."""
    x, randomness = case.inputs["x"], case.randomness
    if not randomness:
        return compressor.compress(x)
    if "seed" in randomness:
        return compressor.compress(x, np.random.default_rng(randomness["seed"]))
    return compressor.compress_with(x, **randomness)


def received(compressor: Any, case: VectorCase) -> Mapping[str, Any]:
    """What is expected: the message part by part, its size in bits, and what the receiver reads.

    Raises
    ------
    RuntimeError
        The compressor does not read what it made: that is no refusal of x.
    """
    message = sent(compressor, case)
    try:
        output = compressor.decompress(message)
    except (TypeError, ValueError) as error:
        raise RuntimeError(f"{type(compressor).__name__} refuses its own message: {error}") from error
    return {"message": parts_of(message), "bits": message.bits, "output": output}


def keyed(x: Array, seed: int) -> dict[str, Any]:
    """Randomness from a counter: the key that a numpy seed gives, the generator's name, and the uniforms it makes."""
    key = key_from(np.random.default_rng(seed))
    drawn = np.empty_like(x)
    fill_uniforms(key, 0, drawn)
    return {"seed": seed, "key": f"0x{int(key):016x}", "generator": "splitmix64", "uniforms": drawn}
