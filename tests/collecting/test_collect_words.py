"""The sentences of a collect: databases are not lines, causes are words, amounts have their number."""

import uuid
from pathlib import Path

import pytest

from tests.homes import Home, assistant, user
from tests.operations.backups.backup_homes import run
from tests.operations.doctor.doctor_homes import rows
from tests.sqlite_homes import SqliteHome

pytestmark = pytest.mark.kill
NOBODY = "There is no session nobody, here or in a source.\n"
EVENTS = "SELECT session_id, seq, event_json FROM transcript_events ORDER BY 1, 2"
SOURCES = "SELECT path, size_bytes, last_read_at FROM collector_sources ORDER BY path"


def test_a_database_that_is_lost_is_no_line_and_why_is_said_in_words(tmp_path):
    home = tmp_path / "home"
    source = SqliteHome(Path(f"{home}-source"), agents=("main", "research"))
    for number, agent in enumerate(source.agents, start=1):
        source.session(str(uuid.UUID(int=number)), user("One"), assistant("Two"), agent=agent)
    damaged = source.database("research")
    damaged.write_bytes(b"no database at all" * 1_000)
    summary = run(home, "doctor", "--quiet")[1].splitlines()[-1]
    assert "with 3 new records and 0 rejected records, 1 unreadable database. 0 other findings." in summary
    status, out, err = run(home, "collect", "--quiet")
    assert status == 4
    assert out.splitlines()[-1] == "1 database could not be read. See “Rejected records” under System."
    assert "the file is not a SQLite database, or its beginning is damaged" in out
    for raw in ("file is not a database", "was not a record", "Errno"):
        assert raw not in out + err
    assert err.strip() == ""  # what the report has said is not said again


def test_lines_and_amounts(tmp_path):
    home = tmp_path / "home"
    source = Home(Path(f"{home}-source"))
    source.transcript(user("One")).raw("no record\n")
    status, out, _err = run(home, "collect", "--quiet")
    assert status == 4
    assert "main: 1 transcript read, 0 unchanged; 2 records (session 1, user 1)" in out
    assert out.splitlines()[-1] == "1 line was not a record. See “Rejected records” under System."
    message = run(home, "jobs", "--limit", "1")[1]
    assert "2 new records from 1 agent, 1 rejected record." in message


@pytest.mark.parametrize("kind", [Home, SqliteHome])
def test_what_is_not_there_is_refused_before_anything_is_collected(tmp_path, kind):
    home = tmp_path / "home"
    source = kind(Path(f"{home}-source"))
    session = str(uuid.UUID(int=1))
    put_in(source, session, user("One"))
    assert run(home, "collect", "--again", "--session", "nobody", "--quiet") == (3, "", NOBODY)
    assert rows(home, "SELECT count(*) FROM agents") == [(0,)] and not (home / "agents").exists()
    collected = ("collect", "--again", "--session", session, "--quiet")  # such a session is found in its source
    assert run(home, *collected)[0] == 0
    held = rows(home, EVENTS, "main"), rows(home, SOURCES)
    put_in(source, str(uuid.UUID(int=2)), user("Two"))
    assert run(home, "collect", "--again", "--session", session, "--session", "nobody", "--quiet") == (3, "", NOBODY)
    status, _out, err = run(home, "collect", "--again", "--agent", "research", "--quiet")
    assert status == 3 and err == "This OpenClaw folder has no agent research. Its agents: main.\n"
    assert (rows(home, EVENTS, "main"), rows(home, SOURCES)) == held
    lost = home / "agents" / "main" / "agent" / "openclaw-agent.sqlite"
    lost.unlink()
    assert run(home, "collect", "--again", "--session", "nobody", "--quiet") == (3, "", NOBODY)
    assert not lost.exists() and rows(home, SOURCES) == held[1]
    assert run(home, *collected)[0] == 0
    assert lost.exists()


def put_in(source, session, record):
    if isinstance(source, SqliteHome):
        source.session(session, record)
    else:
        source.transcript(record, session=session)


def test_a_limit_that_does_not_fit_is_one_sentence(tmp_path):
    for limit in ("0", "1001"):
        status, _out, err = run(tmp_path / "home", "jobs", "--limit", limit)
        assert status == 2 and err.splitlines()[-1] == "--limit must be 1 to 1,000."
        assert len(err) < 300
