"""Run by test_rollback_full_disk.py in a mount namespace: rollbacks on disks without a free byte, as JSON."""

import hashlib
import json
import os
import shutil
import sqlite3
import subprocess
import sys
from contextlib import closing
from pathlib import Path

FOLDER, MIGRATED = (Path(os.environ[name]) for name in ("FULL_DISK_FOLDER", "FULL_DISK_MIGRATED"))
SOURCE, DISK = FOLDER / "openclaw", FOLDER / "disk"
HOME, FILE = DISK / "home", SOURCE / "workspace" / "MEMORY.md"
ENV = {
    **os.environ,
    "OPENCLAW_WEB_HOME": str(HOME),
    "OPENCLAW_STATE_DIR": str(SOURCE),
    "OPENCLAW_WEB_WORKSPACE_WRITES": "1",
}
BEFORE = b"".join(b"before %06d\n" % number for number in range(20_000))
AFTER = b"".join(b"after %06d\n" % number for number in range(20_000))
SQL = "SELECT count(*) FROM rollbacks", "SELECT state FROM rollback_intents ORDER BY created_at"
NEWEST = "SELECT content_hash FROM file_snapshots ORDER BY created_at DESC, id DESC LIMIT 1"
# The command, while the last byte of the disk is taken just before one SQL statement.
BESIDE = """
import os, django
os.environ["DJANGO_SETTINGS_MODULE"] = "openclaw_web.settings"
django.setup()
from tests import faults
from tests.guardian.faults.full_disk import FILE, AFTER, fill
from guardian.rollbacks import apply
from django.core.management import execute_from_command_line
apply.LOOKS = (0.0,)
def full():
    print("in place" if FILE.read_bytes() != AFTER else "as it was", flush=True)
    fill()
from agents.models import Agent
with faults.before_statement(Agent.objects.get().db, lambda sql: sql.startswith(STATEMENT), full):
    execute_from_command_line(["openclaw-web", "reflection", "guardian", "rollback", "w1", "--reason", "Wrong."])
"""


def fill(disk=DISK):
    """Fill a disk to its last byte."""
    for block in (1 << 20, 4096):
        try:
            with (disk / "fill").open("ab", buffering=0) as file:
                while True:
                    file.write(bytes(block))
        except OSError:
            continue
    assert shutil.disk_usage(disk).free == 0


def run(*words):
    done = subprocess.run([sys.executable, *words], env=ENV, capture_output=True, text=True, check=False)
    return {"status": done.returncode, "said": done.stdout + done.stderr}


def roll_back():
    return run("-m", "openclaw_web", "reflection", "guardian", "rollback", "w1", "--reason", "Wrong.") | state()


def state():
    """Return what the file, its folder and the database hold."""
    content = FILE.read_bytes()
    copied_home = FOLDER / "look"  # SQLite cannot even read where there is no room
    shutil.rmtree(copied_home, ignore_errors=True)
    shutil.copytree(HOME / "agents" / "main" / "agent", copied_home)
    with closing(sqlite3.connect(copied_home / "openclaw-agent.sqlite")) as store:
        (rollbacks,), states = store.execute(SQL[0]).fetchone(), [row[0] for row in store.execute(SQL[1])]
        newest = store.execute(NEWEST).fetchone()[0]
    shutil.copytree(HOME / "state", copied_home, dirs_exist_ok=True)
    with closing(sqlite3.connect(copied_home / "openclaw.sqlite")) as store:
        logged = store.execute("SELECT count(*) FROM operator_audit WHERE action = 'write_rolled_back'").fetchone()[0]
    return {
        "logged": logged,
        "is_as_it_was": content == AFTER,
        "is_restored": content == BEFORE,
        "names": sorted(path.name for path in FILE.parent.iterdir() if path.name != "fill"),
        "rollbacks": rollbacks,
        "states": states,
        "newest_is_in_the_file": newest == hashlib.sha256(content).hexdigest(),
        "copies_are_whole": all(copy.read_bytes() == AFTER for copy in HOME.glob("rollback-copies/*/*")),
    }


def begin():
    """Prepare a home with one write, whose result is in the file."""
    shutil.rmtree(HOME, ignore_errors=True)
    (DISK / "fill").unlink(missing_ok=True)
    shutil.copytree(FOLDER / "as it was", HOME)
    FILE.write_bytes(AFTER)


def prepare():
    shutil.copytree(MIGRATED, HOME)
    report = {"id": "w1", "session_id": "s", "target_file": "MEMORY.md", "candidate_fact": "x", "status": "written"}
    report |= {"before": BEFORE.decode(), "after": AFTER.decode(), "created_at": 1_770_000_000_000}
    (FOLDER / "told.json").write_text(json.dumps([report]))
    for words in (("collect", "--quiet"), ("reflection", "guardian", "record", str(FOLDER / "told.json"))):
        done = run("-m", "openclaw_web", *words)
        assert done["status"] == 0, done
    shutil.copytree(HOME, FOLDER / "as it was")


def try_full_workspace():
    """Roll back on a full disk of the workspace, then with room for half a file."""
    begin()
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=1m", "tmpfs", FILE.parent], check=True)
    FILE.write_bytes(AFTER)
    fill(FILE.parent)
    full_results = [roll_back()]
    with (FILE.parent / "fill").open("r+b") as file:
        file.truncate((FILE.parent / "fill").stat().st_size - len(BEFORE) // 2)
    full_results.append(roll_back())
    (FILE.parent / "fill").unlink()
    results = {"full": full_results, "with_room": roll_back()}
    subprocess.run(["umount", FILE.parent], check=True)
    return results


def try_full_home():
    begin()
    fill()
    full_results = [roll_back()]
    (HOME / "state" / "reserve").unlink(missing_ok=True)
    fill()
    full_results.append(roll_back())
    (DISK / "fill").unlink()
    return {"full": full_results, "with_room": roll_back()}


def try_full_in_the_middle(statement, *, has_reserve=True):
    begin()
    if not has_reserve:
        (HOME / "state" / "reserve").unlink()
    done = run("-c", f"STATEMENT = {statement!r}\n{BESIDE}")
    results = {"full": done | state(), "was_in_place": "in place" in done["said"]}
    (DISK / "fill").unlink()
    return results | {"with_room": roll_back()}


def main():
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=160m", "tmpfs", DISK], check=True)
    prepare()
    finish = 'INSERT INTO "write_guardian_audit"'
    middle = {
        "intend": try_full_in_the_middle('INSERT INTO "file_snapshots"'),
        "finish": try_full_in_the_middle(finish),
        "finish without reserve": try_full_in_the_middle(finish, has_reserve=False),
        "end": try_full_in_the_middle('UPDATE "rollback_intents" SET "state" = %s, "ended_at"'),
    }
    sys.stdout.write(json.dumps({"workspace": try_full_workspace(), "home": try_full_home(), "middle": middle}))


if __name__ == "__main__":
    main()
