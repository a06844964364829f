"""The page of a session around its transcript: map, jumps, heads of turns, origin."""

import re

import pytest

from ledger.models import ConversationTurn
from tests.factories import SessionFactory
from tests.homes import assistant, result, user
from tests.ledger.transcript_records import get_text, store_session, working_turns

PAGE = "/agents/ada/sessions/s1/"
pytestmark = pytest.mark.django_db


class TestMap:
    def test_it_works(self, client):
        store_session(
            *working_turns(20), user("x"), assistant("", ("e", "exec", {})), result("e", "no", details={"exitCode": 1})
        )
        page = get_text(client.get(PAGE))
        assert 'viewBox="0 0 42 32"' in page
        assert page.count("<title>Record") == 42
        assert "Records 83 to 83: 1 error" in page
        assert 'href="?after=81" tabindex="-1"' in page
        for kind in ("page", "turn", "tool", "error"):
            assert f'class="map__{kind}"' in page
        assert "map__compaction" not in page

    def test_every_part_leads_to_its_records(self, client):
        store_session(*working_turns(100))
        page = get_text(client.get(PAGE))
        links = re.findall(r'<a href="(\?[^"]*)" tabindex="(?:0|-1)"><title>Records ([\d,]+) to', page)
        assert len(links) == 80
        stop = page.split('id="map"')[1].split("</svg>")[0].split(' tabindex="0"')
        assert len(stop) == 2 and stop[0].endswith('<a href="?"')  # Tab stops where the page is
        for address, first in links[::20]:
            assert f'id="r-r{first.replace(",", "")}"' in get_text(client.get(PAGE + address))

    def test_a_short_session_has_none(self, client):
        store_session(*working_turns(2))
        assert 'id="map"' not in get_text(client.get(PAGE))

    def test_it_keeps_the_branch(self, client):
        store_session(*working_turns(20), user("again") | {"parentId": "r4"})
        assert "&amp;branch=all" in get_text(client.get(PAGE + "?branch=all")).split('id="map"')[1].split("</svg>")[0]


class TestJumps:
    @pytest.fixture(autouse=True)
    def session(self):
        """Turns of four records; the fortieth fails, and a compaction follows it."""
        failing = [user("x"), assistant("", ("e", "exec", {})), result("e", "no", details={"exitCode": 1})]
        compaction = {"type": "compaction", "summary": "s", "firstKeptEntryId": "r1"}
        store_session(*working_turns(39), *failing, compaction, *working_turns(40))

    @pytest.mark.parametrize(
        ("query", "record"),
        [
            ("next=error&from=0", "r159"),
            ("prev=error&from=300", "r159"),
            ("next=compaction&from=10", "r160"),
            ("next=turn&from=0", "r5"),
            ("prev=turn&from=5", "r5"),
            ("prev=turn&from=4", "r1"),
            ("next=tool&from=158", "r162"),
            ("next=turn", "r1"),
            ("prev=turn", "r317"),
        ],
    )
    def test_it_works(self, client, query, record):
        assert client.get(f"{PAGE}?{query}")["Location"] == f"{PAGE}?record={record}#r-{record}"

    @pytest.mark.parametrize("query", ["next=error&from=158", "prev=error&from=158", "next=turn&from=9007199254740991"])
    def test_without_one_it_stays_and_says_so(self, client, query):
        page = client.get(f"{PAGE}?{query}", follow=True)
        assert page.status_code == 200
        assert re.search(r"There is no (later|earlier) (error|turn)", get_text(page))
        assert 'id="transcript"' in get_text(page)

    @pytest.mark.parametrize("query", ["next=", "next=nothing", "next=turn&from=x", f"next=turn&from={2**80}", "prev="])
    def test_an_impossible_jump_is_refused(self, client, query):
        assert client.get(f"{PAGE}?{query}").status_code == 409

    def test_they_are_links_on_the_page(self, client):
        page = get_text(client.get(PAGE))
        assert "?next=error&amp;from=79" in page
        assert "?prev=turn&amp;from=0" in page


class TestHeadsOfTurns:
    def test_latency_stands_in_the_head_of_a_turn(self, client):
        store_session(*working_turns(1))
        ConversationTurn.objects.using("agent_ada").update(latency_ms=61_500)
        assert "1 min 2 s" in get_text(client.get(PAGE))


class TestOrigins:
    def test_a_scheduled_session_says_so(self, client):
        session = store_session(*working_turns(1))
        session.session_key = "agent:ada:cron:nightly:run:s1"
        session.save()
        assert "A schedule started this session." in get_text(client.get(PAGE))

    def test_a_sub_agent_leads_to_who_asked(self, client):
        SessionFactory(id="parent", session_key="agent:ada:main", title="The <b>parent")
        session = store_session(*working_turns(1))
        session.session_key, session.metadata = "agent:ada:subagent:u-1", '{"spawnedBy":"agent:ada:main"}'
        session.save()
        page = get_text(client.get(PAGE))
        assert '<a href="/agents/ada/sessions/parent/">The &lt;b&gt;parent</a>' in page

    @pytest.mark.parametrize("metadata", ["[]", '"spawnedBy"', '{"spawnedBy":7}', '{"spawnedBy":{"a":1}}'])
    def test_odd_indexes_stop_nothing(self, client, metadata):
        session = store_session(*working_turns(1))
        session.metadata = metadata
        session.save()
        assert client.get(PAGE).status_code == 200
