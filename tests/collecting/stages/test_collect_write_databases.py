"""Collecting writes to memory files from a `reflection.db`, and from several sources.

The database has the shape of the spec. Several sources may report the same write.
"""

import sqlite3
from contextlib import closing

import pytest

from guardian.collectors import reflection_db
from guardian.corrections import correction_store, rule_trial, rules
from guardian.models import BehaviorCorrection, Rollback, WriteGuardianAudit
from ledger.collectors.database import Database
from ledger.models import RejectedRecord
from openclaw_web.clock import now_ms
from openclaw_web.sqlite.fields import get_reported_fields
from tests.collecting.collect_runs import MAIN, run
from tests.collecting.plugin_log import CHANNEL, T0, log_first_turn, log_write
from tests.collecting.stages.test_collect_writes import rows
from tests.homes import Home, user

pytestmark = pytest.mark.django_db
SCHEMA = """
CREATE TABLE write_guardian_audit (id TEXT PRIMARY KEY, decision_id TEXT, turn_id TEXT, session_id TEXT,
    target_file TEXT, candidate_fact TEXT, before_snapshot_id TEXT, after_snapshot_id TEXT, status TEXT, reason TEXT,
    llm_model TEXT, llm_latency_ms INTEGER, agent_steps INTEGER, created_at INTEGER);
CREATE TABLE file_snapshots (id TEXT PRIMARY KEY, file_name TEXT, content TEXT, content_hash TEXT, created_at INTEGER);
CREATE TABLE rollbacks (id TEXT PRIMARY KEY, audit_id TEXT, rolled_back_at INTEGER, rolled_back_by TEXT, reason TEXT,
    restored_snapshot_id TEXT, previous_status TEXT);
CREATE TABLE behavior_corrections (id TEXT PRIMARY KEY, audit_id TEXT, original_status TEXT,
    original_candidate_fact TEXT, original_target_file TEXT, corrected_status TEXT, corrected_candidate_fact TEXT,
    corrected_target_file TEXT, correction_reason TEXT, apply_to_future BOOLEAN, correction_pattern TEXT,
    corrected_by TEXT, corrected_at INTEGER);
"""


def create_database(workspace, *writes, more="", schema=SCHEMA):
    """Write a `reflection.db` with these writes, and run the statements of `more`."""
    folder = workspace / ".openclaw-reflection"
    folder.mkdir(exist_ok=True)
    with closing(sqlite3.connect(folder / "reflection.db")) as db, db:
        db.executescript(schema)
        for write in writes:
            columns = {
                "target_file": "USER.md",
                "candidate_fact": "Tea.",
                "status": "written",
                "created_at": T0 + 1_790,
            }
            columns |= write
            sql = f"INSERT INTO write_guardian_audit ({', '.join(columns)}) VALUES ({', '.join('?' * len(columns))})"
            db.execute(sql, [*columns.values()])
        db.executescript(more)


def test_what_no_page_could_show_is_rejected_and_the_write_is_kept(place):
    home, _talk, _log = place
    long, at = "x" * 20_001, T0 + 9_000
    corrections = [("c1" * 200, "eve", "No."), ("c2", "e" * 300, "No."), ("c3", "eve", long)]
    more = "".join(
        f"INSERT INTO behavior_corrections VALUES ('{name}', 'w1', 'written', 'Tea.', 'USER.md', 'refused', NULL, NULL,"
        f" '{reason}', 1, 'tea', '{by}', {at});"
        for name, by, reason in corrections
    )
    more += f"INSERT INTO rollbacks VALUES ('r1', 'w1', {at}, 'eve', '{long}', NULL, 'written');"
    create_database(home.root / "workspace", {"id": "w1"}, {"id": "w2", "reason": long}, more=more)
    counts = run(home)["guardian"]
    assert (counts["writes"], counts["rollbacks"], counts["corrections"]) == (1, 0, 0) and counts["rejected"]
    assert not BehaviorCorrection.objects.using(MAIN).exists()


def test_a_database_of_the_specs_shape_is_read_with_everything_beside(place):
    home, talk, _log = place
    more = f"""
        INSERT INTO file_snapshots VALUES ('v1', 'USER.md', 'one', NULL, 1), ('v2', 'USER.md', 'one two', NULL, 2);
        INSERT INTO rollbacks VALUES ('r1', 'w2', {T0 + 9_000}, 'eve', 'Wrong.', 'v1', 'written');
        INSERT INTO behavior_corrections VALUES ('c1', 'w2', 'written', 'Tea.', 'USER.md', 'refused', NULL, NULL,
            'No drinks.', 1, 'likes', 'eve', {T0 + 9_500});
    """
    first = {"id": "w1", "turn_id": f"{talk.session}:r1", "session_id": CHANNEL, "after_snapshot_id": "v1"}
    second = {"id": "w2", "session_id": CHANNEL, "status": "rolled_back", "created_at": T0 + 5_000}
    sides = {"before_snapshot_id": "v1", "after_snapshot_id": "v2", "candidate_fact": "Coffee."}
    create_database(home.root / "workspace", first, second | sides, more=more)
    counts = run(home)["guardian"]
    assert (counts["writes"], counts["rollbacks"], counts["corrections"], counts["rejected"]) == (2, 1, 1, 0)
    first_row, second_row, rollback_row = rows()
    assert (first_row.turn_id, first_row.match, first_row.before_snapshot, first_row.lines_added) == (
        f"{talk.session}:r1",
        "given",
        None,
        1,
    )
    assert (second_row.status, second_row.rollback.rolled_back_by, second_row.rollback.restored_snapshot) == (
        "rolled_back", "reflection.db: eve", first_row.after_snapshot,
    )  # fmt: skip
    assert [status.status for status in second_row.statuses.order_by("created_at")] == ["written", "rolled_back"]
    assert (rollback_row.origin, rollback_row.created_at, rollback_row.lines_removed) == ("rollback", T0 + 9_000, 1)
    assert (rollback_row.before_snapshot, rollback_row.after_snapshot.content) == (second_row.after_snapshot, "one")
    assert (
        second_row.rollback.own_audit == rollback_row and rollback_row.statuses.get().given_by == "reflection.db: eve"
    )
    rule = BehaviorCorrection.objects.using(MAIN).get()
    assert (rule.correction_pattern, rule.switched_off_by) == ("likes", "import")
    assert run(home)["guardian"]["writes"] == 0


def test_every_reported_column_of_the_requirements_is_stored(place):
    home, _talk, _log = place
    names = {field.attname for field in get_reported_fields(WriteGuardianAudit)} - {"session_key"}  # known to this site
    values = {name: 7 if name in ("llm_latency_ms", "agent_steps") else f"some {name}" for name in names}
    create_database(home.root / "workspace", {"id": "w1"} | values)
    run(home)
    [row] = rows()
    assert {name: getattr(row, name) for name in names} == values | {"turn_id": None}  # there is no such turn
    assert row.session_key == values["session_id"]


def test_columns_and_tables_of_a_database_may_be_missing(place):
    home, _talk, _log = place
    columns = "id TEXT, target_file TEXT, status TEXT, created_at INTEGER, candidate_fact"
    schema = f"CREATE TABLE write_guardian_audit ({columns})"
    create_database(home.root / "workspace", {"id": "w1"}, schema=schema)
    assert run(home)["guardian"]["writes"] == 1
    assert rows().get().session_id is None


def test_a_table_that_sqlite_would_compute_is_not_read_and_the_import_says_so(place):
    home, _talk, _log = place
    heavy = "instr(hex(zeroblob(200000)), hex(zeroblob(100000)) || '1')"
    schema = f"CREATE TABLE write_guardian_audit (id TEXT, status TEXT, created_at INTEGER, x AS ({heavy}) NOT NULL);"
    create_database(home.root / "workspace", schema=schema)
    log_write(home.root / "workspace", T0 + 1_800, "UPDATE_USER", "Tea.")
    report = run(home)
    note = "The table write_guardian_audit of workspace/.openclaw-reflection/reflection.db was not read: "
    assert note + "it has generated columns." in report["notes"]
    assert report["guardian"]["writes"] == 1


@pytest.mark.parametrize(
    "wrong",
    [
        {"status": "perhaps"},
        {"status": None},
        {"target_file": "AGENTS.md"},
        {"created_at": "soon"},
        {"id": b"\xff"},
        {"agent_steps": -1},
        {"candidate_fact": "x" * 20_001},
        {"before_snapshot_id": b"\xff"},
        {"after_snapshot_id": b"v\x00"},
    ],
)
def test_rows_that_are_no_use_are_rejected_each(place, wrong):
    home, _talk, _log = place
    other = {"id": "w3", "status": "x"} if "id" in wrong else {"id": "w3"} | wrong
    create_database(home.root / "workspace", {"id": "w1"}, {"id": "w2", "candidate_fact": "Milk."} | wrong, other)
    counts = run(home)["guardian"]
    assert (counts["writes"], counts["rejected"]) == (1, 2)
    assert RejectedRecord.objects.using(MAIN).filter(reason="bad_write").count() == 2


def test_a_version_that_is_named_by_a_number_is_rejected_with_its_write(place):
    home, _talk, _log = place
    numbered = SCHEMA.replace("before_snapshot_id TEXT", "before_snapshot_id INTEGER")
    create_database(home.root / "workspace", {"id": "w1"}, {"id": "w2", "before_snapshot_id": 7}, schema=numbered)
    counts = run(home)["guardian"]
    assert (counts["writes"], counts["rejected"], rows().get().id) == (1, 1, "w1")


def read_many_writes(count):
    """Read this number of writes from a database; return them and the number of statements.

    Each write has a rollback and two corrections.
    """
    statements = []
    with closing(sqlite3.connect(":memory:")) as db:
        db.executescript(SCHEMA)
        for number in range(count):
            db.execute(
                "INSERT INTO write_guardian_audit (id, target_file, status, created_at) VALUES (?, 'USER.md', ?, ?)",
                (f"w{number}", "rolled_back", T0 + number),
            )
            db.execute("INSERT INTO rollbacks VALUES (?, ?, ?, 'eve', '', NULL, '')", (f"r{number}", f"w{number}", T0))
            for again in (number, number + count):
                db.execute(
                    "INSERT INTO behavior_corrections (id, audit_id, original_status, corrected_status, corrected_at)"
                    " VALUES (?, ?, 'written', 'refused', ?)",
                    (f"c{again}", f"w{number}", T0),
                )
        db.commit()
        db.set_trace_callback(statements.append)
        writes = list(reflection_db.read(Database(db, reflection_db.TABLES)))
    return writes, len(statements)


def test_what_is_beside_writes_is_asked_for_once_for_a_hundred_of_them():
    (first,), one_count = read_many_writes(1)
    writes, many_count = read_many_writes(300)
    assert many_count == one_count + 2 * 2
    assert (first.rollback.id, [correction.id for correction in first.corrections]) == ("r0", ["c0", "c1"])
    assert [write.rollback.id for write in writes] == [f"r{number}" for number in range(300)]
    assert [correction.id for correction in writes[7].corrections] == ["c7", "c307"]


def test_a_version_with_another_hash_is_rejected_and_its_write_kept_without(place):
    home, _talk, _log = place
    more = "INSERT INTO file_snapshots VALUES ('v1', 'USER.md', 'one', 'abc', 1)"
    create_database(home.root / "workspace", {"id": "w1", "after_snapshot_id": "v1"}, more=more)
    counts = run(home)["guardian"]
    assert (counts["writes"], counts["rejected"], rows().get().diff) == (1, 1, None)


def create_two_agents(tmp_path, *workspaces):
    """Create a home of main and eve, with these folders."""
    home = Home(tmp_path / "openclaw", agents=("main", "eve"))
    for agent in ("main", "eve"):
        home.transcript(user("Hello"), agent=agent)
    for name in workspaces:
        (home.root / name).mkdir()
    return home


def create_keyed_writes(workspace, *keys):
    """Write a database with one write for each of these keys: w0, w1, ..."""
    named = ({"id": f"w{n}", "session_id": key, "candidate_fact": f"{n}"} for n, key in enumerate(keys))
    create_database(workspace, *named)


def test_versions_are_as_big_as_those_of_a_running_plugin_and_stored_in_pieces(place):
    home, _talk, _log = place
    sizes = {"v1": 5_000_001, "v2": 4_999_990, "v3": 4_999_991, "v4": 4_999_992, "v5": 4_999_993}
    more = "".join(
        f"INSERT INTO file_snapshots VALUES ('{name}', 'USER.md', printf('%.*c', {size}, 'x'), NULL, 1);"
        for name, size in sizes.items()
    )
    writes = [
        {"id": f"w{name}", "after_snapshot_id": name, "candidate_fact": name, "created_at": T0 + place * 5_000}
        for place, name in enumerate(sizes)
    ]
    create_database(home.root / "workspace", *writes, more=more)
    counts = run(home)["guardian"]
    assert (counts["writes"], counts["rejected"], counts["unattributed"]) == (5, 1, 0)
    assert [row.after_snapshot and len(row.after_snapshot.content) for row in rows()] == [None, *[*sizes.values()][1:]]
    assert RejectedRecord.objects.using(MAIN).get(reason="bad_write").detail == "wv1: a version of more than 5 MB"


def test_writes_of_a_shared_workspace_go_to_the_agent_of_their_key(tmp_path, real_files):
    home = create_two_agents(tmp_path, "workspace")
    (tmp_path / "link").symlink_to(home.root)
    listed = [{"id": "main"}, {"id": "eve", "workspace": str(tmp_path / "link" / "workspace")}]
    home.write("openclaw.json", {"agents": {"list": listed}})
    create_keyed_writes(home.root / "workspace", "agent:eve:main", "agent:nobody:main", "agent:main:main")
    counts = run(home)["guardian"]
    assert (counts["writes"], counts["rejected"]) == (3, 0)
    assert [row.id for row in rows("agent_eve")] == ["w0"]
    assert [(row.id, row.match, row.session_id) for row in rows()] == [
        ("w1", "none", "agent:nobody:main"), ("w2", "none", "agent:main:main"),
    ]  # fmt: skip


def test_a_database_says_nothing_of_agents_that_have_another_workspace(tmp_path, real_files):
    home = create_two_agents(tmp_path, "workspace", "workspace-eve")
    create_keyed_writes(home.root / "workspace-eve", "agent:main:main", "agent:eve:main", None)
    rule = f"""INSERT INTO behavior_corrections VALUES ('c1', 'w0', 'written', 'Tea.', 'USER.md', 'refused', NULL, NULL,
        'No drinks.', 1, 'likes', 'eve', {T0 + 9_500});"""
    create_database(home.root / "workspace-eve", more=rule, schema="")
    counts = run(home)["guardian"]
    assert (counts["writes"], counts["corrections"], counts["rejected"]) == (2, 0, 1)
    assert not rows().exists() and not BehaviorCorrection.objects.using(MAIN).exists()
    assert [row.id for row in rows("agent_eve")] == ["w1", "w2"]
    rejected = RejectedRecord.objects.using("agent_eve").get(reason="bad_write")
    assert rejected.detail == "w0: its session is of the agent main, which has another workspace"


def test_a_workspace_that_no_agent_has_says_nothing_of_those_that_have_one(tmp_path, real_files):
    home = create_two_agents(tmp_path, "workspace-eve", "workspace-gone")
    create_keyed_writes(home.root / "workspace-gone", "agent:eve:main", "agent:gone:main")
    run(home)
    assert [row.id for row in rows()] == ["w1"] and not rows("agent_eve").exists()


def test_a_write_keeps_the_key_of_an_agent_without_a_workspace(tmp_path, real_files):
    home = create_two_agents(tmp_path, "workspace")
    create_keyed_writes(home.root / "workspace", "agent:eve:main")
    run(home)
    assert (rows().get().session_id, rows("agent_eve").exists()) == ("agent:eve:main", False)


def rollback(name, audit_id):
    return f"INSERT INTO rollbacks VALUES ('{name}', '{audit_id}', {T0 + 9_000}, 'eve', 'Wrong.', NULL, 'written');"


@pytest.mark.parametrize(
    ("taken_id", "more"),
    [
        ("w2", rollback("w1@rollback", "w2")),
        ("w1@write", rollback("r1", "w1")),
        ("r1@write", rollback("r1", "w1") + rollback("r2", "r1@write")),
        ("w2", rollback("w1@rollback", "w2") + rollback("w1@rollback-2", "w2")),
    ],
)
def test_ids_that_are_taken_end_no_import(place, taken_id, more):
    home, _talk, _log = place
    workspace, status = home.root / "workspace", {"status": "rolled_back"}
    other = {"id": taken_id, "candidate_fact": "Milk.", "created_at": T0} | status
    create_database(workspace, other, {"id": "w1"} | status, more=more)
    counted = run(home)["guardian"]
    assert (counted["writes"], counted["rollbacks"], counted["rejected"]) == (2, 2, 0)
    assert {row.status for row in rows().filter(id__in=["w1", taken_id])} == {"rolled_back"}
    own = [row.own_audit for row in Rollback.objects.using(MAIN).exclude(own_audit=None)]
    assert len({row.id for row in own}) == len(own) and {row.origin for row in own} == {"rollback"}
    assert run(home)["guardian"]["rollbacks"] == 0


def test_what_people_of_this_site_said_stands_over_what_is_imported(place, as_operator):
    home, _talk, _log = place
    workspace, agent = home.root / "workspace", "/api/v1/agents/main/guardian"
    create_database(workspace, {"id": "w1"})
    run(home)

    def says(name, status, at):
        more = f"""INSERT INTO behavior_corrections VALUES ('{name}', 'w1', 'written', 'Tea.', 'USER.md', '{status}',
            'Tea.', 'USER.md', 'I was told so.', 1, 'tea', 'lea', {at});"""
        create_database(workspace, more=more, schema="")
        run(home)

    says("c1", "refused", T0 + 9_000)
    correction = {"status": "refused", "reason": "In jest."}
    answer = as_operator.post(f"{agent}/writes/w1/correction", correction, "application/json")
    assert answer.status_code == 201  # also when an imported correction has the same verdict
    says("c2", "written", now_ms() + 10**9)
    rows_now = correction_store.find_by_write(MAIN, "w1")
    assert [row.corrected_by for row in rows_now] == [answer.json()["corrected_by"]] + 2 * ["reflection.db: lea"]
    assert max(row.corrected_at for row in rows_now) <= now_ms()
    ruled = rule_trial.read_rule_counts(MAIN, list(rules.find_rules(MAIN)))
    assert [rule.is_replaced for rule in ruled] == [True, True]
    answer = as_operator.post(f"{agent}/writes/w1/correction", correction, "application/json")
    assert answer.status_code == 409  # the rule is in force already


def test_the_same_write_from_log_api_and_database_is_one_row(place, as_operator):
    home, talk, log = place
    log_first_turn(log)
    workspace = home.root / "workspace"
    log_write(workspace, T0 + 1_800, "UPDATE_USER", "Tea.")
    run(home)
    body = {
        "id": "01PLUGIN", "turn_id": f"{talk.session}:r1", "session_id": CHANNEL, "target_file": "USER.md",
        "candidate_fact": "Tea.", "status": "written", "agent_steps": 3, "created_at": T0 + 1_790,
        "before": None, "after": "Tea.\n",
    }  # fmt: skip
    answer = as_operator.post("/api/v1/agents/main/guardian/writes", {"writes": [body]}, "application/json")
    assert (answer.status_code, answer.json()["known"]) == (200, ["01PLUGIN"])
    create_database(workspace, {"id": "01PLUGIN", "session_id": CHANNEL, "llm_model": "guard-1"})
    run(home)
    row = rows().get()
    assert (row.id, row.sources, row.origin) == ("01PLUGIN", 7, "recorded")
    assert (row.agent_steps, row.llm_model, row.lines_added) == (3, "guard-1", 1)
    answer = as_operator.post("/api/v1/agents/main/guardian/writes", {"writes": [body]}, "application/json")
    assert (answer.status_code, answer.json()["known"]) == (200, ["01PLUGIN"])
    run(home, again=True)
    assert rows().count() == 1
