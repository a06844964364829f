"""Places from a configuration, and the workspace of the newest prompt.

Each is followed, or named with advice.
"""

import json
import os
import shutil
from pathlib import Path

import pytest

from agents.claims import find_root
from agents.database_copies import Copies
from agents.databases import get_alias
from agents.models import Agent, CollectorSource, SkippedSource
from guardian.models import FileSnapshot, WorkspaceFile, WriteGuardianAudit
from guardian.rollbacks import workspace_access
from jobs.progress import Progress
from ledger.models import Session
from openclaw_web.errors import Refused
from operations.doctor import plan
from tests.collecting.collect_runs import MAIN, count_events, count_opens, run
from tests.collecting.inventory.odd_folders import header, message
from tests.collecting.plugin_log import log_write
from tests.homes import Home, Script, assistant, user
from tests.operations.backups.backup_homes import run as run_command
from tests.operations.doctor.doctor_homes import doctor
from tests.problems.check_results import check
from tests.suite.nightly import first

DATA = Path(__file__).resolve().parents[4] / "shared" / "data"
AT = 1_771_642_801_000
pytestmark = pytest.mark.django_db


def check_home(home, **params):
    """Check a home; returns (check, path) of findings, sentences of notes, unread sources."""
    source = params.get("source", str(home.root))
    made = plan.Plan(find_root(source), is_deep=True)
    with Copies() as copies:
        plan.check_home(made, {"source": source, **params}, Progress(), copies)
    assert not [finding for finding in made.store if finding.check == "place" and finding.repair]
    findings = [(finding.check, finding.path) for finding in made.store if finding.level == "finding"]
    return findings, [finding.sentence for finding in made.store if finding.level == "note"], len(made.to_read)


def read_memory(agent="main", name="MEMORY.md"):
    model = FileSnapshot if name in ("MEMORY.md", "USER.md") else WorkspaceFile
    rows = model.objects.using(get_alias(agent)).filter(file_name=name).order_by("created_at", "id")
    return list(rows.values_list("content", flat=True))


def create_workspace(path, text="I remember."):
    path.mkdir(parents=True)
    (path / "MEMORY.md").write_text(text)
    return path


def build_index_entry(workspace, at=AT, key="agent:main:main", session="s1"):
    """Return an index entry with the report of a prompt that used this workspace."""
    prompt_report = {"systemPromptReport": {"generatedAt": at, "workspaceDir": str(workspace)}}
    return {key: {"sessionId": session, "updatedAt": at, **prompt_report}}


@pytest.mark.parametrize("where", ["{root}/elsewhere/{agentId}/sessions.json", "~/store/{agentId}/sessions/index.json"])
def test_session_store_is_followed_with_what_was_written_before(home, where, monkeypatch, tmp_path):
    monkeypatch.setenv("HOME", str(tmp_path / "me"))
    home.transcript(user("Before"))
    store = where.replace("{root}", str(tmp_path))
    home.write("openclaw.json", {"session": {"store": store}, "agents": {"list": [{"id": "main"}]}})
    index = Path(store.replace("{agentId}", "main")).expanduser()
    index.parent.mkdir(parents=True)
    script = Script(index.parent, "0b0e4f6e-6a3e-4b6e-9f6d-000000000001", "").add(user("After"), assistant("Yes"))
    index.write_text(json.dumps({"agent:main:main": {"sessionId": script.session, "updatedAt": 1}}))
    result = run(home)
    assert (result["notes"], result["unread"], count_events("user")) == ([], [], 2)
    assert Session.objects.using(MAIN).get(session_key="agent:main:main").id == script.session
    assert check_home(home) == ([], [], 0)
    assert run(home)["records"] == 0


@pytest.mark.parametrize("where", first(("elsewhere", "agents/main/sessions", "", "agents", "agents/main"), 2))
def test_agents_that_share_a_folder_of_sessions_each_have_their_own(home, where):
    agents = [{"id": "main"}, {"id": "research", "workspace": str(home.root / "lab")}, {"id": "quiet"}]
    store = home.root / where
    store.mkdir(exist_ok=True)
    home.write("openclaw.json", {"session": {"store": f"{store}/sessions.json"}, "agents": {"list": agents}})
    keys = {"a1": "agent:main:main", "b1": "agent:research:main", "b2": "agent:Research:cron:x", "a2": "global"}
    for session in (*keys, "a3", "b4"):
        Script(store, session, "").add(user("Hello"), assistant("Hi"))
    (store / "b5.jsonl").write_text(header("b5").replace("{", '{"cwd": "%s", ' % (home.root / "lab"), 1) + message(1))
    (store / "b1.jsonl.deleted.2026-03-01").write_text(header("b1") + message(1))
    (store / "stale.jsonl").write_text(header("b6") + message(1))
    (store / "a1.jsonl.lock").write_text("1")
    entries = {key: {"sessionId": session, "updatedAt": AT} for session, key in keys.items()}
    entries["agent:research:b4"] = {"sessionId": "b4", "sessionFile": "C:\\x\\b4.jsonl"}
    entries["agent:research:b6"] = {"sessionId": "b6"}
    (store / "sessions.json").write_text(json.dumps(entries))
    result = run(home)
    expected = {"main": ["a1", "a2", "a3"], "research": ["b1", "b2", "b4", "b5", "b6"], "quiet": []}
    assert {agent: sessions_of(agent) for agent in expected} == expected
    files = {agent: result["agents"][agent]["files"] for agent in expected}
    assert all(counts["found"] == counts["read"] + counts["named"] for counts in files.values())
    assert {agent: counts["index_entries"] for agent, counts in files.items()} == {agent: {} for agent in expected}
    assert sum(counts["named"] for counts in files.values()) == 2
    assert check_home(home) == ([], [], 0)
    opened = count_opens(lambda: run(home))
    assert not [path for path in opened if ".jsonl" in path or path.endswith("sessions.json")]
    del entries["agent:research:b4"]
    (store / "sessions.json").write_text(json.dumps(entries))
    assert run(home)["records"] == 0
    assert {agent: sessions_of(agent) for agent in expected} == expected
    assert run(home, again=True)["records"] == 0
    assert {agent: sessions_of(agent) for agent in expected} == expected
    assert check_home(home) == ([], [], 0)


def sessions_of(agent):
    rows = Session.objects.using(get_alias(agent)).filter(record_count__gt=0)
    assert Session.objects.using(get_alias(agent)).count() == rows.count()
    return sorted(rows.values_list("id", flat=True))


def test_agent_dir_and_the_usual_place_are_both_read(home, tmp_path):
    if not DATA.is_dir():
        pytest.skip("the samples are not here")
    shutil.copytree(DATA / "openclaw-2026.9.6" / "agents" / "research" / "agent", tmp_path / "outside" / "agent")
    shutil.copytree(DATA / "openclaw-2026.9.6" / "agents" / "main" / "agent", home.root / "agents" / "main" / "agent")
    entry = {"id": "main", "agentDir": str(tmp_path / "outside" / "agent")}
    home.write("openclaw.json", {"agents": {"list": [entry]}})
    assert run(home)["unread"] == []
    keys = set(Session.objects.using(MAIN).values_list("session_key", flat=True))
    assert {"agent:main:main", "agent:research:main"} <= keys
    assert check_home(home)[2] == 0


def test_a_link_where_a_place_was_configured_is_named_and_nothing_takes_its_place(home, tmp_path):
    home.transcript(user("Hello"))
    create_workspace(home.root / "workspace", "The usual one.")
    create_workspace(tmp_path / "synced")
    (tmp_path / "link").symlink_to(tmp_path / "synced")
    home.write("openclaw.json", {"agents": {"list": [{"id": "main", "workspace": str(tmp_path / "link")}]}})
    result = run(home)
    assert "it is a link" in result["unread"][0] and "Write the real path" in result["unread"][0]
    assert read_memory() == [] and count_events("user") == 1
    assert check_home(home)[0] == [("place", str(tmp_path / "link"))]


def test_places_that_are_not_read_are_skipped_sources_of_their_agents(tmp_path, real_files):
    home = Home(tmp_path / "openclaw", agents=("main", "other", "third"))
    for agent in home.agents:
        home.transcript(user("Hello"), agent=agent)
    run(home)
    rows = SkippedSource.objects.order_by("path").values_list("agent_id", "kind", "path", "reason")
    assert not rows
    for name in ("other", "third/sessions"):
        shutil.move(home.root / "agents" / name, tmp_path / "moved" / name)
        (home.root / "agents" / name).symlink_to(tmp_path / "moved" / name)
    (home.root / "agents" / "main" / "agent").write_text("no folder")
    for _times in range(2):
        files = run(home)["agents"]["main"]["files"]
        assert list(rows.all()) == [
            ("main", "folder", "agents/main/agent", "unreadable"),
            ("other", "folder", "agents/other", "link"),
            ("third", "folder", "agents/third/sessions", "link"),
        ]
        assert files["folders"] == {"unreadable": {"count": 1, "names": ["agents/main/agent"]}}


def test_a_copied_home_says_which_of_its_folders_are_used(home):
    home.transcript(user("Hello"))
    create_workspace(home.root / "places" / "work")
    home.write("openclaw.json", {"agents": {"list": [{"id": "main", "workspace": "/srv/old/.openclaw/places/work"}]}})
    result = run(home)
    assert read_memory() == ["I remember."] and result["unread"] == []
    sentence = "/srv/old/.openclaw/places/work does not exist here; the folder places/work of this OpenClaw folder was"
    assert any(sentence in note for note in result["notes"])
    findings, notes, _to_read = check_home(home)
    assert findings == [] and any(sentence in note for note in notes)


def test_a_place_that_is_nowhere_is_named_and_the_usual_folder_does_not_take_its_place(home):
    home.transcript(user("Hello"))
    create_workspace(home.root / "workspace")
    home.write("openclaw.json", {"agents": {"list": [{"id": "main", "workspace": "/srv/old/gone"}]}})
    assert "/srv/old/gone does not exist here" in run(home)["notes"][0]
    assert read_memory() == []
    home.write("openclaw.json", {"agents": {"list": [{"id": "main", "workspace": "gone"}]}})
    assert "“gone” is not an absolute path" in run(home)["unread"][0]


@pytest.mark.parametrize(
    ("version", "used"), [("2026.9.6", "{shared}/second"), ("2026.7.1", "{root}/workspace-second")]
)
def test_an_agent_without_a_workspace_has_one_by_version(home, version, used, tmp_path):
    (home.root / "agents" / "second" / "sessions").mkdir(parents=True)
    home.transcript(user("Hello"), agent="second")
    config = {"meta": {"lastTouchedVersion": version}}
    config["agents"] = {"defaults": {"workspace": str(tmp_path / "shared")}, "list": [{"id": "main"}, {"id": "second"}]}
    home.write("openclaw.json", config)
    for path in ("{shared}/second", "{root}/workspace-second"):
        create_workspace(Path(path.format(shared=tmp_path / "shared", root=home.root)), path)
    run(home)
    assert read_memory("second") == [used]


def test_the_newest_report_wins_and_nothing_is_written_elsewhere(home, settings):
    settings.WORKSPACE_WRITES = True
    for session in ("s1", "s2"):
        home.transcript(user("Hello"), session=session)
    create_workspace(home.root / "workspace", "Configured.")
    create_workspace(home.root / "workspace" / "main", "Used.")
    home.index(
        build_index_entry(home.root / "workspace")
        | build_index_entry(home.root / "workspace/main/", AT + 1, "agent:main:irc", "s2")
    )
    result = run(home)
    assert read_memory() == ["Used."] and result["unread"] == []
    main = Agent.objects.get(agent_id="main")
    assert workspace_access.get_workspace(main) == home.root / "workspace" / "main"
    findings, _notes, to_read = check_home(home)
    assert findings == [("place", str(home.root / "workspace/main"))] and to_read == 0
    home.index(build_index_entry("/srv/gone", AT + 2))
    run(home)
    with pytest.raises(Refused, match="/srv/gone, which is not there"):
        workspace_access.get_workspace(Agent.objects.get(agent_id="main"))
    assert read_memory() == ["Used.", "Configured."]  # the configured file comes last, although it is older
    assert check_home(home)[0] == [("place", "/srv/gone")]


def test_a_report_before_the_import_counts_for_the_doctor_and_a_store_without_one_asks_once(home):
    home.transcript(user("Hello"))
    create_workspace(home.root / "workspace", "Configured.")
    create_workspace(home.root / "workspace" / "main", "Used.")
    home.index(build_index_entry(home.root / "workspace" / "main"))
    assert check_home(home)[0] == [("place", str(home.root / "workspace" / "main"))]
    assert run(home)["agents"]["main"]["file_versions"] == 1
    Agent.objects.update(reported_workspace="", workspace_reported_at=None)
    assert workspace_access.get_workspace(Agent.objects.get()) == home.root / "workspace" / "main"
    assert Agent.objects.get().workspace_reported_at == AT


def test_a_file_that_only_one_of_two_workspaces_has_is_read_and_both_are_named(home, settings):
    settings.WORKSPACE_WRITES = True
    home.transcript(user("Hello"))
    create_workspace(home.root / "workspace", "Configured.")
    (home.root / "workspace" / "main").mkdir()
    (home.root / "workspace" / "main" / "USER.md").write_text("Used.")
    (home.root / "workspace" / "USER.md").write_text("Not used.")
    cron = build_index_entry("/srv/cron", AT + 9, "agent:main:cron:job", "s3")
    home.index(build_index_entry(home.root / "workspace" / "main") | cron)
    assert check_home(home)[2] > 0
    run(home)
    assert read_memory() == ["Configured."] and read_memory(name="USER.md") == ["Used."]
    assert run(home)["agents"]["main"]["file_versions"] == 0 and check_home(home)[2] == 0
    sentences = [sentence for sentence in check() if "the configuration leads to" in sentence]
    assert len(sentences) == 1 and str(home.root / "workspace") in sentences[0]
    assert workspace_access.get_workspace(Agent.objects.get()) == home.root / "workspace" / "main"
    home.index(build_index_entry(home.root / "workspace", AT + 10))
    run(home)
    assert read_memory(name="USER.md") == ["Used.", "Not used."]
    assert not any("the configuration leads to" in sentence for sentence in check())


def test_the_current_sample_shows_the_folder_that_main_uses(home, tmp_path):
    if not DATA.is_dir():
        pytest.skip("the samples are not here")
    shutil.rmtree(home.root)
    shutil.copytree(DATA / "openclaw-2026.9.6", home.root)
    run(home)
    own = home.root / "workspace" / "main"
    assert read_memory(name="USER.md") == [(own / "USER.md").read_text()]
    assert read_memory() == [(home.root / "workspace" / "MEMORY.md").read_text()]  # of the configured one
    ours, source = tmp_path / "ours", ("--source", str(home.root))
    assert run_command(ours, "collect", *source, "--quiet")[0] == 0
    receipt, _status = doctor(ours, *source, "--deep")
    findings = [(finding["check"], finding["path"]) for finding in receipt["store"] if finding["level"] == "finding"]
    assert findings == [("place", "/srv/oc/home-new/.openclaw/workspace/main")]


def test_agents_that_share_a_workspace_each_have_its_files_and_changes_that_one_told_of(home, tmp_path):
    for agent in ("alpha", "beta"):
        (home.root / "agents" / agent / "sessions").mkdir(parents=True)
        home.transcript(user("Hello"), agent=agent)
    shared = create_workspace(tmp_path / "ws")
    entries = [{"id": agent, "workspace": str(shared)} for agent in ("main", "alpha", "beta")]
    home.write("openclaw.json", {"agents": {"list": entries}})
    run(home)
    assert [read_memory(agent) for agent in ("main", "alpha", "beta")] == [["I remember."]] * 3
    at = int((shared / "MEMORY.md").stat().st_mtime * 1000) + 5_000
    (shared / "MEMORY.md").write_text("I remember more.")
    os.utime(shared / "MEMORY.md", (at / 1000, at / 1000))
    assert run(home)["guardian"]["unattributed"] == 3
    log_write(shared, at, "UPDATE_MEMORY", "More.")
    result = run(home)["guardian"]
    kinds = {agent: list(_origins(agent)) for agent in ("main", "alpha", "beta")}
    assert sorted(map(str, kinds.values())) == ["['imported']", "[]", "[]"], (kinds, result)
    assert check_home(home) == ([], [], 0)


def _origins(agent):
    return WriteGuardianAudit.objects.using(get_alias(agent)).values_list("origin", flat=True)


@pytest.mark.parametrize("spelling", ["{root}/", "{parent}/none/../openclaw", "{parent}/link", "{parent}/./openclaw"])
def test_every_spelling_of_a_folder_is_the_same_home(home, spelling, tmp_path):
    (tmp_path / "none").mkdir()
    (tmp_path / "link").symlink_to(home.root)
    home.transcript(user("Hello"))
    spelled = spelling.format(root=home.root, parent=tmp_path)
    for given, other in ((home.root, spelled), (spelled, home.root)):
        run(home, source=str(given))
        result = run(home, source=str(other))
        assert (result["records"], result["agents"]["main"]["transcripts"]) == (0, {"unchanged": 1})
        assert check_home(home, source=str(other)) == ([], [], 0)


def test_a_store_that_knows_a_folder_by_a_link_keeps_that_name(home, tmp_path):
    (tmp_path / "link").symlink_to(home.root)
    home.transcript(user("Hello"))
    run(home)
    CollectorSource.objects.update(root=str(tmp_path / "link"))
    assert run(home)["records"] == 0
    assert set(CollectorSource.objects.values_list("root", flat=True)) >= {str(tmp_path / "link")}


@pytest.mark.parametrize("name", ["ideographic\u3000space", "no\u00a0break", "zero\u200dwidth", "line\nbreak"])
def test_names_with_characters_that_cannot_be_seen_are_read(home, name):
    home.transcript(user("Hello"))
    (home.root / "workspace" / "memory" / "deep").mkdir(parents=True)
    (home.root / "workspace" / "memory" / "deep" / f"{name}.md").write_text("Below.")
    (home.root / "workspace" / "memory.md").write_text("Lower case.")
    run(home)
    assert read_memory(name=f"memory/deep/{name}.md") == ["Below."] and read_memory(name="memory.md") == ["Lower case."]
    assert check_home(home)[0] == []


def test_names_that_are_not_utf_8_are_named(home):
    home.transcript(user("Hello"))
    (home.root / "workspace" / "memory").mkdir(parents=True)
    Path(f"{home.root}/workspace/memory/\udcff.md").write_text("Odd.")
    Path(f"{home.root}/agents/caf\udce9").mkdir()
    result = run(home)
    assert "caf‹U+DCE9›" in result["unread"][0] and result["records"] == 2
    assert any("‹U+DCFF›.md" in note for note in result["agents"]["main"]["notes"])
