"""The page and the API of sample statistics: numbers, their lists, days."""

import re
from html import unescape

import pytest
from django.urls import reverse

from datasets.models import DatasetSample, ReviewAction
from datasets.review import undo, verdicts
from tests.factories import T0, SampleFactory

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("ada")]
PAGE, API = "/datasets/statistics/", "/api/v1/datasets/statistics"
DAY_MS = 86_400_000
RANGE = {"from": "2026-01-05", "to": "2026-01-07"}
LINK = re.compile(r'<a href="([^"]*/samples/\?[^"]*)"[^>]*>([\d,]+)</a>')
BAR = re.compile(r'<a class="chart__point" href="([^"]+)" aria-label="([^"]+)"')
TYPES, STATUSES = DatasetSample.Type.values, (*DatasetSample.Status.values, None)


@pytest.fixture
def samples():
    """Samples of every type and status on three days, and some outside of them."""
    for day in range(-1, 4):
        for number, sample_type in enumerate(TYPES):
            for status in STATUSES[: 3 + number]:
                SampleFactory(sample_type=sample_type, annotation_status=status, created_at=T0 + day * DAY_MS)


def judge(sample_id, status, at, by="mei"):
    """Give a verdict at a time, and return its action."""
    verdicts.label_sample(sample_id, status, by=by)
    action = ReviewAction.objects.latest("id")
    ReviewAction.objects.filter(id=action.id).update(at=at)
    return action


def count_listed(client, href):
    """The number of samples in the list of an address."""
    return len(client.get(f"{unescape(href)}&format=jsonl").getvalue().splitlines())


def test_every_linked_number_equals_its_list(as_reviewer, samples):
    text = as_reviewer.get(PAGE, RANGE).content.decode()
    links = LINK.findall(text)
    assert len(links) > 15
    for href, number in links:
        assert count_listed(as_reviewer, href) == int(number.replace(",", "")), href
    bars = BAR.findall(text)
    assert len(bars) == 3
    for href, words in bars:
        numbers = [int(number) for number in re.findall(r" (\d+)(?: ·|$)", unescape(words).partition(" · ")[2])]
        assert count_listed(as_reviewer, href) == sum(numbers) > 0


def test_the_api_counts_what_the_database_has(as_reviewer, samples):
    answer = as_reviewer.get(API, RANGE).json()
    rows = DatasetSample.objects.filter(created_at__gte=T0, created_at__lt=T0 + 3 * DAY_MS)
    assert answer["created"] == rows.count() == sum(answer["types"].values()) == sum(answer["statuses"].values())
    for sample_type, count in answer["types"].items():
        assert rows.filter(sample_type=sample_type).count() == count
    for status, count in answer["statuses"].items():
        assert rows.filter(annotation_status=None if status == "undone" else status).count() == count
    for row in answer["types_and_statuses"]:
        assert rows.filter(sample_type=row["type"], annotation_status=row["status"]).count() == row["count"]
    assert [day["created"] for day in answer["days"]] == [rows.count() // 3] * 3


def test_verdicts_are_counted_by_day_and_person(as_reviewer):
    for number in range(6):
        SampleFactory(id=f"s{number}")
    for number, status in enumerate(("approved", "approved", "rejected")):
        judge(f"s{number}", status, T0 + number * 20_000)
    judge("s3", "needs_review", T0 + DAY_MS, by="ben")
    judge("s4", "approved", T0 + 3 * DAY_MS)
    undo.undo("mei", judge("s5", "approved", T0 + 50_000).label_id)
    answer = as_reviewer.get(API, RANGE).json()
    assert [day["verdicts"] for day in answer["days"]] == [3, 1, 0] and answer["verdicts"] == 4
    assert [(day["approved"], day["rejected"]) for day in answer["days"]] == [(2, 1), (0, 0), (0, 0)]
    mei, ben = answer["labellers"]
    assert (mei["name"], mei["verdicts"], mei["approved"], mei["rejected"]) == ("mei", 3, 2, 1)
    assert mei["approve_share"] == pytest.approx(2 / 3) and mei["median_seconds"] == 20
    assert (ben["verdicts"], ben["approve_share"], ben["median_seconds"]) == (1, None, None)
    text = as_reviewer.get(PAGE, RANGE).content.decode()
    assert "67%" in text and "20.0 s" in text


def test_a_bulk_action_counts_its_samples(as_reviewer):
    for number in range(4):
        SampleFactory(id=f"s{number}", created_at=T0)
    fields = {"status": "rejected", "expected_count": "4", "expected_wrong": "0"}
    answer = as_reviewer.post(f"{reverse('datasets:samples_bulk_label')}?status=pending", fields)
    assert answer.status_code == 302, answer.text
    ReviewAction.objects.update(at=T0)
    (labeller,) = as_reviewer.get(API, RANGE).json()["labellers"]
    assert (labeller["verdicts"], labeller["rejected"], labeller["median_seconds"]) == (4, 4, None)


def test_long_pauses_are_no_work(as_reviewer):
    for number, at in enumerate((0, 10_000, 3_000_000, 3_030_000)):
        SampleFactory(id=f"s{number}")
        judge(f"s{number}", "approved", T0 + at)
    (labeller,) = as_reviewer.get(API, RANGE).json()["labellers"]
    assert labeller["median_seconds"] == 20


def test_scores_are_a_distribution_once_there_are_any(as_reviewer):
    SampleFactory(id="none")
    assert as_reviewer.get(API, RANGE).json()["quality"] is None
    assert "Samples by quality score" not in as_reviewer.get(PAGE, RANGE).content.decode()
    for number, score in enumerate((0, 0.05, 0.1, 0.95, 1)):
        SampleFactory(id=f"s{number}", quality_score=score, created_at=T0 - 90 * DAY_MS)
    rows = as_reviewer.get(API, RANGE).json()["quality"]
    assert [row["count"] for row in rows] == [2, 1, 0, 0, 0, 0, 0, 0, 0, 2]
    assert "Samples by quality score" in as_reviewer.get(PAGE, RANGE).content.decode()


def test_without_days_the_newest_row_ends_them(as_reviewer):
    SampleFactory(created_at=T0 + 5 * DAY_MS)
    answer = as_reviewer.get(API).json()
    assert (answer["first_day"], answer["last_day"], answer["created"]) == ("2025-12-12", "2026-01-10", 1)


def test_many_days_are_weeks(as_reviewer, samples):
    answer = as_reviewer.get(API, {"from": "2025-10-01", "to": "2026-01-31"}).json()
    assert len(answer["days"]) == 18 and answer["created"] == sum(day["created"] for day in answer["days"])
    text = as_reviewer.get(PAGE, {"from": "2025-10-01", "to": "2026-01-31"}).content.decode()
    assert "Created samples by week (UTC)" in text
    for href, number in LINK.findall(text):
        assert count_listed(as_reviewer, href) == int(number)


def test_a_site_without_samples_has_a_page(as_reviewer):
    text = as_reviewer.get(PAGE).content.decode()
    assert "No samples yet" in text and "From day" not in text and "Verdicts by" not in text


@pytest.mark.parametrize(
    ("days", "sentence"),
    [
        ({"from": "2026-02-01", "to": "2026-01-01"}, "The first day is after the last day."),
        ({"from": "2020-01-01", "to": "2026-01-01"}, "Statistics cover at most 1,000 days. Choose fewer days."),
        ({"to": "0001-01-01"}, "Choose days of the years 1970 to 2999."),
        ({"from": "9999-12-31"}, "Choose days of the years 1970 to 2999."),
    ],
)
def test_days_that_cannot_be_are_a_sentence(as_reviewer, days, sentence):
    assert sentence in unescape(as_reviewer.get(PAGE, days).content.decode())
    answer = as_reviewer.get(API, days)
    assert (answer.status_code, answer.json()["detail"]) == (409, sentence)


def test_days_that_are_none_are_a_sentence(as_reviewer):
    assert "Write days like 2026-02-21." in as_reviewer.get(PAGE, {"from": "soon"}).content.decode()
    assert as_reviewer.get(API, {"from": "soon"}).status_code == 422
    assert as_reviewer.get(PAGE, {"from": "2026-01-05T10:00", "to": "2026-01-07T10:00"}).status_code == 200


def test_words_and_the_rail_are_those_of_the_page(as_reviewer, samples):
    judge(SampleFactory().id, "approved", T0)
    text = as_reviewer.get(PAGE, RANGE, headers={"Accept-Language": "zh-CN"}).content.decode()
    assert '<th scope="col" class="num">已批准</th>' in text.partition('id="labellers"')[2]
    assert re.search(r'<a href="/samples/"[^>]* aria-current="true"', text)
    assert not re.search(r'<a href="/datasets/"[^>]* aria-current', text)
