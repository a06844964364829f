"""Sessions that a run counts as its own after interrupted or failed runs."""

import orjson
import pytest

from collecting import migration_runs
from collecting.models import MigrationRun

pytestmark = pytest.mark.django_db
ROOT = "/oc"


def begin_run(before):
    return migration_runs.begin_run(root=ROOT, by="", before=before)


def read_before(run):
    return orjson.loads(MigrationRun.objects.get(id=run.id).before_json)


def test_it_works():
    run = begin_run({"ada": ["one"]})
    assert (read_before(run), run.status) == ({"ada": ["one"]}, "running")


def test_what_a_killed_run_imported_is_the_next_ones():
    killed = begin_run({"ada": ["one"]})
    run = begin_run({"ada": ["one", "two"], "bob": ["three"]})
    assert read_before(run) == {"ada": ["one"], "bob": []}
    killed.refresh_from_db()
    assert (killed.status, "interrupted" in killed.message) == ("failed", True)


def test_what_a_failed_run_imported_is_the_next_ones():
    failed = begin_run({"ada": ["one"]})
    migration_runs.finish_run(failed, "failed", "No room.", {"sessions": {"ada": ["two"]}})
    run = begin_run({"ada": ["one", "two", "by a collect"]})
    assert read_before(run) == {"ada": ["by a collect", "one"]}
    migration_runs.finish_run(run, "completed", "", {"sessions": {"ada": ["two"]}})
    assert read_before(begin_run({"ada": ["one", "two"]})) == {"ada": ["one", "two"]}


def test_runs_of_another_home_do_not_count():
    failed = migration_runs.begin_run(root="/elsewhere", by="", before={})
    migration_runs.finish_run(failed, "failed", "No room.", {"sessions": {"ada": ["one"]}})
    assert read_before(begin_run({"ada": ["one"]})) == {"ada": ["one"]}
