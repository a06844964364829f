"""Which sessions a run counts as its own when runs before it were broken off or failed."""

import orjson
import pytest

from collecting import migration_runs
from collecting.models import MigrationRun

pytestmark = pytest.mark.django_db
ROOT = "/oc"


def began(before):
    return migration_runs.begin_run(root=ROOT, by="", before=before)


def known(run):
    return orjson.loads(MigrationRun.objects.get(id=run.id).before_json)


def test_it_works():
    run = began({"ada": ["one"]})
    assert (known(run), run.status) == ({"ada": ["one"]}, "running")


def test_what_a_killed_run_imported_is_the_next_ones():
    killed = began({"ada": ["one"]})
    run = began({"ada": ["one", "two"], "bob": ["three"]})
    assert known(run) == {"ada": ["one"], "bob": []}
    killed.refresh_from_db()
    assert (killed.status, "interrupted" in killed.message) == ("failed", True)


def test_what_a_failed_run_imported_is_the_next_ones():
    failed = began({"ada": ["one"]})
    migration_runs.finish_run(failed, "failed", "No room.", {"sessions": {"ada": ["two"]}})
    run = began({"ada": ["one", "two", "by a collect"]})
    assert known(run) == {"ada": ["by a collect", "one"]}
    migration_runs.finish_run(run, "completed", "", {"sessions": {"ada": ["two"]}})
    assert known(began({"ada": ["one", "two"]})) == {"ada": ["one", "two"]}


def test_runs_of_another_home_do_not_count():
    failed = migration_runs.begin_run(root="/elsewhere", by="", before={})
    migration_runs.finish_run(failed, "failed", "No room.", {"sessions": {"ada": ["one"]}})
    assert known(began({"ada": ["one"]})) == {"ada": ["one"]}
