"""System prompts and tools of an export: page, API, terminal and form."""

import io

import pytest
from django.core.management import call_command
from django.urls import reverse

from agents.models import Agent
from datasets.exports import prompts
from datasets.models import DatasetExport
from jobs import execution
from tests.collecting.collect_runs import run
from tests.datasets.exports.export_helpers import FORM_FIELDS
from tests.datasets.exports.prompts.runs import (
    ONE,
    OTHER,
    PROMPT,
    TOO_LONG,
    TOOLS,
    import_and_approve,
    prompt_step,
    tool_turn,
    write_steps,
)
from tests.homes import user

pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def two_turns(home):
    """A turn whose prompt was recorded whole, and one whose prompt was not."""
    home.transcript(user("Hi"))
    run(home)
    for session, prompt in ((ONE, PROMPT), (OTHER, TOO_LONG)):
        home.transcript(*tool_turn(1), session=session)
        write_steps(home, prompt_step(2, session=session, systemPrompt=prompt, tools=TOOLS), session=session)
    import_and_approve(home, Agent.objects.get(agent_id="main"), ONE, OTHER)


def build_page(browser, **more):
    """Request and build an export; return its page as one line without tags."""
    fields = FORM_FIELDS | {"format": "sharegpt", "duplicates": "keep"} | more
    assert browser.post(reverse("datasets:export_create"), fields).status_code == 302
    execution.run_next()
    return " ".join(browser.get(DatasetExport.objects.get().get_absolute_url()).text.split())


def test_the_page_counts_rows_and_reasons(as_reviewer):
    page = build_page(as_reviewer)
    assert "System prompts and tools" in page
    assert "<dt>System prompt</dt> <dd>1 of 2 rows</dd>" in page
    assert "<dt>System prompt left out: Truncated by OpenClaw</dt> <dd>1 row</dd>" in page
    assert "<dt>Tools</dt> <dd>2 of 2 rows</dd>" in page
    assert "does not describe" not in page


def test_the_page_counts_rows_that_call_other_tools(as_reviewer, monkeypatch):
    monkeypatch.setattr(prompts, "PROMPT_CHARACTERS", 1)
    page = build_page(as_reviewer, parallel_calls="split")
    assert "<dt>Tools left out: Longer than the maximum</dt> <dd>2 rows</dd>" in page
    assert "<dt>Calls tools that the row does not describe</dt> <dd>2 rows</dd>" in page
    assert "One call after the other, each followed by its result" in page


def test_the_command_prints_them(monkeypatch):
    out = io.StringIO()
    words = ("--name", "one", "--format", "sharegpt", "--split", "1")
    words += ("--duplicates", "keep")
    call_command("export", *words, "--parallel-calls", "split", stdout=out, stderr=io.StringIO())
    assert "System prompt: 1 row; left out: Truncated by OpenClaw: 1\n  Tools: 2 rows\n" in out.getvalue()
    DatasetExport.objects.all().delete()
    out = io.StringIO()
    monkeypatch.setattr(prompts, "PROMPT_CHARACTERS", 9)
    call_command("export", *words, stdout=out, stderr=io.StringIO())
    assert "Tools: 0 rows; left out: Longer than the maximum: 2" in out.getvalue()
    assert "2 rows call tools that they do not describe." in out.getvalue()


def test_the_import_says_what_was_not_recorded_whole(home, capsys):
    home.write(f"agents/main/sessions/{'1' * 8}-0000-0000-0000-000000000001.trajectory.jsonl", "")
    write_steps(home, prompt_step(2, "again", systemPrompt=TOO_LONG))
    out = io.StringIO()
    call_command("collect", "--source", str(home.root), stdout=out, stderr=io.StringIO())
    assert "1 run step whose system prompt or tools OpenClaw did not record whole" in out.getvalue()
