"""Sessions that `doctor --undo` took out: what keeps them out, which there are, and how they are let in again."""

import re
from collections.abc import Iterable, Iterator
from typing import Any

from django.db import transaction
from django.db.models import QuerySet
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, ngettext

from agents.models import CollectorSource
from collecting import collect, migration_runs
from collecting.models import MigrationRun, MigrationSource
from jobs import kinds as job_kinds
from openclaw_web.errors import Refused
from people.audit import log as audit

from . import report

Kind = CollectorSource.Kind
Status = MigrationSource.Status
SESSION = "session"  # the kind of a row that keeps one session out
ORDER = ("agent_id", "source_key")
TARGET = "transcript_events"
UUID = re.compile(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}", re.IGNORECASE)
# A whole database holds sessions, and an index names them: both are to be looked at again for those let in.
SHARED = (Kind.DATABASE, Kind.SESSION_INDEX)


def rows() -> QuerySet[MigrationSource]:
    """A row for every session that collects leave out."""
    return MigrationSource.objects.filter(migration_kind=SESSION, status=Status.IGNORED)


def find_sources(root: str, agent_id: str, ids: set[str]) -> Iterator[tuple[MigrationSource, set[str]]]:
    """The sources of a home that hold one of these sessions of an agent, whichever run wrote them down, and which."""
    found = MigrationSource.objects.filter(root=root, agent_id=agent_id, target_table=TARGET)
    for source in found.exclude(migration_kind=SESSION).order_by("imported_at", "source_key").iterator():
        if source.migration_kind == Kind.DATABASE:
            yield source, ids
        elif own := _named(source.source_path) & ids:
            yield source, own


def _named(path):
    """The ids in a file's name, as they are written and in small letters."""
    found = UUID.findall(path.rpartition("/")[2])
    return {*found, *(one.lower() for one in found)}


def ignore_sessions(run: MigrationRun, agent_id: str, ids: set[str]) -> None:
    """Keep these sessions of an agent out of collects from now on; files of theirs are marked as ignored as well."""
    places, marked = dict.fromkeys(ids, ""), []
    for source, own in find_sources(run.root, agent_id, ids):
        is_shared = source.migration_kind == Kind.DATABASE
        places |= {one: f"{source.source_path}#{one}" if is_shared else source.source_path for one in own}
        if not is_shared:  # a database holds other sessions too, and stays imported
            source.status = Status.IGNORED
            marked.append(source)
    migration_runs.save_sources([*marked, *(_row(run, agent_id, one, place) for one, place in places.items())])


def _row(run, agent_id, session_id, place):
    return MigrationSource(
        source_key=_key(run.root, agent_id, session_id),
        migration_kind=SESSION,
        source_path=place,
        target_table=TARGET,
        last_run=run,
        status=Status.IGNORED,
        report={"ignored_sessions": [session_id]},
        root=run.root,
        agent_id=agent_id,
    )


def _key(root, agent_id, session_id):
    return migration_runs.compute_source_key(root, f"{agent_id}/{session_id}", 0, 0, "", SESSION)


def as_json(row: MigrationSource) -> dict[str, Any]:
    """One session that is left out, for receipts and lists."""
    session_id = next(iter(row.report.get("ignored_sessions", ())), "")
    return {"agent": row.agent_id, "session_id": session_id, "path": row.source_path, "run": row.last_run_id}


def run(params: dict[str, Any], progress: Any) -> dict[str, Any]:
    """Let sessions in again: the next collect reads them. A job's function.

    `params["what"]` is `agent/session`, or the id of a run that was undone; `by` says who asked. Raises Refused when
    nothing of that is left out.
    """
    what, by = params["what"], params.get("by", "")
    with collect.exclusive_run(progress):  # one that is under way would write down that it has read everything
        wanted = list(_wanted(what))
        if not wanted:
            raise Refused(_("%(what)s is not excluded. The Doctor page lists what is excluded.") % {"what": what})
        with transaction.atomic():
            for agent_id, root in {(row.agent_id, row.root) for row in wanted}:
                own = [row for row in wanted if (row.agent_id, row.root) == (agent_id, root)]
                _let_in(root, agent_id, own)
            object_id = wanted[0].last_run_id
            audit.record(by, "doctor_unignored", object_type="migration_run", object_id=object_id, sessions=len(wanted))
    words = ngettext(
        "%(count)s session is no longer excluded (%(what)s). The next import includes this session.",
        "%(count)s sessions are no longer excluded (%(what)s). The next import includes these sessions.",
        len(wanted),
    )
    message = words % {"count": len(wanted), "what": what}
    facts = report.EMPTY_RUN | {"id": "", "let_in": len(wanted)}
    return report.EMPTY_PLAN | {"verb": "unignore", "message": message, "run": facts}


def _wanted(what) -> Iterable[MigrationSource]:
    agent_id, separator, session_id = what.partition("/")
    if not separator:
        return rows().filter(last_run=what)
    own = rows().filter(agent_id=agent_id)
    return own.filter(report_json=MigrationSource.report.encode({"ignored_sessions": [session_id]}))


def _let_in(root, agent_id, own):
    ids = {as_json(row)["session_id"] for row in own}
    rows().filter(source_key__in=[row.source_key for row in own]).delete()
    marked = []
    for source, _own in find_sources(root, agent_id, ids):
        if source.status == Status.IGNORED:  # not in the store, so not imported either: the next run tries again
            source.status = Status.WARNING
            marked.append(source)
    migration_runs.save_sources(marked)
    CollectorSource.objects.filter(root=root, agent_id=agent_id, kind__in=SHARED).delete()


JOB = job_kinds.Kind(
    run=run,
    label=gettext_lazy("Doctor: allow import"),
    started=gettext_lazy("started to allow the import of excluded sessions"),
    kept=gettext_lazy("Nothing was changed."),
    done=report.in_words,
    page="operations:doctor",
)
