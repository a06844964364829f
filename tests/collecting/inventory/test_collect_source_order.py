"""Several sources of one session come in one order, however they are imported.

The source that continues the others comes last.
"""

import itertools
import json
import os

import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from agents.models import CollectorSource
from ledger.models import ConversationTurn, Session, TranscriptEvent
from ledger.source_order import SourceRecords, order_sources
from tests.collecting.collect_runs import MAIN, dump_tables, run
from tests.collecting.inventory.odd_folders import header, message
from tests.homes import Home
from tests.sqlite_homes import SqliteHome

pytestmark = pytest.mark.django_db
ID = "11111111-2222-4333-8444-555555555555"
OTHER = "aaaaaaaa-2222-4333-8444-555555555555"
NUMBER = itertools.count(1)
NAMES = (f"{ID}.jsonl", f"{ID}-topic-7.jsonl", f"2026-03-01T10-00-00-000Z_{ID}.jsonl")
# A source: its first record and the number of its records.
SOURCES = st.lists(st.tuples(st.integers(1, 8), st.integers(1, 6)), min_size=2, max_size=3)


def lines(first, count, is_backwards):
    yield header(ID)
    for number in range(first, first + count):
        at = 59 - number if is_backwards else number
        role = "assistant" if number % 2 == 0 else "user"
        yield message(number, f"m{number - 1}" if number > 1 else None, at=at, role=role)


def summary(db):
    """Return what people see of a session, whatever order its records are numbered in."""
    session = Session.objects.using(db).get(id=ID)
    active = TranscriptEvent.objects.using(db).filter(session_id=ID, is_active=True)
    turns = ConversationTurn.objects.using(db).filter(session_id=ID, is_active=True)
    values = {"leaf": session.leaf_record_id, "title": session.title, "model": session.model}
    values |= {"state": session.source_state, "turn_count": session.turn_count, "records": session.record_count}
    values["active"] = sorted(active.values_list("event_id", flat=True))
    values["turns"] = sorted(turns.values_list("user_message_id", flat=True))
    return values


@settings(
    max_examples=25,
    phases=[Phase.generate],
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
@given(sources=SOURCES, data=st.data())
def test_the_order_of_imports_and_the_times_of_files_change_nothing(tmp_path, real_files, sources, data):
    is_backwards = data.draw(st.booleans())  # the clock
    files = [(name, "".join(lines(*source, is_backwards))) for name, source in zip(NAMES, sources, strict=False)]
    summaries = []
    for _ in range(2):
        number = next(NUMBER)
        home = Home(tmp_path / f"openclaw{number}")
        order = data.draw(st.permutations(files))
        together = data.draw(st.booleans())
        for name, text in order:
            path = home.write(f"agents/main/sessions/{name}", text)
            moment = data.draw(st.integers(1_700_000_000, 1_700_000_003))
            os.utime(path, (moment, moment))
            if not together:
                run(home, **{"as": f"order{number}"})
        run(home, **{"as": f"order{number}"})
        summaries.append(summary(f"agent_order{number}"))
        before = dump_tables(f"agent_order{number}")
        run(home, again=True, **{"as": f"order{number}"})
        assert summary(f"agent_order{number}") == summaries[-1]
        assert len(dump_tables(f"agent_order{number}")["transcript_events"]) == len(before["transcript_events"])
    assert summaries[0] == summaries[1]


@given(sources=st.lists(st.lists(st.sampled_from("abcdef"), min_size=1, max_size=4, unique=True), max_size=5))
def test_sources_come_in_one_order(sources):
    def make_source(place, ids):
        records = SourceRecords(str(place))
        for moment, record_id in enumerate(ids):
            records.add(record_id, None, moment * 1000 + place)
        return records

    made_sources = [make_source(place, ids) for place, ids in enumerate(sources)]
    names = [source.name for source in order_sources(made_sources)]
    for order in itertools.islice(itertools.permutations(made_sources), 24):
        assert [source.name for source in order_sources(order)] == names


def test_a_longer_file_beside_a_database_comes_last(tmp_path, real_files):
    home = SqliteHome(tmp_path / "openclaw")
    records = [json.loads(line) for line in lines(1, 6, True)]
    home.session(ID, *records[1:3])
    home.write(f"agents/main/sessions/{ID}.jsonl", "".join(lines(1, 6, True)))
    run(home)
    assert summary(MAIN)["leaf"] == "m6"
    assert len(summary(MAIN)["active"]) == 7
    before = dump_tables()
    assert run(home)["bytes_read"] == 0
    assert dump_tables() == before


def test_a_session_that_goes_on_in_one_of_its_files_goes_on(home, as_operator):
    short = home.write(f"agents/main/sessions/{ID}.jsonl", "".join(lines(1, 2, False)))
    path = home.write(f"agents/main/sessions/{ID}-topic-7.jsonl", "".join(lines(1, 4, False)))
    run(home)
    assert summary(MAIN)["leaf"] == "m4"
    with path.open("a") as file:
        file.write(message(5, "m4") + message(6, "m5", role="assistant"))
    run(home)
    values = summary(MAIN)
    assert (values["leaf"], values["turns"], values["model"]) == ("m6", ["m1", "m3", "m5"], "model-6")
    with short.open("a") as file:  # the other file continues on an earlier branch
        file.write(message(20, "m2", at=3))
    run(home)
    assert summary(MAIN)["leaf"] == "m6"
    page = as_operator.get(f"/agents/main/sessions/{ID}/").content.decode()
    assert "Several files, or one that was written anew." in page


def test_a_copy_that_is_touched_does_not_reset_a_live_session(home):
    home.write(f"agents/main/sessions/{ID}.jsonl", "".join(lines(1, 4, False)))
    copy = home.write(f"agents/main/sessions/{ID}.jsonl.bak-1", "".join(lines(1, 2, False)))
    run(home, include_deleted=True)
    os.utime(copy, (2_000_000_000, 2_000_000_000))
    run(home, include_deleted=True)
    assert (summary(MAIN)["state"], summary(MAIN)["leaf"]) == ("live", "m4")


def test_records_of_a_file_that_was_taken_for_another_sessions_move_when_it_is_imported_again(home):
    """The source book says that both files are one session, because of their names."""
    home.write(f"agents/main/sessions/{ID}.jsonl.reset.2026-03-01", header(ID) + message(1))
    home.write(f"agents/main/sessions/{ID}.jsonl", header(ID) + message(2))
    run(home, include_deleted=True)
    path = home.root / f"agents/main/sessions/{ID}.jsonl"
    stat = path.stat()
    path.write_text(header(OTHER) + message(2))
    os.utime(path, ns=(stat.st_atime_ns, stat.st_mtime_ns))
    home.index({"agent:main:main": {"sessionId": OTHER, "sessionFile": str(path)}})
    CollectorSource.objects.filter(kind="transcript").update(session_id=ID)
    run(home, include_deleted=True)
    run(home, include_deleted=True, again=True)
    stored = Session.objects.using(MAIN).order_by("id").values_list("id", "record_count", "session_key")
    assert list(stored) == [(ID, 2, None), (OTHER, 2, "agent:main:main")]
    before = dump_tables()
    again = run(home, include_deleted=True, again=True)["again"]["main"]
    assert (again["rebuilt"], again["new"], dump_tables() == before) == (0, 0, True)
    with path.open("a") as file:
        file.write(message(3, "m2"))
    run(home)
    assert Session.objects.using(MAIN).get(id=OTHER).record_count == 3
