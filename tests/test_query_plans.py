"""No list reads more than one page of rows, for any filter, order or direction.

A query fails that sorts (a temporary B-tree), that reads a table from end to end without a limit in its order, or that
counts, unless it is inside a time box. A list that is not in tests/whole/pages.py fails, too.
"""

import re
from contextlib import ExitStack
from dataclasses import dataclass, field
from itertools import combinations
from urllib.parse import urlencode

import pytest
from django import forms
from django.conf import settings
from django.db import connections
from django.test import Client

from benchmarks import bulk_rows
from gate.statistics import sums
from guardian import services as guardian
from openclaw_web.lists import segments
from openclaw_web.lists.declaration import find_lists
from openclaw_web.sqlite import time_limits
from tests.conftest import ALL
from tests.datasets.dataset_rows import DATASET, VALUE, fill_datasets
from tests.episodes.ledger_events import store_event
from tests.factories import AgentFactory, UserFactory
from tests.openclaw_web.test_api import operations
from tests.people.site_surface import ROUTES
from tests.suite.browsers import BACKEND
from tests.suite.module_rows import keep_rows, roll_back_rows
from tests.whole.pages import TABLE

ROWS = 130  # more than two pages of everything
ROOT = "/api/v1"

AGENT = {"agent": "ada", "file": "MEMORY.md", "dataset": DATASET}
# The address of each declared list, and of each page whose lists have no filters or only tabs.
PAGES = {page.on: page.place(AGENT).partition("?")[0] for page in TABLE.values() if page.on}
PLAIN_PAGES = [f"{page.place(AGENT)}{plan}" for page in TABLE.values() for plan in page.plans if plan or not page.on]
# A value for each parameter that no choice gives one.
VALUES = {
    "actor": "user1",
    "agent": "ada",
    "agent_id": "ada",
    "branch": "all",
    "by": "user1",
    "channel": "irc",
    "judged": "2026-02-21",
    "cost": "0.005",
    "created_by": "user1",
    "slow": "0.5",
    "file": "nowhere",
    "from": "2026-01-02",
    "to": "2026-12-30",
    "from_ts": "1",
    "to_ts": str(2**50),
    "handle": "x",
    "kind": "user",
    "exported_by": "user1",
    "error": "0000000000000001",
    "decision": "00000000000000000000000001",
    "rule": "rule-1",
    "scope": "global",
    "turn": "00000001:r12",
    "name": "MEMORY.md",
    "model": "claude-opus-4-5",
    "object_id": "nowhere",
    "origin": "direct",
    "outcome": "sample",
    "prompt": "v0",
    "q": "nowhere",
    "reason": "not_json",
    "session": "00000001",
    "session_id": "00000001",
    "size": "100",
    "started_by": "user1",
    "tokens": "10",
    "tool": "exec",
    "types": "user",
}
IDS = {
    "dataset_id": DATASET,
    "number": "1",
    "value_hash": VALUE,
    "benchmark_id": f"{1:026d}",
    "sample_id": f"{1:026d}",
    "agent": "ada",
    "session_id": "00000001",
    "scope": "global",
    "job_id": "x",
    "name": "MEMORY.md",
    "run_id": "1",
    "replay_id": "00000001",
}
# Filters of the API that cannot be combined with others: they are tested in an address of their own.
APART = {"/api/v1/agents/ada/gate/statistics": {"session": "by=session&session=00000001"}}
# Filters of the API whose values are others than in VALUES.
OTHER_VALUES = {"/api/v1/agents/ada/episodes": {"types": "tool.call", "to_ts": str(2**45)}}
NOT_FILTERS = {"after", "before", "limit", "sort", "format"}
# Tables that stay small, and why. Queries may sort them and read all of their rows.
SMALL = {
    "agent_summaries": "a row for each agent, sorted by any of its columns",
    "agents": "filters offer all of them",
    **dict.fromkeys(
        ("behavior_corrections", "datasets", "dataset_versions", "benchmarks", "collection_strategies"),
        "people make them one by one",
    ),
    "api_tokens": "people make them one by one",
    "collector_sources": "which folder each agent is from: an index of one row an agent",
    "cron_run_logs": "the last 100 runs of each job of a page; OpenClaw keeps some thousand of a job",
    "django_migrations": "whether a file is up to date",
    "file_snapshots": "versions of one agent's own files",
    "gate_verdicts_state": "one row at most",
    "gate_stale_sums": "hours and sessions that were written since a reader computed them",
    "gate_verdict_days": "judged days of the range that a page shows, read by their primary key",
    "sample_claims": "at most six for each person",
    "sample_drafts": "a row for each text that somebody began and did not finish",
    "workspace_files": "versions of one agent's own files",
}
RECURSIVE = {"step"}  # goes from one value of an index to the next one
FIRST_TABLE = re.compile(r'\bFROM "?(\w+)"?')
OF_ONE_PAGE = re.compile(r'"session_key" IN \(')  # the sessions of the keys on one page
OF_ONE_REPLAY = re.compile(r'"replay_id" = ')  # at most 5,000 decisions and their calls, which are counted
A_FEW_OF_ALL = re.compile(r'SELECT (1|%s AS "a") FROM "?\w+"?( \w+)? LIMIT \d+')


@dataclass
class RecordedQueries:
    """The queries of a request that were not inside a time box."""

    queries: list = field(default_factory=list)

    def record(self, execute, sql, params, many, context):
        if not time_limits.is_boxed() and sql.lstrip(" (").startswith(("SELECT", "WITH")):
            self.queries.append((context["connection"].alias, sql, params))
        return execute(sql, params, many, context)


@pytest.fixture(scope="module")
def filled(django_db_setup, django_db_blocker):
    """An admin of a site with rows of every kind, more than two pages of each."""
    with keep_rows(django_db_blocker):
        AgentFactory(agent_id="ada")
        bulk_rows.fill_sessions("agent_ada", ROWS)
        bulk_rows.fill_agent("agent_ada", ROWS)
        bulk_rows.fill_gate("agent_ada", ROWS)
        bulk_rows.fill_guardian("agent_ada", ROWS)
        sums.rebuild("agent_ada")
        bulk_rows.fill_artifacts("agent_ada", ROWS)
        bulk_rows.fill_site(ROWS, agent="ada")
        bulk_rows.fill_extras(ROWS, agent="ada")
        fill_datasets(ROWS, agent="ada", db="agent_ada")
        for number in range(3):
            guardian.store_version("agent_ada", VALUES["name"], b"%d" % number, modified_ms=number)
        for number in range(ROWS):
            store_event(event_id=f"e{number}", session_id=VALUES["session"], ts_ms=bulk_rows.T0 + number)
        yield UserFactory(username="root", role="admin")


@pytest.fixture
def rows(filled):
    """A browser of this admin; everything that a test writes is rolled back."""
    client = Client()
    with roll_back_rows():
        client.force_login(filled, backend=BACKEND)
        yield client


def plan(alias, sql, params):
    with connections[alias].cursor() as cursor:
        cursor.execute(f"EXPLAIN QUERY PLAN {sql}", params)
        return [row[3] for row in cursor.fetchall()]


def problems(recorded, address):
    """Yield the faults of a request's queries, each with the query."""
    for alias, sql, params in recorded.queries:
        tables = FIRST_TABLE.findall(sql)
        if (tables and tables[0] in SMALL) or OF_ONE_PAGE.search(sql) or OF_ONE_REPLAY.search(sql):
            continue
        steps = plan(alias, sql, params)
        bad = [step for step in steps if "TEMP B-TREE" in step]
        if not (" LIMIT " in sql and "ORDER BY" in sql) and not A_FEW_OF_ALL.search(sql):
            bad += find_scans(steps)
        bad += ["counts outside of a time box"] if "COUNT(" in sql.upper() and " LIMIT " not in sql else []
        if bad:
            yield "; ".join(bad), f"{address}\n    {sql % tuple(params or ())}"


def find_scans(steps):
    """The steps that read a table from end to end.

    Subqueries have steps of their own, and lists of values are no tables.
    """
    own = {step.split()[1] for step in steps if step.startswith(("CO-ROUTINE", "MATERIALIZE"))} | {"CONSTANT", "listed"}
    return [step for step in steps if step.startswith("SCAN") and step.split()[1] not in {*own, *RECURSIVE}]


def fetch(client, address):
    """Fetch an address; return the answer and the faults of its queries."""
    recorded = RecordedQueries()
    with ExitStack() as stack:
        for alias in ALL:
            stack.enter_context(connections[alias].execute_wrapper(recorded.record))
        response = client.get(address)
        if response.streaming:
            response.getvalue()
    assert response.status_code == 200, (address, response.content[:300])
    return response, list(problems(recorded, address))


def find_page_faults(client, address, following):
    """The faults of the first page of a list and of the pages beside it.

    `following` finds the cursors of those pages.
    """
    response, faults = fetch(client, address)
    sign = "&" if "?" in address else "?"
    for name, cursor in following(response).items():
        if cursor:
            faults += fetch(client, f"{address}{sign}{name}={cursor}")[1]
    return faults


def find_page_cursors(response):
    """The cursors of the previous and next page, from the links of this page."""
    return dict(re.findall(r'href="[^"]*?[?&;](after|before)=([\w~-]+)', response.content.decode()))


def find_api_cursors(response):
    return {"after": response.json()["next"], "before": response.json()["next"]}


def fail_with_faults(faults):
    if addresses := dict(reversed(faults)):  # one address for each kind of fault
        pytest.fail("\n".join(f"{bad}: {where}" for bad, where in addresses.items()), pytrace=False)


def choose_value(name, form_field):
    """A value to test a filter with; None when VALUES has none."""
    choices = [str(value) for value, _label in getattr(form_field, "choices", ()) if value]
    return "on" if isinstance(form_field, forms.BooleanField) else choices[0] if choices else VALUES.get(name)


def combine_filters(values, pytestconfig):
    """Yield every filter alone, with --nightly every two together, and all at once."""
    names = sorted(values)
    pairs = combinations(names, 2) if pytestconfig.getoption("nightly") else ()
    for chosen_names in [(), *combinations(names, 1), *pairs, names]:
        yield {name: values[name] for name in chosen_names}


def find_parameters(operation):
    """{name: schema} of the query parameters of an API list."""
    return {each["name"]: each["schema"] for each in operation["parameters"] if each["in"] == "query"}


def build_required_values(operation):
    """Values for the required parameters of an API list."""
    names = [each["name"] for each in operation["parameters"] if each["in"] == "query" and each.get("required")]
    return {name: VALUES[name] for name in names}


def choose_api_value(name, schema, address=""):
    """A value to test an API filter with; None when VALUES has none."""
    if chosen := OTHER_VALUES.get(address, {}).get(name):
        return chosen
    kinds = [schema, *schema.get("anyOf", ())]
    chosen = next((kind["enum"][0] for kind in kinds if "enum" in kind), None)
    is_switch = any(kind.get("type") == "boolean" for kind in kinds)
    return chosen or ("true" if is_switch else VALUES.get(name))


def find_api_lists():
    """{path: operation} of every list of the API."""
    return {path: operation for method, path, operation in operations() if "format" in find_parameters(operation)}


def test_every_list_is_in_the_table():
    declared = {route: spec.on for route, entry in ROUTES.items() if (spec := getattr(entry.callback, "shows", None))}
    assert declared == {page.route: page.on for page in TABLE.values() if page.on}
    assert find_lists().keys() == PAGES.keys()


@pytest.mark.parametrize("on", sorted(PAGES))
def test_pages(rows, on, pytestconfig):
    form = find_lists()[on].filters()
    always = {name: IDS[name] for name in form.PLACE}
    fields = {name: each for name, each in form.fields.items() if name not in {*NOT_FILTERS, *always}}
    values = {name: choose_value(name, each) for name, each in fields.items()}
    assert all(values.values()), f"give these a value in VALUES: {[name for name in values if not values[name]]}"
    faults = []
    orders = [f"{sign}{order}" for order in form.ORDERS for sign in ("", "-")]
    most = 2 if pytestconfig.getoption("nightly") else 1  # so many filters, less one, are tested in every order
    for filters in combine_filters(values, pytestconfig):
        for sort in orders if len(filters) < most else orders[:2]:
            faults += find_page_faults(
                rows, f"{PAGES[on]}?{urlencode(always | filters | {'sort': sort})}", find_page_cursors
            )
        if len(filters) < 2:
            faults += fetch(rows, f"{PAGES[on]}?{urlencode(always | filters | {'format': 'jsonl'})}")[1]
    for segment, _label in segments.choices(form.SEGMENTS):
        for sort in orders:
            faults += find_page_faults(
                rows, f"{PAGES[on]}?{urlencode(always | {'segment': segment, 'sort': sort})}", find_page_cursors
            )
    fail_with_faults(faults)


@pytest.mark.parametrize("path", sorted(find_api_lists()))
def test_api(rows, path, pytestconfig):
    schemas, always = find_parameters(find_api_lists()[path]), build_required_values(find_api_lists()[path])
    address, orders = path.format(**IDS), schemas.get("sort", {}).get("enum", [""])
    apart = APART.get(address, {})
    left_out = {*NOT_FILTERS, *always, *apart}
    values = {name: choose_api_value(name, schema, address) for name, schema in schemas.items() if name not in left_out}
    assert all(values.values()), f"give these a value in VALUES: {[name for name in values if not values[name]]}"
    faults = [
        fault for query in apart.values() for fault in find_page_faults(rows, f"{address}?{query}", find_api_cursors)
    ]
    most = 2 if pytestconfig.getoption("nightly") else 1
    for filters in combine_filters(values, pytestconfig):
        for sort in orders if len(filters) < most else orders[:2]:
            query = urlencode(always | filters | ({"sort": sort} if sort else {}))
            faults += find_page_faults(rows, f"{address}?{query}", find_api_cursors)
        if len(filters) < 2:
            faults += fetch(rows, f"{address}?{urlencode(always | filters | {'format': 'jsonl'})}")[1]
    fail_with_faults(faults)


@pytest.mark.parametrize("address", PLAIN_PAGES)
def test_plain_pages(rows, address):
    fail_with_faults(find_page_faults(rows, address, find_page_cursors))


@pytest.mark.django_db
def test_each_index_of_an_agents_file_serves_its_query():
    """docs/indexes.md has a query for each index, and SQLite answers it by this index."""
    table = (settings.BASE_DIR / "docs/indexes.md").read_text()
    rows = re.findall(r"^\| `(\w+)` \| .* \| `(.*)` \|$", table, re.MULTILINE)
    with connections["agent_ada"].cursor() as cursor:
        cursor.execute("SELECT name FROM sqlite_master WHERE type = 'index' AND sql IS NOT NULL")
        assert sorted(name for (name,) in cursor) == sorted(name for name, _query in rows)
        for name, query in rows:
            cursor.execute(f"EXPLAIN QUERY PLAN SELECT * FROM {query.replace('?', 'NULL')}")
            assert re.search(rf"INDEX {name}\b", str(cursor.fetchall())), name
