"""Sessions that `doctor --undo` removed: excludes them from imports, lists them, and allows them again."""

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
SESSION = migration_runs.SESSION
ORDER = ("agent_id", "source_key")
TARGET = "transcript_events"
UUID = re.compile(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}", re.IGNORECASE)
# A database holds several sessions, and an index names several: both are read again for sessions that are allowed.
SHARED = (Kind.DATABASE, Kind.SESSION_INDEX)


def rows() -> QuerySet[MigrationSource]:
    """One row for each session that imports exclude."""
    return MigrationSource.objects.filter(migration_kind=SESSION, status=Status.IGNORED)


def find_sources(root: str, agent_id: str, ids: set[str]) -> Iterator[tuple[MigrationSource, set[str]]]:
    """Sources that hold sessions of an agent, with the ids of those in each.

    The run that recorded a source does not matter.
    """
    rows_of_agent = MigrationSource.objects.filter(root=root, agent_id=agent_id, target_table=TARGET)
    for source in rows_of_agent.exclude(migration_kind=SESSION).order_by("imported_at", "source_key").iterator():
        if source.migration_kind == Kind.DATABASE:
            yield source, ids
        elif own := _find_ids(source.source_path) & ids:
            yield source, own


def _find_ids(path):
    """The ids in a file's name, as written and in lower case."""
    ids = UUID.findall(path.rpartition("/")[2])
    return {*ids, *(session_id.lower() for session_id in ids)}


def ignore_sessions(run: MigrationRun, agent_id: str, ids: set[str]) -> None:
    """Exclude sessions of an agent from imports; their files are marked as ignored."""
    places, marked = dict.fromkeys(ids, ""), []
    for source, own in find_sources(run.root, agent_id, ids):
        is_shared = source.migration_kind == Kind.DATABASE
        places |= {
            session_id: f"{source.source_path}#{session_id}" if is_shared else source.source_path for session_id in own
        }
        if not is_shared:  # a database holds other sessions too, so its status does not change
            source.status = Status.IGNORED
            marked.append(source)
    migration_runs.save_sources(
        [*marked, *(_build_row(run, agent_id, session_id, place) for session_id, place in places.items())]
    )


def _build_row(run, agent_id, session_id, place):
    return MigrationSource(
        source_key=migration_runs.compute_session_key(run.root, agent_id, session_id),
        migration_kind=SESSION,
        source_path=place,
        target_table=TARGET,
        last_run=run,
        status=Status.IGNORED,
        report={"ignored_sessions": [session_id]},
        root=run.root,
        agent_id=agent_id,
    )


def as_json(row: MigrationSource) -> dict[str, Any]:
    """One excluded session, for receipts and lists."""
    session_id = next(iter(row.report.get("ignored_sessions", ())), "")
    return {"agent": row.agent_id, "session_id": session_id, "path": row.source_path, "run": row.last_run_id}


def run(params: dict[str, Any], progress: Any) -> dict[str, Any]:
    """Allow excluded sessions again: the next import reads them. The function of a job.

    `params["what"]` is `agent/session`, or the id of a run that was undone; `by` is the user. Raises Refused when no
    such session is excluded.
    """
    target, by = params["what"], params.get("by", "")
    with collect.exclusive_run(progress):  # a running import would record that it has read everything
        excluded = list(_find_excluded(target))
        if not excluded:
            raise Refused(_("%(what)s is not excluded. The Doctor page lists what is excluded.") % {"what": target})
        with transaction.atomic():
            for agent_id, root in {(row.agent_id, row.root) for row in excluded}:
                own = [row for row in excluded if (row.agent_id, row.root) == (agent_id, root)]
                _allow_sessions(root, agent_id, own)
            object_id = excluded[0].last_run_id
            audit.record(
                by, "doctor_unignored", object_type="migration_run", object_id=object_id, sessions=len(excluded)
            )
    words = ngettext(
        "%(count)s session is no longer excluded (%(what)s). The next import includes this session.",
        "%(count)s sessions are no longer excluded (%(what)s). The next import includes these sessions.",
        len(excluded),
    )
    message = words % {"count": len(excluded), "what": target}
    facts = report.EMPTY_RUN | {"id": "", "let_in": len(excluded)}
    return report.EMPTY_PLAN | {"verb": "unignore", "message": message, "run": facts}


def _find_excluded(target) -> Iterable[MigrationSource]:
    agent_id, separator, session_id = target.partition("/")
    if not separator:
        return rows().filter(last_run=target)
    own = rows().filter(agent_id=agent_id)
    return own.filter(report_json=MigrationSource.report.encode({"ignored_sessions": [session_id]}))


def _allow_sessions(root, agent_id, own):
    ids = {as_json(row)["session_id"] for row in own}
    rows().filter(source_key__in=[row.source_key for row in own]).delete()
    marked = []
    for source, _own in find_sources(root, agent_id, ids):
        if source.status == Status.IGNORED:  # the session is not in the store, so the next run imports it
            source.status = Status.WARNING
            marked.append(source)
    migration_runs.save_sources(marked)
    CollectorSource.objects.filter(root=root, agent_id=agent_id, kind__in=SHARED).delete()


JOB = job_kinds.Kind(
    run=run,
    label=gettext_lazy("Doctor: allow import"),
    audit_text=gettext_lazy("started to allow the import of excluded sessions"),
    cancel_text=gettext_lazy("Nothing was changed."),
    describe_result=report.in_words,
    page="operations:doctor",
)
