"""Make the one migration of each app again, as it is until the first release: ./dev migrations.

As Django makes it, but for the order of columns: foreign keys would stand behind everything, and whoever reads one
would walk through long texts before it. And what stands beside the tables is added (`_sql` of the folder).

The name of a migration ends with a hash of its SQL. A home whose tables are others has thereby seen a migration that is
not ours, and is refused (`openclaw_web.sqlite.known_migrations`).
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
    """Remove all migrations and write one for each app; or, with --names, print what their names have to be."""
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
        text = in_order(folder.parent.name, file.read_text())
        if (folder / "_sql.py").exists():
            text = text.replace("\n\nclass Migration", "\nfrom . import _sql\n\n\nclass Migration", 1)
            text = text.removesuffix("    ]\n") + BESIDE + "    ]\n"
        file.write_text(text)
    for app, name in names().items():
        (ROOT / app / "migrations" / DRAFT).rename(ROOT / app / "migrations" / f"{name}.py")


def names() -> dict[str, str]:
    """What the migration of each app has to be called. From a process of its own, which has read no other ones."""
    done = subprocess.run([sys.executable, __file__, "--names"], capture_output=True, check=True, text=True)
    return json.loads(done.stdout)


def fingerprint(app: str) -> str:
    """Eight digits that change with the tables of an app, and with what stands beside them."""
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


def in_order(app: str, text: str) -> str:
    """A migration with the fields of each table in the order of `wanted`."""
    lines = text.split("\n")
    found = [*lines]
    for model, fields in tables(text):
        for line, name in zip(fields.values(), wanted(app, model, list(fields)), strict=True):
            found[line] = lines[fields[name]]
    return "\n".join(found)


def tables(text: str):
    """The name of each table that a migration makes, with the lines of its fields by name."""
    for call in ast.walk(ast.parse(text)):
        if isinstance(call, ast.Call) and getattr(call.func, "attr", "") == "CreateModel":
            told = {one.arg: one.value for one in call.keywords}
            yield told["name"].value, {pair.elts[0].value: pair.lineno - 1 for pair in told["fields"].elts}


def wanted(app: str, model: str, names: list[str]) -> list[str]:
    """These fields in the order of the class: a composite key, its own, those of its bases, links to many.

    A base that has the key comes first.
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
