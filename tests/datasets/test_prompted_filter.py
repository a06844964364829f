"""Samples filtered by who prompted their turn and whether the reply was cut off.

In the list, its files, the API and the review queue.
"""

import csv
import io

import pytest
from django.db import connection

from datasets.models import DatasetSample
from datasets.review import claims
from datasets.review.queues import Queue
from datasets.sample_order import Filters
from tests.factories import SampleFactory

pytestmark = pytest.mark.django_db
QUERIES = [
    ({"prompted_by": "person"}, {"whole", "cut"}),
    ({"prompted_by": "cron"}, {"cron"}),
    ({"prompted_by": "heartbeat"}, set()),
    ({"prompted_by": "silent"}, {"silent"}),
    ({"ending": "cut_off"}, {"cut", "silent"}),
    ({"ending": "complete"}, {"whole", "cron", "unknown"}),
    ({"ending": "cut_off", "prompted_by": "person"}, {"cut"}),
    ({"ending": "complete", "prompted_by": "person", "session": "session-0"}, {"whole"}),
    ({"ending": "cut_off", "session": "session-0"}, {"cut", "silent"}),
    ({"prompted_by": "person", "status": "pending", "agent": "ada"}, {"whole", "cut"}),
    ({"prompted_by": "person", "session": "session-0"}, {"whole", "cut"}),
]


@pytest.fixture
def samples(ada):
    """Five samples; of one it is unknown how its turn began and ended."""
    SampleFactory(id="whole", created_at=5)
    SampleFactory(id="cut", created_at=4, reply_stop="aborted")
    SampleFactory(id="cron", created_at=3, prompted_by="cron")
    SampleFactory(id="silent", created_at=2, prompted_by="silent", reply_stop="length")
    SampleFactory(id="unknown", created_at=1, prompted_by="hook", reply_stop="")


def plan(sql, values):
    with connection.cursor() as cursor:
        cursor.execute(f"EXPLAIN QUERY PLAN {sql}", values)
        return " | ".join(row[-1] for row in cursor.fetchall())


@pytest.mark.parametrize(("query", "expected"), QUERIES)
def test_the_list_its_file_the_api_and_its_numbers_agree(as_admin, samples, query, expected):
    page = as_admin.get("/samples/", query)
    assert {row["id"] for row in page.context["page"]} == expected
    file = as_admin.get("/samples/", {**query, "format": "csv"}).getvalue().decode("utf-8-sig")
    assert {row["id"] for row in csv.DictReader(io.StringIO(file))} == expected
    answer = as_admin.get("/api/v1/samples", query).json()
    assert {row["id"] for row in answer["items"]} == expected
    tabs = {str(tab["label"]): tab["amount"].count for tab in page.context["tabs"]}
    assert tabs["Pending"] == len(expected)


@pytest.mark.parametrize(("query", "expected"), QUERIES)
def test_the_queue_gives_out_those_and_no_others(as_admin, samples, query, expected):
    chosen = {name: value for name, value in query.items() if name != "status"}
    progress = as_admin.get("/api/v1/review/progress", chosen).json()
    assert progress["waiting"] == len(expected)
    queue, taken = Queue(**chosen), set()
    while claim := claims.take_next(queue, by="admin", besides=tuple(taken)):
        taken.add(claim.sample_id)
    assert taken == expected


def test_the_queues_page_shows_the_filters_and_clears_them(as_admin, samples):
    page = as_admin.get("/review/", {"prompted_by": "person", "ending": "cut_off"})
    assert page.context["shown"]["sample"].id == "cut"
    assert 'href="/review/?ending=cut_off"' in page.text and 'href="/review/?prompted_by=person"' in page.text
    assert '<option value="person" selected>A person</option>' in page.text
    assert "prompted_by=person&amp;ending=cut_off" in page.text  # verdicts and steps stay in the queue


def test_a_verdict_on_the_whole_list_is_about_those(as_admin, samples):
    body = {"status": "rejected", "expected_count": 1, "prompted_by": "cron"}
    done = as_admin.post("/api/v1/samples/bulk", body, content_type="application/json")
    assert done.json()["count"] == 1
    assert list(DatasetSample.objects.filter(annotation_status="rejected").values_list("id", flat=True)) == ["cron"]


@pytest.mark.parametrize("query", [{"prompted_by": "nobody"}, {"ending": "badly"}])
def test_a_value_that_does_not_exist_is_refused(as_admin, samples, query):
    assert as_admin.get("/review/", query).status_code == 409
    assert as_admin.get("/api/v1/review/progress", query).status_code == 422


STATUS, PROMPTED, SESSION = "annotation_status=?", "prompted_by=?", "idx_sample_session (agent_id=? AND session_id=?)"


@pytest.mark.parametrize(
    ("filters", "index"),
    [
        (Filters(prompted_by="cron"), f"idx_sample_prompted ({PROMPTED})"),
        (Filters(prompted_by="person", status="pending"), f"idx_status_prompted ({STATUS} AND prompted"),
        (Filters(prompted_by="person", status="pending", agent="ada"), "idx_sample_agent_prompted (agent_id=? AND"),
        (Filters(ending="cut_off"), "idx_sample_cut_off"),
        (Filters(ending="cut_off", status="pending", agent="ada", prompted_by="cron"), "idx_status_cut_off"),
        (Filters(ending="cut_off", session="s", agent="ada"), SESSION),
        (Filters(reason="tone"), "idx_sample_reason (reject_reason=?)"),
        (Filters(reason="tone", status="rejected", agent="ada"), "idx_sample_reason (reject_reason=?)"),
        (Filters(reason="tone", status="rejected", agent="ada", session="s"), "idx_sample_session"),
        (Queue(prompted_by="person"), f"idx_status_prompted ({STATUS} AND {PROMPTED}"),
        (Queue(prompted_by="person", type="annotated_turn"), f"idx_status_prompted ({STATUS} AND"),
        (Queue(prompted_by="person", agent="ada"), f"idx_sample_agent_prompted (agent_id=? AND {STATUS} AND"),
        (Queue(ending="cut_off"), f"idx_status_cut_off ({STATUS})"),
        (Queue(ending="cut_off", agent="ada"), f"idx_status_cut_off ({STATUS})"),
        (Queue(ending="cut_off", session="s", agent="ada"), SESSION),
    ],
)
def test_list_and_queue_are_served_by_an_index(filters, index):
    order = "ORDER BY s.created_at DESC, s.id DESC LIMIT 1"
    if isinstance(filters, Queue):
        condition, values = filters.condition("pending", by="ann")
        sql = f"SELECT s.id FROM dataset_samples s WHERE {condition} {order}"
    else:
        rows = filters.narrow(DatasetSample.objects.all()).order_by("-created_at", "-id").values("id")[:50]
        sql, values = rows.query.sql_with_params()
    steps = plan(sql, values)
    assert f"INDEX {index}" in steps
    assert "TEMP B-TREE" not in steps
