"""The numbers of a range equal their lists, stay current, and can be rebuilt.

The tests import real homes; the doctor rebuilds the sums.
"""

import html
import re
from collections import Counter
from datetime import UTC, datetime

import orjson
import pytest
from django.core.management import call_command
from django.db import DEFAULT_DB_ALIAS, OperationalError
from django.utils import translation
from hypothesis import given
from hypothesis import strategies as st

from agents.models import Agent
from guardian import services
from guardian.recording.api_import import record_reports
from guardian.recording.schemas import WriteIn
from ledger.models import ConversationTurn
from ledger.transcripts import removal
from openclaw_web import clock
from openclaw_web.sqlite import dialect, statements
from openclaw_web.sqlite.json_columns import encode
from overview import latency, memory_sums, site_sums, summaries
from overview.first_page import memory_panel, newest_sessions
from overview.models import AgentDailyStat, AgentHour, MemorySpan, NewestSession, NewestWrite, SiteSpan
from tests import faults
from tests.collecting.collect_runs import MAIN, run
from tests.collecting.test_collect_again import ENVELOPE
from tests.guardian.write_rows import create_rollback
from tests.homes import Home, assistant, result, user
from tests.people.settings_page import save

AT = "2026-02-2{day}T{hour:02}:{minute:02}:00.000Z"
NOW = 1_771_848_000_000  # 2026-02-23T12:00:00Z
pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def noon(monkeypatch):
    monkeypatch.setattr(clock, "now_ms", lambda: NOW)


def write_session(
    home, *, agent="main", session=None, day=3, hour=9, turns=3, sender="", model="fable", fails=False, parent=None
):
    """Write a session of turns of 10, 20, 30 … seconds."""
    script = home.transcript(agent=agent, session=session)
    for number in range(turns):
        at = {"day": day, "hour": hour}
        text = f"{sender or 'somebody'} asks {number}"
        question = user(ENVELOPE % (sender, text) if sender else text)
        tool_result = result("c", "broken", isError=True, details={"exitCode": 1}) if fails else result("c")
        seconds = (number + 1) * 10
        for record_, minute in (
            (question, number),
            (assistant("", ("c", "exec", {}), model=model), number),
            (tool_result, number),
        ):
            script.add({**record_, "timestamp": AT.format(**at, minute=minute)})
        end = AT.format(**at, minute=number).replace(":00.000Z", f":{seconds:02}.000Z")
        script.add({**assistant(f"answer {number}", model=model), "timestamp": end})
    return script


def find_links(text):
    """Return (label, number, address) of every number of a page that is a link."""
    cells = re.findall(r'data-label="([^"]*)"><a (?:class="[^"]*" )?href="([^"]*)">([^<]*)</a>', text)
    tiles = re.findall(r'<dt>([^<]*)</dt>\s*<dd>\s*<a href="([^"]*)">([^<]*)</a>', text)
    return [(label, number, html.unescape(address)) for label, address, number in (*cells, *tiles)]


def count_rows(client, address):
    response = client.get(f"{address}{'&' if '?' in address else '?'}format=json")
    return len(orjson.loads(response.getvalue()))


FACTS = re.compile(r'<dt><a href="([^"]+)">[^<]*</a></dt>\s*<dd>([\d,]+) (?:results?|sessions?)')
COUNTED = ("Turns", "Errors", "Written", "Memory: written", "Rolled back", "Refused", "Sessions")


@pytest.mark.parametrize("agents", [("main",), ("main", "sept")])
@pytest.mark.parametrize("name", ["24h", "7d", "35d"])
def test_every_number_that_is_a_link_equals_its_list(as_admin, tmp_path, real_files, agents, name):
    home = Home(tmp_path / "openclaw", agents)
    for agent in agents:
        write_session(home, agent=agent, fails=True)
        first = write_session(home, agent=agent, day=2, hour=13, turns=2)
        write_session(home, agent=agent, day=0, turns=4)
        fork = home.transcript(agent=agent)  # repeats two turns of another session and goes on
        lines = first.path.read_text().splitlines()
        fork.path.write_text(fork.path.read_text().replace('"cwd"', f'"parentSession": "{first.path}", "cwd"'))
        fork.raw("\n".join(lines[1:]) + "\n")
        fork.last, fork.count = first.last, 90
        fork.add({**user("and this"), "timestamp": AT.format(day=3, hour=10, minute=0)})
        fork.add({**assistant("that"), "timestamp": AT.format(day=3, hour=10, minute=1)})
    run(home)
    pages = [as_admin.get(f"/?range={name}").text, as_admin.get("/agents/").text]
    for agent in agents:
        own = as_admin.get(f"/agents/{agent}/?range={name}").text
        assert set(re.findall(r"/agents/(\w+)/", own.partition('id="main"')[2])) == {agent}
        for address, number in FACTS.findall(own):
            assert count_rows(as_admin, html.unescape(address)) == int(number.replace(",", "")), (number, address)
        pages.append(own)
    pages += [
        as_admin.get(address).text for _label, _number, address in find_links(pages[0]) if address[:9] == "/agents/?"
    ]
    checked = 0
    for label, number, address in [link for page in pages for link in find_links(page)]:
        if label in COUNTED and not address.startswith("/agents/?"):
            assert count_rows(as_admin, address) == int(number.replace(",", "")), (label, number, address)
            checked += 1
    assert checked >= 6
    numbers = {label: number for label, number, _address in find_links(pages[0])}
    sums = as_admin.get("/api/v1/overview", {"range": name}).json()["range"]["now"]
    assert int(numbers["Turns"]) == sums["turns"] and int(numbers["Errors"]) == sums["errors"]


def find_percentile(values, percent):
    return sorted(values)[-(-len(values) * percent // 100) - 1]


def count_buckets(values):
    """Count answer times by bucket, as a row of sums has them."""
    sql = f"SELECT {latency.BUCKET_SQL} FROM (SELECT value AS latency_ms FROM {dialect.json_array('listed')})"
    buckets = [bucket for (bucket,) in statements.read_rows(DEFAULT_DB_ALIAS, sql, [encode(values)])]
    return encode({str(bucket): count for bucket, count in Counter(buckets).items()})


@given(
    values=st.lists(st.integers(0, 100_000_000), min_size=1, max_size=200),
    cut=st.integers(0, 200),
    at=st.integers(1, 100),
)
def test_percentiles_are_exact_to_a_bucket(values, cut, at):
    counts = latency.merge_counts(count_buckets(part) for part in (values[:cut], values[cut:]))
    exact_value, estimate = find_percentile(values, at), latency.percentile(counts, at)
    assert abs(estimate - exact_value) <= max(1, 0.0453 * exact_value + 0.5)
    bucket = latency.percentile_bucket(counts, at)
    start = latency.bucket_start(bucket)
    slow = sum(count for place, count in counts.items() if place >= bucket)
    assert slow == sum(value >= start for value in values)


def test_the_p95_leads_to_the_slowest_turns(as_admin, home):
    write_session(home, turns=5)
    run(home)
    page = as_admin.get("/").text
    (address,) = {address for label, _number, address in find_links(page) if label == "Answer time, p95"}
    assert count_rows(as_admin, address) == 1
    assert re.search(r"Answer time, p95</dt>\s*<dd>\s*<a[^>]*>([^<]*)", page)[1] == "48.4 s"  # the exact value is 50 s


def read_sums():
    """Return the stored rows of days and hours, with decoded details."""
    rows = [*AgentDailyStat.objects.values(), *AgentHour.objects.values(), *SiteSpan.objects.values()]
    for row in rows:
        row |= {name: orjson.loads(row[name] or "null") for name in ("latency_json", "models_json")}
    return rows


def assert_as_counted_at_once():
    agent, stored = Agent.objects.get(), read_sums()
    assert summaries.find_wrong(agent) == [] and not site_sums.are_wrong()
    for model in (AgentDailyStat, AgentHour, SiteSpan):
        model.objects.all().delete()
    assert summaries.find_wrong(agent) == ["agent_daily_stats"] and not site_sums.are_wrong()
    summaries.refresh(agent)
    assert stored and sorted(map(str, read_sums())) == sorted(map(str, stored))


def test_what_is_counted_piece_by_piece_is_what_is_counted_at_once(home):
    scripts = [write_session(home, day=day, turns=2, model=f"model-{day}") for day in (0, 1, 2)]
    run(home)
    scripts[0].add({**user("late"), "timestamp": AT.format(day=1, hour=23, minute=59)})
    run(home)
    scripts[0].add({**assistant("a day later", model="sol"), "timestamp": AT.format(day=3, hour=0, minute=1)})
    run(home)
    branch = {**user("again"), "timestamp": AT.format(day=3, hour=8, minute=0), "parentId": "r1"}
    scripts[1].add(branch)  # the branch leaves out all turns but the first of that day
    scripts[1].add({**assistant("other"), "timestamp": AT.format(day=3, hour=8, minute=1)})
    run(home)
    assert_as_counted_at_once()
    assert SiteSpan.objects.filter(span__in=["2026-02-23", "2026-02-23T08"]).count() == 2


def test_nothing_of_a_removed_session_stays_on_the_page(as_admin, home):
    write_session(home, session="s-old", day=1, sender="Mei Tanaka")
    write_session(home, day=3, sender="Arjun")
    run(home)
    assert "answer 2" in as_admin.get("/").text and "Mei Tanaka" in as_admin.get("/").text
    removal.remove_session(MAIN, "s-old", before=NOW, needed_by=lambda _id: "", why="retention")
    summaries.refresh(Agent.objects.get())  # as retention does it
    page = as_admin.get("/").text
    assert "Mei Tanaka" not in page and "Arjun" in page
    assert_as_counted_at_once()
    page = as_admin.get("/").text
    assert "3 more in removed sessions" in page
    ((_label, number, address),) = {link for link in find_links(page) if link[0] == "Turns" and "/turns/" in link[2]}
    assert (number, count_rows(as_admin, address)) == ("3", 3)


def opt_out(client, name, where="page"):
    """Opt a sender out as an admin does, on a page or with a command."""
    key = "collector.optedOutSenders"
    if where == "page":
        assert save(client, key, name).status_code == 302
    else:
        call_command("settings", "set", key, f'["{name}"]')


def test_somebody_who_opted_out_is_not_on_the_page(as_admin, home):
    scripts = {name: write_session(home, day=day, sender=name) for name, day in (("mei", 2), ("arjun", 3))}
    home.index({f"agent:main:irc:direct:{name}": {"sessionId": script.session} for name, script in scripts.items()})
    run(home)
    assert "mei" in as_admin.get("/").text.partition('id="newest"')[2]
    opt_out(as_admin, "mei")
    assert "mei" not in as_admin.get("/").text.partition('id="newest"')[2]  # at once
    assert "mei" not in str([*NewestSession.objects.values_list("title", "words", "speaker")])
    scripts["arjun"].add({**user("more", sender="arjun"), "timestamp": AT.format(day=3, hour=11, minute=50)})
    run(home)
    assert "mei" not in as_admin.get("/").text and "arjun" in as_admin.get("/").text
    assert not newest_sessions.is_wrong(Agent.objects.get())
    run(home, again=True)
    page = as_admin.get("/").text
    assert "mei" not in page and "arjun" in page
    assert not site_sums.are_wrong()


def test_words_of_a_group_are_withheld_by_who_said_them(as_admin, home):
    script = write_session(home, sender="mei", turns=1)
    home.index({"agent:main:irc:group:lab": {"sessionId": script.session}})
    for minute, (sender, text) in enumerate((("mei", "secret plan"), ("arjun", "good morning")), start=20):
        script.add({**user(ENVELOPE % (sender, text)), "timestamp": AT.format(day=3, hour=9, minute=minute)})
    run(home)
    row = NewestSession.objects.get()
    assert "mei asks 0" in row.title and (row.words, row.speaker) == ("good morning", "arjun")
    opt_out(as_admin, "mei")
    summaries.refresh(Agent.objects.get())
    row = NewestSession.objects.get()
    assert (row.title, row.words, row.speaker) == ("", "good morning", "arjun")
    text = as_admin.get("/").text
    assert "good morning" in text and "mei asks" not in text and "secret plan" not in text


def test_nobody_who_opts_out_during_an_import_comes_back(as_admin, home):
    record_write(home)
    opt_out(as_admin, "somebody else")  # a change of this setting forgets all newest rows
    reading = faults.before_statement(
        MAIN, lambda sql: "substr" in sql.lower(), lambda: opt_out(as_admin, "mei", "command")
    )
    with reading:
        newest_sessions.refresh(Agent.objects.get())
    with faults.before_statement(
        MAIN, lambda sql: "candidate_fact" in sql, lambda: opt_out(as_admin, "arjun", "command")
    ):
        memory_panel.refresh(Agent.objects.get())
    assert not NewestSession.objects.exclude(words="", title="").exists() and not NewestWrite.objects.exists()


def test_writes_are_counted_when_they_are_recorded(as_admin, home):
    write_session(home)
    run(home)
    turn = ConversationTurn.objects.using(MAIN).first()
    files = {"before": "one\n", "after": "one\ntwo & three\n"}
    write = WriteIn(
        id="w1", session_id=turn.session_id, turn_id=turn.id, target_file="MEMORY.md", candidate_fact="two",
        status="written", created_at=NOW - 1000, **files,
    )  # fmt: skip
    record_reports(Agent.objects.get(), [write], by="plugin")
    page = as_admin.get("/").text
    assert "two &amp; three" in page and "/agents/main/writes/w1/" in page
    assert {number for label, number, _address in find_links(page) if label == "Written"} == {"1"}
    assert MemorySpan.objects.filter(span="2026-02-23").get().written_count == 1
    assert ("2026-02-23T11", 1, 0, 0) in memory_sums.count_writes(Agent.objects.get())
    assert not site_sums.are_wrong()


def record_write(home, *, at=NOW - 1000):
    """Record a write of a turn whose speaker is mei, as a plugin does."""
    script = write_session(home, sender="mei")
    home.index({"agent:main:irc:direct:mei": {"sessionId": script.session}})
    run(home)
    turn = ConversationTurn.objects.using(MAIN).first()
    fields = {"session_id": turn.session_id, "turn_id": turn.id, "target_file": "MEMORY.md", "status": "written"}
    fields |= {"candidate_fact": "two", "created_at": at, "before": "one\n", "after": "one\ntwo & three\n"}
    record_reports(Agent.objects.get(), [WriteIn(id="w1", **fields)], by="plugin")


def test_a_rolled_back_write_leaves_the_page(as_admin, home):
    record_write(home)
    assert "/agents/main/writes/w1/" in as_admin.get("/").text
    create_rollback(MAIN, 2, ["w1"], b"one\ntwo & three\n", b"one\n")
    services.refresh_sums(MAIN)  # as every rollback does
    assert not MemorySpan.objects.filter(written_count__gt=0).exists(), "a rollback is no write of its own"
    assert "/agents/main/writes/w1/" not in as_admin.get("/").text
    assert not memory_panel.is_wrong(Agent.objects.get())


@pytest.mark.parametrize("ahead", [2_000, 2 * 3_600_000, 30 * 3_600_000])
def test_what_a_clock_that_runs_ahead_wrote_counts_once_its_time_has_come(as_admin, home, monkeypatch, ahead):
    script = write_session(home, day=2)
    record_write(home, at=NOW + ahead)
    come = datetime.fromtimestamp((NOW + ahead) / 1000, UTC).isoformat()
    script.add({**user("later"), "timestamp": come}, {**assistant("of tomorrow"), "timestamp": come})
    run(home)
    page = as_admin.get("/").text
    assert (
        "two &amp; three" not in page and "of tomorrow" not in page and summaries.find_wrong(Agent.objects.get()) == []
    )
    monkeypatch.setattr(clock, "now_ms", lambda: NOW + ahead + 60_000)
    assert summaries.find_wrong(Agent.objects.get()) == []
    page = as_admin.get("/").text
    assert "two &amp; three" in page and "of tomorrow" in page
    assert {number for label, number, _address in find_links(page) if label == "Written"} == {"1"}


def test_sums_that_cannot_be_stored_undo_no_write(as_admin, home):
    def no_room():
        raise OperationalError("database or disk is full")

    with faults.before_statement(DEFAULT_DB_ALIAS, lambda sql: 'INTO "memory_spans"' in sql, no_room):
        record_write(home)
    assert as_admin.get("/agents/main/writes/w1/").status_code == 200
    assert "/agents/main/writes/w1/" not in as_admin.get("/").text
    run(home)
    assert "/agents/main/writes/w1/" in as_admin.get("/").text
    assert not site_sums.are_wrong()


@pytest.mark.parametrize("where", ["page", "command"])
def test_lines_of_somebody_who_opted_out_leave_the_page(as_admin, home, where):
    record_write(home)
    assert "two &amp; three" in as_admin.get("/").text
    opt_out(as_admin, "mei", where)
    assert "two &amp; three" not in as_admin.get("/").text
    run(home)
    assert "two &amp; three" not in as_admin.get("/").text and "mei" not in as_admin.get("/").text
    assert not NewestWrite.objects.exists() and not memory_panel.is_wrong(Agent.objects.get())


def test_what_asked_is_named_in_the_language_of_the_reader(as_admin, home):
    write_session(home)
    run(home)
    ConversationTurn.objects.using(MAIN).update(user_metadata='{"injected": "cron"}')
    with translation.override("en"):  # the language of the import
        newest_sessions.refresh(Agent.objects.get())
    page = as_admin.get("/", headers={"Accept-Language": "zh-hans"}).text.partition('id="newest"')[2]
    assert "定时任务" in page and "Scheduled task" not in page
    assert NewestSession.objects.get().speaker == "injected:cron"
