"""Filters and order of a list from its address, and download of the list.

A list can be downloaded as CSV, JSON or JSON lines.

How to add a list: docs/lists.md.
"""

import re
from dataclasses import dataclass
from datetime import UTC, datetime
from itertools import islice
from typing import Any

import orjson
from django import forms
from django.http import QueryDict
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from .. import spreadsheets
from ..errors import Refused
from ..pages import formatting
from ..pages.downloads import StreamedDownload
from . import segments

TYPES = {
    "csv": "text/csv; charset=utf-8",
    "json": "application/json",
    "jsonl": "application/x-ndjson; charset=utf-8",
}
DAY_MS, MINUTE_MS = 86_400_000, 60_000
MINUTE = "%Y-%m-%dT%H:%M"
LINE = "filter"  # all filters in one line: `filter_line`
STRIP = "strip"  # only the bars above the rows: `strip`
BESIDE = {"after", "before", "sort", "format", LINE, STRIP}  # parameters of a list's address that are no filters
NAME = re.compile(r"[A-Za-z][A-Za-z0-9_.-]{0,39}", re.ASCII)
WRITTEN_AT_ONCE = 500  # rows of a file
BIGGEST = 2**53  # the largest number of tokens or records that an address may name


@dataclass(frozen=True, slots=True)
class Head:
    """The head of a column: its label, and the link that sorts by it."""

    label: str
    is_number: bool
    sorted: str  # ascending, descending, or ""
    href: str | None


@dataclass(frozen=True, slots=True)
class Control:
    """A field of the filter form.

    `kind` is hidden, select, or a type of <input>; `choices` are values and words.
    """

    name: str
    label: str
    kind: str
    value: str
    choices: list[tuple[str, str]]
    longest: int | None
    has_help: bool


class DayField(forms.DateField):
    """A UTC day of an address, written like 2026-02-21, or one of its minutes, 2026-02-21T05:00."""

    def __init__(self, label):
        formats = ["%Y-%m-%d", MINUTE]
        super().__init__(label=label, required=False, input_formats=formats, widget=forms.DateInput)
        self.error_messages["invalid"] = gettext_lazy("Write days like 2026-02-21.")

    def strptime(self, value, format):
        """Parse a day into a date, or a minute into a datetime."""
        moment = datetime.strptime(value, format).replace(tzinfo=UTC)
        return moment if format == MINUTE else moment.date()


# Fields as <input type=…>; all others are texts.
KINDS = {DayField: "date", forms.BooleanField: "checkbox", forms.FloatField: "number", forms.IntegerField: "number"}


class ListFilters(forms.Form):
    """The filters of a list, from its address. Subclasses add fields and ORDERS.

    ORDERS maps the values of `sort` to columns whose combination is unique. A `-` before the name reverses all of them.
    `DEFAULT` is the order in force without `sort`.
    """

    ORDERS: dict[str, tuple[str, ...]] = {}
    DEFAULT = ""
    HIDDEN: tuple[str, ...] = ()  # filters that only links set
    PLACE: tuple[str, ...] = ()  # fields that say which list it is: clearing the filters keeps them
    SEGMENTS: segments.Segments | None = None  # parts of the list; a page without filters shows the first
    FINDS_WORDS = False  # whether `q` is a query of the search, with “phrases”, -without and pre*
    DESCRIPTIONS: dict[str, str] = {}  # of fields, in the documentation of the API
    CHIPS: dict[str, Any] = {}  # names in chips for fields whose labels are no nouns, such as "Search titles"
    offered: dict[str, list[tuple[str, str]]] = {}  # values and words that a field of free text offers
    sort = forms.CharField(required=False, max_length=50)
    format = forms.ChoiceField(required=False, choices=[(name, name) for name in TYPES])

    def __init__(self, *args, **kwargs):
        super().__init__(*args, **kwargs)
        if self.SEGMENTS:
            named = forms.ChoiceField(
                label=self.SEGMENTS.label, required=False, choices=segments.choices(self.SEGMENTS)
            )
            self.fields[segments.NAME] = named

    @classmethod
    def sorts(cls):
        """Every order that an address may name."""
        return tuple(f"{sign}{name}" for name in cls.ORDERS for sign in ("", "-"))

    def validate(self):
        """Validate the filters and return this form.

        Raises Refused, which names the value, when an address has an invalid filter or order.
        """
        if not self.is_valid():
            raise Refused(self._describe_error())
        if self.sorting.removeprefix("-") not in self.ORDERS:
            raise Refused(_("This list cannot be sorted that way. Start again from the list."))
        return self

    def _describe_error(self):
        name, problems = next(iter(self.errors.items()))
        label = self.fields[name].label or name if name in self.fields else ""
        problem = f"{label}: {problems[0]}" if label else problems[0]
        return _("A filter in this address is not valid. %(what)s Start again from the list.") % {"what": problem}

    @property
    def ignored(self):
        """Names in the address that are no filters of this list, at most five.

        The page says that they are ignored. Only texts that look like a name are listed.
        """
        names = [name for name in self.data if name not in {*self.fields, *BESIDE}]
        return [name for name in names if NAME.fullmatch(name)][:5]

    @property
    def sorting(self):
        """The order in force, as the address spells it: `cost` or `-cost`."""
        return self.cleaned_data.get("sort") or self.DEFAULT

    @property
    def chosen(self):
        """`{name: value}` of every filter in force."""
        left_out = ("sort", "format", segments.NAME, *self.PLACE)
        return {name: value for name, value in self.cleaned_data.items() if value and name not in left_out}

    @property
    def segment(self):
        """The segment in force; empty for a list without segments.

        Only a page without filters shows the first segment by default.
        """
        return self.cleaned_data.get(segments.NAME) or self._choose_segment(self.chosen)

    def _choose_segment(self, chosen):
        if not self.SEGMENTS:
            return ""
        return segments.ALL if chosen or self.cleaned_data["format"] else self.SEGMENTS.first

    @property
    def criteria(self):
        """The filters in force as arguments of `List.fits`."""
        return self.chosen | ({segments.NAME: self.segment} if self.SEGMENTS else {})

    def offer(self, whose):
        """Fill in the values that fields offer. The base class has none.

        `whose` is the agent or the person whose list the page shows.
        """

    @property
    def home(self):
        """The query string of the whole list."""
        query = QueryDict(mutable=True)
        query.update({name: self.data[name] for name in self.PLACE if self.data.get(name)})
        return f"?{query.urlencode()}"

    @property
    def query(self):
        """The query string of the filters and the order: `?channel=irc&sort=-cost`, or ""."""
        return self.query_with()

    def query_with(self, **changes):
        """The query string with some fields set to other values; None removes a field."""
        values = {name: self.data[name] for name in (*self.PLACE, *self.chosen, "sort") if self.data.get(name)}
        segment = changes.pop(segments.NAME, self.segment)
        query = QueryDict(mutable=True)
        query.update({name: value for name, value in {**values, **changes}.items() if value is not None})
        if segment != self._choose_segment([name for name in query if name not in (*self.PLACE, "sort")]):
            query[segments.NAME] = segment
        return f"?{query.urlencode()}" if query else ""

    @property
    def cleared(self):
        """The query string of this page without filters and without an order."""
        return self.bare or self.home

    @property
    def bare(self):
        """The same query string, or ""."""
        return self.query_with(sort=None, **dict.fromkeys(self.chosen))

    def in_words(self, name, value):
        """The value of a filter in words, for its chip.

        That is the label of a choice; a checkbox has none.
        """
        if value is True:
            return ""
        if isinstance(value, datetime):
            return f"{value:%Y-%m-%d %H:%M}"
        known = dict(getattr(self.fields[name], "choices", ()))
        return formatting.number(value) if isinstance(value, int) else str(known.get(value, value))

    def heads(self, columns):
        """A `Head` for every column; `columns` are those of the declaration."""
        name, is_descending = self.sorting.removeprefix("-"), self.sorting.startswith("-")
        heads = []
        for column, label, is_number, *_card in columns:
            is_sorted = column == name
            href = self.query_with(sort=column if is_sorted and is_descending else f"-{column}")
            direction = "descending" if is_descending else "ascending"
            heads.append(
                Head(label, is_number, direction if is_sorted else "", href if column in self.ORDERS else None)
            )
        return heads

    def orders(self, columns):
        """`(value, words, whether it is in force)` of every order that a column offers.

        The value of the default order is empty.
        """
        words = {"-": _("%(column)s, descending"), "": _("%(column)s, ascending")}
        return [
            (
                "" if f"{sign}{name}" == self.DEFAULT else f"{sign}{name}",
                words[sign] % {"column": label},
                f"{sign}{name}" == self.sorting,
            )
            for name, label, *_rest in columns
            if name in self.ORDERS
            for sign in words
        ]

    def controls(self):
        """The fields of the filter form, as `Control`.

        Fields that only links set are left out while they are empty.
        """
        names = [name for name in self.fields if name not in ("sort", "format", segments.NAME)]
        controls = map(self._build_control, names)
        return [control for control in controls if control.kind != "hidden" or control.value]

    def helps(self):
        """`(id, sentence)` of every text field with a help text."""
        return [(f"id_{name}_help", field.help_text) for name, field in self.fields.items() if field.help_text]

    def _build_control(self, name):
        field, value = self.fields[name], self.data.get(name, "")
        choices = self.offered.get(name) or getattr(field, "choices", ())
        choices = [(str(known), word) for known, word in choices if known]
        if choices and value and value not in dict(choices):
            choices.append((value, value))
        kind = "select" if choices else KINDS.get(type(field), "search")
        kind = "datetime-local" if kind == "date" and "T" in value else kind
        return Control(
            name=name,
            label=field.label,
            kind="hidden" if name in (*self.HIDDEN, *self.PLACE) else kind,
            value=value,
            choices=choices,
            longest=getattr(field, "max_length", None),
            has_help=bool(field.help_text),
        )

    def chips(self):
        """`(label, value in words, address without it)` of every filter in force."""
        labels = {name: field.label for name, field in self.fields.items()} | self.CHIPS
        return [
            (labels[name], self.in_words(name, value), self.query_with(**{name: None}) or self.home)
            for name, value in self.chosen.items()
        ]


class DayFilters(ListFilters):
    """Filters of a list that can be narrowed to UTC days or minutes.

    The fields are `from` and `to`, the last day included.
    """

    def __init__(self, *args, **kwargs):
        super().__init__(*args, **kwargs)
        self.fields |= {"from": DayField(gettext_lazy("From day (UTC)")), "to": DayField(gettext_lazy("To day (UTC)"))}

    def clean(self):
        """Refuse a first day that is after the last day."""
        first, last = self.cleaned_data.get("from"), self.cleaned_data.get("to")
        if first and last and start_of(first) > start_of(last):
            self.add_error("from", _("The first day is after the last day."))

    @property
    def moments(self):
        """`since` and `until` in milliseconds, the second one excluded; None for an open end."""
        first, last = self.cleaned_data.get("from"), self.cleaned_data.get("to")
        length = MINUTE_MS if isinstance(last, datetime) else DAY_MS
        return {"since": first and start_of(first), "until": last and start_of(last) + length}

    @property
    def criteria(self):
        """The filters in force as arguments of `List.fits`, the days as milliseconds."""
        return {name: value for name, value in super().criteria.items() if name not in ("from", "to")} | self.moments


def start_of(day):
    """The first millisecond (epoch) of a UTC day, or of a minute."""
    moment = day if isinstance(day, datetime) else datetime(day.year, day.month, day.day, tzinfo=UTC)
    return round(moment.timestamp()) * 1000


def cell_labels(columns):
    """The labels of all columns but the first, whose cell needs none.

    `columns` are those of `ListFilters.heads`. The labels are translated once, because every row repeats them.
    """
    return [str(label) for _name, label, *_rest in columns[1:]]


def file_name(*parts):
    """A name for a download without its ending: `sessions-ada-2026-11-21`."""
    today = datetime.now(UTC).date().isoformat()
    return "-".join(re.sub(r"[^A-Za-z0-9_.-]+", "_", part) for part in (*parts, today) if part)


def download_rows(rows, *, columns, name, kind):
    """Stream rows as a file.

    `rows` yields dictionaries with `columns`; `name` is the file's without its ending; `kind` is csv, json or jsonl.
    Texts in a CSV that a spreadsheet would run as formulas get a `'` before them, and its last column names the cells
    of a row that are too long for Excel.
    """
    batches = iter(lambda: list(islice(rows, WRITTEN_AT_ONCE)), [])
    parts = {"csv": lambda: _csv(batches, columns), "json": lambda: _json(batches), "jsonl": lambda: _jsonl(batches)}
    response = StreamedDownload(parts[kind](), content_type=TYPES[kind])
    response["Content-Disposition"] = f'attachment; filename="{name}.{kind}"'
    return response


def _csv(batches, columns):
    yield spreadsheets.MARK + spreadsheets.format_lines([[*columns, spreadsheets.LONG]])
    for batch in batches:
        yield spreadsheets.format_lines(
            spreadsheets.with_long_cells(columns, ([row[name] for name in columns] for row in batch))
        )


def _json(batches):
    yield b"["
    for number, batch in enumerate(batches):
        yield (b",\n" if number else b"\n") + b",\n".join(map(orjson.dumps, batch))
    yield b"\n]\n"


def _jsonl(batches):
    for batch in batches:
        yield b"".join(orjson.dumps(row) + b"\n" for row in batch)
