"""API of imports: starts them, lists the files that they skipped, and takes turns of a running Reflection plugin."""

from contextlib import contextmanager

from django.utils.translation import gettext as _
from ninja import Query, Status

from agents.decorators import agent_view_for
from gate.recording.log_import import parse_key_agent
from gate.schemas import RecordedOut
from jobs import services as jobs
from jobs.schemas import JobOut
from ledger.lists.api import router as lists  # the GET of the same addresses has this router
from ledger.transcripts import reported_turns
from openclaw_web.disk import locks
from openclaw_web.endpoints.operations import Operations
from openclaw_web.endpoints.schemas import Page, page_to_json
from openclaw_web.errors import Refused
from openclaw_web.pages.roles import needs

from . import joining
from .schemas import CollectIn, SessionsIn, SkippedOut, SkippedQuery, TurnsIn
from .skipped_list import SKIPPED

router = Operations("operations_api", tags=["operations"])
WHAT_IS_NEW = CollectIn()


@router.post("/operations/collect", {202: JobOut}, 400, 409)
@needs("operator")
def collect(request, body: CollectIn = WHAT_IS_NEW):
    """Import from the configured OpenClaw folder; returns the job, also if an import is already running."""
    return Status(202, jobs.start("collect", body.params(), by=request.user.username))


class ImportRuns(Refused):
    """An import may be making the sessions again that turns are for."""

    status = 503


@lists.post("/agents/{agent}/sessions", RecordedOut, 400, 404, 409, 503)
@agent_view_for("operator")
def session_upsert(request, agent, body: SessionsIn):
    """Store up to 100 sessions of a running plugin, or update what is known of them: both are `recorded`."""
    with _open_agent(agent, [session.id for session in body.sessions]):
        stored = reported_turns.upsert_sessions(agent, body.sessions)
    return {"recorded": stored, "known": [], "withheld": len(body.sessions) - len(stored)}


@lists.post("/agents/{agent}/turns", {201: RecordedOut, 200: RecordedOut}, 400, 404, 409, 503)
@agent_view_for("operator")
def turn_record(request, agent, body: TurnsIn):
    """Record up to 100 turns of a running plugin with the messages before them, all or none.

    The same id with other words is refused with 409.
    """
    with _open_agent(agent, [turn.session_id for turn in body.turns]):
        stored = reported_turns.store_turns(agent, body.turns, all_or_none=True)
    if stored.changed:
        reasons = [{"id": name, "reason": _("it was recorded with other words")} for name in stored.changed]
        raise Refused(_("A turn was recorded before with other words. Nothing was stored."), reasons=reasons)
    answer = {"recorded": stored.new, "known": stored.known, "withheld": stored.withheld}
    return Status(201 if stored.new else 200, answer)


@contextmanager
def _open_agent(agent, keys):
    """Check the keys of sessions, keep imports out, and join what was stored."""
    for key in keys:
        if parse_key_agent(key).lower() not in ("", agent.home_name.lower(), agent.agent_id):
            raise Refused(_("The session %(session)s is one of another agent. Nothing was stored.") % {"session": key})
    with locks.lock(locks.COLLECTING, wait=False) as is_free:
        if not is_free:
            raise ImportRuns(_("An import is running. Send the request again: nothing is stored twice."))
        yield
        joining.join_turns(agent)


@router.get("/operations/skipped", Page[SkippedOut], 409)
@needs("viewer")
def skipped_list(request, filters: Query[SkippedQuery]):
    """Files, folders and index entries that the last imports did not read, by name.

    Each has the reason.
    """
    return page_to_json(SKIPPED.fits(request.user, **filters.criteria()).page(**filters.place))
