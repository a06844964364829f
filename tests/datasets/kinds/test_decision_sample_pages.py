"""Pages of decision samples show every text of their rows."""

import csv
import re

import pytest

from datasets.kinds import verdict_service
from datasets.kinds.decision import DECISION, Correction
from datasets.models import DatasetSample
from datasets.services import make_samples
from openclaw_web.sqlite import statements
from tests.datasets.conversations import store_turns
from tests.datasets.kinds.gates import FACT, make_window, store_decision
from tests.datasets.page_text import read_text

pytestmark = pytest.mark.django_db
LONG = "word " * 5_000
SAID_ONCE = Correction("", reason="Said once.")


@pytest.fixture(autouse=True)
def talk(ada):
    store_turns(3)


def judge(agent, verdict="right", correction=None, **decision):
    store_decision(**decision)
    return verdict_service.give_verdict(DECISION, agent, "d1", verdict, by="ann", correction=correction)


@pytest.mark.parametrize("address", ["/samples/{}/", "/review/?sample={}"])
def test_all_that_a_row_will_hold_is_on_the_page(as_reviewer, ada, address):
    window = make_window(("user", "earlier"), ("agent", f"{LONG}end"), user="question 2", reply="answer 2")
    sample = judge(ada, "wrong", Correction("UPDATE_SOUL", "an early bird", "It lasts."), window=window)
    page = as_reviewer.get(address.format(sample.id))
    words = read_text(page)
    for text in ("earlier", f"{LONG}end", "question 2", "answer 2", "UPDATE_USER", FACT, "A stable preference."):
        assert text.strip() in words
    for value in ('value="UPDATE_SOUL" selected', 'value="an early bird"', 'value="It lasts."'):
        assert value in page.text
    assert 'name="output"' not in page.text
    assert "Decision to remember nothing" in words
    assert 'href="/agents/ada/gate/d1/"' in page.text
    assert words.index("Turn 2 User question 2") < words.index("Turn 2 Agent answer 2")


def test_what_the_gate_did_not_see_is_said(as_reviewer, ada):
    sample = judge(ada, window=make_window(reply="answer 2"))
    assert "The gate saw no user message." in read_text(as_reviewer.get(f"/samples/{sample.id}/"))


def test_a_window_that_nobody_told_of_is_marked(as_reviewer, ada):
    sample = judge(ada)
    page = read_text(as_reviewer.get(f"/samples/{sample.id}/"))
    assert "What the gate saw was not recorded" in page
    assert "The gate saw no user message." not in page


def test_the_list_shows_words_and_decision(as_reviewer, ada):
    judge(ada)
    store_decision("d2", turn="s1:u3", window=make_window(("user", "before"), reply="answer 3"), decision="NO_WRITE")
    verdict_service.give_verdict(DECISION, ada, "d2", "wrong", by="ann", correction=SAID_ONCE)
    make_samples(ada, "s1", [1], by="ann")
    page = read_text(as_reviewer.get("/samples/"))
    assert f"{FACT} UPDATE_USER Right question 2" in page
    assert f"{FACT} NO_WRITE Wrong answer 3" in page
    assert "question 1 answer 1" in page
    file = b"".join(as_reviewer.get("/samples/?format=csv").streaming_content).decode("utf-8-sig")
    rows = list(csv.DictReader(file.splitlines()))
    columns = ("sample_type", "user", "reply", "decision", "fact", "gate_label")
    assert sorted(tuple(row[name] for name in columns) for row in rows) == [
        ("annotated_turn", "question 1", "answer 1", "", "", ""),
        ("memory_gate_negative", "", "answer 3", "NO_WRITE", FACT, "incorrect"),
        ("memory_gate_positive", "question 2", "answer 2", "UPDATE_USER", FACT, "correct"),
    ]


def test_a_turn_leads_to_its_own_sample_first(as_reviewer, ada):
    judge(ada)
    own = DatasetSample.objects.get().id
    address = "/agents/ada/sessions/s1/samples/of/?turn=2"
    assert f"/samples/{own}/" in as_reviewer.get(address).text
    (made,) = make_samples(ada, "s1", [2], by="ann").made
    assert re.findall(r'href="/review/\?sample=(\w+)"', as_reviewer.get(address).text) == [made]


def test_the_specs_view_has_their_words(ada):
    judge(ada, "wrong", SAID_ONCE)
    store_decision("d2", turn="s1:u3", window=make_window(("user", "before"), reply="answer 3"), decision="NO_WRITE")
    verdict_service.give_verdict(DECISION, ada, "d2", "wrong", by="ann", correction=SAID_ONCE)
    columns = "user_message_content, agent_message_content, memory_gate_decision"
    rows = statements.read_rows("default", f"SELECT {columns} FROM pending_review_samples")
    assert set(rows) == {(None, "answer 3", "NO_WRITE"), ("question 2", "answer 2", "UPDATE_USER")}
