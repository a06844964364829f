"""An open value is judged by who has its page open, until they leave it or their claim expires."""

import pytest
from django.test import Client
from django.urls import reverse

from datasets.finding_values import verdicts
from datasets.models import FindingValue, FindingVerdict, SampleClaim
from datasets.review import claims, forms
from findings.models import Finding
from openclaw_web import clock
from openclaw_web.errors import Refused
from tests.datasets.finding_values.finding_rows import KEY_HASH, MAIL_HASH, find
from tests.datasets.page_text import read_text
from tests.datasets.verbs.verb_runs import read_receipt, read_refusal
from tests.factories import UserFactory

pytestmark = pytest.mark.django_db
LIST = reverse("datasets:finding_list")
DETAIL, JUDGE = (reverse(f"datasets:finding_{name}", args=[MAIL_HASH]) for name in ("detail", "judge"))
DISMISS = {"verdict": "dismissed", "scope": "value"}
API = f"/api/v1/findings/{MAIL_HASH}"
RENEW = f"/api/v1/review/claims/{MAIL_HASH}"
HELD = "ann has this value open (90 s left). The value becomes available when they leave it."


@pytest.fixture
def ann():
    """The browser of another labeller, who is not at any page yet."""
    client = Client()
    client.force_login(UserFactory(username="ann", role="labeller"))
    return client


@pytest.fixture(autouse=True)
def wait(monkeypatch):
    """A clock that stands still until a test waits some milliseconds."""
    now = [clock.now_ms()]
    monkeypatch.setattr(clock, "now_ms", lambda: sum(now))
    return now.append


def read_state():
    return FindingValue.objects.get(value_hash=MAIL_HASH).state


def post(client, address, body, status=200):
    answer = client.post(address, body, "application/json")
    assert answer.status_code == status, answer.content
    return answer.json()


def test_who_has_the_page_open_judges_and_everybody_else_is_told(as_reviewer, ann, stored):
    assert "data-claim=" in ann.get(DETAIL).text
    page = as_reviewer.get(DETAIL)
    assert HELD in read_text(page) and "data-claim=" not in page.text
    assert "ann has it open (90 s left)" in read_text(as_reviewer.get(LIST))
    assert "has it open" not in read_text(ann.get(LIST))
    assert HELD in as_reviewer.post(JUDGE, DISMISS, follow=True).text
    row = as_reviewer.post(JUDGE, DISMISS | {"at": "row"}, headers={"HX-Request": "true"})
    assert row.status_code == 422 and HELD in row.text
    assert post(as_reviewer, f"{API}/verdict", {"verdict": "dismissed"}, 409)["detail"] == HELD
    assert as_reviewer.get(API).json()["open_with"] == {"name": "ann", "seconds": 90}
    assert ann.get(API).json()["open_with"] is None
    assert read_state() == "open" and not FindingVerdict.objects.exists()
    ann.post(JUDGE, DISMISS)
    assert read_state() == "dismissed"


def test_a_place_of_it_waits_as_well_but_no_rule_and_nothing_that_people_add(as_admin, ann, ada, stored):
    finding = Finding.objects.using(ada.db).filter(value_hash=MAIL_HASH).get()
    place = {"verdict": "dismissed", "scope": "place", "agent": "ada", "finding": finding.id}
    ann.get(DETAIL)
    assert HELD in as_admin.post(JUDGE, place, follow=True).text
    verdicts.decide("added", scope="value", value_hash=MAIL_HASH, rule="person", by="bea")
    as_admin.post(JUDGE, {"verdict": "dismissed", "scope": "rule"})
    assert [row.scope for row in FindingVerdict.objects.order_by("decided_at")] == ["value", "rule"]


@pytest.mark.parametrize("end", ["expired", "released", "judged"])
def test_it_is_free_again_when_the_claim_ends(as_reviewer, ann, stored, wait, end):
    since = int(ann.get(DETAIL).text.partition('data-claim="')[2].partition('"')[0])
    if end == "expired":
        wait(claims.LIFETIME_MS + 1)
    elif end == "released":
        assert post(ann, f"{RENEW}/release", {"since": since - 1}) == {"released": False}
        assert post(ann, f"{RENEW}/release", {"since": since}) == {"released": True}
    else:
        ann.post(JUDGE, {"verdict": "confirmed", "scope": "value"}, follow=True)
        assert not SampleClaim.objects.exists()  # also not by its page, which shows it judged
    as_reviewer.post(JUDGE, DISMISS)
    assert read_state() == "dismissed"


def test_the_page_renews_its_claim(as_reviewer, ann, stored, wait):
    ann.get(DETAIL)
    wait(claims.LIFETIME_MS - 1)
    renewed = post(ann, f"{RENEW}?kind=value", {})
    assert renewed["sample_id"] == MAIL_HASH and renewed["expires_at"] == clock.now_ms() + claims.LIFETIME_MS
    wait(claims.LIFETIME_MS - 1)
    assert HELD.replace("90", "1") in read_text(as_reviewer.get(DETAIL))
    assert "has this value open" in post(as_reviewer, f"{RENEW}?kind=value", {}, 409)["detail"]
    post(ann, RENEW, {}, 404)  # there is no such sample
    post(ann, f"{RENEW}?kind=nothing", {}, 422)


def test_viewers_take_no_claim_and_do_not_hear_of_any(client, ann, django_user_model, stored):
    client.force_login(django_user_model.objects.create(username="vic", role="viewer"))
    client.get(DETAIL)
    assert not SampleClaim.objects.exists()
    ann.get(DETAIL)
    assert "ann has" not in client.get(DETAIL).text + client.get(LIST).text
    assert client.get(API).json()["open_with"] is None
    post(client, f"{RENEW}?kind=value", {}, 403)


def test_the_command_line_needs_no_claim_and_waits_as_for_a_sample(ann, stored):
    assert read_receipt("findings", "--dismiss", MAIL_HASH)["finding"]["state"] == "dismissed"
    assert not SampleClaim.objects.exists()
    ann.get(reverse("datasets:finding_detail", args=[KEY_HASH]))
    assert "ann has this value open" in read_refusal("findings", "--confirm", KEY_HASH)


def test_a_value_that_is_gone_keeps_nobody_waiting(as_reviewer, ann, ada, bob, stored):
    ann.get(DETAIL)
    FindingValue.objects.filter(value_hash=MAIL_HASH).delete()  # the last text with it was removed
    post(ann, f"{RENEW}?kind=value", {}, 404)
    assert as_reviewer.get(DETAIL).status_code == 404
    assert "has it open" not in as_reviewer.get(LIST).text
    assert post(ann, f"{RENEW}/release", {}) == {"released": True}


def test_a_verdict_that_was_given_meanwhile_is_not_replaced_unseen(as_reviewer, ann, stored):
    seen = DISMISS | {"expected": "open"}
    verdicts.decide("confirmed", scope="value", value_hash=MAIL_HASH, by="bea")
    answer = as_reviewer.post(JUDGE, seen, follow=True).text
    assert "The status of this value has changed to Confirmed. Check the value again." in answer
    assert read_state() == "confirmed" and 'name="expected" value="confirmed"' in answer
    body = {"verdict": "dismissed", "expected_state": "open"}
    assert "has changed to Confirmed" in post(as_reviewer, f"{API}/verdict", body, 409)["detail"]
    post(as_reviewer, f"{API}/verdict", body | {"expected_state": "confirmed"})
    assert read_state() == "dismissed"
    as_reviewer.post(JUDGE, {"verdict": "confirmed", "scope": "value", "expected": "dismissed"})
    assert read_state() == "confirmed"


def test_undoing_waits_for_nobody_and_the_value_can_be_claimed_again(as_reviewer, ann, stored):
    as_reviewer.post(JUDGE, DISMISS)
    as_reviewer.post(reverse("datasets:finding_undo"), {})
    ann.get(DETAIL)
    with pytest.raises(Refused, match="ann has this value open"):
        verdicts.decide("confirmed", scope="value", value_hash=MAIL_HASH, by="reviewer")
    verdict = FindingVerdict.objects.filter(undoes=None).get()
    assert FindingVerdict.objects.get(undoes=verdict.id).decided_by == "reviewer"


def test_next_and_previous_follow_the_list_that_a_person_came_from(as_reviewer, ada, stored):
    find(ada, "s", 9, "Write to otto@bahnpost.de", "otto@bahnpost.de")
    newest = FindingValue.objects.order_by("-first_found_at").first()
    for query, address in (("?kind=email", DETAIL), ("", reverse("datasets:finding_detail", args=[KEY_HASH]))):
        link = f'{newest.get_absolute_url()}{query}"'
        assert link in as_reviewer.get(LIST + query).text
        page = as_reviewer.get(newest.get_absolute_url() + query).text
        assert f'rel="next" data-key="j ArrowRight" href="{address}{query}"' in page and 'rel="prev"' not in page
        assert f'rel="prev" data-key="k ArrowLeft" href="{link}' in as_reviewer.get(address + query).text


@pytest.mark.parametrize(
    ("own", "expected"),
    [
        ({}, {"confirmed": "y a", "dismissed": "n r", "undo": "u"}),
        ({"approve": "n", "reject": "y", "needs_review": "x"}, {"confirmed": "n", "dismissed": "y", "undo": "u"}),
        ({"undo": "y", "next": "a", "approve": "h"}, {"confirmed": "h", "dismissed": "n r", "undo": "u y"}),
    ],
)
def test_the_page_has_the_keys_of_review_beside_its_own(as_reviewer, stored, own, expected):
    forms.store_keys("reviewer", own)
    as_reviewer.post(JUDGE, DISMISS)
    page = as_reviewer.get(DETAIL).text
    assert f'<button type="submit" class="button button--small" data-key="{expected["undo"]}">' in page
    assert f'value="confirmed" data-key="{expected["confirmed"]}"' in page
    assert f'value="dismissed" data-key="{expected["dismissed"]}"' in page
