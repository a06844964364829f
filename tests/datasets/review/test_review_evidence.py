"""Review shows the calls and results of a row's turn, and the reply as it reads."""

import re

import orjson
import pytest

from datasets.models import DatasetSample
from datasets.review import verdicts
from datasets.services import make_samples
from ledger.models import Session, TranscriptEvent
from tests.datasets.exports.export_helpers import build_export, read_rows
from tests.datasets.page_text import read_text
from tests.datasets.test_sample_detail import content
from tests.factories import SampleFactory
from tests.homes import assistant, result, user
from tests.ledger.transcript_records import store_session, working_turns

pytestmark = pytest.mark.django_db
PAGES = ["/review/?sample={}", "/samples/{}/"]


def make_sample(ada, *records, turn=1):
    """Store a session of these records and return the sample of a turn."""
    store_session(*records)
    make_samples(ada, "s1", [turn], by="root")
    return DatasetSample.objects.get(turn_number=turn)


def work(*more):
    """A turn with a successful call, a failed call, and words between them."""
    return (
        user("How many files are backed up?"),
        assistant("I count them.", ("c1", "exec", {"command": "ls /backup"}), ("c2", "read", {"path": "a&b.txt"})),
        result("c1", "39 files"),
        result("c2", "no such file", isError=True),
        *more,
        assistant("**39** files."),
    )


@pytest.mark.parametrize("address", PAGES)
def test_it_works(as_reviewer, ada, address):
    sample = make_sample(ada, *work())
    page = as_reviewer.get(address.format(sample.id))
    page_text = read_text(page)
    for text in ("2 calls, 1 failed", "I count them.", "exec", "ls /backup", "39 files", "a&b.txt", "no such file"):
        assert text in page_text
    assert "<strong>39</strong> files." in page.text
    assert page.text.index("How many files") < page.text.index("no such file") < page.text.index("<strong>39")
    calls = re.findall(r'<details class="call call--(\w+)"[^>]*?( open)?>', page.text)
    assert calls == [("ok", ""), ("failed", " open")]


def test_a_viewer_sees_the_same(as_stranger, ada):
    sample = make_sample(ada, *work())
    assert "no such file" in read_text(as_stranger.get(f"/samples/{sample.id}/"))


def test_every_byte_of_the_row_is_on_the_page(as_reviewer, ada, own_home):
    more = (
        assistant("", ("c3", "write", {"path": "x", "lines": [1, {"a": "ü <b>"}]})),
        result("c3", "written <i>twice</i>"),
        assistant("And now?", ("c4", "exec", {"command": "wc -l"})),
        result("c4", "12 x\n13 y"),
    )
    sample = make_sample(ada, *work(*more))
    verdicts.label_sample(sample.id, "approved", by="root")
    (row,) = read_rows(build_export("sharegpt"))
    page_text = read_text(as_reviewer.get(f"/review/?sample={sample.id}"))
    calls = [message["value"] for message in row["conversations"] if message["from"] == "function_call"]
    results = [message["value"] for message in row["conversations"] if message["from"] == "observation"]
    assert (len(calls), len(results)) == (3, 3)
    for value in calls:
        parsed = orjson.loads(value)
        for call in parsed if isinstance(parsed, list) else [parsed]:
            assert call["name"] in page_text
            for argument in call["arguments"].values():
                text = (
                    argument
                    if isinstance(argument, str)
                    else orjson.dumps(argument, option=orjson.OPT_INDENT_2).decode()
                )
                assert " ".join(text.split()) in page_text
    for value in results:
        for part in value.split("\n\n"):  # the page marks a failed call by its state
            assert " ".join(part.removeprefix("[error]").split()) in page_text


def test_only_the_turn_itself_is_shown(as_reviewer, ada):
    sample = make_sample(ada, *working_turns(3), turn=2)
    page_text = read_text(as_reviewer.get(f"/review/?sample={sample.id}"))
    assert "ls 2" in page_text and "output 2" in page_text
    assert not any(text in page_text for text in ("ls 1", "output 1", "ls 3", "output 3"))


def test_what_no_row_holds_is_not_shown(as_reviewer, ada):
    copy = assistant("the same again", model="delivery-mirror")
    sample = make_sample(ada, user("Q"), assistant("", ("c1", "exec", {"command": "ls"})), assistant("Done."), copy)
    page_text = read_text(as_reviewer.get(f"/review/?sample={sample.id}"))
    assert "the same again" not in page_text
    assert "Exports leave out calls without a result." in page_text


def test_long_results_are_bounded_and_lead_to_the_whole(as_reviewer, ada):
    sample = make_sample(
        ada, user("Q"), assistant("", ("c1", "exec", {})), result("c1", "line\n" * 50_000), assistant("A")
    )
    page = as_reviewer.get(f"/review/?sample={sample.id}")
    assert len(page.text) < 60_000
    (address,) = set(re.findall(r'href="(/agents/ada/sessions/s1/records/[^"]+\?field=text)"', page.text))
    assert "line" in as_reviewer.get(address).text


def test_links_into_the_transcript_lead_into_the_session(as_reviewer, ada):
    sample = make_sample(ada, *work())
    page = as_reviewer.get(f"/review/?sample={sample.id}").text
    assert 'href="?record=' not in page
    assert 'href="/agents/ada/sessions/s1/?record=r3#r-r3"' in page


def test_a_turn_with_very_many_calls_is_cut_and_counted(as_reviewer, ada):
    records = [user("Q")]
    for number in range(100):
        records += [
            assistant("", (f"c{number}", "exec", {"n": number})),
            result(f"c{number}", "x" * 3000, isError=bool(number % 2)),
        ]
    sample = make_sample(ada, *records, assistant("A"))
    page = as_reviewer.get(f"/review/?sample={sample.id}")
    assert "100 calls, 50 failed" in read_text(page)
    assert re.search(r"\d+ more records in the session", read_text(page))
    assert len(page.text) < 250_000


class TestWithoutATranscript:
    def test_an_agent_that_is_not_here(self, as_reviewer, ada):
        SampleFactory(id="one", agent_id="gone")
        assert "No transcripts of this agent are stored." in read_text(as_reviewer.get("/samples/one/"))

    def test_a_session_that_is_not_here(self, as_reviewer, ada):
        SampleFactory(id="one")
        assert "The transcript of this session is not stored." in read_text(as_reviewer.get("/review/?sample=one"))

    def test_a_turn_that_left_the_branch(self, as_reviewer, ada):
        sample = make_sample(ada, *work())
        Session.objects.using("agent_ada").get().turns.update(is_active=False)
        TranscriptEvent.objects.using("agent_ada").update(is_active=False)
        page_text = read_text(as_reviewer.get(f"/review/?sample={sample.id}"))
        assert "This turn is not on the current branch of its session." in page_text
        assert "ls /backup" not in page_text


def test_a_session_is_named_by_its_title(as_reviewer, ada):
    sample = make_sample(ada, *work())
    Session.objects.using("agent_ada").update(title="Starter <study>")
    for address in PAGES:
        page = as_reviewer.get(address.format(sample.id)).text
        assert "Starter &lt;study&gt;</a>" in page
    Session.objects.using("agent_ada").update(title="")
    assert ">s1</a>" in as_reviewer.get(PAGES[0].format(sample.id)).text


class TestReply:
    def test_markdown_is_drawn_and_does_nothing(self, as_reviewer, ada):
        evil = "# Title\n\n- a `b`\n\n<script>alert(1)</script> [x](javascript:alert(1))"
        SampleFactory(id="one", content=content(agentReply=evil))
        page = as_reviewer.get("/review/").text
        assert "<h3>Title</h3>" in page and "<li>a <code>b</code></li>" in page
        assert "<script>alert" not in page
        assert 'href="javascript' not in page

    def test_an_edit_shows_what_was_changed(self, as_reviewer, as_stranger, ada):
        SampleFactory(id="one")
        verdicts.label_sample("one", "needs_review", by="ann", output="It failed on the first line.")
        for browser in (as_reviewer, as_stranger):
            page = browser.get("/samples/one/").text
            assert "<del>last</del><ins>first</ins>" in page
            assert "Agent's original reply" in page

    def test_without_an_edit_there_are_no_changes(self, as_reviewer, ada):
        SampleFactory(id="one", content=content(agentReply="one\r\ntwo"))
        assert "<ins>" not in as_reviewer.get("/review/").text

    def test_a_very_long_reply_is_whole(self, as_reviewer, ada):
        long = "word **bold** and `code`.\n\n" * 2_400
        SampleFactory(id="one", content=content(agentReply=long), output=long.replace("code", "text"))
        page = as_reviewer.get("/review/").text
        assert page.count("<ins>text") == 2_400
        assert 'name="output"' in page


def test_the_number_of_queries_does_not_grow(as_reviewer, ada, django_assert_max_num_queries):
    for count in (1, 25):
        records = [user("Q")]
        for number in range(count):
            records += [assistant("W", (f"c{number}", "exec", {})), result(f"c{number}", "out")]
        store_session(*records, assistant("A"), session_id=f"s{count}")
        make_samples(ada, f"s{count}", [1], by="root")
        sample = DatasetSample.objects.get(session_id=f"s{count}")
        as_reviewer.get(f"/review/?sample={sample.id}")
        with django_assert_max_num_queries(20), django_assert_max_num_queries(6, using="agent_ada"):
            as_reviewer.get(f"/review/?sample={sample.id}")
