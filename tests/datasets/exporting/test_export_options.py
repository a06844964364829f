"""What an export may be asked for."""

import pytest

from datasets.exporting import exports
from datasets.exporting import options as export_options
from datasets.models import DatasetExport
from openclaw_web.errors import Refused
from tests.datasets.exporting.branches import Steps
from tests.factories import SampleFactory

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("ada")]


@pytest.mark.parametrize(
    ("choices", "words"),
    [
        ({"format": "parquet"}, "Choose alpaca, sharegpt, openai, raw, csv."),
        ({"tool_calls": "hide"}, "Choose keep, leave_out."),
        ({"task": "dpo"}, "Choose reply, gate."),
        ({"history": "all"}, "The history cannot be all. Choose edited, session, context."),
        ({"gate_output": "xml"}, "Decisions cannot be written as xml. Choose lines, json."),
        ({"train_split": 1.5}, "from 0 to 1"),
        ({"train_split": float("nan")}, "from 0 to 1"),
        ({"min_quality": -1}, "from 0 to 1"),
        ({"row_characters": 10}, "from 1,000 to"),
        ({"agent": "nobody"}, "There is no agent nobody."),
        ({"sample_types": ["x"]}, "There is no sample type x."),
        ({"sample_types": []}, "at least one sample type"),
        ({"seed": "x" * 65}, "at most 64"),
        ({"name": "  "}, "Enter a name for the export."),
        ({"name": "two\nlines"}, "a single line"),
    ],
)
def test_impossible_wishes_are_refused_at_once(choices, words):
    wanted = {"name": "one", "format": "alpaca", "task": "reply", **choices}
    with pytest.raises(Refused, match=words):
        exports.request(**wanted, by="root")
    assert not DatasetExport.objects.exists()


@pytest.mark.parametrize(("score", "advice"), [(None, "No sample has a quality score"), (0.2, "Choose other options")])
def test_a_minimum_quality_without_scores_is_said(score, advice):
    SampleFactory(annotation_status="approved", quality_score=score)
    with pytest.raises(Refused, match=advice):
        exports.check_request("one", "alpaca", "reply", min_quality=0.5)


def test_what_was_asked_for_is_what_is_built():
    export = exports.request("one", "sharegpt", "gate", by="r", agent="ada", seed="9", train_split=0.25, keep_text=True)
    options = export_options.read_options(export)
    assert options == export_options.Options(
        "sharegpt", "gate", agent="ada", seed="9", train_split=0.25, keep_text=True
    )


def test_an_export_that_does_not_exist_is_refused():
    with pytest.raises(Refused, match="This export does not exist"):
        exports.build("nothing", Steps())
