"""The options of an export.

Each choice arrives through the form, the API, the command and the link that starts a similar export.
"""

from dataclasses import fields

import pytest
from django.core.management import call_command

from datasets.exports import exports
from datasets.exports import options as export_options
from datasets.models import DatasetExport
from openclaw_web.errors import Refused
from tests.datasets.exports.branches import Steps
from tests.datasets.exports.export_helpers import FORM_FIELDS, LIST, build_export, read_rows
from tests.factories import SampleFactory

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("own_home")]


CHOICES = {
    "only_approved": False,
    "train_split": 0.5,
    "validation_split": 0.25,
    "seed": "mine",
    "agent": "ada",
    "min_quality": 0.5,
    "rebuild_system": True,
    "tool_calls": "leave_out",
    "parallel_calls": "split",
    "history": "session",
    "duplicates": "keep",
    "sample_filter": "agent:ada",
    "max_per_session": 5,
    "max_per_tool": 6,
    "max_per_twins": 7,
    "weights": True,
    "include": ("cut_off", "flagged", "injected", "interrupted", "pictures", "rolled_back", "unrecognized"),
}
ASKED = {"name": "one", "format": "sharegpt", "task": "reply"}
KINDS = ("alpaca", "openai", "llamafactory_preference", "raw", "nonsense")
# Tested in tests/datasets/releases and in texts/test_exports_redacted.py.
ELSEWHERE = {"release", "split_by", "split_day", "benchmark", "include_pii"}
NOT_CHOSEN = {"format", "task", "sample_types"} | ELSEWHERE


@pytest.mark.parametrize(
    ("choices", "words"),
    [
        ({"format": "xml"}, "Choose alpaca, sharegpt, openai, raw, csv, messages, parquet, sharegpt_reflection"),
        ({"format": "kto", "history": "session"}, "choose another history"),
        ({"tool_calls": "hide"}, "Choose keep, leave_out, input."),
        ({"task": "dpo"}, "Choose reply, gate."),
        ({"history": "all"}, "The history cannot be all. Choose edited, session, context."),
        ({"train_split": 1.5}, "from 0 to 1"),
        ({"train_split": float("nan")}, "from 0 to 1"),
        ({"min_quality": -1}, "from 0 to 1"),
        ({"agent": "nobody"}, "There is no agent nobody."),
        ({"sample_types": ["x"]}, "There is no sample type x."),
        ({"sample_types": []}, "at least one sample type"),
        ({"seed": "x" * 65}, "at most 64"),
        ({"max_per_session": 0}, "must be from 1 to 1,000,000"),
        ({"max_per_twins": -3}, "must be from 1 to 1,000,000"),
        ({"sample_filter": "agnt:ada"}, "There is no filter “agnt”. Did you mean “agent”"),
        ({"sample_filter": "hello"}, "no search for words, so “hello” was ignored"),
        ({"train_split": 0.8, "validation_split": 0.3}, "together must be at most 1"),
        ({"include": ["secrets"]}, "secrets cannot be included. Choose injected, cut_off"),
        ({"parallel_calls": "both"}, "Choose list, split"),
        ({"name": "  "}, "Enter a name for the export."),
        ({"name": "two\nlines"}, "a single line"),
    ],
)
def test_impossible_wishes_are_refused_at_once(choices, words):
    request = {"name": "one", "format": "alpaca", "task": "reply", **choices}
    with pytest.raises(Refused, match=words):
        exports.create_export(**request, by="root")
    assert not DatasetExport.objects.exists()


@pytest.mark.parametrize(("score", "advice"), [(None, "No sample has a quality score"), (0.2, "Choose other options")])
def test_a_minimum_quality_without_scores_is_said(score, advice):
    SampleFactory(annotation_status="approved", quality_score=score)
    with pytest.raises(Refused, match=advice):
        exports.check_request("one", "alpaca", "reply", min_quality=0.5)


def test_an_export_that_does_not_exist_is_refused():
    with pytest.raises(Refused, match="This export does not exist"):
        exports.build_export("nothing", Steps())


@pytest.fixture
def sample():
    SampleFactory(annotation_status="approved", quality_score=0.9)


def read_chosen():
    return export_options.read_options(DatasetExport.objects.get())


def test_no_choice_is_missing_here():
    options = export_options.Options("sharegpt", "reply", **CHOICES)
    assert {field.name for field in fields(export_options.Options)} - NOT_CHOSEN == CHOICES.keys()
    assert all(getattr(options, name) != getattr(export_options.Options("sharegpt", "reply"), name) for name in CHOICES)


def test_the_form_hands_them_on_and_starts_another_one_with_them(as_admin, sample):
    sent = {name: {True: "on", False: ""}.get(value, value) for name, value in CHOICES.items()}
    del sent["agent"]  # the filter names it
    assert as_admin.post("/exports/create/", FORM_FIELDS | ASKED | sent).status_code == 302
    assert read_chosen() == export_options.Options("sharegpt", "reply", **CHOICES)
    again = as_admin.get(DatasetExport.objects.get().get_absolute_url()).context["again"]
    assert as_admin.get(LIST + again).context["form"]["name"].value().startswith("export ")  # it is taken
    assert "checked" in str(as_admin.get(LIST, {"agent": "ada"}).context["form"]["only_approved"])  # as it begins
    DatasetExport.objects.update(state="failed")
    again = as_admin.get(DatasetExport.objects.get().get_absolute_url()).context["again"]
    form = as_admin.get(LIST + again).context["form"]
    assert tuple(form["include"].value()) == CHOICES["include"]
    texts = {name: str(form[name].value()) for name, value in CHOICES.items() if name in form.fields}
    texts = {name: text for name, text in texts.items() if not isinstance(CHOICES[name], bool | tuple)}
    assert texts == {name: str(CHOICES[name]) for name in texts} and form["name"].value() == "one"
    boxes = {name: "checked" in str(form[name]) for name, value in CHOICES.items() if isinstance(value, bool)}
    assert boxes == {name: CHOICES[name] for name in boxes}


def test_the_api_hands_them_on(as_admin, sample):
    answer = as_admin.post("/api/v1/exports", ASKED | CHOICES, "application/json")
    assert answer.status_code == 202 and read_chosen() == export_options.Options("sharegpt", "reply", **CHOICES)
    assert (CHOICES | {"include": list(CHOICES["include"])}).items() <= answer.json()["options"].items()


def test_the_command_hands_them_on(sample):
    words = {f"--{name.replace('_', '-')}": value for name, value in CHOICES.items() if name != "only_approved"}
    flags = [word for word, value in words.items() if value is True]
    words["--include"] = ",".join(CHOICES["include"])
    options = [f"{word}={value}" for word, value in words.items() if value is not True]
    call_command("export", "--format", "sharegpt", "--name", "one", "--all", "--quiet", *flags, *options)
    assert read_chosen() == export_options.Options("sharegpt", "reply", **CHOICES)


@pytest.mark.parametrize(
    ("line", "names"),
    [
        ("by:ann", ["ann1", "ann2"]),
        ("by:ann edited", ["ann2"]),
        ("status:auto_approved", ["rule"]),
        ("from:1971-01-01", []),
        ("by:nobody", []),
        ("", ["ann1", "ann2", "rule"]),
    ],
)
def test_only_samples_of_the_filter_are_counted_and_exported(as_admin, ada, line, names):
    for name, by, output in (("ann1", "ann", None), ("ann2", "ann", "Better."), ("rule", None, None)):
        status = "approved" if by else "auto_approved"
        SampleFactory(id=name, annotated_by=by, output=output, annotation_status=status, session_id=name, created_at=1)
    listed = as_admin.get("/samples/", {"filter": line}, follow=True).context["page"]
    assert sorted(row["id"] for row in listed) == names
    counted = as_admin.post("/exports/count/", FORM_FIELDS | ASKED | {"sample_filter": line})
    assert f"<strong>{len(names)}</strong> sample" in counted.text
    if names:
        export = build_export("sharegpt", sample_filter=line, duplicates="keep")
        assert sorted(row["sample_id"] for row in read_rows(export)) == names


@pytest.mark.parametrize(
    ("sent", "kind"),
    [
        ({}, "messages"),
        ({"trainer": "trl"}, "messages"),
        ({"trainer": "llamafactory"}, "sharegpt"),
        ({"trainer": "openai"}, "openai"),
        ({"trainer": "table"}, "csv"),
        ({"trainer": "axolotl", "format": "alpaca"}, "alpaca"),
        ({"trainer": "openai", "format": "alpaca"}, None),
    ],
)
def test_the_trainer_chooses_the_format_where_nobody_did(as_admin, sample, sent, kind):
    answer = as_admin.post("/exports/create/", FORM_FIELDS | {"format": ""} | sent)
    assert answer.status_code == (302 if kind else 422)
    assert list(DatasetExport.objects.values_list("export_format", flat=True)) == ([kind] if kind else [])
    assert kind or "OpenAI does not read this format." in answer.text


def test_the_form_begins_with_the_trainer_that_reads_the_format_of_its_address(as_admin):
    trainers = [as_admin.get(LIST, {"format": kind, "seed": "1"}).context["form"]["trainer"].value() for kind in KINDS]
    assert trainers == ["trl", "openai", "llamafactory", "table", "trl"]
    assert as_admin.get(LIST).context["form"]["trainer"].value() == "trl"


def test_the_type_of_the_filter_is_the_type_of_the_samples(as_admin, ada):
    SampleFactory(annotation_status="approved", sample_type="memory_gate_positive")
    chosen = FORM_FIELDS | {"task": "gate", "sample_filter": "type:memory_gate_positive"}
    assert as_admin.post("/exports/create/", chosen).status_code == 302
    assert read_chosen().sample_types == ("memory_gate_positive",)


@pytest.mark.parametrize("kind", ["alpaca", "sharegpt"])
def test_what_earlier_versions_stored_is_understood(kind):
    stored = {"onlyApproved": False, "seed": "mine", "toolCalls": "leave_out", "toolResults": "input"}
    stored |= {"rowCharacters": 2_000, "promptCharacters": 0, "keepTextBeforeToolCalls": True, "gateOutput": "json"}
    stored |= {"includeInjected": True, "includeCutOff": True, "includePictures": False, "includeFlagged": True}
    export = DatasetExport(export_format=kind, task="reply", types=("annotated_turn",), choices=stored)
    tool_calls = {"alpaca": "input", "sharegpt": "leave_out"}[kind]
    kinds = ("injected", "cut_off", "rolled_back", "unexplained", "flagged")
    included = {"include": kinds, "tool_calls": tool_calls}
    expected = export_options.Options(kind, "reply", only_approved=False, seed="mine", **included)
    assert export_options.read_options(export) == expected and export.choices == stored
    for kinds, without in (((), True), (("rolled_back",), False)):
        export.choices = {"include": [], "withoutRolledBack": without}
        assert export_options.read_options(export).include == kinds
