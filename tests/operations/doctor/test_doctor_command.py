"""`openclaw-web doctor`: its findings, its records of runs, and checks that change nothing."""

import os
import stat
import uuid
from pathlib import Path

import orjson
import pytest

from tests.homes import Home, assistant, user
from tests.operations.backups.backup_homes import read_tables, run
from tests.operations.doctor import doctor_homes
from tests.operations.doctor.doctor_homes import change, doctor, fill, read_tree, rows, unmigrate
from tests.sqlite_homes import SqliteHome

pytestmark = pytest.mark.kill
home, source = doctor_homes.home, doctor_homes.source


def select_checks(receipt):
    return {(finding["check"], finding["agent"]) for finding in receipt["store"] if finding["level"] == "finding"}


def list_names(home):
    """Return the names of files in a home, without those that come and go with every process that reads."""
    names = {name for name in read_tree(home) if not name.endswith(("-shm", "-wal"))}
    return names - {"state/copies", "state/copies/lock"}


def test_it_works(home, source):
    ids = fill(source)
    before = read_tree(source.root)
    looked, status = doctor(home)
    assert (status, looked["schema"], looked["verb"], looked["run"]) == (1, "openclaw-web.doctor.v1", "look", None)
    assert (looked["source"]["layout"], looked["to_read"], looked["rejected_count"]) == ("files", 7, 0)
    assert [(agent["agent"], agent["records"]) for agent in looked["agents"]] == [("main", 26), ("research", 13)]
    assert rows(home, "SELECT count(*) FROM agents") == [(0,)]  # a check imports nothing

    fixed, _status = doctor(home, "--fix", status=0)
    run_row = rows(home, "SELECT id, status, report_json, finished_at >= started_at FROM migration_runs")
    ((run_id, state, report, in_order),) = run_row
    assert (run_id, state, in_order) == (fixed["run"]["id"], "completed", 1)
    assert orjson.loads(report)["backup"]["path"] == fixed["run"]["backup"]["path"]
    assert Path(fixed["run"]["backup"]["path"]).is_file()
    assert fixed["run"]["sessions"] == {"main": 2, "research": 1}
    assert orjson.loads(report)["sessions"] == {"main": sorted(ids[0::2]), "research": [ids[1]]}
    stored = rows(home, "SELECT source_path, migration_kind, target_table, status, removed_source, source_size_bytes,"
                " source_sha256, source_record_count, last_run_id FROM migration_sources")  # fmt: skip
    assert {path for path, *_rest in stored} == {source_file["path"] for source_file in looked["sources"]}
    for path, _kind, _target, status, removed, size, sha256, _count, last in stored:
        content = (source.root / path).read_bytes()
        assert (status, removed, size, last) == ("imported", 0, len(content), run_id)
        assert sha256 == before[path][0]
    counts = {path: count for path, _kind, _target, _status, _removed, _size, _sha, count, _last in stored}
    assert sum(counts[path] for path in counts if path.endswith(f"{ids[0]}.jsonl")) == 13
    assert read_tree(source.root) == before

    again, _status = doctor(home, "--fix", status=0)
    assert again["run"] is None and again["to_read"] == 0
    assert len(rows(home, "SELECT 1 FROM migration_runs")) == 1
    clean, _status = doctor(home, "--deep", status=0)
    assert clean["findings"] == 0 and select_checks(clean) == set()


def test_looking_changes_nothing(home, source):
    fill(source)
    doctor(home, "--fix")
    source.transcript(user("New"))
    before, theirs, files = read_tables(home), read_tree(source.root), list_names(home)
    doctor(home, "--deep", status=1)
    assert read_tables(home) == before and list_names(home) == files
    assert read_tree(source.root) == theirs


def test_a_record_in_both_spellings_of_its_envelope_is_no_second_one(home, source):
    words = 'Sender (untrusted metadata):\n```json\n{"id": "42"}\n```\n\nHello'
    script = source.transcript(user(words))
    script.add(
        {**user(words.replace("(untrusted metadata):", "⟦openclaw:ctx⟧").replace("Sender ", "Sender: ")), **FIRST}
    )
    looked, _status = doctor(home, status=1)
    assert looked["rejected"] == []
    script.add({**user("another"), **FIRST})
    looked, _status = doctor(home, status=1)
    assert looked["rejected"] == [] and looked["sources"][0]["kinds"]["user"] == 2


FIRST = {"id": "r1", "parentId": None, "timestamp": "2026-02-21T03:00:01.000Z"}


def test_what_will_be_rejected_is_named_with_its_place(home, source):
    script = source.transcript(user("One"))
    offset = script.path.stat().st_size
    script.raw("no record\n").raw('{"type":"message","id":"r1","message":{"role":"user","content":"other"}}\n')
    source.write("cron/jobs.json", "[]")
    looked, _status = doctor(home, status=1)
    rejected = {(line["file"], line["offset"], line["reason"]) for line in looked["rejected"]}
    name = script.path.relative_to(source.root).as_posix()
    assert rejected == {
        (name, offset, "not_json"),
        ("cron/jobs.json", 0, "bad_file"),
    }
    fixed, _status = doctor(home, "--fix", status=1)
    assert [warning["path"] for warning in fixed["run"]["warnings"]] == ["cron/jobs.json"]
    stored = rows(home, "SELECT file, byte_offset, reason FROM rejected_records", "main")
    assert set(stored) == {line for line in rejected if line[0] == name}
    assert rows(home, "SELECT status FROM migration_runs") == [("warning",)]
    assert rows(home, "SELECT status, removed_source, imported_at FROM migration_sources WHERE source_path = ?",
                values=("cron/jobs.json",)) == [("warning", 0, None)]  # fmt: skip
    source.write("cron/jobs.json", {"jobs": [{"id": "j1", "agentId": "main"}]})
    fixed, _status = doctor(home, "--fix", status=0)
    assert fixed["run"]["imported"] == 1
    assert doctor(home, status=0)[0]["to_read"] == 0


def test_what_is_skipped_is_named_and_never_read(home, tmp_path):
    source = SqliteHome(Path(f"{home}-source"))
    source.session(str(uuid.UUID(int=1)), user("One"))
    source.write("credentials/whatsapp.json", {"key": "sk-fake-canary"})
    with source.state():
        pass
    looked, _status = doctor(home)
    skipped = {(place["path"], place["table"]): place["why"] for place in looked["skipped"]}
    assert skipped["agents/main/agent/openclaw-agent.sqlite", "auth_profile_store"] == "secret"
    assert skipped["state/openclaw.sqlite", "device_identities"] == "secret"
    assert skipped["credentials", ""] == "secret"
    assert looked["source"]["layout"] == "database"
    doctor(home, "--fix", status=0)
    assert {(place["path"], place["table"]) for place in doctor(home, status=0)[0]["skipped"]} >= skipped.keys()
    for file in home.rglob("*"):
        assert not file.is_file() or b"sk-fake-canary" not in file.read_bytes(), file


def test_a_corrupt_database_is_one_rejected_source(home):
    source = SqliteHome(Path(f"{home}-source"), agents=("main", "research"))
    for number, agent in enumerate(source.agents, start=1):
        source.session(str(uuid.UUID(int=number)), user("One"), assistant("Two"), agent=agent)
    data = bytearray(source.database("research").read_bytes())
    data[4096 : 4096 * 4] = b"\xff" * 4096 * 3
    source.database("research").write_bytes(data)
    looked, _status = doctor(home, status=1)
    assert [(line["file"], line["reason"]) for line in looked["rejected"]] == [
        ("agents/research/agent/openclaw-agent.sqlite", "bad_database")
    ]
    fixed, _status = doctor(home, "--fix", status=1)
    assert [warning["path"] for warning in fixed["run"]["warnings"]] == ["agents/research/agent/openclaw-agent.sqlite"]
    assert rows(home, "SELECT count(*) FROM transcript_events", "main") == [(3,)]
    assert rows(home, "SELECT count(*) FROM transcript_events", "research") == [(0,)]
    assert rows(home, "PRAGMA integrity_check", "research") == [("ok",)]


def test_without_a_home_of_openclaw(home, tmp_path):
    looked, _status = doctor(home, status=1)
    assert "There is no OpenClaw folder at" in looked["source"]["problem"]
    refused, _status = doctor(home, "--fix", "--source", "/nowhere", status=2)
    assert "There is no OpenClaw folder at" in refused["error"]
    _fixed, _status = doctor(home, "--fix", status=0)  # only our own store can be repaired


def test_wrong_use(home):
    for words, sentence in (
        (("--fix", "--undo", "x"), "Use only one of --fix, --undo"),
        (("--sources", "remove"), "--sources can be used only with --fix"),
        (("--force",), "--force can be used only with --fix or --undo"),
        (("--fix", "--sources", "burn"), "invalid choice"),
        (("--undo", "x"), "no repair run x"),
    ):
        status, _out, err = run(home, "doctor", *words)
        assert status == 2 and sentence in err and "Traceback" not in err, (words, err)


def test_an_agent_whose_name_is_taken(home, source, tmp_path):
    fill(source)
    doctor(home, "--fix", status=0)
    other = Home(tmp_path / "other")
    other.transcript(user("Elsewhere"))
    refused, _status = doctor(home, "--fix", "--source", str(other.root), status=2)
    assert "--as" in refused["error"]
    assert doctor(home, "--fix", "--source", str(other.root), "--as", "lab", status=0)[0]["run"]["sessions"] == {
        "lab": 1
    }


class TestRepairs:
    @pytest.fixture(autouse=True)
    def filled(self, home, source):
        fill(source)
        doctor(home, "--fix", status=0)

    def mended(self, home, *expected):
        """Assert that exactly these findings are reported, repaired, and then reported no more."""
        looked, _status = doctor(home, status=1)
        assert select_checks(looked) == set(expected)
        fixed, _status = doctor(home, "--fix", status=0)
        assert {(repair["check"], repair["agent"]) for repair in fixed["run"]["repairs"]} == set(expected)
        assert fixed["run"]["backup"]
        doctor(home, "--deep", status=0)

    def test_triggers(self, home):
        change(home, "DROP TRIGGER operator_audit_no_update; DROP TRIGGER sample_labels_no_delete")
        other = "CREATE TRIGGER sample_labels_no_delete BEFORE DELETE ON sample_labels BEGIN SELECT 1; END"
        change(home, other)
        self.mended(home, ("trigger", ""))
        with pytest.raises(Exception, match="append-only"):
            change(home, "UPDATE operator_audit SET actor = 'x'")

    def test_permissions(self, home):
        (home / "state" / "openclaw.sqlite").chmod(0o644)
        (home / "agents" / "main").chmod(0o755)
        self.mended(home, ("permissions", ""))
        assert stat.S_IMODE((home / "agents" / "main").stat().st_mode) == 0o700
        assert stat.S_IMODE((home / "state" / "openclaw.sqlite").stat().st_mode) == 0o600

    def test_sums(self, home):
        change(home, "UPDATE agent_summaries SET session_count = 99 WHERE agent_id = 'main'")
        change(home, "UPDATE tool_days SET chars = chars + 1", "research")
        before = rows(home, "SELECT date, tool, sum(chars) FROM session_tools GROUP BY 1, 2", "research")
        self.mended(home, ("sums", "main"), ("tool_sums", "research"))
        assert rows(home, "SELECT date, tool, chars FROM tool_days ORDER BY 1, 2", "research") == sorted(before)

    def test_a_file_that_nobody_knows(self, home):
        change(home, "DELETE FROM agent_databases WHERE agent_id = 'main';"
                     "UPDATE agents SET agent_db_path = 'elsewhere' WHERE agent_id = 'research';")  # fmt: skip
        self.mended(home, ("registry_row", "main"), ("registry_row", "research"))

    def test_an_unregistered_agent(self, home):
        change(home, "PRAGMA foreign_keys=OFF; DELETE FROM agent_databases WHERE agent_id = 'main';"
                     "DELETE FROM agents WHERE agent_id = 'main';")  # fmt: skip
        self.mended(home, ("unregistered", "main"))
        assert rows(home, "SELECT agent_id, path FROM agent_databases ORDER BY 1")[0] == (
            "main", "agents/main/agent/openclaw-agent.sqlite",
        )  # fmt: skip

    def test_an_agents_file_that_is_not_up_to_date(self, home):
        unmigrate(home, "gate", "main")
        self.mended(home, ("schema", "main"))

    def test_a_global_file_that_is_not_up_to_date(self, home):
        unmigrate(home, "problems")
        assert select_checks(doctor(home, status=1)[0]) == {("schema", "")}
        before = (home / "state" / "openclaw.sqlite").read_bytes()
        status, out, err = run(home, "doctor", "--fix", "--quiet")
        sentence = (
            "The databases are not up to date. Run openclaw-web serve, which creates a backup and updates them.\n"
        )
        assert (status, out, err) == (2, "", sentence)
        assert (home / "state" / "openclaw.sqlite").read_bytes() == before
        assert run(home, "migrate")[0] == 0
        doctor(home, status=0)

    def test_an_agents_file_that_is_gone(self, home):
        before = rows(home, "SELECT count(*) FROM transcript_events", "research")
        file = home / "agents" / "research" / "agent" / "openclaw-agent.sqlite"
        file.rename(file.with_name("moved"))
        looked, _status = doctor(home, status=1)
        assert (
            select_checks(looked) == {("registry", "research")} and "Restore a backup" in looked["store"][0]["sentence"]
        )
        assert doctor(home, "--fix", status=0)[0]["run"]["refilled"] == ["research"]
        assert rows(home, "SELECT count(*) FROM transcript_events", "research") == before
        doctor(home, status=0)

    def test_what_only_a_person_can_mend(self, home):
        (home / "links").symlink_to("/etc")
        looked, _status = doctor(home, status=0)
        assert [finding["check"] for finding in looked["store"] if finding["level"] == "note"] == ["links"]

    @pytest.mark.parametrize("damage", ["pages", "beginning", "blank"])
    def test_a_damaged_agent_file(self, home, damage):
        before = rows(home, "SELECT * FROM transcript_event_identities ORDER BY 1, 2", "main")
        file = home / "agents" / "main" / "agent" / "openclaw-agent.sqlite"
        data = bytearray(file.read_bytes())
        data[slice(0, 50) if damage == "beginning" else slice(4096 * 3, 4096 * 9)] = os.urandom(4096 * 6)
        file.write_bytes(b"" if damage == "blank" else data)
        looked, _status = doctor(home, status=1)
        assert select_checks(looked) == {("integrity", "main")}
        if damage == "blank":
            assert doctor(home, "--fix", status=0)[0]["run"]["refilled"] == ["main"]
        else:  # what people entered is only in the damaged file
            assert "collect --again --agent main" in looked["store"][0]["sentence"]
            damaged = file.read_bytes()
            doctor(home, "--fix", status=2)
            assert file.read_bytes() == damaged
            assert run(home, "collect", "--again", "--agent", "main")[0] == 0
        assert rows(home, "SELECT * FROM transcript_event_identities ORDER BY 1, 2", "main") == before
        [old_file] = file.parent.glob("openclaw-agent.damaged-*.sqlite")
        notes = [finding["path"] for finding in doctor(home, status=0)[0]["store"] if finding["check"] == "leftover"]
        assert notes == [old_file.relative_to(home).as_posix()]

    def test_artifacts(self, home):
        place = "from artifacts import services\nwith services.open_stash_batch('agent_main') as b:\n"
        place += " b.add(b'x' * 5000, place=services.Place('s'))\n"
        code = "from agents import databases\ndatabases.get_alias('main')\n" + place
        assert run(home, "shell", "--no-imports", "-c", code)[0] == 0
        (blob,) = (home / "artifacts" / "blobs").rglob("*.txt*")
        content = blob.read_bytes()
        blob.write_bytes(b"y" + content[1:])
        assert select_checks(doctor(home, "--deep", status=1)[0]) == {("artifact_damaged", "")}
        blob.unlink()  # its metadata stays; metadata alone counts as no content
        assert select_checks(doctor(home, status=1)[0]) == {("artifact_gone", "main")}
        change(home, "DELETE FROM artifacts", "main")
        blob.write_bytes(content)
        assert [finding["check"] for finding in doctor(home)[0]["store"]] == ["artifact_loose"]
