"""Findings of samples: marked, added on a selection, and told by columns."""

import json

import pytest
from django.urls import reverse

from datasets.finding_values import sample_privacy, verdicts
from datasets.models import DatasetSample, FindingValue, FindingVerdict
from findings import places
from findings.models import Finding
from tests.datasets.conversations import agent, store_session, store_turns, user
from tests.datasets.finding_values.finding_rows import MAIL, MAIL_HASH, find

pytestmark = pytest.mark.django_db
NAME = "Project Bluebird"
CONTENT = {
    "type": "annotated_turn",
    "userMessage": f"Write to {MAIL} <b>",
    "agentReply": f"I told **{NAME}** and {MAIL}",
}


@pytest.fixture
def sample(ada):
    """The sample of a turn with an address, which is stored and was scanned."""
    find(ada, "s", 1, f"Write to {MAIL} <b>, {NAME}", MAIL)
    row = DatasetSample.objects.create(
        id="one", sample_type="annotated_turn", agent_id="ada", session_id="s", turn_number=1, created_at=1,
        content=json.dumps(CONTENT),
    )  # fmt: skip
    sample_privacy.refresh([row.id])
    return row


def read_columns():
    sample = DatasetSample.objects.get(id="one")
    return sample.privacy_checked, sample.contains_pii, sample.pii_redacted_content


def add(client, sample, **fields):
    fields = {"text": NAME, "part": "question", "kind": "custom", "next": "/samples/one/"} | fields
    return client.post(reverse("datasets:sample_finding", args=[sample.id]), fields, follow=True).content.decode()


@pytest.mark.parametrize("address", ["/samples/one/", "/review/?sample=one"])
def test_findings_are_marked_in_question_and_reply(client, reviewer, sample, address):
    client.force_login(reviewer)
    page = client.get(address).content.decode()
    mark = f'<mark title="Email address, Open">{MAIL}</mark>'
    assert f"Write to {mark} &lt;b&gt;" in page
    assert f"<strong>{NAME}</strong> and {mark}" in page
    verdicts.decide("dismissed", scope="value", value_hash=MAIL_HASH, by="ann")
    assert "<mark" not in client.get(address).content.decode()


def test_marks_do_not_break_links(client, reviewer, sample):
    reply = f"See [{MAIL}](https://example.org/{MAIL}) and *a {MAIL} b*"
    DatasetSample.objects.update(content=json.dumps(CONTENT | {"agentReply": reply}))
    client.force_login(reviewer)
    page = client.get("/samples/one/").content.decode()
    assert f'href="https://example.org/{MAIL}"' in page or 'href="https://example.org/' in page
    assert not any(sign in page for sign in "\ue000\ue001\ue100")
    assert page.count("<mark") == page.count("</mark>") >= 2


def test_a_selection_becomes_a_finding(client, reviewer, ada, sample):
    client.force_login(reviewer)
    page = add(client, sample)
    assert "Exports redact it" in page and f">{NAME}</mark>" in page
    row = Finding.objects.using(ada.db).get(rule="person")
    assert places.read_value(ada.db, row) == NAME
    assert (row.session_id, row.turn_number, row.kind) == ("s", 1, "custom")
    verdict = FindingVerdict.objects.get()
    assert (verdict.verdict, verdict.place, verdict.agent_id) == ("added", "record:s/1", "ada")
    assert FindingValue.objects.get(value_hash=row.value_hash).state == "confirmed"
    assert "[CUSTOM_1]" in read_columns()[2]
    client.post(reverse("datasets:finding_undo"), {})
    assert not Finding.objects.using(ada.db).filter(rule="person").exists()
    assert not FindingValue.objects.filter(value_hash=row.value_hash).exists()
    assert NAME in read_columns()[2]


@pytest.mark.parametrize(
    "fields", [{"text": "not in the turn"}, {"text": "  "}, {"kind": "nonsense"}, {"text": "x" * 10_001}]
)
def test_other_selections_are_refused(client, reviewer, ada, sample, fields):
    client.force_login(reviewer)
    page = add(client, sample, **fields)
    assert "Exports redact it" not in page and 'role="alert"' in page
    assert not FindingVerdict.objects.exists()


def test_viewers_add_nothing(client, django_user_model, sample):
    client.force_login(django_user_model.objects.create(username="vic", role="viewer"))
    assert client.post(reverse("datasets:sample_finding", args=["one"]), {"text": NAME}).status_code == 403
    assert "Add a finding" not in client.get("/samples/one/").content.decode()


def test_columns_follow_from_findings_and_verdicts(sample):
    checked, contains, redacted = read_columns()
    assert (checked, contains) == (True, True)
    assert json.loads(redacted)["userMessage"] == "Write to [EMAIL_1] <b>"
    assert json.loads(redacted)["agentReply"] == f"I told **{NAME}** and [EMAIL_1]"
    row = verdicts.decide("dismissed", scope="value", value_hash=MAIL_HASH, by="ann")
    assert read_columns() == (True, False, None)
    verdicts.take_back(row.id, by="ann")
    assert read_columns()[1]
    verdicts.decide("dismissed", scope="place", value_hash=MAIL_HASH, agent="ada", place="record:s/1", by="ann")
    assert read_columns() == (True, False, None)


def test_a_new_sample_is_checked(client, reviewer, ada):
    store_session([user("u1", f"Write to {MAIL}"), agent("a1", "Done")])
    store_turns(1, session_id="s2")
    client.force_login(reviewer)
    for session in ("s1", "s2"):
        client.post(f"/agents/ada/sessions/{session}/samples/", {"turn": ["1"]})
    rows = DatasetSample.objects.order_by("session_id").values_list("session_id", "privacy_checked", "contains_pii")
    assert list(rows) == [("s1", True, True), ("s2", True, False)]
    assert "Write to [EMAIL_1]" in DatasetSample.objects.get(session_id="s1").pii_redacted_content
    assert DatasetSample.objects.get(session_id="s2").pii_redacted_content is None


def test_refresh_all_reads_every_sample(sample):
    DatasetSample.objects.update(privacy_checked=False, contains_pii=None, pii_redacted_content=None)
    assert sample_privacy.refresh_all() == 1
    assert read_columns()[:2] == (True, True)
