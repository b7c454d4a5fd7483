"""Compressors that packages ship: what is claimed."""

from commbounds.theory.column import Column, Synopsis

__all__ = ["COLUMN"]

COLUMN = Column(
    "shipped",
    "Shipped: what GRACE, FL_PyTorch, BytePS, hivemind and bitsandbytes compress with",
    "Compressors of packages for distributed training that the other columns lack, as the packages' code has them, "
    "with what that code says of itself. The code was read; papers were read in their abstracts, and are recalled "
    "beyond.",
    synopsis=Synopsis(
        found=(
            "Drawing until something is kept biases ATOMO's spectral code where a rank is given; clipping makes "
            "TernGrad lose equal entries whole; FL_PyTorch's and hivemind's estimates of sizes leave out indices and "
            "tables."
        ),
        promise="Unbiased where it is said, a stated variance, a stated size; correlation that helps all the time.",
        holds=(
            "The lazy compressor's variance and its product with Rand-K's (`shipped.bernoullilazy.variance`, "
            "`shipped.bernoullilazy.composed`); Perm-K's exact error, zero for equal vectors "
            "(`shipped.permk_mean.error`, `shipped.permk_mean.identical`); 3LC's contraction with its exact factor "
            "(`shipped.threelc.contraction`); the dynamic map's exact worst error (`shipped.dynamic_tree.contraction`)."
        ),
        fails=(
            "A factor n/k does not make draws with replacement unbiased (`shipped.replacementrandk.unbiased`); "
            "FL_PyTorch's TernGrad has a variance (`shipped.terngrad.variance_zero`); Perm-K may be worse than "
            "independent draws, by P/(P - 1) (`shipped.permk_mean.never_worse`); a shared seed does not divide the "
            "variance by the workers (`shipped.shared_randk_mean.divided`); masking turns dense DGC into SGD without "
            "momentum (`shipped.dgc_steps.dense_momentum`); bitsandbytes' map lets a negative largest entry decay "
            "(`shipped.dynamic_tree.largest`); GRACE's INCEPTIONN keeps no bound (`shipped.inceptionn.bound`), and its "
            "EF-signSGD for PyTorch begins with too large a step (`shipped.ef_signs.first_step`); ATOMO's code is "
            "biased for a rank above zero (`shipped.spectral_atoms.unbiased`)."
        ),
        tight="The exact laws are met by enumeration; contraction factors are attained on the inputs that they name.",
        lesson=(
            "Read what a decoder does with an index that comes twice; share seeds or permute by whether workers agree."
        ),
        picture="shipped.errors",
        practice=True,
    ),
)
