"""The mean of what spectral ATOMO's code sends, by its rank, for equal singular values.

shipped.spectral_atoms.unbiased, shipped.spectral_atoms.bias
"""

import numpy as np
from checkout import checkout

folder = checkout("hwang595/ATOMO", "8a21e54938bc4b0809293b306eade3ab9307ea70")
text = (folder / "src/codings/svd.py").read_text()
names: dict = {"np": np}
exec(text[text.index("def _sample_svd") : text.index("class SVD")], names)
draws = 20_000
print(f"{draws} draws; the mean of s/p of an atom over s, one for an unbiased code")
for rank, where in ((0, "the default"), (3, "the released script"), (1, "")):
    for size in (2, 4, 30):
        np.random.seed(0)  # noqa: NPY002  their function draws from the global generator
        total = np.zeros(size)
        for _ in range(draws):
            kept, probabilities = names["_sample_svd"](np.ones(size), rank=rank)
            total[kept] += 1 / probabilities
        print(f"rank {rank}{', ' * bool(where)}{where}: {size} equal singular values: {total.mean() / draws:.3f}")
