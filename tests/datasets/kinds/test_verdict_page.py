"""Verdicts on a decision or a write, on its page and through the API."""

import pytest
from django.urls import reverse

from datasets.models import DatasetSample, SampleLabel
from tests.datasets.kinds.cases import STATES
from tests.datasets.kinds.gates import store_decision
from tests.datasets.page_text import HTMX, read_expected, read_text
from tests.guardian.write_rows import create_write
from tests.openclaw_web.pages.menus import find_current, read_menus

pytestmark = pytest.mark.django_db


def give(client, case, verdict="right", headers=HTMX, expected="", **fields):
    return client.post(case.give, {"verdict": verdict, "expected": expected, **fields}, headers=headers)


def post_verdict(client, case, name="", **body):
    return client.post(case.api.replace(case.name, name or case.name), body, content_type="application/json")


def test_it_works(case, as_reviewer):
    page = as_reviewer.get(case.page)
    assert page.status_code == 200 and "<html" in page.text
    assert f"Nobody has judged this {case.kind.name}." in read_text(page) and case.fact in read_text(page)
    assert find_current(read_menus(page.text).tabs) == ["Decisions and writes"]
    assert f">View {case.kind.name}</a>" in page.text
    part = as_reviewer.get(case.page, headers=HTMX)
    assert part.text.strip().startswith(f'<section id="{case.kind.name}-verdict"')
    assert 'name="verdict" value="right" data-key="r"' in part.text and part.text.count('data-key="w"') == 1


def test_right_is_said_and_undone_where_the_buttons_are(case, as_reviewer):
    answer = give(as_reviewer, case)
    sample = DatasetSample.objects.get()
    assert f"{case.kind.words.done['right']} Right reviewer" in read_text(answer)
    assert f'href="/samples/{sample.id}/"' in answer.text and read_expected(answer) == sample.label_id
    answer = give(as_reviewer, case, "undo", expected=sample.label_id)
    assert "Undone: “Approved” on “" in read_text(answer)
    assert f"Nobody has judged this {case.kind.name}." in read_text(answer)
    assert "Sample:" not in read_text(answer)  # as before the verdict
    assert "Undone" in as_reviewer.get("/samples/").text
    assert "Sample: Pending" in read_text(give(as_reviewer, case, "none"))
    answer = give(as_reviewer, case, "undo", expected=sample.label_id)
    assert answer.status_code == 422 and "undone already" in read_text(answer)


def test_only_ones_own_verdict_can_be_undone(case, as_reviewer):
    label = case.judge(by="somebody").label_id
    assert 'value="undo"' not in as_reviewer.get(case.page).text
    assert give(as_reviewer, case, "undo", expected=label).status_code == 422
    case.check("right")


def test_wrong_with_what_would_be_right(case, as_reviewer):
    give(as_reviewer, case, "wrong", **case.reason_fields)
    case.check("wrong")
    answer = give(as_reviewer, case, "wrong", expected=DatasetSample.objects.get().label_id, **case.fields)
    case.check("corrected")
    assert "Sample: Approved" in read_text(answer) and "What would have been right" in read_text(answer)
    assert case.correction.reason in read_text(answer)
    # The fields start with the stored correction.
    answer = give(as_reviewer, case, "right", expected=read_expected(answer), **case.fields)
    case.check("right")
    assert SampleLabel.objects.count() == 3


def test_what_is_refused_is_said_where_the_buttons_are(case, as_reviewer):
    answer = give(as_reviewer, case, "wrong", **case.incomplete)
    assert answer.status_code == 422 and str(case.needed) in read_text(answer)
    assert give(as_reviewer, case, "maybe").status_code == 422
    assert give(as_reviewer, case, "wrong", headers={}, **case.incomplete).status_code == 422
    assert not DatasetSample.objects.exists()
    case.judge("wrong", by="somebody")
    answer = give(as_reviewer, case)
    assert answer.status_code == 422
    assert "somebody chose Needs review" in read_text(answer) and "Wrong somebody" in read_text(answer)


def test_without_scripts_it_is_a_page(case, as_reviewer):
    answer = as_reviewer.post(case.give, {"verdict": "right"}, follow=True)
    assert answer.redirect_chain == [(case.page, 302)]
    assert str(case.kind.words.done["right"]) in read_text(answer)
    answer = as_reviewer.post(case.give, {"verdict": "none", "next": "/samples/"})
    assert answer["Location"] == "/samples/"


def test_viewers_have_no_buttons(case, as_stranger):
    case.judge()
    page = as_stranger.get(case.page)
    assert "Right ann" in read_text(page) and 'name="verdict"' not in page.text


def test_only_of_the_agent(case, as_reviewer, bob):
    assert as_reviewer.get(case.page.replace("ada", "bob")).status_code == 404
    assert as_reviewer.post(case.give.replace("ada", "nobody")).status_code == 404
    for name, address in ((case.name, case.api.replace("ada", "bob")), ("x9", case.api.replace(case.name, "x9"))):
        assert as_reviewer.post(address, {"verdict": "right"}, "application/json").status_code == 404, name


def test_what_cannot_be_a_sample_says_why_and_has_no_buttons(case, as_reviewer):
    store_decision("d2", turn=None)
    create_write("agent_ada", 2, None, b"\xff")
    name = f"{case.name[0]}2"
    page = as_reviewer.get(case.page.replace(case.name, name))
    assert "cannot become a sample" in read_text(page) and 'name="verdict"' not in page.text
    answer = as_reviewer.post(case.give.replace(case.name, name), {"verdict": "right"}, headers=HTMX)
    assert answer.status_code == 422
    answer = post_verdict(as_reviewer, case, name, verdict="right")
    assert answer.status_code == 409 and "cannot become a sample" in answer.json()["detail"]


def test_ids_and_words_of_any_kind(case, as_reviewer):
    evil = "<b>\"&amp;'</b>"
    name = f"a/b {evil}?#%2F."
    store_decision(name, reason=evil, candidate_fact=evil)
    create_write("agent_ada", 3, None, b"x", id=name, reason=evil, candidate_fact=evil, turn_id="s1:u2")
    page = as_reviewer.get(reverse(f"datasets:{case.kind.name}_verdict", args=["ada", name]))
    assert page.status_code == 200 and "<b>" not in page.text
    address = reverse(f"datasets:{case.kind.name}_judge", args=["ada", name])
    answer = as_reviewer.post(address, {"verdict": "right"}, headers=HTMX)
    assert str(case.kind.words.done["right"]) in read_text(answer)


@pytest.mark.parametrize("verdict", STATES)
def test_the_api_answers_with_the_sample(case, as_reviewer, verdict):
    fields = {"corrected": case.fields, "wrong": case.reason_fields}
    body = {"verdict": verdict.replace("corrected", "wrong")} | fields.get(verdict, {})
    for _ in range(2):
        answer = post_verdict(as_reviewer, case, **body)
        sample = DatasetSample.objects.get()
        status = {"annotation_status": sample.annotation_status, "sample_type": sample.sample_type}
        assert (answer.status_code, answer.json()) == (200, {"sample_id": sample.id, **status})
    case.check(verdict)
    as_reviewer.post("/api/v1/review/undo", {}, content_type="application/json")
    assert DatasetSample.objects.get().annotation_status is None
    assert as_reviewer.get("/api/v1/samples?status=pending").json()["items"] == []


def test_what_the_api_refuses(case, as_reviewer):
    wrong, (field, value) = {"verdict": "wrong"}, next(iter(case.fields.items()))
    bodies = [({"verdict": "maybe"}, 422), (wrong | {field: "MAYBE"}, 422), (wrong | {"because": "x"}, 422)]
    bodies += [({"verdict": verdict, field: value}, 409) for verdict in ("right", "none")]
    bodies += [(wrong | case.incomplete, case.status)]
    for body, status in bodies:
        assert post_verdict(as_reviewer, case, **body).status_code == status, body
    assert not DatasetSample.objects.exists()


def test_the_api_makes_a_sample_without_a_verdict(case, as_reviewer):
    answers = [post_verdict(as_reviewer, case, verdict="none").json() for _ in range(2)]
    sample = DatasetSample.objects.get()
    assert answers[0] == answers[1]
    assert (answers[0]["annotation_status"], sample.label_id) == ("pending", None)
