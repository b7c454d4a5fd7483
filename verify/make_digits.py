"""Makes ``digits.npz``: ``python -m commbounds.verify.make_digits [FILE]``; needs scikit-learn.

The 1797 handwritten digits that scikit-learn bundles (the test part of the UCI set "Optical Recognition of Handwritten
Digits", E. Alpaydin, C. Kaynak, 1998, CC BY 4.0), as they are: 8 x 8 pixels from 0 to 16.
"""

import sys
from pathlib import Path

import numpy as np

from commbounds.verify.make_gradients import digits


def main(arguments: list[str]) -> None:
    """Write the digits to the file named, or beside this module."""
    path = Path(arguments[0]) if arguments else Path(__file__).with_name("digits.npz")
    images, labels = digits()
    with path.open("wb") as file:
        np.savez_compressed(file, images=np.rint(images * 16).astype(np.uint8), labels=labels.astype(np.uint8))
    print(f"{path}: {path.stat().st_size} bytes")


if __name__ == "__main__":
    main(sys.argv[1:])
