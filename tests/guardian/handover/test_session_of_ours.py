"""The session in which this site hands changes over: no person's words, no samples.

A write of this session is the write of its rollback.
"""

import pytest

from agents.models import Agent
from datasets.models import DatasetSample
from datasets.services import make_samples
from guardian import services
from guardian.handover import outcomes
from guardian.models import Handover, WriteGuardianAudit
from guardian.recording import snapshot_matching
from ledger.models import ConversationTurn, Session
from tests.collecting.collect_runs import run as collect
from tests.guardian.standing.recorded_homes import RecordedHome
from tests.homes import assistant, user

from .handover_rows import BEFORE, DB, NAME, create_recorded_write, get_write, hand_over, list_rollbacks, read_file

pytestmark = pytest.mark.django_db
TASK = "[OpenClaw Web task] One exact change of MEMORY.md in your workspace."


@pytest.mark.parametrize("provenance", [{}, {"provenance": {"kind": "external_user"}}])
@pytest.mark.parametrize("text", [TASK, "Change MEMORY.md."])
def test_it_is_imported_as_ours(tmp_path, real_files, provenance, text):
    home = RecordedHome(tmp_path / "openclaw")
    message = user(text)
    message["message"] |= provenance
    home.session("o1", message, assistant("Done."), key="agent:main:openclaw-web")
    collect(home)
    session = Session.objects.using("agent_main").get(id="o1")
    assert session.origin == "openclaw-web"
    assert ConversationTurn.objects.using("agent_main").filter(session_id="o1").count() == 1
    for numbers in (None, [1]):
        result = make_samples(Agent.objects.get(agent_id="main"), "o1", numbers, by="ann", include_excluded=True)
        assert not result.made and "handed this change" in result.skipped[0]["reason"]
    assert not DatasetSample.objects.exists()


@pytest.mark.parametrize("is_named", [True, False])
def test_a_change_that_an_import_saw_first_is_the_rollbacks(ada, home, command, is_named):
    create_recorded_write(home)
    command.does("nothing")
    row, _job = hand_over(ada)
    file = home.file(NAME, BEFORE, "ada")
    home.record(NAME, BEFORE, agent="ada", session="openclaw-web")
    services.store_version(DB, NAME, BEFORE, modified_ms=file.stat().st_mtime_ns // 1_000_000)
    snapshot_matching.match_new_snapshots(DB, NAME)
    unreported = WriteGuardianAudit.objects.using(DB).exclude(id="w1")
    if is_named:  # by OpenClaw's record
        unreported.update(origin="agent", session_key="agent:ada:openclaw-web")
    assert [write.origin for write in unreported.all()] == ["agent" if is_named else "unattributed"]
    outcomes.check_again(ada, Handover.objects.using(DB).get(id=row.id), by="otto")
    assert [(write.id, write.origin) for write in unreported.all()] == [(row.own_audit_id, "rollback")]
    assert get_write().status == "rolled_back" and list_rollbacks()[0].own_audit_id == row.own_audit_id
    snapshot_matching.match_new_snapshots(DB, NAME)
    assert unreported.count() == 1 and read_file(home) == BEFORE
