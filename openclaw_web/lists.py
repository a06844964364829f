"""What every list offers: filters and an order in its address, and itself as CSV, JSON or JSON lines."""

import csv
import io

import orjson
from django import forms
from django.http import QueryDict, StreamingHttpResponse
from django.utils.translation import gettext as _

from .errors import Refused
from .paging import every

PLACES = ("after", "before")
TYPES = {
    "csv": "text/csv; charset=utf-8",
    "json": "application/json",
    "jsonl": "application/x-ndjson; charset=utf-8",
}
# What a spreadsheet would take for a formula when a cell begins with it.
FORMULA = ("=", "+", "-", "@", "\t", "\r")


class ListFilters(forms.Form):
    """The filters of a list, from its address. A subclass adds fields, ORDERS and `narrow(rows)`.

    ORDERS names the orders that `sort` may ask for: the columns of each, whose combination is unique. A `-` before the
    name turns all of them round; the first is used when the address asks for none, as `DEFAULT` spells it.
    """

    ORDERS: dict[str, tuple[str, ...]] = {}
    DEFAULT = ""
    sort = forms.CharField(required=False, max_length=50)
    format = forms.ChoiceField(required=False, choices=[(name, name) for name in TYPES])

    def checked(self):
        """This form; raises Refused when the address asks for what cannot exist."""
        if not self.is_valid() or self.sorting.removeprefix("-") not in self.ORDERS:
            raise Refused(_("This address asks for what this list cannot show. Start again from the list."))
        return self

    @property
    def sorting(self):
        """The order in force, as the address spells it: `cost` or `-cost`."""
        return self.cleaned_data.get("sort") or self.DEFAULT

    @property
    def order(self):
        """The order in force as columns for `page_of`."""
        sign = "-" if self.sorting.startswith("-") else ""
        return tuple(f"{sign}{column}" for column in self.ORDERS[self.sorting.removeprefix("-")])

    @property
    def chosen(self):
        """`{name: value}` of every filter in force."""
        return {name: value for name, value in self.cleaned_data.items() if value and name not in ("sort", "format")}

    @property
    def query(self):
        """The filters and the order in force as the end of an address: `?channel=irc&sort=-cost`, or nothing."""
        return self.query_with()

    def query_with(self, **changes):
        """`query` with some of its fields set to other values; None takes one away."""
        kept = {name: self.data[name] for name in (*self.chosen, "sort") if self.data.get(name)}
        asked = QueryDict(mutable=True)
        asked.update({name: value for name, value in {**kept, **changes}.items() if value is not None})
        return f"?{asked.urlencode()}" if asked else ""

    def in_words(self, name, value):
        """How a chip names the value of a filter; subclasses say it better."""
        return _("yes") if value is True else str(value)

    def chips(self):
        """`(label, value in words, address without it)` of every filter in force."""
        return [
            (self.fields[name].label, self.in_words(name, value), self.query_with(**{name: None}) or "?")
            for name, value in self.chosen.items()
        ]


def download(rows, *, order, columns, shape, name, kind):
    """All rows of a queryset of `values` as a streamed file, fetched batch by batch.

    `shape(row)` makes a row's dictionary, whose keys are `columns`; `name` is the file's without its ending;
    `kind` is csv, json or jsonl. Texts in a CSV that a spreadsheet would run as formulas get a `'` before them.
    """
    shaped = ([shape(row) for row in batch] for batch in every(rows, order=order))
    parts = {"csv": lambda: _csv(shaped, columns), "json": lambda: _json(shaped), "jsonl": lambda: _jsonl(shaped)}
    response = StreamingHttpResponse(parts[kind](), content_type=TYPES[kind])
    response["Content-Disposition"] = f'attachment; filename="{name}.{kind}"'
    return response


def _csv(batches, columns):
    yield "\ufeff".encode()  # without it, spreadsheets take UTF-8 for something else
    yield _csv_lines([dict(zip(columns, columns, strict=True))], columns)
    for batch in batches:
        yield _csv_lines(batch, columns)


def _csv_lines(rows, columns):
    text = io.StringIO()
    writer = csv.DictWriter(text, columns, lineterminator="\r\n")
    writer.writerows({name: _cell(value) for name, value in row.items()} for row in rows)
    return text.getvalue().encode()


def _cell(value):
    if isinstance(value, str):
        return f"'{value}" if value.startswith(FORMULA) else value
    return orjson.dumps(value).decode() if isinstance(value, dict | list) else value


def _json(batches):
    yield b"["
    for number, batch in enumerate(batches):
        yield (b",\n" if number else b"\n") + b",\n".join(map(orjson.dumps, batch))
    yield b"\n]\n"


def _jsonl(batches):
    for batch in batches:
        yield b"".join(orjson.dumps(row) + b"\n" for row in batch)
