"""Files of a home around its transcripts: indexes, memory files, schedules and runs."""

import json
import os

import pytest
from django.core.management import call_command
from django.core.management.base import CommandError

from agents.models import Agent
from automation.models import CronJob, CronRunLog, SubagentRun
from guardian.models import FileSnapshot, WorkspaceFile
from jobs.models import JobRun
from ledger.models import PromptReport, Session
from tests.collecting.collect_runs import MAIN, count_events, run
from tests.homes import Home, user

pytestmark = pytest.mark.django_db


def test_deleted_and_reset_sessions_wait_until_asked_for(home):
    script = home.transcript(user("Old"), suffix=".deleted.2026-02-21T03-04-57.476Z")
    report = run(home)
    assert report["agents"]["main"]["transcripts"]["skipped_deleted"] == 1
    assert count_events() == 0
    run(home, include_deleted=True)
    session = Session.objects.using(MAIN).get()
    assert (session.id, session.source_state) == (script.session, "deleted")


def test_a_session_that_is_reset_later_keeps_its_rows(home):
    script = home.transcript(user("Old"))
    run(home)
    script.path.rename(f"{script.path}.reset.2026-02-21T03-05-02.724Z")
    run(home)
    assert (Session.objects.using(MAIN).get().source_state, count_events()) == ("reset", 2)


def test_the_index_names_sessions_and_keeps_skills_once(home):
    direct, scheduled = home.transcript(user("One")), home.transcript(user("Two"))
    skills = {"prompt": "a long text", "skills": [{"name": "weather"}]}
    files = [{"name": "SOUL.md", "rawChars": 7, "path": "/secret"}]
    report = {"injectedWorkspaceFiles": files, "systemPrompt": {"chars": 9}}
    entry = {"updatedAt": 1795231048843, "skillsSnapshot": skills, "systemPromptReport": report}
    delivery = {"channel": "irc", "to": "irc:alice", "accountId": "default"}
    home.index(
        {
            "agent:main:irc:direct:alice": {"sessionId": direct.session, "deliveryContext": delivery, **entry},
            "agent:main:cron:j1": {"sessionId": scheduled.session, **entry},
            f"agent:main:cron:j1:run:{scheduled.session}": {"sessionId": scheduled.session, **entry},
        }
    )
    run(home)
    first, second = (Session.objects.using(MAIN).get(id=script.session) for script in (direct, scheduled))
    assert (first.channel_id, first.conversation_target, first.origin) == ("irc", "alice", "direct")
    assert (second.origin, second.session_key) == ("cron", f"agent:main:cron:j1:run:{scheduled.session}")
    stored = json.loads(PromptReport.objects.using(MAIN).get().report_json)
    expected = {"files": [{"name": "SOUL.md", "rawChars": 7}], "skills": [{"name": "weather"}]}
    assert stored == expected | {"systemPromptChars": 9}


def test_the_nested_index_of_the_specification_is_read(home):
    script = home.transcript(user("One"))
    entry = {"activeSessionId": script.session, "model": {"provider": "a", "model": "m"}, "skills": [{"name": "notes"}]}
    home.index({"version": 2, "agents": {"agent:main:main": entry | {"deliveryContext": {"channel": "telegram"}}}})
    run(home)
    session = Session.objects.using(MAIN).get()
    assert (session.session_key, session.channel_id, session.origin) == ("agent:main:main", "telegram", "main")


def test_a_damaged_index_is_rejected_and_transcripts_are_read(home):
    home.transcript(user("One"))
    home.write("agents/main/sessions/sessions.json", "{oops")
    assert run(home)["agents"]["main"]["rejected"] == {"bad_index": 1}
    assert count_events() == 2


def test_workspace_files_are_kept_as_versions(home):
    home.write("workspace/MEMORY.md", "- tabs\n")
    home.write("workspace/AGENTS.md", "rules")
    home.write("workspace/memory/2026-02-21.md", "today")
    home.write("workspace/reports/big.md", "not ours")
    run(home)
    home.write("workspace/MEMORY.md", "- tabs\n- mornings\n")
    os.utime(home.root / "workspace/MEMORY.md", (2_000_000_000, 2_000_000_000))
    run(home)
    versions = FileSnapshot.objects.using(MAIN).order_by("created_at").values_list("file_name", "content")
    assert list(versions) == [("MEMORY.md", "- tabs\n"), ("MEMORY.md", "- tabs\n- mornings\n")]
    names = WorkspaceFile.objects.using(MAIN).order_by("file_name").values_list("file_name", flat=True)
    assert list(names) == ["AGENTS.md", "memory/2026-02-21.md"]


def test_cron_jobs_runs_and_subagents_in_both_spellings(home):
    about = {"agentId": "main", "payload": {"message": "Check"}, "createdAtMs": 1795230341558}
    jobs = [{"id": "j1", "schedule": {"kind": "every"}, "enabled": False, **about}]
    jobs += [{"id": "j2", "prompt": "Check", "schedule": {"kind": "interval"}, "createdAt": "2026-01-31T00:00:00Z"}]
    jobs_file = home.write("cron/jobs.json", "x" * len(json.dumps({"jobs": jobs})))
    home.write("cron/runs/j1.jsonl", '{"ts":1795230362162,"jobId":"j1","status":"ok","durationMs":156}\nnot json\n')
    home.write("cron/runs/j2.jsonl", '{"timestamp":"2026-01-31T00:00:00Z","jobId":"j2","status":"error"}\n')
    run_fields = {"childSessionKey": "agent:main:subagent:x", "createdAt": 1795230326903}
    home.write("subagents/runs.json", {"runs": {"u1": run_fields}})
    at = jobs_file.stat().st_mtime_ns
    assert run(home)["schedules"]["cron_jobs"] == 0
    home.write("cron/jobs.json", {"jobs": jobs})
    os.utime(jobs_file, ns=(at, at))  # it was unreadable, so it is read although its time has not changed
    home.write("subagents/runs.json", {"runs": [run_fields | {"runId": "u1"}]})  # a list instead of an object
    schedules = run(home)["schedules"]
    assert (schedules["cron_jobs"], schedules["subagent_runs"]) == (2, 1)
    stored = CronJob.objects.order_by("id").values_list("id", "prompt", "enabled")
    assert list(stored) == [("j1", "Check", False), ("j2", "Check", True)]
    assert CronRunLog.objects.count() == 2
    assert SubagentRun.objects.get().agent_id == "main"
    schedules = run(home)["schedules"]
    assert (schedules["cron_runs"], schedules["rejected"]) == (0, 0)


def test_a_second_home_with_the_same_agent_needs_another_name(home, tmp_path):
    home.transcript(user("One"))
    run(home)
    other = Home(tmp_path / "other", agents=("main", "research"))
    other.transcript(user("Two"))
    with pytest.raises(Exception, match="import these agents under another name"):
        run(other)
    run(other, **{"as": "laptop"})
    assert set(Agent.objects.values_list("agent_id", flat=True)) == {"main", "laptop", "laptop-research"}
    with pytest.raises(Exception, match="already"):
        run(home, **{"as": "again"})
    assert Agent.objects.count() == 3


def test_the_command_says_what_it_found_and_how_it_went(home, capsys):
    home.transcript(user("One")).raw("oops\n")
    with pytest.raises(CommandError, match="1 line was not a record") as partly:
        call_command("collect", source=str(home.root), json=True)
    assert partly.value.returncode == 4
    receipt = json.loads(capsys.readouterr().out)
    assert (receipt["schema"], receipt["records"], receipt["rejected"]) == ("openclaw-web.collect.v1", 2, 1)
    assert JobRun.objects.get().state == "finished"
    with pytest.raises(CommandError, match="There is no OpenClaw folder at") as refused:
        call_command("collect", source=str(home.root / "nowhere"))
    assert refused.value.returncode == 3


def test_a_topics_transcript_belongs_to_the_session_it_names(home):
    script = home.transcript(user("Kitchen talk"))
    script.path.rename(script.path.with_name(f"{script.session}-topic-12.jsonl"))
    home.index({"agent:main:telegram:group:-100:topic:12": {"sessionId": script.session, "label": "Kitchen"}})
    run(home)
    session = Session.objects.using(MAIN).get()
    assert (session.id, session.title, session.record_count) == (script.session, "Kitchen", 2)
