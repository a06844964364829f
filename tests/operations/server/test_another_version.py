"""Homes and backups with other migrations than ours are refused and left unchanged.

The refusal is one sentence, which does not guess which version is newer. Homes of a newer version, which have all of
ours too: `tests/installation/test_upgrades.py`.
"""

import sqlite3
import urllib.error
import urllib.request
from contextlib import closing
from pathlib import Path

import pytest

from openclaw_web.sqlite import known_migrations
from tests import homes
from tests.operations.backups import backup_homes
from tests.processes import Home
from tests.suite.nightly import first

pytestmark = pytest.mark.kill

GLOBAL, AGENT = Path("state/openclaw.sqlite"), Path("agents/main/agent/openclaw-agent.sqlite")
OTHER = "is of another version; keep it and import again into a new home."
OLD = (
    "is of version 0.1.0, commit {} or before, and is read by that version only. Keep it. An import into a new home "
    "(OPENCLAW_WEB_HOME) brings the sessions back, but not what is only here: verdicts, gate decisions, corrections, "
    "rollbacks, datasets, exports, people with their tokens, settings and the audit log."
)
# Migrations that homes had before migrations were only added, and the last commit that reads them.
READERS = {
    ("datasets", "0001_6243a094"): "8d6f16fc",
    ("datasets", "0001_c0c49fd8"): "ea2d25c4",
    ("datasets", "0001_0a575a9e"): "ac772095",
    ("ledger", "0001_initial"): "f645b437",
    ("agents", "0001_tables"): "6b660e73",
}
OTHERS = (
    ("operations", "0010_lists_by_index"),
    ("django_tasks_database", "0001_initial"),
    ("ledger", "9999_from_the_future"),
    ("people", "0001_00000000"),  # this migration created other tables
)
COMMANDS = (
    ("serve", "--port", "0"),
    ("migrate",),
    ("migrate_agents",),
    ("collect",),
    ("jobs",),
    ("settings",),
    ("create_user", "mei"),
    ("doctor",),
    ("doctor", "--fix"),
    ("backup", "create"),
)


@pytest.fixture
def home(migrated, tmp_path):
    """A home with an agent that was never imported."""
    made = Home.copied(migrated, tmp_path / "home")
    homes.Home(tmp_path / "home-source")
    create = "from agents import services; services.register('main'); print('made')"
    made.python(create)
    yield made
    made.close()


def add_migration(file, migration):
    """Let a database have a migration which is not ours, and lack one of ours."""
    with closing(sqlite3.connect(file)) as db, db:
        db.execute("DELETE FROM django_migrations WHERE app IN ('ledger', ?)", migration[:1])
        db.execute("INSERT INTO django_migrations (app, name, applied) VALUES (?, ?, '2026-11-22')", migration)


def describe(migration):
    return OLD.format(READERS[migration]) if migration in READERS else OTHER


def rows(home):
    """Return every row of every table, and the tables themselves."""
    dumps = []
    for name in (GLOBAL, AGENT):
        with closing(sqlite3.connect(home.path / name)) as db:
            dumps.append(list(db.iterdump()))
    return dumps


@pytest.mark.parametrize("migration", first([(row,) for row in (*OTHERS, *READERS)], 5), ids=".".join)
def test_every_command_says_so_and_changes_nothing(home, migration):
    add_migration(home.path / GLOBAL, migration)
    sentence = f"This home {describe(migration)}"
    before, files = rows(home), sorted(home.path.glob("state/*.sqlite"))
    for words in COMMANDS:
        status, out, err = backup_homes.run(home.path, *words)
        assert (words, sentence in err, "Traceback" in out + err) == (words, True, False), out + err
        assert (words, status) == (words, 2 if words[0] == "doctor" else 3)
    assert (rows(home), sorted(home.path.glob("state/*.sqlite"))) == (before, files)


def test_a_receipt_holds_the_sentence(home):
    add_migration(home.path / GLOBAL, OTHERS[0])
    status, out, _err = backup_homes.run(home.path, "collect", "--json", "--quiet")
    assert (status, f'"error": "This home {OTHER}"' in out) == (3, True)


@pytest.mark.parametrize("is_old", first([True, False]), ids=("before findings", "other"))
def test_an_agents_file_of_another_version_is_named_and_left(home, is_old):
    if is_old:  # it has no unknown migration, and lacks the tables of findings
        with closing(sqlite3.connect(home.path / AGENT)) as db, db:
            db.execute("DELETE FROM django_migrations WHERE app = 'findings'")
    else:
        add_migration(home.path / AGENT, OTHERS[2])
    sentence = f"The database of agent main {OLD.format('ac772095') if is_old else OTHER}"
    before = rows(home)
    assert sentence in backup_homes.run(home.path, "migrate_agents")[2]
    assert sentence in str(backup_homes.run(home.path, "doctor"))
    assert sentence in str(backup_homes.run(home.path, "doctor", "--fix"))
    server = home.serve()
    address = server.address()
    with urllib.request.urlopen(f"{address}/healthz") as answer:
        assert answer.status == 200
    assert sentence in server.said
    assert rows(home)[1] == before[1]


@pytest.mark.parametrize("migration", [next(iter(READERS)), OTHERS[2]], ids=".".join)
def test_a_backup_of_another_version_is_not_restored(home, tmp_path, migration):
    file = backup_homes.run_backup(home.path, "create")["backup"]["path"]
    assert backup_homes.run(tmp_path / "restored", "backup", "restore", file)[0] == 0
    add_migration(home.path / (GLOBAL if migration in READERS else AGENT), migration)
    create = (
        "from pathlib import Path\nfrom jobs.progress import Progress\nfrom operations.backups import creation\n"
        f"how = {{'with_exports': False, 'progress': Progress()}}\nfolder = Path({str(tmp_path)!r})\n"
        "print(creation.write_backup('01M81Q0S3B30FEYYVEP3WX7CDV', 1795353982395, folder, **how).path)\n"
    )
    file = home.python(create)
    for words in (("backup", "restore", file), ("backup", "verify", file)):
        status, _out, err = backup_homes.run(tmp_path / "other", *words)
        assert (status, err) == (3, f"This backup {describe(migration)}\n")
    assert not (tmp_path / "other" / AGENT).exists()
    assert not [*tmp_path.glob("other.*")]


def test_what_was_not_applied_yet_is_known(settings):
    settings.RESTORABLE_BACKUP = "builtins.str"  # names no backup
    known = known_migrations.list_migrations()
    assert known_migrations.list_agent_migrations() < known
    first_applied = frozenset(sorted(known)[:3])
    assert not any(known_migrations.is_other_version(applied) for applied in (known, first_applied, frozenset()))
    for applied, words in ((known | {OTHERS[0]}, "newer version"), (first_applied | {OTHERS[0]}, "another version")):
        assert known_migrations.is_other_version(applied)
        assert words in known_migrations.describe_other_version("It", applied, known)
