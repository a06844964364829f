"""Page, files and API of every list hold the same rows under every filter and order.

Lists are found automatically. The meaning of a filter follows from its name and its field: `session` means an equal
`session_id`, a number means at least as much. Filters with another meaning stand in OTHERS.
"""

import csv
import inspect
import io
import json
from contextlib import ExitStack

import pytest
from django import forms
from django.db import connections
from django.test.utils import CaptureQueriesContext

from openclaw_web.api import api
from openclaw_web.lists import segments
from openclaw_web.lists.declaration import find_lists
from openclaw_web.lists.paging import encode_cursor
from people.models.bookkeeping import AuditEntry
from tests.conftest import ALL
from tests.factories import T0
from tests.openclaw_web.lists import rows
from tests.test_query_plans import IDS, NOT_FILTERS, PAGES

pytestmark = pytest.mark.django_db
DAY_MS = 86_400_000
FROM, TO = T0 + DAY_MS, T0 + 3 * DAY_MS
DAYS = {"from": "2026-01-06", "to": "2026-01-07"}  # the last one included
# Columns of filters whose names do not tell it.
COLUMNS = {"cost": "cost_usd", "prompt": "prompt_version", "tokens": "total_tokens", "size": "bytes"}
# Columns of orders.
ORDERS = {
    "appeared": "first_found_at",
    "places": "places",
    "cost": "cost_usd",
    "activity": "last_activity_at",
    "errors": "error_count",
    "found": "id",
    "happened": "ts_ms",
    "made": "created_at",
    "name": "path",
    "queued": "created_at",
    "severity": "severity",
    "since": "since_at",
    "size": "bytes",
    "started": "created_at",
    "state": "rank",
    "time": "created_at",
    "tokens": "total_tokens",
    "turns": "turn_count",
    "last": "last_at",
    "count": "count",
    "when": "exported_at",
}


def says(*columns, word="other"):
    return lambda row: any(word in str(row[column]) for column in columns)


def is_counted_error(row):
    return row["is_failed"] and not row["is_synthetic"] and row["repeat_of"] is None


# Filters other than an equal column or a least number: a value, and the rows that fit.
OTHERS = {
    "artifacts flagged": ("on", lambda row: "jwt" in row["secret_kinds"]),
    "artifacts q": ("OTHER", says("summary")),
    "decisions q": ("OTHER", says("reason", "candidate_fact")),
    "decisions slow": ("on", lambda row: (row["llm_latency_ms"] or 0) >= 5_000),
    "decisions unmatched": ("on", lambda row: row["turn_id"] is None),
    "decisions unseen": ("on", lambda row: row["saw_user"] is False),
    "decisions verdict": ("wrong", lambda row: row["verdict"] == "wrong"),
    "episodes q": (
        "OTHER",
        lambda row: not row["redacted"] and says("summary", "payload_json", "refs_json")(row),
    ),
    "errors error": (f"{5:026d}", lambda row: row["id"] == f"{5:026d}"),
    "errors q": ("OTHER", says("message")),
    "events error": ("other", lambda row: row["error_group"] == "other" and is_counted_error(row)),
    "events counted": ("on", lambda row: not row["is_synthetic"] and row["repeat_of"] is None),
    "events failed": ("on", lambda row: row["is_failed"]),
    "events q": ("OTHER", says("event_json")),
    "rejected file": ("ile", says("file", word="ile")),
    "samples edited": ("on", lambda row: row["output"]),
    "samples ending": ("cut_off", lambda row: row["reply_stop"] == "aborted"),
    "samples not_checked": ("on", lambda row: row["privacy_checked"] is None),
    "samples not_fully_scanned": ("on", lambda row: row["privacy_checked"] is False),
    "sessions errors": ("on", lambda row: row["error_count"] > 0),
    "sessions q": ("OTHER", says("title")),
    "skipped name": ("OTHER", says("path")),
    "turns answer": ("silent", lambda row: row["answer_state"] == "silent"),
    "turns errors": ("on", lambda row: row["error_count"] > 0),
    "turns q": ("OTHER", says("user_message_content")),
    "turns slow": ("0.03", lambda row: (row["latency_ms"] or 0) >= 30),
    "writes flagged": ("on", lambda row: row["rule_id"] is not None),
    "writes q": ("OTHER", says("candidate_fact", "reason")),
    "writes unmatched": ("on", lambda row: row["turn_id"] is None),
}
# Filters that need other rows: the tests of their lists cover them.
ELSEWHERE = {
    *("artifacts each", "findings agent", "turns branches", "turns counted", "turns tool", "samples judged"),
    "samples signal",
}
# Names of filters in the API that are neither the filter's name nor `<name>_id`.
IN_API = {"episodes type": "types", "events kind": "types"}
# Spellings of filters that the API accepted before its lists took their filters from the pages.
BEFORE = {
    "jobs by": "started_by",
    "exports by": "exported_by",
    "exports export_format": "kind",
    "datasets by": "created_by",
    "events session": "session_id",
    "problems segment": "state",
}


# Filters for which the API accepts any text; no row fits an unknown text.
OPEN_IN_API = {
    "events kind",
    "findings agent",
    "jobs kind",
    "problems kind",
    "rejected reason",
    "samples agent",
    "skipped reason",
}
API_WHOLE = {"episodes": {"scope": "global"}, "problems": {"segment": "all"}}  # required, or shows a part by default
OLDEST_FIRST = {"episodes"}  # in the API, where `to_ts` is included


def find_list_api(table):
    """Returns the address of a table's list in the API, and the fields of its query."""
    for router in api._get_bound_routers():
        for path, view in router.path_operations.items():
            for operation in view.operations:
                answer = operation.response_models.get(200)
                page = answer and answer.model_fields["response"].annotation
                items = getattr(page, "model_fields", {}).get("items")
                item = items and items.annotation.__args__[0]
                if getattr(item, "table", None) is table and "{session_id}" not in path:
                    query_schema = (
                        inspect.signature(operation.view_func, eval_str=True)
                        .parameters["filters"]
                        .annotation.__args__[0]
                    )
                    return f"/api/v1{path}".format(**IDS), query_schema.model_fields
    raise AssertionError(f"the API has no list of {table.__name__}")


class ListCase:
    """A list with its rows, read through pages, files and the API."""

    def __init__(self, on, client):
        self.declaration, self.client, self.on = find_lists()[on], client, on
        self.always = {name: IDS[name] for name in self.declaration.filters().PLACE}
        self.whole = {segments.NAME: segments.ALL} if self.declaration.filters.SEGMENTS else {}
        self.rows = rows.fill_list(self.declaration)
        key = self.declaration.table._meta.pk.attname
        self.key = (key,) if key in self.declaration.fields else self.declaration.fields[:3]
        self.of_key = {self.key_of(row): row for row in self.rows}
        self.api_at, self.api_fields = find_list_api(self.declaration.table)

    def key_of(self, row):
        return tuple(row[name] if isinstance(row, dict) else getattr(row, name) for name in self.key)

    def keys(self, items):
        """Returns the keys of these items, without audit entries that reading itself leaves."""
        return [key for key in map(self.key_of, items) if key in self.of_key]

    def get(self, **query):
        response = self.client.get(PAGES[self.on], self.whole | self.always | query)
        assert response.status_code == 200, (query, response.text)
        return response

    def file(self, kind="json", /, **query):
        return self.get(format=kind, **query).getvalue().decode()

    def in_file(self, **query):
        return self.keys(json.loads(self.file(**query)))

    def on_pages(self, way="next", place=None, **query):
        """Returns the keys of all pages from the first on, by page, and the last page."""
        pages, page = [], self.get(**query, **(place or {})).context["page"]
        while True:
            pages.append(self.keys(page))
            if not (onwards := getattr(page, way)):
                return pages, page
            page = self.get(**query, **{"after" if way == "next" else "before": onwards}).context["page"]

    def answer(self, **query):
        response = self.client.get(self.api_at, API_WHOLE.get(self.on, {}) | query)
        assert response.status_code == 200, (query, response.text)
        return response.json()

    def in_api(self, **query):
        return self.keys(self.answer(limit=200, **query)["items"])

    def other_order(self):
        return next(sort for sort in self.declaration.filters.sorts() if sort != self.declaration.filters.DEFAULT)

    def column(self, name):
        """Returns the column of a filter."""
        names = [COLUMNS.get(name, name), f"{name}_id", f"{name}_name"]
        row = self.rows[0]
        named = [each for each in names if each in row] or [each for each in row if each.endswith(f"_{name}")]
        assert named, f"say in COLUMNS or OTHERS what the filter {name} of {self.on} is about"
        return named[0]

    def filters(self):
        """Yields name, value and the keys of the fitting rows of every filter."""
        for name, field in self.declaration.filters().fields.items():
            if name in {*NOT_FILTERS, *self.always, *DAYS, segments.NAME} or f"{self.on} {name}" in ELSEWHERE:
                continue
            value, fits = OTHERS.get(f"{self.on} {name}") or self._plain(name, field)
            keys = {key for key, row in self.of_key.items() if fits(row)}
            assert 0 < len(keys) < rows.COUNT, (name, value, len(keys))
            yield name, value, keys

    def _plain(self, name, field):
        column = self.column(name)
        if isinstance(field, forms.FloatField | forms.IntegerField):
            least = sorted(row[column] or 0 for row in self.rows)[rows.COUNT // 2]
            return least, lambda row: (row[column] or 0) >= least
        known = [row[column] for row in self.rows if row[column] and rows.HOSTILE not in row[column]]
        choices = {str(value) for value, _label in getattr(field, "choices", ())}
        value = min((value for value in known if not choices or value in choices), key=known.count)
        return value, lambda row: row[column] == value

    def api_name(self, name):
        """Returns the name of a filter in the API, which has all filters of the page."""
        names = [IN_API.get(f"{self.on} {name}", name), f"{name}_id"]
        return next(each for each in names if each in self.api_fields)


@pytest.fixture(params=sorted(find_lists()))
def listed(request, as_admin, ada, bob):
    return ListCase(request.param, as_admin)


def test_files_pages_and_api_hold_every_row_in_order(listed):
    for sort in listed.declaration.filters.sorts():
        column = ORDERS[sort.lstrip("-")] if listed.on != "audit" else "at"
        known = [(-1 if row[column] is None else row[column], place) for place, row in enumerate(listed.rows)]
        expected = [listed.key_of(listed.rows[place]) for _value, place in sorted(known, reverse=sort.startswith("-"))]
        page = listed.get(sort=sort).context["page"]
        assert len(page) == 50 and listed.keys(page) == expected[: len(listed.keys(page))], sort
        assert listed.in_file(sort=sort) == expected
        if listed.on not in OLDEST_FIRST:
            assert listed.in_api(sort=sort) == expected
        if sort == listed.declaration.filters.DEFAULT:
            in_api = listed.in_api()
            assert (in_api[::-1] if listed.on in OLDEST_FIRST else in_api) == listed.in_file() == expected


def test_pages_go_both_ways(listed):
    file_keys = listed.in_file()  # read first, because the download adds a row to the audit log
    there, last = listed.on_pages()
    assert [key for page in there for key in page] == file_keys and len(there) == 3
    back, _first = listed.on_pages("previous", {"before": last.previous})
    assert back == there[-2::-1]


def test_the_api_goes_both_ways_and_asks_no_more_for_many_rows_than_for_one(listed):
    pages = [listed.answer(limit=50)]
    while onwards := pages[-1]["next"]:
        pages.append(listed.answer(limit=50, after=onwards))
    assert [key for page in pages for key in listed.keys(page["items"])] == listed.in_api() and len(pages) == 3
    assert listed.keys(listed.answer(limit=50, before=pages[2]["previous"])["items"]) == listed.keys(pages[1]["items"])
    queries = []
    for limit in (1, 50):
        with ExitStack() as stack:
            captured = [stack.enter_context(CaptureQueriesContext(connections[alias])) for alias in ALL]
            listed.answer(limit=limit)
        queries.append(sum(map(len, captured)))
    assert queries[0] == queries[1] < 9


def test_every_filter_shows_what_fits(listed):
    before, within = {}, set(listed.of_key)
    for name, value, keys in listed.filters():
        there, _last = listed.on_pages(**{name: value})
        assert {key for page in there for key in page} == keys, (name, value)
        assert set(listed.in_file(**{name: value})) == keys, (name, value)
        assert set(listed.in_file(**before, **{name: value})) == within & keys, (before, name, value)
        page = listed.get(**{name: value})
        assert page.context["filters"].chips(), name
        line = listed.whole | listed.always | {"filter": page.context["line"].text}
        assert listed.client.get(PAGES[listed.on], line).url == PAGES[listed.on] + page.context["filters"].query
        spellings = [listed.api_name(name), *filter(None, [BEFORE.get(f"{listed.on} {name}")])]
        for spelling in spellings:
            assert set(listed.in_api(**{spelling: "true" if value == "on" else value})) == keys, (spelling, value)
        before, within = {name: value}, keys


def test_days_include_the_last(listed):
    form = listed.declaration.filters
    if "from" not in form().fields:
        return
    column = form.ORDERS[form.DEFAULT.lstrip("-")][0]
    keys = {key for key, row in listed.of_key.items() if FROM <= row[column] < TO}
    assert 0 < len(keys) < rows.COUNT and set(listed.in_file(**DAYS)) == keys
    assert listed.client.get(PAGES[listed.on], {"from": "2026-01-07", "to": "2026-01-06"}).status_code == 409
    if "from_ts" in listed.api_fields:
        assert set(listed.in_api(from_ts=FROM, to_ts=TO - (listed.on in OLDEST_FIRST))) == keys


def test_segments_are_the_rows_of_their_values(listed):
    parts = listed.declaration.filters.SEGMENTS
    for name, part in parts.parts.items() if parts else ():
        values = {key: row[part.column or parts.column] for key, row in listed.of_key.items()}
        fits = [key for key, value in values.items() if not part.among or value in part.among]
        keys = {key for key in fits if values[key] not in part.without}
        if name in values.values():  # a segment with the name of a value has the rows of that value
            assert keys == {key for key, value in values.items() if value == name}
        there, _last = listed.on_pages(segment=name)
        assert {key for page in there for key in page} == keys == set(listed.in_file(segment=name))
        amount = next(each["amount"] for each in listed.get().context["segments"] if each["label"] == part.label)
        assert listed.on == "audit" or amount is None or amount.is_more or amount.count == len(keys)
        for spelling in filter(None, (segments.NAME, BEFORE.get(f"{listed.on} segment"))):
            answer = listed.client.get(listed.api_at, {spelling: name, "limit": 200}).json()
            assert set(listed.keys(answer["items"])) == keys, spelling


def test_files_say_the_same_in_three_formats_and_no_cell_is_a_formula(listed):
    items = json.loads(listed.file())
    assert list(items[0]) == list(listed.declaration.fields)
    lines = [json.loads(line) for line in listed.file("jsonl").splitlines()][-rows.COUNT :]
    table = list(csv.DictReader(io.StringIO(listed.file("csv").removeprefix("\ufeff"))))[-rows.COUNT :]
    assert lines == items[-rows.COUNT :]
    for line, row in zip(lines, table, strict=True):
        for name, value in line.items():
            if isinstance(value, str):
                assert row[name] == (f"'{value}" if value.startswith(("=", "+", "-", "@")) else value), name
            elif value is None:
                assert row[name] == "", name
    assert any(rows.HOSTILE in cell for row in table for cell in row.values() if cell)


def test_a_download_is_in_the_audit_log_with_what_was_asked_for(listed):
    sort = listed.other_order()
    listed.file("csv", sort=sort)
    entry = AuditEntry.objects.filter(action="downloaded").latest("id")
    agent_id = "ada" if listed.always or "/ada/" in PAGES[listed.on] else ""
    assert (entry.object_type, entry.object_id, entry.agent_id) == ("list", listed.on, agent_id)
    detail = json.loads(entry.detail_json)
    assert detail["format"] == "csv" and detail["filter"].endswith(f"sort={sort}")


def test_what_agents_wrote_is_only_text(listed):
    for page in (listed.get(), listed.get(sort=listed.other_order())):
        assert "<script>alert" not in page.text
        assert "\u202e" not in page.text.partition("<tbody")[2]


def nonsense_for(form):
    """Yields an invalid value for each parameter of the address of a list."""
    yield from {"sort": "nonsense", "format": "xml", "after": "nonsense", "before": encode_cursor([1] * 5)}.items()
    for name, field in form.fields.items():
        if name not in (*form.PLACE, "sort", "format") and type(field) is not forms.BooleanField:
            yield name, "a\0b" if type(field) is forms.CharField else "nonsense"


def test_what_cannot_be_is_refused_and_what_is_no_filter_is_said(listed):
    form = listed.declaration.filters()
    for name, value in nonsense_for(form):
        page = listed.client.get(PAGES[listed.on], listed.always | {name: value})
        assert (page.status_code, "Start again" in page.text) == (409, True), (name, value)
        if name not in ("format", segments.NAME) and isinstance(form.fields.get(name), forms.ChoiceField):
            answer = listed.client.get(listed.api_at, API_WHOLE.get(listed.on, {}) | {listed.api_name(name): value})
            is_open = f"{listed.on} {name}" in OPEN_IN_API
            assert answer.json()["items"] == [] if is_open else answer.status_code in (400, 422), name
    assert "This list has no filter “nonsense”, so it was ignored." in listed.get(nonsense=1).text
    assert "has no filter" not in listed.get(**{"<b>": 1}).text  # the page does not repeat a text that is no name


def test_a_part_for_htmx_and_a_view_that_is_kept(listed):
    sort = listed.other_order()
    view_form = {"on": listed.on, "query": f"?sort={sort}", "name": "Dear ones", "next": PAGES[listed.on]}
    listed.client.post("/operations/views/keep/", view_form)
    assert ">Dear ones</a>" in listed.get().text
    part = listed.client.get(PAGES[listed.on], listed.always | {"sort": sort}, headers={"HX-Request": "true"})
    assert "<html" not in part.text
    assert part["HX-Push-Url"].startswith(PAGES[listed.on]) and f"sort={sort}" in part["HX-Push-Url"]


def test_another_agent_has_none_of_them_and_an_unknown_one_is_not_found(listed):
    for at in (PAGES[listed.on], listed.api_at):
        if "/ada/" in at:
            answer = listed.client.get(at.replace("/ada/", "/bob/"), API_WHOLE.get(listed.on, {}))
            assert not (answer.json()["items"] if "api" in at else answer.context["page"])
            answer = listed.client.get(at.replace("/ada/", "/eve/"), API_WHOLE.get(listed.on, {}))
            assert answer.status_code == 404


@pytest.mark.parametrize("on", sorted(find_lists()))
def test_an_empty_list_says_what_will_be_here(on, as_admin, ada):
    declaration = find_lists()[on]
    page = as_admin.get(PAGES[on], {name: IDS[name] for name in declaration.filters().PLACE}).text
    assert str(declaration.words.none) in page
    assert not any(part in page for part in ('id="line-text"', 'id="boxes"', "Download:"))
    assert ("Show imports" in page) == declaration.words.is_imported
