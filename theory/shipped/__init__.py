"""Compressors that packages ship: what is claimed."""

from commbounds.theory.column import Column, Synopsis

__all__ = ["COLUMN"]

COLUMN = Column(
    "shipped",
    "Shipped: the compressors of GRACE, FL_PyTorch, BytePS, hivemind and bitsandbytes",
    "The column has the compressors of packages for distributed training that other columns lack, as in the packages' "
    "code, and the statements in that code. The code was read; of the papers only the abstracts, the rest is recalled.",
    synopsis=Synopsis(
        found=(
            "Drawing until something is kept biases ATOMO's spectral code if a rank is given; with clipping TernGrad "
            "loses equal entries completely; FL_PyTorch's and hivemind's estimates of sizes leave out indices and "
            "tables."
        ),
        promise="Compressors called unbiased are so, variances and sizes are as stated, and correlation always helps.",
        holds=(
            "The lazy compressor's variance is as stated, also in its product with Rand-K "
            "(`shipped.bernoullilazy.variance`, `shipped.bernoullilazy.composed`). Perm-K's exact error is zero for "
            "equal vectors (`shipped.permk_mean.error`, `shipped.permk_mean.identical`). 3LC contracts with an exact "
            "factor (`shipped.threelc.contraction`), and the dynamic map has an exact worst error "
            "(`shipped.dynamic_tree.contraction`)."
        ),
        fails=(
            "A factor n/k does not make draws with replacement unbiased (`shipped.replacementrandk.unbiased`); "
            "FL_PyTorch's TernGrad has a variance (`shipped.terngrad.variance_zero`); Perm-K can be worse than "
            "independent draws, by P/(P - 1) (`shipped.permk_mean.never_worse`); a shared seed does not divide the "
            "variance by the workers (`shipped.shared_randk_mean.divided`); masking turns dense DGC into SGD without "
            "momentum (`shipped.dgc_steps.dense_momentum`); bitsandbytes' map lets a negative largest entry decay "
            "(`shipped.dynamic_tree.largest`); GRACE's INCEPTIONN exceeds its bound (`shipped.inceptionn.bound`), and "
            "its EF-signSGD for PyTorch begins with too large a step (`shipped.ef_signs.first_step`); ATOMO's code is "
            "biased for a rank above zero (`shipped.spectral_atoms.unbiased`)."
        ),
        tight="Enumerations confirm the exact laws; the inputs named attain the contraction factors.",
        lesson="Check how decoders treat repeated indices; share seeds if workers cancel, permute if they agree.",
        picture="shipped.errors",
        practice=True,
    ),
)
