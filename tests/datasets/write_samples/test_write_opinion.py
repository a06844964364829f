"""One form for an opinion on a write: verdict, correction, rollback, rule and sample.

Each part is offered only to users who may do it.
"""

import re

import pytest
from django.test import Client

from datasets.kinds import taken_back, verdict_service
from datasets.kinds.write import WRITE, Correction
from datasets.models import DatasetSample, SampleLabel
from datasets.review import claims
from guardian.corrections import rules
from guardian.models import BehaviorCorrection, Rollback, WriteGuardianAudit
from guardian.rollbacks import service
from jobs.progress import Progress
from people.models.bookkeeping import AuditEntry
from tests import faults
from tests.conftest import BACKEND
from tests.datasets.conversations import store_turns
from tests.datasets.page_text import read_text
from tests.factories import AgentFactory
from tests.guardian.corrections.correction_rows import create_correction
from tests.guardian.handover.conftest import command, home  # noqa: F401 - fixtures
from tests.guardian.handover.handover_rows import create_recorded_write, read_file
from tests.guardian.rollbacks.conftest import file  # noqa: F401 - a fixture
from tests.guardian.write_rows import create_write

pytestmark = pytest.mark.django_db
DB = "agent_ada"
BEFORE, AFTER = b"# Facts\n", b"# Facts\nLikes tea.\n"
PAGE, SAVE = "/agents/ada/opinions/w1/", "/agents/ada/opine/w1/"
API = "/api/v1/agents/ada/guardian/writes/w1/opinion"
ABSENT, OTHER = {"opinion": "should_not_be_there"}, {"opinion": "should_say"}
RULE = {"apply_to_future": "on", "contains": "likes, loves\ntea", "name": "Hot drinks"}


@pytest.fixture
def write(ada, file):  # noqa: F811
    """A write of a known turn; its file still has the written content."""
    store_turns(3)
    row = create_write(DB, 1, BEFORE, AFTER, turn_id="s1:u2")
    file.write_bytes(AFTER)
    return row


def read_seen(page):
    match = re.search(r'name="seen" value="(\w*)"', page.text)
    return match[1] if match else ""


def read_stored():
    """The stored statuses of corrections, labels and statuses of samples, rollbacks and rules."""
    return {
        "corrections": [row.corrected_status for row in BehaviorCorrection.objects.using(DB).order_by("corrected_at")],
        "samples": [(row.guardian_label, row.annotation_status) for row in DatasetSample.objects.all()],
        "rollbacks": Rollback.objects.using(DB).count(),
        "rules": [row.name for row in rules.find_active_rules(DB)],
    }


WHOLE = {"corrections": ["refused"], "samples": [("corrected", "approved")], "rollbacks": 1, "rules": ["Hot drinks"]}


def test_should_not_be_there_with_everything(as_operator, write, file):  # noqa: F811
    page = as_operator.get(PAGE, ABSENT)
    text = read_text(page)
    assert "Facts that contain all of" in text and "Facts that contain all of optional" not in text
    for part in (
        "Wrong: should not be there",
        "Roll it back now, as shown below",
        "Make this a rule",
        "Use it for training",
    ):
        assert part in text
    assert (
        "The file has not changed since. The previous version will be restored." in text and "It should say" not in text
    )
    sent = ABSENT | RULE | {"reason": "In jest.", "way": "roll_back", "seen": read_seen(page), "makes_sample": "on"}
    for _press in range(2):  # pressed twice, or sent again: the verdict is stored once
        answer = as_operator.post(SAVE, sent, follow=True)
        assert "Saved: should not be there." in read_text(answer) and read_stored() == WHOLE
    assert file.read_bytes() == BEFORE and SampleLabel.objects.count() == 1
    row = BehaviorCorrection.objects.using(DB).get()
    assert (row.correction_reason, Rollback.objects.using(DB).get().reason) == ("In jest.", "In jest.")
    entries = AuditEntry.objects.filter(object_id="w1").exclude(action="read").order_by("id")
    assert [entry.action for entry in entries] == ["write_corrected", "write_rolled_back"]
    assert "Wrong: should not be there" in read_text(as_operator.get("/agents/ada/write-verdicts/w1/"))


@pytest.mark.parametrize(
    ("verdict", "correction", "status"),
    [("right", None, "needs_review"), ("wrong", None, "needs_review"), ("wrong", Correction("refused"), "approved")],
)
def test_the_sample_of_a_write_that_is_rolled_back_needs_review(ada, write, verdict, correction, status):
    """A correction stays: it is what the sample teaches."""
    sample = verdict_service.give_verdict(WRITE, ada, "w1", verdict, by="ann", correction=correction)
    claims.take(sample.id, by="bea")
    service.roll_back(ada, "w1", service.RollbackRequest("otto", "In jest.", accepts_effect=True), seen=None)
    sample.refresh_from_db()
    assert sample.annotation_status == status
    if verdict == "right":
        assert (sample.annotated_by, sample.annotation_notes) == ("otto", "The write was rolled back.")
        assert SampleLabel.objects.count() == 2
        DatasetSample.objects.update(annotation_status="approved")  # as in homes of before
        assert taken_back.run({}, Progress())["count"] == 1
        sample.refresh_from_db()
        assert (sample.annotation_status, sample.annotated_by) == ("needs_review", "otto")
    assert taken_back.run({}, Progress())["count"] == 0


def test_labellers_say_it_without_rollback_and_rule(as_reviewer, write, file):  # noqa: F811
    text = read_text(as_reviewer.get(PAGE, ABSENT))
    assert "Roll it back" not in text and "Make this a rule" not in text and "Use it for training" in text
    as_reviewer.post(SAVE, ABSENT | RULE | {"reason": "No.", "way": "roll_back", "seen": ""})
    assert read_stored() == {"corrections": ["refused"], "samples": [], "rollbacks": 0, "rules": []}
    assert file.read_bytes() == AFTER


def test_a_labeller_ends_no_rule_of_an_operator(as_operator, reviewer, write):
    as_reviewer = Client()
    as_reviewer.force_login(reviewer, backend=BACKEND)
    as_operator.post(SAVE, ABSENT | RULE | {"reason": "In jest."})
    before = read_stored()
    assert before["rules"] == ["Hot drinks"]
    correction = {"status": "written", "fact": "Likes coal.", "file": "MEMORY.md", "reason": "No."}
    right = ("/agents/ada/judge-write/w1/", {"verdict": "right", "correct_status": "refused"})
    doors = (
        (right, 422),
        ((SAVE, OTHER | {"fact": "Likes coal.", "file": "MEMORY.md", "reason": "No."}), 422),
        (("/agents/ada/correct/w1/", correction), 422),
    )
    for (address, sent), status in doors:
        answer = as_reviewer.post(address, sent)
        assert answer.status_code == status and "Ask an operator" in answer.text, (address, answer.text[-2000:])
    for address, body in ((API, {"opinion": "right"}), (API.replace("opinion", "correction"), correction)):
        answer = as_reviewer.post(address, body, "application/json")
        assert answer.status_code == 409 and "Ask an operator" in answer.text
    assert read_stored() == before
    assert as_operator.post(*right).status_code == 302
    assert read_stored()["rules"] == []


def test_should_say_something_else(as_reviewer, write):
    page = as_reviewer.get(PAGE, OTHER)
    assert "It should say" in read_text(page) and "Likes tea.</textarea>" in page.text
    same = OTHER | {"fact": "Likes tea.", "file": "MEMORY.md", "reason": "No."}
    answer = as_reviewer.post(SAVE, same)
    assert answer.status_code == 422 and "Nothing differs" in answer.text
    assert as_reviewer.post(SAVE, same | {"fact": "Likes coal.", "makes_sample": "on"}).status_code == 302
    row, sample = BehaviorCorrection.objects.using(DB).get(), DatasetSample.objects.get()
    assert (row.corrected_candidate_fact, row.corrected_status) == ("Likes coal.", "written")
    assert (sample.guardian_label, sample.body["userCorrection"]["correctedFact"]) == ("corrected", "Likes coal.")


def test_a_rollback_that_fails_takes_nothing_back(as_operator, write, file):  # noqa: F811
    page = as_operator.get(PAGE, ABSENT)
    file.write_bytes(b"# Facts\nLikes tea!\nAnd more.\n")
    sent = ABSENT | RULE | {"reason": "In jest.", "way": "roll_back", "seen": read_seen(page), "makes_sample": "on"}
    text = read_text(as_operator.post(SAVE, sent, follow=True))
    assert "Saved: should not be there. The rule is on." in text
    assert "The rollback was not done: MEMORY.md has changed since the preview." in text
    assert read_stored() == WHOLE | {"rollbacks": 0}


def test_a_disk_that_fails_is_said_as_well(as_operator, write, file):  # noqa: F811
    sent = ABSENT | {"reason": "In jest.", "way": "roll_back", "seen": read_seen(as_operator.get(PAGE, ABSENT))}

    def fail():
        raise OSError(28, "No space left on device")

    with faults.before_file_event("open", lambda path: path.endswith(".rollback"), fail):
        text = read_text(as_operator.post(SAVE, sent, follow=True))
    assert "The rollback was not done:" in text and read_stored()["corrections"] == ["refused"]
    assert file.read_bytes() == AFTER


def test_a_verdict_that_is_refused_takes_the_correction_with_it(as_operator, write):
    as_operator.post("/agents/ada/judge-write/w1/", {"verdict": "none", "expected": ""})
    sample = DatasetSample.objects.get()
    claims.take(sample.id, by="ann")
    answer = as_operator.post(SAVE, ABSENT | RULE | {"reason": "No."})
    assert answer.status_code == 422 and "ann" in answer.text
    assert read_stored() | {"samples": []} == {"corrections": [], "samples": [], "rollbacks": 0, "rules": []}
    assert not AuditEntry.objects.filter(action="write_corrected").exists()


def test_a_rule_that_is_none_takes_all_with_it(as_operator, write):
    answer = as_operator.post(SAVE, ABSENT | RULE | {"contains": "milk", "reason": "No.", "makes_sample": "on"})
    assert answer.status_code == 422 and "does not contain “milk”" in answer.text and "Hot drinks" in answer.text
    assert read_stored() == {"corrections": [], "samples": [], "rollbacks": 0, "rules": []}


def test_a_write_that_cannot_be_a_sample_is_corrected_and_says_why(as_operator, write):
    create_write(DB, 2, AFTER, b"\xff", candidate_fact="Likes milk.", turn_id=None)
    address = SAVE.replace("w1", "w2")
    assert "cannot become a sample" in read_text(as_operator.get(PAGE.replace("w1", "w2"), ABSENT))
    text = read_text(as_operator.post(address, ABSENT | {"reason": "No."}, follow=True))
    assert "Saved: should not be there. The file is not UTF-8 text" in text
    right = {"opinion": "right"}
    assert as_operator.post(API.replace("w1", "w9"), right, "application/json").status_code == 404


def test_right_keeps_a_write_that_breaks_a_rule(as_reviewer, write):
    rule = create_correction(apply_to_future=True, contains=[["tea"]])
    create_write(DB, 2, AFTER, b"# Facts\nTea!\n", candidate_fact="Green tea.", turn_id="s1:u3", rule_id=rule.id)
    page = as_reviewer.get("/agents/ada/corrections/w2/")
    assert "This breaks a rule. Say that it is wrong, or keep it as an exception." in read_text(page)
    assert "Keep as an exception" in read_text(page)
    as_reviewer.post("/agents/ada/judge-write/w2/", {"verdict": "right", "expected": ""})
    row = BehaviorCorrection.objects.using(DB).get(audit_id="w2")
    assert (row.corrected_status, DatasetSample.objects.get().guardian_label) == ("written", "correct")
    assert "Keep as an exception" not in read_text(as_reviewer.get("/agents/ada/corrections/w2/"))


@pytest.mark.parametrize("way", ["the list", "review"])
def test_undo_leaves_everything_as_it_was(as_operator, write, way):
    def undo():
        sample = DatasetSample.objects.get()
        if way == "review":
            return as_operator.post("/review/undo/", follow=True)
        sent = {"verdict": "undo", "place": "row", "expected": sample.label_id}
        return as_operator.post(f"/agents/ada/judge-write/{sample.audit_id}/", sent, headers={"HX-Request": "true"})

    rule = create_correction(apply_to_future=True, contains=[["tea"]])
    before = read_stored()
    create_write(DB, 2, AFTER, b"# Facts\nTea!\n", candidate_fact="Green tea.", turn_id="s1:u3", rule_id=rule.id)
    as_operator.post("/agents/ada/judge-write/w2/", {"verdict": "right", "expected": ""})
    assert read_stored()["corrections"] == ["refused", "written"]
    assert "The correction was withdrawn." in read_text(undo())
    assert read_stored() == before | {"samples": [(None, None)]}  # in no queue
    assert as_operator.get("/api/v1/samples?status=pending").json()["items"] == []
    assert "Keep as an exception" in read_text(as_operator.get("/agents/ada/corrections/w2/"))
    # A second verdict makes it a sample again. Undoing a verdict restores the rule that it ended.
    as_operator.post("/agents/ada/judge-write/w2/", {"verdict": "right", "expected": ""})
    assert read_stored()["samples"] == [("correct", "approved")] and read_stored()["corrections"] == [
        "refused",
        "written",
    ]
    as_operator.post("/agents/ada/judge-write/w1/", {"verdict": "right", "expected": ""})
    assert read_stored()["rules"] == []
    DatasetSample.objects.filter(audit_id="w2").update(audit_id="w0")
    as_operator.post("/review/undo/")
    assert read_stored()["rules"] == before["rules"] and len(read_stored()["corrections"]) == 2


def test_a_lost_agent_holds_up_no_undo(as_reviewer, write):
    as_reviewer.post(SAVE, ABSENT | {"reason": "No.", "makes_sample": "on"})
    AgentFactory(agent_id="carol")  # whose file is not there
    DatasetSample.objects.update(agent_id="carol")
    assert "Undone" in read_text(as_reviewer.post("/review/undo/", follow=True))
    assert read_stored()["samples"] == [(None, None)]


@pytest.mark.parametrize("fact", ["很长的事实 😀 " * 12_000, "Likes tea.\r\n", " "])
def test_any_fact_may_be_wrong(as_reviewer, ada, file, fact):  # noqa: F811
    store_turns(3)
    create_write(DB, 1, BEFORE, AFTER, turn_id="s1:u2", candidate_fact=fact)
    assert as_reviewer.get(PAGE, ABSENT).status_code == as_reviewer.get(PAGE, OTHER).status_code == 200
    answer = as_reviewer.post(SAVE, ABSENT | {"reason": "No.", "makes_sample": "on"}, follow=True)
    assert "Saved: should not be there." in read_text(answer)
    assert read_stored()["corrections"] == ["refused"]


def test_right_takes_an_earlier_wrong_back(as_reviewer, write):
    as_reviewer.post(SAVE, ABSENT | {"reason": "No.", "makes_sample": "on"})
    label = DatasetSample.objects.get().label_id
    as_reviewer.post("/agents/ada/judge-write/w1/", {"verdict": "right", "expected": label})
    assert read_stored() == {
        "corrections": ["refused", "written"],
        "samples": [("correct", "approved")],
        "rollbacks": 0,
        "rules": [],
    }


def test_after_a_rollback_a_button_refuses_such_facts(as_operator, write):
    sent = {"reason": "In jest.", "way": "roll_back", "seen": read_seen(as_operator.get(PAGE, ABSENT))}
    as_operator.post(SAVE, ABSENT | sent)
    page = as_operator.get("/agents/ada/corrections/w1/")
    assert "Refuse facts like this" in read_text(page)
    form = as_operator.get("/agents/ada/writes/correct/w1/?refuse=1").text
    assert re.search(r'<option value="refused" selected>', form) and re.search(r"apply_to_future[^>]*checked", form)
    as_operator.post("/agents/ada/correct/w1/", {"status": "refused", "file": "MEMORY.md", "reason": "No."} | RULE)
    assert "Refuse facts like this" not in read_text(as_operator.get("/agents/ada/corrections/w1/"))


def test_rules_and_rollbacks_of_the_api_are_for_operators(as_reviewer, write):
    body = ABSENT | {"reason": "In jest."}
    for more in ({"rule": {"contains": [["tea"]]}}, {"rollback": "roll_back"}):
        assert as_reviewer.post(API, body | more, "application/json").status_code == 403
    assert read_stored()["corrections"] == []
    assert as_reviewer.post(API, body, "application/json").json()["correction"]["corrected_by"] == "reviewer"


def test_the_api_does_the_same_at_once(as_operator, write, file):  # noqa: F811
    body = ABSENT | {"reason": "In jest.", "rollback": "roll_back", "rule": {"contains": [["tea"]], "name": "Tea"}}
    first = as_operator.post(API, body, "application/json").json()
    assert (first["correction"]["name"], first["correction"]["contains"]) == ("Tea", [["tea"]])
    assert first["rolled_back"]["success"] and first["failure"] == first["no_sample"] == "" and first["sample_id"]
    again = as_operator.post(API, body, "application/json").json()
    assert again == first | {"rolled_back": None} and file.read_bytes() == BEFORE
    assert as_operator.post(API, {"opinion": "right", "rollback": "roll_back"}, "application/json").status_code == 409
    assert as_operator.post(API, {"opinion": "wrong"}, "application/json").status_code == 422


def test_three_ways_where_a_write_takes_the_file_out_of_the_prompt(as_operator, ada, home, command):  # noqa: F811
    store_turns(3)
    create_recorded_write(home)
    page = as_operator.get(PAGE, ABSENT)
    text = read_text(page)
    assert "Hand the change to the agent" in text and "Write it now, knowing" in text and "Leave the file" in text
    sent = ABSENT | {"reason": "Not true.", "seen": read_seen(page)}
    as_operator.post(SAVE, sent | {"way": "roll_back"})  # an ordinary rollback is refused with a message
    assert read_stored()["corrections"] == ["refused"] and read_stored()["rollbacks"] == 0
    answer = as_operator.post(SAVE, sent | {"way": "hand_over"})
    assert answer.status_code == 302 and "/writes/handovers/" in answer.url
    assert as_operator.get(answer.url).status_code == 200


def test_written_now_knowing_what_happens(as_operator, ada, home, command):  # noqa: F811
    create_recorded_write(home)
    sent = ABSENT | {"reason": "Not true.", "seen": read_seen(as_operator.get(PAGE, ABSENT)), "way": "write_now"}
    assert as_operator.post(SAVE, sent).status_code == 302
    assert b"coal" not in read_file(home) and Rollback.objects.using(DB).get().effect == "taken_out"
    assert WriteGuardianAudit.objects.using(DB).get(id="w1").status == "rolled_back"
