"""Every table of this site is declared for the doctor, once, as what its rows are."""

from django.apps import apps

from openclaw_web.sqlite import integrity, tables

KINDS = (tables.READ_AGAIN, tables.DERIVED, tables.ENTERED, tables.KEPT)
OTHERS = {"django", "auth", "axes"}  # whose tables begin so: of Django and of what counts failed sign-ins


def test_every_table_is_of_one_kind():
    ours = {model._meta.db_table for model in apps.get_models()}
    ours = {table for table in ours if table.partition("_")[0] not in OTHERS}
    declared = [table for kind in KINDS for table in kind]
    assert sorted(declared) == sorted(ours)


def test_each_check_that_is_named_exists():
    known = {check.name for _app, check in integrity.list_checks()}
    named = set((tables.READ_AGAIN | tables.DERIVED).values()) - {""}
    assert named - known == {tables.OF_SESSIONS, tables.OF_SOURCES}


def test_a_receipt_names_what_its_check_does_not_compare():
    plain, deep = (set(tables.list_not_compared(is_deep=is_deep)) for is_deep in (False, True))
    assert {"sessions", "cron_jobs", "prompt_reports", "rejected_records", "episode_heads"} <= plain - deep
    assert {"collector_skipped", "problems"} <= deep < plain
    assert not {"memory_spans", "newest_sessions", "newest_writes", "tool_days"} & plain  # `sums` compares them
