"""Every file of an agent is read, or named with a reason.

This holds for any name and any place.
"""

import itertools
import json
import os
from collections import Counter

import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from agents.models import SkippedSource
from collecting import report as reports
from collecting.inventory.words import REASON_WORDS
from ledger.models import Session
from tests.collecting.collect_runs import MAIN, count_events, count_opens, run
from tests.collecting.inventory import odd_folders
from tests.homes import Home, assistant, user

pytestmark = pytest.mark.django_db
NUMBER = itertools.count(1)
ID = "11111111-2222-4333-8444-555555555555"
OTHER = "aaaaaaaa-2222-4333-8444-555555555555"


def files_of(result, agent="main"):
    return result["agents"][agent]["files"]


def reasons(result, agent="main"):
    return {reason: skipped["count"] for reason, skipped in files_of(result, agent)["reasons"].items()}


def sessions():
    return dict(Session.objects.using(MAIN).values_list("id", "record_count"))


@settings(
    max_examples=40,
    phases=[Phase.generate],
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
@given(files=odd_folders.FILES, include_deleted=st.booleans(), index=st.sampled_from(["", "{}", "{", "[]"]))
def test_files_found_are_files_read_and_files_named(tmp_path, real_files, files, include_deleted, index):
    number = next(NUMBER)
    home = Home(tmp_path / f"openclaw{number}")
    folder = home.root / "agents" / "main"
    odd_folders.write(folder / "sessions", files)
    if index:
        home.index(index)
    options = {"as": f"odd{number}", "include_deleted": include_deleted}
    results = []
    opened = count_opens(lambda: results.append(run(home, **options)))
    file_counts = files_of(results[0], f"odd{number}")
    rows = SkippedSource.objects.filter(root=str(home.root), kind="file")
    assert (
        file_counts["found"]
        == odd_folders.count_files(folder / "sessions")
        == file_counts["read"] + file_counts["named"]
    )
    assert file_counts["named"] == rows.count() == sum(reason["count"] for reason in file_counts["reasons"].values())
    assert set(file_counts["reasons"]) <= REASON_WORDS.keys()
    ours = Counter(path for path in opened if path.startswith(str(folder)) and not os.path.isdir(path))
    # a session whose files come in another order is made again from all of its files
    assert results[0]["again"] or [path for path, times in ours.items() if times > 1] == []
    opened = count_opens(lambda: results.append(run(home, **options)))
    assert [path for path in opened if path.startswith(str(folder)) and not os.path.isdir(path)] == []
    assert files_of(results[1], f"odd{number}") == file_counts
    assert results[1]["records"] == 0


@pytest.mark.parametrize(
    ("name", "header", "session"),
    [
        (f"2026-03-01T10-00-00-000Z_{ID}.jsonl", ID, ID),
        (f"{ID}-topic-1700000000.000100.jsonl", ID, ID),
        (f"{ID}-topic-a%2Fb.jsonl", ID, ID),
        ("boot-2026-06-12_01-38-43-539-a2a5aeed.jsonl", "", "boot-2026-06-12_01-38-43-539-a2a5aeed"),
        ("harbour-project.jsonl", "harbour-project", "harbour-project"),
        ("harbour-project.jsonl", "", "harbour-project"),
        ("harbour-project.jsonl", ID, ID),
        (f"old/{ID}.jsonl", ID, ID),
        (f"{ID}.jsonl", OTHER, OTHER),
    ],
)
def test_whose_a_transcript_is_follows_from_its_header_and_its_name(home, name, header, session):
    path = home.write(f"agents/main/sessions/{name}", odd_folders.header(header) if header else "")
    with path.open("a") as file:
        file.write(odd_folders.message(1))
    result = run(home)
    assert list(sessions()) == [session]
    assert (files_of(result)["read"], files_of(result)["named"]) == (1, 0)


@pytest.mark.parametrize("suffix", [".bak", ".bak-1719-2", ".bak.3", ".old", ".imported-1795231258903", ".deleted.x"])
def test_copies_are_read_with_deleted_sessions_only(home, suffix):
    home.write(f"agents/main/sessions/{ID}.jsonl{suffix}", odd_folders.header(ID) + odd_folders.message(1))
    result = run(home)
    assert (sessions(), sum(reasons(result).values())) == ({}, 1)
    result = run(home, include_deleted=True)
    assert (sessions(), reasons(result)) == ({ID: 2}, {})


def test_what_is_no_transcript_is_named_and_not_opened_again_until_it_changes(home):
    path = home.write("agents/main/sessions/shopping.jsonl", '{"milk": 2}\n')
    assert reasons(run(home)) == {"not_transcript": 1}
    opened = count_opens(lambda: run(home))
    assert str(path) not in opened
    path.write_text(odd_folders.header("shopping") + odd_folders.message(1))
    assert reasons(run(home)) == {}
    assert sessions() == {"shopping": 2}


def test_an_index_decides_whose_a_file_is(home):
    """The file keeps its name after a reset, and its header has the new id."""
    home.write(f"agents/main/sessions/{ID}.jsonl.reset.2026-03-01", odd_folders.header(ID) + odd_folders.message(1))
    home.write(f"agents/main/sessions/{ID}.jsonl", odd_folders.header(OTHER) + odd_folders.message(2))
    named = {"sessionId": OTHER, "sessionFile": f"C:\\Users\\u\\.openclaw\\agents\\main\\sessions\\{ID}.jsonl"}
    home.index({"agent:main:main": named})
    run(home, include_deleted=True)
    stored = Session.objects.using(MAIN).order_by("id").values_list("id", "session_key", "source_state", "record_count")
    assert list(stored) == [(ID, None, "reset", 2), (OTHER, "agent:main:main", "live", 2)]


def test_a_file_without_an_extension_is_a_copy_unless_an_index_names_it(home):
    path = home.write("agents/main/sessions/no-ext", odd_folders.header(ID) + odd_folders.message(1))
    home.write("agents/main/sessions/other", odd_folders.header(OTHER) + odd_folders.message(1))
    home.index({"agent:main:main": {"sessionId": ID, "sessionFile": str(path)}})
    for records in (2, 2, 3):
        if records == 3:
            path.write_text(path.read_text() + odd_folders.message(2, "m1"))
        assert reasons(run(home)) == {"bak": 1}
        assert (Session.objects.using(MAIN).get().source_state, sessions()) == ("live", {ID: records})


@pytest.mark.parametrize("is_index_first", [True, False])
@pytest.mark.parametrize(
    "name",
    ["notes.txt", "no extension", f"{ID}.JSONL", f"{OTHER}.jsonl.bak", f"{OTHER}.jsonl.reset.2026", "日本"],
)
def test_a_file_that_an_index_names_is_live_whatever_its_name(home, name, is_index_first):
    index = {"agent:main:main": {"sessionId": ID, "sessionFile": f"/home/u/.openclaw/agents/main/sessions/{name}"}}
    if is_index_first:
        home.index(index)
        run(home)
    path = home.write(f"agents/main/sessions/{name}", odd_folders.header(ID) + odd_folders.message(1))
    run(home)
    home.index(index)
    file_counts = files_of(run(home))
    stored = Session.objects.using(MAIN).values_list("id", "session_key", "source_state", "record_count")
    assert (list(stored), file_counts["named"]) == ([(ID, "agent:main:main", "live", 2)], 0)
    opened = count_opens(lambda: run(home))
    assert str(path) not in opened and str(path.with_name("sessions.json")) not in opened
    assert list(stored.all()) == [(ID, "agent:main:main", "live", 2)]
    with path.open("a") as file:
        file.write(odd_folders.message(2, "m1"))
    run(home)
    assert list(stored.all()) == [(ID, "agent:main:main", "live", 3)]
    home.index({"agent:main:main": {"sessionId": ID}})
    run(home)
    is_live = name.lower().endswith(".jsonl")
    assert (stored.get()[2] == "live") is is_live


def test_every_key_of_an_index_leads_to_records_or_is_named(home):
    home.transcript(user("Hello"), session=ID)
    home.write(f"agents/main/sessions/{OTHER}.jsonl.deleted.2026-03-01", odd_folders.header(OTHER))
    home.write("agents/main/sessions/empty.jsonl", "")
    home.index(
        {
            "agent:main:main": {"sessionId": ID},
            "agent:main:gone": {"sessionId": "gone", "sessionFile": "/home/u/gone.jsonl"},
            "agent:main:deleted": {"sessionId": OTHER},
            "agent:main:empty": {"sessionId": "empty"},
            "agent:main:none": {"updatedAt": 1},
            "agent:main:odd": "text",
        }
    )
    entries = files_of(run(home))["index_entries"]
    assert {reason: skipped["names"] for reason, skipped in entries.items()} == {
        "deleted": ["agent:main:deleted"],
        "empty": ["agent:main:empty"],
        "no_records": ["agent:main:gone"],
        "unusable": ["agent:main:none", "agent:main:odd"],
    }
    assert files_of(run(home))["index_entries"] == entries  # the index is not read again: these were stored
    home.write("agents/main/sessions/gone.jsonl", odd_folders.header("gone") + odd_folders.message(1))
    assert "no_records" not in files_of(run(home))["index_entries"]


def test_a_transcript_under_another_agent_stays_there_and_shows_its_key(tmp_path, real_files):
    home = Home(tmp_path / "openclaw", agents=("main", "research"))
    home.transcript(user("Hello"), session=ID)
    file = f"/home/u/.openclaw/agents/main/sessions/{ID}.jsonl"
    home.index({"agent:research:main": {"sessionId": ID, "sessionFile": file}}, agent="research")
    result = run(home)
    assert files_of(result, "research")["index_entries"]["other_agent"]["names"] == ["agent:research:main"]
    assert Session.objects.using(MAIN).get().session_key == "agent:research:main"
    assert not Session.objects.using("agent_research").exists()
    home.index({"agent:research:x": {"sessionId": ID}})
    assert files_of(run(home))["index_entries"]["other_agent"]["names"] == ["agent:research:x"]


def test_an_index_over_the_limit_is_called_larger_than_the_limit(home):
    home.transcript(user("Hello"), session=ID)
    path = home.index({})
    os.truncate(path, 64 * 1024 * 1024 + 1)
    result = run(home)
    assert (result["rejected"], count_events("user")) == (1, 1)
    ((path, *why),) = SkippedSource.objects.values_list("path", "reason", "detail")
    assert (path, why) == ("agents/main/sessions/sessions.json", ["failed", "the file is larger than 64 MB"])
    assert "the file is larger than 64 MB" not in reports.in_words(result)  # only the page shows the detail


def test_a_byte_order_mark_costs_nothing(home):
    lines = odd_folders.header(ID) + odd_folders.message(1)
    home.write(f"agents/main/sessions/{ID}.jsonl", "\ufeff" + lines)
    home.write("agents/main/sessions/chosen.jsonl", "\ufeff" + odd_folders.header("chosen"))
    home.index("\ufeff" + json.dumps({"agent:main:main": {"sessionId": ID}}))
    home.write("cron/jobs.json", "\ufeff" + json.dumps({"version": 1, "jobs": [{"id": "j1", "name": "Water"}]}))
    result = run(home)
    assert (result["rejected"], sessions()) == (0, {ID: 2, "chosen": 1})
    assert Session.objects.using(MAIN).get(id=ID).session_key == "agent:main:main"
    assert result["schedules"]["cron_jobs"] == 1


def test_names_of_programs_are_no_channels(home):
    keys = {f"agent:main:tui-{ID}": "a1", "agent:main:harbour": "a2", "agent:main:irc:dave": "a3"}
    home.index({key: {"sessionId": session} for key, session in keys.items()})
    run(home)
    channels = dict(Session.objects.using(MAIN).values_list("id", "channel_id"))
    assert channels == {"a1": "unknown", "a2": "unknown", "a3": "irc"}


def test_a_folder_of_secrets_is_named_and_not_opened(home):
    home.write(f"agents/main/sessions/credentials/{ID}.jsonl", odd_folders.header(ID))
    for name in ("auth-profiles", "oauth"):
        home.write(f"agents/main/agent/{name}.json", "{}")
    result = []
    opened = count_opens(lambda: result.append(run(home)))
    assert reasons(result[0]) == {"secret": 3}
    assert not [path for path in opened if "credentials" in path or "auth-profiles" in path]


def test_the_report_names_what_was_not_read(home):
    home.transcript(user("Hello"), assistant("Hi"), session=ID)
    home.write("agents/main/sessions/notes.txt", "Buy milk")
    text = reports.in_words(run(home))
    assert "2 files: 1 read, 1 not read" in text
    assert "Not a transcript (1): agents/main/sessions/notes.txt" in text
