"""Archives that return to a store that has changed, and forged archives.

The forged ones have numbers and hashes that fit.
"""

import hashlib
import os

import orjson
import pytest
import zstandard

from jobs.progress import Progress
from ledger.models import PromptReport, RejectedRecord, Session, TranscriptEvent
from ledger.transcripts import removal, session_rows
from openclaw_web.disk.drafts import create_draft
from operations.retention import archive_files, archive_restore
from people.configuration import setting_values as configuration
from tests import homes
from tests.operations.retention import old_sessions
from tests.operations.retention.old_sessions import BIG
from tests.processes import CHECKOUT

pytestmark = pytest.mark.django_db
DB = "agent_ada"
CALL = [homes.assistant("", ("a", "exec", {"a": 1})), homes.result("a", BIG)]
MONTH = "2026-02"


@pytest.fixture
def home(own_home):
    return own_home


def store(session_id="s", words=("Hello",)):
    records = [record for word in words for record in (homes.user(word), *CALL, homes.assistant(f"{word}!"))]
    return old_sessions.store(session_id, records)


def archive_session(home, session_id="s"):
    """Archive a session and remove it; returns the file."""
    draft = home / "draft"
    written = archive_files.write_archive(draft, DB, session_id)
    assert archive_files.verify_archive(draft) == written
    path = archive_files.publish_archive(draft, home / "archive", written, last_activity_at=1, month=MONTH)
    options = {"why": "archive", "digest": written.rows_sha256}
    assert removal.remove_session(DB, session_id, before=2**52, needed_by=lambda _: "", **options)
    return path


def restore(*paths):
    return archive_restore.restore_archives(
        archive_restore.find_archives([os.fspath(path) for path in paths]), Progress(), by="test"
    )


def restore_refused(path):
    receipt = restore(path)
    assert not receipt["restored"] and len(receipt["failed"]) == 1, receipt
    return receipt["failed"][0]["reason"]


def test_an_archive_of_an_earlier_store_is_restored(home):
    """It was written when the ids of records were in a table of their own, by commit 04f13619."""
    [path] = (CHECKOUT / "tests" / "data" / "archives").iterdir()
    for how in ("restored", "there"):
        receipt = restore(path)
        assert (receipt[how], receipt["failed"]) == (1, []), receipt
    assert Session.objects.using(DB).get().title == "Is the oven warm?"
    ids = TranscriptEvent.objects.using(DB).order_by("seq").values_list("event_id", "parent_id")
    assert [*ids][1:] == [("r1", None), ("r2", "r1"), ("r3", "r2"), ("r4", "r3")]


def test_numbers_that_others_have_by_now_are_given_anew(home):
    path = archive_session(home, store())
    RejectedRecord.objects.using(DB).create(
        id=1, file="other.jsonl", byte_offset=3, byte_length=1, reason="not_json", session_id="t", created_at=1
    )
    for how in ("restored", "there"):
        receipt = restore(path)
        assert (receipt[how], receipt["failed"]) == (1, []), receipt
    assert RejectedRecord.objects.using(DB).filter(session_id="s").count() == 1
    assert RejectedRecord.objects.using(DB).get(id=1).session_id == "t"
    assert archive_session(home).name == path.name


def test_of_several_archives_of_a_session_the_latest_counts(home):
    older = archive_session(home, store(words=("One",)))
    latest = archive_session(home, store(words=("One", "Two")))
    receipt = restore(home / "archive", older, latest)
    assert (receipt["restored"], receipt["older"], receipt["there"], receipt["failed"]) == (1, 2, 1, [])
    assert "2 archives contain older states" in receipt["message"]
    assert Session.objects.using(DB).get(id="s").turn_count == 2
    assert "changed since" in restore_refused(older)


def test_somebody_who_opted_out_since_does_not_come_back(home):
    store()
    columns = {"session_key": "agent:ada:telegram:direct:43", "origin": "direct", "conversation_target": "telegram:43"}
    Session.objects.using(DB).filter(id="s").update(**columns)
    path = archive_session(home)
    configuration.put("collector.optedOutSenders", ["43"])
    assert "opted out" in restore_refused(path) and not Session.objects.using(DB).exists()
    assert removal.read_all_removed_ids(DB) == {"s"}
    configuration.put("collector.optedOutSenders", [])
    assert restore(path)["restored"] == 1
    Session.objects.using(DB).filter(id="s").update(session_key="agent:ada:irc:group:#lab", origin="group")
    path = archive_session(home)
    configuration.put("collector.optedOutSenders", ["44"])  # this sender may have spoken in the group
    assert "opted out" in restore_refused(path)


def test_a_name_that_is_no_utf_8(home, tmp_path):
    with open(os.fsencode(tmp_path) + b"/\xff.jsonl.zst", "wb") as file:
        file.write(b"x")
    receipt = restore(tmp_path)
    assert "�" in receipt["failed"][0]["id"] and orjson.dumps(receipt)


def test_what_others_left_beside_drafts_stays(tmp_path):
    (tmp_path / ".archive.2024").mkdir()
    (tmp_path / ".archive.file").write_text("precious")
    (tmp_path / ".archive.01K8ZZZZZZZZZZZZZZZZZZZZZZ").mkdir()
    (tmp_path / ".archive.01K8YYYYYYYYYYYYYYYYYYYYYY").symlink_to(tmp_path / ".archive.2024")
    with create_draft(tmp_path / "archive"):
        pass
    remaining = {path.name for path in tmp_path.iterdir()}
    assert remaining == {".archive.2024", ".archive.file", ".archive.01K8YYYYYYYYYYYYYYYYYYYYYY"}


def find_first_row(lines, table):
    return next(line["row"] for line in lines if line.get("table") == table)


def without_content(lines):
    lines[:] = [line for line in lines if "content" not in line]


def with_another_session(lines):
    lines.insert(-1, {"table": "sessions", "row": find_first_row(lines, "sessions") | {"id": "t"}})


def without_session(lines):
    lines[:] = [line for line in lines if line.get("table") != "sessions"]


def with_a_report(lines):
    row = {"id": "0" * 64, "report_json": "{}"}
    lines.insert(1, {"table": "prompt_reports", "row": row})
    find_first_row(lines, "sessions")["prompt_report_id"] = row["id"]


def with_a_name(name):
    def change(lines):
        lines[0]["session"] = find_first_row(lines, "sessions")["id"] = name
        for line in lines:
            if "session_id" in line.get("row", {}):
                line["row"]["session_id"] = name

    return change


def with_value(table, column, value):
    return lambda lines: find_first_row(lines, table).update({column: value})


def with_a_content_of_others(lines):
    lines[:] = [line for line in lines if "content" not in line and line.get("table") != "artifacts"]


FORGED = {
    "an output of somebody else": with_a_content_of_others,
    "a name with a slash": with_a_name("../../x"),
    "no name": with_a_name(""),
    "a name with a NUL": with_a_name("a\x00b"),
    "a long name": with_a_name("x" * 100_000),
    "a name that is none": with_a_name(["s"]),
    "a turn of another session": with_value("conversation_turns", "id", "other:r0"),
    "no JSON": with_value("transcript_events", "event_json", "{"),
    "JSON of another shape": with_value("transcript_events", "event_json", "[]"),
    "a record without a type": with_value("transcript_events", "event_json", "{}"),
    "a record of a type that is none": with_value("transcript_events", "event_json", '{"type": [1]}'),
    "notes of another shape": with_value("transcript_events", "trim_json", '{"stashed": [{"path": 1}]}'),
    "places that are none": with_value("transcript_events", "trim_json", '{"capped": [[1, 2, 3]]}'),
    "metadata": with_value("sessions", "metadata", "5"),
    "kinds of secrets": with_value("artifacts", "secret_kinds", '{"a": 1}'),
    "a choice": with_value("sessions", "source_state", "other"),
    "a count": with_value("session_days", "total_tokens", 2**62),
    "costs": with_value("session_days", "cost_usd", 1e308),
    "a time": with_value("sessions", "last_activity_at", 2**62),
    "a day": with_value("session_days", "date", "someday"),
    "a day of a tool": with_value("session_tools", "date", "2026-99-99"),
    "a content of somebody else": without_content,
    "another session": with_another_session,
    "no session": without_session,
    "a report under a wrong name": with_a_report,
    "a row that is none": lambda lines: lines.insert(-1, {"table": "artifacts", "row": None}),
    "a rejected line that is none": lambda lines: lines.insert(-1, {"table": "rejected_records", "row": 7}),
}


def forge_archive(path, change):
    """Write an archive again with something wrong in it, but numbers and hashes that fit."""
    data = zstandard.ZstdDecompressor().stream_reader(path.read_bytes()).read()
    parsed = [orjson.loads(line) for line in data.splitlines()]
    change(parsed)
    lines_hash, rows_hash, tables, contents = hashlib.sha256(), hashlib.sha256(), {}, 0
    for entry in parsed[:-1]:
        line = orjson.dumps(entry) + b"\n"
        lines_hash.update(line)
        contents += entry.get("part") == 0
        if "table" in entry:
            rows_hash.update(session_rows.strip_row_id(entry["table"], line))
            tables[entry["table"]] = tables.get(entry["table"], 0) + 1
    parsed[-1] = {"end": True, "tables": dict(sorted(tables.items())), "contents": contents}
    parsed[-1] |= {"rows_sha256": rows_hash.hexdigest(), "lines_sha256": lines_hash.hexdigest()}
    other = path.with_name("forged.jsonl.zst")
    other.write_bytes(zstandard.compress(b"".join(orjson.dumps(entry) + b"\n" for entry in parsed)))
    return other


def test_forged_archives_bring_nothing(home):
    path = archive_session(home, store())
    for name, change in FORGED.items():
        other = forge_archive(path, change)
        assert restore_refused(other), name
        assert not Session.objects.using(DB).exists() and not PromptReport.objects.using(DB).exists(), name
        assert removal.read_all_removed_ids(DB) == {"s"}, name
    assert restore(forge_archive(path, lambda _lines: None))["restored"] == 1


def test_a_session_that_could_not_be_put_back_is_not_archived(home):
    Session.objects.using(DB).filter(id=store()).update(metadata="no JSON")
    draft = home / "draft"
    archive_files.write_archive(draft, DB, "s")
    with pytest.raises(session_rows.WrongRow):
        archive_files.verify_archive(draft)


def test_more_behind_the_end_is_refused(home):
    path = archive_session(home, store())
    other = path.with_name("longer.jsonl.zst")
    for more in (b"more", zstandard.compress(b"more\n")):
        other.write_bytes(path.read_bytes() + more)
        assert "damaged" in restore_refused(other)
