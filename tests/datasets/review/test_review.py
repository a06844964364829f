"""The review queue, without JavaScript and with it."""

import re
from html import unescape

import orjson
import pytest

from datasets.models import DatasetSample, ReviewAction, SampleClaim, SampleLabel
from datasets.review import claims, verdicts
from openclaw_web import clock
from tests.datasets.page_text import HTMX, read_text
from tests.datasets.test_sample_detail import content
from tests.factories import T0, SampleFactory

pytestmark = pytest.mark.django_db
GATE = {"output": {"decision": "UPDATE_USER", "reason": "A habit.", "candidateFact": "travels early"}}


@pytest.fixture
def queue(ada):
    """Samples one, two (in need of review) and three in queue order; a judged fourth."""
    SampleFactory(id="one", created_at=1003, turn_number=1)
    SampleFactory(id="two", created_at=1002, turn_number=2, annotation_status="needs_review")
    SampleFactory(id="three", created_at=1001, turn_number=3)
    SampleFactory(id="done", created_at=2000, turn_number=4, annotation_status="approved")


def find_shown_sample(page):
    """The id of the sample on the page, or None."""
    match = re.search(r'id="review-sample".*?data-sample="([^"]*)"', page.text, re.DOTALL)
    return (match and match[1]) or None


def judge(client, sample="one", status="approved", query="", **data):
    return client.post(f"/review/label/{query}", {"sample": sample, "status": status, **data}, follow=True)


def test_it_works(as_reviewer, as_stranger, queue):
    assert 'href="/review/"' not in as_stranger.get("/").text and 'href="/review/"' in as_reviewer.get("/").text
    page = as_reviewer.get("/review/")
    assert page.status_code == 200
    assert find_shown_sample(page) == "one" and 'data-review="undo" hidden>' in page.text  # nothing was done yet
    for words in ("Please check the nightly import.", "Turn 1 of ada", "3 to review"):
        assert words in read_text(page)
    page = judge(as_reviewer, expected_status="pending", notes="fine")
    assert find_shown_sample(page) == "two"
    assert "Approved: turn 1 of ada" in read_text(page) and 'data-review="undo">' in page.text
    assert "2 to review 1 done today (1 by you) View yours" in read_text(page)
    address = unescape(re.search(r'href="(/samples/\?by=[^"]+)"', page.text)[1])  # leads to what was judged
    listed = as_reviewer.get(address)
    assert "by=reviewer&judged=" in address and [row["id"] for row in listed.context["page"]] == ["one"]
    assert list(SampleClaim.objects.values_list("sample_id", "claimed_by")) == [("two", "reviewer")]
    label = SampleLabel.objects.get()
    assert (label.status, label.notes, label.labelled_by) == ("approved", "fine", "reviewer")


@pytest.mark.parametrize(("verdict", "is_told"), [("approved", True), ("rejected", False)])
def test_approving_a_reply_that_was_cut_off_says_so(as_reviewer, queue, verdict, is_told):
    DatasetSample.objects.update(reply_stop="length")
    sentence = "Approved, but its reply was cut off, so that exports leave it out by default"
    assert (sentence in read_text(judge(as_reviewer, status=verdict))) is is_told
    answer = as_reviewer.post("/samples/two/label/", {"status": verdict}, follow=True)
    assert (sentence in read_text(answer)) is is_told


def test_the_whole_way_without_javascript(as_reviewer, queue):
    assert find_shown_sample(as_reviewer.post("/review/skip/", {"sample": "one"}, follow=True)) == "two"
    assert find_shown_sample(judge(as_reviewer, "two", "rejected")) == "three"
    page = judge(as_reviewer, "three", "needs_review")
    assert find_shown_sample(page) == "three"  # it waits again, now for a second look
    page = judge(as_reviewer, "three", "approved")
    assert find_shown_sample(page) is None
    assert "Only samples you skipped are left" in page.text
    page = as_reviewer.get("/review/?skipped=1")
    assert find_shown_sample(page) == "one"
    for expected in ("three", "three", "two", "one"):
        page = as_reviewer.post("/review/undo/", follow=True)
        assert "Undone" in page.text
        assert find_shown_sample(page) == expected
    page = as_reviewer.post("/review/undo/", follow=True)
    assert "There is nothing to undo" in page.text
    assert set(DatasetSample.objects.values_list("id", "annotation_status")) == {
        ("one", "pending"), ("two", "needs_review"), ("three", "pending"), ("done", "approved"),
    }  # fmt: skip


def test_next_and_previous_let_go_of_what_was_on_the_screen(as_reviewer, queue):
    assert find_shown_sample(as_reviewer.get("/review/")) == "one"
    assert find_shown_sample(as_reviewer.get("/review/?after=one")) == "two"
    assert find_shown_sample(as_reviewer.get("/review/?before=two")) == "one"
    assert find_shown_sample(as_reviewer.get("/review/?before=one")) == "one"
    assert find_shown_sample(as_reviewer.get("/review/?after=three")) == "one"
    assert SampleClaim.objects.get().sample_id == "one"


@pytest.mark.parametrize(
    ("address", "expected"),
    [
        ("/review/pending/", "one"),
        ("/review/needs_review/", "two"),
        ("/review/?agent=bob", None),
        ("/review/?session=session-0&type=annotated_turn", "one"),
        ("/review/?sample=done", "done"),
    ],
)
def test_queues_and_filters(as_reviewer, queue, address, expected):
    assert find_shown_sample(as_reviewer.get(address)) == expected


def test_filters_are_chips_and_stay(as_reviewer, queue):
    page = as_reviewer.get("/review/needs_review/?agent=ada&session=session-0")
    assert 'href="/review/needs_review/?session=session-0"' in page.text
    assert 'action="/review/label/?queue=needs_review&amp;agent=ada&amp;session=session-0"' in page.text
    answer = as_reviewer.post("/review/label/?agent=ada", {"sample": "one", "status": "approved"})
    assert answer.url == "/review/?agent=ada&sample=two"


@pytest.mark.parametrize(
    "address",
    ["/review/?type=x", "/review/?queue=x", "/review/?agent=a%00b", "/review/?session=" + "x" * 501],
)
def test_what_cannot_be_is_refused(as_reviewer, queue, address):
    assert as_reviewer.get(address).status_code == 409


@pytest.mark.parametrize("address", ["/review/other/", "/review/?sample=none"])
def test_what_is_not_there_is_not_found(as_reviewer, queue, address):
    assert as_reviewer.get(address).status_code == 404
    assert not SampleClaim.objects.filter(sample_id="none").exists()


def test_a_verdict_on_what_is_not_there_is_not_found(as_reviewer, ada):
    assert as_reviewer.post("/review/label/", {"sample": "none", "status": "approved"}).status_code == 404
    assert as_reviewer.post("/review/skip/", {"sample": "none"}).status_code == 404
    assert as_reviewer.post("/review/label/", {"status": "approved"}).status_code == 404


class TestEmpty:
    def test_without_any_sample(self, as_reviewer, ada):
        assert "No samples yet" in as_reviewer.get("/review/").text

    def test_everything_is_judged(self, as_reviewer, ada):
        SampleFactory.create_batch(3, annotation_status="approved")
        assert "All 3 samples are reviewed" in as_reviewer.get("/review/").text

    def test_others_have_what_is_left(self, as_reviewer, queue):
        for sample in ("one", "two", "three"):
            claims.take(sample, by="ann")
        page = as_reviewer.get("/review/")
        assert "The rest is open with other reviewers" in page.text
        assert "ann has 3 samples open (" in read_text(page)

    def test_the_filter_hides_what_waits(self, as_reviewer, queue):
        page = as_reviewer.get("/review/?agent=bob")
        assert "Nothing to review with this filter" in page.text
        assert "The filter hides 3 samples to review." in page.text

    def test_it_can_be_reviewed_by_hand_still(self, as_reviewer, queue):
        for sample in ("one", "two", "three"):
            judge(as_reviewer, sample)
        assert "All 4 samples are reviewed" in as_reviewer.get("/review/").text


class TestOthers:
    def test_what_somebody_has_open_is_shown_and_says_so(self, as_reviewer, queue):
        claims.take("one", by="ann")
        assert find_shown_sample(as_reviewer.get("/review/")) == "two"
        assert "ann has this sample open" in as_reviewer.get("/review/?sample=one").text

    def test_who_comes_back_holds_it_again_or_reads_who_has_it(self, as_reviewer, queue, monkeypatch):
        def come_back(seconds):
            monkeypatch.setattr(clock, "now_ms", lambda: start + seconds * 1000)
            page = as_reviewer.get("/review/?sample=one").text
            return SampleClaim.objects.get(sample_id="one").claimed_by, page

        start = clock.now_ms()
        assert come_back(0)[0] == come_back(200)[0] == "reviewer"
        monkeypatch.setattr(clock, "now_ms", lambda: start + 400_000)
        claims.take("one", by="ann")
        holder, page = come_back(401)
        assert holder == "ann" and "ann has this sample open" in page
        verdicts.label_sample("one", "approved", by="ann")
        page = as_reviewer.get("/review/?sample=one").text
        assert "ann has reviewed this sample: Approved. Your verdict would replace that one." in page

    def test_a_verdict_on_it_is_refused_and_nothing_typed_is_lost(self, as_reviewer, queue):
        claims.take("one", by="ann")
        page = judge(as_reviewer, output="my careful edit", notes="long note")
        assert page.status_code == 422
        for words in ("ann has this sample open", "my careful edit", "long note"):
            assert words in page.text
        assert not SampleLabel.objects.exists()


class TestWithHtmx:
    def test_the_sample_to_come_is_claimed_as_well(self, as_reviewer, queue):
        as_reviewer.get("/review/")
        ahead = as_reviewer.get("/review/?after=one&ahead=1", headers=HTMX)
        assert find_shown_sample(ahead) == "two"
        assert "<html" not in ahead.text
        assert set(SampleClaim.objects.values_list("sample_id", flat=True)) == {"one", "two"}

    def test_a_verdict_answers_with_the_one_after_that(self, as_reviewer, queue):
        data = {"sample": "one", "status": "approved", "ahead": "two"}
        answer = as_reviewer.post("/review/label/", data, headers=HTMX)
        assert (answer.status_code, find_shown_sample(answer)) == (200, "three")
        data = {"sample": "two", "status": "approved", "ahead": "three"}
        answer = as_reviewer.post("/review/label/", data, headers=HTMX)
        assert (answer.status_code, find_shown_sample(answer)) == (200, None)
        assert 'id="review-top"' in answer.text
        data = {"sample": "three", "status": "approved"}
        assert "All 4 samples are reviewed" in as_reviewer.post("/review/label/", data, headers=HTMX).text

    def test_there_may_be_nothing_ahead(self, as_reviewer, ada):
        SampleFactory(id="only")
        assert as_reviewer.get("/review/?after=only&ahead=1", headers=HTMX).status_code == 204

    def test_a_refused_verdict_brings_the_sample_back(self, as_reviewer, queue):
        answer = as_reviewer.post(
            "/review/label/", {"sample": "one", "status": "approved", "output": " "}, headers=HTMX
        )
        assert (answer.status_code, find_shown_sample(answer)) == (422, "one")
        assert "The reply is empty." in answer.text

    def test_undo_shows_the_sample_again(self, as_reviewer, queue):
        judge(as_reviewer)
        answer = as_reviewer.post("/review/undo/", headers=HTMX)
        assert (answer.status_code, find_shown_sample(answer)) == (200, "one")
        assert SampleClaim.objects.filter(sample_id="one", claimed_by="reviewer").exists()
        answer = as_reviewer.post("/review/undo/", headers=HTMX)
        assert (answer.status_code, find_shown_sample(answer)) == (422, None)
        assert "nothing to undo" in answer.text and 'data-review="undo" hidden>' in answer.text


class TestParts:
    @pytest.fixture
    def sample(self, ada):
        guardian = {"output": {"status": "refused", "targetFile": "USER.md", "reason": "No evidence."}}
        return SampleFactory(id="one", content=content(memoryGate=GATE, writeGuardian=guardian))

    def test_what_was_decided_is_shown_with_three_choices_each(self, as_reviewer, sample):
        page = as_reviewer.get("/review/").text
        for words in ("UPDATE_USER", "travels early", "A habit.", "refused", "USER.md", "No evidence."):
            assert words in page
        assert page.index('data-key="1"') < page.index('data-key="3"') < page.index('data-key="4"')
        assert page.count('name="gate_label"') == page.count('name="guardian_label"') == 3
        assert 'value="travels early"' in page  # where a correction starts from

    def test_each_part_keeps_its_keys_without_the_other(self, as_reviewer, sample):
        guardian = {"output": {"status": "refused", "targetFile": "USER.md", "reason": "No evidence."}}
        for part, keys in (({"memoryGate": GATE}, "123"), ({"writeGuardian": guardian}, "456")):
            DatasetSample.objects.filter(id="one").update(content=content(**part))
            page = as_reviewer.get("/review/").text
            assert [key for key in "123456" if f'data-key="{key}"' in page] == list(keys)

    def test_labels_and_corrections_are_stored(self, as_reviewer, sample):
        judge(as_reviewer, gate_label="corrected", gate_decision="NO_WRITE", gate_fact="", gate_reason="Once.",
              guardian_label="correct", guardian_status="written")  # fmt: skip
        sample.refresh_from_db()
        assert (sample.gate_label, sample.guardian_label, sample.guardian_corrected_output) == (
            "corrected",
            "correct",
            None,
        )
        assert orjson.loads(sample.gate_corrected_output) == {
            "decision": "NO_WRITE", "candidateFact": "", "reason": "Once.",
        }  # fmt: skip
        label = SampleLabel.objects.get()
        assert (label.gate_label, label.gate_corrected_output) == ("corrected", sample.gate_corrected_output)
        page = as_reviewer.get("/samples/one/").text
        assert "memory gate: Wrong, should be …" in page

    def test_a_guardian_correction(self, as_reviewer, sample):
        judge(as_reviewer, guardian_label="corrected", guardian_status="written", guardian_file="MEMORY.md")
        sample.refresh_from_db()
        corrected = {"status": "written", "targetFile": "MEMORY.md", "reason": ""}
        assert orjson.loads(sample.guardian_corrected_output) == corrected

    @pytest.mark.parametrize(
        ("data", "why"),
        [
            ({"gate_label": "corrected"}, "Choose the decision"),
            ({"gate_label": "corrected", "gate_decision": "UPDATE_USER"}, "Enter the fact"),
            ({"guardian_label": "corrected"}, "Choose what write_guardian should have done"),
        ],
    )
    def test_half_a_correction_is_refused(self, as_reviewer, sample, data, why):
        page = judge(as_reviewer, **data)
        assert page.status_code == 422
        assert why in page.text
        assert not SampleLabel.objects.exists()

    def test_a_sample_without_the_part_takes_no_label_for_it(self, as_reviewer, queue):
        page = judge(as_reviewer, gate_label="correct")
        assert page.status_code == 422
        assert "This sample has no memory_gate decision." in page.text

    @pytest.mark.parametrize(
        ("sample_type", "body", "words"),
        [
            ("memory_gate_positive", {"conversation": [{"role": "user", "message": "I like tea"}],
             "correctDecision": "UPDATE_USER", "correctFact": "likes tea"}, ["I like tea", "likes tea", "gate_label"]),
            ("memory_gate_negative", {"conversation": [], "incorrectDecision": "UPDATE_SOUL", "incorrectFact": "x",
             "rejectionReason": "a whim"}, ["UPDATE_SOUL", "a whim", "gate_label"]),
            ("write_guardian_decision", {"candidateFact": "likes tea", "targetFile": "USER.md", "decision": "written",
             "currentFileContent": "# User"}, ["likes tea", "USER.md", "written", "# User", "guardian_label"]),
        ],
    )  # fmt: skip
    def test_other_types(self, as_reviewer, ada, sample_type, body, words):
        text = orjson.dumps({"type": sample_type, **body}).decode()
        SampleFactory(id="other", sample_type=sample_type, turn_number=None, content=text)
        page = as_reviewer.get("/review/").text
        for word in (*words, 'name="notes"'):
            assert word in page


def test_progress_counts_days_hours_and_people(as_reviewer, queue, monkeypatch):
    hour = 3_600_000
    for at, who in ((T0 - 1, "reviewer"), (T0, "ann"), (T0 + hour, "reviewer"), (T0 + 3 * hour, "reviewer")):
        ReviewAction.objects.create(actor=who, kind="verdict", at=at)
    ReviewAction.objects.create(actor="reviewer", kind="bulk", at=T0 + 2, sample_count=40)
    ReviewAction.objects.create(actor="reviewer", kind="skip", at=T0 + 3, sample_id="x")
    ReviewAction.objects.create(actor="reviewer", kind="verdict", at=T0 + 3, state="undone")
    monkeypatch.setattr(clock, "now_ms", lambda: T0 + 3 * hour + 5)
    page = read_text(as_reviewer.get("/review/"))
    for words in ("3 to review", "43 done today (42 by you)"):
        assert words in page
    assert as_reviewer.get("/api/v1/review/progress?agent=bob").json()["waiting"] == 0
    progress = as_reviewer.get("/api/v1/review/progress").json()
    assert (progress["waiting"], progress["held_by_others"]) == (3, [])
    assert (progress["today"], progress["mine_today"], progress["mine_last_hour"], progress["mine"]) == (43, 42, 1, 43)


def test_the_number_of_queries_does_not_grow(as_reviewer, ada, django_assert_max_num_queries):
    for rows in (1, 30):
        SampleFactory.create_batch(rows, content=content(memoryGate=GATE))
        first = DatasetSample.objects.order_by("-created_at", "-id").first()
        for _ in range(rows):
            verdicts.label_sample(first.id, "needs_review", by="root")
        data = {"sample": first.id, "status": "needs_review", "ahead": ""}
        with django_assert_max_num_queries(27):
            as_reviewer.post("/review/label/", data, headers=HTMX)
