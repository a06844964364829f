"""Views, checks and indexes of the review queue's tables."""

import orjson
import pytest
from django.db import DatabaseError, connection, transaction

from datasets.models import DatasetSample
from datasets.review import claims
from datasets.review.queues import Queue
from tests.datasets.test_sample_detail import content
from tests.factories import SampleFactory

pytestmark = pytest.mark.django_db


def rows(sql):
    with connection.cursor() as cursor:
        cursor.execute(sql)
        names = [column[0] for column in cursor.description]
        return [dict(zip(names, row, strict=True)) for row in cursor.fetchall()]


def test_the_specs_view_lists_what_needs_review_the_best_first(ada):
    gate = {"output": {"decision": "UPDATE_USER"}}
    guardian = {"output": {"status": "refused"}}
    SampleFactory(id="low", annotation_status="needs_review", quality_score=0.2)
    SampleFactory(id="high", annotation_status="needs_review", quality_score=0.9,
                  content=content(memoryGate=gate, writeGuardian=guardian))  # fmt: skip
    SampleFactory(id="broken", annotation_status="needs_review", quality_score=0.1, content="{")
    SampleFactory(id="waits")
    listed = rows("SELECT * FROM pending_review_samples")
    assert [row["id"] for row in listed] == ["high", "low", "broken"]
    assert listed[0]["user_message_content"] == "Which train?"
    assert listed[0]["agent_message_content"] == "The one at nine."
    assert (listed[0]["memory_gate_decision"], listed[0]["write_guardian_status"]) == ("UPDATE_USER", "refused")
    assert (listed[1]["memory_gate_decision"], listed[2]["user_message_content"]) == (None, None)
    assert listed[0].keys() > {field.column for field in DatasetSample._meta.concrete_fields}


@pytest.mark.parametrize("status", ["written", "refused"])
def test_the_view_shows_what_the_guardian_did_in_samples_of_its_own(ada, status):
    body = {"type": "write_guardian_decision", "candidateFact": "likes tea", "decision": status}
    body["memoryGate"] = {"output": {"decision": "UPDATE_USER"}}
    SampleFactory(
        sample_type="write_guardian_decision", annotation_status="needs_review", content=orjson.dumps(body).decode()
    )
    SampleFactory(id="turn", annotation_status="needs_review", content=content(decision="written"))
    by_type = {row["sample_type"]: row for row in rows("SELECT * FROM pending_review_samples")}
    assert by_type["write_guardian_decision"]["write_guardian_status"] == status
    assert by_type["write_guardian_decision"]["memory_gate_decision"] == "UPDATE_USER"
    assert by_type["annotated_turn"]["write_guardian_status"] is None


@pytest.mark.parametrize("column", ["gate_label", "guardian_label"])
def test_a_part_has_no_other_label(ada, column):
    with pytest.raises(DatabaseError, match="CHECK"), transaction.atomic():
        SampleFactory(**{column: "fine"})


def test_the_next_sample_is_found_by_an_index(ada, django_assert_num_queries):
    SampleFactory(id="a")
    with django_assert_num_queries(4) as captured:  # two of them are the transaction
        claims.take_next(Queue(), by="ann")
    taken = next(query["sql"] for query in captured if "INSERT" in query["sql"])
    plan = " | ".join(row["detail"] for row in rows(f"EXPLAIN QUERY PLAN {taken}"))
    assert plan.count("USING INDEX idx_status_created") + plan.count("USING COVERING INDEX idx_status_created") == 2
    assert "SCAN s" not in plan
