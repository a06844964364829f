"""The files of an export beside its rows, and the names of its files."""

import os
import re
import subprocess
import sys
from types import SimpleNamespace

import orjson
import pytest
import yaml
from django.utils import translation
from hypothesis import given
from hypothesis import strategies as st

from datasets.exports import exports, options
from datasets.exports.files import slug
from datasets.exports.options import find_unused_choices
from datasets.exports.trainers import DATASETS_LINE
from tests.consumers.conftest import READERS
from tests.consumers.readers.card_blocks import read_blocks
from tests.datasets.exports.branches import body
from tests.datasets.exports.export_helpers import build_export
from tests.factories import SampleFactory
from tests.homes import assistant, user
from tests.ledger.transcript_records import store_session

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("own_home")]


@pytest.fixture
def samples():
    """Two approved turns in each of eight sessions, and one sample without a verdict."""
    store_session(user("question 1"), assistant("answer 1"), user("question 2"), assistant("answer 2"))
    for number in range(8):
        for turn in (1, 2):
            place = {"session_id": f"s{number + 1}", "turn_number": turn, "annotation_status": "approved"}
            SampleFactory(id=f"x{number}-{turn}", content=body(10 * number + turn), **place)
    SampleFactory(id="waiting", session_id="s1", turn_number=3)


def build_with_folder(format_="sharegpt", name="First try", **choices):
    export = build_export(format_, name=name, **{"train_split": 0.5} | choices)
    return SimpleNamespace(export=export, folder=exports.folder_of(export))


def read_files(folder):
    return {file.name: file.read_bytes() for file in folder.iterdir()}


PASTED = f"import json, sys; sys.path.insert(0, {str(READERS)!r}); from card_blocks import run_python"
PASTED += "; names = run_python('.', 'HF datasets', 'TRL')"


def read_settings(folder):
    """The settings for LLaMA-Factory and Axolotl in the card; None where it has none."""
    blocks = read_blocks(folder)
    return [blocks.get((program, "yaml")) for program in ("LLaMA-Factory", "Axolotl")]


def run(*words, folder):
    environment = {**os.environ, "HF_HUB_OFFLINE": "1", "HF_HOME": str(folder / "hf"), "PYTHONWARNINGS": "ignore"}
    return subprocess.run(words, cwd=folder, env=environment, capture_output=True, text=True, check=True).stdout


def test_sha256sum_accepts_the_folder(samples):
    folder = build_with_folder().folder
    output = run("sha256sum", "-c", "SHA256SUMS", folder=folder)
    checked = {line.removesuffix(": OK") for line in output.splitlines()}
    assert checked == {file.name for file in folder.iterdir()} - {"SHA256SUMS"}


@pytest.mark.parametrize("format_", ["alpaca", "sharegpt", "openai"])
def test_the_same_samples_options_and_name_give_identical_files(samples, format_):
    first = build_with_folder(format_)
    with translation.override("zh-hans"):
        second = build_with_folder(format_)
    assert first.export.id != second.export.id
    assert read_files(first.folder) == read_files(second.folder)


@pytest.mark.parametrize("format_", ["alpaca", "sharegpt"])
def test_the_card_is_one_that_the_hub_reads(samples, format_):
    made = build_with_folder(format_, name='Mei\'s *first* "try"')
    _, front, text = (made.folder / "README.md").read_text().split("---\n", 2)
    card = yaml.safe_load(front)
    assert card["pretty_name"] == 'Mei\'s *first* "try"' and "license" not in card
    assert card["size_categories"] == ["n<1K"] and format_ in card["tags"]
    [config] = card["configs"]
    counts = made.export.manifest["counts"]
    assert [entry["split"] for entry in config["data_files"]] == ["train", "test"]
    for entry in config["data_files"]:
        lines = (made.folder / entry["path"]).read_bytes().count(b"\n")
        assert lines == counts[entry["split"]] and f"- {entry['split']}: {lines} ({entry['path']})" in text
    assert '# Mei\'s \\*first\\* "try"' in text
    assert "- Not approved yet: 1" in text and '- `seed`: `"0"`' in text
    assert "are replaced by tokens such as `[EMAIL_1]`" in text and "under rules 3" in text
    if format_ == "sharegpt":
        assert re.search(r"- Rebuilt from the sample .*: \d+ rows", text)


def read_card(made):
    """The parts of a card by their heading."""
    text = (made.folder / "README.md").read_text()
    return {part.partition("\n")[0]: part.partition("\n")[2] for part in text.split("\n## ")[1:]}


def test_the_card_names_what_was_checked_as_the_manifest_does(samples):
    checks = {}
    for format_ in ("sharegpt", "openai", "csv"):
        made = build_with_folder(format_)
        checks[format_] = read_card(made)["Checks"]
        for check in made.export.manifest["checks"]:
            assert checks[format_].count(f"{check['program']} {check['version']}") == 1
    assert "the rules of LLaMA-Factory 0.9.5 and HF datasets 4.0.0.\n" in checks["sharegpt"]
    assert "the rules of" not in checks["csv"] and "as they are stored" in checks["csv"]
    unsloth = read_card(build_with_folder(tool_calls="leave_out"))["Checks"]
    assert "Unsloth" in unsloth and "Unsloth" not in checks["sharegpt"]


def test_the_card_says_how_long_rows_are_and_what_models_were_given(samples):
    SampleFactory(id="long", session_id="s9", annotation_status="approved", output="wörds " * 2_000)
    made = build_with_folder(train_split=1)
    parts, lengths = read_card(made), made.export.manifest["lengths"]
    assert f"longest row: about {lengths['tokens_longest']:,} tokens" in parts["Length of rows"]
    assert "- more than 2,048 tokens: 1 row\n" in parts["Length of rows"]
    assert "- more than 8,192 tokens: 0 rows\n" in parts["Length of rows"]
    assert "- System prompt: 0 of 17 rows\n" in parts["System prompts and tools"]
    assert "- Tools left out: 17 rows (Not recorded for the turn)\n" in parts["System prompts and tools"]
    assert "17 samples, all approved\n" in parts["Rows"]
    stored = read_card(build_with_folder("raw", only_approved=False))
    assert "18 samples, 17 of them approved\n" in stored["Rows"]
    assert not {"Length of rows", "System prompts and tools"} & stored.keys()


@pytest.mark.parametrize(
    ("format_", "history", "warning"),
    [
        ("sharegpt", "context", "`mask_history: true` in LLaMA-Factory or `message_field_training: train` in Axolotl"),
        ("openai", "context", "does not read `weight`"),
        ("sharegpt", "edited", ""),
    ],
)
def test_the_card_warns_of_replies_that_nobody_approved(samples, format_, history, warning):
    loading = read_card(build_with_folder(format_, history=history))["How to load"]
    assert warning in loading and ("nobody approved" in loading) == (history == "context")


@pytest.mark.parametrize(
    ("format_", "task", "used"),
    [
        ("sharegpt", "reply", "history tool_calls parallel_calls rebuild_system"),
        ("openai", "reply", "history tool_calls parallel_calls rebuild_system"),
        ("openai", "gate", ""),
        ("alpaca", "reply", "tool_calls"),
        ("csv", "gate", "weights"),
        ("raw", "reply", "weights"),
        ("parquet", "gate", "weights"),
    ],
)
def test_only_options_that_apply_are_named(format_, task, used):
    all_names = {"history", "tool_calls", "parallel_calls", "rebuild_system", "weights"}
    assert find_unused_choices(format_, task) == all_names - set(used.split())


def test_the_card_names_only_options_that_apply(samples):
    named = read_card(build_with_folder("csv"))["Options"]
    assert "`seed`" in named and "`history`" not in named and "`tool_calls`" not in named


def test_the_card_loads_each_split_and_converts_for_trl(samples, tmp_path):
    convert = f"{PASTED}; print(json.dumps({{name: len(side) for name, side in names['rows'].items()}}))"
    convert += "; print(json.dumps(names['trl_rows']['train'][0]))"
    answers = {}
    for format_, choices in (("sharegpt", {}), ("sharegpt", {"history": "context"}), ("alpaca", {})):
        made = build_with_folder(format_, **choices)
        counts = made.export.manifest["counts"]
        loaded, first = map(orjson.loads, run(sys.executable, "-c", convert, folder=made.folder).splitlines()[-2:])
        assert loaded == {"train": counts["train"], "test": counts["test"]}
        answers[format_, *choices.values()] = first
        line = f"import os, datasets; print({DATASETS_LINE})"
        output = run(sys.executable, "-P", "-c", line, folder=made.folder)
        assert f"num_rows: {counts['train']}" in output and f"num_rows: {counts['test']}" in output
    [question, reply] = answers["sharegpt",]["messages"][:2]
    assert (question["role"], reply["role"]) == ("user", "assistant")
    for key in (("sharegpt", "context"), ("alpaca",)):
        assert answers[key]["prompt"][0]["role"] == "user"
        assert [message["role"] for message in answers[key]["completion"]] == ["assistant"]


@pytest.mark.parametrize(("history", "key"), [("edited", "messages"), ("context", "prompt")])
def test_the_card_gives_trl_the_system_prompt_of_a_row(samples, history, key):
    convert = f"{PASTED}; print(json.dumps(names['for_trl'](names['rows']['train'][0] | json.loads('%s'))))"
    folder = build_with_folder(history=history).folder
    with_prompt, without = (
        orjson.loads(run(sys.executable, "-c", convert % given, folder=folder).splitlines()[-1])[key]
        for given in ('{"system": "Be brief."}', "{}")
    )
    assert with_prompt == [{"role": "system", "content": "Be brief."}, *without]
    assert [message["role"] for message in without][:1] == ["user"]


@pytest.mark.parametrize("format_", ["alpaca", "sharegpt"])
@pytest.mark.parametrize("history", ["edited", "context"])
def test_trainers_are_told_where_the_rows_are(samples, format_, history):
    folder = build_with_folder(format_, history=history).folder
    info = orjson.loads((folder / "dataset_info.json").read_bytes())
    factory, axolotl = (yaml.safe_load(text) for text in read_settings(folder))
    assert factory["dataset"] == f"ocl_First-try_{format_}" and factory["dataset_dir"] == "."
    assert info.keys() == {factory["dataset"], factory["dataset"] + "_test"}
    [read] = axolotl["datasets"]
    assert read["path"] == info[factory["dataset"]]["file_name"] and (folder / read["path"]).is_file()
    is_marked = (format_, history) == ("sharegpt", "context")
    assert ("mask_history" in factory) == ("message_field_training" in read) == is_marked
    if format_ == "sharegpt":
        assert (read["type"], read["field_messages"]) == ("chat_template", "conversations")
        assert read["message_property_mappings"] == {"role": "from", "content": "value"}
        assert read["roles"] == {"user": ["human"], "assistant": ["gpt"]}
        assert read["drop_system_message"] is True
    else:
        assert read["type"] == "alpaca"


@pytest.mark.parametrize("format_", ["alpaca", "sharegpt"])
def test_trainers_are_told_how_many_rows_are_longer_than_what_they_take(samples, format_, monkeypatch):
    monkeypatch.setattr(options, "ROW_CHARACTERS", 100_000)
    for number, words in enumerate((1_500, 1_500, 8_000)):
        reply = f"{number} {'wörds ' * words}"
        SampleFactory(id=f"long{number}", session_id="s9", annotation_status="approved", output=reply)
    folder = build_with_folder(format_, duplicates="keep", train_split=1).folder
    factory, axolotl = read_settings(folder)
    assert "are cut: an estimated 3 rows of all files.\ncutoff_len: 2048\n" in factory
    assert "are left out: an estimated 1 row of all files.\nsequence_len: 8192\n" in axolotl
    assert (yaml.safe_load(factory)["cutoff_len"], yaml.safe_load(axolotl)["sequence_len"]) == (2048, 8192)


def test_several_exports_fit_into_one_data_folder(samples):
    exports_made = [
        build_with_folder(),
        build_with_folder(name="Second"),
        build_with_folder("alpaca"),
        build_with_folder(name="第一次"),
    ]
    names = [file.name for built in exports_made for file in built.folder.glob("ocl_*")]
    assert len(names) == len(set(names)) == 8
    entries = [key for built in exports_made for key in orjson.loads((built.folder / "dataset_info.json").read_bytes())]
    assert len(entries) == len(set(entries)) == 8


def test_without_rows_to_learn_from_no_training_is_described(samples):
    folder = build_with_folder(train_split=0).folder
    assert read_settings(folder) == [None, None]
    assert "axolotl" not in (folder / "README.md").read_text().partition("## How to load")[2].partition("##")[0]


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("First try", "First-try"),
        ("First-try", "First-try"),
        ("v2_final", "v2_final"),
        ("Crème brûlée", "Creme-brulee-########"),
        ("训练 v2", "v2-########"),
        ("v2 (new)", "v2-new-########"),
        ("../../etc/passwd", "etc-passwd-########"),
        ("训练", "########"),
        ("x" * 64, "x" * 64),
        ("x" * 65, "x" * 55 + "-########"),
    ],
)
def test_names_become_ascii_and_a_hash_where_more_than_blanks_is_lost(name, expected):
    assert re.fullmatch(expected.replace("#" * 8, "[0-9a-f]{8}"), slug(name))


def test_two_names_never_have_the_same_files():
    names = ["Run 1", "Run 1!", "Run: 1", "训练 1", "模型 1", "1", "x" * 65, "x" * 66, "é", "e", "É"]
    assert len({slug(name) for name in names}) == len(names)


@given(st.text(min_size=1, max_size=120))
def test_every_name_becomes_one_that_files_can_have(name):
    assert re.fullmatch(r"[A-Za-z0-9](?:[A-Za-z0-9_-]{0,62}[A-Za-z0-9])?", slug(name))
    assert slug(name) == slug(name)
