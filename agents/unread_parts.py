"""Parts of OpenClaw's databases that are not read, for pages, receipts and the doctor.

Imports note them in a row of `kv` for each database, by its path. The value is
`ledger.collectors.database_schemas.UnreadParts` as JSON.
"""

from pathlib import Path
from typing import Any

from django.utils.translation import gettext as _

from openclaw_web.amounts import format_plural
from openclaw_web.pages.formatting import listed
from people.models.bookkeeping import KeyValue

SCOPE = "unread_parts"
NAMED = 10


def note_parts(database: Path, parts: dict[str, Any]) -> None:
    """Store which parts of a database an import did not read; replaces earlier ones."""
    KeyValue.objects.put(SCOPE, str(database), parts)


def find_parts(root: Path) -> dict[str, dict[str, Any]]:
    """Return by path within a home the unread parts of its existing databases."""
    noted = _filter_rows(key__startswith=f"{root}/").decoded()
    return {str(Path(key).relative_to(root)): parts for key, parts in noted.items() if Path(key).exists()}


def find_newer_parts() -> list[tuple[str, dict[str, Any]]]:
    """Return the paths of databases with a newer schema, and their unread parts."""
    noted = _filter_rows(value_json__contains='"is_newer":true').decoded()
    return [(key, parts) for key, parts in noted.items() if Path(key).exists()]


def describe_newer(path: str, parts: dict[str, Any]) -> str:
    """Say that a database has a higher schema, and which parts are not read."""
    words = {"path": path, "version": parts["version"], "known": parts["known"]}
    sentence = _("%(path)s has schema %(version)s; this version of OpenClaw Web knows schemas up to %(known)s.") % words
    if not parts["unfamiliar"]:
        return sentence + " " + _("It has no unknown tables or columns, but known ones may mean something else.")
    return sentence + " " + _("Not read: %(names)s.") % {"names": _list_names(parts["unfamiliar"])}


def describe_unread(path: str, parts: dict[str, Any]) -> str:
    """Say which tables with rows are not read; empty when there are none."""
    named = [
        format_plural("%(table)s (%(count)s row)", "%(table)s (%(count)s rows)", count, table=table)
        for table, count in parts["rows"].items()
    ]
    named += [] if parts["is_newer"] else parts["unfamiliar"]
    return _("Not read of %(path)s: %(names)s.") % {"path": path, "names": _list_names(named)} if named else ""


def _filter_rows(**columns):
    return KeyValue.objects.filter(scope=SCOPE, **columns)


def _list_names(names):
    more = [_("%(count)s more") % {"count": f"{len(names) - NAMED:,}"}] if len(names) > NAMED else []
    return listed([*names[:NAMED], *more])
