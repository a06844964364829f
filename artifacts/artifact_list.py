"""The list of an agent's artifacts: its filters and what fits them, its columns and its words."""

from dataclasses import replace

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
# What the pages show of a use; the preview is left where it is.
SHOWN = (
    *("id", "handle", "kind", "content_type", "bytes", "lines", "summary", "preview", "secret_kinds"),
    *("session_id", "record_id", "tool", "tool_call_id", "created_at"),
)
FIELDS = file_columns(Artifact, "handle", "kind", "content_type")


class ArtifactFilters(DayFilters):
    """The filters of the list of artifacts."""

    ORDERS, DEFAULT = {"time": ("created_at", "id"), "size": ("bytes", "id")}, "-time"
    RARE = ("kind", "session", "size", "each")
    CHIPS = {"q": _("Summary or handle")}
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
        """As every list does it; a kind by its word."""
        return artifact_word(value) if name == "kind" else super().in_words(name, value)

    @property
    def asked(self):
        """As every list's; a handle among the words is one."""
        asked = super().asked
        named = list(handles.find_handles(asked.get("q", "")))
        return asked | {"q": "", "handle": named[0]} if named else asked


def fits(agent, *, sort=ArtifactFilters.DEFAULT, each=False, flagged=False, **asked) -> Listing:
    """Contents that an agent used, each once, at its latest use that fits; with `each` every use is a row.

    Narrowed by COLUMNS, `session`, `handle`, `flagged` (only what the operator counts as holding secrets).
    """
    if asked.get("handle"):  # all uses of a content are of one size
        sort = f"{'-' if sort.startswith('-') else ''}time"
    same = {"session_id": asked.get("session"), "handle": asked.get("handle")}
    rows = Artifact.objects.using(agent.db).filter(**{name: value for name, value in same.items() if value})
    wanted = build_terms(asked, COLUMNS, moment="created_at")
    window = WINDOW if sort.endswith("time") else SCATTERED_WINDOW
    found = build_listing(rows, wanted, order=get_order_columns(ArtifactFilters.ORDERS, sort), window=window)
    conditions = [found.condition] if found.condition else []
    conditions += [_flagged()] if flagged else []
    conditions += [] if each else [_is_latest(rows, wanted)]
    return replace(found, condition=Q(*conditions) if conditions else None)


def count_uses(db: str, handles: list[str]) -> dict[str, int]:
    """How many times an agent used each of these contents; one more than are counted: there are more."""
    most = USES_COUNTED + 1
    return dict(statements.read_rows(db, USES, [most, encode(handles)]))


def _counted(agent, budget_ms):
    """How many contents an agent used; every handle is one step in their index."""
    handles = Artifact.objects.using(agent.db).values("handle").distinct()
    return count_rows(handles, column="handle", budget_ms=budget_ms)


def _is_latest(rows, wanted):
    """No later use of the same content fits. Spelled so that SQLite seeks in the index of handle and time."""
    others = rows.filter(**{f"{term.column}__{term.lookup}": term.value for term in wanted})
    others = others.filter(handle=OuterRef("handle"), created_at__gte=OuterRef("created_at"))
    return ~Exists(others.filter(Q(created_at__gt=OuterRef("created_at")) | Q(id__gt=OuterRef("id"))))


def _flagged():
    one_of = Q(pk__in=[])
    for kind in sorted(secret_flags.read_flagged_kinds()):
        one_of |= Q(secret_kinds__contains=f'"{kind}"')
    return one_of


def _shape(row):
    return {name: row[name] for name in FIELDS} | {"secret_kinds": Artifact.secrets.decode(row["secret_kinds"])}


def _prepared(page, _filters, agent):
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
    words=Words(
        counted=ngettext_lazy("%(shown)s artifact of %(agent)s", "%(shown)s artifacts of %(agent)s", "count"),
        uncounted=_("Artifacts of %(agent)s"),
        none=_("No artifacts yet"),
        how=_("Large tool outputs appear here after an import. To store anything else:"),
        command="openclaw-web artifact stash --from FILE",
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
    prepare=_prepared,
    read=lambda rows: rows.values(*SHOWN),
    count=_counted,
    file=lambda rows: rows.values("id", *FIELDS),
    shape=_shape,
)
