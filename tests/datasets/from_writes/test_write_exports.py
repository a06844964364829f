"""What an export of writes teaches of what people said about them."""

import csv

import orjson
import pytest

from datasets.exporters.formats.checks import broken_rules
from datasets.exporting import exports
from datasets.from_writes import judging
from datasets.from_writes.judging import Correction
from datasets.models import DatasetSample
from openclaw_web.errors import Refused
from tests.datasets.conversations import tell_turns
from tests.datasets.exporting.branches import Steps
from tests.guardian.written import wrote

pytestmark = pytest.mark.django_db
DB = "agent_ada"
ASK = (
    "A fact is proposed for a memory file. Decide whether it should be written into this file. "
    "If so, answer with the whole file as it should be afterwards."
)


@pytest.fixture(autouse=True)
def home(settings, tmp_path, ada):
    settings.HOME_DIR = tmp_path
    (tmp_path / "state").mkdir()
    tell_turns(5)


@pytest.fixture
def judged(ada):
    """Right, wrong with a content, refused instead of written, wrong without anything known, and right to refuse."""
    for number in range(1, 6):
        told = {"turn_id": f"s1:u{number}", "candidate_fact": f"Likes\ntea {number}."}
        told |= {"status": "refused", "reason": "Known."} if number == 5 else {"reason": f"Reason {number}."}
        wrote(DB, number, None if number == 1 else b"# M\n", b"# M\ntea %d\n" % number, **told)
    say(ada, 1)
    say(ada, 2, "wrong", Correction("written", "Shorter.", "# M\ntee\n"))
    say(ada, 3, "wrong", Correction("refused", "In jest."))
    say(ada, 4, "wrong")
    say(ada, 5)


def say(agent, number, said="right", correction=None):
    return judging.say(agent, f"w{number}", said, by="ann", correction=correction)


def build(format_="alpaca", **choices):
    export = exports.request("one", format_, "guardian", by="ann", **{"train_split": 1.0, **choices})
    exports.build(export.id, Steps())
    export.refresh_from_db()
    assert export.state == "ready", export.sentence
    return export


def rows(export, ending="jsonl"):
    (path,) = exports.folder_of(export).glob(f"*.train.{ending}")
    found = [orjson.loads(line) for line in path.read_text().splitlines()]
    assert not any(broken_rules(export.export_format, row) for row in found)
    return found


PAIRS = [
    (
        "Fact: Likes tea 1.\nFile: MEMORY.md\nThere is no such file yet.",
        "Decision: written\nReason: Reason 1.\nFile: MEMORY.md\nContent:\n# M\ntea 1\n",
    ),
    (
        "Fact: Likes tea 2.\nFile: MEMORY.md\nCurrent content:\n# M\n",
        "Decision: written\nReason: Shorter.\nFile: MEMORY.md\nContent:\n# M\ntee\n",
    ),
    ("Fact: Likes tea 3.\nFile: MEMORY.md\nCurrent content:\n# M\n", "Decision: refused\nReason: In jest."),
    ("Fact: Likes tea 5.\nFile: MEMORY.md\nCurrent content:\n# M\n", "Decision: refused\nReason: Known."),
]


def test_alpaca(judged):
    found = rows(build(duplicates="keep", only_approved=False))
    assert [(row["input"], row["output"]) for row in found] == PAIRS
    assert {row["instruction"] for row in found} == {ASK}
    assert [row["turn_number"] for row in found] == ["1", "2", "3", "5"]


@pytest.mark.parametrize(("format_", "column", "key"), [("sharegpt", "conversations", "value"),
                                                        ("openai", "messages", "content")])  # fmt: skip
def test_conversations(judged, format_, column, key):
    found = rows(build(format_, duplicates="keep"))
    assert [tuple(said[key] for said in row[column]) for row in found] == [(f"{ASK}\n{q}", a) for q, a in PAIRS]


def test_what_is_left_out_is_counted(judged):
    export = build(only_approved=False)
    excluded = {one["reason"]: one["count"] for one in orjson.loads(export.manifest_json)["excluded"]}
    assert excluded["write_incorrect"] == 1


def test_content_that_nobody_knows_is_not_taught(ada):
    wrote(DB, 1, b"# M\n", b"# M\ntea\n", turn_id="s1:u1", status="refused", reason="No.")
    say(ada, 1, "wrong", Correction("written", "True."))
    with pytest.raises(Refused, match="nobody knows what the file should hold"):
        export = exports.request("one", "alpaca", "guardian", by="ann")
        exports.build(export.id, Steps())


def test_raw_and_csv_hold_the_sample(judged):
    row = rows(build("raw", duplicates="keep"))[0]
    assert row["sampleType"] == "write_guardian_decision" and row["content"]["writtenContent"] == "# M\ntea 1\n"
    export = build("csv", duplicates="keep")
    (path,) = exports.folder_of(export).glob("*.train.csv")
    table = list(csv.DictReader(path.read_text(encoding="utf-8-sig").splitlines()))
    assert table


def test_other_tasks_take_no_writes(judged):
    for task in ("reply", "gate"):
        export = exports.request("one", "alpaca", task, by="ann", sample_types=["write_guardian_decision"])
        with pytest.raises(Refused):
            exports.build(export.id, Steps())


def test_a_verdict_after_the_signature_was_made_is_still_exported(ada):
    wrote(DB, 1, b"# M\n", b"# M\ntea\n", turn_id="s1:u1")
    say(ada, 1)
    say(ada, 1, "wrong", Correction("refused", "In jest."))
    assert [row["output"] for row in rows(build())] == ["Decision: refused\nReason: In jest."]
    assert DatasetSample.objects.count() == 1
