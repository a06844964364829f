"""Errors as things: failed calls grouped over all agents, their page, their API, and what people do about them."""

import json
import re

import pytest

from ledger.errors import error_sums
from openclaw_web import clock
from people.models import AuditEntry
from problems import services
from problems.models import ErrorDay, ErrorGroup, ErrorSum
from tests.collecting.collect_runs import run
from tests.collecting.test_collect_again import ENVELOPE
from tests.homes import Home, assistant, result, user
from tests.ledger.transcript_records import get_text
from tests.people.settings_page import save
from tests.problems.check_results import check

PAGE, API = "/errors/", "/api/v1/errors"
DAY_MS = 86_400_000
NOW = 1_771_848_000_000  # 2026-02-23T12:00:00Z
MISSING = "ENOENT: no such file or directory, access '/home/mei/%s'"
pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def noon(monkeypatch):
    monkeypatch.setattr(clock, "now_ms", lambda: NOW)


def at(day, minute=0):
    return {"timestamp": f"2026-02-{day:02}T10:{minute:02}:00.000Z"}


def fail(script, text=MISSING % "a.md", *, day=21, name="read", count=1, sender="mei"):
    """Add a turn whose calls of a tool fail."""
    script.add(user(ENVELOPE % (sender, "Do it")) | at(day))
    for number in range(count):
        call = f"c{script.count}"
        failed = result(call, text, name=name, isError=True)
        script.add(assistant("", (call, name, {})) | at(day, 1 + number), failed | at(day, 1 + number))
    script.add(assistant("I could not.") | at(day, 59))
    return script


@pytest.fixture
def home(tmp_path, real_files):
    home = Home(tmp_path / "openclaw", ("main", "other"))
    home.chat = home.transcript(session="s1")
    fail(home.chat, day=19, count=2)
    fail(home.transcript(session="s2"), MISSING % "b.md", day=20)
    fail(home.transcript(agent="other", session="s3"), MISSING % "c.md", day=21)
    fail(home.transcript(agent="other", session="s4"), "Error: Mei is not allowed", name="send")
    run(home)
    return home


def read_items(client, **query):
    return client.get(API, query).json()["items"]


def get_group(client, tool="read"):
    return next(item for item in read_items(client, tool=tool))


def test_it_works(as_admin, home):
    page = get_text(as_admin.get(PAGE))
    assert "2 kinds of errors" in page and "ENOENT: no such file or directory, access &lt;text&gt;" in page
    assert "/home/mei" not in page and "b.md" not in page and "Mei" not in page
    messages = {item["tool"]: item["message"] for item in read_items(as_admin)}
    assert messages["send"] == "Error: <text> is not allowed"
    group = get_group(as_admin)
    assert (group["count"], group["session_count"], group["agent_count"]) == (4, 3, 2)
    assert group["agents"] == {"main": 3, "other": 1}
    assert group["first_at"] < group["last_at"] and group["state"] == "open"


def test_each_group_leads_to_its_rows(as_admin, home):
    group = get_group(as_admin)
    page = get_text(as_admin.get(PAGE))
    for agent, count in group["agents"].items():
        address = f"/agents/{agent}/events/?error={group['id']}"
        assert f'href="{address}"' in page
        assert f"{count} record{'s' if count > 1 else ''} of {agent}" in get_text(as_admin.get(address))
    page = get_text(as_admin.get(f"{PAGE}?from=2026-02-21&to=2026-02-21"))
    assert f'href="/events/?error={group["id"]}&amp;from=2026-02-21&amp;to=2026-02-21"' in page
    items = as_admin.get("/api/v1/agents/main/events", {"error": group["id"]}).json()["items"]
    assert len(items) == 3 and all(item["is_failed"] for item in items)


def test_one_agent_has_its_own_numbers(as_admin, home):
    page = get_text(as_admin.get("/agents/main/errors/"))
    assert "1 kind of error" in page and "send" not in page
    (row,) = json.loads(b"".join(as_admin.get("/agents/main/errors/?format=json")))
    assert (row["tool"], row["count"], row["session_count"], row["agent_count"]) == ("read", 3, 2, 1)
    assert read_items(as_admin, agent="main")[0]["count"] == 3


@pytest.mark.parametrize(
    ("query", "count"),
    [
        ("tool=send", 1),
        ("q=enoent", 1),
        ("q=mei", 0),
        ("from=2026-02-21", 2),
        ("to=2026-02-20", 0),
        ("segment=closed", 0),
    ],
)
def test_filters(as_admin, home, query, count):
    assert len(re.findall(r'<tr id="error-', as_admin.get(f"{PAGE}?{query}").text)) == count


def read_sums():
    return sorted(ErrorSum.objects.values_list()), sorted(ErrorDay.objects.values_list())


def test_sums_follow_what_is_stored(as_admin, home):
    fail(home.chat, day=22)
    run(home)
    assert get_group(as_admin)["count"] == 5
    before = read_sums()
    ErrorSum.objects.all().delete()
    ErrorDay.objects.all().delete()
    run(home, again=True)
    assert read_sums() == before


def test_turns_of_people_who_opted_out_are_not_counted(as_admin, home):
    fail(home.transcript(session="s9"), sender="ben", count=3)
    run(home)
    assert get_group(as_admin)["count"] == 7
    save(as_admin, "collector.optedOutSenders", "ben")
    run(home)
    assert get_group(as_admin)["count"] == 4
    save(as_admin, "collector.optedOutSenders", "")
    run(home)
    assert get_group(as_admin)["count"] == 7


def act(client, group, verb, **body):
    return client.post(f"/operations/problems/{group['id']}/{verb}/?next={PAGE}", body, follow=True).text


def test_a_closed_group_opens_again_when_it_occurs_again(as_admin, home, monkeypatch):
    group = get_group(as_admin)
    assert "The problem is closed." in act(as_admin, group, "close")
    assert get_group(as_admin)["closed_by"] and get_group(as_admin)["state"] == "closed"
    fail(home.chat, day=22)  # before it was closed
    run(home)
    assert get_group(as_admin)["state"] == "closed"
    monkeypatch.setattr(clock, "now_ms", lambda: NOW + 3 * DAY_MS)
    fail(home.transcript(session="s7"), MISSING % "d.md", day=25)
    run(home)
    group = get_group(as_admin)
    assert (group["state"], group["reopened_count"], group["closed_at"]) == ("open", 1, None)
    assert any("Closed error of read is back: ENOENT: no such" in sentence for sentence in check())
    assert AuditEntry.objects.filter(action="problem_closed", object_id=group["id"]).count() == 1


def test_a_group_is_muted_until_a_day(as_admin, home, monkeypatch):
    group = get_group(as_admin)
    assert "Choose a day to come." in act(as_admin, group, "mute", reason="known", until="2026-02-23")
    assert "Write days like" in act(as_admin, group, "mute", reason="known", until="soon")
    assert "The problem is muted." in act(as_admin, group, "mute", reason="known", until="2026-02-25")
    assert "until" in get_text(as_admin.get(f"{PAGE}?segment=muted"))
    check()
    assert get_group(as_admin)["state"] == "muted"
    monkeypatch.setattr(clock, "now_ms", lambda: NOW + 2 * DAY_MS)
    check()
    assert get_group(as_admin)["state"] == "open"
    act(as_admin, group, "mute", reason="known")
    assert get_group(as_admin)["muted_until"] is None
    act(as_admin, group, "unmute")
    assert get_group(as_admin)["state"] == "open"


def test_groups_of_the_first_import_are_not_new(as_admin, home):
    assert not any("New error" in sentence for sentence in check())
    fail(home.chat, "429 rate limit reached", day=22, name="web_fetch")
    run(home)
    assert "New error of web_fetch: 429 rate limit reached" in check()
    act(as_admin, get_group(as_admin, "web_fetch"), "close")
    assert not any("New error" in sentence for sentence in check())


def test_the_first_error_of_an_agent_without_any_is_new(as_admin, tmp_path, real_files):
    home = Home(tmp_path / "openclaw")
    script = home.transcript(user("Good day") | at(20), assistant("Good day") | at(20, 1))
    run(home)
    fail(script, day=22)
    run(home)
    assert "New error of read: ENOENT: no such file or directory, access <text>" in check()


def test_ten_times_the_usual_day(as_admin, home):
    for day in (20, 21, 22):
        fail(home.transcript(session=f"u{day}"), "Error: slot is full", day=day, name="book")
    fail(home.transcript(session="u23"), "Error: slot is full", day=23, name="book", count=9)
    run(home)
    ErrorGroup.objects.update(is_new=False)
    assert not any("usual day" in sentence for sentence in check())
    fail(home.transcript(session="u24"), "Error: slot is full", day=23, name="book", count=2)
    run(home)
    assert "11 errors of book today, 1 on a usual day: Error: slot is full" in check()


def test_copies_are_not_counted(as_admin, home):
    copy = home.transcript(session="s8")
    lines = home.chat.path.read_text().splitlines()
    header = json.loads(copy.path.read_text()) | {"parentSession": str(home.chat.path)}
    copy.path.write_text("\n".join([json.dumps(header), *lines[1:]]) + "\n")
    run(home)
    assert get_group(as_admin)["count"] == 4


def test_a_closed_group_of_a_clock_that_is_ahead_stays_closed(db):
    """Its last error is after the moment when it was closed; only another one opens it again."""
    now = clock.now_ms()
    for group_id, last in (("a" * 16, now + 10**10), ("b" * 16, now - 1_000)):
        numbers = {"count": 1, "session_count": 1, "first_at": 1, "last_at": last}
        ErrorGroup.objects.create(id=group_id, tool="t", message=group_id, opened_at=now, agent_count=1, **numbers)
        ErrorSum.objects.create(agent_id="x", group_id=group_id, **numbers)
    services.close("a" * 16, by="op")
    for changed, state in (("b" * 16, "closed"), ("a" * 16, "open")):
        ErrorSum.objects.filter(group_id=changed).update(count=2)
        error_sums._store_totals(error_sums._find_wrong_totals({changed}))
        assert ErrorGroup.objects.get(id="a" * 16).state == state
