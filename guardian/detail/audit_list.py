"""The list of writes to memory files: its filters, query, columns and texts."""

from django import forms
from django.utils.translation import gettext_lazy as _

from gate.lists import list_context
from ledger.lists import facets
from openclaw_web.amounts import ngettext_lazy
from openclaw_web.lists.declaration import NAMED, PLAIN, TITLE, List, Words, file_columns
from openclaw_web.lists.filters import DayFilters
from openclaw_web.lists.paging import Listing, Term, build_listing, build_terms, get_order_columns
from openclaw_web.lists.segments import EVERYTHING, Segment, Segments
from openclaw_web.pages import states

from .. import words
from ..files import MEMORY_FILES
from ..models import WriteGuardianAudit
from . import related_writes

TABLE = "write_guardian_audit"
SEARCH_MS = 100  # for each page of a search for words
COLUMNS = {
    "decision": "decision_id",
    "turn": "turn_id",
    "rule": "rule_id",
    "unmatched": Term("turn_id", "isnull", True),
    "origin": "origin",
    "status": "status",
    "file": "target_file",
    "flagged": Term("rule_id", "isnull", False),
}
# Filter columns whose index continues with the time. If several are set, the first of COLUMNS drives the scan.
SEEKS = ("session_id", "decision_id", "turn_id", "rule_id", "origin", "status", "target_file")
Origin, Status = WriteGuardianAudit.Origin, WriteGuardianAudit.Status
SEGMENTS = Segments(
    label=_("Writes"),
    column="origin",
    first="changed",
    parts={
        "changed": Segment(_("Changed the file"), among=(Status.WRITTEN, Status.ROLLED_BACK), column="status"),
        "all": EVERYTHING,
        "writes": Segment(_("Without rollbacks"), without=(Origin.ROLLBACK,)),
        "told": Segment(_("Recorded"), among=(Origin.RECORDED, Origin.IMPORTED, Origin.OWN, Origin.AGENT)),
        "unattributed": Segment(_("Unattributed"), among=(Origin.UNATTRIBUTED,)),
        "rollbacks": Segment(_("Rollbacks"), among=(Origin.ROLLBACK,)),
    },
)
FIELDS = file_columns(
    WriteGuardianAudit,
    *("id", "created_at", "target_file", "status", "candidate_fact", "reason", "session_id", "turn_id"),
    *("decision_id", "lines_added", "lines_removed", "lines_modified", "llm_model", "llm_latency_ms"),
    *("agent_steps", "origin", "match", "rule_id", "retry_of"),
)


class AuditFilters(DayFilters):
    """The filters of the list of writes."""

    FINDS_WORDS = True
    SEGMENTS = SEGMENTS
    ORDERS, DEFAULT = {"time": ("created_at", "place")}, "-time"
    HIDDEN = ("rule", "decision", "turn")
    CHIPS = {"q": _("Fact or reason")}
    DESCRIPTIONS = {
        "session": list_context.SESSION,
        "decision": "id of a decision of memory_gate",
        "turn": "id of a turn",
        "rule": "id of a rule",
        "flagged": "only writes that a rule applies to",
        "unmatched": "only writes without a turn",
        "q": "words, phrases in quotes, `-without` and `pre*` in the fact or the reason",
    }
    q = forms.CharField(
        label=_("Search facts and reasons"),
        required=False,
        max_length=200,
        help_text=_("Searches the newest writes first. Select “Next page” to search further."),
    )
    file = forms.ChoiceField(label=_("File"), required=False, choices=[(name, name) for name in MEMORY_FILES])
    status = forms.ChoiceField(label=_("Status"), required=False, choices=states.choices(Status))
    session = forms.CharField(label=_("Session"), required=False, max_length=500)
    origin = forms.ChoiceField(label=_("Origin"), required=False, choices=words.ORIGIN_WORDS.items())
    unmatched = forms.BooleanField(label=_("Turn unknown"), required=False)
    flagged = forms.BooleanField(label=_("Matched a rule"), required=False)
    rule = forms.CharField(label=_("Rule"), required=False, max_length=500)
    decision = forms.CharField(label=_("Decision"), required=False, max_length=500)
    turn = forms.CharField(label=_("Turn"), required=False, max_length=1_000)


def fits(agent, *, sort=AuditFilters.DEFAULT, segment="", session="", q="", **criteria) -> Listing:
    """Return the writes of an agent that fit the filters, without their diffs.

    `session` is an id or a key.
    """
    rows = WriteGuardianAudit.objects.using(agent.db).placed().defer("diff", "hunks_json")
    filter_terms = [list_context.build_session_term(agent, rows, session)] if session else []
    is_searched = bool(q) or any(term.lookup == "in" for term in filter_terms)
    filter_terms += [*build_terms(criteria, COLUMNS, moment="created_at"), *SEGMENTS.term(segment)]
    order = get_order_columns(AuditFilters.ORDERS, sort)
    listing = build_listing(rows, filter_terms, order=order, seeks=SEEKS, time_ms=SEARCH_MS if is_searched else 0)
    return listing.narrow(list_context.build_text_condition(agent, q, "write")) if q else listing


def _build_page_context(db, page):
    """Return the context of a page: rows, sessions, turns, and the subjects of rollbacks."""
    rollbacks = [row["id"] for row in page if row["origin"] == Origin.ROLLBACK]
    related_words = {**list_context.read_row_context(db, page), **words.build_row_words()}
    restored_ids = related_writes.find_restored_ids(
        db, [row["id"] for row in page if row["status"] == Status.ROLLED_BACK]
    )
    return {
        "rows": page,
        "rollback_subjects": related_writes.read_subjects(db, rollbacks),
        "restored_ids": restored_ids,
        **related_words,
    }


WRITES = List(
    on="writes",
    words=Words(
        counted=ngettext_lazy("%(shown)s write of %(agent)s", "%(shown)s writes of %(agent)s", "count"),
        uncounted=_("Writes of %(agent)s"),
        none=_("No writes yet"),
        how=_("Writes to memory files appear here when the plugin records them, or after an import."),
        is_imported=True,
        icon="pencil-square",
    ),
    filters=AuditFilters,
    fits=fits,
    columns=(
        ("time", _("Time"), False, PLAIN),
        ("", _("File"), False, PLAIN),
        ("", _("Status"), False, PLAIN),
        ("", _("Fact"), False, TITLE),
        ("", _("Changes"), False, NAMED),
        ("", _("Session"), False),
        ("", _("Origin"), False),
    ),
    table=WriteGuardianAudit,
    fields=FIELDS,
    prepare=lambda page, _filters, agent: _build_page_context(agent.db, page),
    read=lambda rows: list_context.read_beginnings(rows, FIELDS),
    amounts=lambda agent, ms: SEGMENTS.amounts(lambda column: facets.count_values(agent.db, column, ms, TABLE)),
)
