"""Invalid JSON in any JSON column hides only its value, not the rest of the row.

Pages and the API are tested with such text in every column.
"""

import re
from pathlib import Path
from types import SimpleNamespace

import pytest
from django.apps import apps
from django.conf import settings
from django.test import override_settings

from collecting import migration_runs
from collecting.models import MigrationRun, MigrationSource
from datasets.exports import exports, verification
from datasets.exports.verification import CHECKS
from datasets.models import DatasetExport
from guardian.models import RollbackIntent
from guardian.recording import reports, snapshot_pruning
from openclaw_web import clock
from openclaw_web.sqlite import statements
from openclaw_web.sqlite.json_columns import JsonProperty
from operations.doctor.store import integrity_checks
from tests.factories import T0, UserFactory
from tests.people.site_surface import ROOT
from tests.people.test_roles import OPERATIONS
from tests.suite.module_rows import keep_rows, roll_back_rows
from tests.suite.sources import fail_for
from tests.whole.site_rows import DB, fill_everything
from tests.whole.test_pages import ASKED, DAY_MS, sign_in_client

BROKEN = ('{"half', "7")  # the second is JSON, but of a type that no column has
UNREAD = {"backup_runs.manifest_json"}  # the text of a manifest, stored unchanged
# The fact for an argument of an API address, by the segment before it.
PLACES = {
    "agents": "agent",
    "artifacts": "artifact",
    "calls": "call",
    "checkpoints": "checkpoint",
    "cron": "cron",
    "decisions": "decision",
    "exports": "export",
    "files": "file",
    "handovers": "handover",
    "jobs": "job",
    "prompts": "prompt",
    "proposals": "proposal",
    "replays": "replay",
    "samples": "sample",
    "sessions": "session",
    "writes": "write",
}


def list_json_columns():
    """Yield (model, column) of every decoded column."""
    for table in apps.get_models():
        for decoded in (value for base in table.__mro__ for value in vars(base).values()):
            if isinstance(decoded, JsonProperty):
                yield table, decoded.column


def overwrite_columns(text):
    """Write `text` to each JSON column of all rows; triggers that forbid it are dropped first."""
    for db in (DB, "default"):
        for (name,) in statements.read_rows(db, "SELECT name FROM sqlite_master WHERE type = 'trigger'"):
            statements.run(db, f"DROP TRIGGER {name}")
    for table, column in list_json_columns():
        db = DB if table._meta.app_label in settings.AGENT_APPS else "default"
        table._base_manager.using(db).update(**{column: text})


def build_address(operation, facts):
    """The address of an API operation with the facts of the site."""
    path = operation.partition(" ")[2]
    return ROOT + re.sub(r"([\w-]+)/{\w+}", lambda match: f"{match[1]}/{facts.get(PLACES.get(match[1]), 'x')}", path)


def list_addresses(facts):
    """Yield the addresses of every page and every GET operation."""
    yield from (page.filled(facts).address for page in ASKED.values())
    yield from (build_address(operation, facts) for operation in OPERATIONS if operation.startswith("GET"))


@pytest.fixture(scope="module")
def site(django_db_setup, django_db_blocker, tmp_path_factory):
    """An admin's browser, and the addresses of a site with two rows of everything."""
    home = tmp_path_factory.mktemp("broken")
    (home / "state").mkdir()
    with keep_rows(django_db_blocker), pytest.MonkeyPatch.context() as patch, override_settings(HOME_DIR=home):
        patch.setattr(clock, "now_ms", lambda: T0 + DAY_MS)
        client = sign_in_client("admin")
        facts = fill_everything(2, UserFactory(username="admin", role="admin"))
        yield client, list(list_addresses(facts))


@pytest.mark.parametrize("text", BROKEN)
def test_what_is_no_json_is_absent(site, text):
    client, places = site
    with roll_back_rows():
        overwrite_columns(text)
        answers = {place: client.get(place).status_code for place in places}
    fail_for(f"{place}  answers {status}" for place, status in answers.items() if status >= 500)


@pytest.mark.parametrize("text", BROKEN)
def test_what_something_rests_on_is_not_taken_for_absent(site, text):
    about = {"id": "broken", "file_name": "USER.md", "draft_name": ".x", "created_at": T0}
    with roll_back_rows():
        RollbackIntent.objects.using(DB).create(**about, meanwhile_json=text, audits_json=text)
        MigrationRun.objects.create(id="broken", status="running", root="/there", started_at=T0, before_json=text)
        ignored = {"source_key": "broken", "root": "/there", "status": "ignored", "last_run_id": "broken"}
        MigrationSource.objects.create(**ignored, report_json=text)
        export = {"id": "broken", "export_format": "alpaca", "sample_types": "[]", "file_path": "exports/broken"}
        DatasetExport.objects.create(**export, filters=text, exported_at=T0)
        for act in (
            lambda: snapshot_pruning.prune_snapshots(DB),
            lambda: reports.may_replace(DB, "w1", "w2"),
            lambda: migration_runs.begin_run(root="/there", by="ada", before={}),
            lambda: migration_runs.find_ignored_sessions(Path("/there")),
            lambda: exports.build_export("broken", None),
        ):
            with pytest.raises(ValueError):
                act()


@pytest.mark.parametrize("text", BROKEN)
def test_an_export_whose_manifest_cannot_be_read_is_not_intact(site, text):
    with roll_back_rows():
        about = {"export_format": "alpaca", "sample_types": "[]", "file_path": "exports/broken", "state": "ready"}
        export = DatasetExport.objects.create(id="broken", **about, manifest_json=text, exported_at=T0)
        result = verification.verify(export, SimpleNamespace(update=lambda *_done: None))
        (named,) = [row for row in CHECKS[0].find("default") if row.startswith(f"{export.export_name}: manifest.json")]
    assert not result["is_intact"] and named.endswith("has different content")


@pytest.mark.parametrize("text", BROKEN)
def test_a_deep_look_of_the_doctor_names_it(site, text):
    with roll_back_rows():
        assert [row for db in (DB, "default") for row in integrity_checks.find_damaged_json(db)] == []
        overwrite_columns(text)
        rows = {row.split()[0] for db in (DB, "default") for row in integrity_checks.find_damaged_json(db)}
        filled = {table._meta.db_table for table, column in list_json_columns() if is_damaged(table, column, text)}
    assert rows == filled and len(filled) > 20


def is_damaged(table, column, text):
    """Whether a table has rows, and its column must not hold this text."""
    db = DB if table._meta.app_label in settings.AGENT_APPS else "default"
    decoded = next(value for base in table.__mro__ for value in vars(base).values() if is_decoder_of(value, column))
    return (decoded.kind is not object or text != "7") and table._base_manager.using(db).exists()


def is_decoder_of(value, column):
    return isinstance(value, JsonProperty) and value.column == column


def test_every_column_of_json_is_decoded():
    fields = [field for table in apps.get_models() for field in table._meta.local_fields]
    named = {f"{field.model._meta.db_table}.{field.name}" for field in fields if field.name.endswith("_json")}
    assert named - {f"{table._meta.db_table}.{column}" for table, column in list_json_columns()} == UNREAD
