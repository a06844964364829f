"""Migrations are only added: homes have run those that are listed, so these never change."""

import subprocess
import sys
from pathlib import Path

import pytest
from django.apps import apps
from django.conf import settings

from tests.installation import next_version
from tests.releasing import added_migrations

ROOT = Path(__file__).resolve().parents[2]
OURS = {app.name for app in apps.get_app_configs() if Path(app.path).parent == ROOT}
FIRST = "agents/migrations/0001_b69fb2be.py"


@pytest.fixture
def checkout(tmp_path):
    """A copy of the packages and of the tool."""
    return next_version.copy_packages(tmp_path)


def run_tool(checkout):
    script = checkout / "tests" / "releasing" / "added_migrations.py"
    return subprocess.run([sys.executable, script], cwd=checkout, capture_output=True, text=True, check=False)


def test_a_listed_migration_is_there_as_homes_have_run_it():
    """Add a migration instead: ./dev migrations."""
    assert added_migrations.find_problems() == []


def test_every_migration_is_listed():
    """./dev migrations names new ones after their SQL, and lists them."""
    assert added_migrations.hash_files().keys() == added_migrations.read_list().keys()


def test_the_list_has_a_first_migration_for_every_app_with_tables():
    firsts = [Path(path).parts[0] for path in added_migrations.read_list() if "/0001_" in path]
    assert sorted(firsts) == sorted(name for name in OURS if (ROOT / name / "migrations").is_dir())
    assert set(settings.AGENT_APPS) < OURS
    assert len(firsts) > 10


@pytest.mark.parametrize("name", sorted(OURS))
def test_the_columns_of_a_table_stand_as_in_the_class(name):
    """Django puts foreign keys last: ./dev migrations puts them where the class has them."""
    for file in (ROOT / name / "migrations").glob("0*.py"):
        text = file.read_text()
        assert added_migrations.order_fields(name, text) == text


def test_the_tool_adds_a_migration_and_leaves_the_others(checkout):
    listed = added_migrations.read_list()
    models = checkout / "agents" / "models.py"
    models.write_text(
        models.read_text()
        + """

class Nickname(models.Model):
    agent = models.ForeignKey(Agent, models.CASCADE, related_name="nicknames")
    nickname = PlainText()
    note = PlainText(default="")
"""
    )
    done = run_tool(checkout)
    assert done.returncode == 0, done.stderr
    lines = (checkout / "tests" / "releasing" / "migrations.sha256").read_text().splitlines()
    paths = {line.split("  ")[1] for line in lines}
    [added] = paths - listed.keys()
    assert listed.items() <= {tuple(reversed(line.split("  "))) for line in lines}
    newest = Path(max(path for path in listed if path.startswith("agents/migrations/")))
    number = f"{int(newest.stem[:4]) + 1:04d}_"
    assert added.startswith(f"agents/migrations/{number}") and len(Path(added).stem) == len(number) + 8
    text = (checkout / added).read_text()
    assert text.index("'agent'") < text.index("'nickname'") < text.index("'note'")
    assert f"('agents', '{newest.stem}')" in text
    before = {path: path.read_bytes() for path in checkout.glob("*/migrations/*.py")}
    assert run_tool(checkout).returncode == 0
    assert before == {path: path.read_bytes() for path in checkout.glob("*/migrations/*.py")}


def test_the_tool_refuses_a_listed_migration_that_was_changed(checkout):
    with (checkout / FIRST).open("a") as file:
        file.write("# another comment\n")
    (checkout / "gate" / "migrations" / "0001_862e97a4.py").unlink()
    before = set(checkout.glob("*/migrations/*.py"))
    done = run_tool(checkout)
    assert (done.returncode, done.stderr.splitlines()) == (
        1,
        [
            f"{FIRST} was changed: homes have run it. Add another migration.",
            "gate/migrations/0001_862e97a4.py is missing: homes have run it. Add another migration.",
        ],
    )
    assert set(checkout.glob("*/migrations/*.py")) == before
