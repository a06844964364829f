"""Keyset paging: a page starts after, or ends before, a given row, at any depth."""

import base64
import binascii
import time
from dataclasses import dataclass, replace
from typing import Any

import orjson
from django.db.models import BigIntegerField, F, Field, FloatField, OrderBy, Q, QuerySet, TextField, Value
from django.db.models.functions import Coalesce
from django.db.models.lookups import Exact, GreaterThan, GreaterThanOrEqual, IContains, In, IsNull, LessThan
from django.utils.translation import gettext as _

from ..errors import Refused
from ..sqlite.fields import Constant

HEAVY_BATCH = 20  # rows fetched at a time when a page may end early because its rows are big
WINDOW = 5_000  # rows that one search looks through: a search never walks through a whole big table
MOST_IN_WINDOW = 10_000  # rows between two looks at the clock, when the windows before had few that match
MOST_AT_ONCE = 200  # rows that are read together for a request of many
AT = "~"  # prefix of a cursor: includes the row itself
LOOKUPS = {"exact": Exact, "gt": GreaterThan, "gte": GreaterThanOrEqual, "lt": LessThan, "icontains": IContains}
SOUGHT = ("exact", "gt", "gte", "isnull")  # lookups that an index can serve in the order of a list


class Page(list):
    """A page of rows, with the cursors of the neighbouring pages.

    `next` and `previous` are None where there is no page. `is_partial`: a search ended early. When it ended because its
    time was up, `reached` is the value of the first order column in the last row that was read.
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
    """Rows in an order: `rows` are narrowed by an index, `condition` by a search.

    `condition` is None when the index serves all filters.

    A page reads `window` rows at most; with `time_ms` as many as it can read in that many milliseconds, and one window
    at least.
    """

    rows: QuerySet
    order: tuple[str, ...]
    condition: Q | None = None
    window: int = WINDOW
    time_ms: int = 0

    def page(self, **place):
        """One `Page`; `place` are arguments of `page_of`. With a condition it is a search."""
        if self.condition is None:
            return page_of(self.rows, order=self.order, **place)
        limits = {"window": self.window, "time_ms": self.time_ms}
        return search(self.rows, self.condition, order=self.order, **limits, **place)

    def first(self, limit: int, **limits: Any) -> list[Any]:
        """The first `limit` rows, from as many pages as a search needs.

        `limits` are further arguments of each page.
        """
        rows: list[Any] = []
        after = None
        while len(rows) < limit:
            page = self.page(after=after, size=min(MOST_AT_ONCE, limit - len(rows)), **limits)
            rows += page
            after = page.next
            if after is None:
                break
        return rows

    def narrow(self, condition: Q) -> "Listing":
        """The rows that match one more condition."""
        return replace(self, condition=condition if self.condition is None else self.condition & condition)

    @property
    def all(self):
        """Every matching row, as an unordered queryset to count or to write into a file."""
        return self.rows if self.condition is None else self.rows.filter(self.condition)


def build_terms(criteria: dict[str, Any], columns: dict[str, str | Term], *, moment: str = "") -> list[Term]:
    """Build the conditions of a list from its criteria; empty values add none.

    `columns` is `{filter: column}`: a column, with a lookup unless that is `exact` (`title__icontains`), or the Term
    that a switch stands for. `moment` is the column that `since` and `until` (milliseconds, the second one excluded)
    apply to.
    """
    ends = {"gte": criteria.get("since"), "lt": criteria.get("until")} if moment else {}
    conditions = [Term(moment, lookup, value) for lookup, value in ends.items() if value is not None]
    for name, column in columns.items():
        if isinstance(column, Term):
            conditions += [column] if criteria.get(name) else []
        elif value := criteria.get(name):
            column, _sign, lookup = column.partition("__")
            conditions.append(Term(column, lookup or "exact", value))
    return conditions


def build_listing(rows, terms, *, order, seeks=(), window=WINDOW, time_ms=0):
    """Build a `Listing` of those of `rows` that match every one of `terms`.

    `seeks` are the columns with an index in which `order` follows them, partial indexes included. Conditions that no
    index serves are hidden from SQLite behind an expression: otherwise SQLite may choose the index of a filter and sort
    all matches.
    """
    first = order[0].lstrip("-")
    seek = next((term for term in terms if term.lookup in SOUGHT and term.column in seeks), None)
    searched = []
    for term in terms:
        is_sought = term is seek
        if is_sought and term.lookup in ("gt", "gte"):  # the condition of a partial index
            rows = rows.filter(**{f"{term.column}__{term.lookup}": Constant(term.value)})
        elif is_sought or (term.column == first and term.lookup in ("gte", "lt", "gt")):
            rows = rows.filter(**{f"{term.column}__{term.lookup}": term.value})
        else:
            searched.append(_hide_from_index(term))
    return Listing(rows, tuple(order), Q(*searched) if searched else None, window, time_ms)


def get_order_columns(orders: dict[str, tuple[str, ...]], sort: str) -> tuple[str, ...]:
    """The columns of the order `cost` or `-cost`."""
    sign = "-" if sort.startswith("-") else ""
    return tuple(f"{sign}{column}" for column in orders[sort.removeprefix("-")])


def read_cursors(request):
    """Read the cursors of an address, as the arguments `after` and `before` of `page_of`."""
    return {"after": request.GET.get("after"), "before": request.GET.get("before")}


def page_of(rows, *, order, after=None, before=None, size=50, budget=None, weigh=None):
    """One `Page` of at most `size` rows of the queryset `rows`.

    `order` is a tuple of column names, all ascending or all descending (`-name`), whose combination is unique;
    `after` is the `next` of the page before, `before` the `previous` of the page after. With `budget`, the page also
    ends before its rows together come to more than that by `weigh(row)`; it holds one row at least. Raises Refused
    for a cursor this list did not give out. `rows` may be several querysets whose rows belong into one list.
    """
    if before and not after:
        page, more = _read_page(rows, reverse_order(order), before, size, budget, weigh)
        if not more:  # the beginning of the list: shown as the full first page
            return page_of(rows, order=order, size=size, budget=budget, weigh=weigh)
        page.reverse()
        page.previous, page.next = _encode_row(page[0], order), _encode_row(page[-1], order)
        return page
    page, more = _read_page(rows, order, after, size, budget, weigh)
    page.next = _encode_row(page[-1], order) if more else None
    page.previous = _encode_row(page[0], order) if after and page else None
    return page


def search(rows, condition, *, order, after=None, before=None, size=50, window=WINDOW, time_ms=0, **limits):
    """Search for a page of rows that match a condition (Q) which no index serves.

    The arguments are those of `page_of`. It reads `window` rows at most.

    With `time_ms` (milliseconds) it reads one window after another until that time is up. A page that ended because of
    these limits has `is_partial` set, and a cursor that continues the search.
    """
    backwards = bool(before and not after)
    start, direction = (before, reverse_order(order)) if backwards else (after, order)
    until = time.monotonic() + time_ms / 1000
    page, more, end = _search_windows(
        rows, condition, direction, start, size, window, until if time_ms else 0, **limits
    )
    page.is_partial = bool(end and not more)
    page.reached = end[0] if page.is_partial and time_ms else None
    if backwards and not more and not end:
        limits |= {"window": window, "time_ms": time_ms}
        return search(rows, condition, order=order, size=size, **limits)
    onwards = _encode_row(page[-1], order) if more else encode_cursor(end) if end else None
    # Next to a page without rows begins the window that ended with the cursor's row, which is part of that window.
    back = _encode_row(page[0], order) if page and start else start and AT + start.removeprefix(AT)
    if backwards:
        page.reverse()
    page.previous, page.next = (onwards, back) if backwards else (back, onwards)
    return page


def _search_windows(rows, condition, order, start, size, window, until, **limits):
    """A page of matches, whether there are more, and the values of the last row read.

    The values are None when the last row of the list was read.
    """
    page, is_rare = Page(), False
    while True:
        ahead = filter_after(rows.order_by(*order), order=order, after=start)
        end = ahead.values_list(*list_names(order))[window - 1 : window].first()
        # Not `exclude`: without a bound to seek to, SQLite would read on when no row fits.
        back_to_end = end and _build_bound(list_names(order), end, descending=not _is_descending(order), or_at=True)
        inside = _add_bound(rows, back_to_end) if end else rows
        page, more = _read_page(inside.filter(condition), order, start, size, page=page, is_rare=is_rare, **limits)
        if more or not end or time.monotonic() >= until:
            return page, more, end
        start, window, is_rare = encode_cursor(end), min(window * 4, MOST_IN_WINDOW), True


def read_batches(rows, *, order, size=500):
    """Yield every row of a queryset of `values`, in batches (lists) of `size`.

    No database cursor stays open between batches.
    """
    names = list_names(order)
    rows = rows.order_by(*order)
    batch = list(rows[:size])
    while batch:
        yield batch
        if len(batch) < size:
            return
        last = [get_value(batch[-1], name) for name in names]
        batch = list(_add_bound(rows, _build_bound(names, last, descending=_is_descending(order)))[:size])


def filter_after(rows, *, order, after):
    """Those of `rows` that come after a cursor; all of them without one.

    Raises Refused for a cursor of another list.
    """
    if not after:
        return rows
    values = decode_cursor(after.removeprefix(AT), len(order))
    return filter_beyond(rows, order=order, values=values, or_at=after.startswith(AT))


def filter_beyond(rows, *, order, values, or_at=False):
    """Those of `rows` whose first columns of the order come after `values`, with `or_at` also those that are equal.

    Raises Refused for values of another list.
    """
    names = list_names(order)[: len(values)]
    try:
        return _add_bound(rows, _build_bound(names, values, descending=_is_descending(order), or_at=or_at))
    except (ValueError, TypeError, OverflowError) as exc:  # a text where the column holds numbers
        raise build_cursor_refusal() from exc


def reverse_order(order):
    """The same order in the opposite direction."""
    return tuple(name[1:] if name.startswith("-") else f"-{name}" for name in order)


def encode_cursor(values):
    """Encode column values as an opaque text for URLs."""
    return base64.urlsafe_b64encode(orjson.dumps(values)).decode().rstrip("=")


def decode_cursor(text, length=None):
    """Decode a cursor into `length` values, or however many it has; raises Refused when it is damaged."""
    try:
        values = orjson.loads(base64.urlsafe_b64decode(text + "=" * (-len(text) % 4)))
    except (binascii.Error, ValueError) as exc:
        raise Refused(_("This page address is damaged. Start again from the first page.")) from exc
    are_plain = isinstance(values, list) and all(isinstance(v, str | int | float) for v in values)
    if not are_plain or not values or (length is not None and len(values) != length):
        raise build_cursor_refusal()
    return values


def _hide_from_index(term):
    if term.lookup == "isnull":
        return IsNull(Coalesce(F(term.column), None, output_field=TextField()), term.value)
    if term.lookup in ("in", "without"):  # texts
        among = Q(In(Coalesce(F(term.column), Value(""), output_field=TextField()), term.value))
        return ~among if term.lookup == "without" else among
    no_text = "-" if (term.lookup, term.value) == ("exact", "") else ""  # an empty text is a value, too
    kinds: dict[type, tuple[Any, Field]] = {str: (no_text, TextField()), float: (0.0, FloatField())}
    matching = (
        kinds[kind] for kind in kinds if isinstance(term.value, kind)
    )  # a member of an enumeration is a text too
    default, field = next(matching, (int(term.value is False), BigIntegerField()))  # an unknown value is not false
    return LOOKUPS[term.lookup](Coalesce(F(term.column), Value(default), output_field=field), term.value)


def _read_page(rows, order, after, size, budget=None, weigh=None, page=None, is_rare=False):
    """Read at most `size` rows after a cursor; return them and whether there are more.

    `page` may hold rows already, which count. `is_rare`: see `_read_ahead`.
    """
    page = Page() if page is None else page
    weight = sum(map(weigh, page)) if budget else 0
    for row in _read_ahead(rows, order, after, size - len(page) + 1, is_heavy=bool(budget), is_rare=is_rare):
        weight += weigh(row) if budget else 0
        if len(page) == size or (page and budget and weight > budget):
            return page, True
        page.append(row)
    return page, False


def _read_ahead(rows, order, after, count, *, is_heavy, is_rare=False):
    """Read at most `count` rows after a cursor, of each queryset when there are several.

    Few of the rows of a window match when `is_rare`: SQLite then reads it from its oldest row, and sorts the keys of
    what matches. In the order of the table it steps from row to row; against it, it looks for each one.
    """
    if isinstance(rows, tuple):
        merged = [row for queryset in rows for row in _read_ahead(queryset, order, after, count, is_heavy=False)]
        merged.sort(key=lambda row: [get_value(row, name) for name in list_names(order)], reverse=_is_descending(order))
        return merged[:count]
    ahead = filter_after(rows.order_by(*order), order=order, after=after)
    if is_rare and _is_descending(order):
        first = Coalesce(F(order[0].removeprefix("-")), None, output_field=TextField())
        keys = ahead.order_by(OrderBy(first, descending=True), *order[1:]).values_list("pk", flat=True)
        ahead = rows.filter(pk__in=list(keys[:count])).order_by(*order)
    return ahead[:count].iterator(chunk_size=HEAVY_BATCH) if is_heavy else ahead[:count]


def _add_bound(rows, bound):
    """Narrow `rows` to a bound of their order.

    The bound comes first, because of two bounds of a column SQLite seeks to the first.
    """
    bounded = rows.filter(bound)
    conditions, before = bounded.query.where.children, len(rows.query.where.children)
    conditions[:] = conditions[before:] + conditions[:before]
    return bounded


def _encode_row(row, order):
    return encode_cursor([get_value(row, name) for name in list_names(order)])


def build_cursor_refusal():
    """The refusal of a cursor of another list."""
    return Refused(_("This page address belongs to another list. Start again from the first page."))


def list_names(order):
    """The columns of an order, without its direction."""
    return [name.lstrip("-") for name in order]


def _is_descending(order):
    return order[0].startswith("-")


def _build_bound(names, values, *, descending, or_at=False):
    # (a, b) > (x, y) spelled as a >= x AND (a > x OR b > y): the first half lets SQLite seek in the index.
    op = "lt" if descending else "gt"
    condition = Q(**{f"{names[-1]}__{op}{'e' if or_at else ''}": values[-1]})
    for name, value in zip(reversed(names[:-1]), reversed(values[:-1]), strict=True):
        condition = Q(**{f"{name}__{op}e": value}) & (Q(**{f"{name}__{op}": value}) | condition)
    return condition


def get_value(row, name):
    """A column of a row, which is a dictionary or an object."""
    return row[name] if isinstance(row, dict) else getattr(row, name)
