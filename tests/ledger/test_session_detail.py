"""The page of a session: its transcript, turn by turn."""

import re

import pytest

from ledger import reading
from tests.factories import SessionFactory
from tests.homes import assistant, result, user

from .transcripts import tell, text_of, working_turns

PAGE = "/agents/ada/sessions/s1/"
pytestmark = pytest.mark.django_db


@pytest.fixture
def client(client, reviewer, ada, bob):
    """A browser of a labeller; ada and bob are there."""
    client.force_login(reviewer, backend="django.contrib.auth.backends.ModelBackend")
    return client


def records(response):
    """The ids of the records on a page, results of calls included, in order of their places."""
    return re.findall(r'id="r-([^"]+)"', text_of(response))


def turns(response):
    return re.findall(r'<section class="turn" id="t-([^"]+)"', text_of(response))


def link(response, words):
    """The address of the link that says these words."""
    found = re.search(rf'href="([^"]+)"[^>]*>{words}</a>', text_of(response))
    return PAGE + found[1].replace("&amp;", "&") if found else None


def test_it_works(client):
    tell(*working_turns(2))
    page = client.get(PAGE)
    assert turns(page) == ["1", "2"]
    assert records(page) == [f"r{number}" for number in range(1, 9)]
    for words in ("question 1", "reply 2", "ls 1", "output 2", "50 ms", "115 tokens", "fake-gpt", "2 turns, 8 records"):
        assert words in text_of(page)


def test_nobody_in_particular_has_to_sign_in(client):
    client.logout()
    assert client.get(PAGE)["Location"].startswith("/sign-in/")


def test_adas_page_does_not_show_bobs_rows(client):
    tell(user("hello ada"))
    tell(user("hello bob"), db="agent_bob")
    assert "hello bob" not in text_of(client.get(PAGE))
    assert client.get("/agents/bob/sessions/s1/").status_code == 200
    tell(user("bob alone"), db="agent_bob", session_id="bobs")
    assert client.get("/agents/ada/sessions/bobs/").status_code == 404


def test_a_session_without_records_says_so(client):
    SessionFactory(id="s1")
    assert "Nothing here" in text_of(client.get(PAGE))


def test_only_labellers_can_choose_turns(client, stranger):
    tell(*working_turns(1))
    assert 'name="turn" value="1" form="make-samples"' in text_of(client.get(PAGE))
    client.force_login(stranger, backend="django.contrib.auth.backends.ModelBackend")
    assert "make-samples" not in text_of(client.get(PAGE))


class TestParts:
    """A long session comes in parts."""

    def test_they_follow_each_other_without_loss_or_doubles(self, client):
        tell(*working_turns(80))
        found, address = [], PAGE
        while address:
            page = client.get(address)
            found += records(page)
            address = link(page, "Show more records")
        assert found == [f"r{number}" for number in range(1, 321)]

    def test_they_can_be_read_backwards(self, client):
        tell(*working_turns(80))
        found, address = [], PAGE + "?before=320"
        while address:
            page = client.get(address)
            found = records(page) + found
            address = link(page, "Show earlier records")
        assert found == [f"r{number}" for number in range(1, 321)]

    def test_a_call_and_its_results_stay_together(self, client):
        two = [user("go"), assistant("", ("a", "exec", {}), ("b", "exec", {})), result("a", "1"), result("b", "2")]
        tell(*[user(f"q{number}") for number in range(97)], *two)
        first = client.get(PAGE)
        assert records(first)[-1] == "r98"
        assert records(client.get(link(first, "Show more records"))) == ["r99", "r100", "r101"]

    def test_an_unanswered_call_does_not_hold_the_next_part_up(self, client):
        tell(*[assistant("", (f"c{number}", "exec", {})) for number in range(250)])
        found, address = [], PAGE
        while address:
            page = client.get(address)
            found += re.findall(r'id="r-(r\d+)"', text_of(page))
            address = link(page, "Show more records")
        assert found == [f"r{number}" for number in range(1, 251)]

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
        assert len(page.content) < 2 * reading.BUDGET
        assert link(page, "Show more records")

    def test_a_hundred_ordinary_records_weigh_less_than_150_kb(self, client):
        lines = "".join(f"{n:05}: GET /items/{n} 200 12 ms\n" for n in range(120))
        tell(*[record for n in range(40) for record in (user("Which?"), assistant("", (f"c{n}", "exec", {"command": "rg"})),
                                                        result(f"c{n}", lines), assistant("**These** three."))])  # fmt: skip
        page = client.get(PAGE)
        assert len(records(page)) == 100
        assert len(page.content) < 150_000


class TestPlaces:
    """An address can name a turn or a record."""

    def test_a_turn(self, client):
        tell(*working_turns(80))
        page = client.get(PAGE + "?turn=60")
        assert turns(page)[0] == "60"
        assert link(page, "Show earlier records") == PAGE + "?before=236"

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

    @pytest.mark.parametrize("query", ["?after=x", "?before=-1", "?turn=1e9", f"?after={2**70}", "?branch=left"])
    def test_an_impossible_address_says_what_to_do(self, client, query):
        tell(*working_turns(1))
        assert client.get(PAGE + query).status_code == 409

    def test_ids_of_any_kind_have_links(self, client):
        tell(user("odd") | {"id": 'a/b?c#d "e"'}, {"type": "message", "id": None, "message": {"role": "user"}})
        page = text_of(client.get(PAGE))
        assert "?record=a%2Fb%3Fc%23d%20%22e%22#r-a%2Fb" in page
        assert 'id="r-a/b?c#d &quot;e&quot;"' in page
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
        assert "2 records are on branches that were abandoned" in text_of(page)

    def test_it_is_shown_when_asked_for(self, client):
        page = client.get(link(client.get(PAGE), "Show them"))
        assert records(page) == ["r1", "r2", "r3", "r4", "r5"]
        assert text_of(page).count("record--aside") == 2
        assert text_of(page).count("other branch") >= 2

    @pytest.mark.parametrize("query", ["?record=r4", "?turn=2"])
    def test_a_place_on_it_shows_it(self, client, query):
        assert "r3" in records(client.get(PAGE + query))

    def test_its_turns_cannot_be_chosen(self, client):
        page = text_of(client.get(PAGE + "?branch=all"))
        assert 'value="2" form="make-samples"' not in page
        assert 'value="3" form="make-samples"' in page


class TestRecords:
    """What the records of each kind look like."""

    def test_channel_users_have_names_and_no_envelope(self, client):
        block = 'Sender (untrusted metadata):\n```json\n{"sender": "alice", "name": "Alice <a>"}\n```\n\n'
        tell(user(block + "What is new?"))
        page = text_of(client.get(PAGE))
        assert "untrusted" not in page
        assert "Alice &lt;a&gt;" in page

    def test_automatic_messages_are_not_a_persons(self, client):
        tell(user("[cron:1 Morning brief] Go."))
        page = text_of(client.get(PAGE))
        assert "<span>Automatic</span><span>scheduled job</span>" in page
        assert "text--plain" in page

    def test_images_are_counted_and_not_shown(self, client):
        tell(user("look", content=[{"type": "image", "data": "aGVsbG8=", "mimeType": "image/png"}]))
        page = text_of(client.get(PAGE))
        assert "1 image, not shown" in page
        assert "aGVsbG8" not in page
        assert "<img" not in page

    def test_markdown_of_agents_is_rendered(self, client):
        tell(assistant("# Done\n\n| a | b |\n|---|---|\n| **1** | `2` |\n\n[see](https://example.org/x)"))
        page = text_of(client.get(PAGE))
        assert "<strong>1</strong>" in page
        assert '<a href="https://example.org/x" rel="noopener noreferrer nofollow">see</a>' in page

    def test_thinking_is_folded(self, client):
        record = assistant("Yes.")
        record["message"]["content"].insert(0, {"type": "thinking", "thinking": "Is it <so>?"})
        tell(record)
        page = text_of(client.get(PAGE))
        assert "<summary>Thinking" in page
        assert "Is it &lt;so&gt;?" in page

    @pytest.mark.parametrize(
        ("more", "words"),
        [
            ({"details": {"exitCode": 3}}, "failed, exit 3"),
            ({"isError": True}, ">failed<"),
            ({"details": {"status": "error"}}, ">failed<"),
        ],
    )
    def test_failed_calls_say_so(self, client, more, words):
        tell(user("go"), assistant("", ("c", "exec", {"command": "false"})), result("c", "no", **more))
        page = text_of(client.get(PAGE))
        assert "call--failed" in page
        assert words in page
        assert "1 error" in page

    def test_a_call_without_a_result_and_a_result_without_a_call(self, client):
        tell(user("go"), assistant("", ("c", "exec", {})), result("other", "stray output", name="teleport"))
        page = text_of(client.get(PAGE))
        assert "no result" in page
        assert "Result without its call" in page
        assert "stray output" in page

    def test_both_dialects_are_read(self, client):
        block = {"type": "tool_use", "id": "t", "name": "Bash", "input": {"command": "uname -a"}}
        tell(user("go"), {"type": "message", "message": {"role": "assistant", "content": [block]}})
        assert "uname -a" in text_of(client.get(PAGE))

    def test_arguments_and_results_are_cut_with_a_way_to_the_rest(self, client):
        call = assistant("", ("c", "write", {"path": "x.txt", "content": "y" * 9000}))
        tell(user("go"), call, result("c", "z" * 200_000))
        page = text_of(client.get(PAGE))
        assert len(page) < 40_000
        assert "Show more (200,000 characters)" in page
        assert "records/r3/?field=text" in page
        assert "records/r2/?field=arguments&amp;call=0" in page

    def test_many_calls_of_one_record_are_not_all_shown(self, client):
        tell(user("go"), assistant("", *[(f"c{number}", "exec", {"n": number}) for number in range(50)]))
        assert "30 more calls" in text_of(client.get(PAGE))

    def test_a_failed_answer_shows_its_error(self, client):
        record = assistant("")
        record["message"] |= {"stopReason": "error", "errorMessage": "400 <no such model>"}
        tell(user("go"), record)
        assert "400 &lt;no such model&gt;" in text_of(client.get(PAGE))

    def test_synthetic_answers_are_marked(self, client):
        tell(user("hi"), assistant("Model set.", model="gateway-injected"), assistant("hi", model="delivery-mirror"))
        page = text_of(client.get(PAGE))
        assert "<span>Gateway</span>" in page
        assert "<span>Copy of what was delivered</span>" in page

    def test_quiet_records_are_one_line(self, client):
        tell(
            {"type": "model_change", "provider": "p", "modelId": "m-2"},
            {"type": "thinking_level_change", "thinkingLevel": "high"},
            {"type": "label", "label": "<i>here"},
            {"type": "session_info", "name": "Taxes"},
            {"type": "reset", "reason": "new"},
        )
        page = text_of(client.get(PAGE))
        for words in ("p/m-2", "high", "&lt;i&gt;here", "Taxes", "The session was reset: new"):
            assert words in page

    def test_a_compaction_says_what_went(self, client):
        summary = "## Goal\nFix it\n\n<read-files>\nAGENTS.md\n</read-files>"
        tell(user("go"), {"type": "compaction", "summary": summary, "tokensBefore": 52_179})
        page = text_of(client.get(PAGE))
        for words in ("Compaction", "52.2k tokens before it", "AGENTS.md", "1 compaction"):
            assert words in page

    def test_bookkeeping_is_hidden_until_asked_for(self, client):
        tell(user("go"), {"type": "custom", "customType": "model-snapshot", "data": {"secret": "sauce"}})
        page = client.get(PAGE)
        assert "1 record of bookkeeping is not shown" in text_of(page)
        assert "sauce" not in text_of(page)
        assert "sauce" in text_of(client.get(link(page, "Show everything")))
        assert "sauce" in text_of(client.get(PAGE + "?record=r2"))

    def test_unknown_types_are_kept_as_they_are(self, client):
        tell({"type": "hologram", "beam": "<up>"})
        page = text_of(client.get(PAGE))
        assert "not known here" in page
        assert "&lt;up&gt;" in page

    def test_withheld_records_say_so(self, client):
        tell(user("secret", __openclaw={"senderId": "eve"}), assistant("for eve"), opted_out=["eve"])
        page = text_of(client.get(PAGE))
        assert page.count("Nothing of it was kept") == 2
        assert "secret" not in page

    def test_nothing_that_was_said_can_do_anything(self, client):
        evil = (
            "<script>alert(1)</script><img src=x onerror=alert(1)> ![x](https://evil.example/t.png) [a](javascript:x)"
        )
        tell(
            user(evil),
            assistant(evil, ("c", evil, {evil: evil, "path": evil})),
            result("c", evil, name=evil, details={"diff": evil}),
            {"type": "compaction", "summary": evil},
            {"type": evil},
        )
        page = text_of(client.get(PAGE + "?all=1"))
        for tag in ("<script>a", "<img", 'href="javascript', " onerror=alert(1)>\n"):
            assert tag not in page

    def test_characters_that_hide_are_made_visible(self, client):
        odd = "a\u202eb\x00c\x1b[31md\u200be \u200d\r\nf"
        tell(user(odd), assistant(odd + " **x**", ("c", "exec", {"command": odd})), result("c", odd))
        page = text_of(client.get(PAGE))
        for character in "\u202e\x00\x1b\u200b\r":
            assert character not in page
        for code in ("U+202E", "NUL", "ESC", "U+200B"):
            assert page.count(f'<span class="glyph">{code}</span>') >= 3


class TestHead:
    def test_it_says_what_the_session_was_started_with(self, client):
        from ledger.models import PromptReport

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
            django_assert_max_num_queries(5 + more, using="agent_ada"),
            django_assert_max_num_queries(3),
        ):
            client.get(address)
