"""Which artifacts a list shows, and in which order: the same for pages, files and the API."""

from dataclasses import replace

import orjson
from django.db.models import Exists, OuterRef, Q

from openclaw_web.lists import paging
from openclaw_web.lists.counting import Amount, amount
from openclaw_web.lists.paging import Listing, Term, narrowed
from openclaw_web.sqlite import statements, words

from .contents import flagging
from .models import Artifact

WINDOW = paging.WINDOW
SCATTERED_WINDOW = 2_000  # by size they do not lie side by side in the file
USES_COUNTED = 1_000  # of each content of a page: some are used again with every run of a job
# One step in the index for each use, and no more than are counted.
USES = f"""
    SELECT listed.value, (SELECT count(*) FROM (SELECT 1 FROM artifacts WHERE handle = listed.value LIMIT %s) uses)
    FROM {words.each("listed")}
"""  # noqa: S608 - constants
ORDERS = {"time": ("created_at", "id"), "size": ("bytes", "id")}
NEWEST = "-time"
# What the pages show of a use; the preview is left where it is.
COLUMNS = (
    *("id", "handle", "kind", "content_type", "bytes", "lines", "summary", "preview", "secret_kinds"),
    *("session_id", "tool", "created_at"),
)


def artifacts(db: str, *, sort: str = NEWEST, each: bool = False, flagged: bool = False, **asked) -> Listing:
    """Contents that an agent used, each once, at its latest use that fits; with `each` every use is a row.

    By one of ORDERS, `-` before it: the newest or largest first. Narrowed by `session`, `handle`, `kind`, `tool`,
    `content_type`, `size` (bytes at least), `since` and `until` (milliseconds, `until` excluded), `q` (words of the
    summary), `flagged` (only what the operator counts as holding secrets).
    """
    sign = "-" if sort.startswith("-") else ""
    by = "time" if asked.get("handle") else sort.removeprefix("-")  # all uses of a content are of one size
    order = tuple(f"{sign}{column}" for column in ORDERS[by])
    columns = {"session_id": asked.get("session"), "handle": asked.get("handle")}
    rows = Artifact.objects.using(db).filter(**{name: value for name, value in columns.items() if value})
    terms = _terms(asked)
    found = narrowed(rows, terms, order=order, window=WINDOW if by == "time" else SCATTERED_WINDOW)
    conditions = [found.condition] if found.condition else []
    conditions += [_flagged()] if flagged else []
    conditions += [] if each else [_is_latest(rows, terms)]
    return replace(found, condition=Q(*conditions) if conditions else None)


def uses(db: str, handles: list[str]) -> dict[str, int]:
    """How many times an agent used each of these contents; USES_COUNTED + 1 means more than USES_COUNTED."""
    return dict(statements.rows(db, USES, [USES_COUNTED + 1, orjson.dumps(handles).decode()]))


def counted(db: str, *, budget_ms: int) -> Amount:
    """How many contents an agent used; every handle is one step in their index."""
    handles = Artifact.objects.using(db).values("handle").distinct()
    return amount(handles, column="handle", budget_ms=budget_ms)


def _terms(asked):
    same = {name: asked.get(name) for name in ("kind", "tool", "content_type")}
    terms = [Term(column, "exact", value) for column, value in same.items() if value]
    ends = {("created_at", "gte"): "since", ("created_at", "lt"): "until", ("bytes", "gte"): "size"}
    terms += [Term(*what, asked[name]) for what, name in ends.items() if asked.get(name) is not None]
    return terms + ([Term("summary", "icontains", asked["q"])] if asked.get("q") else [])


def _is_latest(rows, terms):
    """No later use of the same content fits. Spelled so that SQLite seeks in the index of handle and time."""
    others = rows.filter(**{f"{term.column}__{term.lookup}": term.value for term in terms})
    others = others.filter(handle=OuterRef("handle"), created_at__gte=OuterRef("created_at"))
    return ~Exists(others.filter(Q(created_at__gt=OuterRef("created_at")) | Q(id__gt=OuterRef("id"))))


def _flagged():
    one_of = Q(pk__in=[])
    for kind in sorted(flagging.counted()):
        one_of |= Q(secret_kinds__contains=f'"{kind}"')
    return one_of
