"""Sessions that are imported while an export scans are left out and counted."""

import pytest

from datasets.exports import exports
from datasets.models import DatasetExport
from findings.models import Finding
from openclaw_web.errors import Refused
from tests.datasets.exports.branches import body
from tests.datasets.exports.export_helpers import build_export, excluded_counts, excluded_samples, read_rows
from tests.factories import SampleFactory
from tests.homes import assistant, user
from tests.ledger.transcript_records import store_session

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("own_home")]
SENTENCE = "Of a session that was imported after the scan for this export"
KEY = "ghp_" + "a1B2c3D4e5F6" * 3
FORMATS = ("alpaca", "sharegpt", "openai", "messages", "raw", "csv")


class Arrival:
    """A progress that stores records of the session `late` once the texts before them were scanned."""

    def __init__(self, *records):
        self.records = records

    def update(self, done, total=None, message=""):
        if message.startswith("Scanning"):
            store_session(*self.records, session_id="late")


def build_during_import(format_="alpaca", *records, reply="answer 1", name="first"):
    """An export during which these records arrive; a short conversation without any."""
    export = exports.create_export(name, format_, "reply", by="root", train_split=1)
    exports.build_export(export.id, Arrival(*(records or (user("question 1"), assistant(reply)))))
    export.refresh_from_db()
    return export


@pytest.fixture
def sessions():
    """Two samples: one of a stored session, one of a session that arrives during the export."""
    store_session(user("question 1"), assistant("answer 1"), session_id="early")
    for session in ("early", "late"):
        reply = f"answer of {session}"
        content = body(1, userMessage=f"question of {session}", agentReply=reply)
        SampleFactory(id=session, session_id=session, turn_number=1, content=content, annotation_status="approved")


@pytest.mark.parametrize("format_", FORMATS)
def test_its_sample_is_left_out_and_counted_and_the_next_export_has_it(sessions, format_):
    export = build_during_import(format_)
    assert (export.state, export.total_samples) == ("ready", 1)
    assert excluded_samples(export) == {"unscanned": ["late"]} and excluded_counts(export) == {"unscanned": 1}
    data = b"".join(path.read_bytes() for path in exports.folder_of(export).glob("ocl_*"))
    assert b"early" in data and b"answer of late" not in data
    again = build_export(format_, name="second")
    assert (again.total_samples, excluded_counts(again)) == (2, {})


def test_more_records_of_a_session_that_was_scanned_leave_it_out_too(sessions):
    store_session(user("question 1"), assistant("answer 1"), session_id="late")
    build_export(name="before")
    store_session(
        user("question 3"), assistant("answer 3"), session_id="new"
    )  # what the scan of the export is busy with
    more = (user("question 2"), assistant("answer 2"))
    records = (user("question 1"), assistant("answer 1"), *more)
    export = build_during_import("alpaca", *records, name="during")
    assert [row["sample_id"] for row in read_rows(export)] == ["early"]
    assert excluded_samples(export) == {"unscanned": ["late"]}


def test_the_page_says_why_and_leads_to_the_sample(as_reviewer, sessions):
    page = as_reviewer.get(build_during_import().get_absolute_url()).text
    assert SENTENCE in page and "/samples/late/" in page and "/samples/early/" not in page.partition(SENTENCE)[2]


def test_a_key_in_it_is_open_for_people_after_the_next_scan(sessions):
    export = build_during_import(reply=f"it is {KEY}")
    assert not Finding.objects.using("agent_ada").filter(kind="key").exists()
    assert KEY.encode() not in b"".join(path.read_bytes() for path in exports.folder_of(export).iterdir())
    build_export(name="second")
    assert Finding.objects.using("agent_ada").filter(kind="key").exists()


def test_an_export_of_nothing_else_has_no_files(db, ada):
    SampleFactory(id="late", session_id="late", turn_number=1, content=body(1), annotation_status="approved")
    store_session(user("question 1"), assistant("answer 1"), session_id="early")
    with pytest.raises(Refused):
        build_during_import()
    assert DatasetExport.objects.get().state != "ready"
