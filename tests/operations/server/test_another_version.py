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

pytestmark = pytest.mark.kill

GLOBAL, AGENT = Path("state/openclaw.sqlite"), Path("agents/main/agent/openclaw-agent.sqlite")
HOME = "This home was created by another version; keep it and import again into a new one."
OF_MAIN = "The database of agent main was created by another version; keep it and import again into a new home."
BACKUP = "This backup was created by another version; keep it and import again into a new home."
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
        db.execute("DELETE FROM django_migrations WHERE app = 'ledger'")
        db.execute("INSERT INTO django_migrations (app, name, applied) VALUES (?, ?, '2026-11-22')", migration)


def rows(home):
    """Return every row of every table, and the tables themselves."""
    dumps = []
    for name in (GLOBAL, AGENT):
        with closing(sqlite3.connect(home.path / name)) as db:
            dumps.append(list(db.iterdump()))
    return dumps


@pytest.mark.parametrize("migration", OTHERS, ids=".".join)
def test_every_command_says_so_and_changes_nothing(home, migration):
    add_migration(home.path / GLOBAL, migration)
    before, files = rows(home), sorted(home.path.glob("state/*.sqlite"))
    for words in COMMANDS:
        status, out, err = backup_homes.run(home.path, *words)
        assert (words, HOME in err, "Traceback" in out + err) == (words, True, False), out + err
        assert (words, status) == (words, 2 if words[0] == "doctor" else 3)
    assert (rows(home), sorted(home.path.glob("state/*.sqlite"))) == (before, files)


def test_a_receipt_holds_the_sentence(home):
    add_migration(home.path / GLOBAL, OTHERS[0])
    status, out, _err = backup_homes.run(home.path, "collect", "--json", "--quiet")
    assert (status, f'"error": "{HOME}"' in out) == (3, True)


def test_an_agents_file_of_another_version_is_named_and_left(home):
    add_migration(home.path / AGENT, OTHERS[2])
    before = rows(home)
    assert OF_MAIN in backup_homes.run(home.path, "migrate_agents")[2]
    assert OF_MAIN in str(backup_homes.run(home.path, "doctor"))
    assert OF_MAIN in str(backup_homes.run(home.path, "doctor", "--fix"))
    server = home.serve()
    address = server.address()
    with urllib.request.urlopen(f"{address}/healthz") as answer:
        assert answer.status == 200
    assert OF_MAIN in server.said
    assert rows(home)[1] == before[1]


def test_a_backup_of_another_version_is_not_restored(home, tmp_path):
    file = backup_homes.run_backup(home.path, "create")["backup"]["path"]
    assert backup_homes.run(tmp_path / "restored", "backup", "restore", file)[0] == 0
    add_migration(home.path / AGENT, OTHERS[2])
    create = (
        "from pathlib import Path\nfrom jobs.progress import Progress\nfrom operations.backups import creation\n"
        f"how = {{'with_exports': False, 'progress': Progress()}}\nfolder = Path({str(tmp_path)!r})\n"
        "print(creation.write_backup('01M81Q0S3B30FEYYVEP3WX7CDV', 1795353982395, folder, **how).path)\n"
    )
    file = home.python(create)
    for words in (("backup", "restore", file), ("backup", "verify", file)):
        status, _out, err = backup_homes.run(tmp_path / "other", *words)
        assert (status, err) == (3, f"{BACKUP}\n")
    assert not (tmp_path / "other" / AGENT).exists()
    assert not [*tmp_path.glob("other.*")]


def test_what_was_not_applied_yet_is_known():
    migrations = sorted(known_migrations.list_migrations())
    assert not known_migrations.is_other_version(migrations[:3])
    assert known_migrations.list_agent_migrations() < known_migrations.list_migrations()
    assert known_migrations.is_other_version([*migrations, OTHERS[0]])
    assert known_migrations.is_newer_version([*migrations, OTHERS[0]])
    assert not known_migrations.is_newer_version(migrations)
    assert not known_migrations.is_newer_version([*migrations[1:], OTHERS[0]])
