"""The demo: a recorded home in OpenClaw's exact format, with its dates moved, and a site that shows it."""

import hashlib
import json
import re
import signal
import sqlite3
import urllib.request
from collections import Counter
from contextlib import closing
from datetime import date, timedelta
from io import StringIO

import pytest
from django.core.management import CommandError, call_command

from agents.models import Agent
from artifacts.contents import content_types, secrets
from artifacts.contents.adoption import is_adoptable
from automation.models import CronJob, CronRunLog, SubagentRun
from benchmarks.corpus import UNTIL_MS, write_bulk_home
from collecting import collect
from demo.recording import DAY_MS, MONTHS, WEEKDAYS, Recording
from jobs.progress import Progress
from ledger.models import ConversationTurn, RejectedRecord, TranscriptEvent
from tests.processes import Home, find_free_port
from tests.suite.nightly import first

FAKE = (".example", "example.org", "127.0.0.1", *(f"192.0.2.{number}" for number in range(256)))
CANARY = re.compile(r"\b(?:sk|tok|key)-[\w-]*fake[\w-]*")


@pytest.fixture(scope="module")
def written(tmp_path_factory):
    """The home as it was recorded."""
    root = tmp_path_factory.mktemp("demo") / "openclaw"
    Recording(UNTIL_MS).write_home(root)
    return root


@pytest.fixture(scope="module")
def records():
    return [record for _agent, records in Recording(UNTIL_MS).iterate_records() for record in records]


def messages(records, role):
    return [record["message"] for record in records if record.get("message", {}).get("role") == role]


def read_all(root):
    return "\n".join(path.read_text(errors="replace") for path in sorted(root.rglob("*")) if path.is_file())


@pytest.mark.kill
def test_it_works(tmp_path):
    """Runs the demo twice; each prints a link, and nothing is imported twice.

    The second run also serves.
    """
    home = Home(tmp_path / "home")
    try:
        first = home.start("demo", "--no-serve")
        assert first.end() == 0, first.said
        assert re.search(r"\d of \d+  \d+ %  Judging turns", first.said)
        port = find_free_port()
        second = home.start("demo", "--port", str(port))
        assert second.address() == f"http://127.0.0.1:{port}"
        links = [
            re.search(r"Sign in within a day with this one-time link: (\S+)", run.said)[1] for run in (first, second)
        ]
        assert links[0] != links[1]
        with urllib.request.urlopen(links[1], timeout=60) as answer:
            assert answer.status == 200
        assert home.count("SELECT count(*) FROM users") == 1
        assert home.count("SELECT count(*) FROM dataset_exports WHERE state = 'ready'") == 1
        assert home.count("SELECT count(DISTINCT annotation_status) FROM dataset_samples") == 4
        assert home.count("SELECT count(*) FROM dataset_samples WHERE output IS NOT NULL") > 3
        assert home.count("SELECT count(*) FROM dataset_versions WHERE state = 'released'") == 3
        assert home.count("SELECT count(*) FROM benchmarks") == 1
        assert home.count("SELECT count(DISTINCT state) FROM finding_values") == 3
        assert home.count("SELECT count(DISTINCT annotated_at / 86400000) FROM dataset_samples") > 10
        with closing(sqlite3.connect(home.path / "agents" / "main" / "agent" / "openclaw-agent.sqlite")) as db:
            assert db.execute("SELECT count(DISTINCT type), sum(redacted) > 0 FROM episodic_events").fetchone() == (
                7,
                1,
            )
        second.signal(signal.SIGTERM)
        assert second.end() == 0
    finally:
        home.close()


@pytest.mark.nightly
@pytest.mark.kill
def test_a_demo_is_made_anew(tmp_path):
    home = Home(tmp_path / "home")
    try:
        first = home.start("demo", "--no-serve")
        assert first.end() == 0, first.said
        third = home.start("demo", "--no-serve", "--fresh")
        assert third.end() == 0, third.said
        assert home.count("SELECT count(*) FROM users") == 1
        check_a_new_home(home, tmp_path / "new")
    finally:
        home.close()


def check_a_new_home(home, folder):
    """Assert that a new home refuses sources of an earlier demo, except with --fresh."""
    other = Home(folder)
    try:
        other.env["OPENCLAW_STATE_DIR"] = home.env["OPENCLAW_STATE_DIR"]
        refused = other.start("demo", "--no-serve")
        assert refused.end() == 3 and "holds an earlier demo" in refused.said and "--fresh" in refused.said
        assert not (folder / "openclaw-web-demo.json").exists()
        again = other.start("demo", "--no-serve", "--fresh")
        assert again.end() == 0, again.said
    finally:
        other.close()


@pytest.mark.parametrize("which", ["STATE_DIR", "HOME_DIR"])
def test_a_folder_with_something_else_in_it_is_left_alone(which, settings, tmp_path):
    settings.STATE_DIR, settings.HOME_DIR = tmp_path / "openclaw", tmp_path / "web"
    theirs = getattr(settings, which) / "state" / "openclaw.sqlite"
    theirs.parent.mkdir(parents=True)
    theirs.write_text("theirs")
    with pytest.raises(CommandError, match="contains files that are not from the demo"):
        call_command("demo", "--no-serve", "--fresh", stdout=StringIO())
    assert [path for path in tmp_path.rglob("*") if path.is_file()] == [theirs]


@pytest.mark.parametrize("days", first((400, 1, 30)))
def test_dates_move_and_nothing_else_does(days, written, tmp_path):
    """Every date of the home is `days` later, with its weekday; all other bytes are as recorded."""
    Recording(UNTIL_MS + days * DAY_MS).write_home(tmp_path)
    moved, recorded = read_all(tmp_path), read_all(written)
    days_in = [Counter(re.findall(r"(?<!\d)20\d\d-\d\d-\d\d(?!\d)", text)) for text in (recorded, moved)]
    ours = {day: count for day, count in days_in[0].items() if day.startswith("2026")}  # others are texts' own
    assert days_in[1] - (days_in[0] - Counter(ours)) == {
        f"{date.fromisoformat(day) + timedelta(days)}": count for day, count in ours.items()
    }
    for weekday, day in re.findall(r"\b(Mon|Tue|Wed|Thu|Fri|Sat|Sun) (20\d\d-\d\d-\d\d)", moved):
        assert f"{date.fromisoformat(day):%a}" == weekday
    moments = [sorted(map(int, re.findall(r"(?<![\w.-])1[78]\d{11}(?![\w.])", text))) for text in (recorded, moved)]
    assert {second - first for first, second in zip(*moments, strict=True)} == {days * DAY_MS}
    names = "|".join((*(name[:3] for name in (*WEEKDAYS, *MONTHS)), *WEEKDAYS, *MONTHS))
    undated = [re.sub(rf"\b({names})\b|\d+(st|nd|rd|th)?", "", text) for text in (recorded, moved)]
    assert sorted(undated[0].split("\n")) == sorted(undated[1].split("\n"))
    newest = max(path.stat().st_mtime for path in tmp_path.rglob("*.md"))
    assert UNTIL_MS + (days - 2) * DAY_MS < newest * 1000 <= UNTIL_MS + days * DAY_MS


def test_every_sort_of_record_is_there(records):
    assert {record["type"] for record in records} == {
        *("session", "message", "model_change", "thinking_level_change", "custom", "compaction"),
        *("branch_summary", "label", "session_info", "custom_message"),
    }
    replies, results = messages(records, "assistant"), messages(records, "toolResult")
    stops = {message["stopReason"] for message in replies}
    assert {"stop", "toolUse", "error", "aborted", "length"} <= stops
    assert any(message["isError"] for message in results)
    assert any(message.get("details", {}).get("exitCode") for message in results)
    blocks = [block for message in replies for block in message["content"]]
    tools = {block["name"] for block in blocks if block["type"] == "toolCall"}
    assert {"exec", "read", "write", "edit", "web_fetch", "web_search", "memory_search"} <= tools
    assert any(block["type"] == "thinking" for block in blocks)


def test_texts_that_try_a_page_are_there(records):
    """Long ones, hostile ones, scripts of many kinds, and outputs that become artifacts, one of them twice."""
    texts = [message["content"][0]["text"] for message in messages(records, "toolResult")]
    assert max(map(len, texts)) > 169_000
    assert any("<script>" in text and "\u202e" in text for text in texts)
    questions = " ".join(block["text"] for message in messages(records, "user") for block in message["content"][:1])
    assert all(sign in questions for sign in ("订单", "🙏", "شارع", "Conversation info (untrusted metadata)"))
    big = [text for text in texts if is_adoptable(text)]
    types = {content_types.guess(text.encode(), text.encode(), is_whole=True) for text in big}
    assert types == {"text/plain", "application/json", "text/html"}
    assert len(big) == len(set(big)) + 1
    assert any(secrets.find_kinds(text) for text in big)


def test_nothing_in_it_is_anybodys(written):
    """Mails, phone numbers, addresses and keys are impossible ones."""
    text = read_all(written)
    assert {mail for mail in re.findall(r"[\w.+-]+@([\w-]+(?:\.[\w-]+)+)", text) if not mail.endswith(FAKE)} == set()
    assert {host for host in re.findall(r"https?://([\w.-]+)", text) if not host.endswith(FAKE)} <= {"schema.org"}
    assert all(phone.startswith("+1-202-555-01") for phone in re.findall(r"\+\d[\d -]{8,}", text))
    assert all("fake" in key for key in re.findall(r"\bsk-[\w*-]{6,}", text))
    assert not re.search(r"AKIA[0-9A-Z]{16}|ghp_\w{20}|-----BEGIN [A-Z ]*PRIVATE KEY", text)
    assert CANARY.search(text)


@pytest.mark.django_db
def test_the_collector_finds_all_of_it(written, records, real_files):
    """Three lines are damaged on purpose; everything else is stored."""
    result = collect.run({"source": str(written), "include_deleted": True}, Progress())
    assert result["rejected"] == 3
    stored = [TranscriptEvent.objects.using(agent.db).count() for agent in Agent.objects.all()]
    assert sum(stored) == len(records)
    turns = [ConversationTurn.objects.using(agent.db) for agent in Agent.objects.all()]
    assert sum(rows.count() for rows in turns) == len(messages(records, "user"))
    assert sum(rows.filter(is_active=False).count() for rows in turns) == 2
    reasons = [RejectedRecord.objects.using(agent.db).values_list("reason", flat=True) for agent in Agent.objects.all()]
    assert len([reason for rows in reasons for reason in rows]) == 3
    assert CronJob.objects.count() and CronRunLog.objects.count() and SubagentRun.objects.count()


def test_a_big_home_repeats_exchanges(tmp_path):
    """It is the same for the same arguments, and its records form chains."""
    options = {"agents": 3, "sessions": 12, "turns": 9, "seed": 3, "tool_bytes": 900}
    counts = write_bulk_home(tmp_path / "big", **options)
    files = sorted((tmp_path / "big").rglob("*.jsonl*"))
    assert {file.parts[-3] for file in files} == {"main", "research", "main-2"} and len(files) == 12
    for file in files:
        _head, *rows = map(json.loads, file.read_text().splitlines())
        assert [row["parentId"] for row in rows] == [None, *(row["id"] for row in rows[:-1])]
        assert [row["timestamp"] for row in rows] == sorted(row["timestamp"] for row in rows)
    assert write_bulk_home(tmp_path / "again", **options) == counts
    hashes = [hashlib.sha256(read_all(tmp_path / name).encode()).hexdigest() for name in ("big", "again")]
    assert hashes[0] == hashes[1]
    assert write_bulk_home(tmp_path / "short", **options | {"tool_bytes": 0})["bytes"] < counts["bytes"]
