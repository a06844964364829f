"""Reasons for rejecting a sample: given with the verdict or right after it.

Undo of the verdict takes the reason back; the list of samples is filtered by it.
"""

import csv
import io

import orjson
import pytest

from datasets.models import DatasetSample, ReviewAction, SampleLabel
from datasets.review import queues, verdicts
from openclaw_web.errors import Refused
from openclaw_web.sqlite import statements
from people.configuration import setting_values as configuration
from tests.datasets.page_text import HTMX
from tests.datasets.review.test_review import find_shown_sample
from tests.factories import SampleFactory

pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def samples(ada):
    SampleFactory(id="one", created_at=1003, turn_number=1)
    SampleFactory(id="two", created_at=1002, turn_number=2)
    SampleFactory(id="three", created_at=1001, turn_number=3)


def reject(client, sample="one", **fields):
    data = {"sample": sample, "status": "rejected", **fields}
    return client.post("/review/label/", data, headers=HTMX)


def reason_of(sample):
    return DatasetSample.objects.values_list("reject_reason", flat=True).get(id=sample)


class TestRightAfter:
    def test_the_answer_to_a_reject_asks_why(self, as_reviewer):
        page = reject(as_reviewer)
        assert find_shown_sample(page) == "two"
        labels = ("Wrong fact", "Wrong tool", "Tone", "Unsafe", "Other")
        for key, label in zip("7890q", labels, strict=True):  # keys that no action has
            assert f'data-key="{key}"' in page.text
            assert label in page.text
        page = as_reviewer.post("/review/label/", {"sample": "two", "status": "approved"}, headers=HTMX)
        assert "reject-reasons" not in page.text

    def test_it_is_of_the_sample_before_and_its_verdict(self, as_reviewer):
        reject(as_reviewer, notes="The line is 12.")
        label = SampleLabel.objects.get()
        answer = as_reviewer.post("/review/reason/", {"label": label.id, "reason": "wrong_fact"}, headers=HTMX)
        assert "Rejected, Wrong fact" in answer.text
        assert "reject-reasons" not in answer.text
        assert (reason_of("one"), reason_of("two")) == ("wrong_fact", None)
        page = as_reviewer.get("/samples/one/").text
        assert page.count(">Rejected<") == 2  # the sample's, and one verdict
        assert "reviewer, Wrong fact" in page
        assert page.count("The line is 12.") == 1

    def test_one_undo_takes_both_back(self, as_reviewer):
        before = {name: getattr(DatasetSample.objects.get(id="one"), name) for name in verdicts.VERDICT_COLUMNS}
        reject(as_reviewer)
        as_reviewer.post("/review/reason/", {"label": SampleLabel.objects.get().id, "reason": "tone"}, headers=HTMX)
        assert find_shown_sample(as_reviewer.post("/review/undo/", headers=HTMX)) == "one"
        after = DatasetSample.objects.get(id="one")
        assert {name: getattr(after, name) for name in verdicts.VERDICT_COLUMNS} == before
        assert not ReviewAction.objects.filter(state="done").exists()
        assert SampleLabel.objects.count() == 3  # nothing was changed or removed

    def test_without_javascript(self, as_reviewer):
        reject(as_reviewer)
        label = SampleLabel.objects.get()
        page = as_reviewer.post("/review/reason/", {"label": label.id, "reason": "unsafe"}, follow=True)
        assert "Rejected, Unsafe" in page.text

    @pytest.mark.parametrize("reason", ["", "nonsense", "Wrong fact"])
    def test_what_is_none(self, as_reviewer, reason):
        reject(as_reviewer)
        given = {"label": SampleLabel.objects.get().id, "reason": reason}
        answer = as_reviewer.post("/review/reason/", given, headers=HTMX)
        assert answer.status_code == 422
        assert reason_of("one") is None

    def test_of_a_verdict_that_is_not_in_force(self, as_reviewer):
        reject(as_reviewer)
        label = SampleLabel.objects.get()
        verdicts.label_sample("one", "approved", by="bea")
        answer = as_reviewer.post("/review/reason/", {"label": label.id, "reason": "tone"}, headers=HTMX)
        assert answer.status_code == 422
        assert "no longer in force" in answer.text
        assert reason_of("one") is None

    def test_of_somebody_elses_verdict(self, as_reviewer):
        verdicts.label_sample("one", "rejected", by="bea")
        with pytest.raises(Refused, match="no longer in force"):
            verdicts.give_reason(SampleLabel.objects.get().id, "tone", by="reviewer")


class TestWithTheVerdict:
    @pytest.mark.parametrize("address", ["/review/?sample=one", "/samples/one/"])
    def test_a_page_without_javascript_has_a_choice(self, as_reviewer, address):
        assert '<option value="wrong_tool">Wrong tool</option>' in as_reviewer.get(address).text

    def test_it_is_stored_and_not_asked_for_again(self, as_reviewer):
        page = reject(as_reviewer, reason="wrong_tool")
        assert "reject-reasons" not in page.text
        assert (reason_of("one"), SampleLabel.objects.get().reason) == ("wrong_tool", "wrong_tool")

    def test_a_choice_beside_another_verdict_is_left_out(self, as_reviewer):
        as_reviewer.post("/review/label/", {"sample": "one", "status": "approved", "reason": "tone"})
        assert (DatasetSample.objects.get(id="one").annotation_status, reason_of("one")) == ("approved", None)

    def test_another_verdict_takes_it_away_and_undo_brings_it_back(self, as_reviewer):
        reject(as_reviewer, reason="tone")
        verdicts.label_sample("one", "approved", by="reviewer")
        assert reason_of("one") is None
        as_reviewer.post("/review/undo/")
        assert reason_of("one") == "tone"

    def test_a_code_that_is_none_is_refused_on_the_page(self, as_reviewer):
        answer = reject(as_reviewer, reason="nonsense")
        assert answer.status_code == 422
        assert "There is no reason nonsense. Choose one of: wrong_fact, wrong_tool" in answer.text


class TestApi:
    def post(self, client, body):
        return client.post("/api/v1/samples/one/label", body, content_type="application/json")

    def test_a_reject_has_a_reason(self, as_reviewer):
        answer = self.post(as_reviewer, {"status": "rejected", "reason": "unsafe"})
        assert (answer.status_code, answer.json()["reject_reason"]) == (200, "unsafe")
        (label,) = as_reviewer.get("/api/v1/samples/one").json()["labels"]
        assert label["reason"] == "unsafe"

    @pytest.mark.parametrize(
        ("body", "words"),
        [
            ({"status": "rejected", "reason": "nonsense"}, "There is no reason nonsense."),
            ({"status": "approved", "reason": "tone"}, "Only rejected samples take a reason."),
        ],
    )
    def test_what_cannot_be_is_refused(self, as_reviewer, body, words):
        answer = self.post(as_reviewer, body)
        assert answer.status_code == 409
        assert words in answer.text
        assert not SampleLabel.objects.exists()


class TestList:
    @pytest.fixture(autouse=True)
    def rejected(self, samples):
        verdicts.label_sample("one", "rejected", by="ann", reason="tone")
        verdicts.label_sample("two", "rejected", by="ann")

    @pytest.mark.parametrize(
        ("query", "expected"),
        [
            ("reason=tone", ["one"]),
            ("reason=tone&status=rejected&agent=ada", ["one"]),
            ("reason=tone&status=approved", []),
            ("reason=unsafe", []),
            ("reason=none", []),
        ],
    )
    def test_it_is_filtered(self, as_reviewer, query, expected):
        page = as_reviewer.get(f"/samples/?{query}")
        assert [row["id"] for row in page.context["page"]] == expected
        items = as_reviewer.get(f"/api/v1/samples?{query}").json()["items"]
        assert [sample["id"] for sample in items] == expected

    def test_the_filter_is_named_by_its_label(self, as_reviewer):
        page = as_reviewer.get("/samples/?reason=tone").text
        assert "Reject reason" in page
        assert '<option value="tone" selected>Tone</option>' in page

    def test_the_file_has_the_code(self, as_reviewer):
        answer = as_reviewer.get("/samples/?format=csv")
        text = b"".join(answer.streaming_content).decode("utf-8-sig")
        assert {row["id"]: row["reject_reason"] for row in csv.DictReader(io.StringIO(text))} == {
            "one": "tone", "two": "", "three": "",
        }  # fmt: skip

    def test_a_code_that_the_setting_has_no_more_is_found_still(self, as_reviewer):
        configuration.put("review.rejectReasons", ["slow: Too slow"])
        page = as_reviewer.get("/samples/?reason=tone")
        assert [row["id"] for row in page.context["page"]] == ["one"]
        assert "ann, tone" in as_reviewer.get("/samples/one/").text


class TestSetting:
    def test_other_reasons(self, as_reviewer):
        configuration.put("review.rejectReasons", ["slow: Too slow", "short: Too short"])
        page = reject(as_reviewer)
        assert page.text.count('name="reason" value=') == 2
        assert "Too short" in page.text

    def test_our_own_are_said_in_the_language_of_the_reviewer(self, as_reviewer):
        as_reviewer.defaults["HTTP_ACCEPT_LANGUAGE"] = "zh-Hans"
        page = reject(as_reviewer)
        assert "语气" in page.text and ">Tone<" not in page.text and 'value="tone"' in page.text
        configuration.put("review.rejectReasons", ["tone: Too loud", "unsafe: Unsafe"])
        page = reject(as_reviewer, "two")
        assert "Too loud" in page.text and "语气" not in page.text and "不安全" in page.text

    def test_none(self, as_reviewer):
        configuration.put("review.rejectReasons", [])
        page = reject(as_reviewer)
        assert 'id="reject-reasons"' not in page.text
        assert 'name="reason"' not in page.text
        with pytest.raises(Refused, match=r"because the setting review\.rejectReasons is empty"):
            verdicts.label_sample("three", "rejected", by="ann", reason="tone")

    def test_the_guide_stands_beside_the_sample_as_plain_text(self, as_reviewer):
        assert "Guide" not in as_reviewer.get("/review/").text
        configuration.put("review.guide", "A good reply:\n<b>short</b> and true.")
        for address in ("/review/", "/samples/one/"):
            page = as_reviewer.get(address).text
            assert "Guide" in page
            assert "&lt;b&gt;short&lt;/b&gt; and true." in page


class TestWrongDecision:
    """Why a decision of memory_gate is wrong: the spec's `rejectionReason`."""

    BODY = {"userMessage": "u", "agentReply": "a", "memoryGate": {"output": {"decision": "UPDATE_USER", "reason": "r"}}}
    RIGHT = {"decision": "NO_WRITE", "candidateFact": "", "reason": ""}

    @pytest.fixture
    def decided(self):
        """Samples approved without a reason, as homes have them from before it was required."""
        content = orjson.dumps(self.BODY).decode()
        right = {"gate_label": "corrected", "gate_corrected_output": orjson.dumps(self.RIGHT).decode()}
        SampleFactory(id="old", content=content, annotation_status="approved", created_at=1, **right)
        SampleFactory(id="alone", content=content, annotation_status="approved", created_at=2, gate_label="incorrect")
        explained = {"gate_label": "incorrect", "gate_corrected_output": '{"reason":"Small talk."}'}
        SampleFactory(id="good", content=content, annotation_status="approved", created_at=3, **explained)

    def test_old_ones_wait_in_a_queue_of_their_own(self, as_reviewer, decided):
        assert find_shown_sample(as_reviewer.get("/review/")) == "one"
        page = as_reviewer.get("/review/needs_reason/")
        assert find_shown_sample(page) == "alone" and "<strong>2</strong> to review" in page.text
        fields = {"sample": "alone", "status": "approved", "gate_label": "incorrect"}
        refused = as_reviewer.post("/review/label/?queue=needs_reason", fields, headers=HTMX)
        assert refused.status_code == 422 and "Say why the decision is wrong" in refused.text
        page = as_reviewer.post(
            "/review/label/?queue=needs_reason", fields | {"gate_reason": "Said in jest."}, headers=HTMX
        )
        assert find_shown_sample(page) == "old"
        label = {"gate_label": "corrected", "gate_corrected_output": self.RIGHT | {"reason": "wrong_fact"}}
        body = {"sample_id": "old", "status": "approved", **label}
        answer = as_reviewer.post("/api/v1/review/verdict?queue=needs_reason", body, "application/json").json()
        assert answer["sample"] is None and answer["judged"]["gate_reason"] == "Wrong fact"
        assert "Needs a reason" not in as_reviewer.get("/review/").text

    def test_the_queue_is_read_by_its_index(self):
        queue = queues.Queue(queues.NEEDS_REASON, agent="ada")
        count, values = queues.build_count(queue, by="ann")
        plan = " ".join(row[3] for row in statements.read_rows("default", f"EXPLAIN QUERY PLAN SELECT {count}", values))
        assert "USING INDEX idx_status_wrong" in plan

    @pytest.mark.parametrize("reason", [{}, {"gate_reason": " "}, {"gate_corrected_output": RIGHT}])
    def test_the_api_asks_for_it(self, as_reviewer, decided, reason):
        label = "corrected" if "gate_corrected_output" in reason else "incorrect"
        body = {"status": "approved", "gate_label": label, **reason}
        answer = as_reviewer.post("/api/v1/samples/good/label", body, "application/json")
        assert (answer.status_code, answer.json()["detail"]) == (
            400,
            "Say why the decision is wrong: choose a reason, or enter one.",
        )
        assert not SampleLabel.objects.exists()
