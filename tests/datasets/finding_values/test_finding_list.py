"""The list of findings: rows without values, filters, roles, and verdicts from its rows."""

import re

import orjson
import pytest
from django.urls import reverse

from datasets.finding_values import verdicts
from datasets.finding_values.value_list import VALUES
from datasets.models import FindingValue
from findings.value_hash import compute_value_hash
from tests.datasets.finding_values.finding_rows import KEY, KEY_HASH, MAIL, MAIL_HASH, find
from tests.datasets.page_text import HTMX, read_text

pytestmark = pytest.mark.django_db
LIST, UNDO = reverse("datasets:finding_list"), reverse("datasets:finding_undo")
TEXTS = reverse("datasets:finding_texts")
JUDGE = reverse("datasets:finding_judge", args=[MAIL_HASH])
ROW = {"verdict": "dismissed", "scope": "value", "at": "row"}


def test_it_has_a_row_for_each_value_without_the_value(as_reviewer, stored):
    page = as_reviewer.get(LIST)
    assert page.text.count('scope="col"') == len(VALUES.columns) and page.text.count('id="text-of-') == 2
    assert MAIL not in page.text and KEY not in page.text
    words = read_text(page)
    assert re.search(r"Email address Email address Open 2 2 email_rule ", words)
    assert re.search(r"Key Key Open 1 1 key_rule ", words)


def test_without_findings_it_says_what_will_be_here(as_stranger, ada):
    page = as_stranger.get(LIST)
    assert "No findings yet" in page.text and "Texts are scanned after each import." in page.text
    assert 'id="text-of-' not in page.text


def test_no_value_fits_the_filters(as_stranger, stored):
    page = as_stranger.get(f"{LIST}?state=dismissed")
    assert 'id="text-of-' not in page.text and "No findings yet" not in page.text


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
def test_filters(as_reviewer, stored, query, kinds):
    rows = orjson.loads(b"".join(as_reviewer.get(f"{LIST}?{query}&format=json")))
    assert {row["kind"] for row in rows} == kinds
    page = as_reviewer.get(f"{LIST}?{query}").text
    assert ("Email address</td>" in page, "Key</td>" in page) == ("email" in kinds, "key" in kinds)


@pytest.mark.parametrize("query", ["kind=nonsense", "state=nonsense", "agent=nobody", "from=yesterday"])
def test_a_filter_that_nobody_offers_is_refused(as_stranger, stored, query):
    assert as_stranger.get(f"{LIST}?{query}").status_code == 409


def test_the_same_list_is_sorted_by_places(as_stranger, stored):
    def hashes(query):
        return re.findall(r'id="text-of-(\w+)"', as_stranger.get(f"{LIST}?{query}").text)

    assert hashes("sort=places") == [KEY_HASH, MAIL_HASH]
    assert hashes("sort=-places") == [MAIL_HASH, KEY_HASH]


def test_each_row_leads_to_its_value_and_each_part_to_its_address(as_reviewer, stored):
    page = as_reviewer.get(LIST).text
    for value_hash, kind in ((MAIL_HASH, "Email address"), (KEY_HASH, "Key")):
        address = FindingValue.objects.get(value_hash=value_hash).get_absolute_url()
        assert f'href="{address}"' in page and f"Findings: {kind}" in as_reviewer.get(address).text
    parts = re.findall(r'hx-get="([^"]+)"', page)
    assert {reverse("datasets:finding_lag"), f"{TEXTS}?ids={KEY_HASH}&amp;ids={MAIL_HASH}&amp;"} <= set(parts)
    assert all(as_reviewer.get(part.replace("&amp;", "&"), headers=HTMX).status_code == 200 for part in parts)


def test_the_swapped_part_has_the_rows_and_no_frame(as_reviewer, stored):
    part = as_reviewer.get(f"{LIST}?kind=key", headers=HTMX).text
    assert f"text-of-{KEY_HASH}" in part and f"text-of-{MAIL_HASH}" not in part
    assert "<html" not in part


def test_viewers_judge_nothing_and_ask_for_no_value(as_stranger, stored):
    page = as_stranger.get(LIST).text
    assert "Confirm</button>" not in page and TEXTS not in page
    assert as_stranger.post(JUDGE, ROW).status_code == as_stranger.post(UNDO, {"at": "row"}).status_code == 403
    assert FindingValue.objects.get(value_hash=MAIL_HASH).state == "open"


def test_a_verdict_from_a_row_is_answered_with_its_new_state(as_reviewer, stored):
    page = as_reviewer.post(JUDGE, ROW, headers=HTMX).text
    assert f'id="state-of-{MAIL_HASH}" hx-swap-oob' in page and "Undo my last verdict" in page
    assert f'id="verdict-of-{MAIL_HASH}" hx-swap-oob' in page and "Dismissed" in page
    page = as_reviewer.post(UNDO, {"at": "row"}, headers=HTMX).text
    assert f'id="state-of-{MAIL_HASH}" hx-swap-oob' in page and "Undo my last verdict" not in page
    answer = as_reviewer.post(UNDO, {"at": "row"}, headers=HTMX)
    assert answer.status_code == 422 and "nothing to undo" in answer.text


def test_a_verdict_without_a_script_leads_back_to_the_filtered_list(as_reviewer, stored):
    to = f"{LIST}?kind=email"
    answer = as_reviewer.post(JUDGE, ROW | {"next": to})
    assert (answer.status_code, answer.url) == (302, to)
    assert "Dismissed" in read_text(as_reviewer.get(answer.url))


def test_it_continues_on_a_next_page(as_stranger, ada):
    for number in range(51):
        find(ada, "s", number + 1, f"Write to p{number}@hanamail.jp", f"p{number}@hanamail.jp")
    page = as_stranger.get(LIST).text
    assert page.count('id="text-of-') == 50
    rest = re.search(r'href="([^"]+)" rel="next"', page)[1].replace("&amp;", "&")
    assert as_stranger.get(f"{LIST}{rest}").text.count('id="text-of-') == 1


def test_each_rule_has_the_share_of_confirmed_values(as_reviewer, ada):
    mails = [f"person{number}@hanamail.jp" for number in range(4)]
    names = [compute_value_hash("email", mail) for mail in mails]
    for number, mail in enumerate(mails, start=1):
        find(ada, "s", number, f"Write to {mail}", mail)
    for name, verdict in zip(names, ("confirmed", "confirmed", "dismissed", "dismissed"), strict=True):
        given = verdicts.decide(verdict, scope="value", value_hash=name, by="ann")
    verdicts.take_back(given.id, by="ann")
    verdicts.decide("dismissed", scope="rule", rule="email_rule", by="ann")
    share = "2 of 3 judged values confirmed (67%)"
    assert as_reviewer.get(LIST).text.count(share) == 4
    assert share in as_reviewer.get(reverse("datasets:finding_detail", args=[names[3]])).text
    (row,) = as_reviewer.get("/api/v1/findings/rules").json()["rules"]
    assert row.pop("share") == pytest.approx(2 / 3)
    assert row == {"rule": "email_rule", "kind": "email", "confirmed": 2, "dismissed": 1}
