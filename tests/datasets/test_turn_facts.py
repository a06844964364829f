"""Facts of how turns began and ended: stored with samples and shown.

Exports and bulk verdicts leave some turns out for them.
"""

import pytest
from django.urls import reverse

from datasets.exports import exports
from datasets.models import DatasetExport, DatasetSample
from datasets.services import describe_problems, make_samples
from ledger.models import Session
from openclaw_web.errors import Refused
from tests.datasets.exports.export_helpers import build_export, excluded_counts, read_rows
from tests.factories import SampleFactory
from tests.homes import assistant, result, user
from tests.ledger.transcript_records import store_session

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("own_home")]
PROMPTS = {
    "cron": "[cron:74a5 Morning orders] Summarise the orders.",
    "heartbeat": "Read HEARTBEAT.md if it exists (workspace context). Follow it strictly.",
    "new_session": "A new session was started via /new or /reset. Greet the person.",
    "memory_flush": "Pre-compaction memory flush. Store durable memories now.",
    "subagent_task": "[Subagent Context] You are a subagent. [Subagent Task]: count files",
    "system_message": "[System Message] A task has finished.",
    "": "When do we close? [cron:x] is what I read in the log.",
}

LEFT_OUT = {"injected": 8, "interrupted": 1, "cut_off": 3}


def store_samples(agent):
    """Store a session with a turn of each kind; return its samples in turn order."""
    records = [record for prompt in PROMPTS.values() for record in (user(prompt), assistant("Done."))]
    records += [user("Anything new?"), assistant("NO_REPLY"), user("Still there?"), assistant("HEARTBEAT_OK, yes")]
    for stop in ("length", "aborted", "error", "toolUse"):
        cut = assistant("It begins with")
        cut["message"]["stopReason"] = stop
        records += [user(f"Tell me all ({stop})"), cut]
    store_session(*records)
    made = make_samples(agent, "s1", None, by="ann", include_excluded=True)
    assert not made.skipped and not made.excluded and len(made.made) == len(PROMPTS) + 6
    return list(DatasetSample.objects.order_by("turn_number"))


def test_both_are_stored_with_new_samples(ada):
    samples = store_samples(ada)
    assert [sample.prompted_by for sample in samples] == [*PROMPTS, "silent", "silent", "", "", "", ""]
    assert [sample.reply_stop for sample in samples[-5:]] == ["stop", "length", "aborted", "error", "toolUse"]


@pytest.mark.parametrize(
    ("include", "rows"),
    [
        ([], 1),
        (["injected"], 9),
        (["cut_off"], 4),
        (["interrupted"], 2),
    ],
)
def test_exports_leave_them_out_by_default_and_say_so(ada, include, rows):
    store_samples(ada)
    DatasetSample.objects.update(annotation_status="approved")
    export = build_export(include=include)
    manifest = export.manifest
    assert manifest["counts"]["rows"] == rows
    assert excluded_counts(export) == {name: count for name, count in LEFT_OUT.items() if name not in include}
    assert manifest["options"]["include"] == include


def test_a_turn_that_is_left_out_is_not_learned_with_the_next(ada):
    store_session(user(PROMPTS["cron"]), assistant("Summary."), user("Thanks"), assistant("You are welcome."))
    make_samples(ada, "s1", None, by="ann", include_excluded=True)
    DatasetSample.objects.update(annotation_status="approved")
    text = str(read_rows(build_export("sharegpt")))
    assert "Thanks" in text and "Summary." not in text


def test_they_are_marked_in_the_list_and_on_the_page_of_a_sample(ada, as_reviewer):
    samples = store_samples(ada)
    page = as_reviewer.get("/samples/").text
    assert "Scheduled task</span>" in page and "Silent reply</span>" in page and "cut off</span>" in page
    for sample, words in ((samples[0], "Scheduled task"), (samples[-4], "Reply cut off")):
        assert f"{words}</span>" in as_reviewer.get(sample.get_absolute_url()).text
        assert f"{words}</span>" in as_reviewer.get(f"/review/?sample={sample.id}").text
    page = as_reviewer.get(samples[6].get_absolute_url()).text
    assert "Reply cut off" not in page and 'class="badge badge--plain"' not in page


def test_many_at_once_are_approved_without_what_was_cut_off(ada, as_reviewer):
    samples = store_samples(ada)
    bulk, label = reverse("datasets:samples_bulk"), reverse("datasets:samples_bulk_label")
    assert "The replies of 3 samples were cut off" in as_reviewer.get(bulk, {"verdict": "approved"}).text
    assert "were cut off" not in as_reviewer.get(bulk, {"verdict": "rejected"}).text
    answer = as_reviewer.post(label, {"status": "approved", "expected_count": len(samples)}, follow=True)
    assert "3 were skipped because their replies were cut off." in answer.text
    waiting = DatasetSample.objects.filter(annotation_status="pending")
    assert {sample.reply_stop for sample in waiting} == {"length", "aborted", "error"}
    answer = as_reviewer.post(f"{label}?status=pending", {"status": "approved", "expected_count": 3}, follow=True)
    assert "All of these replies were cut off. Review them one at a time." in answer.text
    as_reviewer.post(f"{label}?status=pending", {"status": "rejected", "expected_count": 3})
    assert not DatasetSample.objects.filter(annotation_status="pending").exists()


def test_an_export_of_nothing_else_is_refused(ada):
    SampleFactory(annotation_status="approved", prompted_by="cron", reply_stop="stop")
    with pytest.raises(Refused, match="Started by OpenClaw itself"):
        exports.check_request("one", "alpaca", "reply")
    assert not DatasetExport.objects.exists() and not Session.objects.using("agent_ada").exists()


def test_turns_that_exports_leave_out_need_to_be_chosen(ada, as_reviewer):
    cut = assistant("Counting.", ("c1", "exec", {}))
    picture = user("")
    picture["message"]["content"] = [{"type": "image", "data": "AA==", "mimeType": "image/png"}]
    store_session(
        *(user("You are running a boot check. Follow BOOT.md."), assistant("Done.")),
        *(user("[Something new - for context]\nHello"), assistant("Hi.")),
        *(user("Count the boats"), cut, user("in French please"), result("c1", "17"), assistant("Dix-sept.")),
        *(picture, assistant("A tit.")),
        *(user("Thanks"), assistant("You are welcome.")),
    )
    made = make_samples(ada, "s1", None, by="ann")
    excluded = {"injected": 1, "unknown_envelope": 1, "interrupted": 1, "picture": 1}
    assert (len(made.made), made.excluded, made.skipped, made.left) == (2, excluded, [], 0)
    assert "4 turns left out" in made.sentence and any(
        "picture or file" in problem for problem in describe_problems(made)
    )
    address = "/api/v1/agents/ada/sessions/s1/samples"
    answer = as_reviewer.post(address, {"all": True}, content_type="application/json").json()
    assert (answer["made"], answer["excluded"]) == ([], excluded)
    answer = as_reviewer.post(address, {"all": True, "include_excluded": True}, content_type="application/json").json()
    assert (len(answer["made"]), answer["excluded"], len(answer["skipped"])) == (3, {}, 1)


def test_a_chosen_turn_becomes_a_sample_whoever_began_it(ada):
    store_session(user("You are running a boot check. Follow BOOT.md."), assistant("Done."))
    made = make_samples(ada, "s1", [1], by="ann")
    assert len(made.made) == 1 and DatasetSample.objects.get().prompted_by == "boot"


def test_in_a_session_of_programs_nobody_is_taken_for_a_person(ada):
    store_session(user("Sum up."), assistant("All is well."))
    Session.objects.using("agent_ada").update(session_key="agent:ada:cron:j1")
    assert make_samples(ada, "s1", None, by="ann").excluded == {"injected": 1}
    make_samples(ada, "s1", [1], by="ann")
    assert DatasetSample.objects.get().prompted_by == "cron"
