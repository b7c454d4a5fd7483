"""Copies past the cache: for results larger than it, which nobody reads soon.

Numba's cache does not notice an edit here: kernels that call this live in other files.
"""

from typing import Any

from llvmlite import ir  # type: ignore[import-untyped]
from numba.core import cgutils, types
from numba.extending import intrinsic, overload

from commbounds.array_types import Array

_LINE = 64
"""Bytes of a store: a cache line, or what the machine makes of it."""


def streamed(out: Array, x: Array) -> None:
    """Fills `out` with `x`, both contiguous vectors of one length and dtype; compiled, with non-temporal stores.

    A plain store first reads the line that it overwrites; such a store does not, and leaves the cache as it is.
    """
    out[:] = x


@overload(streamed)
def _streamed(out, x):  # type: ignore[no-untyped-def]
    def copy(out, x):  # type: ignore[no-untyped-def]
        # plain stores up to the first full line, and behind the last
        lead = min(out.size, (-out.ctypes.data % _LINE) // out.itemsize)
        per_line = _LINE // out.itemsize
        body = (out.size - lead) // per_line * per_line
        for i in range(lead):
            out[i] = x[i]
        _stream_lines(out[lead : lead + body], x[lead : lead + body])
        for i in range(lead + body, out.size):
            out[i] = x[i]

    return copy


@intrinsic
def _stream_lines(_typing, out, x):  # type: ignore[no-untyped-def]
    # whole lines, `out` aligned to one; the fence orders them before whatever tells other threads that they are there
    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        target, source = (
            context.make_array(kind)(context, builder, value)
            for kind, value in zip(signature.args, arguments, strict=True)
        )
        line = ir.VectorType(ir.IntType(8), _LINE).as_pointer()
        places, values = (builder.bitcast(array.data, line) for array in (target, source))
        size = builder.mul(target.nitems, target.itemsize)
        lines = builder.udiv(size, ir.Constant(size.type, _LINE))
        mark = builder.module.add_metadata([ir.Constant(ir.IntType(32), 1)])
        with cgutils.for_range(builder, lines) as loop:
            value = builder.load(builder.gep(values, [loop.index]), align=1)
            stored = builder.store(value, builder.gep(places, [loop.index]), align=_LINE)
            stored.set_metadata("nontemporal", mark)
        builder.fence("seq_cst")
        return context.get_dummy_value()

    return types.void(out, x), generate
