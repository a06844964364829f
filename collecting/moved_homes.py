"""Assigns what was imported from an OpenClaw folder to the place where that folder is now.

Positions of reading, claims on agents and runs of the doctor are known by the path of the folder. Without this, a home
that was restored on another machine, or in a container, would take the same folder for another one.
"""

import os
from pathlib import Path

from django.db import DEFAULT_DB_ALIAS, transaction
from django.utils.translation import gettext as _

from agents import unread_parts
from agents.homes import Home, NoHome, UnreadableHome
from agents.layout import home_agents, openclaw_version
from agents.models import CollectorSource, SkippedSource
from agents.sources import build_row_key, compute_source_key
from gate.recording import foreign_decisions
from openclaw_web.errors import Refused
from openclaw_web.pages.formatting import listed
from openclaw_web.sqlite.statements import run_many
from people.models.bookkeeping import KeyValue

from . import watcher_state
from .migration_runs import SESSION, compute_session_key
from .migration_runs import compute_source_key as compute_migration_key
from .models import MigrationRun, MigrationSource

OF_FOLDERS = (openclaw_version.SCOPE, unread_parts.SCOPE, foreign_decisions.SCOPE)  # rows of `kv` by path


def move_home(old: str, home: Home) -> None:
    """Assign everything that was imported from the folder `old` to `home`, in one transaction.

    Raises Refused when nothing was imported from `old`, when it is still an OpenClaw folder, when agents of `home` are
    imported already, or when it has none of the agents of `old`.
    """
    claims = CollectorSource.objects.filter(kind=CollectorSource.Kind.AGENT)
    roots = set(claims.values_list("root", flat=True))
    root = old if old in roots else os.path.abspath(os.path.expanduser(old))  # noqa: PTH100, PTH111 - keeps links, and ~nobody
    names = set(claims.filter(root=root).values_list("path", flat=True))
    words = {"old": root, "new": home.root}
    if not names:
        known = listed(sorted(roots)) if roots else _("none")
        words |= {"known": known}
        raise Refused(_("Nothing was imported from %(old)s. Imported folders: %(known)s.") % words)
    if str(home.root) in roots:
        raise Refused(_("%(new)s is already imported. Import it without --moved-from.") % words)
    if not names.intersection(agent.home_name for agent in home.agents):
        words |= {"names": listed(sorted(names))}
        raise Refused(_("%(new)s has none of the agents that were imported from %(old)s: %(names)s.") % words)
    _check_old_place(Path(root), home, words)
    new = str(home.root)
    with transaction.atomic():
        _move_sources(root, home.root)
        MigrationRun.objects.filter(root=root).update(root=new)
        rows = MigrationSource.objects.filter(root=root)
        run_many(
            DEFAULT_DB_ALIAS,
            "UPDATE migration_sources SET source_key = %s, root = %s WHERE source_key = %s",
            [(_compute_run_key(new, row), new, row.source_key) for row in rows.iterator()],
        )
        _move_values(root, new)


def _check_old_place(old, home, words):
    try:
        home_agents.read_home(old)
    except UnreadableHome:  # such as /root of a machine where OpenClaw ran as root: no reason to refuse
        sentence = _(
            "Permission to open %(old)s is missing: whether an OpenClaw folder is still there was not checked."
        )
        home.notes.append(sentence % words)
    except NoHome:
        return
    else:
        if not old.samefile(home.root):
            sentence = _(
                "There is still an OpenClaw folder at %(old)s, so %(new)s is another one. Import it with --as NAME."
            )
            raise Refused(sentence % words)


def _move_sources(old, new):
    rows = CollectorSource.objects.filter(root=old).values_list("source_key", "kind", "path", "agent_id")
    run_many(
        DEFAULT_DB_ALIAS,
        "UPDATE collector_sources SET source_key = %s, root = %s WHERE source_key = %s",
        [
            (compute_source_key(new, *build_row_key(kind, path, agent)), str(new), key)
            for key, kind, path, agent in rows
        ],
    )
    SkippedSource.objects.filter(root=old).delete()  # the next import notes them again


def _compute_run_key(root, row):
    if row.migration_kind == SESSION:
        [session_id] = MigrationSource.report.decode_strictly(row.report_json)["ignored_sessions"]
        return compute_session_key(root, row.agent_id, session_id)
    about = (row.source_path, row.mtime_ns, row.source_size_bytes, row.source_sha256, row.target_table)
    return compute_migration_key(root, *about)


def _move_values(old, new):
    for row in KeyValue.objects.filter(scope__in=OF_FOLDERS):
        if row.key == old or row.key.startswith(f"{old}/"):
            KeyValue.objects.put(row.scope, new + row.key.removeprefix(old), row.value)
            KeyValue.objects.filter(scope=row.scope, key=row.key).delete()
    watcher_state.forget_refusal(Path(old))
