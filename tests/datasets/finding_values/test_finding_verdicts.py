"""The forms of verdicts on values, places and rules, and who may send them."""

import pytest
from django.urls import reverse

from datasets.finding_values import verdicts
from datasets.models import FindingValue, FindingVerdict
from tests.datasets.finding_values.finding_rows import MAIL, MAIL_HASH, find, states

pytestmark = pytest.mark.django_db
LIST, UNDO = reverse("datasets:finding_list"), reverse("datasets:finding_undo")
DETAIL = reverse("datasets:finding_detail", args=[MAIL_HASH])
JUDGE = reverse("datasets:finding_judge", args=[MAIL_HASH])
RULE = {"verdict": "dismissed", "scope": "rule"}


def read_state():
    return FindingValue.objects.get(value_hash=MAIL_HASH).state


def test_confirm_dismiss_and_undo(as_reviewer, stored):
    for verdict in ("confirmed", "dismissed"):
        answer = as_reviewer.post(JUDGE, {"verdict": verdict, "scope": "value", "next": LIST})
        assert (answer.status_code, answer.url, read_state()) == (302, LIST, verdict)
    page = as_reviewer.get(DETAIL).text
    assert page.index("Dismissed wherever it stands") < page.index("Confirmed wherever it stands")
    for state in ("confirmed", "open"):
        as_reviewer.post(UNDO, {})
        assert read_state() == state
    assert "nothing to undo" in as_reviewer.post(UNDO, {}, follow=True).text


def test_dismissing_a_place_leaves_the_other_places(as_reviewer, ada, stored):
    second = find(ada, "s", 3, f"And {MAIL}", MAIL)
    fields = {"verdict": "dismissed", "scope": "place", "agent": "ada", "finding": second.id}
    as_reviewer.post(JUDGE, fields)
    assert states(ada, kind="email") == ["open", "dismissed"]
    assert FindingVerdict.objects.get().place == "record:s/3"
    answer = as_reviewer.post(JUDGE, fields | {"finding": stored.id}, follow=True)  # the place of another value
    assert "does not stand in this place any more" in answer.text
    assert FindingVerdict.objects.count() == 1


def test_labellers_dismiss_no_rule(as_reviewer, stored):
    assert "Dismiss this rule" not in as_reviewer.get(DETAIL).text
    assert as_reviewer.post(JUDGE, RULE).status_code == 403
    assert not FindingVerdict.objects.exists()


def test_admins_dismiss_a_rule_which_nobody_else_undoes(as_admin, client, reviewer, ada, stored):
    assert "Dismiss this rule" in as_admin.get(DETAIL).text
    as_admin.post(JUDGE, RULE)
    assert states(ada) == ["dismissed", "open"]
    client.force_login(reviewer)
    assert client.post(UNDO, {"undoes": FindingVerdict.objects.get().id}).status_code == 403
    assert states(ada) == ["dismissed", "open"]


def test_only_admins_undo_verdicts_of_others(client, reviewer, admin, stored):
    row = verdicts.decide("dismissed", scope="value", value_hash=MAIL_HASH, by="ann")
    client.force_login(reviewer)
    assert f'value="{row.id}"' not in client.get(DETAIL).text
    assert client.post(UNDO, {"undoes": row.id}).status_code == 403
    client.force_login(admin)
    assert f'value="{row.id}"' in client.get(DETAIL).text
    client.post(UNDO, {"undoes": row.id})
    assert read_state() == "open"


@pytest.mark.parametrize(
    "fields",
    [{}, {"verdict": "added", "scope": "value"}, {"verdict": "dismissed", "scope": "all"}],
)
def test_malformed_posts_are_refused(as_reviewer, stored, fields):
    assert "cannot be saved" in as_reviewer.post(JUDGE, fields, follow=True).text
    assert not FindingVerdict.objects.exists()
