"""The page of a checkpoint, and the button that builds one for a compaction."""

import re

import pytest

from artifacts import services
from artifacts.models import Artifact
from ledger.checkpoints.pack import KIND
from people.models.bookkeeping import AuditEntry
from tests.factories import DecisionFactory
from tests.homes import assistant, result, user
from tests.ledger.checkpoints.checkpoint_packs import compaction, make_records, save_packs
from tests.ledger.outputs.stored_outputs import find_blob_file, list_handles, make_output
from tests.ledger.transcript_records import get_text, store_session

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("home")]
SESSION = "/agents/ada/sessions/s1/"
MAKE = f"{SESSION}checkpoints/"


def build_address(built, agent="ada"):
    return f"/agents/{agent}/checkpoints/{built.row.sha256}/"


def test_it_works(as_reviewer):
    store_session(*make_records())
    button = re.search(
        r'action="([^"]+)">\s*<input[^>]+csrf[^>]+>\s*<input[^>]+value="r14"', get_text(as_reviewer.get(SESSION))
    )
    assert button[1] == MAKE
    answer = as_reviewer.post(MAKE, {"compaction": "r14"}, follow=True)
    page = get_text(answer)
    assert "Checkpoint created." in page and "11 records that a compaction removed" in page
    assert answer.redirect_chain[0][0].startswith("/agents/ada/checkpoints/")
    assert 'href="/agents/ada/sessions/s1/?record=r14#r-r14"' in page
    assert 'href="/agents/ada/sessions/s1/?record=r7#r-r7">2</a>' in page
    assert "Why does the import fail?" in page and "skip truncated lines." in page
    assert f'href="/agents/ada/artifacts/{list_handles()[0][-64:]}/"' in page
    assert f"openclaw-web artifact fetch {list_handles()[0]} --mode grep" in page
    assert 'data-copy-from="bundle"' in page


def test_making_it_again_goes_to_the_same_and_the_artifact_it_is_leads_to_it(as_reviewer):
    store_session(*make_records())
    address = as_reviewer.post(MAKE, {"compaction": "r14"})["Location"]
    second = as_reviewer.post(MAKE, follow=True)
    assert second.redirect_chain[0][0] == address and "This checkpoint already exists." in get_text(second)
    assert f'href="{address}"' in get_text(as_reviewer.get(address.replace("checkpoints", "artifacts")))


def test_decisions_of_the_gate_are_in_it(as_reviewer):
    store_session(*make_records())
    DecisionFactory(turn_id="s1:r1", session_id="s1", candidate_fact="prefers zstd", created_at=0)
    assert "UPDATE_USER: prefers zstd" in get_text(as_reviewer.post(MAKE, follow=True))


@pytest.mark.parametrize("which", ["r1", "all", "", "x\x00", "x" * 5000])
def test_what_is_no_compaction_is_refused(as_reviewer, which):
    store_session(*make_records())
    answer = as_reviewer.post(MAKE, {"compaction": which}, follow=True)
    assert answer.redirect_chain[0][0] == SESSION
    assert "notice--error" in get_text(answer)


def test_without_a_compaction_or_for_who_may_only_look_there_is_no_button(as_reviewer, as_stranger):
    store_session(user("1"))
    assert "no compaction" in get_text(as_reviewer.post(MAKE, follow=True))
    store_session(*make_records(), session_id="s2")
    for browser, session in ((as_reviewer, "s1"), (as_stranger, "s2")):
        assert "Create checkpoint" not in get_text(browser.get(SESSION.replace("s1", session)))


def test_of_another_agent_it_is_not_there(as_admin):
    [built] = save_packs(store_session(*make_records()))
    assert as_admin.get(build_address(built, "bob")).status_code == 404
    for name in ("x", "ocm_artifact:v1:sha256:x", "A" * 64, "0" * 64):
        assert as_admin.get(f"/agents/ada/checkpoints/{name}/").status_code == 404
    assert as_admin.post("/agents/ada/sessions/nothing/checkpoints/").status_code == 404


def test_what_is_damaged_or_no_pack_says_so(as_stranger):
    [built] = save_packs(store_session(*make_records()))
    find_blob_file(built.row.handle).write_bytes(b"x")
    other, _stored = services.stash("agent_ada", '{"schema":"<b>"}', kind=KIND)
    for sha256, words in ((built.row.sha256, "damaged"), (other.sha256, "not a checkpoint")):
        answer = as_stranger.get(f"/agents/ada/checkpoints/{sha256}/")
        assert answer.status_code == 409 and words in get_text(answer)


def test_it_is_there_when_the_session_is_gone(as_stranger):
    session = store_session(*make_records())
    [built] = save_packs(session)
    session.delete()
    page = get_text(as_stranger.get(build_address(built)))
    assert "Why does the import fail?" in page and "?record=" not in page


def test_hostile_texts_are_escaped(as_stranger):
    nasty = "<script>alert(1)</script>\u202e\x00"
    session = store_session(
        user(nasty),
        assistant(
            f"Decision: {nasty}", ("c1", nasty, {"path": nasty}), ("c2", "read", {"path": nasty}), ("c3", "x", {})
        ),
        result("c1", make_output(400), name=nasty, details={"error": nasty, "exitCode": 1}),
        result("c2", "x", name="read"),
        user("y"),
        compaction("r5", summary=f"{nasty} [x](javascript:alert(1))", details={"modifiedFiles": [nasty]}),
    )
    [built] = save_packs(session)
    page = get_text(as_stranger.get(build_address(built)))
    assert not [odd for odd in ("<script>alert", "\u202e", "\x00", 'href="javascript') if odd in page]


def test_building_and_opening_are_in_the_audit_log(as_reviewer):
    store_session(*make_records())
    as_reviewer.post(MAKE, follow=True)
    entries = [
        (entry.actor, entry.action, entry.object_type, entry.object_id, entry.agent_id)
        for entry in AuditEntry.objects.filter(object_type="checkpoint").order_by("at", "id")
    ]
    target = ("checkpoint", Artifact.objects.using("agent_ada").get(kind="checkpoint").handle, "ada")
    assert entries == [("reviewer", "checkpoint_built", *target), ("reviewer", "read", *target)]
