"""`settings import` and its API: the spec's configuration, our own, and wrong files."""

import json
from pathlib import Path

import orjson
import pytest
from django.core.management import CommandError, call_command

from jobs import automatic_tasks
from jobs.models import JobRun
from openclaw_web import clock
from people.configuration import setting_values as configuration
from people.configuration.catalogue import QUALITY_WEIGHTS, REDACT_PATTERNS
from people.models.bookkeeping import KeyValue

SPEC = Path(__file__).parents[1] / "data" / "reflection-settings.json5"
SECRET = "sk-fake-canary"
WEIGHTS = ("conversationClarity", "decisionConfidence", "factVerifiability")
TAKEN = {
    "datasetCollection.autoCollect": True,
    "datasetCollection.enabled": True,
    "datasetCollection.negativeCriteria.gateProposedWrite": True,
    "datasetCollection.negativeCriteria.guardianRefused": True,
    "datasetCollection.negativeCriteria.hasBehaviorCorrection": True,
    "datasetCollection.positiveCriteria.minQualityScore": 0.7,
    "datasetCollection.positiveCriteria.noUserObjection": True,
    "datasetCollection.positiveCriteria.notRolledBackWithinDays": 7,
    "datasetCollection.positiveCriteria.wasWritten": True,
    "datasetCollection.privacyFiltering.redactPatterns": REDACT_PATTERNS,
    "datasetCollection.qualityScoring.weights": QUALITY_WEIGHTS,
    "retentionDays": 365,
    "jsonlExport.enabled": True,
    "jsonlExport.schedule": "0 0 * * *",
    "jsonlExport.retentionDays": 30,
    "memoryGate.windowSize": 10,
    "llm.model": "x-ai/grok-4.1-fast",
    "memoryGate.enabled": True,
    "memoryGateAuditing.enableStats": True,
    "memoryGateAuditing.enabled": True,
    "memoryGateAuditing.storeRawLLMResponse": True,
    "writeGuardianAuditing.enableRollback": True,
    "writeGuardianAuditing.enabled": True,
    "writeGuardianAuditing.maxSnapshotsPerFile": 100,
    "writeGuardianAuditing.storeFileSnapshots": True,
}
pytestmark = pytest.mark.django_db


@pytest.fixture
def import_text(capsys, tmp_path):
    """Imports a text with the command; returns its receipt and exit status."""

    def run_import(text, **options):
        (tmp_path / "settings.json").write_bytes(text if isinstance(text, bytes) else text.encode())
        status = 0
        try:
            call_command("settings", "import", str(tmp_path / "settings.json"), json=True, **options)
        except CommandError as error:
            status = error.returncode
        return orjson.loads(capsys.readouterr().out), status

    return run_import


def read_settings():
    return {row.key: orjson.loads(row.value_json) for row in KeyValue.objects.filter(scope="settings")}


def test_the_configuration_of_the_spec_is_taken_word_for_word(import_text):
    receipt, status = import_text(SPEC.read_bytes())
    assert status == 0 and read_settings() == TAKEN
    assert {row["key"]: row["value"] for row in receipt["settings"]} == TAKEN
    why = {entry["key"]: entry["why"] for entry in receipt["ignored"]}
    assert receipt["ignored_count"] == len(why) == 15
    assert why["llm.apiKey"] == "secret" and "unknown" not in why.values()
    assert {name for name, reason in why.items() if reason == "elsewhere"} == {
        *(
            "workspaceDir",
            "storage.type",
            "storage.sqlite.dbPath",
            "storage.sqlite.walMode",
            "storage.sqlite.autoVacuum",
        ),
        "llm.baseURL",
        *("datasetCollection.privacyFiltering.enabled", "datasetCollection.qualityScoring.enabled"),
        *("storage.sqlite.busyTimeoutMs", "storage.sqlite.cacheSizePages", "storage.sqlite.mmapSizeMB"),
    }
    assert all(entry["reason"].endswith(".") for entry in receipt["ignored"])


def test_the_plugins_entry_of_a_whole_openclaw_json_is_taken_and_nothing_else(import_text):
    entry = SPEC.read_text().replace("YOUR_API_KEY", SECRET)
    whole = "{models: {apiKey: '%s'}, retentionDays: 9, plugins: {entries: {'openclaw-reflection': %s, other: {x: 1}}}}"
    receipt, status = import_text(whole % (SECRET, entry))
    assert status == 0 and read_settings() == TAKEN and SECRET not in str(receipt)
    assert receipt["ignored_count"] == 15


def test_a_dry_run_tells_what_was_before_and_sets_nothing(import_text):
    receipt, status = import_text('{"memoryGate": {"windowSize": 20}}', dry_run=True)
    assert status == 0 and receipt["dry_run"] and not read_settings()
    assert receipt["settings"] == [{"key": "memoryGate.windowSize", "value": 20, "default": 10, "before": 10}]


def test_a_name_that_nobody_knows_is_named_and_the_rest_is_taken(import_text, capsys):
    names = {"memoryGate.windowSize": 20, "memoryGate.windowsize": 5, "my\0": {"password": SECRET}}
    receipt, status = import_text(json.dumps(names))
    assert (status, read_settings()) == (4, {"memoryGate.windowSize": 20})
    assert [(entry["key"], entry["why"]) for entry in receipt["ignored"]] == [
        ("memoryGate.windowsize", "unknown"),
        ("my?.password", "secret"),
    ]
    assert SECRET not in str(receipt)


@pytest.mark.parametrize(
    ("text", "reasons"),
    [
        ('{"memoryGate.windowSize": 20, "storage": {"retentionDays": "many", "jsonlExport": {"enabled": 1}}}', 2),
        ('{"memoryGate.windowSize": 20, "storage.jsonlExport.schedule": "0 0 * * 1"}', 1),
        ('{"memoryGate.windowSize": 20, "retentionDays": null}', 1),
        ('{"memoryGate.windowSize": 20, "backup": {"folder": {"a": 1}}}', 1),
        ('{"memoryGate.windowSize": 20, "memoryGate": {"windowSize": 21}}', 1),
        ('{"llm": {"apiKey": "sk-fake-canary"}, "nothing": 1}', 2),
        ('{"plugins": {"entries": {"other": {"memoryGate.windowSize": 20}}}}', 0),
        ("[1]", 0),
        ("{memoryGate: {windowSize: 20}, apiKey: 'sk-fake-canary'", 0),
        (b"{'apiKey': 'sk-fake-canary\xff'}", 0),
        (b"{memoryGate: {windowSize: 20}} //" + b"x" * 1024**2, 0),
        ('{"a": ' * 900 + "1" + "}" * 900, 1),
        ("{a:" * 900, 0),
    ],
)
def test_what_does_not_fit_sets_nothing(import_text, text, reasons):
    receipt, status = import_text(text)
    assert (status, receipt["ok"], len(receipt["reasons"])) == (3, False, reasons)
    assert not read_settings() and SECRET not in str(receipt) and receipt["error"].endswith(".")


def test_a_long_name_with_many_below_it_is_cut(import_text):
    names = dict.fromkeys(map(str, range(50_000)), 1)
    receipt, status = import_text(json.dumps({"retentionDays": 0, "x" * 400_000: names}))
    assert (status, receipt["ignored_count"], len(receipt["ignored"])) == (4, 50_000, 200)
    assert max(len(entry["key"]) for entry in receipt["ignored"]) == 300


def test_a_file_that_is_not_there(capsys):
    with pytest.raises(CommandError, match="was not read: there is no such file"):
        call_command("settings", "import", "/nowhere/settings.json")


def test_a_dry_run_is_for_imports(capsys):
    with pytest.raises(CommandError, match="set has no --dry-run") as error:
        call_command("settings", "set", "retentionDays", "3", "--dry-run")
    assert error.value.returncode == 2 and not read_settings()


def test_the_words_tell_what_changed_and_what_was_left_out(capsys):
    call_command("settings", "import", str(SPEC))
    out = capsys.readouterr().out
    assert "retentionDays = 365 (before: 0)\n" in out and "memoryGate.windowSize = 10\n" in out
    assert "Not imported:\n" in out and "  llm.apiKey: Secrets are not stored here.\n" in out
    assert "YOUR_API_KEY" not in out


class TestApi:
    def test_it_does_the_same(self, as_admin):
        body = {"settings": {"enabled": True, "config": {"storage": {"retentionDays": 30}, "llm": {"apiKey": SECRET}}}}
        response = as_admin.post("/api/v1/operations/settings/import", body, "application/json")
        assert response.status_code == 200 and read_settings() == {"retentionDays": 30} and SECRET not in response.text
        assert [(row["key"], row["value"]) for row in response.json()["items"]] == [("retentionDays", 30)]
        assert {entry["key"] for entry in response.json()["ignored"]} == {"enabled", "llm.apiKey"}

    def test_a_dry_run_and_a_refusal_set_nothing(self, as_admin):
        for status, days, is_dry in ((200, 30, True), (409, -1, False)):
            body = json.dumps({"settings": {"retentionDays": days}, "dry_run": is_dry})
            assert as_admin.post("/api/v1/operations/settings/import", body, "application/json").status_code == status
            assert not read_settings()


def test_daily_files_are_written_at_the_time_that_was_set(later):
    def due():
        return {state.kind: state.due_at for state in automatic_tasks.read_tasks()}["jsonl_export"]

    configuration.put_all({"jsonlExport.enabled": True, "jsonlExport.schedule": "30 2 * * *"})
    automatic_tasks.start_due()
    job = JobRun.objects.get(kind="jsonl_export")
    JobRun.objects.update(state="finished", finished_at=job.created_at)
    assert job.created_at < due() <= job.created_at + 86_400_000
    assert due() % 86_400_000 == (2 * 60 + 30) * 60_000
    at = due()
    later(hours=(at - clock.now_ms()) / 3_600_000, seconds=1)
    JobRun.objects.update(created_at=at)
    assert due() == at + 86_400_000
