"""fpq: numbers of [0, 1] and [-1, 1] as normalised integers."""

from fpq import fp

from commbounds.verify import conformance as cf

BITS = 8


def unorm(x, seed):
    """Unsigned."""
    return fp.decode_std_unorm_to_fp(fp.encode_fp_to_std_unorm(x, nbits=BITS), nbits=BITS)


def snorm(x, seed):
    """Signed."""
    return fp.decode_std_snorm_to_fp(fp.encode_fp_to_std_snorm(x, nbits=BITS), nbits=BITS)


def ogl_snorm(x, seed):
    """Signed, as OpenGL has it."""
    return fp.decode_ogl_snorm_to_fp(fp.encode_fp_to_ogl_snorm(x, nbits=BITS), nbits=BITS)


ONE = {"magnitudes": (1e-6, 1.0)}
signed = [cf.AbsoluteError(0.5 / (2 ** (BITS - 1) - 1)), cf.SignSymmetric(), cf.Idempotent()]
subjects = [
    cf.Codec(
        unorm,
        [cf.AbsoluteError(0.5 / (2**BITS - 1)), cf.Idempotent()],
        name="unorm, 8 bits",
        admits=lambda x: bool((x >= 0).all()),
        **ONE,
        effort=0.2,
    ),
    cf.Codec(snorm, signed, name="snorm, 8 bits", **ONE, effort=0.2),
    cf.Codec(ogl_snorm, signed, name="OpenGL snorm, 8 bits", **ONE, effort=0.2),
]
