"""The page of a session: its transcript, turn by turn."""

import re

import pytest

from ledger.models import PromptReport
from ledger.session import transcript_page
from tests.factories import SessionFactory
from tests.homes import assistant, result, user
from tests.ledger.talks import tell, text_of, working_turns
from tests.ledger.walking import onwards, walk

PAGE = "/agents/ada/sessions/s1/"
pytestmark = pytest.mark.django_db


def records(response):
    """The ids of the records on a page, results of calls included, in order of their places."""
    return re.findall(r'id="r-([^"]+)"', text_of(response))


def turns(response):
    return re.findall(r'<section class="turn" id="t-([^"]+)"', text_of(response))


def test_it_works(client):
    tell(*working_turns(2))
    page = client.get(PAGE)
    assert turns(page) == ["1", "2"]
    assert records(page) == [f"r{number}" for number in range(1, 9)]
    for words in ("question 1", "reply 2", "ls 1", "output 2", "50 ms", "115 tokens", "fake-gpt", "2 turns, 8 records"):
        assert words in text_of(page)


def test_a_session_without_records_says_so(client):
    SessionFactory(id="s1")
    assert "No records yet" in text_of(client.get(PAGE))


def test_only_labellers_can_choose_turns(client, stranger):
    tell(*working_turns(1))
    assert 'name="turn" value="1" form="make-samples"' in text_of(client.get(PAGE))
    client.force_login(stranger, backend="django.contrib.auth.backends.ModelBackend")
    assert "make-samples" not in text_of(client.get(PAGE))


class TestParts:
    """A long session comes in parts."""

    def test_they_follow_each_other_without_loss_or_doubles(self, client):
        tell(*working_turns(80))
        assert walk(client, PAGE, records, "Show more records") == [f"r{number}" for number in range(1, 321)]

    def test_they_can_be_read_backwards(self, client):
        tell(*working_turns(80))
        assert walk(client, PAGE, records, "Show earlier records", "?before=320") == [
            f"r{number}" for number in range(1, 321)
        ]

    def test_a_call_and_its_results_stay_together(self, client):
        two = [user("go"), assistant("", ("a", "exec", {}), ("b", "exec", {})), result("a", "1"), result("b", "2")]
        tell(*[user(f"q{number}") for number in range(transcript_page.CHUNK - 2)], *two)
        first, second = client.get(PAGE), f"r{transcript_page.CHUNK}"
        assert records(first)[-1] == f"r{transcript_page.CHUNK - 1}"
        assert (
            re.search(r'<article[^>]* id="r-([^"]+)"', text_of(client.get(PAGE + onwards(first, "Show more records"))))[
                1
            ]
            == second
        )

    def test_an_unanswered_call_does_not_hold_the_next_part_up(self, client):
        tell(*[assistant("", (f"c{number}", "exec", {})) for number in range(250)])
        assert walk(client, PAGE, records, "Show more records") == [f"r{number}" for number in range(1, 251)]

    def test_htmx_gets_the_records_and_the_way_on_only(self, client):
        tell(*working_turns(80))
        part = client.get(PAGE + "?after=99", headers={"HX-Request": "true"})
        assert "<html" not in text_of(part)
        assert "Show more records" in text_of(part)
        assert "Show earlier records" not in text_of(part)
        assert "data-announce" in text_of(part)
        assert "HX-Request" in part["Vary"]
        backwards = client.get(PAGE + "?before=200", headers={"HX-Request": "true"})
        assert "Show earlier records" in text_of(backwards)
        assert "Show more records" not in text_of(backwards)

    def test_restoring_history_gets_the_whole_page(self, client):
        tell(*working_turns(1))
        headers = {"HX-Request": "true", "HX-History-Restore-Request": "true"}
        assert "<html" in text_of(client.get(PAGE, headers=headers))

    def test_a_part_ends_early_when_its_records_are_long(self, client):
        tell(*[assistant("word " * 1500) for _ in range(90)])
        page = client.get(PAGE)
        assert len(records(page)) < 30
        assert len(page.content) < 2 * transcript_page.BUDGET
        assert onwards(page, "Show more records")

    def test_a_page_of_ordinary_records_weighs_less_than_150_kb(self, client):
        lines = "".join(f"{n:05}: GET /items/{n} 200 12 ms\n" for n in range(120))
        one = [
            user("Which?"),
            assistant("", ("c", "exec", {"command": "rg"})),
            result("c", lines),
            assistant("**Two**."),
        ]
        tell(*one * 30)
        page = client.get(PAGE)
        assert len(records(page)) == transcript_page.CHUNK
        assert len(page.content) < 150_000


class TestPlaces:
    """An address can name a turn or a record."""

    def test_a_turn(self, client):
        tell(*working_turns(80))
        page = client.get(PAGE + "?turn=60")
        assert turns(page)[0] == "60"
        assert onwards(page, "Show earlier records") == "?before=236"

    def test_a_turn_that_is_not_there_leads_to_the_one_before(self, client):
        tell(*working_turns(3))
        page = client.get(PAGE + "?turn=900")
        assert turns(page) == ["3"]
        assert "There is no turn 900" in text_of(page)

    def test_a_record_comes_with_its_turn(self, client):
        tell(*working_turns(80))
        page = client.get(PAGE + "?record=r200")
        assert turns(page)[0] == "50"
        assert "r200" in records(page)

    def test_a_result_that_is_asked_for_is_open(self, client):
        tell(*working_turns(2))
        page = text_of(client.get(PAGE + "?record=r3"))
        assert 'id="r-r3" open>' in page
        assert 'id="r-r7" open>' not in page

    def test_a_record_deep_in_a_long_turn(self, client):
        tell(user("go"), *[assistant(f"step {number}") for number in range(300)])
        page = client.get(PAGE + "?record=r250")
        assert "r250" in records(page)
        assert "continued" in text_of(page)

    def test_a_record_that_is_not_there(self, client):
        tell(*working_turns(1))
        page = client.get(PAGE, {"record": "<b>gone"})
        assert "This session has no record &lt;b&gt;gone" in text_of(page)
        assert turns(page) == ["1"]

    def test_a_place_after_the_end_is_empty_and_leads_back(self, client):
        tell(*working_turns(1))
        assert "Nothing here" in text_of(client.get(PAGE + "?after=99"))

    @pytest.mark.parametrize("query", ["?after=x", "?before=-1", "?turn=1e9", f"?after={2**70}", "?kind=x", "?next=x"])
    def test_an_impossible_address_says_what_to_do(self, client, query):
        tell(*working_turns(1))
        assert client.get(PAGE + query).status_code == 409

    def test_ids_of_any_kind_have_links(self, client):
        tell(user("odd") | {"id": 'a/b?c#d "e"'}, {"type": "message", "id": None, "message": {"role": "user"}})
        page = text_of(client.get(PAGE))
        assert "?record=a%2Fb%3Fc%23d%20%22e%22#r-a%2Fb" in page
        assert 'id="r-a/b?c#d &#34;e&#34;"' in page
        assert 'id="r-@20"' in page
        assert client.get(PAGE, {"record": 'a/b?c#d "e"'}).status_code == 200


class TestBranches:
    @pytest.fixture(autouse=True)
    def session(self):
        """Turn 2 was asked again in other words: r3 and r4 are on the branch that was left."""
        tell(user("one"), assistant("1"), user("two"), assistant("2"), user("two, please") | {"parentId": "r2"})

    def test_the_branch_that_was_left_is_not_shown(self, client):
        page = client.get(PAGE)
        assert records(page) == ["r1", "r2", "r5"]
        assert "2 records belong to abandoned branches" in text_of(page)

    def test_it_is_shown_when_asked_for(self, client):
        page = client.get(PAGE + onwards(client.get(PAGE), "Show records"))
        assert records(page) == ["r1", "r2", "r3", "r4", "r5"]
        assert text_of(page).count("record--aside") == 2
        assert text_of(page).count("Other branch") >= 2

    @pytest.mark.parametrize("query", ["?record=r4", "?turn=2"])
    def test_a_place_on_it_shows_it(self, client, query):
        assert "r3" in records(client.get(PAGE + query))

    def test_its_turns_cannot_be_chosen(self, client):
        page = text_of(client.get(PAGE + "?branch=all"))
        assert 'value="2" form="make-samples"' not in page
        assert 'value="3" form="make-samples"' in page


class TestHead:
    def test_it_says_what_the_session_was_started_with(self, client):
        session = tell(*working_turns(1))
        report = '{"skills":[{"name":"weather","description":"<b>rain"}],"files":[{"name":"SOUL.md","rawChars":1664}],'
        report += '"tools":["exec"],"systemPromptChars":25494}'
        session.prompt_report = PromptReport.objects.using("agent_ada").create(id="x", report_json=report)
        session.metadata = '{"chatType":"direct"}'
        session.save()
        page = text_of(client.get(PAGE))
        for words in ("weather", "&lt;b&gt;rain", "SOUL.md", "1,664 characters", "25,494 characters", "chatType"):
            assert words in page


@pytest.mark.parametrize("query", ["", "?turn=1", "?record=r2", "?branch=all"])
def test_the_number_of_queries_does_not_grow(client, django_assert_max_num_queries, query):
    more = {"": 0, "?turn=1": 1, "?record=r2": 3, "?branch=all": 0}[query]
    for session_id, count in (("short", 1), ("long", 30)):
        tell(*working_turns(count), session_id=session_id)
        address = f"/agents/ada/sessions/{session_id}/{query}"
        with (
            django_assert_max_num_queries(7 + more, using="agent_ada"),
            django_assert_max_num_queries(5),  # session, user, agent; was it read lately, the entry that it was
        ):
            client.get(address)
