"""Makes a next version of the program: a copy of its packages with further migrations.

It has the version 0.3.0, a new table, and new columns in the global database and in those of agents. `./dev migrations`
writes the migrations, as for a real change.
"""

import os
import shutil
import subprocess
import sys
from pathlib import Path

from tests.suite.sources import ORDER, ROOT

VERSION = "0.3.0"
CHANGED = (
    ("agents/models.py", "Agent"),
    ("operations/models.py", "BackupRun"),
    ("people/models/bookkeeping.py", "KeyValue"),
    ("ledger/models/__init__.py", "Session"),
    ("episodes/models.py", "EpisodeHead"),
)
NEW_TABLE = """

class Nickname(models.Model):
    \"\"\"A table of the next version.\"\"\"

    user = models.ForeignKey(User, models.CASCADE, related_name="nicknames")
    nickname = PlainText(default="")
    note = PlainText(default="")

    class Meta:
        db_table = "nicknames"
"""
FAILING = """
from django.db import migrations


class Migration(migrations.Migration):
    dependencies = [("jobs", "{before}")]
    operations = [
        migrations.RunSQL("CREATE TABLE half_done (id INTEGER)"),
        migrations.RunSQL("{statement}"),
    ]
"""
# Long enough for a kill to meet a migration: each writes 40 MB and takes them back.
SLOW = """
from django.db import migrations

FILL = '''WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 40000)
INSERT INTO fill SELECT i, randomblob(1000) FROM n'''


class Migration(migrations.Migration):
    dependencies = [("{app}", "{before}")]
    operations = [
        migrations.RunSQL("CREATE TABLE fill (id INTEGER PRIMARY KEY, content BLOB)"),
        migrations.RunSQL(FILL),
        migrations.RunSQL("DROP TABLE fill"),
    ]
"""


def copy_packages(target: Path) -> Path:
    """Copy everything that the program consists of, and the tool that adds migrations."""
    for name in (*ORDER, "static", "templates", "locale", "tests/releasing"):
        shutil.copytree(ROOT / name, target / name)
    return target


def make_next_version(target: Path) -> Path:
    """Copy the packages, and change tables of the global database and of agents' databases.

    Among them are those that a backup before an update reads, or gets its row in.
    """
    copy_packages(target)
    replace(target / "openclaw_web" / "__init__.py", 'VERSION = "0.2.0"', f'VERSION = "{VERSION}"')
    (accounts := target / "people" / "models" / "people.py").write_text(accounts.read_text() + NEW_TABLE)
    for path, model in CHANGED:
        add_column(target / path, model)
    add_migrations(target)
    return target


def add_column(file: Path, model: str) -> None:
    """Add a column `remark` behind the other columns of a model."""
    before, head, rest = file.read_text().partition(f"\nclass {model}(")
    columns, meta, rest = rest.partition("\n    class Meta:")
    assert meta, (file, model)
    file.write_text(f'{before}{head}{columns.rstrip()}\n    remark = PlainText(default="")\n{meta}{rest}')


def add_migrations(target: Path) -> None:
    environment = {name: value for name, value in os.environ.items() if not name.startswith(("OPENCLAW", "DJANGO"))}
    tool = target / "tests" / "releasing" / "added_migrations.py"
    subprocess.run([sys.executable, tool], cwd=target, env=environment, check=True, capture_output=True)


def add_failing_migration(target: Path, statement: str) -> Path:
    """Add a migration of `jobs` whose second statement is `statement`; returns its file."""
    [first] = (target / "jobs" / "migrations").glob("0001_*.py")
    file = first.with_name("0002_failing.py")
    file.write_text(FAILING.format(before=first.stem, statement=statement))
    return file


def fail_first(target: Path) -> None:
    """Let the first new migration that a home runs fail."""
    for file in target.glob("*/migrations/0*.py"):
        if (ROOT / file.relative_to(target)).exists():
            continue
        replace(file, "operations = [", 'operations = [migrations.RunSQL("INSERT INTO no_such_table VALUES (1)"),')


def add_slow_migrations(target: Path) -> None:
    """Add slow migrations to an app of the global database and to one of agents."""
    for app in ("jobs", "gate"):
        last = max((target / app / "migrations").glob("0*.py"))
        last.with_name("9999_slow.py").write_text(SLOW.format(app=app, before=last.stem))


def replace(file: Path, old: str, new: str) -> None:
    text = file.read_text()
    assert old in text, (file, old)
    file.write_text(text.replace(old, new, 1))


def build_environment(program: Path, home: Path, **more: str) -> dict[str, str]:
    """The environment in which `python -m openclaw_web` runs the program in the folder `program`."""
    inherited = {name: value for name, value in os.environ.items() if not name.startswith(("OPENCLAW", "DJANGO"))}
    inherited.pop("PYTHONDEVMODE", None)
    return inherited | {
        "OPENCLAW_WEB_HOME": str(home),
        "OPENCLAW_STATE_DIR": f"{home}-source",
        "PYTHONPATH": str(program),
        "PYTHONSAFEPATH": "1",
        "PYTHONUNBUFFERED": "1",
        **more,
    }
