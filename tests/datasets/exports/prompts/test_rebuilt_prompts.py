"""System prompts that are rebuilt from the stored workspace files of the moment of a turn."""

import io

import pytest
from django.core.management import call_command
from django.urls import reverse

from agents.models import Agent
from datasets.exports.rebuilt_prompts import HEAD
from datasets.models import DatasetExport, DatasetSample
from guardian import services
from guardian.models import FileSnapshot, ProvenanceRecord
from jobs import execution
from ledger.models import PromptReport, Session, TranscriptEvent
from people.configuration import setting_values as configuration
from tests.collecting.collect_runs import run
from tests.datasets.exports.export_helpers import FORM_FIELDS, build_export, read_rows
from tests.datasets.exports.prompts.runs import (
    ONE,
    PROMPT,
    TOO_LONG,
    TOOLS,
    build_by_turn,
    import_and_approve,
    prompt_step,
    tool_turn,
    write_steps,
)
from tests.homes import user

pytestmark = pytest.mark.django_db
KEY = "ghp_" + "a1B2c3D4e5F6" * 3


@pytest.fixture
def main(home):
    """Two turns of a session; OpenClaw cut what it recorded of the first prompt, and recorded nothing of the second."""
    home.transcript(user("Hi"))
    run(home)
    main = Agent.objects.get(agent_id="main")
    home.transcript(*tool_turn(1), *tool_turn(2), session=ONE)
    write_steps(home, prompt_step(2, systemPrompt=TOO_LONG, tools=TOOLS, run_id=""))
    import_and_approve(home, main)
    return main


def find_time(main, turn):
    messages = TranscriptEvent.objects.using(main.db).filter(session_id=ONE, turn_number=turn, kind="user")
    return messages.get().created_at


def store(main, name, text, at):
    services.store_version(main.db, name, text.encode(), modified_ms=at)


def rebuilt(*files):
    head = HEAD.format(names=", ".join(name for name, _text in files))
    return "\n\n".join([head, *(f"## {name}\n\n{text}" for name, text in files)])


def read_systems(**choices):
    """The system prompts of the turns, and their counts."""
    manifest, rows = build_by_turn(rebuild_system=True, **choices)
    return [rows[place]["system"] for place in sorted(rows)], manifest["prompts"]["system"]


def test_each_turn_has_the_versions_of_its_moment(main):
    first, second = find_time(main, 1), find_time(main, 2)
    store(main, "SOUL.md", "Be brief.\n", first - 1_000)
    store(main, "SOUL.md", "Be kind.\n", second)
    store(main, "SOUL.md", "Be later.\n", second + 1)
    store(main, "AGENTS.md", "# Rules\n", second - 1)
    store(main, "MEMORY.md", "Not yet.\n", second + 1)
    _manifest, rows = build_by_turn()
    assert [rows[place]["system"] for place in sorted(rows)] == ["", ""]  # off by default
    systems, counts = read_systems(name="two")
    soul = ("SOUL.md", "Be kind.")
    assert systems == [rebuilt(("SOUL.md", "Be brief.")), rebuilt(("AGENTS.md", "# Rules"), soul)]
    assert systems[0].startswith("[Rebuilt from the workspace files of that time (SOUL.md): ")
    assert counts["rows"] == 0 and counts["left_out"] == {} and counts["rebuilt"] == {"truncated": 2}
    export = DatasetExport.objects.get(export_name="two")
    assert [row["system_source"] for row in read_rows(export)] == ["rebuilt", "rebuilt"]
    assert export.choices["rebuildSystem"] is True


@pytest.mark.parametrize("kind", ["messages", "openai", "preference", "kto", "sharegpt_reflection"])
def test_every_format_with_conversations_has_it(main, kind):
    store(main, "SOUL.md", "Be brief.\n", find_time(main, 1))
    if kind == "preference":
        DatasetSample.objects.update(output="Better.")
    export = build_export(kind, rebuild_system=True, duplicates="keep")
    assert export.manifest["prompts"]["system"]["rebuilt"] == {"truncated": 2}
    for row in read_rows(export):
        text = row["system"] if "system" in row else (row.get("messages") or row["prompt"])[0]["content"]
        assert text == rebuilt(("SOUL.md", "Be brief."))


def test_a_prompt_that_is_known_stays(home, main):
    home.transcript(*tool_turn(3), session="00000000-0000-0000-0000-000000000009")
    store(main, "SOUL.md", "Be brief.\n", 1)
    write_steps(home, prompt_step(2, systemPrompt=PROMPT, tools=TOOLS))
    import_and_approve(home, main)
    systems, counts = read_systems()
    assert systems[:2] == [PROMPT, PROMPT] and counts["rows"] == 2


def test_a_report_says_which_files_were_in_the_prompt(main):
    for name in ("AGENTS.md", "SOUL.md", "USER.md", "MEMORY.md"):
        store(main, name, name.lower(), 1)
    files = [{"name": "USER.md"}, {"name": "MEMORY.md", "missing": True}, {"name": "AGENTS.md"}, {"name": "../x.md"}]
    PromptReport.objects.using(main.db).create(id="r", report={"files": files})
    Session.objects.using(main.db).filter(id=ONE).update(prompt_report_id="r")
    assert read_systems()[0] == [rebuilt(("USER.md", "user.md"), ("AGENTS.md", "agents.md"))] * 2


@pytest.mark.parametrize(
    "columns",
    [
        {"origin": "cron"},
        {"session_key": "agent:main:subagent:x"},
        {"metadata": '{"chatType": "group"}'},
        {"metadata": '{"prompt": {"workspace": "/elsewhere"}}'},
        {"metadata": '{"prompt": {"isSandboxed": true}}'},
    ],
)
def test_nothing_is_invented_for_sessions_whose_prompts_are_others(main, columns):
    store(main, "SOUL.md", "Be brief.\n", 1)
    Agent.objects.filter(agent_id="main").update(reported_workspace="/home/workspace")
    Session.objects.using(main.db).filter(id=ONE).update(**columns)
    systems, counts = read_systems()
    assert systems == ["", ""] and counts["rows"] == 0 and "rebuilt" not in counts


def test_a_file_that_openclaw_left_out_is_not_in_it(main):
    store(main, "SOUL.md", "Be brief.\n", 1)
    store(main, "MEMORY.md", "A stranger's.\n", 1)
    second = find_time(main, 2)
    record = {"file_name": "MEMORY.md", "state": "known", "origin_class": "untrusted", "workspace_key": "k"}
    ProvenanceRecord.objects.using(main.db).create(id="p", first_seen_at=9**14, observed_at=second - 1, **record)
    soul = ("SOUL.md", "Be brief.")
    assert read_systems()[0] == [rebuilt(soul, ("MEMORY.md", "A stranger's.")), rebuilt(soul)]


def test_an_open_key_leaves_the_text_out_and_personal_data_is_redacted(main):
    store(main, "SOUL.md", f"Use {KEY}\n", find_time(main, 1))
    store(main, "SOUL.md", "Mail bob.jones@gmail.com\n", find_time(main, 2))
    systems, counts = read_systems()
    assert systems == ["", rebuilt(("SOUL.md", "Mail [EMAIL_1]"))]
    assert counts["left_out"] == {"flagged": 1} and counts["rebuilt"] == {"truncated": 1}
    systems, counts = read_systems(name="two", include=["flagged"])
    assert KEY not in systems[0] and systems[0].startswith("[Rebuilt")


def test_files_of_somebody_who_opted_out_are_not_used(main):
    store(main, "SOUL.md", "Bob said this.\n", 1)
    Session.objects.using(main.db).filter(id=ONE).update(session_key="agent:main:main")  # of one person, who is not bob
    configuration.put("collector.optedOutSenders", ["bob"])
    systems, counts = read_systems()
    assert set(systems) <= {""} and "rebuilt" not in counts
    assert set(counts["left_out"]) <= {"opted_out"}


def test_texts_are_bounded(main):
    store(main, "SOUL.md", "a " * 20_000, 1)
    first, second = read_systems()[0]
    assert first == second and "characters left out …]" in first and len(first) < 20_200
    store(main, "AGENTS.md", "b " * 20_000, 1)
    systems, counts = read_systems(name="two")
    assert systems == ["", ""] and counts["left_out"] == {"too_long": 2}
    store(main, "AGENTS.md", "c " * 600_000, 2)  # of such a file nothing is used, and no version before it
    assert read_systems(name="three")[0] == [first, first]


def test_a_damaged_version_is_not_used(main):
    store(main, "SOUL.md", "Be brief.\n", 1)
    FileSnapshot.objects.using(main.db).update(content="Be evil.")
    assert read_systems()[0] == ["", ""]


def test_the_form_the_command_and_the_api_have_it(main, as_reviewer):
    store(main, "SOUL.md", "Be brief.\n", find_time(main, 2))
    fields = FORM_FIELDS | {"format": "sharegpt", "duplicates": "keep", "rebuild_system": "on"}
    assert "Rebuild unknown system prompts" in as_reviewer.get(reverse("datasets:export_list")).text
    as_reviewer.post(reverse("datasets:export_create"), fields)
    execution.run_next()
    export = DatasetExport.objects.get()
    page = " ".join(as_reviewer.get(export.get_absolute_url()).text.split())
    assert "<dt>System prompt</dt> <dd>0 of 2 rows</dd>" in page
    assert "<dt>System prompt: Rebuilt from stored files</dt><dd>1</dd>" in page
    assert "<dt>System prompts rebuilt from stored files</dt><dd>Included</dd>" in page
    card = as_reviewer.get(reverse("datasets:export_file", args=[export.id, "README.md"])).getvalue().decode()
    assert "- System prompt: 1 row (Rebuilt from stored files)" in card and "`rebuild_system`: `true`" in card
    out = io.StringIO()
    words = ("--name", "two", "--format", "sharegpt", "--duplicates", "keep", "--rebuild-system")
    call_command("export", *words, stdout=out, stderr=io.StringIO())
    assert "System prompt: Rebuilt from stored files: 1 row" in out.getvalue()
    body = {"name": "three", "format": "sharegpt", "rebuild_system": True}
    answer = as_reviewer.post("/api/v1/exports", body, content_type="application/json")
    assert answer.status_code == 202 and answer.json()["options"]["rebuild_system"] is True
