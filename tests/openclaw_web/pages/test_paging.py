"""Lists in both directions: pages, searches, counts, files."""

import csv
import io
import json

import pytest
from django import forms
from django.db.models import Q
from django.http import QueryDict
from django.template import engines
from hypothesis import given
from hypothesis import strategies as st

from openclaw_web import spreadsheets
from openclaw_web.errors import Refused
from openclaw_web.lists import paging
from openclaw_web.lists.filters import ListFilters, download_rows
from openclaw_web.lists.list_counts import RowCount, count_rows
from people.models.bookkeeping import AuditEntry

pytestmark = pytest.mark.django_db
ORDER = ("-at", "-id")


@pytest.fixture
def entries():
    """23 rows, several with the same time; every fifth is ada's."""
    AuditEntry.objects.bulk_create(
        AuditEntry(at=1000 + number // 3, actor="ada" if number % 5 == 0 else "bob", via="page", action="read")
        for number in range(23)
    )
    return AuditEntry.objects.all()


def ids(rows):
    return [row.id for row in rows]


def read_forwards(page_at):
    """Returns every page from the first one on."""
    pages = [page_at()]
    while pages[-1].next:
        pages.append(page_at(after=pages[-1].next))
    return pages


def read_backwards(page_at, page):
    """Returns every page before one, nearest first."""
    pages = []
    while page.previous:
        page = page_at(before=page.previous)
        pages.append(page)
    return pages


@pytest.mark.parametrize("order", [ORDER, ("at", "id"), ("-id",)])
@pytest.mark.parametrize("size", [1, 4, 22, 23, 50])
def test_the_way_back_shows_the_pages_of_the_way_there(entries, order, size):
    def page_at(**place):
        return paging.page_of(entries, order=order, size=size, **place)

    there = read_forwards(page_at)
    assert [row for page in there for row in ids(page)] == ids(entries.order_by(*order))
    assert there[0].previous is None
    back = read_backwards(page_at, there[-1])
    assert [ids(page) for page in back] == [ids(page) for page in there[-2::-1]]


def test_going_back_beyond_the_beginning_shows_the_first_page(entries):
    second = paging.page_of(entries, order=ORDER, size=4, after=paging.page_of(entries, order=ORDER, size=2).next)
    back = paging.page_of(entries, order=ORDER, size=4, before=second.previous)
    assert ids(back) == ids(paging.page_of(entries, order=ORDER, size=4))
    assert back.previous is None


@pytest.mark.parametrize("place", ["after", "before"])
@pytest.mark.parametrize(
    "text",
    [
        "x",
        "W10",
        "WyJhIiwiYiJd",
        "é",
        "WzFlNDAwXQ",
        "bnVsbA",
        paging.encode_cursor([1]),
        paging.encode_cursor(["x", "y"]),
    ],
)
def test_a_foreign_cursor_is_refused(entries, place, text):
    with pytest.raises(Refused):
        list(paging.page_of(entries, order=ORDER, **{place: text}))


@pytest.mark.parametrize("size", [1, 2, 50])
@pytest.mark.parametrize("window", [3, 7, 23, 100])
def test_a_search_finds_everything_both_ways(entries, size, window):
    def page_at(**place):
        return paging.search(entries, Q(actor="ada"), order=ORDER, size=size, window=window, **place)

    there = read_forwards(page_at)
    expected = ids(entries.filter(actor="ada").order_by(*ORDER))
    assert [row for page in there for row in ids(page)] == expected
    assert all(page.is_partial for page in there if page.next and len(page) < size)
    back = read_backwards(page_at, there[-1])
    seen = {row for page in back for row in ids(page)} | set(ids(there[-1]))
    assert seen == set(expected)


def test_a_search_for_nothing_says_that_it_goes_on(entries):
    def page_at(**place):
        return paging.search(entries, Q(actor="eve"), order=ORDER, window=10, **place)

    page = page_at()
    assert (list(page), page.is_partial, bool(page.next)) == ([], True, True)
    following = page_at(after=page.next)
    back = paging.search(entries, Q(id__gt=0), order=ORDER, window=10, before=following.previous)
    assert ids(back)[-1] == ids(entries.order_by(*ORDER))[9], "the row of the cursor is on the way back"


@pytest.mark.parametrize("size", [1, 2, 4, 50])
@pytest.mark.parametrize("window", [1, 3, 7, 23, 100])
def test_a_search_with_time_finds_all_that_a_page_holds(entries, size, window):
    def page_at(**place):
        return paging.search(entries, Q(actor="ada"), order=ORDER, size=size, window=window, time_ms=10**6, **place)

    there = read_forwards(page_at)
    expected = ids(entries.filter(actor="ada").order_by(*ORDER))
    assert list(map(ids, there)) == [expected[start : start + size] for start in range(0, len(expected), size)]
    assert not any(page.is_partial for page in there)
    assert [ids(page) for page in reversed(read_backwards(page_at, there[-1]))] == list(map(ids, there[:-1]))


def test_a_search_whose_time_is_up_says_how_far_it_came(entries):
    page = paging.search(entries, Q(actor="ada"), order=ORDER, window=10, time_ms=1e-9)
    seen = entries.order_by(*ORDER)[:10]
    assert (ids(page), page.is_partial) == ([row.id for row in seen if row.actor == "ada"], True)
    assert page.reached == seen[9].at


def test_a_search_with_time_ends_when_its_rows_are_heavy(entries):
    limits = {"budget": 3, "weigh": lambda _row: 2, "window": 2, "time_ms": 10**6}
    pages = read_forwards(lambda **place: paging.search(entries, Q(actor="ada"), order=ORDER, **limits, **place))
    assert [len(page) for page in pages] == [1] * entries.filter(actor="ada").count()


def test_how_far_a_search_came_is_said_in_words():
    ui = engines["jinja2"].env.globals["ui"]
    empty_page, page = paging.Page(), paging.Page([1])
    empty_page.reached = page.reached = 1_767_571_200_000
    assert "Searched back to <time" in ui.searched(page, 7) and "2026-01-05 00:00:00" in ui.searched(page, 7)
    assert "No matches back to <time" in ui.searched(empty_page, 7)
    assert "7 rows were searched" in ui.searched(paging.Page([1]), 7)
    assert "Not all rows were searched" in ui.searched(paging.Page([1]), 0)


def test_every_row_comes_once_in_batches(entries):
    batches = list(paging.read_batches(entries.values("at", "id"), order=ORDER, size=5))
    assert [len(batch) for batch in batches] == [5, 5, 5, 5, 3]
    assert [row["id"] for batch in batches for row in batch] == ids(entries.order_by(*ORDER))


class TestAmount:
    def test_it_counts(self, entries):
        assert count_rows(entries) == RowCount(23)
        assert count_rows(entries, up_to=23) == RowCount(23)
        assert count_rows(entries.none()) == RowCount(0)

    def test_it_stops_at_the_limit(self, entries):
        assert count_rows(entries, up_to=22) == RowCount(22, True)

    def test_it_stops_when_the_time_is_over(self):
        AuditEntry.objects.bulk_create(
            [AuditEntry(at=1, actor="ada", via="page", action="read") for _ in range(9_000)], batch_size=1_000
        )
        assert count_rows(AuditEntry.objects.all()) == RowCount(9_000)
        result = count_rows(AuditEntry.objects.all(), budget_ms=-1)
        assert result.is_more and result.count < 9_000
        assert AuditEntry.objects.count() == 9_000  # the connection is as it was


class Filters(ListFilters):
    ORDERS = {"at": ("at", "id"), "actor": ("actor", "id")}
    DEFAULT = "-at"
    actor = forms.CharField(label="Who", required=False, max_length=10)
    errors = forms.BooleanField(label="Only errors", required=False)


class TestFilters:
    def filters(self, query):
        return Filters(QueryDict(query)).validate()

    def test_nothing_asked_is_the_default(self):
        filters = self.filters("")
        assert (filters.sorting, filters.query, filters.chips()) == (filters.DEFAULT, "", [])

    def test_the_address_is_kept_but_not_the_place(self):
        filters = self.filters("actor=ada&errors=on&sort=actor&after=x&format=csv&other=1")
        assert paging.get_order_columns(filters.ORDERS, filters.sorting) == ("actor", "id")
        assert filters.query == "?actor=ada&errors=on&sort=actor"
        assert filters.chips() == [
            ("Who", "ada", "?errors=on&sort=actor"),
            ("Only errors", "", "?actor=ada&sort=actor"),
        ]

    @pytest.mark.parametrize("query", ["sort=--at", "actor=" + "x" * 11, "sort=at,id"])
    def test_what_cannot_be_is_refused(self, query):
        with pytest.raises(Refused):
            self.filters(query)


def body(response):
    return b"".join(response.streaming_content).decode()


class TestDownload:
    def download(self, kind, **shape):
        columns = ("at", "id", "actor")
        batches = paging.read_batches(AuditEntry.objects.values(*columns), order=ORDER)
        rows = (row | shape for batch in batches for row in batch)
        return download_rows(rows, columns=(*columns, *shape), name="who", kind=kind)

    def test_csv(self, entries):
        response = self.download("csv", words="=1+1", many=["a"])
        text = body(response)
        assert text.startswith("\ufeffat,id,actor,words,many,long_cells\r\n")
        rows = list(csv.DictReader(io.StringIO(text[1:])))
        assert len(rows) == 23
        assert (rows[0]["words"], rows[0]["many"], rows[0]["long_cells"]) == ("'=1+1", '["a"]', "")
        assert response["Content-Disposition"] == 'attachment; filename="who.csv"'

    def test_nothing_is_still_a_file(self, db):
        assert json.loads(body(self.download("json"))) == []
        assert body(self.download("jsonl")) == ""
        assert body(self.download("csv")) == "\ufeffat,id,actor,long_cells\r\n"

    @pytest.mark.parametrize(("text", "is_long"), [("a" * 32_767, False), ("a" * 32_768, True), ("😀" * 16_384, True)])
    def test_cells_that_excel_cuts_are_named(self, entries, text, is_long):
        rows = list(csv.DictReader(io.StringIO(body(self.download("csv", words=text))[1:])))
        assert {row["long_cells"] for row in rows} == ({"words"} if is_long else {""})
        assert rows[0]["words"] == text

    @given(st.text(st.characters(exclude_categories=["Cs"])))
    def test_no_cell_is_a_formula(self, text):
        cell = spreadsheets.format_cell(text)
        assert not cell.startswith(spreadsheets.FORMULA)
        assert cell.endswith(text)
