"""The page of a checkpoint, and the button on a compaction that makes one."""

import re

import pytest

from artifacts import services
from artifacts.models import Artifact
from ledger.checkpoints.pack import KIND
from people.models.bookkeeping import AuditEntry
from tests.factories import DecisionFactory
from tests.homes import assistant, result, user
from tests.ledger.checkpoints.checkpoints import compaction, saved, worked
from tests.ledger.outputs.stashing import blob, handles, lines
from tests.ledger.talks import tell, text_of

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("home")]
SESSION = "/agents/ada/sessions/s1/"
MAKE = f"{SESSION}checkpoints/"


def page_of(built, agent="ada"):
    return f"/agents/{agent}/checkpoints/{built.row.sha256}/"


def test_it_works(as_reviewer):
    tell(*worked())
    button = re.search(
        r'action="([^"]+)">\s*<input[^>]+csrf[^>]+>\s*<input[^>]+value="r14"', text_of(as_reviewer.get(SESSION))
    )
    assert button[1] == MAKE
    answer = as_reviewer.post(MAKE, {"compaction": "r14"}, follow=True)
    page = text_of(answer)
    assert "Checkpoint created." in page and "11 records that a compaction removed" in page
    assert answer.redirect_chain[0][0].startswith("/agents/ada/checkpoints/")
    assert 'href="/agents/ada/sessions/s1/?record=r14#r-r14"' in page
    assert 'href="/agents/ada/sessions/s1/?record=r7#r-r7">2</a>' in page
    assert "Why does the import fail?" in page and "skip truncated lines." in page
    assert f'href="/agents/ada/artifacts/{handles()[0][-64:]}/"' in page
    assert f"openclaw-web artifact fetch {handles()[0]} --mode grep" in page
    assert 'data-copy-from="bundle"' in page


def test_making_it_again_goes_to_the_same_and_the_artifact_it_is_leads_to_it(as_reviewer):
    tell(*worked())
    address = as_reviewer.post(MAKE, {"compaction": "r14"})["Location"]
    second = as_reviewer.post(MAKE, follow=True)
    assert second.redirect_chain[0][0] == address and "This checkpoint already exists." in text_of(second)
    assert f'href="{address}"' in text_of(as_reviewer.get(address.replace("checkpoints", "artifacts")))


def test_decisions_of_the_gate_are_in_it(as_reviewer):
    tell(*worked())
    DecisionFactory(turn_id="s1:r1", session_id="s1", candidate_fact="prefers zstd", created_at=0)
    assert "UPDATE_USER: prefers zstd" in text_of(as_reviewer.post(MAKE, follow=True))


@pytest.mark.parametrize("which", ["r1", "all", "", "x\x00", "x" * 5000])
def test_what_is_no_compaction_is_refused(as_reviewer, which):
    tell(*worked())
    answer = as_reviewer.post(MAKE, {"compaction": which}, follow=True)
    assert answer.redirect_chain[0][0] == SESSION
    assert "notice--error" in text_of(answer)


def test_without_a_compaction_or_for_who_may_only_look_there_is_no_button(as_reviewer, as_stranger):
    tell(user("1"))
    assert "no compaction" in text_of(as_reviewer.post(MAKE, follow=True))
    tell(*worked(), session_id="s2")
    for browser, session in ((as_reviewer, "s1"), (as_stranger, "s2")):
        assert "Create checkpoint" not in text_of(browser.get(SESSION.replace("s1", session)))


def test_of_another_agent_it_is_not_there(as_admin):
    [built] = saved(tell(*worked()))
    assert as_admin.get(page_of(built, "bob")).status_code == 404
    for name in ("x", "ocm_artifact:v1:sha256:x", "A" * 64, "0" * 64):
        assert as_admin.get(f"/agents/ada/checkpoints/{name}/").status_code == 404
    assert as_admin.post("/agents/ada/sessions/nothing/checkpoints/").status_code == 404


def test_what_is_damaged_or_no_pack_says_so(as_stranger):
    [built] = saved(tell(*worked()))
    blob(built.row.handle).write_bytes(b"x")
    other, _stored = services.stash("agent_ada", '{"schema":"<b>"}', kind=KIND)
    for sha256, words in ((built.row.sha256, "damaged"), (other.sha256, "not a checkpoint")):
        answer = as_stranger.get(f"/agents/ada/checkpoints/{sha256}/")
        assert answer.status_code == 409 and words in text_of(answer)


def test_it_is_there_when_the_session_is_gone(as_stranger):
    session = tell(*worked())
    [built] = saved(session)
    session.delete()
    page = text_of(as_stranger.get(page_of(built)))
    assert "Why does the import fail?" in page and "?record=" not in page


def test_hostile_texts_are_escaped(as_stranger):
    nasty = "<script>alert(1)</script>\u202e\x00"
    session = tell(
        user(nasty),
        assistant(
            f"Decision: {nasty}", ("c1", nasty, {"path": nasty}), ("c2", "read", {"path": nasty}), ("c3", "x", {})
        ),
        result("c1", lines(400), name=nasty, details={"error": nasty, "exitCode": 1}),
        result("c2", "x", name="read"),
        user("y"),
        compaction("r5", summary=f"{nasty} [x](javascript:alert(1))", details={"modifiedFiles": [nasty]}),
    )
    [built] = saved(session)
    page = text_of(as_stranger.get(page_of(built)))
    assert not [odd for odd in ("<script>alert", "\u202e", "\x00", 'href="javascript') if odd in page]


def test_building_and_opening_are_in_the_audit_log(as_reviewer):
    tell(*worked())
    as_reviewer.post(MAKE, follow=True)
    found = [
        (entry.actor, entry.action, entry.object_type, entry.object_id, entry.agent_id)
        for entry in AuditEntry.objects.filter(object_type="checkpoint").order_by("at", "id")
    ]
    about = ("checkpoint", Artifact.objects.using("agent_ada").get(kind="checkpoint").handle, "ada")
    assert found == [("reviewer", "checkpoint_built", *about), ("reviewer", "read", *about)]
