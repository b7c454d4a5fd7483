"""The form of the files: their version, their JSON Schema, and the page that says how to read them."""

from typing import Any

VERSION = 1
"""Of the form of the files. A change after which a reader of the old form would misread a file needs a new one."""

_TEXTS = {"type": "array", "items": {"type": "string"}}
_DIGITS = {"float64": 16, "float32": 8, "float16": 4, "bfloat16": 4}
"""Hexadecimal digits of the bits of a float."""
_INTEGERS = ("int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64")
_WHOLE = {"anyOf": [{"type": "integer"}, {"type": "string", "pattern": "^-?[0-9]+$"}]}


def _object(required: dict[str, Any], optional: dict[str, Any] | None = None) -> dict[str, Any]:
    return {
        "type": "object",
        "required": sorted(required),
        "properties": {**required, **(optional or {})},
        "additionalProperties": False,
    }


def _named(entry: str) -> dict[str, Any]:
    return {"type": "object", "additionalProperties": {"$ref": f"#/$defs/{entry}"}}


def _entries(**items: dict[str, Any]) -> dict[str, Any]:
    return {name: {"type": "array", "items": item} for name, item in items.items()}


def _array() -> dict[str, Any]:
    """Arrays: what entries look like depends on the dtype."""
    number = {"anyOf": [{"type": "number"}, {"enum": ["-0.0", "inf", "-inf", "nan"]}]}
    hexadecimal = {"type": "string", "pattern": "^(-?0x[01]\\.[0-9a-f]+p[+-][0-9]+|-?inf|nan)$"}
    plain: dict[str, Any] = {**dict.fromkeys(_INTEGERS, _WHOLE), "bool": {"type": "boolean"}}
    branches = [
        {
            "if": {"properties": {"dtype": {"const": name}}},
            "then": {
                "required": ["bits", "hex"],
                "properties": _entries(
                    values=number, hex=hexadecimal, bits={"type": "string", "pattern": f"^0x[0-9a-f]{{{digits}}}$"}
                ),
            },
        }
        for name, digits in _DIGITS.items()
    ] + [
        {
            "if": {"properties": {"dtype": {"const": name}}},
            "then": {"properties": {**_entries(values=item), "hex": False, "bits": False}},
        }
        for name, item in plain.items()
    ]
    shape = {"type": "array", "items": {"type": "integer", "minimum": 0}}
    kinds = {"enum": [*_DIGITS, *plain]}
    held = _object({"dtype": kinds, "shape": shape, "values": {"type": "array"}}, {"hex": {}, "bits": {}})
    return {**held, "allOf": branches}


def schema() -> dict[str, Any]:
    """The JSON Schema (draft 2020-12) of the files of vectors."""
    counts = {"type": "array", "items": {"$ref": "#/$defs/count"}}
    fraction = {"type": "string", "pattern": "^-?[0-9]+(/[0-9]+)?$"}
    objects = ["array", "fraction", "record", "counted"]
    traffic = dict.fromkeys(("sent", "received", "messages"), counts)
    traffic |= {"steps": {"$ref": "#/$defs/count"}, "critical_path": {"$ref": "#/$defs/count"}}
    vector = {
        "name": {"type": "string", "minLength": 1},
        "why": {"type": "string", "minLength": 1},
        "flags": _TEXTS,
        "inputs": _named("value"),
        "parameters": _named("value"),
        "randomness": _named("value"),
        "expected": {**_named("value"), "minProperties": 1},
    }
    outcome = _object({"probability": fraction, "output": {"type": "array", "items": fraction}})
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "Test vectors of commbounds",
        **_object(
            {
                "schema": {"const": VERSION},
                "commbounds": {"type": "string"},
                "subject": {"type": "string"},
                "kind": {"enum": ["compressor", "mechanism", "collective"]},
                "summary": {"type": "string"},
                "traffic_unit": {"enum": ["words", "bytes", ""]},
                "vectors": {"type": "array", "items": {"$ref": "#/$defs/vector"}, "minItems": 1},
            }
        ),
        "$defs": {
            "vector": _object(vector, {"law": {"type": "array", "items": outcome, "minItems": 1}}),
            "value": {
                "anyOf": [
                    {"type": ["null", "boolean", "integer", "string"]},
                    {"type": "array", "items": {"$ref": "#/$defs/value"}},
                    *({"$ref": f"#/$defs/{name}"} for name in objects),
                ]
            },
            "count": _WHOLE,
            "array": _array(),
            "fraction": _object({"fraction": fraction}),
            "record": _object({"record": {"type": "string"}, "fields": _named("value")}),
            "counted": _object({"traffic": {"$ref": "#/$defs/traffic"}}),
            "traffic": _object(traffic, {"phases": _named("traffic")}),
        },
    }


README = """\
# Test vectors

`index.json` lists every file with its sha256 and its number of vectors, and what has none, with the reason.
`compressors/NAME.json` and `collectives/NAME.json` hold the vectors of one subject; `schema.json` is their JSON Schema.

A vector has a `name`, `why` it is there, and `flags`, what is on the edge in it. Give a port its `inputs`, `parameters`
and `randomness`, and compare with `expected`, bit for bit. Some have a `law`: the exact distribution of the output.

| in the file | means |
|---|---|
| `{"dtype": "float32", "shape": [2], "values": [1.5, "-0.0"], "hex": [...], "bits": ["0x3fc00000", "0x80000000"]}` | \
an array, in row order; shape `[]` is a single number |
| `bits` | the bits of every entry as one integer of the dtype's width: what to read and to compare |
| `hex` | the same value as C99 hexadecimal, for `strtod` and for people; `values` are for people |
| `"-0.0"`, `"inf"`, `"-inf"`, `"nan"` among `values` | what JSON has no number for; any NaN is as good as another |
| an integer as text, `"9007199254740992"` | an integer of 2^53 or more in magnitude |
| `{"fraction": "1/3"}` | an exact parameter |
| `{"record": "Sparse", "fields": {...}}` | something with named parts: a message, a state, a step |
| `{"traffic": {...}}` | words (or bytes: `traffic_unit`) that every rank sent and received, its messages, steps, the \
critical path; `phases` in any order |
| `"expected": {"error": "ValueError"}` | the input is to be refused |

Randomness is injected: uniforms, draws, orders and masks stand in the file. Where there is a `key` as well, the named
generator makes them from it: draw i of `splitmix64` is mix(key + (i + 1) 0x9e3779b97f4a7c15) modulo 2^64, where mix(z)
is z = (z ^ z >> 30) 0xbf58476d1ce4e5b9, z = (z ^ z >> 27) 0x94d049bb133111eb, z ^ z >> 31; float64 uniforms take the
top 53 bits of a draw, float32 ones the top and then the bottom 24 bits of each.
A `seed` beside a `key` is that of numpy's `default_rng`, whose first 64 bits are the key.

In `GroupCodes` the `planes` are what is sent, and the `codes` what they hold.

`gradient` = "identity" means that the gradient at x is x. `commbounds vectors --check DIR` recomputes everything.
"""
"""How to read the files, as a page beside them."""
