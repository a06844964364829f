"""The numbers of samples and rows that fit an export: page, API, command and queries."""

import io

import orjson
import pytest
from django.core.management import CommandError, call_command
from django.db import connection
from django.test.utils import CaptureQueriesContext
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.django import TestCase

from datasets.exports import export_count, exports
from datasets.exports.export_count import count_export
from datasets.exports.options import Options
from datasets.exports.trainers import READS
from datasets.models import DatasetExport, FindingValue, FindingValueAgent
from tests.datasets.exports.export_helpers import FORM_FIELDS, LIST
from tests.factories import AgentFactory, SampleFactory

pytestmark = pytest.mark.django_db
COUNT = "/exports/count/"
CONVERSATIONS = Options(format="sharegpt", task="reply")


@pytest.fixture
def samples(ada):
    """Two sessions with gaps between approved turns, and samples that exports leave out.

    Session a is approved from its second turn on, with a gap after the third; session b has no approved turn.
    """
    for number, status in enumerate(("pending", "approved", "auto_approved", "rejected", "approved")):
        SampleFactory(id=f"a{number}", session_id="a", turn_number=number, annotation_status=status)
    SampleFactory(id="again", session_id="a", turn_number=2, annotation_status="approved")
    SampleFactory(id="b1", session_id="b", turn_number=1)
    SampleFactory(id="cron", session_id="c", annotation_status="approved", prompted_by="cron")
    SampleFactory(id="cut", session_id="c", annotation_status="approved", reply_stop="length")
    SampleFactory(id="other", sample_type="memory_gate_positive", annotation_status="approved")


def test_it_works(samples):
    count = count_export(CONVERSATIONS)
    assert (count.samples, count.rows, count.is_more, count.counted) == (4, 4, False, 9)
    assert count.excluded == {"rejected": 1, "not_approved": 2, "injected": 1, "cut_off": 1}
    assert count.histories == {"edited": 4, "session": 1, "context": 4}
    assert count.session_samples == 2


def test_other_options_count_other_samples(samples):
    everything = {"only_approved": False, "include": ["injected", "cut_off"]}
    count = count_export(Options(format="alpaca", task="reply", **everything))
    assert (count.samples, count.excluded, count.histories) == (8, {"rejected": 1}, {})
    assert count_export(Options(format="sharegpt", task="reply", history="session")).rows == 1
    assert count_export(Options(format="sharegpt", task="reply", min_quality=0.5)).excluded["no_score"] == 4


@pytest.mark.parametrize("format_", ["sharegpt", "openai"])
def test_without_tool_calls_replies_that_rest_on_them_are_not_counted(ada, format_):
    for number, traits in enumerate(("envelope", "", "envelope tools", "gone", "images"), 1):
        SampleFactory(session_id="t", turn_number=number, annotation_status="approved", turn_traits=traits)
    SampleFactory(session_id="t", turn_number=6, turn_traits="tools")
    count = count_export(Options(format_, "reply", tool_calls="leave_out"))
    assert (count.samples, count.excluded) == (3, {"not_approved": 1, "picture": 1, "rests_on_tools": 1})
    assert (count.histories["session"], count.session_samples) == (1, 2)
    for other in (Options(format_, "reply"), Options(format_, "gate", tool_calls="leave_out")):
        assert count_export(other).excluded == {"not_approved": 1, "picture": 1}


@pytest.mark.parametrize("trainer", READS)
@pytest.mark.parametrize("task", ["reply", "gate"])
def test_no_format_of_a_trainer_loses_fewer_samples_than_its_first(ada, trainer, task):
    for number, traits in enumerate(("", "tools", "gone", "images"), 1):
        SampleFactory(session_id="t", turn_number=number, annotation_status="approved", turn_traits=traits)
    judged = ("kto", "preference", "openai_preference", "llamafactory_preference")  # they teach otherwise
    counts = [count_export(Options(name, task)).samples for name in READS[trainer] if name not in judged]
    assert counts[0] == max(counts) == 3


def test_what_is_no_talk_of_a_person_is_counted_by_reason(ada):
    columns = {"session_id": "t", "annotation_status": "approved"}
    for number, more in enumerate(({}, {"turn_traits": "unrecognized"}, {"turn_traits": "images"}), 1):
        SampleFactory(turn_number=number, **columns, **more)
    for number, stop in enumerate(("toolUse", "tool_use", "tool_calls"), 4):
        SampleFactory(turn_number=number, reply_stop=stop, **columns)
    count = count_export(CONVERSATIONS)
    assert (count.samples, count.excluded) == (1, {"unknown_envelope": 1, "interrupted": 3, "picture": 1})
    included = {"include": ["unrecognized", "interrupted", "pictures"]}
    assert count_export(Options("alpaca", "reply", **included)).samples == 6
    assert Options("alpaca", "reply").to_filters()["include"] == ()


def test_beyond_the_limit_it_says_at_least(samples, monkeypatch, as_reviewer):
    monkeypatch.setattr(export_count, "STEPS", (3,))
    count = count_export(CONVERSATIONS)
    assert (count.is_more, count.counted) == (True, 3)
    text = as_reviewer.post(COUNT, FORM_FIELDS, headers={"HX-Request": "true"}).text
    assert "At least <strong>" in text and "Only the first 3 samples were counted." in text


def test_when_the_time_is_up_it_says_what_was_counted_until_then(ada):
    SampleFactory.create_batch(1_500, annotation_status="approved")
    count = count_export(CONVERSATIONS, budget_ms=0)
    assert count.is_more and count.counted < 1_500


def test_it_reads_one_index_and_no_table(samples):
    without_calls = Options(format="sharegpt", task="reply", tool_calls="leave_out")
    for options in (CONVERSATIONS, without_calls, Options("alpaca", "gate", agent="ada", min_quality=0.5)):
        with CaptureQueriesContext(connection) as queries:
            count_export(options)
        with connection.cursor() as cursor:
            cursor.execute(f"EXPLAIN QUERY PLAN {queries.captured_queries[-1]['sql']}")
            steps = [row[-1] for row in cursor.fetchall() if "dataset_samples" in row[-1]]
        assert steps and all("COVERING INDEX idx_sample_place" in step for step in steps)


class TestPage:
    def test_the_part_below_the_form(self, as_reviewer, samples):
        text = as_reviewer.post(COUNT, FORM_FIELDS | {"format": "sharegpt"}, headers={"HX-Request": "true"}).text
        assert "<strong>4</strong> samples fit these options: 4 rows." in text and "<html" not in text
        assert (
            "One row per session, up to the first turn that is not approved" in text
            and "<strong>1 row</strong>" in text
        )
        assert "Not approved yet" in text and "checked when the rows are written" in text

    def test_without_javascript_it_is_the_page_with_the_form_as_it_was(self, as_reviewer, samples):
        page = as_reviewer.post(COUNT, FORM_FIELDS | {"name": "", "seed": "mine"})
        assert page.status_code == 200
        assert "<strong>4</strong> samples fit" in page.text and 'value="mine"' in page.text
        assert "This field is required" not in page.text
        assert not DatasetExport.objects.exists()

    def test_options_that_cannot_be_are_named(self, as_reviewer, samples):
        page = as_reviewer.post(COUNT, FORM_FIELDS | {"train_split": "2"})
        assert page.status_code == 422
        assert "Correct the options to count samples. Ensure this value is less than or equal to 1" in page.text

    def test_open_findings_are_said_with_the_list_that_decides_them(self, as_reviewer, samples):
        assert "first." not in as_reviewer.post(COUNT, FORM_FIELDS).text
        for name, kind in (("one", "key"), ("two", "email")):
            about = {"kind": kind, "rule": "test", "confidence": 1, "first_found_at": 1}
            FindingValue.objects.create(value_hash=name, **about)
            FindingValueAgent.objects.create(value_hash=name, agent_id="ada", places=1)
        chosen = FORM_FIELDS | {"sample_filter": "agent:ada"}
        text = as_reviewer.post(COUNT, chosen).text
        assert '<a href="/findings/?state=open&amp;agent=ada">2 findings</a>' in text
        assert '<a href="/findings/?state=open&amp;agent=ada&amp;kind=key">Key: 1</a>' in text
        assert len(as_reviewer.get("/findings/?state=open&agent=ada&kind=key").context["page"]) == 1
        assert "rows with an open key or password are left out" in text and "Password:" not in text
        text = as_reviewer.post(COUNT, chosen | {"include": "flagged"}).text
        assert "included, redacted. Only admins" in text

    def test_the_form_asks_for_it_and_has_a_button(self, as_reviewer, samples):
        page = as_reviewer.get(LIST).text
        assert f'formaction="{COUNT}"' in page and f'hx-post="{COUNT}"' in page


class TestApi:
    def test_it_works(self, as_reviewer, samples):
        body = {"format": "sharegpt", "history": "session"}
        answer = as_reviewer.post("/api/v1/exports/count", body, content_type="application/json").json()
        assert (answer["samples"], answer["rows"], answer["is_more"]) == (4, 1, False)
        assert {row["reason"]: row["count"] for row in answer["excluded"]}["not_approved"] == 2

    @pytest.mark.parametrize(
        ("change", "status"), [({"format": "xml"}, 422), ({"agent": "nobody"}, 409), ({"x": 1}, 422)]
    )
    def test_wrong_options(self, as_reviewer, samples, change, status):
        body = {"format": "alpaca", **change}
        answer = as_reviewer.post("/api/v1/exports/count", body, content_type="application/json")
        assert answer.status_code == status


class TestCommand:
    def run(self, *words):
        out = io.StringIO()
        call_command("export", *words, stdout=out)
        return out.getvalue()

    def test_it_works(self, samples, settings):
        out = self.run("--format", "alpaca", "--dry-run")
        assert out.startswith("1 sample fits these options: 1 row\n")
        assert "Excluded: 2 (Not approved yet)" in out and "Excluded: 3 (" in out
        assert not DatasetExport.objects.exists() and not list((settings.HOME_DIR / "exports").iterdir())

    def test_a_program_gets_a_receipt(self, samples):
        receipt = orjson.loads(self.run("--format", "alpaca", "--dry-run", "--json"))
        assert (receipt["dry_run"], receipt["fits"]["samples"], receipt["id"]) == (True, 1, None)

    def test_without_a_name_nothing_is_exported(self, samples):
        with pytest.raises(CommandError, match="--name") as failure:
            self.run("--format", "alpaca")
        assert failure.value.returncode == 2


STATUSES = st.sampled_from(["pending", "approved", "auto_approved", "rejected", "needs_review"])
PLACES = st.lists(st.tuples(st.sampled_from("ab"), st.integers(1, 6), STATUSES), max_size=14)


class TestAgainstTheExport(TestCase):
    databases = {"default", "agent_ada"}

    @given(places=PLACES, history=st.sampled_from(["edited", "session"]))
    def test_an_export_of_texts_without_transcripts_writes_what_was_counted(self, places, history):
        AgentFactory(agent_id="ada")
        for number, (session, turn, status) in enumerate(places):
            SampleFactory(id=f"s{number}", session_id=session, turn_number=turn, annotation_status=status)
        count = count_export(Options(format="alpaca", task="reply", history=history))
        source = exports.Source(Options(format="alpaca", task="reply", history=history))
        assert count.samples == source.chosen.count()
        assert count.excluded == {name: entry["count"] for name, entry in source.count_excluded().items()}
