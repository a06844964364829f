"""The demo: an invented home in OpenClaw's exact format, and a site that shows it."""

import hashlib
import json
import re
import signal
import urllib.request
from io import StringIO

import pytest
from django.core.management import CommandError, call_command
from django.db.models import Sum

from agents.models import Agent
from artifacts.contents import content_types, secrets
from artifacts.contents.adoption import is_adoptable
from automation.models import CronJob, CronRunLog, SubagentRun
from benchmarks.corpus import write_bulk_home
from collecting import collect
from demo import conversation_plan
from demo.chance import Chance
from demo.files import configuration
from demo.files.home import DEFAULT_UNTIL_MS, write_home
from demo.moments import DAY
from demo.prices import MODELS, build_usage
from demo.screenplay import parse_stories, read_stories
from demo.slots import Slots
from jobs.progress import Progress
from ledger.models import ConversationTurn, RejectedRecord, TranscriptEvent, TranscriptSnapshot
from overview.models import AgentDailyStat, AgentSummary
from tests.demo.demo_records import calls, failure, lines, messages, read, recount
from tests.processes import Home, find_free_port

READ, PUT_AWAY = ("live", "orphan"), ("reset", "deleted")


@pytest.fixture(scope="module")
def written(tmp_path_factory):
    """A demo home on disk, and the truth about it."""
    root = tmp_path_factory.mktemp("demo") / "openclaw"
    return root, write_home(root)


@pytest.fixture(scope="module")
def records(written):
    root, truth = written
    return read(root, truth, states=READ)[0]


def hash_home(root):
    files = sorted(path for path in root.rglob("*") if path.is_file())
    digest = hashlib.sha256()
    for path in files:
        digest.update(path.relative_to(root).as_posix().encode() + b"\0" + path.read_bytes())
    return digest.hexdigest()


@pytest.mark.kill
def test_it_works(tmp_path):
    """Runs the demo twice; each prints a link, and nothing is imported twice.

    The second run also serves.
    """
    home = Home(tmp_path / "home")
    try:
        first = home.start("demo", "--no-serve")
        assert first.end() == 0, first.said
        port = find_free_port()
        second = home.start("demo", "--port", str(port))
        assert second.address() == f"http://127.0.0.1:{port}"
        links = [
            re.search(r"Sign in within a day with this one-time link: (\S+)", run.said)[1] for run in (first, second)
        ]
        assert links[0] != links[1]
        with urllib.request.urlopen(links[1], timeout=60) as answer:
            assert answer.status == 200
        assert home.count("SELECT count(*) FROM users") == 1
        assert home.count("SELECT count(*) FROM dataset_exports WHERE state = 'ready'") == 1
        assert home.count("SELECT count(DISTINCT annotation_status) FROM dataset_samples") == 4
        assert home.count("SELECT count(*) FROM dataset_samples WHERE output IS NOT NULL") > 3
        second.signal(signal.SIGTERM)
        assert second.end() == 0
        third = home.start("demo", "--no-serve", "--fresh")
        assert third.end() == 0, third.said
        assert home.count("SELECT count(*) FROM users") == 1
        check_a_new_home(home, tmp_path / "new")
    finally:
        home.close()


def check_a_new_home(home, folder):
    """Assert that a new home refuses sources of an earlier demo, except with --fresh."""
    other = Home(folder)
    try:
        other.env["OPENCLAW_STATE_DIR"] = home.env["OPENCLAW_STATE_DIR"]
        refused = other.start("demo", "--no-serve")
        assert refused.end() == 3 and "holds an earlier demo" in refused.said and "--fresh" in refused.said
        assert not (folder / "openclaw-web-demo.json").exists()
        again = other.start("demo", "--no-serve", "--fresh")
        assert again.end() == 0, again.said
    finally:
        other.close()


@pytest.mark.parametrize("which", ["STATE_DIR", "HOME_DIR"])
def test_a_folder_with_something_else_in_it_is_left_alone(which, settings, tmp_path):
    settings.STATE_DIR, settings.HOME_DIR = tmp_path / "openclaw", tmp_path / "web"
    theirs = getattr(settings, which) / "state" / "openclaw.sqlite"
    theirs.parent.mkdir(parents=True)
    theirs.write_text("theirs")
    with pytest.raises(CommandError, match="contains files that are not from the demo"):
        call_command("demo", "--no-serve", "--fresh", stdout=StringIO())
    assert [path for path in tmp_path.rglob("*") if path.is_file()] == [theirs]


def test_the_same_arguments_give_the_same_bytes(written, tmp_path):
    root, _ = written
    write_home(tmp_path / "again")
    assert hash_home(tmp_path / "again") == hash_home(root)
    write_home(tmp_path / "other", seed=8)
    assert hash_home(tmp_path / "other") != hash_home(root)


def test_only_the_planted_lines_are_damaged(written):
    root, truth = written
    _, bad = read(root, truth, states=READ + PUT_AWAY)
    assert bad == {(damage.file, damage.offset) for damage in truth.damaged}
    assert sorted(damage.reason for damage in truth.damaged) == ["nul_bytes", "truncated", "truncated"]
    for path in root.rglob("*.json"):
        assert json.loads(path.read_text()), path
    for path in root.glob("cron/runs/*.jsonl"):
        assert all(json.loads(line)["action"] == "finished" for line in path.read_text().splitlines())


@pytest.mark.parametrize("states", [READ, PUT_AWAY])
def test_the_truth_is_what_is_on_disk(states, written):
    root, truth = written
    counts = truth.live if states == READ else truth.put_away
    counted = recount(read(root, truth, states=states)[0])
    assert counted == {name: getattr(counts, name) for name in counted}
    assert counts.sessions == sum(session.state in states for session in truth.sessions)
    assert truth.bytes == sum(path.stat().st_size for path in root.rglob("*") if path.is_file())


def test_every_sort_of_record_is_there(records, written):
    truth = written[1]
    assert set(truth.live.types) == {
        *("session", "message", "model_change", "thinking_level_change", "custom", "compaction"),
        *("branch_summary", "label", "session_info", "custom_message"),
    }
    assert set(truth.live.custom_types) == {"model-snapshot", "openclaw.cache-ttl"}
    assert set(truth.live.stop_reasons) == {"stop", "toolUse", "error", "aborted", "length"}
    assert set(truth.live.failed) == {"flagged", "status", "exit_code"}
    assert set(truth.live.synthetic) == {"delivery-mirror", "gateway-injected"}
    assert {"exec", "read", "write", "edit", "web_fetch", "web_search", "memory_search"} <= set(truth.live.tool_calls)
    assert truth.states.keys() == {"live", "reset", "deleted", "orphan"}
    assert 60 <= len(truth.sessions) <= 80
    assert max(session.turns for session in truth.sessions) >= 400
    answers = messages(records, "assistant")
    assert any(len(calls(message)) > 1 for message in answers)
    assert any(block["type"] == "thinking" for message in answers for block in message["content"])
    assert truth.live.turns_off_branch == 2
    assert truth.live.images == 2
    compactions = [record for record in records if record["type"] == "compaction"]
    assert any(record["details"]["readFiles"] for record in compactions)


def test_texts_that_try_a_page_are_there(records):
    results = messages(records, "toolResult")
    longest = max(results, key=lambda message: len(message["content"][0]["text"]))
    assert len(longest["content"][0]["text"]) > 169_000
    assert longest["details"]["aggregated"] == longest["content"][0]["text"]
    hostile = [text for message in results if "<script>" in (text := message["content"][0]["text"])]
    assert "\u202e" in hostile[0]
    questions = " ".join(block["text"] for message in messages(records, "user") for block in message["content"][:1])
    assert all(sign in questions for sign in ("订单", "🙏", "شارع", "Conversation info (untrusted metadata)"))


def test_outputs_too_big_for_a_prompt_are_there(records):
    """Text, JSON and HTML, one twice, and one with a token."""
    texts = [message["content"][0]["text"] for message in messages(records, "toolResult")]
    big = [text for text in texts if is_adoptable(text)]
    types = {content_types.guess(text.encode(), text.encode(), is_whole=True) for text in big}
    assert types == {"text/plain", "application/json", "text/html"}
    assert len(big) == len(set(big)) + 1
    assert any(secrets.find_kinds(text) for text in big)


def test_failures_look_like_real_ones(records):
    by_sort = {failure(message): message for message in messages(records, "toolResult")}
    assert "(Command exited with code" in by_sort["exit_code"]["content"][0]["text"]
    assert by_sort["exit_code"]["isError"] is False
    assert json.loads(by_sort["status"]["content"][0]["text"]) == by_sort["status"]["details"]
    assert by_sort["flagged"]["details"] == {}
    failed = [message for message in messages(records, "assistant") if message["stopReason"] == "error"]
    assert all(message["content"] == [] and message["errorMessage"] for message in failed)


def test_records_form_a_tree(written):
    """Every parent comes before its child, except the one lost record."""
    root, truth = written
    gaps = 0
    for session in truth.sessions:
        seen = set()
        for offset, line in lines(root, session.file):
            if (session.file, offset) in {(damage.file, damage.offset) for damage in truth.damaged}:
                continue
            record = json.loads(line)
            if record["type"] != "session":
                gaps += record["parentId"] is not None and record["parentId"] not in seen
                assert record["id"] not in seen
                seen.add(record["id"])
    assert gaps == 1


def test_usage_and_cost_follow_the_prices(records):
    for message in messages(records, "assistant"):
        used = message["usage"]
        counts = [used[name] for name in ("input", "output", "cacheRead", "cacheWrite")]
        assert used["totalTokens"] == sum(counts)
        model = MODELS.get(f"{message['provider']}/{message['model']}")
        if model is None:
            assert used["totalTokens"] == 0
            continue
        prices = (model.input, model.output, model.cache_read, model.cache_write)
        cost = sum(count * price for count, price in zip(counts, prices, strict=True)) / 1e6
        assert used["cost"]["total"] == pytest.approx(cost, abs=1e-9)


def test_a_cold_cache_is_paid_for():
    model = MODELS["anthropic/claude-sonnet-4-5"]
    warm = build_usage(model, context=10_000, known=9_000, idle_ms=1_000, output=10)
    cold = build_usage(model, context=10_000, known=9_000, idle_ms=DAY, output=10)
    assert (warm["cacheRead"], cold["cacheRead"]) == (9_000, 0)
    assert cold["cost"]["total"] > warm["cost"]["total"]


def test_the_index_names_the_transcripts(written):
    root, truth = written
    live = {session.session_id: session for session in truth.sessions if session.state == "live"}
    named = set()
    for agent in ("main", "research"):
        index = json.loads((root / "agents" / agent / "sessions" / "sessions.json").read_text())
        for key, entry in index.items():
            session = live[entry["sessionId"]]
            assert key in (session.key, session.key.partition(":run:")[0])
            assert entry["sessionFile"].endswith(session.file)
            assert entry["skillsSnapshot"]["skills"]
            named.add(session.session_id)
    assert named == set(live)


def test_jobs_and_subagents_lead_to_their_sessions(written):
    root, truth = written
    ids = {session.session_id: session.key for session in truth.sessions}
    runs = [json.loads(line) for path in root.glob("cron/runs/*.jsonl") for line in path.read_text().splitlines()]
    assert len(runs) == truth.cron_runs
    assert {run["status"] for run in runs} == {"ok", "error", "skipped"}
    with_session = [run for run in runs if run.get("sessionId") in ids]
    assert len(with_session) == sum(":cron:" in key for key in ids.values())
    assert all(ids[run["sessionId"]] == run["sessionKey"] for run in with_session)
    subagents = json.loads((root / "subagents" / "runs.json").read_text())["runs"].values()
    assert len(subagents) == truth.subagent_runs
    assert {run["childSessionKey"] for run in subagents} <= set(ids.values())


def test_everything_happened_within_five_weeks(written):
    truth = written[1]
    first, last = DEFAULT_UNTIL_MS - conversation_plan.SPAN_DAYS * DAY, DEFAULT_UNTIL_MS
    assert all(first <= session.first_ms <= session.last_ms < last for session in truth.sessions)
    days = {session.last_ms // DAY for session in truth.sessions if session.state == "live"}
    assert last // DAY - 1 in days


def test_what_was_remembered_is_in_the_workspace(written):
    root, truth = written
    memory = (root / "workspace" / "MEMORY.md").read_text()
    assert "snow-skin mooncakes only, 250 boxes" in memory
    assert "一律用“您”" in memory
    assert memory.count("Mei wants refunds in S$") == 1
    assert len(list((root / "workspace" / "memory").glob("2026-*.md"))) > 5
    for agent, folder in (("main", "workspace"), ("research", "workspace-research")):
        assert truth.workspace_files[agent] == len(list((root / folder).rglob("*.md")))
        for name in ("MEMORY", "USER", "SOUL", "IDENTITY", "TOOLS", "AGENTS", "HEARTBEAT"):
            assert (root / folder / f"{name}.md").exists()


def test_nothing_in_it_is_anybodys(written):
    """Mails, phone numbers, addresses and keys are impossible ones; no placeholder is left."""
    root, _ = written
    text = "\n".join(path.read_text(errors="replace") for path in root.rglob("*") if path.is_file())
    assert "[[" not in text.replace("[[lib", "")
    assert {mail for mail in re.findall(r"[\w.+-]+@([\w-]+(?:\.[\w-]+)+)", text) if not mail.endswith(FAKE)} == set()
    assert {host for host in re.findall(r"https?://([\w.-]+)", text) if not host.endswith(FAKE)} <= {"schema.org"}
    assert all(phone.startswith("+1-202-555-01") for phone in re.findall(r"\+\d[\d -]{8,}", text))
    assert all("fake" in key for key in re.findall(r"\bsk-[\w*-]{6,}", text))
    assert not re.search(r"AKIA[0-9A-Z]{16}|ghp_\w{20}|-----BEGIN [A-Z ]*PRIVATE KEY", text)
    for canary in configuration.CANARIES:
        assert canary in text


FAKE = (".example", "example.org", "127.0.0.1", *(f"192.0.2.{number}" for number in range(256)))


def test_every_story_that_happens_once_has_its_place():
    once = {name for name, story in read_stories().items() if "once" in story.tags}
    placed = {
        name for sitting in conversation_plan.list_sittings() for name in (*sitting.pinned, sitting.starts_with) if name
    }
    children = {call.result.how for story in read_stories().values() for beat in story.beats for call in beat.calls
                if call.tool == "sessions_spawn"}  # fmt: skip
    assert once == placed | children


def test_a_story_becomes_beats():
    text = """== tea | agent=main once=yes
user: Tea?
think: Yes.
call read: a.txt
call exec: ls
result: a
result exit 2:
  first

  second
agent:
  # Done
== next | on=irc
user: Hi"""
    tea, _next = parse_stories(text)
    assert (tea.name, tea.turns, tea.tags["once"]) == ("tea", 1, {"yes"})
    question, calling, reply = tea.beats
    assert (question.text, calling.thinking, reply.text) == ("Tea?", "Yes.", "# Done")
    assert [(call.tool, call.result.how, call.result.text) for call in calling.calls] == [
        ("read", "", "a"),
        ("exec", "exit 2", "first\n\nsecond"),
    ]
    with pytest.raises(ValueError, match="nothing answers exec"):
        list(parse_stories("== x | on=irc\nuser: a\ncall exec: ls"))
    with pytest.raises(ValueError, match="not a line of a story"):
        list(parse_stories("== x | on=irc\nsinger: la"))


def test_slots_compute():
    slots = Slots(Chance.from_words("slots"), lambda: DEFAULT_UNTIL_MS)
    slots.set("n = 3; p = @products; total = n * p.price; mean = n / 2 :1; word = yes|yes")
    assert slots.fill("[[n]] [[mean]] [[word]] [[today]] [[1..1]]") == "3 1.5 yes 2026-06-01 1"
    assert slots.fill("[[total]]") == f"{3 * float(slots.fill('[[p.price]]')):.2f}"


@pytest.mark.django_db
def test_the_collector_finds_all_of_it(written, real_files):
    root, truth = written
    result = collect.run({"source": str(root)}, Progress())
    assert result["rejected"] == len(truth.damaged)
    for agent in Agent.objects.filter(agent_id__in=truth.agents):
        counts = truth.agents[agent.agent_id]
        events = TranscriptEvent.objects.using(agent.db)
        assert events.count() == counts.records
        assert events.filter(kind="user").count() == counts.roles["user"]
        assert events.filter(kind="tool_result").count() == counts.tool_results
        assert events.values("session_id").distinct().count() == counts.sessions
        turns = ConversationTurn.objects.using(agent.db)
        assert (turns.count(), turns.filter(is_active=False).count()) == (counts.turns, counts.turns_off_branch)
        assert TranscriptSnapshot.objects.using(agent.db).count() == counts.types["compaction"]
        summary = AgentSummary.objects.get(agent_id=agent.agent_id)
        assert summary.error_count == counts.failed_tools + counts.model_errors
        assert (summary.total_tokens, summary.cost_usd) == (counts.usage["totalTokens"], pytest.approx(counts.cost))
        damaged = {(damage.file, damage.offset) for damage in truth.damaged if f"/{agent.agent_id}/" in damage.file}
        assert set(RejectedRecord.objects.using(agent.db).values_list("file", "byte_offset")) == damaged
    assert (CronJob.objects.count(), CronRunLog.objects.count()) == (truth.cron_jobs, truth.cron_runs)
    assert SubagentRun.objects.count() == truth.subagent_runs
    calls_made = AgentDailyStat.objects.aggregate(total=Sum("tool_call_count"))["total"]
    assert calls_made == sum(truth.live.tool_calls.values())


def test_a_big_home_is_counted_as_well(tmp_path):
    options = {"agents": 3, "sessions": 12, "turns": 9, "seed": 3, "tool_bytes": 900}
    truth = write_bulk_home(tmp_path / "big", **options)
    assert [*truth.agents] == ["main", "research", "main-2"]
    assert len(truth.sessions) == 12
    parsed, bad = read(tmp_path / "big", truth, states=READ)
    assert not bad
    counted = recount(parsed)
    assert counted == {name: getattr(truth.live, name) for name in counted}
    write_bulk_home(tmp_path / "again", **options)
    assert hash_home(tmp_path / "again") == hash_home(tmp_path / "big")
    assert write_bulk_home(tmp_path / "short", **options | {"tool_bytes": 0}).bytes < truth.bytes
