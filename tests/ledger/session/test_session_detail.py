"""The page of a session: its transcript, turn by turn."""

import re

import pytest

from ledger.models import PromptReport, Session
from ledger.session import transcript_page
from tests.factories import SessionFactory
from tests.homes import assistant, result, user
from tests.ledger.list_pages import find_link, read_pages
from tests.ledger.transcript_records import get_text, store_session, working_turns

PAGE = "/agents/ada/sessions/s1/"
pytestmark = pytest.mark.django_db


def records(response):
    """Read the ids of all records on a page, in order of their places.

    Results of calls are included.
    """
    return re.findall(r'id="r-([^"]+)"', get_text(response))


def turns(response):
    return re.findall(r'<section class="turn" id="t-([^"]+)"', get_text(response))


def test_it_works(client):
    store_session(*working_turns(2))
    page = client.get(PAGE)
    assert turns(page) == ["1", "2"]
    assert records(page) == [f"r{number}" for number in range(1, 9)]
    for words in ("question 1", "reply 2", "ls 1", "output 2", "50 ms", "115 tokens", "fake-gpt", "2 turns, 8 records"):
        assert words in get_text(page)


def test_a_session_without_records_says_so(client):
    SessionFactory(id="s1")
    assert "No records yet" in get_text(client.get(PAGE))


def test_a_turn_says_what_the_person_received(client):
    SessionFactory(id="s1", session_key="agent:ada:irc:group:#lab", record_count=0)
    send = ("m", "message", {"action": "send", "message": "At nine."})
    lost = {"parentId": "a line that was lost"}
    store_session(
        *(user("When?"), assistant("", send), result("m", '{"ok":true}', name="message"), assistant("I told them.")),
        *(user("Thanks"), assistant("NO_REPLY"), user("And then?"), assistant("LLM request failed.") | lost),
        *(user("Router?"), assistant("Yes.", model="auto")),
    )
    page = get_text(client.get(PAGE))
    for words in ("Sent to the conversation", "Private words", "Delivered", "Silent reply", "A record is lost"):
        assert words in page
    states = dict(Session.objects.using("agent_ada").get().turns.values_list("turn_number", "answer_state"))
    assert states == {1: "", 2: "silent", 3: "damaged", 4: ""}
    listed = client.get("/agents/ada/turns/?answer=silent")
    assert "Thanks" in get_text(listed) and "At nine." not in get_text(listed)
    delivered = client.get("/api/v1/agents/ada/turns?delivery=delivered").json()["items"]
    assert [(turn["agent_message_content"], turn["answer_state"]) for turn in delivered] == [("At nine.", "")]


def test_the_model_that_was_asked_stands_beside_the_one_that_answered(client):
    record = assistant("Yes.", model="auto")
    record["message"]["responseModel"] = "vendor/other"
    store_session(user("Router?"), record)
    for address in (PAGE, "/agents/ada/turns/"):
        assert re.search(r"vendor/other.*asked: auto", get_text(client.get(address)), re.DOTALL)
    assert "Router?" in get_text(client.get("/agents/ada/turns/?model=vendor/other"))


def test_only_labellers_can_choose_turns(client, stranger):
    store_session(*working_turns(1))
    assert 'name="turn" value="1" form="make-samples"' in get_text(client.get(PAGE))
    client.force_login(stranger, backend="django.contrib.auth.backends.ModelBackend")
    assert "make-samples" not in get_text(client.get(PAGE))


class TestParts:
    """A long session comes in parts."""

    def test_they_follow_each_other_without_loss_or_doubles(self, client):
        store_session(*working_turns(80))
        assert read_pages(client, PAGE, records, "Show more records") == [f"r{number}" for number in range(1, 321)]

    def test_they_can_be_read_backwards(self, client):
        store_session(*working_turns(80))
        assert read_pages(client, PAGE, records, "Show earlier records", "?before=320") == [
            f"r{number}" for number in range(1, 321)
        ]

    def test_a_call_and_its_results_stay_together(self, client):
        two = [user("go"), assistant("", ("a", "exec", {}), ("b", "exec", {})), result("a", "1"), result("b", "2")]
        store_session(*[user(f"q{number}") for number in range(transcript_page.CHUNK - 2)], *two)
        first, second = client.get(PAGE), f"r{transcript_page.CHUNK}"
        assert records(first)[-1] == f"r{transcript_page.CHUNK - 1}"
        assert (
            re.search(
                r'<article[^>]* id="r-([^"]+)"', get_text(client.get(PAGE + find_link(first, "Show more records")))
            )[1]
            == second
        )

    def test_an_unanswered_call_does_not_hold_the_next_part_up(self, client):
        store_session(*[assistant("", (f"c{number}", "exec", {})) for number in range(250)])
        assert read_pages(client, PAGE, records, "Show more records") == [f"r{number}" for number in range(1, 251)]

    def test_htmx_gets_the_records_and_the_way_on_only(self, client):
        store_session(*working_turns(80))
        part = client.get(PAGE + "?after=99", headers={"HX-Request": "true"})
        assert "<html" not in get_text(part)
        assert "Show more records" in get_text(part)
        assert "Show earlier records" not in get_text(part)
        assert "data-announce" in get_text(part)
        assert "HX-Request" in part["Vary"]
        backwards = client.get(PAGE + "?before=200", headers={"HX-Request": "true"})
        assert "Show earlier records" in get_text(backwards)
        assert "Show more records" not in get_text(backwards)

    def test_restoring_history_gets_the_whole_page(self, client):
        store_session(*working_turns(1))
        headers = {"HX-Request": "true", "HX-History-Restore-Request": "true"}
        assert "<html" in get_text(client.get(PAGE, headers=headers))

    def test_a_part_ends_early_when_its_records_are_long(self, client):
        store_session(*[assistant("word " * 1500) for _ in range(90)])
        page = client.get(PAGE)
        assert len(records(page)) < 30
        assert len(page.content) < 2 * transcript_page.BUDGET
        assert find_link(page, "Show more records")

    def test_a_page_of_ordinary_records_weighs_less_than_150_kb(self, client):
        lines = "".join(f"{n:05}: GET /items/{n} 200 12 ms\n" for n in range(120))
        turn = [
            user("Which?"),
            assistant("", ("c", "exec", {"command": "rg"})),
            result("c", lines),
            assistant("**Two**."),
        ]
        store_session(*turn * 30)
        page = client.get(PAGE)
        assert len(records(page)) == transcript_page.CHUNK
        assert len(page.content) < 150_000


class TestPlaces:
    """An address can name a turn or a record."""

    def test_a_turn(self, client):
        store_session(*working_turns(80))
        page = client.get(PAGE + "?turn=60")
        assert turns(page)[0] == "60"
        assert find_link(page, "Show earlier records") == "?before=236"

    def test_a_turn_that_is_not_there_leads_to_the_one_before(self, client):
        store_session(*working_turns(3))
        page = client.get(PAGE + "?turn=900")
        assert turns(page) == ["3"]
        assert "There is no turn 900" in get_text(page)

    def test_a_record_comes_with_its_turn(self, client):
        store_session(*working_turns(80))
        page = client.get(PAGE + "?record=r200")
        assert turns(page)[0] == "50"
        assert "r200" in records(page)

    def test_a_result_that_is_asked_for_is_open(self, client):
        store_session(*working_turns(2))
        page = get_text(client.get(PAGE + "?record=r3"))
        assert 'id="r-r3" open>' in page
        assert 'id="r-r7" open>' not in page

    def test_a_record_deep_in_a_long_turn(self, client):
        store_session(user("go"), *[assistant(f"step {number}") for number in range(300)])
        page = client.get(PAGE + "?record=r250")
        assert "r250" in records(page)
        assert "continued" in get_text(page)

    def test_a_record_that_is_not_there(self, client):
        store_session(*working_turns(1))
        page = client.get(PAGE, {"record": "<b>gone"})
        assert "This session has no record &lt;b&gt;gone" in get_text(page)
        assert turns(page) == ["1"]

    def test_a_place_after_the_end_is_empty_and_leads_back(self, client):
        store_session(*working_turns(1))
        assert "Nothing here" in get_text(client.get(PAGE + "?after=99"))

    @pytest.mark.parametrize("query", ["?after=x", "?before=-1", "?turn=1e9", f"?after={2**70}", "?kind=x", "?next=x"])
    def test_an_impossible_address_says_what_to_do(self, client, query):
        store_session(*working_turns(1))
        assert client.get(PAGE + query).status_code == 409

    def test_ids_of_any_kind_have_links(self, client):
        store_session(user("odd") | {"id": 'a/b?c#d "e"'}, {"type": "message", "id": None, "message": {"role": "user"}})
        page = get_text(client.get(PAGE))
        assert "?record=a%2Fb%3Fc%23d%20%22e%22#r-a%2Fb" in page
        assert 'id="r-a/b?c#d &#34;e&#34;"' in page
        assert 'id="r-@20"' in page
        assert client.get(PAGE, {"record": 'a/b?c#d "e"'}).status_code == 200


class TestBranches:
    @pytest.fixture(autouse=True)
    def session(self):
        """Turn 2 was asked again: r3 and r4 are on the branch that was left."""
        store_session(
            user("one"), assistant("1"), user("two"), assistant("2"), user("two, please") | {"parentId": "r2"}
        )

    def test_the_branch_that_was_left_is_not_shown(self, client):
        page = client.get(PAGE)
        assert records(page) == ["r1", "r2", "r5"]
        assert "2 records belong to abandoned branches" in get_text(page)

    def test_it_is_shown_when_asked_for(self, client):
        page = client.get(PAGE + find_link(client.get(PAGE), "Show records"))
        assert records(page) == ["r1", "r2", "r3", "r4", "r5"]
        assert get_text(page).count("record--aside") == 2
        assert get_text(page).count("Other branch") >= 2

    @pytest.mark.parametrize("query", ["?record=r4", "?turn=2"])
    def test_a_place_on_it_shows_it(self, client, query):
        assert "r3" in records(client.get(PAGE + query))

    def test_its_turns_cannot_be_chosen(self, client):
        page = get_text(client.get(PAGE + "?branch=all"))
        assert 'value="2" form="make-samples"' not in page
        assert 'value="3" form="make-samples"' in page


class TestHead:
    def test_it_says_what_the_session_was_started_with(self, client):
        session = store_session(*working_turns(1))
        report = '{"skills":[{"name":"weather","description":"<b>rain"}],"files":[{"name":"SOUL.md","rawChars":1664}],'
        report += '"tools":["exec"],"systemPromptChars":25494}'
        session.prompt_report = PromptReport.objects.using("agent_ada").create(id="x", report_json=report)
        session.metadata = '{"chatType":"direct"}'
        session.save()
        page = get_text(client.get(PAGE))
        for words in ("weather", "&lt;b&gt;rain", "SOUL.md", "1,664 characters", "25,494 characters", "chatType"):
            assert words in page


@pytest.mark.parametrize("query", ["", "?turn=1", "?record=r2", "?branch=all"])
def test_the_number_of_queries_does_not_grow(client, django_assert_max_num_queries, query):
    more = {"": 0, "?turn=1": 1, "?record=r2": 3, "?branch=all": 0}[query]
    for session_id, count in (("short", 1), ("long", 30)):
        store_session(*working_turns(count), session_id=session_id)
        address = f"/agents/ada/sessions/{session_id}/{query}"
        with (
            django_assert_max_num_queries(7 + more, using="agent_ada"),
            django_assert_max_num_queries(6),  # session, user, agent, agents; was it read lately, the entry that it was
        ):
            client.get(address)
