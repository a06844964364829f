"""The samples to judge next: which, why, and their review queue."""

import pytest
from django.urls import reverse

from datasets.dedup import signatures
from datasets.models import DatasetSample, ReviewDraw
from people.models.bookkeeping import AuditEntry
from tests.datasets.coverage.traffic import API, NEXT, add_turn
from tests.datasets.releases.release_pages import list_samples
from tests.factories import SampleFactory

pytestmark = pytest.mark.django_db
QUEUE = "/datasets/coverage/next/queue/"


@pytest.fixture
def traffic(ada):
    """Half of the traffic is with the tool read, a fifth in Chinese; no approved sample is."""
    for number in range(6):
        add_turn(f"good-{number}", f"Done {number} of six.", tools=("exec",), status="approved")
    for number in range(4):
        add_turn(f"chinese-{number}", f"第{number}行失败了", tools=("exec",), status="pending")
    for number in range(10):
        add_turn(f"read-{number}", f"Line {number} is empty.", tools=("read",), status="needs_review")


def read_next(browser, count=100, **query):
    return [(row["sample_id"], row["reason"]) for row in browser.get(API, {"next": count, **query}).json()["next"]]


def test_the_greatest_gap_is_filled_first_until_another_is_greater(as_stranger, traffic):
    picks = read_next(as_stranger)
    assert picks[0][0].startswith("x-read-")
    assert picks[0][1] == "Tool: read, 50.0% of the traffic and 0.0% of the samples"
    languages = [name.split("-")[1] for name, _reason in picks]
    assert languages[:2] == ["read", "read"] and "chinese" in languages[:5]
    assert dict(picks)[next(name for name, _reason in picks if "chinese" in name)].startswith("Language of the reply")
    assert len(picks) == len(set(picks)) and read_next(as_stranger) == picks
    assert read_next(as_stranger, 3) == picks[:3]


def test_filling_makes_the_shares_alike(as_stranger, traffic):
    picks = [name for name, _reason in read_next(as_stranger, 8)]
    DatasetSample.objects.filter(id__in=picks).update(annotation_status="approved")
    rows = as_stranger.get(API).json()["buckets"]
    assert not [row for row in rows if row["is_gap"]]


def test_samples_with_the_same_words_are_listed_once(as_stranger, ada):
    for number in range(2):
        add_turn(f"good-{number}", f"Done {number}.", status="approved")
    for number in range(5):
        add_turn(f"read-{number}", "Nothing there.", tools=("read",), status="pending")
    words = DatasetSample.objects.get(id="x-read-0-1").content
    DatasetSample.objects.filter(id__startswith="x-read-").update(content=words)
    signatures.renew(set(DatasetSample.objects.values_list("id", flat=True)))
    assert len(read_next(as_stranger)) == 1


def test_only_samples_that_wait_and_fit_are_listed(as_stranger, traffic):
    DatasetSample.objects.filter(id__startswith="x-read-").exclude(id="x-read-3-1").update(annotation_status="rejected")
    SampleFactory(id="gate", sample_type="memory_gate_positive", annotation_status="pending")
    names = {name for name, _reason in read_next(as_stranger)}
    assert "x-read-3-1" in names and "gate" not in names and not any("good" in name for name in names)
    assert len([name for name in names if "read" in name]) == 1
    assert {name for name, _reason in read_next(as_stranger, sample_filter="session:read-3 status:approved")} <= names


def test_the_page_lists_them_with_reasons_and_a_gap_alone(as_stranger, traffic):
    page = as_stranger.get(NEXT).text
    assert list_samples(page) == [name for name, _reason in read_next(as_stranger)]
    assert "Tool: read, 50.0% of the traffic and 0.0% of the samples" in page and "Review these" not in page
    page = as_stranger.get(NEXT, {"gap": "language:chinese"}).text
    assert {name.split("-")[1] for name in list_samples(page)} == {"chinese"}
    assert "No sample fills a gap" in as_stranger.get(NEXT, {"gap": "tool:nothing"}).text


def test_they_become_a_review_queue_of_their_own(as_reviewer, traffic):
    assert "Review these" in as_reviewer.get(NEXT).text
    answer = as_reviewer.post(f"{QUEUE}?gap=language%3Achinese")
    draw = ReviewDraw.objects.get()
    assert answer.status_code == 302 and answer["Location"] == f"/review/?draw={draw.id}"
    assert AuditEntry.objects.filter(action="next_queued", actor="reviewer").exists()
    page = as_reviewer.get(answer["Location"]).text
    assert "Fills gaps" in page and "x-chinese-" in page and "Drawn at random" not in page
    assert "2 samples are in this queue." in page  # then their share is that of the traffic
    assert draw.samples == list_samples(as_reviewer.get(NEXT, {"gap": "language:chinese"}).text)


def test_viewers_cannot_create_the_queue(as_stranger, traffic):
    assert as_stranger.post(reverse("datasets:next_queue")).status_code == 403 and not ReviewDraw.objects.exists()


def test_the_filters_of_a_dataset_hold_for_waiting_samples_too(as_stranger, traffic):
    line = "by:ann status:approved from:2026-01-01 to:2026-02-01 session:read-3"
    DatasetSample.objects.update(annotated_by="ann")
    assert read_next(as_stranger, sample_filter=line) == []  # there is no traffic to compare with
    DatasetSample.objects.filter(id="x-good-1-1").update(session_id="read-3")
    assert {name for name, _reason in read_next(as_stranger, sample_filter=line)} <= {"x-read-3-1"}
    line = line.replace("session:read-3", "agent:ada")
    assert len(read_next(as_stranger, sample_filter=line)) > 5
    assert read_next(as_stranger, sample_filter=line.replace("from:2026-01-01", "from:2026-01-20")) == []
