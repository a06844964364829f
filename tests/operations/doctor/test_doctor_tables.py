"""Every table of this site is declared for the doctor, once, as what its rows are."""

from django.apps import apps

from ledger.rebuild import reimport
from openclaw_web.sqlite import integrity
from operations.doctor import tables
from operations.doctor.sources import row_comparison
from operations.doctor.sources.row_comparison import Rows

KINDS = (tables.READ_AGAIN, tables.DERIVED, tables.ENTERED, tables.KEPT)
OTHERS = {"django", "auth", "axes"}  # whose tables begin so: of Django and of what counts failed sign-ins


def test_every_table_is_of_one_kind():
    ours = {model._meta.db_table for model in apps.get_models()}
    ours = {table for table in ours if table.partition("_")[0] not in OTHERS}
    declared = [table for kind in KINDS for table in kind]
    assert sorted(declared) == sorted(ours)


def test_what_is_compared_with_sources_is_declared_so():
    checks = tables.READ_AGAIN | tables.DERIVED
    rows = {model._meta.db_table for model in reimport.EXCHANGED} | {"artifacts"}
    assert {table for table, check in checks.items() if check == "session_sums"} == rows
    by_key = {rows.name for rows in vars(row_comparison).values() if isinstance(rows, Rows)} - rows
    assert {table for table, check in checks.items() if check == "lost_rows"} == by_key | {"workspace_files"}


def test_each_check_that_is_named_exists():
    known = {check.name for _app, check in integrity.list_checks()}
    named = set((tables.READ_AGAIN | tables.DERIVED).values()) - {""}
    assert named - known == tables.OF_SOURCES


def test_a_receipt_names_what_its_check_does_not_compare():
    plain, deep = (set(tables.list_not_compared(is_deep=is_deep)) for is_deep in (False, True))
    assert {"sessions", "cron_jobs", "episode_heads"} <= plain - deep
    assert {"rejected_records", "problems"} <= deep < plain
    assert not {"memory_spans", "newest_sessions", "newest_writes", "tool_days"} & plain  # `sums` compares them
