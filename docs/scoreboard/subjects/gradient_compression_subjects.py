"""gradient-compression's random projection: encoded by a random matrix, decoded by its transpose."""

import torch
from gradient_compression import rp_compression

from commbounds.verify import conformance as cf

torch.set_num_threads(1)


def projected(x, seed):
    """To half of the columns, with the seed that the package takes."""
    matrix = rp_compression.gen_random_matrix(x.shape[1], max(1, x.shape[1] // 2), seed=seed)
    return rp_compression.decoding(rp_compression.encoding(x, matrix), matrix)


subjects = [
    cf.Codec(
        cf.on_torch(projected),
        [cf.Unbiased()],
        name="random projection",
        shape=(4, 6),
        effort=0.2,
        magnitudes=(1e-3, 1e3),
    )
]
