"""Test vectors as C99: a header of bit patterns for each subject, and a program that reads them."""

import json
import re
from collections.abc import Iterator, Mapping
from typing import Any

from commbounds import __version__

COMMON, MAIN = "commbounds_vectors.h", "main.c"
_WIDTHS = {1: "uint8_t", 2: "uint16_t", 4: "uint32_t", 8: "uint64_t"}
_LINE = 110

_COMMON = """/* What the headers of test vectors share. C99; bits, not values, are compared. */
#ifndef COMMBOUNDS_VECTORS_H
#define COMMBOUNDS_VECTORS_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

typedef struct {
    const char *path;   /* "inputs.x", "randomness.uniforms", "expected.output", "expected.message.values" */
    const char *dtype;  /* as numpy calls it; "text" for a string */
    size_t itemsize;    /* bytes of an entry */
    size_t size;        /* entries, in row order */
    size_t ndim;        /* 0 for a single number */
    size_t shape[8];
    const void *bits;   /* entries as unsigned integers of that size, or the string */
} cb_array;

typedef struct {
    const char *name, *why;
    int refused;        /* the input is to be refused, whatever a port calls its errors */
    size_t count;
    const cb_array *arrays;
} cb_vector;

typedef struct {
    const char *subject;
    size_t count;
    const cb_vector *vectors;
} cb_subject;

/* The array of that path; NULL if the vector has none. */
static inline const cb_array *cb_find(const cb_vector *v, const char *path) {
    for (size_t i = 0; i < v->count; i++)
        if (strcmp(v->arrays[i].path, path) == 0) return &v->arrays[i];
    return NULL;
}

/* The first entry whose bits are not those expected, or -1; any NaN of float32 or float64 is as good as another. */
static inline ptrdiff_t cb_differs(const cb_array *wanted, const void *got) {
    for (size_t i = 0; i < wanted->size; i++) {
        const char *a = (const char *)wanted->bits + i * wanted->itemsize;
        const char *b = (const char *)got + i * wanted->itemsize;
        if (memcmp(a, b, wanted->itemsize) == 0) continue;
        if (strcmp(wanted->dtype, "float32") == 0) {
            float x, y;
            memcpy(&x, a, sizeof x), memcpy(&y, b, sizeof y);
            if (x != x && y != y) continue;
        } else if (strcmp(wanted->dtype, "float64") == 0) {
            double x, y;
            memcpy(&x, a, sizeof x), memcpy(&y, b, sizeof y);
            if (x != x && y != y) continue;
        }
        return (ptrdiff_t)i;
    }
    return -1;
}

/* FNV-1a over the bytes of an array's entries, least significant first. */
static inline uint64_t cb_sum(const cb_array *array, uint64_t hash) {
    for (size_t i = 0; i < array->size; i++) {
        const unsigned char *entry = (const unsigned char *)array->bits + i * array->itemsize;
        uint64_t word = 0;
        if (array->itemsize == 1) word = *entry;
        if (array->itemsize == 2) { uint16_t w; memcpy(&w, entry, 2); word = w; }
        if (array->itemsize == 4) { uint32_t w; memcpy(&w, entry, 4); word = w; }
        if (array->itemsize == 8) memcpy(&word, entry, 8);
        for (size_t byte = 0; byte < array->itemsize; byte++, word >>= 8)
            hash = (hash ^ (word & 0xff)) * 0x100000001b3u;
    }
    return hash;
}

#endif
"""

_MAIN = """/* Reads every vector, and gives it to a port: cc -std=c99 -DCB_PORT=my_port main.c my_port.c
 * with int my_port(const cb_subject *, const cb_vector *): 0 where it gives the bits expected, or refuses what is to be
 * refused; 1 where not; 2 where it has no such subject. Without CB_PORT the sums of the arrays are compared alone. */
#include <stdio.h>
%(includes)s
#ifdef CB_PORT
int CB_PORT(const cb_subject *, const cb_vector *);
#endif

int main(void) {
    static const struct { const cb_subject *subject; uint64_t sum; } all[] = {
%(rows)s
    };
    size_t damaged = 0, failed = 0, passed = 0, left = 0;
    for (size_t s = 0; s < sizeof all / sizeof *all; s++) {
        const cb_subject *subject = all[s].subject;
        uint64_t sum = 0xcbf29ce484222325u;
        for (size_t v = 0; v < subject->count; v++) {
            const cb_vector *vector = &subject->vectors[v];
            for (size_t i = 0; i < vector->count; i++) sum = cb_sum(&vector->arrays[i], sum);
#ifdef CB_PORT
            int answer = CB_PORT(subject, vector);
            if (answer == 1) printf("%%s: %%s\\n", subject->subject, vector->name);
            failed += answer == 1, passed += answer == 0, left += answer == 2;
#else
            left++;
#endif
        }
        if (sum != all[s].sum) {
            printf("%%s: the header is damaged\\n", subject->subject);
            damaged++;
        }
    }
    printf("%%zu subjects, %%zu vectors passed, ", sizeof all / sizeof *all, passed);
    printf("%%zu failed, %%zu left out\\n", failed, left);
    return damaged || failed ? 1 : passed ? 0 : 2;
}
"""


def c_files(files: Mapping[str, str]) -> dict[str, str]:
    """Headers and a program, by their paths, of the JSON files that `contents` gives.

    Parameters
    ----------
    files : mapping of str to str
        What is not of a subject is left out.
    """
    found, rows = {COMMON: _COMMON}, []
    for path in sorted(files):
        if not path.startswith(("compressors/", "collectives/")):
            continue
        held = json.loads(files[path])
        name = _identifier(held["subject"])
        text, total = _header(name, held)
        found[f"{name}.h"] = text
        rows.append((name, total))
    includes = "\n".join(f'#include "{name}.h"' for name, _ in rows)
    table = "\n".join(f"        {{&cb_{name}, 0x{total:016x}u}}," for name, total in rows)
    found[MAIN] = _MAIN % {"includes": includes, "rows": table}
    return found


def _identifier(name: str) -> str:
    return re.sub(r"\W", "_", name)


def _header(name: str, held: Mapping[str, Any]) -> tuple[str, int]:
    """The header of a subject, and the sum of its arrays."""
    guard, total = f"COMMBOUNDS_{name.upper()}_H", 0xCBF29CE484222325
    lines = [f"/* {held['subject']}: {_plain(held['summary'])} (commbounds {__version__}) */"]
    lines += [f"#ifndef {guard}", f"#define {guard}", f'#include "{COMMON}"']
    vectors = []
    for number, vector in enumerate(held["vectors"]):
        own, arrays = f"cb_{name}_{number}", []
        for part in ("inputs", "parameters", "randomness", "expected"):
            for place, (path, leaf) in enumerate(_leaves(part, vector.get(part, {}))):
                kind, itemsize, shape, words = _words(leaf)
                size = len(words)
                symbol = f"{own}_{part}_{place}"
                lines += _array(symbol, itemsize, words)
                sizes = ", ".join(map(str, shape)) or "0"
                arrays.append(
                    f"{{{_string(path)}, {_string(kind)}, {itemsize}, {size}, {len(shape)}, {{{sizes}}}, {symbol}}}"
                )
                total = _summed(total, itemsize, words)
        lines.append(f"static const cb_array {own}[] = {{")
        lines += [f"    {array}," for array in arrays or ['{"", "", 1, 0, 0, {0}, 0}']]
        lines.append("};")
        refused = int("error" in vector["expected"])
        vectors.append(f"{{{_string(vector['name'])}, {_string(vector['why'])}, {refused}, {len(arrays)}, {own}}}")
    lines.append(f"static const cb_vector cb_{name}_vectors[] = {{")
    lines += [f"    {vector}," for vector in vectors]
    subject = f"{_string(held['subject'])}, {len(vectors)}, cb_{name}_vectors"
    lines += ["};", f"static const cb_subject cb_{name} = {{{subject}}};"]
    return "\n".join([*lines, "#endif", ""]), total


def _leaves(path: str, value: Any) -> Iterator[tuple[str, Any]]:
    """Arrays, numbers and strings of a vector, by where they are; fields of records without their names."""
    if isinstance(value, dict) and "dtype" not in value:
        inner = value["fields"] if "record" in value else value
        for name in inner if isinstance(inner, dict) else ():
            yield from _leaves(f"{path}.{name}", inner[name])
    elif isinstance(value, list):
        for place, part in enumerate(value):
            yield from _leaves(f"{path}[{place}]", part)
    elif value is not None:
        yield path, value


def _words(leaf: Any) -> tuple[str, int, list[int], list[int]]:
    """The dtype, bytes of an entry, the shape, and the entries as unsigned integers."""
    if isinstance(leaf, bool):
        return "bool", 1, [], [int(leaf)]
    if isinstance(leaf, int):
        return "int64", 8, [], [leaf % 2**64]
    if isinstance(leaf, str | float):  # a number without a dtype is text, with the digits that JSON has
        raw = str(leaf).encode()
        return "text", 1, [len(raw) + 1], [*raw, 0]
    kind, shape = leaf["dtype"], list(leaf["shape"])
    if "bits" in leaf:
        flat = _flat(leaf["bits"])
        itemsize = {"bfloat16": 2}.get(kind) or int(re.sub(r"\D", "", kind)) // 8
        return kind, itemsize, shape, [int(entry, 16) for entry in flat]
    itemsize = 1 if kind == "bool" else int(re.sub(r"\D", "", kind) or 64) // 8
    return kind, itemsize, shape, [int(entry) % 2 ** (8 * itemsize) for entry in _flat(leaf["values"])]


def _flat(values: Any) -> list[Any]:
    return [inner for value in values for inner in _flat(value)] if isinstance(values, list) else [values]


def _array(symbol: str, itemsize: int, words: list[int]) -> Iterator[str]:
    texts = [f"0x{word:0{2 * itemsize}x}u" for word in words] or ["0"]
    yield f"static const {_WIDTHS[itemsize]} {symbol}[] = {{"
    line = "   "
    for text in texts:
        if len(line) + len(text) > _LINE:
            yield line
            line = "   "
        line += f" {text},"
    yield line
    yield "};"


def _summed(total: int, itemsize: int, words: list[int]) -> int:
    for word in words:
        for byte in word.to_bytes(itemsize, "little"):
            total = (total ^ byte) * 0x100000001B3 % 2**64
    return total


def _plain(text: str) -> str:
    return text.replace("*/", "* /")


def _string(text: str) -> str:
    """A string of C: bytes that are not printable ASCII as three octal digits."""
    shown = "".join(
        chr(byte) if 32 <= byte < 127 and chr(byte) not in '\\"?' else f"\\{byte:03o}" for byte in text.encode()
    )
    return f'"{shown}"'
