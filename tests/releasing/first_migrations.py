"""Make the one migration of each app again, as it is until the first release: ./dev migrations.

As Django makes it, but for the order of columns: foreign keys would stand behind everything, and whoever reads one
would walk through long texts before it. And what stands beside the tables is added (`_sql` of the folder).
"""

import ast
import os
import sys
from pathlib import Path
from tempfile import mkdtemp

ROOT = Path(__file__).resolve().parents[2]
NAME = "0001_initial.py"
BESIDE = "        migrations.RunPython(_sql.add, _sql.drop, elidable=False),\n"


def main() -> None:
    """Remove all migrations and write one for each app."""
    os.environ["DJANGO_SETTINGS_MODULE"] = "openclaw_web.settings"
    os.environ["OPENCLAW_WEB_HOME"] = mkdtemp(prefix="openclaw-web-migrations-")
    sys.path.insert(0, str(ROOT))
    import django
    from django.core.management import call_command

    django.setup()
    folders = list(ROOT.glob("*/migrations"))
    for folder in folders:
        for file in folder.glob("[!_]*.py"):
            file.unlink()
    call_command("makemigrations", *(folder.parent.name for folder in folders), include_header=False)
    for folder in folders:
        file = folder / NAME
        text = in_order(folder.parent.name, file.read_text())
        if (folder / "_sql.py").exists():
            text = text.replace("\n\nclass Migration", "\nfrom . import _sql\n\n\nclass Migration", 1)
            text = text.removesuffix("    ]\n") + BESIDE + "    ]\n"
        file.write_text(text)


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
