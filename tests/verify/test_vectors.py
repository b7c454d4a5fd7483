"""Test vectors: the same bytes whenever they are made, the form that they claim, and a check that notices damage."""

import hashlib
import json
import os
import subprocess
import sys
from dataclasses import replace
from fractions import Fraction

import jsonschema
import numpy as np
import pytest
from click.testing import CliRunner
from processors import old_processor, on_x86
from vector_reading import entries_of, read

from commbounds.cli import main
from commbounds.collectives import COLLECTIVES
from commbounds.columns import Registry
from commbounds.compressors import COMPRESSORS, MECHANISMS, TopK
from commbounds.verify import vectors, writing
from commbounds.verify.vectors import checking, files
from commbounds.verify.vectors.case import expected_of
from commbounds.verify.vectors.numbers import array_json, json_of, text_of

SMALL = ("TopK", "packed", "row_count", "gather_blocks")


@pytest.fixture(scope="module")
def made():
    """Every file, by its path."""
    return vectors.contents()


@pytest.fixture(scope="module")
def parsed(made):
    """The files of vectors, by subject."""
    return {held["subject"]: held for path, text in made.items() if "/" in path for held in [json.loads(text)]}


@pytest.fixture
def folder(made, monkeypatch, tmp_path):
    """A fresh directory of all vectors; what it is compared with is computed once."""
    monkeypatch.setattr(files, "contents", lambda *_arguments: made)
    monkeypatch.setattr(checking, "contents", lambda *_arguments: made)
    vectors.written(tmp_path / "v")
    return tmp_path / "v"


def edited(path, old, new):
    text = path.read_text(encoding="utf-8")
    assert text.count(old) >= 1, (path, old)
    path.write_text(text.replace(old, new, 1), encoding="utf-8")


# --- the same bytes ----------------------------------------------------------------------------------------------


def written_by_another_process(folder, **environment):
    """Every file that a new process writes with these variables, by its path."""
    code = "import pathlib, sys; from commbounds.verify import vectors; vectors.written(pathlib.Path(sys.argv[1]))"
    subprocess.run([sys.executable, "-c", code, str(folder)], env={**os.environ, **environment}, check=True)
    return {path: (folder / path).read_text(encoding="utf-8") for path in files.present(folder)}


@pytest.mark.wide
def test_a_process_with_another_hash_seed_one_thread_and_no_compiler_writes_the_same_bytes(tmp_path, made):
    seed = "2" if os.environ.get("PYTHONHASHSEED") == "1" else "1"
    plain = {"NUMBA_DISABLE_JIT": "1", "NUMBA_NUM_THREADS": "1", "OMP_NUM_THREADS": "1"}
    assert written_by_another_process(tmp_path / "v", PYTHONHASHSEED=seed, **plain) == made


@pytest.mark.long
@on_x86
def test_code_for_an_old_processor_writes_the_same_bytes(tmp_path, made):
    assert written_by_another_process(tmp_path / "v", **old_processor(tmp_path / "cache")) == made


def test_the_directory_is_small_and_says_nothing_of_this_machine(made):
    assert sum(len(text.encode()) for text in made.values()) < 58_000 * len(made)
    whole = "".join(made.values())
    assert os.getcwd() not in whole
    assert os.path.expanduser("~") + "/" not in whole


# --- what is there -----------------------------------------------------------------------------------------------


def test_everything_registered_has_a_file_or_a_reason(parsed):
    registered = {*COMPRESSORS, *MECHANISMS, *COLLECTIVES}
    assert set(parsed) | set(vectors.LEFT_OUT) == registered
    assert not set(parsed) & set(vectors.LEFT_OUT)
    assert all(len(reason) > 20 for reason in vectors.LEFT_OUT.values())


def test_the_index_lists_files_sums_and_reasons(made):
    index = json.loads(made["index.json"])
    listed = {entry["file"]: entry for entry in index["files"]}
    assert set(listed) == {path for path in made if "/" in path}
    for path, entry in listed.items():
        assert entry["sha256"] == hashlib.sha256(made[path].encode()).hexdigest()
        assert entry["vectors"] == len(json.loads(made[path])["vectors"])
    assert index["left_out"] == dict(vectors.LEFT_OUT)


@pytest.mark.parametrize("name", COMPRESSORS)
def test_every_compressor_has_enough_vectors_of_both_dtypes(parsed, name):
    held = parsed[name]["vectors"]
    assert len(held) >= 8
    assert {vector["inputs"]["x"]["dtype"] for vector in held} == {"float32", "float64"}
    if COMPRESSORS[name].ndim == 1:
        flags = {flag for vector in held for flag in vector["flags"]}
        assert {"n=1", "negative zero", "subnormal", "largest", "refused"} <= flags


def test_every_collective_of_ranks_meets_one_rank_an_odd_number_and_few_entries(parsed):
    whole = {"P=1", "odd P", "P no power of two", "n<P", "P does not divide n"}
    lacking = {}
    for name, held in parsed.items():
        flags = {flag for vector in held["vectors"] for flag in vector["flags"]}
        if held["kind"] == "collective" and "P=1" in flags and whole - flags:
            lacking[name] = whole - flags
    assert set(lacking) <= set(Registry("OTHER_SIZES", "verify.experiments", "vectors"))


@pytest.mark.parametrize("share", ["one file of every kind", pytest.param("every file", marks=pytest.mark.wide)])
def test_files_have_the_form_of_the_schema(share, made, parsed):
    form = json.loads(made["schema.json"])
    jsonschema.Draft202012Validator.check_schema(form)
    validator = jsonschema.Draft202012Validator(form)
    of_a_kind = {held["kind"]: name for name, held in parsed.items()}
    for name in parsed if share == "every file" else of_a_kind.values():
        validator.validate(parsed[name])
        assert parsed[name]["subject"] == name


@pytest.mark.parametrize(
    "damage",
    [
        lambda held: held.update(schema=99),
        lambda held: held["vectors"][0].update(more=1),
        lambda held: held["vectors"][0].pop("why"),
        lambda held: held["vectors"][0]["inputs"]["x"]["bits"].append("0x3f80000"),
        lambda held: held["vectors"][0]["inputs"]["x"]["values"].append("-Infinity"),
        lambda held: held["vectors"][0].update(law=[{"probability": 0.5, "output": []}]),
    ],
)
def test_the_schema_refuses_what_is_not_of_its_form(made, damage):
    validator = jsonschema.Draft202012Validator(json.loads(made["schema.json"]))
    held = json.loads(made["compressors/TopK.json"])
    held["vectors"] = held["vectors"][:1]
    assert validator.is_valid(held)
    damage(held)
    assert not validator.is_valid(held)


def test_values_hexadecimals_and_bits_of_every_array_agree(parsed):
    seen = set()
    for held in parsed.values():
        for entry in entries_of(held["vectors"]):
            size = int(np.prod(entry["shape"], dtype=np.int64))
            assert len(entry["values"]) == size
            if "bits" not in entry:
                continue
            values = read(entry).reshape(-1).astype(np.float64)
            seen.add(entry["dtype"])
            assert len(entry["hex"]) == size
            for value, number, text in zip(values, entry["values"], entry["hex"], strict=True):
                assert float.fromhex(text).hex() == float(value).hex()
                assert float(number).hex() == float(value).hex()
                assert isinstance(number, str) == (number in ("-0.0", "inf", "-inf", "nan"))
    assert seen == {"float64", "float32", "float16", "bfloat16"}


def test_an_output_with_a_law_is_one_of_its_outcomes(parsed):
    seen = 0
    for held in parsed.values():
        for vector in held["vectors"]:
            if "law" not in vector:
                continue
            seen += 1
            output = read(vector["expected"]["output"]).reshape(-1)
            outcomes = [[Fraction(v) for v in outcome["output"]] for outcome in vector["law"]]
            assert sum(Fraction(outcome["probability"]) for outcome in vector["law"]) == 1
            assert [float(v) for v in output] in [[float(output.dtype.type(float(v))) for v in o] for o in outcomes]
    assert seen > 20


def test_no_json_number_is_out_of_reach_of_float64_readers(made):
    def whole(text):
        assert abs(int(text)) < 2**53
        return int(text)

    def refused(constant):
        raise AssertionError(constant)

    for path, text in made.items():
        if path.endswith(".json"):
            json.loads(text, parse_int=whole, parse_constant=refused)


# --- numbers -----------------------------------------------------------------------------------------------------


def test_what_json_has_no_number_for_is_text():
    held = array_json(np.array([0.0, -0.0, np.inf, -np.inf, np.nan, -np.nan, 5e-324]))
    assert held["values"] == [0.0, "-0.0", "inf", "-inf", "nan", "nan", 5e-324]
    assert held["bits"][1:3] == ["0x8000000000000000", "0x7ff0000000000000"]
    assert held["bits"][4] == held["bits"][5] == "0x7ff8000000000000"
    assert json_of([2**53 - 1, 2**53, -(2**53), True, None]) == [2**53 - 1, str(2**53), str(-(2**53)), True, None]
    assert json_of(np.uint64(2**64 - 1)) == "18446744073709551615"
    with pytest.raises(TypeError, match="complex"):
        json_of(1j)
    with pytest.raises(ValueError, match="Out of range"):
        text_of([float("nan")])


def test_text_is_json_with_sorted_keys_whatever_its_depth():
    value = {"b": [[1, "long " * 30], []], "a": {"d": list(range(100)), "c": {}}, "e": "é"}
    assert json.loads(text_of(value)) == value
    assert text_of(dict(reversed(value.items()))) == text_of(value)
    assert max(len(line) for line in text_of(list(range(1000))).splitlines()) <= 120


# --- checking ----------------------------------------------------------------------------------------------------


def test_a_fresh_directory_agrees(folder):
    assert vectors.differences(folder) == []


def test_a_flipped_hexadecimal_digit_is_found(folder):
    edited(folder / "compressors/TopK.json", '"0x3f085168"', '"0x3f085169"')
    (line,) = vectors.differences(folder)
    assert line.startswith("compressors/TopK.json: vector 'ordinary, float32, k=3'.expected.message")
    assert "0x3f085169" in line
    assert "0x3f085168" in line


def test_a_changed_word_count_is_found(folder):
    path = folder / "collectives/ring_allreduce.json"
    held = json.loads(path.read_text(encoding="utf-8"))
    held["vectors"][1]["expected"]["traffic"]["traffic"]["phases"]["all-gather"]["sent"][0] += 1
    path.write_text(json.dumps(held), encoding="utf-8")
    (line,) = vectors.differences(folder)
    assert "expected.traffic.traffic.phases.all-gather.sent[0] is 4, should be 3" in line


def test_a_missing_and_an_extra_file_are_found(folder):
    (folder / "compressors/QSGD.json").unlink()
    (folder / "collectives/mine.json").write_text("{}", encoding="utf-8")
    found = vectors.differences(folder)
    assert found == ["compressors/QSGD.json: missing", "collectives/mine.json: not expected"]


def test_truncated_json_is_found(folder):
    path = folder / "collectives/gossip.json"
    path.write_bytes(path.read_bytes()[:-100])
    (line,) = vectors.differences(folder)
    assert line.startswith("collectives/gossip.json: no JSON")


@pytest.mark.parametrize("name", ["compressors/Sign.json", "index.json"])
def test_a_schema_version_that_nobody_knows_is_found(folder, name):
    edited(folder / name, '"schema": 1', '"schema": 99')
    assert f"{name}: schema version 99 is not known, only 1 is" in vectors.differences(folder)


@pytest.mark.parametrize(
    ("name", "old", "new", "told"),
    [
        ("README.md", "index", "Index", "README.md: differs"),
        ("schema.json", '"minItems": 1', '"minItems": 2', "schema.json: $defs.vector.properties.law.minItems is 2"),
        ("index.json", '"vectors": 15', '"vectors": 14', "has 14 vectors, should be 15"),
        ("index.json", '"sha256": "', '"sha256": "0', "in the index"),
        ("compressors/Sign.json", '"vectors": [', '"vectors":  [', "in the index"),
        ("compressors/Sign.json", '"why": ', '"wry": ', "why is missing"),
        ("compressors/Sign.json", '"values": [1.0', '"values": [NaN', "no JSON"),
    ],
)
def test_other_damage_is_found(folder, name, old, new, told):
    edited(folder / name, old, new)
    assert any(told in line for line in vectors.differences(folder)), vectors.differences(folder)


def test_another_version_of_commbounds_with_the_same_vectors_agrees(folder):
    for path in files.present(folder):
        if path.endswith(".json") and path != "schema.json":
            edited(folder / path, '"commbounds": "', '"commbounds": "0.')
    index = json.loads((folder / "index.json").read_text(encoding="utf-8"))
    for entry in index["files"]:
        entry["sha256"] = hashlib.sha256((folder / entry["file"]).read_bytes()).hexdigest()
    (folder / "index.json").write_text(json.dumps(index), encoding="utf-8")
    assert vectors.differences(folder) == []


def test_an_implementation_that_breaks_ties_otherwise_is_found(tmp_path, monkeypatch):
    vectors.written(tmp_path, ["TopK"])
    compress = TopK.compress

    def last_of_equals(self, x, rng=None):
        message = compress(self, x[::-1])
        indices = (x.size - 1 - message.indices)[::-1].astype(np.int32)
        return replace(message, indices=indices, values=x[indices])

    monkeypatch.setattr(TopK, "compress", last_of_equals)
    found = vectors.differences(tmp_path, ["TopK"])
    assert any("vector 'ties, float32, k=3'.expected.message.fields.indices" in line for line in found)
    assert not any("vector 'ordinary" in line for line in found)


# --- writing, and the command ------------------------------------------------------------------------------------


@pytest.fixture
def call(monkeypatch, tmp_path):
    monkeypatch.setenv("COMMBOUNDS_CACHE", str(tmp_path / "cache"))
    for name in ("NUMBA_CACHE_DIR", "MPLCONFIGDIR"):  # the command would set them for the tests after this one
        monkeypatch.setenv(name, os.environ.get(name, str(tmp_path)))
    return lambda *arguments: CliRunner().invoke(main, ["vectors", *map(str, arguments)])


def test_the_command_writes_what_it_then_finds_to_agree(call, tmp_path):
    wrote = call("--out", tmp_path / "v", *SMALL)
    assert wrote.exit_code == 0, wrote.output
    assert wrote.output.startswith("7 files about 4 subjects")
    checked = call("--check", tmp_path / "v", *SMALL)
    assert checked.exit_code == 0, checked.output
    assert checked.output.splitlines() == ["4 subjects: all agree"]
    edited(tmp_path / "v/compressors/TopK.json", '"0x3f085168"', '"0x3f085169"')
    assert call("--check", tmp_path / "v", *SMALL).exit_code == 1


def test_wrong_usage_exits_with_2(call, tmp_path):
    for arguments in (
        (),
        ("--out", tmp_path / "a", "--check", tmp_path),
        ("--out", tmp_path / "a", "nothing like it"),
        ("--check", tmp_path / "none"),
    ):
        assert call(*arguments).exit_code == 2, arguments
    assert not (tmp_path / "a").exists()


def test_a_folder_that_holds_other_things_is_refused_and_left_alone(call, tmp_path):
    (tmp_path / "v").mkdir()
    (tmp_path / "v" / "index.json").write_text('{"mine": 1}', encoding="utf-8")
    result = call("--out", tmp_path / "v", *SMALL)
    assert result.exit_code == 2
    assert "it holds other things" in result.output
    assert [path.name for path in (tmp_path / "v").iterdir()] == ["index.json"]
    with pytest.raises(ValueError, match="holds other things"):
        vectors.written(tmp_path / "v", SMALL)


@pytest.mark.wide
def test_writing_again_removes_what_the_old_index_lists_and_nothing_else(tmp_path):
    vectors.written(tmp_path, SMALL)
    (tmp_path / "compressors" / "notes.txt").write_text("mine", encoding="utf-8")
    vectors.written(tmp_path, ["TopK"])
    assert list(files.present(tmp_path)) == [
        "README.md", "compressors/TopK.json", "compressors/notes.txt", "index.json", "schema.json",
    ]  # fmt: skip
    assert "compressors/notes.txt: not expected" in vectors.differences(tmp_path)


def test_an_index_cannot_name_files_elsewhere(tmp_path):
    vectors.written(tmp_path / "v", ["TopK"])
    keep = tmp_path / "compressors"
    keep.mkdir()
    (keep / "x.json").write_text("{}", encoding="utf-8")
    edited(tmp_path / "v" / "index.json", "compressors/TopK.json", "compressors/../../compressors/x.json")
    vectors.written(tmp_path / "v", ["packed"])
    assert (keep / "x.json").exists()


def test_a_symbolic_link_in_place_of_a_folder_is_refused(call, tmp_path):
    vectors.written(tmp_path / "v", ["TopK"])
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "v" / "compressors").rename(tmp_path / "elsewhere" / "compressors")
    (tmp_path / "v" / "compressors").symlink_to(tmp_path / "elsewhere" / "compressors")
    before = {path.name: path.read_bytes() for path in (tmp_path / "elsewhere" / "compressors").iterdir()}
    result = call("--out", tmp_path / "v", "RandK")
    assert result.exit_code == 2
    assert "is a symbolic link" in result.output
    with pytest.raises(ValueError, match="is a symbolic link"):
        vectors.written(tmp_path / "v", ["RandK"])
    assert {path.name: path.read_bytes() for path in (tmp_path / "elsewhere" / "compressors").iterdir()} == before


def test_a_link_in_place_of_a_file_goes_and_what_it_points_to_stays(tmp_path):
    vectors.written(tmp_path / "v", ["TopK"])
    held = tmp_path / "v" / "compressors" / "TopK.json"
    held.rename(tmp_path / "mine.json")
    held.symlink_to(tmp_path / "mine.json")
    before = (tmp_path / "mine.json").read_bytes()
    vectors.written(tmp_path / "v", ["TopK"])
    assert not held.is_symlink()
    held.unlink()
    held.symlink_to(tmp_path / "mine.json")
    vectors.written(tmp_path / "v", ["RandK"])
    assert not held.exists()
    assert (tmp_path / "mine.json").read_bytes() == before


def test_a_file_that_the_old_index_lists_with_other_bytes_is_left_alone(tmp_path):
    vectors.written(tmp_path, ["TopK"])
    (tmp_path / "compressors" / "TopK.json").write_text("mine now", encoding="utf-8")
    vectors.written(tmp_path, ["RandK"])
    assert (tmp_path / "compressors" / "TopK.json").read_text(encoding="utf-8") == "mine now"


@pytest.mark.parametrize("held", ["[" * 100_000, '{"files": [3, {"file": "compressors/x.json"}, {"file": 1}]}'])
def test_an_index_that_is_none_of_ours_is_left_alone(held, tmp_path):
    (tmp_path / "index.json").write_text(held, encoding="utf-8")
    with pytest.raises(ValueError, match="holds other things"):
        vectors.written(tmp_path, ["TopK"])
    assert (tmp_path / "index.json").read_text(encoding="utf-8") == held


def test_an_interrupted_write_leaves_the_old_file(tmp_path, monkeypatch):
    vectors.written(tmp_path, ["row_count"])
    before = {path: (tmp_path / path).read_bytes() for path in files.present(tmp_path)}

    def fail(_source, _target):
        raise OSError("no room")

    monkeypatch.setattr(writing.os, "replace", fail)
    with pytest.raises(OSError, match="no room"):
        vectors.written(tmp_path, ["row_count"])
    assert {path: (tmp_path / path).read_bytes() for path in files.present(tmp_path)} == before


def test_a_case_that_should_be_refused_and_is_not_stops_everything():
    subject = vectors.subjects()["TopK"]
    case = next(iter(subject.cases()))
    with pytest.raises(ValueError, match="must refuse"):
        expected_of(subject, replace(case, refused=True))
    assert expected_of(subject, case)["bits"] == 108
