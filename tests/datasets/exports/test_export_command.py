"""`openclaw-web export`: the files, what it prints, its exit status."""

import io

import orjson
import pytest
from django.core.management import CommandError, call_command

from datasets.models import DatasetExport
from jobs.models import JobRun
from tests.datasets.exports.branches import body
from tests.factories import SampleFactory

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("own_home")]


def export(*words):
    out, err = io.StringIO(), io.StringIO()
    call_command("export", "--name", "one", *words, stdout=out, stderr=err)
    return out.getvalue(), err.getvalue()


def test_it_works(own_home):
    SampleFactory(annotation_status="approved")
    SampleFactory(id="waiting")
    out, err = export("--format", "alpaca", "--split", "1", "--only-approved")
    row = DatasetExport.objects.get()
    assert (row.state, row.exported_by) == ("ready", "command line")
    assert f"Exported to {own_home}/exports/{row.id}" in out
    assert "ocl_one_alpaca.train.jsonl  1 row" in out and "The test part is empty" in out
    assert "Excluded: 1 (Not approved yet)" in out
    assert "1 of 1  100 %" in err
    assert JobRun.objects.get().state == "finished"


def test_it_says_how_long_rows_are_and_names_the_export_that_it_compared_with():
    SampleFactory(annotation_status="approved", output="wörds " * 1_500)
    out, _ = export("--format", "alpaca", "--split", "1")
    assert "  More than 2,048 tokens: 1 row; more than 4,096: 0 rows; more than 8,192: 0 rows\n" in out
    assert "Rows compared" not in out
    again, _ = export("--format", "alpaca", "--split", "1", "--name", "two")
    assert "Rows compared with the export one: added 0, " in again


def test_a_task_that_has_samples_is_named():
    SampleFactory(sample_type="write_guardian_decision")
    with pytest.raises(CommandError) as refused:
        export("--format", "raw", "--all")
    assert "There are samples of the task “guardian”: choose this task." in str(refused.value)


def test_a_program_gets_one_json_object(own_home):
    SampleFactory(annotation_status="approved")
    receipt = orjson.loads(export("--format", "sharegpt", "--json")[0])
    assert (receipt["schema"], receipt["state"]) == ("openclaw-web.export.v1", "ready")
    assert receipt["manifest"]["format"] == "sharegpt"
    assert receipt["folder"].startswith(str(own_home))


def test_nothing_to_export_is_refused():
    with pytest.raises(CommandError, match="No samples match these options") as refused:
        export("--format", "alpaca")
    assert refused.value.returncode == 3


def test_a_name_whose_files_another_export_has_is_refused():
    SampleFactory(annotation_status="approved")
    export("--format", "alpaca", "--name", "First  try")
    assert DatasetExport.objects.get().export_name == "First try"
    with pytest.raises(CommandError, match="The files of the export First try would have the same names") as refused:
        export("--format", "alpaca", "--name", "First-try")
    assert refused.value.returncode == 3 and DatasetExport.objects.count() == 1
    export("--format", "sharegpt", "--name", "First-try")
    with pytest.raises(CommandError, match="There is already an export named First try"):
        export("--format", "alpaca", "--name", " First   try")


def test_rows_in_the_way_are_named():
    for number in range(30):
        SampleFactory(id=f"broken-{number:02}", annotation_status="approved", output=" ", content=body(number))
    out = io.StringIO()
    with pytest.raises(CommandError, match="30 rows break a rule") as refused:
        call_command("export", "--name", "one", "--format", "alpaca", "--json", stdout=out, stderr=io.StringIO())
    message = str(refused.value)
    assert "broken-00: A text is empty (output)." in message
    assert "broken-25" not in message and "and more" in message
    receipt = orjson.loads(out.getvalue())
    assert set(receipt) == {"ok", "error", "reasons"} and len(receipt["reasons"]) == 30


def test_an_impossible_wish_is_refused_before_anything_is_made():
    with pytest.raises(CommandError, match="There is no agent nobody"):
        export("--format", "alpaca", "--agent", "nobody")
    assert not DatasetExport.objects.exists() and not JobRun.objects.exists()
