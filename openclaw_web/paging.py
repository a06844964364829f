"""Keyset paging: the next page starts after the last row seen, however deep it is."""

import base64
import binascii

import orjson
from django.db.models import Q

from .errors import Refused


class Page(list):
    """One page of rows plus `next`: the cursor of the page after it, or None at the end."""

    next: str | None = None


def page_of(rows, *, order, after=None, size=50):
    """One `Page` of at most `size` rows of the queryset `rows`.

    `order` is a tuple of column names, all ascending or all descending (`-name`), whose combination is unique;
    `after` is the `next` of the page before. Raises Refused for a cursor this list did not give out.
    """
    names = [name.lstrip("-") for name in order]
    rows = rows.order_by(*order)
    if after:
        rows = rows.filter(_beyond(names, read_cursor(after, len(names)), descending=order[0].startswith("-")))
    page = Page(rows[: size + 1])
    if len(page) > size:
        del page[size:]
        page.next = cursor([_value(page[-1], name) for name in names])
    return page


def cursor(values):
    """Column values as an opaque text that fits into a URL."""
    return base64.urlsafe_b64encode(orjson.dumps(values)).decode().rstrip("=")


def read_cursor(text, length):
    """The values of a cursor; raises Refused when it is not one of ours."""
    try:
        values = orjson.loads(base64.urlsafe_b64decode(text + "=" * (-len(text) % 4)))
    except (binascii.Error, ValueError) as exc:
        raise Refused("This page address is damaged. Start again from the first page.") from exc
    plain = isinstance(values, list) and all(isinstance(v, str | int | float) for v in values)
    if not plain or len(values) != length:
        raise Refused("This page address belongs to another list. Start again from the first page.")
    return values


def _beyond(names, values, *, descending):
    # (a, b) > (x, y) spelled as a >= x AND (a > x OR b > y): the first half lets SQLite seek in the index.
    op = "lt" if descending else "gt"
    condition = Q(**{f"{names[-1]}__{op}": values[-1]})
    for name, value in zip(reversed(names[:-1]), reversed(values[:-1]), strict=True):
        condition = Q(**{f"{name}__{op}e": value}) & (Q(**{f"{name}__{op}": value}) | condition)
    return condition


def _value(row, name):
    return row[name] if isinstance(row, dict) else getattr(row, name)
