"""Keyset paging: a page starts after, or ends before, a row that was seen, however deep in the list it is."""

import base64
import binascii
import time
from dataclasses import dataclass
from typing import Any

import orjson
from django.db.models import BigIntegerField, F, Field, FloatField, Q, QuerySet, TextField, Value
from django.db.models.functions import Coalesce
from django.db.models.lookups import Exact, GreaterThan, GreaterThanOrEqual, IContains, In, IsNull, LessThan
from django.utils.translation import gettext as _

from ..errors import Refused
from ..sqlite.fields import Constant

HEAVY_BATCH = 20  # rows fetched at a time when a page may end early because they are big
WINDOW = 5_000  # rows that one search looks through: a search never walks through a whole big table
MOST_AT_ONCE = 200  # rows that are read together where many are asked for
AT = "~"  # before a cursor: the row itself is meant as well
LOOKUPS = {"exact": Exact, "gt": GreaterThan, "gte": GreaterThanOrEqual, "lt": LessThan, "icontains": IContains}
SOUGHT = ("exact", "gt", "gte", "isnull")  # lookups of what an index may hold side by side in the order of a list


class Page(list):
    """One page of rows, the cursors of the pages beside it (None: there is none), and whether a search ended early.

    Of a search that ended when its time was up, `reached` is what the order is about in the last row it looked at.
    """

    next: str | None = None
    previous: str | None = None
    is_partial: bool = False
    reached: Any = None


@dataclass(frozen=True, slots=True)
class Term:
    """One condition of a list: a column, a lookup and a value.

    The lookup is one of LOOKUPS, "in" or "without" (none) of several values, or "isnull" with True or False.
    """

    column: str
    lookup: str
    value: Any


@dataclass(frozen=True, slots=True)
class Listing:
    """Rows in an order: `rows` are narrowed as far as an index goes, `condition` (None: nothing) is left to search.

    A page looks through `window` rows; with `time_ms` through as many as it can in that many milliseconds, and through
    one window at least.
    """

    rows: QuerySet
    order: tuple[str, ...]
    condition: Q | None = None
    window: int = WINDOW
    time_ms: int = 0

    def page(self, **place):
        """One `Page`; `place` is as `page_of` takes it. With a condition it is searched for."""
        if self.condition is None:
            return page_of(self.rows, order=self.order, **place)
        limits = {"window": self.window, "time_ms": self.time_ms}
        return search(self.rows, self.condition, order=self.order, **limits, **place)

    def first(self, limit: int, **limits: Any) -> list[Any]:
        """The first `limit` rows, however often a search has to go on for them; `limits` are those of a page."""
        rows: list[Any] = []
        after = None
        while len(rows) < limit:
            page = self.page(after=after, size=min(MOST_AT_ONCE, limit - len(rows)), **limits)
            rows += page
            after = page.next
            if after is None:
                break
        return rows

    @property
    def all(self):
        """Every row that fits, as a queryset in no particular order: to count, or to write into a file."""
        return self.rows if self.condition is None else self.rows.filter(self.condition)


def build_terms(asked: dict[str, Any], columns: dict[str, str | Term], *, moment: str = "") -> list[Term]:
    """The conditions that filters make: `asked` are their values, of which empty ones ask for nothing.

    `columns` is `{filter: column}`, a column with its lookup unless that is `exact` (`title__icontains`), or the Term
    that a switch stands for. `moment` is the column that `since` and `until` (milliseconds, the second one excluded)
    are about.
    """
    ends = {"gte": asked.get("since"), "lt": asked.get("until")} if moment else {}
    found = [Term(moment, lookup, value) for lookup, value in ends.items() if value is not None]
    for name, column in columns.items():
        if isinstance(column, Term):
            found += [column] if asked.get(name) else []
        elif value := asked.get(name):
            column, _sign, lookup = column.partition("__")
            found.append(Term(column, lookup or "exact", value))
    return found


def build_listing(rows, terms, *, order, seeks=(), window=WINDOW, time_ms=0):
    """A `Listing` of those of `rows` that fit every one of `terms`.

    `seeks` are the columns that have an index in which `order` follows them, an index of only the rows that a term asks
    for included. What no index serves is hidden from SQLite behind an expression: else it may choose the index of a
    filter and sort all that fits.
    """
    first = order[0].lstrip("-")
    seek = next((term for term in terms if term.lookup in SOUGHT and term.column in seeks), None)
    left = []
    for term in terms:
        is_sought = term is seek
        if is_sought and term.lookup in ("gt", "gte"):  # what an index of some rows may hold
            rows = rows.filter(**{f"{term.column}__{term.lookup}": Constant(term.value)})
        elif is_sought or (term.column == first and term.lookup in ("gte", "lt", "gt")):
            rows = rows.filter(**{f"{term.column}__{term.lookup}": term.value})
        else:
            left.append(_hidden(term))
    return Listing(rows, tuple(order), Q(*left) if left else None, window, time_ms)


def get_order_columns(orders: dict[str, tuple[str, ...]], sort: str) -> tuple[str, ...]:
    """The columns of `cost` or `-cost`."""
    sign = "-" if sort.startswith("-") else ""
    return tuple(f"{sign}{column}" for column in orders[sort.removeprefix("-")])


def read_cursors(request):
    """Where in a list an address is: the arguments `after` and `before` of `page_of`."""
    return {"after": request.GET.get("after"), "before": request.GET.get("before")}


def page_of(rows, *, order, after=None, before=None, size=50, budget=None, weigh=None):
    """One `Page` of at most `size` rows of the queryset `rows`.

    `order` is a tuple of column names, all ascending or all descending (`-name`), whose combination is unique;
    `after` is the `next` of the page before, `before` the `previous` of the page after. With `budget`, the page also
    ends before its rows together come to more than that by `weigh(row)`; it holds one row at least. Raises Refused
    for a cursor this list did not give out. `rows` may be several querysets whose rows belong into one list.
    """
    if before and not after:
        page, more = _walk(rows, reverse_order(order), before, size, budget, weigh)
        if not more:  # the beginning: shown as the full first page
            return page_of(rows, order=order, size=size, budget=budget, weigh=weigh)
        page.reverse()
        page.previous, page.next = _cursor_of(page[0], order), _cursor_of(page[-1], order)
        return page
    page, more = _walk(rows, order, after, size, budget, weigh)
    page.next = _cursor_of(page[-1], order) if more else None
    page.previous = _cursor_of(page[0], order) if after and page else None
    return page


def search(rows, condition, *, order, after=None, before=None, size=50, window=WINDOW, time_ms=0, **limits):
    """Like `page_of`, of those rows that fit a condition (Q) no index helps with, looking through `window` rows.

    With `time_ms` it looks through one window after another until that time is up. A page that ended because the
    windows did has `is_partial` set, and a cursor that goes on searching from there.
    """
    backwards = bool(before and not after)
    start, direction = (before, reverse_order(order)) if backwards else (after, order)
    until = time.monotonic() + time_ms / 1000
    page, more, end = _look_through(rows, condition, direction, start, size, window, until if time_ms else 0, **limits)
    page.is_partial = bool(end and not more)
    page.reached = end[0] if page.is_partial and time_ms else None
    if backwards and not more and not end:
        limits |= {"window": window, "time_ms": time_ms}
        return search(rows, condition, order=order, size=size, **limits)
    onwards = _cursor_of(page[-1], order) if more else encode_cursor(end) if end else None
    # Beside a page without a row begins the window that ended with the row of the cursor: that row is in it.
    back = _cursor_of(page[0], order) if page and start else start and AT + start.removeprefix(AT)
    if backwards:
        page.reverse()
    page.previous, page.next = (onwards, back) if backwards else (back, onwards)
    return page


def _look_through(rows, condition, order, start, size, window, until, **limits):
    """A page of what fits, whether more was found, and the values of the last row looked at (None: the very last)."""
    page = Page()
    while True:
        ahead = filter_after(rows.order_by(*order), order=order, after=start)
        end = ahead.values_list(*_names(order))[window - 1 : window].first()
        # Not `exclude`: only a bound that SQLite can seek to keeps it from reading on when nothing fits.
        back_to_end = end and _beyond(_names(order), end, descending=not _descends(order), or_at=True)
        inside = _sought(rows, back_to_end) if end else rows
        page, more = _walk(inside.filter(condition), order, start, size, page=page, **limits)
        if more or not end or time.monotonic() >= until:
            return page, more, end
        start = encode_cursor(end)


def read_batches(rows, *, order, size=500):
    """Every row of a queryset of `values`, in batches (lists) of `size`: no cursor stays open while somebody reads."""
    names = _names(order)
    rows = rows.order_by(*order)
    batch = list(rows[:size])
    while batch:
        yield batch
        if len(batch) < size:
            return
        last = [_value(batch[-1], name) for name in names]
        batch = list(_sought(rows, _beyond(names, last, descending=_descends(order)))[:size])


def filter_after(rows, *, order, after):
    """Those of `rows` that come after a cursor; all of them without one. Raises Refused for another list's cursor."""
    if not after:
        return rows
    names = _names(order)
    values = decode_cursor(after.removeprefix(AT), len(names))
    try:
        return _sought(rows, _beyond(names, values, descending=_descends(order), or_at=after.startswith(AT)))
    except (ValueError, TypeError, OverflowError) as exc:  # a text where the column holds numbers
        raise _foreign() from exc


def reverse_order(order):
    """The same order the other way round."""
    return tuple(name[1:] if name.startswith("-") else f"-{name}" for name in order)


def encode_cursor(values):
    """Column values as an opaque text that fits into a URL."""
    return base64.urlsafe_b64encode(orjson.dumps(values)).decode().rstrip("=")


def decode_cursor(text, length):
    """The values of a cursor; raises Refused when it is not one of ours."""
    try:
        values = orjson.loads(base64.urlsafe_b64decode(text + "=" * (-len(text) % 4)))
    except (binascii.Error, ValueError) as exc:
        raise Refused(_("This page address is damaged. Start again from the first page.")) from exc
    plain = isinstance(values, list) and all(isinstance(v, str | int | float) for v in values)
    if not plain or len(values) != length:
        raise _foreign()
    return values


def _hidden(term):
    if term.lookup == "isnull":
        return IsNull(Coalesce(F(term.column), None, output_field=TextField()), term.value)
    if term.lookup in ("in", "without"):  # texts
        among = Q(In(Coalesce(F(term.column), Value(""), output_field=TextField()), term.value))
        return ~among if term.lookup == "without" else among
    no_text = "-" if (term.lookup, term.value) == ("exact", "") else ""  # an empty text is a value, too
    kinds: dict[type, tuple[Any, Field]] = {str: (no_text, TextField()), float: (0.0, FloatField())}
    found = (kinds[kind] for kind in kinds if isinstance(term.value, kind))  # a member of an enumeration is a text too
    nothing, field = next(found, (int(term.value is False), BigIntegerField()))  # what is not known is not false
    return LOOKUPS[term.lookup](Coalesce(F(term.column), Value(nothing), output_field=field), term.value)


def _walk(rows, order, after, size, budget=None, weigh=None, page=None):
    """At most `size` rows, those that `page` holds already and others after a cursor, and whether there are more."""
    page = Page() if page is None else page
    weight = sum(map(weigh, page)) if budget else 0
    for row in _ahead(rows, order, after, size - len(page) + 1, is_heavy=bool(budget)):
        weight += weigh(row) if budget else 0
        if len(page) == size or (page and budget and weight > budget):
            return page, True
        page.append(row)
    return page, False


def _ahead(rows, order, after, count, *, is_heavy):
    """At most `count` rows after a cursor; of several querysets each gives its own first ones."""
    if isinstance(rows, tuple):
        found = [row for some in rows for row in _ahead(some, order, after, count, is_heavy=False)]
        found.sort(key=lambda row: [_value(row, name) for name in _names(order)], reverse=_descends(order))
        return found[:count]
    rows = filter_after(rows.order_by(*order), order=order, after=after)[:count]
    return rows.iterator(chunk_size=HEAVY_BATCH) if is_heavy else rows


def _sought(rows, bound):
    """`rows` within a bound of their order. It comes first: of two bounds of a column SQLite seeks to the first."""
    found = rows.filter(bound)
    conditions, before = found.query.where.children, len(rows.query.where.children)
    conditions[:] = conditions[before:] + conditions[:before]
    return found


def _cursor_of(row, order):
    return encode_cursor([_value(row, name) for name in _names(order)])


def _foreign():
    return Refused(_("This page address belongs to another list. Start again from the first page."))


def _names(order):
    return [name.lstrip("-") for name in order]


def _descends(order):
    return order[0].startswith("-")


def _beyond(names, values, *, descending, or_at=False):
    # (a, b) > (x, y) spelled as a >= x AND (a > x OR b > y): the first half lets SQLite seek in the index.
    op = "lt" if descending else "gt"
    condition = Q(**{f"{names[-1]}__{op}{'e' if or_at else ''}": values[-1]})
    for name, value in zip(reversed(names[:-1]), reversed(values[:-1]), strict=True):
        condition = Q(**{f"{name}__{op}e": value}) & (Q(**{f"{name}__{op}": value}) | condition)
    return condition


def _value(row, name):
    return row[name] if isinstance(row, dict) else getattr(row, name)
