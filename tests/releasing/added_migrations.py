"""Adds a migration to each app whose tables changed, and lists it: ./dev migrations.

A migration that was listed never changes: homes have run it. The name of each ends with a hash of its SQL, so a home
with other tables has a migration that is not ours (`openclaw_web/sqlite/known_migrations.py`).

It is Django's migration except for the order of a new table's columns, because Django puts foreign keys last, and a
reader of one would have to read long texts before it.
"""

import ast
import hashlib
import json
import os
import re
import subprocess
import sys
from io import StringIO
from pathlib import Path
from tempfile import TemporaryDirectory

ROOT = Path(__file__).resolve().parents[2]
LIST = Path(__file__).with_name("migrations.sha256")  # as sha256sum prints it, of the checkout
HASH_LENGTH = 8  # hex digits of a hash at the end of a name


def main() -> None:
    """Write the migrations that are missing, or print the names that new ones must have (--names)."""
    with TemporaryDirectory(prefix="openclaw-web-migrations-") as home:
        os.environ |= {"DJANGO_SETTINGS_MODULE": "openclaw_web.settings", "OPENCLAW_WEB_HOME": home}
        sys.path.insert(0, str(ROOT))
        import django

        django.setup()
        if sys.argv[1:] == ["--names"]:
            json.dump({path: build_name(path) for path in find_unlisted()}, sys.stdout)
        else:
            add_migrations()


def add_migrations() -> None:
    """Have Django write migrations, name them after their SQL, and add them to the list.

    One that somebody wrote by hand is named and listed too. Ends with a sentence when a listed file was changed.
    """
    from django.core.management import call_command

    if problems := find_problems():
        sys.exit("\n".join(problems))
    call_command("makemigrations", *sorted(path.parts[0] for path in list_folders()), include_header=False)
    for path in find_unlisted():
        file = ROOT / path
        file.write_text(order_fields(Path(path).parts[0], file.read_text()))
    names = read_names()
    for path, name in names.items():
        (ROOT / path).rename((ROOT / path).with_name(f"{name}.py"))
    _rename_dependencies({(Path(path).parts[0], Path(path).stem): name for path, name in names.items()})
    LIST.write_text("".join(f"{value}  {path}\n" for path, value in sorted(hash_files().items())))


def find_problems() -> list[str]:
    """A sentence for each listed file that was changed or removed."""
    hashes = hash_files()
    return [
        f"{path} {'was changed' if path in hashes else 'is missing'}: homes have run it. Add another migration."
        for path, value in read_list().items()
        if hashes.get(path) != value
    ]


def find_unlisted() -> list[str]:
    """The paths of migrations that are not in the list yet, sorted."""
    return sorted(path for path in hash_files().keys() - read_list().keys() if not Path(path).name.startswith("_"))


def read_list() -> dict[str, str]:
    """The hashes of all migrations that homes may have run, by path."""
    lines = (line.split("  ", 1) for line in LIST.read_text().splitlines())
    return {path: value for value, path in lines}


def hash_files() -> dict[str, str]:
    """The hashes of all files of migrations, with the SQL beside them, by path."""
    files = [file for folder in list_folders() for file in (ROOT / folder).glob("*.py") if file.name != "__init__.py"]
    return {file.relative_to(ROOT).as_posix(): hashlib.sha256(file.read_bytes()).hexdigest() for file in files}


def list_folders() -> list[Path]:
    """The folders of migrations, relative to the checkout."""
    return [folder.relative_to(ROOT) for folder in sorted(ROOT.glob("*/migrations"))]


def read_names() -> dict[str, str]:
    """The names that new migrations must have, by path.

    A process of its own computes them, because it has loaded no other migrations.
    """
    process = subprocess.run([sys.executable, __file__, "--names"], capture_output=True, check=True, text=True)
    return json.loads(process.stdout)


def build_name(path: str) -> str:
    """The number of a migration and a hash of its SQL.

    That of the first one includes the file of the SQL beside its tables.
    """
    from django.conf import settings
    from django.core.management import call_command
    from django.db import connections

    app, stem = Path(path).parts[0], Path(path).stem
    alias = "agent_tables" if app in settings.AGENT_APPS else "default"  # a name that the router takes for an agent's
    connections.databases.setdefault(alias, connections.databases["default"])
    sql = StringIO()
    call_command("sqlmigrate", app, stem, database=alias, stdout=sql, no_color=True)
    statements = [line for line in sql.getvalue().splitlines() if not line.startswith("--")]
    beside = ROOT / app / "migrations" / "_sql.py"
    text = "\n".join(statements) + (beside.read_text() if stem.startswith("0001_") and beside.exists() else "")
    return f"{stem[:4]}_{hashlib.sha256(text.encode()).hexdigest()[:HASH_LENGTH]}"


def _rename_dependencies(names):
    """Replace the names that Django gave to new migrations where others depend on them."""
    for folder in list_folders():
        for file in (ROOT / folder).glob("[0-9]*.py"):
            text = file.read_text()
            for (app, old), name in names.items():
                text = re.sub(rf"(\(['\"]{app}['\"], ['\"]){old}(['\"]\))", rf"\g<1>{name}\2", text)
            if text != file.read_text():
                file.write_text(text)


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
    fields. A field that the class has no more stays behind the one before it, and all stay when the class is gone.
    """
    from django.apps import apps

    if model.lower() not in apps.all_models[app]:
        return names
    meta = apps.get_model(app, model)._meta
    bases = [base._meta for base in meta.model.__mro__[1:] if getattr(getattr(base, "_meta", None), "abstract", False)]
    inherited = {field.name for base in bases for field in base.local_fields}
    columns = [field.name for field in sorted(meta.local_fields) if field.name in names and field.name != "pk"]
    own = [name for name in columns if name not in inherited]
    of_bases = [name for name in columns if name in inherited]
    parts = [of_bases, own] if meta.pk.name in inherited else [own, of_bases]
    links = [field.name for field in meta.local_many_to_many if field.name in names]
    ordered = [*({"pk"} & {*names}), *parts[0], *parts[1], *links]
    for place, name in enumerate(names):
        if name not in ordered:
            ordered.insert(ordered.index(names[place - 1]) + 1 if place else 0, name)
    return ordered


if __name__ == "__main__":
    main()
