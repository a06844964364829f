"""An archived session comes back unchanged, for generated sessions."""

import itertools

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from jobs.progress import Progress
from ledger.models import RejectedRecord, Session
from ledger.transcripts import removal, session_rows
from operations.retention import archive_files, archive_restore
from tests import homes
from tests.operations.retention import old_sessions

pytestmark = pytest.mark.django_db
DB = "agent_ada"
TEXTS = st.text(st.characters(codec="utf-8") | st.sampled_from("\x00\u2028\u202e🦞"), max_size=60)
LONG = st.builds(lambda text, times: text * times, TEXTS, st.sampled_from([1, 400, 3_000]))
NUMBERS = st.floats(allow_nan=False, allow_infinity=False) | st.integers(-(2**53), 2**53) | st.none() | TEXTS
RECORDS = st.lists(
    st.builds(homes.user, LONG)
    | st.builds(lambda text, call: homes.assistant(text, (call, "exec", {"a": text})), LONG, st.sampled_from("ab"))
    | st.builds(homes.result, st.sampled_from("ab"), LONG)
    | st.builds(lambda text: {"type": "compaction", "summary": text, "firstKeptEntryId": "r1"}, LONG)
    | st.builds(lambda value: {"type": "odd", "value": value, "parentId": "r1"}, NUMBERS),
    min_size=1,
    max_size=14,
)
NUMBER = itertools.count()


@given(RECORDS)
@settings(
    max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow]
)
def test_what_comes_back_is_what_went_in(own_home, records):
    session_id = old_sessions.store(f"s{next(NUMBER)}", records)
    before = list(session_rows.read_row_lines(DB, session_id))
    path = own_home / f"{session_id}.jsonl.zst"
    written = archive_files.write_archive(path, DB, session_id)
    assert archive_files.verify_archive(path) == written
    moment = Session.objects.using(DB).get(id=session_id).last_activity_at + 1
    options = {"why": "archive", "digest": written.rows_sha256}
    assert removal.remove_session(DB, session_id, before=moment, needed_by=lambda _: "", **options)
    assert not RejectedRecord.objects.using(DB).filter(session_id=session_id).exists()
    for _time in range(2):
        receipt = archive_restore.restore_archives([path], Progress(), by="test")
        assert not receipt["failed"], receipt
    assert list(session_rows.read_row_lines(DB, session_id)) == before
