"""The pages of findings: roles, filters, verdicts, and the button that scans."""

import json

import pytest
from django.urls import reverse

from datasets.finding_values import verdicts
from datasets.models import FindingValue, FindingVerdict
from jobs.models import JobRun
from ledger.models import Session, TranscriptEvent
from tests.datasets.finding_values.found_values import KEY, KEY_HASH, MAIL, MAIL_HASH, find, states

pytestmark = pytest.mark.django_db
LIST = reverse("datasets:finding_list")
DETAIL, JUDGE = (
    reverse("datasets:finding_detail", args=[MAIL_HASH]),
    reverse("datasets:finding_judge", args=[MAIL_HASH]),
)
UNDO, TEXTS, LAG = (reverse(f"datasets:{name}") for name in ("finding_undo", "finding_texts", "finding_lag"))


@pytest.fixture
def stored(ada, bob):
    """An address in two agents' texts, and a key in one."""
    find(ada, "s", 1, f"Write to {MAIL} <b>today</b>", MAIL)
    find(bob, "t", 1, f"Mail {MAIL}", MAIL)
    return find(ada, "s", 2, f"The key is {KEY}, keep it", KEY, "key")


def sign_in(client, user):
    client.force_login(user)
    return client


def text(response, status=200):
    assert response.status_code == status, response.content[:500]
    return response.content.decode()


def test_the_list_has_a_row_for_each_value_without_the_value(client, admin, stored):
    page = text(sign_in(client, admin).get(LIST))
    assert page.count("<tr>") == 3  # with the heading
    assert MAIL not in page and KEY not in page
    assert "Email address" in page and "email_rule" in page


@pytest.mark.parametrize(
    "query, kinds",
    [
        ("kind=key", {"key"}),
        ("state=open", {"key", "email"}),
        ("state=dismissed", set()),
        ("agent=bob", {"email"}),
        ("rule=key_rule", {"key"}),
        ("state=open&kind=email", {"email"}),
        ("state=open&kind=email&agent=bob", {"email"}),
        ("kind=key&agent=bob", set()),
    ],
)
def test_filters(client, admin, stored, query, kinds):
    rows = json.loads(b"".join(sign_in(client, admin).get(f"{LIST}?{query}&format=json")))
    assert {row["kind"] for row in rows} == kinds
    page = text(client.get(f"{LIST}?{query}"))
    assert ("Email address</td>" in page, "Key</td>" in page) == ("email" in kinds, "key" in kinds)


def test_values_are_read_from_their_places_and_keys_are_masked(client, reviewer, stored):
    page = text(sign_in(client, reviewer).get(f"{TEXTS}?ids={MAIL_HASH}&ids={KEY_HASH}&ids=nonsense"))
    assert MAIL in page and KEY not in page and KEY[:4] in page
    assert page.count("hx-swap-oob") == 2


def test_viewers_see_no_values(client, django_user_model, stored):
    viewer = django_user_model.objects.create(username="vic", role="viewer")
    sign_in(client, viewer)
    for address in (LIST, DETAIL):
        assert MAIL not in text(client.get(address))
    assert "Confirm</button>" not in text(client.get(LIST))
    text(client.get(f"{TEXTS}?ids={MAIL_HASH}"), 403)
    text(client.post(JUDGE, {"verdict": "dismissed", "scope": "value"}), 403)


def test_the_page_of_a_value_marks_it_in_its_places(client, reviewer, stored):
    page = text(sign_in(client, reviewer).get(DETAIL))
    assert f"Write to <mark>{MAIL}</mark> &lt;b&gt;today" in page
    assert f"Mail <mark>{MAIL}</mark>" not in page  # of the other agent
    assert f"Mail <mark>{MAIL}</mark>" in text(client.get(f"{DETAIL}?agent=bob"))
    text(client.get(f"{DETAIL}?agent=nobody"), 404)
    assert "Dismiss this rule" not in page
    key = text(client.get(reverse("datasets:finding_detail", args=[KEY_HASH])))
    assert KEY not in key and "The key is <mark>" in key


def test_confirm_dismiss_and_undo(client, reviewer, stored):
    sign_in(client, reviewer)
    for verdict in ("confirmed", "dismissed"):
        response = client.post(JUDGE, {"verdict": verdict, "scope": "value", "next": LIST})
        assert (response.status_code, response.url) == (302, LIST)
        assert FindingValue.objects.get(value_hash=MAIL_HASH).state == verdict
    client.post(UNDO, {})
    assert FindingValue.objects.get(value_hash=MAIL_HASH).state == "confirmed"
    client.post(UNDO, {})
    assert FindingValue.objects.get(value_hash=MAIL_HASH).state == "open"
    assert "nothing to undo" in text(client.post(UNDO, {}, follow=True))


def test_a_verdict_from_a_row_is_answered_with_its_new_state(client, reviewer, stored):
    sign_in(client, reviewer)
    fields = {"verdict": "dismissed", "scope": "value", "at": "row"}
    page = text(client.post(JUDGE, fields, headers={"HX-Request": "true"}))
    assert f'id="state-of-{MAIL_HASH}" hx-swap-oob' in page and "Undo my last verdict" in page
    page = text(client.post(UNDO, {"at": "row"}, headers={"HX-Request": "true"}))
    assert f'id="state-of-{MAIL_HASH}" hx-swap-oob' in page and "Undo my last verdict" not in page
    text(client.post(UNDO, {"at": "row"}, headers={"HX-Request": "true"}), 422)


def test_dismissing_a_place_leaves_the_other_places(client, reviewer, ada, stored):
    second = find(ada, "s", 3, f"And {MAIL}", MAIL)
    fields = {"verdict": "dismissed", "scope": "place", "agent": "ada", "finding": second.id}
    sign_in(client, reviewer).post(JUDGE, fields)
    assert states(ada, kind="email") == ["open", "dismissed"]
    assert FindingVerdict.objects.get().place == "record:s/3"
    answer = client.post(JUDGE, fields | {"finding": stored.id}, follow=True)  # the place of another value
    assert "does not stand in this place any more" in text(answer)
    assert FindingVerdict.objects.count() == 1


def test_only_admins_dismiss_a_rule(client, reviewer, admin, ada, stored):
    fields = {"verdict": "dismissed", "scope": "rule"}
    text(sign_in(client, reviewer).post(JUDGE, fields), 403)
    assert not FindingVerdict.objects.exists()
    assert "Dismiss this rule" in text(sign_in(client, admin).get(DETAIL))
    client.post(JUDGE, fields)
    assert states(ada) == ["dismissed", "open"]
    rule = FindingVerdict.objects.get()
    text(sign_in(client, reviewer).post(UNDO, {"undoes": rule.id}), 403)
    assert states(ada) == ["dismissed", "open"]


def test_only_admins_undo_verdicts_of_others(client, reviewer, admin, stored):
    row = verdicts.decide("dismissed", scope="value", value_hash=MAIL_HASH, by="ann")
    text(sign_in(client, reviewer).post(UNDO, {"undoes": row.id}), 403)
    sign_in(client, admin).post(UNDO, {"undoes": row.id})
    assert FindingValue.objects.get(value_hash=MAIL_HASH).state == "open"


def test_the_lag_of_the_scan_and_the_button_that_starts_it(client, reviewer, admin, stored):
    Session.objects.using("agent_ada").filter(id="s").update(record_count=12)
    page = text(sign_in(client, reviewer).get(LAG))
    assert "12 records and texts are not scanned yet" in page and "Scan now" not in page
    text(client.post(reverse("datasets:findings_scan")), 403)
    assert "Scan now" in text(sign_in(client, admin).get(LAG))
    assert client.post(reverse("datasets:findings_scan")).url == LIST
    assert JobRun.objects.get().kind == "findings_scan"


def test_a_changed_text_is_said(client, reviewer, ada, stored):
    TranscriptEvent.objects.using(ada.db).filter(session_id="s", seq=1).update(event_json="{}")
    assert "has changed since it was scanned" in text(sign_in(client, reviewer).get(DETAIL))
    assert MAIL in text(client.get(f"{TEXTS}?ids={MAIL_HASH}"))  # read from the other agent


def test_unknown_values_are_not_found(client, reviewer):
    sign_in(client, reviewer)
    text(client.get(reverse("datasets:finding_detail", args=["x"])), 404)
    text(client.post(reverse("datasets:finding_judge", args=["x"]), {"verdict": "dismissed", "scope": "value"}), 404)


def test_malformed_posts_are_refused(client, reviewer, stored):
    sign_in(client, reviewer)
    for fields in ({}, {"verdict": "added", "scope": "value"}, {"verdict": "dismissed", "scope": "all"}):
        assert "cannot be saved" in text(client.post(JUDGE, fields, follow=True))
    assert not FindingVerdict.objects.exists()
