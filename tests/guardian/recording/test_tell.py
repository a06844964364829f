"""`reflection guardian record`: writes of a plugin from a file or standard input."""

import io
import sys

import orjson
import pytest
from django.core.management import call_command
from django.core.management.base import CommandError

from guardian.models import GuardianStatus, WriteGuardianAudit
from people.configuration import keys as configuration
from tests.factories import T0

pytestmark = pytest.mark.django_db


@pytest.fixture
def record(capsys, ada):
    """Runs the verb: what it printed, and how it ended."""

    def run(*words):
        try:
            call_command("reflection", "guardian", "record", *words, "--agent", "ada")
        except CommandError as error:
            return capsys.readouterr().out + str(error), error.returncode
        return capsys.readouterr().out, 0

    return run


def told(number, **more):
    return {
        "id": f"w{number}", "session_id": "s1", "target_file": "USER.md", "candidate_fact": f"Fact {number}.",
        "status": "written", "created_at": T0 + number * 60_000,
    } | more  # fmt: skip


def rows():
    return WriteGuardianAudit.objects.using("agent_ada").order_by("created_at")


def test_lines_of_a_file_are_recorded(record, tmp_path):
    file = tmp_path / "writes.jsonl"
    file.write_bytes(b"\n".join(orjson.dumps(told(n, before=None, after=f"{n}\n")) for n in range(150)))
    assert record(str(file)) == ("150 writes recorded.\n", 0)
    assert rows().count() == 150
    assert set(GuardianStatus.objects.using("agent_ada").values_list("given_by", flat=True)) == {"command line"}
    assert record(str(file)) == ("0 writes recorded, 150 already known.\n", 0)


def test_standard_input_and_json(record, monkeypatch):
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(orjson.dumps([told(1), told(2)]))))
    out, status = record("--json")
    assert status == 0
    receipt = orjson.loads(out)
    assert (receipt["recorded"], receipt["known"], receipt["withheld"]) == (2, 0, 0)


def test_a_body_of_the_api_is_taken_as_it_is(record, tmp_path):
    (tmp_path / "writes.json").write_bytes(orjson.dumps({"writes": [told(1), told(2)]}))
    assert record(str(tmp_path / "writes.json")) == ("2 writes recorded.\n", 0)


@pytest.mark.parametrize(
    ("data", "said"),
    [
        (b"", "There is no write in what was given."),
        (b"{\n", "Line 1 is not JSON."),
        (orjson.dumps([told(1), told(2, status="perhaps")]), "Nothing was stored: 1 entry is not valid.\n  w2: status"),
        (orjson.dumps([told(1), told(2, before="x")]), "before and after belong together"),
    ],
)
def test_what_cannot_be_is_refused_whole(record, tmp_path, data, said):
    (tmp_path / "writes.json").write_bytes(data)
    out, status = record(str(tmp_path / "writes.json"))
    assert status == 3 and said in out
    assert not rows().exists()


def test_a_batch_that_is_refused_says_what_was_stored_before_it(record, tmp_path):
    (tmp_path / "first.json").write_bytes(orjson.dumps(told(120)))
    record(str(tmp_path / "first.json"))
    writes = [told(n) for n in range(120)] + [told(120, reason="Other.")]
    (tmp_path / "writes.json").write_bytes(orjson.dumps(writes))
    out, status = record(str(tmp_path / "writes.json"))
    assert status == 3 and "Before it: 100 writes recorded." in out
    assert rows().count() == 101


def test_while_it_is_off_nothing_is_recorded(record, tmp_path):
    configuration.put("writeGuardianAuditing.enabled", False)
    (tmp_path / "writes.json").write_bytes(orjson.dumps(told(1)))
    out, status = record(str(tmp_path / "writes.json"))
    assert status == 3 and "writeGuardianAuditing.enabled is off" in out
