"""Keyset paging: the next page starts after the last row seen, however deep it is."""

import base64
import binascii

import orjson
from django.db.models import Q
from django.utils.translation import gettext as _

from .errors import Refused

HEAVY_BATCH = 20  # rows fetched at a time when a page may end early because they are big


class Page(list):
    """One page of rows plus `next`: the cursor of the page after it, or None at the end."""

    next: str | None = None


def page_of(rows, *, order, after=None, size=50, budget=None, weigh=None):
    """One `Page` of at most `size` rows of the queryset `rows`.

    `order` is a tuple of column names, all ascending or all descending (`-name`), whose combination is unique;
    `after` is the `next` of the page before. With `budget`, the page also ends before its rows together come to
    more than that by `weigh(row)`; it holds one row at least. Raises Refused for a cursor this list did not give out.
    """
    names = _names(order)
    rows = rows_after(rows.order_by(*order), order=order, after=after)[: size + 1]
    page, weight = Page(), 0
    for row in rows.iterator(chunk_size=HEAVY_BATCH) if budget else rows:
        weight += weigh(row) if budget else 0
        if len(page) == size or (page and budget and weight > budget):
            page.next = cursor([_value(page[-1], name) for name in names])
            break
        page.append(row)
    return page


def rows_after(rows, *, order, after):
    """Those of `rows` that come after a cursor; all of them without one. Raises Refused for another list's cursor."""
    if not after:
        return rows
    names = _names(order)
    values = read_cursor(after, len(names))
    try:
        return rows.filter(_beyond(names, values, descending=order[0].startswith("-")))
    except (ValueError, TypeError, OverflowError) as exc:  # a text where the column holds numbers
        raise _foreign() from exc


def cursor(values):
    """Column values as an opaque text that fits into a URL."""
    return base64.urlsafe_b64encode(orjson.dumps(values)).decode().rstrip("=")


def read_cursor(text, length):
    """The values of a cursor; raises Refused when it is not one of ours."""
    try:
        values = orjson.loads(base64.urlsafe_b64decode(text + "=" * (-len(text) % 4)))
    except (binascii.Error, ValueError) as exc:
        raise Refused(_("This page address is damaged. Start again from the first page.")) from exc
    plain = isinstance(values, list) and all(isinstance(v, str | int | float) for v in values)
    if not plain or len(values) != length:
        raise _foreign()
    return values


def _foreign():
    return Refused(_("This page address belongs to another list. Start again from the first page."))


def _names(order):
    return [name.lstrip("-") for name in order]


def _beyond(names, values, *, descending):
    # (a, b) > (x, y) spelled as a >= x AND (a > x OR b > y): the first half lets SQLite seek in the index.
    op = "lt" if descending else "gt"
    condition = Q(**{f"{names[-1]}__{op}": values[-1]})
    for name, value in zip(reversed(names[:-1]), reversed(values[:-1]), strict=True):
        condition = Q(**{f"{name}__{op}e": value}) & (Q(**{f"{name}__{op}": value}) | condition)
    return condition


def _value(row, name):
    return row[name] if isinstance(row, dict) else getattr(row, name)
