"""The list of an agent's decisions: filters, query, columns and texts."""

from django import forms
from django.utils.translation import gettext_lazy as _

from ledger.lists.agent_filters import AgentFilters
from openclaw_web.amounts import ngettext_lazy
from openclaw_web.lists.declaration import PLAIN, TITLE, List, Words, file_columns
from openclaw_web.lists.paging import Listing, Term, build_listing, build_terms, get_order_columns

from .. import verdict_store, words
from ..models import MemoryGateDecision
from ..models.decisions import SLOW_MS
from . import list_context

SEARCH_MS = 100  # milliseconds for each page of a text search
COLUMNS = {
    "slow": Term("llm_latency_ms", "gte", SLOW_MS),
    "unmatched": Term("turn_id", "isnull", True),
    "prompt": "prompt_version",
    "model": "llm_model",
    "decision": "decision",
    "unseen": Term("saw_user", "exact", False),
    "origin": "origin",
}
VERDICTS = {
    "right": Term("verdict", "exact", "right"),
    "wrong": Term("verdict", "exact", "wrong"),
    "judged": Term("verdict", "isnull", False),
    "unjudged": Term("verdict", "isnull", True),
}
# Filter columns whose index ends with the time. If several are set, the first of COLUMNS drives the scan: it usually
# leaves the fewest rows.
SEEKS = ("verdict", "session_id", "llm_latency_ms", "turn_id", "prompt_version", "llm_model", "decision", "saw_user")
FIELDS = file_columns(
    MemoryGateDecision,
    *("id", "created_at", "decision", "reason", "candidate_fact", "session_id", "turn_id", "llm_model"),
    *("prompt_version", "llm_latency_ms", "prompt_tokens", "completion_tokens", "cost_usd", "saw_user"),
)


class DecisionFilters(AgentFilters):
    """The filters of the list of decisions."""

    FINDS_WORDS = True
    ORDERS, DEFAULT = {"time": ("created_at", "place")}, "-time"
    OFFERED, TABLE, WORDS = {"model": "llm_model", "prompt": "prompt_version"}, "memory_gate_decisions", {}
    CHIPS = {"q": _("Reason or fact")}
    DESCRIPTIONS = {
        "session": list_context.SESSION,
        "prompt": "version of the prompt",
        "slow": f"only decisions that took {SLOW_MS:,} ms or more",
        "unseen": "only decisions whose gate saw no message of the user",
        "unmatched": "only decisions without a turn",
        "verdict": "only decisions that people judged so, judged at all, or did not judge",
        "q": "words, phrases in quotes, `-without` and `pre*` in the reason or the fact",
    }
    q = forms.CharField(
        label=_("Search reasons and facts"),
        required=False,
        max_length=200,
        help_text=_("Searches the newest first. Select “Next page” to search further."),
    )
    decision = forms.ChoiceField(label=_("Decision"), required=False, choices=MemoryGateDecision.Decision.choices)
    model = forms.CharField(label=_("Model"), required=False, max_length=500)
    session = forms.CharField(label=_("Session"), required=False, max_length=500)
    prompt = forms.CharField(label=_("Prompt version"), required=False, max_length=500)
    verdict = forms.ChoiceField(label=_("Verdict"), required=False, choices=words.VERDICT_WORDS.items())
    origin = forms.ChoiceField(label=_("Origin"), required=False, choices=words.ORIGIN_WORDS.items())
    slow = forms.BooleanField(label=_("Slow (5 s or more)"), required=False)
    unseen = forms.BooleanField(label=_("No user message"), required=False)
    unmatched = forms.BooleanField(label=_("Without a turn"), required=False)


def fits(agent, *, sort=DecisionFilters.DEFAULT, session="", q="", verdict="", **filters) -> Listing:
    """The decisions of an agent that fit, without their raw responses.

    `session` is an id or a key; `q` are words of the reason or the fact.
    """
    if verdict:
        verdict_store.copy_all(agent)
    rows = MemoryGateDecision.objects.using(agent.db).placed().defer("raw_response")
    verdict_conditions = [VERDICTS[verdict]] if verdict else []
    # Nearly all decisions are unjudged: other filters leave fewer rows.
    conditions = verdict_conditions if verdict != "unjudged" else []
    conditions = conditions + ([list_context.build_session_term(agent, rows, session)] if session else [])
    is_searched = bool(q) or any(term.lookup == "in" for term in conditions)
    conditions += build_terms(filters, COLUMNS, moment="created_at")
    conditions += verdict_conditions if verdict == "unjudged" else []
    time_ms = SEARCH_MS if is_searched else 0
    order = get_order_columns(DecisionFilters.ORDERS, sort)
    listing = build_listing(rows, conditions, order=order, seeks=SEEKS, time_ms=time_ms)
    return listing.narrow(list_context.build_text_condition(agent, q, "decision")) if q else listing


DECISIONS = List(
    on="decisions",
    words=Words(
        counted=ngettext_lazy("%(shown)s decision of %(agent)s", "%(shown)s decisions of %(agent)s", "count"),
        uncounted=_("Decisions of %(agent)s"),
        none=_("No decisions yet"),
        how=_("What the memory gate decides appears here when the plugin records it, or after an import of its logs."),
        is_imported=True,
        icon="funnel",
    ),
    filters=DecisionFilters,
    fits=fits,
    columns=(
        ("time", _("Time"), False, PLAIN),
        ("", _("Decision"), False, PLAIN),
        ("", _("Fact and reason"), False, TITLE),
        ("", _("User message"), False, PLAIN),
        ("", _("Model"), False),
        ("", _("Latency"), True),
        ("", _("Tokens"), True),
        ("", _("Cost"), True),
        ("", _("Verdict"), False, PLAIN),
    ),
    table=MemoryGateDecision,
    fields=FIELDS,
    prepare=lambda page, _filters, agent: {
        "rows": page,
        **list_context.read_row_context(agent.db, page),
        **words.build_row_words(),
    },
    read=lambda rows: list_context.read_beginnings(rows, FIELDS),
    uncached=("verdict",),
)
