"""How many queries each page may ask, and that one row costs as many as thirty: of all databases together.

Every page is asked of a site with one row of everything it shows and of one with thirty. A page that asks more than is
written here, or more for thirty rows than for one, fails with the queries that it repeats.
"""

import re
from collections import Counter
from contextlib import ExitStack, contextmanager

import pytest
from django.db import connections, transaction
from django.test import Client
from django.test.utils import CaptureQueriesContext

from openclaw_web import clock
from tests.conftest import ALL
from tests.factories import T0
from tests.people.test_roles import PAGES
from tests.suite.sources import fail_for
from tests.whole.everything import fill
from tests.whole.test_accessibility import ADDRESSES, BEFORE_SIGN_IN, NO_PAGES

pytestmark = pytest.mark.django_db
MANY = 30
DAY_MS = 86_400_000

# Parts of pages, which a page asks for by itself.
PARTS = {
    "datasets:review_waiting": "/review/waiting/",
    "jobs:job_notice": "/operations/jobs/{job}/notice/",
    "datasets:session_samples": "/agents/main/sessions/{session}/samples/of/?turn=1&turn=2&turn=3",
    "gate:session_decisions": "/agents/main/sessions/{session}/decisions/of/?turn=1&turn=2&turn=3",
    "guardian:audit_lines": "/agents/main/writes/left/{write}/",
    "guardian:session_writes": "/agents/main/sessions/{session}/writes/of/?turn=1&turn=2&turn=3",
    "guardian:decision_writes": "/agents/main/writes/of/{decision}/",
    "operations:system_needs": "/operations/needs/",
    "ledger:session_live": "/agents/main/sessions/{session}/live/?live=0&id=r1&count=1&base=1&end=on",
}
ASKED = ADDRESSES | PARTS
NO_BUDGET = NO_PAGES.keys() - PARTS.keys()  # documents, files, and the word for a supervisor
# The most that each may ask, measured; two of them ask who is signed in.
BUDGETS = {
    "artifacts:artifact_detail": 11,
    "artifacts:artifact_list": 11,
    "automation:background_list": 4,
    "automation:cron_detail": 9,
    "automation:cron_list": 6,
    "automation:subagent_list": 5,
    "collecting:rejected_list": 3,
    "collecting:skipped_list": 5,
    "overview:memory_list": 5,
    "datasets:export_detail": 7,
    "datasets:export_list": 7,
    "datasets:review": 23,
    "datasets:review_keys": 3,
    "datasets:review_waiting": 3,
    "datasets:sample_detail": 19,
    "datasets:sample_list": 8,
    "datasets:samples_bulk": 7,
    "datasets:session_samples": 4,
    "gate:call_detail": 9,
    "gate:call_list": 10,
    "gate:decision_detail": 20,
    "gate:decision_list": 9,
    "gate:prompt_detail": 6,
    "gate:own_gate": 14,
    "guardian:own_guardian": 16,
    "guardian:proposal_list": 6,
    "guardian:proposal_detail": 12,
    "guardian:file_cure": 6,
    "guardian:handover_detail": 7,
    "guardian:rollback": 15,
    "guardian:session_rollback": 17,
    "guardian:write_retry": 20,
    "gate:replay_detail": 15,
    "gate:replay_list": 4,
    "gate:replay_new": 6,
    "gate:statistics": 18,
    "datasets:replay_verdicts": 13,
    "gate:session_decisions": 5,
    "guardian:correct": 14,
    "datasets:write_opinion": 36,
    "guardian:corrections": 8,
    "guardian:rule_list": 11,
    "guardian:rule_new": 5,
    "guardian:audit_detail": 26,
    "guardian:audit_lines": 12,
    "guardian:blame": 16,
    "guardian:chart": 6,
    "guardian:opted_out": 7,
    "guardian:file_history": 12,
    "guardian:audit_list": 10,
    "guardian:decision_writes": 4,
    "guardian:session_writes": 10,
    "guardian:file_detail": 19,
    "guardian:file_list": 13,
    "jobs:job_detail": 3,
    "jobs:job_list": 5,
    "jobs:job_notice": 3,
    "ledger:event_list": 9,
    "ledger:record_detail": 7,
    "ledger:savings": 16,
    "ledger:session_branches": 17,
    "ledger:session_detail": 12,
    "ledger:session_list": 10,
    "ledger:session_live": 11,
    "ledger:session_savings": 16,
    "ledger:session_steps": 8,
    "ledger:session_turns": 8,
    "ledger:step_detail": 5,
    "ledger:stored_list": 4,
    "ledger:turn_list": 8,
    "operations:artifact_store": 3,
    "operations:backup_list": 15,
    "operations:checkpoint_detail": 8,
    "operations:doctor": 13,
    "operations:lint_list": 10,
    "operations:retention": 12,
    "operations:system": 7,
    "operations:system_needs": 3,
    "overview:agent_list": 6,
    "overview:overview": 17,
    "people:account": 3,
    "people:audit_list": 7,
    "people:invitation_list": 3,
    "people:join": 1,
    "people:one_time_link": 1,
    "people:settings": 3,
    "people:sign_in": 1,
    "people:token_list": 3,
    "people:user_list": 4,
}
# Lists that are counted, with one query, when there is more than a page of them.
COUNTED = {"ledger:event_list", "people:audit_list"}
VALUE = re.compile(r"'(?:[^']|'')*'|\b\d+\b")


@contextmanager
def undone():
    """What the block writes to any file is taken back."""
    marks = {alias: transaction.savepoint(using=alias) for alias in ALL}
    yield
    for alias, mark in marks.items():
        transaction.savepoint_rollback(mark, using=alias)


def asked_for(client, address, *, is_part=False):
    """The queries of a page, without their values; what it writes is taken back."""
    with undone(), ExitStack() as stack:
        heard = [stack.enter_context(CaptureQueriesContext(connections[alias])) for alias in ALL]
        response = client.get(address, headers={"HX-Request": "true"} if is_part else {})
    assert response.status_code in ((200, 286) if is_part else (200,)), (address, response.content[:300])
    return [VALUE.sub("…", query["sql"]) for each in heard for query in each.captured_queries]


def asked_for_all(count, person, client):
    """{name: queries} of every page of a site with `count` rows of everything."""
    with undone():
        facts = fill(count, person)
        addresses = {name: where.format(**facts).replace("/main/", "/ada/") for name, where in ASKED.items()}
        client.get(addresses["ledger:session_list"])  # whether a file is up to date is asked once by each process
        return {
            name: asked_for(Client() if name in BEFORE_SIGN_IN else client, address, is_part=name in PARTS)
            for name, address in addresses.items()
        }


def repeated(queries):
    """The queries that were asked several times, as lines."""
    return "".join(f"\n    {count} x {sql[:300]}" for sql, count in Counter(queries).most_common(5) if count > 1)


def problems(name, few, many):
    """What is wrong with the queries of a page for one row, and for many."""
    may_add = 1 if name in COUNTED else 0
    if len(many) > len(few) + may_add:
        yield f"{name}  asks {len(few)} queries for one row and {len(many)} for {MANY}:{repeated(many)}"
    if (most := max(len(few), len(many))) > BUDGETS[name]:
        yield f"{name}  asks {most} queries, {BUDGETS[name]} at most:{repeated(many)}"


def test_every_page_has_a_budget():
    gets = {name for name, (method, _role) in PAGES.items() if method == "GET"}
    assert BUDGETS.keys() == ASKED.keys() == gets - NO_BUDGET


def test_no_page_asks_more_for_many_rows_than_for_one(as_admin, admin, settings, tmp_path, monkeypatch):
    settings.HOME_DIR = tmp_path
    monkeypatch.setattr(clock, "now_ms", lambda: T0 + DAY_MS)  # the day after what the rows tell of
    (tmp_path / "state").mkdir()
    few, many = (asked_for_all(count, admin, as_admin) for count in (1, MANY))
    fail_for(problem for name in ASKED for problem in problems(name, few[name], many[name]))
