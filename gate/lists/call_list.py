"""The list of an agent's calls of models for the gate, failed calls first."""

from django import forms
from django.utils.translation import gettext_lazy as _

from ledger.lists import facets
from ledger.lists.agent_filters import AgentFilters
from openclaw_web.amounts import ngettext_lazy
from openclaw_web.lists.declaration import PLAIN, TITLE, List, Words, file_columns
from openclaw_web.lists.paging import Listing, build_listing, build_terms, get_order_columns
from openclaw_web.lists.segments import EVERYTHING, Segment, Segments
from openclaw_web.pages import states

from ..models import GateCall
from . import list_context
from .decision_list import SEARCH_MS

TABLE = "gate_calls"
COLUMNS = {"model": "llm_model"}
SEEKS = ("session_id", "outcome", "llm_model")  # the time is the last column of their indexes
# Each segment is one value of the column, which has an index; the counts beside the segments show where calls are.
SEGMENTS = Segments(
    label=_("Status"),
    column="outcome",
    first="failed",
    parts={
        outcome.value: Segment(states.word(outcome.value), among=(outcome.value,))
        for outcome in (
            GateCall.Outcome.FAILED,
            GateCall.Outcome.MALFORMED,
            GateCall.Outcome.SENT,
            GateCall.Outcome.DECIDED,
        )
    }
    | {"all": EVERYTHING},
    is_first_optional=True,
)
FIELDS = file_columns(GateCall, "id", "created_at", "outcome", "failure", "reason", "session_id")


class CallFilters(AgentFilters):
    """The filters of the list of calls."""

    SEGMENTS = SEGMENTS
    DESCRIPTIONS = {"session": list_context.SESSION}

    ORDERS, DEFAULT = {"time": ("created_at", "place")}, "-time"
    OFFERED, TABLE = {"model": "llm_model"}, TABLE
    model = forms.CharField(label=_("Model"), required=False, max_length=500)
    session = forms.CharField(label=_("Session"), required=False, max_length=500)


def fits(agent, *, sort=CallFilters.DEFAULT, segment="", session="", **filters) -> Listing:
    """The calls of an agent that fit, without their raw responses.

    `session` is an id or a key.
    """
    rows = GateCall.objects.using(agent.db).placed().defer("raw_response")
    conditions = [list_context.build_session_term(agent, rows, session)] if session else []
    time_ms = SEARCH_MS if any(term.lookup == "in" for term in conditions) else 0
    conditions += [*SEGMENTS.term(segment), *build_terms(filters, COLUMNS, moment="created_at")]
    return build_listing(
        rows, conditions, order=get_order_columns(CallFilters.ORDERS, sort), seeks=SEEKS, time_ms=time_ms
    )


CALLS = List(
    on="calls",
    words=Words(
        counted=ngettext_lazy("%(shown)s gate call of %(agent)s", "%(shown)s gate calls of %(agent)s", "count"),
        uncounted=_("Gate calls of %(agent)s"),
        none=_("No calls yet"),
        how=_("Calls of models for the memory gate appear here, with those that failed."),
        is_imported=True,
        icon="signal",
    ),
    filters=CallFilters,
    fits=fits,
    columns=(
        ("time", _("Time"), False, PLAIN),
        ("", _("Status"), False, PLAIN),
        ("", _("Reason"), False, TITLE),
        ("", _("User message"), False),
        ("", _("Model"), False),
        ("", _("Latency"), True),
        ("", _("Tokens"), True),
        ("", _("Cost"), True),
    ),
    table=GateCall,
    fields=FIELDS,
    prepare=lambda page, _filters, agent: {"rows": page, **list_context.read_row_context(agent.db, page)},
    read=lambda rows: rows.values(*FIELDS, "place"),
    amounts=lambda agent, ms: SEGMENTS.amounts(lambda column: facets.count_values(agent.db, column, ms, TABLE)),
)
