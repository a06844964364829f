"""The list of an agent's artifacts: its filters, query, columns and texts."""

from django import forms
from django.db.models import Exists, OuterRef, Q
from django.utils.translation import gettext_lazy as _

from openclaw_web.amounts import ngettext_lazy
from openclaw_web.lists import paging
from openclaw_web.lists.declaration import PLAIN, List, Words, file_columns
from openclaw_web.lists.filters import BIGGEST, DayFilters
from openclaw_web.lists.list_counts import count_rows
from openclaw_web.lists.paging import Listing, build_listing, build_terms, get_order_columns
from openclaw_web.sqlite import dialect, statements
from openclaw_web.sqlite.json_columns import encode

from . import artifact_names, handles
from .contents import secret_flags
from .contents.content_types import KNOWN
from .models import Artifact
from .services import OUTPUT_KIND
from .words import CONTENT_WORDS, artifact_word

WINDOW = paging.WINDOW
USES_COUNTED = 1_000  # of each content of a page: some are used again with every run of a job
SCATTERED_WINDOW = 2_000  # by size they do not lie side by side in the file
# One step in the index for each use, and no more than are counted.
USES = f"""
    SELECT listed.value, (SELECT count(*) FROM (SELECT 1 FROM artifacts WHERE handle = listed.value LIMIT %s) uses)
    FROM {dialect.json_array("listed")}
"""  # noqa: S608 - constants
COLUMNS = {name: name for name in ("kind", "tool", "content_type")} | {"size": "bytes__gte", "q": "summary__icontains"}
# The columns of a use that pages show.
PAGE_COLUMNS = (
    *("id", "handle", "kind", "content_type", "bytes", "lines", "summary", "preview", "secret_kinds"),
    *("session_id", "record_id", "tool", "tool_call_id", "created_at"),
)
FIELDS = file_columns(Artifact, "handle", "kind", "content_type")


class ArtifactFilters(DayFilters):
    """The filters of the list of artifacts."""

    ORDERS, DEFAULT = {"time": ("created_at", "id"), "size": ("bytes", "id")}, "-time"
    CHIPS = {"q": _("Summary or handle")}
    DESCRIPTIONS = {
        "each": "list every use; otherwise each artifact once, at its latest use",
        "size": "minimum size in bytes",
        "flagged": "only artifacts that may contain secrets, according to the settings",
        "q": "words in the summary",
    }
    q = forms.CharField(label=_("Search summaries, or enter a handle"), required=False, max_length=200)
    content_type = forms.ChoiceField(
        label=_("Type"), required=False, choices=[(name, CONTENT_WORDS[name]) for name in KNOWN]
    )
    tool = forms.CharField(label=_("Tool"), required=False, max_length=256)
    kind = forms.CharField(label=_("Kind"), required=False, max_length=100)
    session = forms.CharField(label=_("Session"), required=False, max_length=500)
    size = forms.IntegerField(label=_("Minimum bytes"), required=False, min_value=0, max_value=BIGGEST)
    flagged = forms.BooleanField(label=_("Only flagged"), required=False)
    each = forms.BooleanField(label=_("Every use"), required=False)

    def in_words(self, name, value):
        """The value of a filter in words, as in every list; a kind by its word."""
        return artifact_word(value) if name == "kind" else super().in_words(name, value)

    @property
    def criteria(self):
        """The filters in force; a handle among the words is a filter of its own."""
        criteria = super().criteria
        mentioned = list(handles.find_handles(criteria.get("q", "")))
        return criteria | {"q": "", "handle": mentioned[0]} if mentioned else criteria


def fits(agent, *, sort=ArtifactFilters.DEFAULT, each=False, flagged=False, **criteria) -> Listing:
    """Contents that an agent used, each once, at its latest use that matches.

    With `each`, every use is a row. The criteria are COLUMNS, `session`, `handle`, `flagged` (only contents that the
    operator counts as holding secrets).
    """
    if criteria.get("handle"):  # all uses of a content are of one size
        sort = f"{'-' if sort.startswith('-') else ''}time"
    same = {"session_id": criteria.get("session"), "handle": criteria.get("handle")}
    rows = Artifact.objects.using(agent.db).filter(**{name: value for name, value in same.items() if value})
    column_terms = build_terms(criteria, COLUMNS, moment="created_at")
    window = WINDOW if sort.endswith("time") else SCATTERED_WINDOW
    listing = build_listing(rows, column_terms, order=get_order_columns(ArtifactFilters.ORDERS, sort), window=window)
    listing = listing.narrow(_build_flagged_condition()) if flagged else listing
    return listing if each else listing.narrow(_build_latest_condition(rows, column_terms))


def count_uses(db: str, handles: list[str]) -> dict[str, int]:
    """Count how many times an agent used each of these contents.

    A count of USES_COUNTED + 1 means that there are more.
    """
    most = USES_COUNTED + 1
    return dict(statements.read_rows(db, USES, [most, encode(handles)]))


def _count_contents(agent, budget_ms):
    """How many contents an agent used; every handle is one step in their index."""
    handles = Artifact.objects.using(agent.db).values("handle").distinct()
    return count_rows(handles, column="handle", budget_ms=budget_ms)


def _build_latest_condition(rows, column_terms):
    """The condition that no later use of the same content matches.

    It is written so that SQLite seeks in the index of handle and time.
    """
    others = rows.filter(**{f"{term.column}__{term.lookup}": term.value for term in column_terms})
    others = others.filter(handle=OuterRef("handle"), created_at__gte=OuterRef("created_at"))
    return ~Exists(others.filter(Q(created_at__gt=OuterRef("created_at")) | Q(id__gt=OuterRef("id"))))


def _build_flagged_condition():
    one_of = Q(pk__in=[])
    for kind in sorted(secret_flags.read_flagged_kinds()):
        one_of |= Q(secret_kinds__contains=f'"{kind}"')
    return one_of


def _build_file_row(row):
    return {name: row[name] for name in FIELDS} | {"secret_kinds": Artifact.secrets.decode(row["secret_kinds"])}


def _prepare_page(page, _filters, agent):
    kinds = secret_flags.read_flagged_kinds()
    return {
        "rows": page,
        "names": artifact_names.build_names(agent.db, page),
        "uses": count_uses(agent.db, [row["handle"] for row in page]),
        "most_uses": USES_COUNTED,
        "flagged": {row["handle"] for row in page if secret_flags.is_flagged(row["secret_kinds"], kinds)},
        "tool_output": OUTPUT_KIND,
    }


ARTIFACTS = List(
    on="artifacts",
    uncached=("flagged",),  # a setting says which kinds of secrets flag one
    words=Words(
        counted=ngettext_lazy("%(shown)s artifact of %(agent)s", "%(shown)s artifacts of %(agent)s", "count"),
        uncounted=_("Artifacts of %(agent)s"),
        none=_("No artifacts yet"),
        how=_("Large tool outputs appear here after an import."),
        is_imported=True,
        icon="archive-box",
    ),
    filters=ArtifactFilters,
    fits=fits,
    columns=(
        ("", _("Artifact"), False),
        ("", _("Tool"), False, PLAIN),
        ("", _("Session"), False),
        ("size", _("Size"), True, PLAIN),
        ("", _("Uses"), True),
        ("time", _("Last used"), True, PLAIN),
    ),
    table=Artifact,
    fields=FIELDS,
    prepare=_prepare_page,
    read=lambda rows: rows.values(*PAGE_COLUMNS),
    count=_count_contents,
    file=lambda rows: rows.values("id", *FIELDS),
    shape=_build_file_row,
)
