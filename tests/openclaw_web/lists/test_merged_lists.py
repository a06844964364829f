"""Lists over all agents: order, pages in both directions, files that are opened, downloads."""

import csv
import io
import os
import random
import re
import time
from dataclasses import replace
from functools import partial
from itertools import pairwise

import orjson
import pytest
from django.db import connections
from hypothesis import given, settings
from hypothesis import strategies as st

from agents import databases, read_cache, services
from agents.all_agents import read_all_agents
from agents.models import Agent
from ledger.lists.session_list import SESSIONS
from ledger.models import Session
from openclaw_web.lists import list_response, merging
from openclaw_web.lists.paging import encode_cursor
from openclaw_web.sqlite import time_limits
from tests.factories import T0, AgentFactory, SessionFactory, TurnFactory
from tests.ledger.transcript_records import get_text
from tests.suite.module_rows import roll_back_rows

pytestmark = pytest.mark.django_db(databases="__all__")
ROW = re.compile(r'<td class="wide"><a class="clamp" href="/agents/(\w+)/sessions/([^"]+)/">')
MINUTE = 60_000


@pytest.fixture
def both(ada, bob):
    """Sessions of ada and of bob by turns, a minute apart."""
    for number in range(8):
        db = f"agent_{('ada', 'bob')[number % 2]}"
        SessionFactory(db=db, id=f"s{number}", last_activity_at=T0 + number * MINUTE, model=f"m{number % 4}")


def list_sessions(criteria=(), sort="-activity"):
    return merging.MergedListing(read_all_agents(), SESSIONS, sort, dict(criteria))


def read_rows(response):
    return ROW.findall(get_text(response))


def test_the_rows_of_all_agents_are_one_list(as_stranger, both):
    page = as_stranger.get("/sessions/?segment=all")
    assert read_rows(page) == [(("ada", "bob")[number % 2], f"s{number}") for number in range(7, -1, -1)]
    text = get_text(page)
    assert "Sessions of all agents" in text and "8 sessions of all agents" in text
    assert '<a href="/agents/bob/sessions/">bob</a>' in text
    narrow = as_stranger.get("/sessions/?model=m3")
    assert read_rows(narrow) == [("bob", "s7"), ("bob", "s3")]
    assert read_rows(as_stranger.get("/sessions/?segment=all&sort=activity"))[0] == ("ada", "s0")
    assert as_stranger.get("/sessions/?after=x").status_code == 409


def test_the_list_of_one_agent_has_no_column_of_agents(as_stranger, both):
    page = get_text(as_stranger.get("/agents/ada/sessions/?segment=all"))
    assert "Sessions of ada" in page and 'data-label="Agent"' not in page


@settings(max_examples=40, deadline=None)
@given(
    moments=st.lists(st.tuples(st.sampled_from(["ada", "bob"]), st.integers(0, 4)), max_size=14),
    size=st.integers(1, 5),
    is_ascending=st.booleans(),
)
def test_pages_have_each_row_once_in_both_directions(moments, size, is_ascending):
    with roll_back_rows():
        for agent_id in ("ada", "bob"):
            AgentFactory(agent_id=agent_id)
        for number, (agent_id, minute) in enumerate(moments):
            SessionFactory(db=f"agent_{agent_id}", id=f"s{number}", last_activity_at=T0 + minute * MINUTE)
        keys = [(T0 + minute * MINUTE, agent_id, f"s{number}") for number, (agent_id, minute) in enumerate(moments)]
        expected = sorted(keys, reverse=not is_ascending)
        listing = list_sessions(sort="activity" if is_ascending else "-activity")
        pages, after = [], None
        while after or not pages:
            pages.append(listing.page(after=after, size=size))
            after = pages[-1].next
        assert [row for page in pages for row in name_rows(page)] == expected
        for earlier, later in pairwise(pages):
            back = listing.page(before=later.previous, size=size)
            assert name_rows(back) == name_rows(earlier)
            assert back.next and name_rows(listing.page(after=back.next, size=size)) == name_rows(later)


def name_rows(page):
    return [(row.last_activity_at, agent.agent_id, row.id) for agent, row in page.rows]


def test_a_search_that_ends_early_leaves_nothing_out(ada, bob, monkeypatch):
    """Windows of agents end at different times; a page shows only what is certain, and the next one goes on."""
    monkeypatch.setattr("ledger.lists.session_list.WINDOW", 3)
    for number in range(20):
        title = "needle" if number % 5 == 0 else "hay"
        db = "agent_ada" if number < 14 else "agent_bob"
        SessionFactory(db=db, id=f"s{number:02}", last_activity_at=T0 + number * MINUTE, title=title)
    listing, after, ids = list_sessions({"q": "needle"}), None, []
    for _page in range(20):
        page = listing.page(after=after, size=2)
        ids += [row.id for _agent, row in page.rows]
        after = page.next
        if not after:
            break
    assert ids == ["s15", "s10", "s05", "s00"]


def test_turns_of_two_agents_keep_their_links(as_stranger, ada, bob):
    for db in ("agent_ada", "agent_bob"):
        session = SessionFactory(db=db, id="same", title=f"Title in {db}")
        TurnFactory(db=db, session=session, user_message_content=f"said in {db}")
    page = get_text(as_stranger.get("/turns/"))
    assert 'href="/agents/ada/sessions/same/?turn=' in page and 'href="/agents/bob/sessions/same/?turn=' in page
    assert "Title in agent_ada" in page and "Title in agent_bob" in page


@pytest.mark.parametrize("kind", ["csv", "json", "jsonl"])
def test_a_download_has_every_row_with_its_agent(as_stranger, both, kind):
    data = as_stranger.get(f"/sessions/?format={kind}").getvalue()
    rows = {
        "csv": lambda: list(csv.DictReader(io.StringIO(data.decode("utf-8-sig")))),
        "json": lambda: orjson.loads(data),
        "jsonl": lambda: [orjson.loads(line) for line in data.splitlines()],
    }[kind]()
    expected = [(("ada", "bob")[number % 2], f"s{number}") for number in range(7, -1, -1)]
    assert [(row["agent_id"], row["id"]) for row in rows] == expected


@pytest.fixture
def files(real_files, monkeypatch):
    """Agents have files on disk, which are settled at once; `make(number, moments)` is one with a session at each."""
    monkeypatch.setattr(read_cache, "SETTLED_NS", 0)
    monkeypatch.setattr(merging, "LOOKING_MS", 60_000)  # a slow machine reads them all
    forget()

    def make(number, moments, **columns):
        agent = services.register(f"a{number:02}")
        for row, moment in enumerate(moments):
            SessionFactory(db=agent.db, id=f"s{row}", last_activity_at=moment, **columns)

    yield make
    forget()


def forget():
    read_cache._values.clear()
    read_cache._pages.clear()


def walk(listing, size):
    """Every row, page after page."""
    rows, after = [], None
    while True:
        page = listing().page(after=after, size=size)
        rows, after = rows + name_rows(page), page.next
        if not after:
            return rows


@pytest.mark.parametrize(("size", "sort"), [(4, "-activity"), (7, "activity")])
def test_a_page_that_is_kept_follows_every_change(files, size, sort):
    """After each change of some files, the pages have just the rows that the files have."""
    chance = random.Random(size)
    stored = {}
    for number in range(15):
        files(number, [])
    for step in range(30):
        for number in chance.sample(range(15), chance.choice([0, 1, 1, 2, 3, 13])):
            agent_id, row, moment = f"a{number:02}", f"s{chance.randrange(4)}", T0 + chance.randrange(4)
            rows = Session.objects.using(f"agent_{agent_id}").filter(id=row)
            if (agent_id, row) not in stored:
                SessionFactory(db=f"agent_{agent_id}", id=row, last_activity_at=moment)
            elif chance.random() < 0.3:
                rows.delete()
                moment = None
            else:
                rows.update(last_activity_at=moment)
            stored[agent_id, row] = moment
            if moment is None:
                del stored[agent_id, row]
        expected = sorted(((at, *place) for place, at in stored.items()), reverse=sort.startswith("-"))
        assert walk(partial(list_sessions, sort=sort), size) == expected, step


@pytest.mark.parametrize("sort", ["-activity", "activity"])
def test_agents_of_which_nothing_is_known_hide_no_rows_of_the_others(files, sort):
    """Of fourteen agents some changed a moment ago; their rows and those of the others are all listed."""
    for number in range(12):
        files(number, [T0, T0 + number * MINUTE + 1])
    files(12, [T0 + (1_000 + number) * MINUTE for number in range(5)])
    files(13, [T0, T0 + 550 * MINUTE])
    expected = sorted(name_rows(list_sessions(sort=sort).page(size=100)), reverse=sort.startswith("-"))
    for _warm in range(2):
        list_sessions(sort=sort).page()
    for live in (["a13"], [f"a{number:02}" for number in range(12)]):
        for name in live:
            os.utime(databases.get_path(name), (ahead := time.time() + 60, ahead))  # it may change again
        assert walk(lambda: list_sessions(sort=sort), 50) == expected


def test_a_search_that_was_slow_at_first_finds_everything_later(files):
    """Where a search stopped is kept as the beginning of an agent; the next one may read further."""
    limits = {"window": 3, "time_ms": 0}
    declaration = replace(SESSIONS, fits=lambda agent, **given: replace(SESSIONS.fits(agent, **given), **limits))
    for number in range(14):
        files(number, [T0 + row * MINUTE + number for row in range(1, 12)], title="hay")
        SessionFactory(db=f"agent_a{number:02}", id="old", last_activity_at=T0 + number, title="needle")

    def search():
        return merging.MergedListing(read_all_agents(), declaration, "-activity", {"q": "needle"})

    for _warm in range(2):
        search().page()
    limits["time_ms"] = 1_000
    assert len(walk(search, 50)) == 14


@pytest.mark.parametrize("values", [[T0], [T0, 2], [T0, "ada", "s", "more"], ["x", "ada", "s"]])
@pytest.mark.parametrize("where", ["after", "before"])
def test_a_cursor_of_another_list_is_refused(as_stranger, both, values, where):
    assert as_stranger.get(f"/sessions/?{where}={encode_cursor(values)}").status_code == 409


def test_a_count_that_ran_out_of_time_is_not_kept(files, as_stranger, monkeypatch):
    files(0, [T0 + number for number in range(70)])
    files(1, [T0 + 100])
    with monkeypatch.context() as late:
        late.setattr(list_response, "COUNTING_MS", 0)
        late.setattr(time_limits, "STEPS", 1)
        assert "Chats <span" not in get_text(as_stranger.get("/sessions/"))
    assert re.search(r'Chats <span class="muted">71</span>', get_text(as_stranger.get("/sessions/")))


def test_a_damaged_file_leaves_the_rows_of_the_others(files, as_stranger):
    for number in range(3):
        files(number, [T0 + number])
        connections[f"agent_a{number:02}"].close()
    databases.get_path("a01").write_bytes(b"not a database, really" * 300)
    for path in ("/sessions/?segment=all", "/turns/", "/events/", "/writes/", "/gate/", "/gate/calls/", "/artifacts/"):
        page = as_stranger.get(path)
        assert page.status_code == 200 and "cannot be used: a01" in get_text(page), path
    whole = as_stranger.get("/sessions/?format=jsonl")
    assert whole.status_code == 409 and "would lack rows" in get_text(whole) and "a01" in get_text(whole)


class TestFiles:
    """Which files are opened, on disk."""

    @pytest.fixture(autouse=True)
    def many(self, files):
        for number in range(20):
            files(number, [T0 + (number * 10 + row) * MINUTE for row in range(3)])

    def read(self, monkeypatch, **place):
        """A page, and the agents whose rows were read for it."""
        opened = []
        real = SESSIONS.fits

        def fits(agent, **criteria):
            opened.append(agent.agent_id)
            return real(agent, **criteria)

        listing = merging.MergedListing(read_all_agents(), replace(SESSIONS, fits=fits), "-activity", {})
        return listing.page(**place), opened

    def test_only_files_whose_rows_can_be_on_the_page(self, monkeypatch):
        first, opened = self.read(monkeypatch, size=5)
        assert len(opened) == 20  # nothing was known of them
        self.read(monkeypatch, size=5)  # some had a log, which is part of the file since
        again, opened = self.read(monkeypatch, size=5)
        assert name_rows(again) == name_rows(first) and opened == []
        Session.objects.using("agent_a00").filter(id="s0").update(last_activity_at=T0 + 10**9)
        newest, opened = self.read(monkeypatch, size=5)
        assert name_rows(newest)[0][1:] == ("a00", "s0") and opened == ["a00"]

    def test_a_first_page_opens_few_files_and_the_next_goes_on(self, monkeypatch):
        self.read(monkeypatch, size=50)
        read_cache._pages.clear()
        first, opened = self.read(monkeypatch, size=50)
        assert len(opened) == merging.MOST_FILES and len(first) == 3 * merging.MOST_FILES and not first.is_partial
        rows, after = name_rows(first), first.next
        while after:
            page, _opened = self.read(monkeypatch, after=after, size=50)
            rows, after = rows + name_rows(page), page.next
        assert rows == sorted(rows, reverse=True) and len(rows) == 60

    def test_a_missing_file_is_named_and_the_rest_is_shown(self, as_stranger, monkeypatch):
        databases.get_path("a19").unlink()
        page = get_text(as_stranger.get("/sessions/"))
        assert "the databases of these agents cannot be used: a19" in page and "/agents/a18/sessions/s2/" in page


def test_pages_of_one_agent_ask_for_it(as_stranger, ada):
    assert as_stranger.get("/lint/?x=1").url == "/agents/ada/lint/?x=1"
    AgentFactory(agent_id="bob")
    page = get_text(as_stranger.get("/lint/?x=1"))
    assert '<a href="/agents/bob/lint/?x=1">bob</a>' in page
    Agent.objects.all().delete()
    assert "No agents yet" in get_text(as_stranger.get("/lint/"))
