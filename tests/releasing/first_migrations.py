"""Makes the one migration of each app again, until the first release: ./dev migrations.

The name of a migration ends with a hash of its SQL. So a home with other tables has a migration that is not ours, and
is refused (`openclaw_web.sqlite.known`).

It is Django's migration except for the order of columns, because Django puts foreign keys last, and a reader of one
would have to read long texts before it. SQL beside the tables is added (`_sql` of the folder).
"""

import ast
import hashlib
import json
import os
import subprocess
import sys
from io import StringIO
from pathlib import Path
from tempfile import mkdtemp

ROOT = Path(__file__).resolve().parents[2]
DRAFT = "0001_initial.py"  # as Django calls it
BESIDE = "        migrations.RunPython(_sql.add, _sql.drop, elidable=False),\n"


def main() -> None:
    """Remove all migrations and write one for each app, or print their names (--names)."""
    os.environ["DJANGO_SETTINGS_MODULE"] = "openclaw_web.settings"
    os.environ["OPENCLAW_WEB_HOME"] = mkdtemp(prefix="openclaw-web-migrations-")
    sys.path.insert(0, str(ROOT))
    import django
    from django.core.management import call_command

    django.setup()
    folders = list(ROOT.glob("*/migrations"))
    if sys.argv[1:] == ["--names"]:
        json.dump({folder.parent.name: f"0001_{fingerprint(folder.parent.name)}" for folder in folders}, sys.stdout)
        return
    for folder in folders:
        for file in folder.glob("[!_]*.py"):
            file.unlink()
    call_command("makemigrations", *(folder.parent.name for folder in folders), include_header=False)
    for folder in folders:
        file = folder / DRAFT
        text = order_fields(folder.parent.name, file.read_text())
        if (folder / "_sql.py").exists():
            text = text.replace("\n\nclass Migration", "\nfrom . import _sql\n\n\nclass Migration", 1)
            text = text.removesuffix("    ]\n") + BESIDE + "    ]\n"
        file.write_text(text)
    for app, name in read_migration_names().items():
        (ROOT / app / "migrations" / DRAFT).rename(ROOT / app / "migrations" / f"{name}.py")


def read_migration_names() -> dict[str, str]:
    """The name that the migration of each app must have.

    A process of its own computes them, because it has loaded no other migrations.
    """
    process = subprocess.run([sys.executable, __file__, "--names"], capture_output=True, check=True, text=True)
    return json.loads(process.stdout)


def fingerprint(app: str) -> str:
    """Eight hex digits of a hash of an app's tables and of the SQL beside them."""
    from django.conf import settings
    from django.core.management import call_command
    from django.db import connections

    alias = "agent_tables" if app in settings.AGENT_APPS else "default"  # a name that the router takes for an agent's
    connections.databases.setdefault(alias, connections.databases["default"])
    sql = StringIO()
    call_command("sqlmigrate", app, "0001", database=alias, stdout=sql, no_color=True)
    statements = [line for line in sql.getvalue().splitlines() if not line.startswith("--")]
    beside = ROOT / app / "migrations" / "_sql.py"
    text = "\n".join(statements) + (beside.read_text() if beside.exists() else "")
    return hashlib.sha256(text.encode()).hexdigest()[:8]


def order_fields(app: str, text: str) -> str:
    """A migration with the fields of each table in the order of the class."""
    lines = text.split("\n")
    sorted_lines = [*lines]
    for model, fields in find_tables(text):
        for line, name in zip(fields.values(), order_columns(app, model, list(fields)), strict=True):
            sorted_lines[line] = lines[fields[name]]
    return "\n".join(sorted_lines)


def find_tables(text: str):
    """Yield each table that a migration makes, with the lines of its fields by name."""
    for call in ast.walk(ast.parse(text)):
        if isinstance(call, ast.Call) and getattr(call.func, "attr", "") == "CreateModel":
            keywords = {keyword.arg: keyword.value for keyword in call.keywords}
            yield keywords["name"].value, {pair.elts[0].value: pair.lineno - 1 for pair in keywords["fields"].elts}


def order_columns(app: str, model: str, names: list[str]) -> list[str]:
    """These fields in the order of the class, composite key first, links to many last.

    Between these are the model's own fields and those of its bases. A base that has the key comes before the own
    fields.
    """
    from django.apps import apps

    meta = apps.get_model(app, model)._meta
    bases = [base._meta for base in meta.model.__mro__[1:] if getattr(getattr(base, "_meta", None), "abstract", False)]
    inherited = {field.name for base in bases for field in base.local_fields}
    columns = [field.name for field in sorted(meta.local_fields) if field.name in names and field.name != "pk"]
    own = [name for name in columns if name not in inherited]
    of_bases = [name for name in columns if name in inherited]
    parts = [of_bases, own] if meta.pk.name in inherited else [own, of_bases]
    return [*({"pk"} & {*names}), *parts[0], *parts[1], *(name for name in names if name not in {*columns, "pk"})]


if __name__ == "__main__":
    main()
