"""Rolling back on a page: preview, button, chosen conflicts, whole sessions."""

import json
import re
from contextlib import ExitStack

import pytest
from django.urls import reverse

from agents.models import Agent
from guardian.models import WriteGuardianAudit
from guardian.rollbacks import workspace_access
from people.models.bookkeeping import AuditEntry
from tests.guardian.write_rows import create_write
from tests.suite.commands import read_answer

from .rolled_back_writes import run_verb

DB = "agent_ada"
pytestmark = pytest.mark.django_db


def page(name="rollback", key="w1"):
    return reverse(f"guardian:{name}", args=["ada", key])


def read_seen(response):
    return re.search(r'name="seen" value="(\w*)"', response.content.decode())[1]


def status(key="w1"):
    return WriteGuardianAudit.objects.using(DB).get(id=key).status


def test_the_third_at_once_is_refused_and_keeps_what_was_typed(as_operator, file, ada):
    create_write(DB, 1, b"# Facts\n", b"# Facts\nLikes tea.\n")
    file.write_bytes(b"# Facts\nLikes tea.\n")
    sent = {"reason": "Not <i>true</i>.", "seen": read_seen(as_operator.get(page()))}
    with ExitStack() as opened:
        for number in range(workspace_access.MAX_WRITERS):
            opened.enter_context(workspace_access.exclusive_write(Agent(agent_id=f"elsewhere-{number}")))
        page_answer = as_operator.post(page("rollback_do"), sent)
        session = as_operator.post(page("session_rollback_do", "s1"), sent)
        program = as_operator.post("/api/v1/agents/ada/guardian/writes/w1/rollback", sent, "application/json")
    words = "Nothing was written: only 2 memory files can be written at a time. Try again in 5 seconds."
    for answer in (page_answer, session, program):
        assert (answer.status_code, answer.headers["Retry-After"]) == (503, "5") and words in answer.content.decode()
    assert (
        "Not &lt;i&gt;true&lt;/i&gt;." in page_answer.content.decode()
        and program.json()["code"] == "too_many_rollbacks"
    )
    assert status() == "written"
    assert as_operator.post(page("rollback_do"), sent).status_code == 302 and status() == "rolled_back"


def test_it_works(as_operator, file):
    create_write(DB, 1, b"# Facts\n", b"# Facts\nLikes <b>tea</b>.\n")
    file.write_bytes(b"# Facts\nLikes <b>tea</b>.\n")
    preview = as_operator.get(page())
    words = preview.content.decode()
    assert "The previous version will be restored" in words and "&lt;b&gt;tea" in words
    done = as_operator.post(
        page("rollback_do"), {"reason": "Not true.", "seen": read_seen(preview), "keeps_copy": "on"}
    )
    assert done.status_code == 302 and done.url == reverse("guardian:audit_detail", args=["ada", "w1"])
    assert file.read_bytes() == b"# Facts\n" and status() == "rolled_back"
    entry = AuditEntry.objects.get(action="write_rolled_back")
    assert (entry.object_id, entry.agent_id) == ("w1", "ada")
    again = as_operator.get(page())
    assert again.status_code == 409 and "already" in again.content.decode()
    assert 'href="/agents/ada/writes/w1/"' in again.content.decode() and "View all writes" in again.content.decode()


def test_a_reason_is_needed_and_the_file_must_be_as_it_was_seen(as_operator, file):
    create_write(DB, 1, b"a\n", b"b\n")
    file.write_bytes(b"b\n")
    first = read_seen(as_operator.get(page()))
    assert as_operator.post(page("rollback_do"), {"reason": " ", "seen": first}).status_code == 422
    file.write_bytes(b"b\nmore\n")
    late = as_operator.post(page("rollback_do"), {"reason": "Wrong.", "seen": first})
    assert late.status_code == 422 and "since the preview" in late.content.decode() and read_seen(late) != first
    assert file.read_bytes() == b"b\nmore\n" and status() == "written"
    assert as_operator.post(page("rollback_do"), {"reason": "Wrong.", "seen": read_seen(late)}).status_code == 302
    assert file.read_bytes() == b"a\nmore\n"


def test_a_conflict_is_chosen_with_the_ends_of_lines_of_the_file(as_operator, file):
    create_write(DB, 1, b"a\r\nb\r\n", b"a\r\nB\r\n")
    file.write_bytes(b"a\r\nBBB\r\n")
    preview = as_operator.get(page())
    words = preview.content.decode()
    assert "Before the write" in words and "BBB" in words and "Choose what the file should hold" in words
    sent = {"reason": "Both are wrong.", "seen": read_seen(preview), "content": "a\r\nmine\r\n"}
    as_operator.post(page("rollback_do"), sent)
    assert file.read_bytes() == b"a\r\nmine\r\n" and status() == "rolled_back"


def test_one_change_of_a_write(as_operator, file):
    create_write(DB, 1, b"a\nb\nc\nd\ne\n", b"A\nb\nc\nd\nE\n")
    file.write_bytes(b"A\nb\nc\nd\nE\n")
    first = read_seen(as_operator.get(page() + "?hunk=2"))
    as_operator.post(page("rollback_do") + "?hunk=2", {"reason": "Only this.", "seen": first})
    assert file.read_bytes() == b"A\nb\nc\nd\ne\n" and status() == "written"
    assert as_operator.get(page() + "?hunk=9").status_code == 409


def test_a_site_that_does_not_write_offers_the_patch(as_operator, file, settings):
    settings.WORKSPACE_WRITES = False
    create_write(DB, 1, b"a\n", b"b\n")
    file.write_bytes(b"b\n")
    words = as_operator.get(page()).content.decode()
    assert "OPENCLAW_WEB_WORKSPACE_WRITES=1" in words and "Download the patch" in words
    assert 'name="reason"' not in words
    patch = as_operator.get(page() + "?file=patch")
    assert patch.content == b"--- a/MEMORY.md\n+++ b/MEMORY.md\n@@ -1,1 +1,1 @@\n-b\n+a\n"
    assert as_operator.get(page() + "?file=content").content == b"a\n"
    assert as_operator.post(page("rollback_do"), {"reason": "x", "seen": ""}).status_code == 422
    assert file.read_bytes() == b"b\n"


def test_a_file_may_be_left_empty_where_somebody_has_to_choose(as_operator, file):
    create_write(DB, 1, b"a\n", b"b\n")
    file.write_bytes(b"other\n")
    sent = {"reason": "Wrong.", "seen": read_seen(as_operator.get(page())), "content": ""}
    assert as_operator.post(page("rollback_do"), sent).status_code == 302
    assert file.read_bytes() == b""


@pytest.mark.parametrize("now", [b"# Facts\n\nEnd.\n", b"# Facts\n\nEnd.\nMore.\n"], ids=["as before", "changed since"])
def test_a_file_that_holds_the_result_already_is_recognised_and_only_marked(as_operator, file, settings, now):
    create_write(DB, 1, b"# Facts\n\nEnd.\n", b"# Facts\nLikes tea.\n\nEnd.\n")
    file.write_bytes(now)  # by the patch, in an editor, or by the agent
    settings.WORKSPACE_WRITES = False
    preview = as_operator.get(page())
    assert "The file holds what this rollback would write" in preview.text and "Mark as rolled back" in preview.text
    code, output = run_verb("w1", "--preview")
    assert code == 0 and json.loads(output)["problem"] == ""
    stat = file.stat()
    as_operator.post(page("rollback_do"), {"reason": "Not true.", "seen": read_seen(preview)})
    assert status() == "rolled_back" and file.read_bytes() == now
    assert (file.stat().st_ino, file.stat().st_mtime_ns) == (stat.st_ino, stat.st_mtime_ns)
    assert not list(file.parent.glob(".*rollback"))


def test_a_file_that_lacks_only_a_part_of_the_result_is_not(as_operator, file, settings):
    create_write(DB, 1, b"a\nb\nc\nd\n", b"A\nb\nc\nD\n")
    file.write_bytes(b"a\nb\nc\nD\n")
    settings.WORKSPACE_WRITES = False
    assert "Mark as rolled back" not in as_operator.get(page()).text
    assert run_verb("w1", "--reason", "Wrong.")[0] == 3 and status() == "written"


def test_the_verb_takes_what_the_file_should_hold_from_a_file(file, tmp_path):
    create_write(DB, 1, b"a\nb\n", b"a\nB\n")
    file.write_bytes(b"a\nBBB\n")
    assert "--choose-file" in read_answer("guardian", "rollback", "w1", "--preview")[0]
    assert run_verb("w1", "--reason", "Wrong.")[0] == 3
    choice = tmp_path / "choice.md"
    assert run_verb("w1", "--reason", "Wrong.", "--choose-file", str(choice))[0] == 2
    choice.write_bytes(b"a\r\n\xff")
    for wrong in (("w1", "--preview"), ("--session", "s1", "--reason", "Wrong.")):
        assert run_verb(*wrong, "--choose-file", str(choice))[0] == 2
    assert run_verb("w1", "--reason", "Wrong.", "--choose-file", str(choice))[0] == 0
    assert file.read_bytes() == b"a\r\n\xff" and status() == "rolled_back"
