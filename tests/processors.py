"""The environment of a process that computes as on an old processor."""

import platform

import numpy as np
import pytest

on_x86 = pytest.mark.skipif(
    platform.machine() not in ("x86_64", "AMD64"), reason="the names of features are those of x86-64"
)


def old_processor(folder):
    """No vectors longer than SSE's, in Numba's code (cached in `folder`), in OpenBLAS or in what NumPy has several of.

    NumPy's features are those that it finds here: their names differ between its releases, and it ignores others.
    """
    return {
        "NUMBA_CACHE_DIR": str(folder),
        "NUMBA_CPU_NAME": "generic",
        "NUMBA_CPU_FEATURES": "",
        "OPENBLAS_CORETYPE": "Nehalem",
        "NPY_DISABLE_CPU_FEATURES": " ".join(np.show_config(mode="dicts")["SIMD Extensions"].get("found", [])),
    }
