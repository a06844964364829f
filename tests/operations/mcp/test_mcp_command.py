"""`openclaw-web mcp`: questions about a recorded home, asked by the official client over stdio; who may ask."""

import asyncio
import json
import os
import shutil
import sys
from concurrent.futures import ThreadPoolExecutor
from datetime import datetime
from pathlib import Path

import pytest
from django.core.management import CommandError, call_command
from mcp import Client, MCPError, StdioServerParameters

from operations.mcp.answers import MOST_CHARACTERS
from tests.factories import UserFactory
from tests.processes import CHECKOUT, Home

DATA = Path(__file__).resolve().parents[4] / "shared" / "data"
PLUGIN_BEGAN = 1_795_230_978  # seconds; the recorded log of write_guardian begins then
SUBAGENT, CHAT = "cf187878-431c-4b8b-a6bb-2311bfe5765a", "7dc772a1-f854-4f0f-87ed-5ec8075bce8d"
DOLPHIN = "88646cb0a64f688cb37624f75db57bdd"
# A question, the tool with its arguments, and the facts of its answer, which were read in the files of OpenClaw.
QUESTIONS = (
    ("Which agents are there?", "agents", {}, ["main", "research"]),
    ("Who gave the address of lab1?", "search", {"q": "192.0.2.10 kind:user"}, [CHAT, "63991bf7", "alias lab"]),
    ("Where is the report?", "search", {"q": "summary.md compaction kind:agent"}, ["the report is in reports/"]),
    ("谁偏好简短的回答？", "search", {"q": "简短 kind:user"}, ["我偏好简短的中文回答", CHAT]),
    ("Which task always fails?", "search", {"q": "always fails kind:task"}, ["Always fails"]),
    ("Which task looks at calendars?", "search", {"q": "calendars kind:task"}, ["Meeting Intel"]),
    ("What did the gate decide about short answers?", "search", {"q": '"short answers" kind:fact'}, ["UPDATE_USER"]),
    ("Was the coffee remembered?", "search", {"q": "coffee kind:fact"}, ["USER.md refused"]),
    ("What did the sub-agent report?", "session", {"agent": "main", "session_id": SUBAGENT}, ["There are 14 files"]),
    ("By which command?", "turn", {"agent": "main", "turn_id": f"{SUBAGENT}:b5dd67f8"}, ["find . -type f | wc -l"]),
    ("What did the gate say of Dolphin in the chat?", "turn", {"agent": "main", "turn_id": f"{CHAT}:4c10d6d2"},
     ["NO_WRITE", "importer project", "海豚"]),
    ("What does main know of Dolphin, by which write?", "memory_file", {"agent": "main", "file": "MEMORY.md"},
     ["Dolphin refers to the importer project", DOLPHIN, "no_record"]),
    ("From which channel does USER.md come?", "memory_file", {"agent": "main", "file": "USER.md"},
     ["channel:slack:channel:C042", "tabs over spaces"]),
    ("What is the mean of data.csv?", "memory_file", {"agent": "research", "file": "MEMORY.md"}, ["平均 48.3"]),
    ("Which decision led to the line?", "chain", {"kind": "line", "id": "MEMORY.md:2", "agent": "main"},
     ["UPDATE_MEMORY", f"/agents/main/writes/{DOLPHIN}/"]),
    ("Who was told?", "who_was_told", {"agent": "main", "write_id": DOLPHIN}, ["Dolphin refers to", "spans"]),
    ("Which tool does not exist?", "errors", {"tool": "teleport"}, ["Tool <text> not found"]),
    ("Which calls of models failed?", "errors", {"model": "fake-gpt-large"}, ["401 incorrect api key"]),
    ("What does it cost?", "costs", {}, ['"agent_id":"main","cost_usd":2.505', "fake-gpt-large"]),
    ("What needs me?", "problems", {}, ["No backup has been test-restored yet."]),
    ("What is there to review?", "review_next", {}, ["No sample is left for you."]),
    ("What is in the ledger?", "memory_episodes_query", {"scope": "global", "sessionId": SUBAGENT}, ['"items":[]']),
)  # fmt: skip


@pytest.fixture
def home(tmp_path):
    home = Home(tmp_path / "home")
    yield home
    home.close()


def run(home, *words, **variables):
    home.env |= variables
    process = home.start(*words)
    assert process.end() == 0, process.said
    return process.said


def write_recorded_home(root):
    """Write a home of OpenClaw with the logs of its plugin.

    Returns the folder of the logs, and when each memory file was last written.
    """
    shutil.copytree(DATA / "openclaw-2026.2.26", root)
    plugin = DATA / "reflection" / "workspace"
    shutil.copytree(plugin / ".openclaw-reflection", root / "workspace" / ".openclaw-reflection")
    logs = shutil.copytree(DATA / "reflection" / "plugin-logs-driver", root.with_name("logs"))
    (log,) = logs.glob("reflection-*.log")  # it names another workspace, which is replaced by that of this home
    log.write_text(log.read_text().replace("/srv/oc/refl-ws", "/srv/oc/home-old/.openclaw/workspace"))
    lines = (plugin / ".openclaw-reflection" / "write-guardian.log.jsonl").read_text().splitlines()
    entries = [entry for entry in map(json.loads, lines) if entry["status"] == "written"]
    for entry in entries:
        os.utime(root / "workspace" / entry["targetFile"], (PLUGIN_BEGAN - 3_600,) * 2)
    return logs, {entry["targetFile"]: datetime.fromisoformat(entry["timestamp"]).timestamp() for entry in entries}


def converse(home, talk, *words, **variables):
    """Run `talk(client)` with a client of `openclaw-web mcp`."""
    env = home.env | variables | {"PYTHONPATH": str(CHECKOUT), "PYTHONSAFEPATH": "1"}
    server = StdioServerParameters(command=sys.executable, args=["-m", "openclaw_web", "mcp", *words], env=env)

    async def begin():
        async with Client(server) as client:
            return await talk(client)

    with ThreadPoolExecutor(1) as pool:  # a browser of an earlier test may have a loop in this thread
        return pool.submit(asyncio.run, begin()).result()


@pytest.mark.skipif(not DATA.exists(), reason="the recorded homes are not on this machine")
def test_set_questions_are_answered(home, tmp_path):
    root = tmp_path / "openclaw"
    logs, last_writes = write_recorded_home(root)
    run(home, "settings", "set", "reflection.logFolder", str(logs), OPENCLAW_STATE_DIR=str(root))
    run(home, "collect")
    for name, at in last_writes.items():  # the files as the plugin left them
        os.utime(shutil.copy(DATA / "reflection" / "workspace" / name, root / "workspace" / name), (at, at))
    run(home, "collect")
    run(home, "search", "rebuild")
    run(home, "create_user", "ada", "--role", "admin")

    async def talk(client):
        return [(question, await client.call_tool(tool, args), facts) for question, tool, args, facts in QUESTIONS]

    wrong = []
    for question, result, facts in converse(home, talk):
        text = result.content[0].text
        assert len(text) <= MOST_CHARACTERS
        if result.is_error or not all(fact in text for fact in facts):
            wrong.append((question, text[:2_000]))
    assert not wrong


def test_the_person_is_looked_up_for_every_call(home):
    run(home, "create_user", "ada", "--role", "admin")
    run(home, "create_user", "eve", "--role", "viewer")
    token = run(home, "create_token", "ada", "--name", "mcp", "--role", "labeller").split()[-1]

    async def talk(client):
        with pytest.raises(MCPError, match="There is no tool 'drop'"):
            await client.call_tool("drop", {})
        return {tool.name for tool in (await client.list_tools()).tools}

    as_admin = converse(home, talk)
    assert as_admin - converse(home, talk, OPENCLAW_WEB_TOKEN=token) == {"problems"}
    assert as_admin - converse(home, talk, "--user", "eve", OPENCLAW_WEB_TOKEN=token) == {
        "problems", "review_next", "review_verdict",
    }  # fmt: skip

    async def revoke(client):
        before = (await client.call_tool("agents", {})).is_error
        home.python("from people.models import ApiToken; ApiToken.objects.update(revoked_at=1); print('done')")
        result = await client.call_tool("agents", {})
        return before, result.is_error, result.content[0].text

    sentence = "The token in OPENCLAW_WEB_TOKEN is not valid: create another one."
    assert converse(home, revoke, OPENCLAW_WEB_TOKEN=token) == (False, True, sentence)


@pytest.mark.django_db
def test_what_is_refused_before_it_serves(monkeypatch):
    def refuse(*words):
        with pytest.raises(CommandError) as refusal:
            call_command("mcp", *words)
        return refusal.value.returncode, str(refusal.value)

    monkeypatch.delenv("OPENCLAW_WEB_TOKEN", raising=False)
    assert refuse() == (3, "Name the person who calls the tools: --user NAME.")
    UserFactory(username="ada", role="admin")
    UserFactory(username="bob", role="admin", is_active=False)
    assert refuse("--user", "bob") == (3, "bob is deactivated. Activate the account first.")
    assert refuse("--user", "eve")[0] == 3
    monkeypatch.setenv("OPENCLAW_WEB_TOKEN", "oc_0_0")
    assert "is not valid" in refuse()[1]
    monkeypatch.setitem(sys.modules, "mcp", None)
    sentence = "This command needs the package mcp. Install it with: pip install openclaw-web[mcp]"
    assert refuse("--user", "ada") == (3, sentence)
