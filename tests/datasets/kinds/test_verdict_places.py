"""Verdicts in the rows of a list of decisions or writes.

One answer has the verdicts of all rows; each row can be judged in its place.
"""

import re

import pytest

from datasets.models import DatasetSample
from datasets.review import verdicts
from openclaw_web import clock
from openclaw_web.pages.formatting import anchor
from tests.datasets.kinds.gates import store_decision
from tests.datasets.page_text import HTMX
from tests.guardian.write_rows import create_write

pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def others(case):
    """Two more rows of each kind that may be judged, and one that may not."""
    for number, turn in ((2, "s1:u1"), (3, "s1:u3"), (4, None)):
        store_decision(f"d{number}", turn=turn)
        origin = "recorded" if turn else "rollback"
        create_write("agent_ada", number, None, b"x%d" % number, turn_id=turn, origin=origin)


def places(page):
    """The words of each place, by the id of the place."""
    text = re.sub(r'<div class="menu__panel.*?</div>', "", page.text, flags=re.DOTALL)  # why a decision is wrong
    parts = re.split(r'<span id="(verdict-of-\w+)"', text.partition('<div class="notice last-verdict')[0])
    return {
        name: re.sub("<[^>]+>", " ", f"<{text}").split() for name, text in zip(parts[1::2], parts[2::2], strict=True)
    }


def get_places(client, case, *numbers):
    return client.get(case.places, {"ids": [f"{case.name[0]}{number}" for number in numbers]})


def read_place(page, case, number=1):
    """The words in the place of a row."""
    return places(page)[f"verdict-of-{anchor(f'{case.name[0]}{number}')}"]


def press(client, case, verdict, expected=""):
    fields = {"wrong": "wrong_fact"} if case.reason and verdict == "wrong" else {"verdict": verdict}
    return client.post(case.give, {**fields, "expected": expected, "place": "row"}, headers=HTMX)


def notice(page):
    """The words of the notice about the last verdict, and the data of its form."""
    part = page.text.partition('<div class="notice last-verdict')[2]
    sent = re.search(r'hx-post="([^"]+)".*name="expected" value="([^"]+)"', part, re.DOTALL)
    words = " ".join(re.sub("<[^>]+>", " ", part and f"<{part}").split())
    return words, sent and (sent[1], {"verdict": "undo", "place": "row", "expected": sent[2]})


def test_it_works(case, as_reviewer):
    sample = case.judge()
    case.judge("wrong", name=f"{case.name[0]}2")
    page = get_places(as_reviewer, case, 1, 2, 3, 4, "elsewhere")
    assert [read_place(page, case, number) for number in (1, 2, 3, 4)] == [
        ["Right", "Actions", "Wrong"], ["Wrong", "Actions", "Right"], ["Actions", "Right", "Wrong"], []
    ]  # fmt: skip
    assert len(places(page)) == 4
    assert f'href="/samples/{sample.id}/" title="ann"' in page.text
    assert page.text.count('id="verdict-of-') == 4
    assert page.text.count('data-row-key="r"') == page.text.count('data-row-key="w"') == 2
    assert not places(get_places(as_reviewer, case, *range(100, 200), 1))  # more ids than a page has are ignored
    assert not places(get_places(as_reviewer, case))


def test_viewers_have_no_buttons(case, as_stranger):
    case.judge()
    page = get_places(as_stranger, case, 1, 2)
    assert "<button" not in page.text and read_place(page, case) == ["Right"]


def test_a_row_is_judged_where_it_is(case, as_reviewer):
    answer = press(as_reviewer, case, "wrong")
    assert read_place(answer, case) == ["Wrong", "Actions", "Right"]
    case.check("wrong")
    answer = press(as_reviewer, case, "right", "old")
    assert answer.status_code == 422 and "reviewer chose Needs review" in answer.text


def test_a_list_of_any_length_costs_the_same(case, as_reviewer, django_assert_max_num_queries):
    for numbers in ((1,), range(1, 91)):
        for number in (1, 2, 3)[: len(numbers)]:
            case.judge(name=f"{case.name[0]}{number}")
        reasons = case.kind.part == "gate"
        with django_assert_max_num_queries(6 + reasons):  # session, user, agent, samples, review queues, last action
            get_places(as_reviewer, case, *numbers)


def test_the_last_verdict_is_undone_from_the_list_until_none_is_left(case, as_reviewer):
    def judge(verdict):
        label = DatasetSample.objects.values_list("label_id", flat=True).first() or ""
        return notice(press(as_reviewer, case, verdict, label))

    def state():
        return [
            getattr(DatasetSample.objects.get(), name) for name in (*verdicts.VERDICT_COLUMNS, "sample_type", "content")
        ]

    assert judge("right")[0] == f"Your last verdict: Right · {case.fact} Undo u"
    right = state()
    assert judge("wrong")[0].startswith("Your last verdict: Wrong")
    # The notice is on other pages of the list too, which do not show the row.
    words, (address, sent) = notice(get_places(as_reviewer, case, 2))
    assert words.startswith("Your last verdict: Wrong")
    answer = as_reviewer.post(address, sent, headers=HTMX)
    words, undo = notice(answer)
    assert words.startswith("Undone: “Needs review”") and "Your last verdict: Right" in words
    assert state() == right and read_place(answer, case) == ["Right", "Actions", "Wrong"]
    words, undo = notice(as_reviewer.post(undo[0], undo[1], headers=HTMX))
    assert words.startswith("Undone: “Approved”") and undo is None
    assert case.label_of(DatasetSample.objects.get()) is None


def test_only_recent_verdicts_of_ones_own_on_these_are_offered(case, as_reviewer, as_stranger, monkeypatch):
    case.judge()
    assert notice(get_places(as_reviewer, case, 1)) == ("", None)
    case.judge("wrong", by="reviewer")
    assert notice(get_places(as_reviewer, case, 1))[1] and notice(get_places(as_stranger, case, 1))[1] is None
    other = "/agents/ada/verdicts/" if case.name == "w1" else "/agents/ada/write-verdicts/"
    assert as_reviewer.get(other, {"ids": []}).text.count("<button") == 0
    now = clock.now_ms()
    monkeypatch.setattr(clock, "now_ms", lambda: now + 16 * 60_000)
    assert notice(get_places(as_reviewer, case, 1)) == ("", None)
