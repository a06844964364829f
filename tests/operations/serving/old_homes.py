"""A home as the last version before the tables moved between apps left it: from dumps of both kinds of file."""

import sqlite3
from contextlib import closing
from pathlib import Path

import orjson

from tests.processes import CHECKOUT, Home

DUMPS = CHECKOUT / "tests" / "data" / "old-home"
GLOBAL, AGENT = Path("state/openclaw.sqlite"), Path("agents/main/agent/openclaw-agent.sqlite")
LAST = ("operations", "0010_lists_by_index")  # of the migrations that were replaced
AT = 1_795_353_982_395
WAITS = "01M81PZDDVVV0WH34E15QV7HQ5"
PERSON = {
    "id": 1, "username": "mei", "role": "admin", "password": "!", "is_superuser": 0, "is_staff": 0, "is_active": 1,
    "first_name": "", "last_name": "", "email": "", "date_joined": "2026-11-22 13:26:27", "session_epoch": 0,
}  # fmt: skip
VIEW = {
    "scope": "saved_views", "key": "jobs/mei/What failed",
    "value_json": '{"name":"What failed","query":"?state=failed"}', "updated_at": AT,
}  # fmt: skip
# Words that this version does not write any more, and some that it does.
ACTIONS = ("session_ended", "sessions_ended", "collect_started", "user_added")
DELIVERY = {
    "id": "0" * 32, "args_kwargs": orjson.dumps({"args": [WAITS], "kwargs": {}}).decode(), "priority": 0,
    "task_path": "operations.tasks.run_job", "queue_name": "default", "backend_name": "default",
    "run_after": "9999-01-01 00:00:00", "enqueued_at": "2026-11-22 13:26:27", "exception_class_path": "",
    "traceback": "", "worker_ids": "[]", "status": "READY",
}  # fmt: skip
# Prints the status and address of each page, then the words of the lists of jobs and of the audit log.
ANSWERS = """
from django.test import Client
from jobs.models import JobRun
from people.models import User
browser = Client(headers={"host": "localhost"})
browser.force_login(User.objects.get(), backend="django.contrib.auth.backends.ModelBackend")
pages = ["/", "/account/", "/operations/audit/", "/operations/jobs/", "/agents/main/sessions/", "/operations/backups/"]
for page in [*pages, *(f"/operations/jobs/{job.id}/" for job in JobRun.objects.all())]:
    print(browser.get(page, follow=True).status_code, page)
for page in ("/operations/audit/", "/operations/jobs/"):
    print(browser.get(page).content.decode())
"""
# Writes a backup as the version of before did: of its files, which this version has not touched.
BACKUP = """
from pathlib import Path
from jobs.progress import Progress
from operations.backups import creating
how = {{"with_exports": False, "progress": Progress()}}
print(creating.write("01M81Q0S3B30FEYYVEP3WX7CDV", 1795353982395, Path({folder!r}), **how).path)
"""


def old_home(folder: Path) -> Home:
    """A home of before with an agent, a person, what they keep, and every kind of job."""
    for name, dump in ((GLOBAL, "global.sql"), (AGENT, "agent.sql")):
        (folder / name).parent.mkdir(parents=True, mode=0o700)
        with closing(sqlite3.connect(folder / name)) as db:
            db.executescript((DUMPS / dump).read_text())
            db.execute("PRAGMA journal_mode=WAL")
    with closing(sqlite3.connect(folder / GLOBAL)) as db, db:
        _fill(db)
    folder.chmod(0o700)
    for path in folder.rglob("*"):
        path.chmod(0o700 if path.is_dir() else 0o600)
    return Home(folder)


def half_migrated(folder: Path) -> Home:
    """The same, of a version that had not all of its migrations."""
    home = old_home(folder)
    with closing(sqlite3.connect(folder / GLOBAL)) as db, db:
        db.execute("DELETE FROM django_migrations WHERE app = ? AND name = ?", LAST)
    return home


def _fill(db):
    agent = {"agent_id": "main", "agent_db_path": str(AGENT), "home_name": "main", "created_at": AT, "updated_at": AT}
    _insert(db, "agents", agent)
    _insert(db, "agent_databases", {"agent_id": "main", "path": str(AGENT), "schema_version": 13, "record_count": 0})
    _insert(db, "users", PERSON)
    _insert(db, "kv", VIEW)
    for action in ACTIONS:
        about = {"object_type": "user", "object_id": "mei", "agent_id": "", "detail_json": "{}"}
        _insert(db, "operator_audit", {"at": AT, "actor": "mei", "via": "page", "action": action, **about})
    for number, (kind, job) in enumerate(orjson.loads((DUMPS / "jobs.json").read_bytes()).items()):
        ended = {"attempts": 1, "started_at": AT, "heartbeat_at": AT, "finished_at": AT}
        _insert(db, "job_runs", _job(f"{WAITS[:-2]}{number:02}", kind, job) | ended)
    params = {"older_than": 0, "is_dry_run": True, "by": "mei"}
    waiting = {"params": params, "result": None, "state": "queued", "message": ""}
    _insert(db, "job_runs", _job(WAITS, "artifact_gc", waiting))
    _insert(db, "django_tasks_database_dbtaskresult", DELIVERY)


def _job(job_id, kind, job):
    texts = {"message": job["message"], "log": "", "started_by": "mei", "worker": "", "state": job["state"]}
    texts["params_json"] = orjson.dumps(job["params"]).decode()
    texts["result_json"] = orjson.dumps(job["result"]).decode() if job["result"] else None
    return {"id": job_id, "kind": kind, "attempts": 0, "done": 0, "created_at": AT} | texts


def _insert(db, table, row):
    names, marks = ", ".join(row), ", ".join("?" * len(row))
    db.execute(f"INSERT INTO {table} ({names}) VALUES ({marks})", list(row.values()))


def backup(home: Home) -> str:
    """The file of a backup of a home, made without bringing it up to date."""
    return home.python(BACKUP.format(folder=f"{home.path}-backups"))


def schema(file: Path) -> dict[str, tuple[str, str]]:
    """Everything a file is made of but its rows: name to (table, SQL)."""
    with closing(sqlite3.connect(file)) as db:
        rows = db.execute("SELECT name, tbl_name, sql FROM sqlite_schema WHERE name NOT LIKE 'sqlite%'").fetchall()
    return {name: (table, sql) for name, table, sql in rows}


def rows(home: Home) -> dict[Path, list[str]]:
    """Every row of every table, and the tables themselves."""
    found = {}
    for name in (GLOBAL, AGENT):
        with closing(sqlite3.connect(home.path / name)) as db:
            found[name] = list(db.iterdump())
    return found
