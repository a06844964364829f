"""Exports of writes teach the verdicts of people."""

import csv
import re
from html import unescape

import orjson
import pytest

from datasets.exports import exports
from datasets.kinds import verdict_service
from datasets.kinds.write import WRITE, Correction
from datasets.models import DatasetSample
from guardian.models import WriteGuardianAudit
from guardian.services import store_version
from openclaw_web.errors import Refused
from tests.datasets.conversations import store_turns
from tests.datasets.exports.export_helpers import build_export, excluded_samples, read_rows
from tests.guardian.corrections.correction_rows import create_correction
from tests.guardian.write_rows import T0, create_write

pytestmark = pytest.mark.django_db
DB = "agent_ada"
ASK = (
    "A fact is proposed for a memory file. Decide whether it should be written into this file. "
    "If so, answer with the whole file as it should be afterwards."
)


@pytest.fixture(autouse=True)
def turns(own_home):
    store_turns(5)


@pytest.fixture
def judged(ada):
    """Five writes with verdicts, of every kind.

    Right, wrong with a content, refused instead of written, wrong without a correction, and right to refuse.
    """
    for number in range(1, 6):
        columns = {"turn_id": f"s1:u{number}", "candidate_fact": f"Likes\ntea {number}."}
        columns |= {"status": "refused", "reason": "Known."} if number == 5 else {"reason": f"Reason {number}."}
        create_write(DB, number, None if number == 1 else b"# M\n", b"# M\ntea %d\n" % number, **columns)
    judge_write(ada, 1)
    judge_write(ada, 2, "wrong", Correction("written", "Shorter.", "# M\ntee\n"))
    judge_write(ada, 3, "wrong", Correction("refused", "In jest."))
    judge_write(ada, 4, "wrong")
    judge_write(ada, 5)


def judge_write(agent, number, verdict="right", correction=None):
    return verdict_service.give_verdict(WRITE, agent, f"w{number}", verdict, by="ann", correction=correction)


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
    rows = read_rows(build_export(task="guardian", duplicates="keep", only_approved=False))
    assert [(row["input"], row["output"]) for row in rows] == PAIRS
    assert {row["instruction"] for row in rows} == {ASK}
    assert [row["turn_number"] for row in rows] == ["1", "2", "3", "5"]


@pytest.mark.parametrize(("format_", "column", "key"), [("sharegpt", "conversations", "value"),
                                                        ("openai", "messages", "content")])  # fmt: skip
def test_conversations(judged, format_, column, key):
    rows = read_rows(build_export(format_, "guardian", duplicates="keep"))
    assert [tuple(message[key] for message in row[column]) for row in rows] == [(f"{ASK}\n{q}", a) for q, a in PAIRS]


def test_what_is_left_out_is_counted(judged):
    export = build_export(task="guardian", only_approved=False)
    excluded = {entry["reason"]: entry["count"] for entry in orjson.loads(export.manifest_json)["excluded"]}
    assert excluded["write_incorrect"] == 1


def test_a_write_that_was_rolled_back_is_taught_corrected_or_when_asked(judged):
    WriteGuardianAudit.objects.using(DB).filter(status="written").update(status="rolled_back")
    export = build_export(task="guardian", duplicates="keep")
    assert [row["turn_number"] for row in read_rows(export)] == ["2", "3", "5"]
    assert excluded_samples(export)["rolled_back"] == [DatasetSample.objects.get(audit_id="w1").id]
    export = build_export(task="guardian", name="all", duplicates="keep", include=("rolled_back",))
    assert [row["turn_number"] for row in read_rows(export)] == ["1", "2", "3", "5"]


def test_content_that_nobody_knows_is_not_taught(ada):
    create_write(DB, 1, b"# M\n", b"# M\ntea\n", turn_id="s1:u1", status="refused", reason="No.")
    judge_write(ada, 1, "wrong", Correction("written", "True."))
    with pytest.raises(Refused, match="nobody knows what the file should hold"):
        build_export(task="guardian")


def test_raw_and_csv_hold_the_sample(judged):
    row = read_rows(build_export("raw", "guardian", duplicates="keep"))[0]
    assert row["sampleType"] == "write_guardian_decision" and row["content"]["writtenContent"] == "# M\ntea 1\n"
    export = build_export("csv", "guardian", duplicates="keep")
    (path,) = exports.folder_of(export).glob("*.train.csv")
    table = list(csv.DictReader(path.read_text(encoding="utf-8-sig").splitlines()))
    assert table


def test_other_tasks_take_no_writes(judged):
    for task in ("reply", "gate"):
        with pytest.raises(Refused):
            build_export(task=task, sample_types=["write_guardian_decision"])


def test_a_verdict_after_the_signature_was_made_is_still_exported(ada):
    create_write(DB, 1, b"# M\n", b"# M\ntea\n", turn_id="s1:u1")
    judge_write(ada, 1)
    judge_write(ada, 1, "wrong", Correction("refused", "In jest."))
    assert [row["output"] for row in read_rows(build_export(task="guardian"))] == [
        "Decision: refused\nReason: In jest."
    ]
    assert DatasetSample.objects.count() == 1


MEMORY = b"# Memory\n\n- Opens at six.\n- Sells rye.\n"
WRONG = MEMORY + b"- The shop asks for slots.\n"
TOOLS = "# Tools\n\n* `ls` lists.\n"
ELSEWHERE = {"status": "written", "file": "TOOLS.md", "reason": "How the site works."}
SENT = {"status": "approved", "guardian_label": "corrected", "guardian_status": "written", "guardian_reason": "So."}


def add_misplaced_write(agent, *, tools=TOOLS, first=True, **changes):
    """A write that belongs into another file, with its sample.

    With `first` it was corrected before it became a sample.
    """
    if tools is not None:
        store_version(DB, "TOOLS.md", tools.encode(), modified_ms=T0)
    store_version(DB, "TOOLS.md", b"# Much later\n", modified_ms=T0 + 9_000_000)
    create_write(DB, 1, MEMORY, WRONG, turn_id="s1:u1", candidate_fact="The shop asks for slots.")
    if first:
        create_correction(**(ELSEWHERE | changes))
    sample = judge_write(agent, 1, "none")
    if not first:
        create_correction(**(ELSEWHERE | changes))
        judge_write(agent, 1, "wrong")
    return sample


def read_prefilled(page):
    match = re.search(r'name="guardian_content"[^>]*>\n?(.*?)</textarea>', page.text, re.DOTALL)
    return unescape(match[1])


def answers(export):
    return [row["output"].partition("\nFile: ")[2] for row in read_rows(export)]


@pytest.mark.parametrize("first", [True, False])
def test_a_correction_to_another_file_teaches_that_file(ada, as_reviewer, first):
    sample = add_misplaced_write(ada, first=first)
    expected = TOOLS + "* The shop asks for slots.\n"
    for address in (f"/samples/{sample.id}/", f"/review/?sample={sample.id}"):
        page = as_reviewer.get(address)
        assert read_prefilled(page) == expected
        assert "What it should have been" in page.text and "How the site works." in page.text
    typed = expected + "* It asks twice.\n"
    sent = SENT | {"guardian_file": "TOOLS.md", "guardian_content": typed.replace("\n", "\r\n")}
    assert as_reviewer.post(f"/samples/{sample.id}/label/", sent).status_code == 302
    assert answers(build_export(task="guardian")) == [f"TOOLS.md\nContent:\n{typed}"]
    page = as_reviewer.get(f"/samples/{sample.id}/").text  # what is taught, not the correction before it
    assert 'dir="auto">So.</div>' in page and 'dir="auto">How the site works.</div>' not in page
    assert "It asks twice." in page.partition('name="guardian_content"')[0]


@pytest.mark.parametrize(
    "content", [WRONG.decode(), MEMORY.decode(), "# Memory\n- Opens at six.\n- Sells rye.\n- Else.\n"]
)
def test_no_file_gets_the_content_of_another(ada, as_reviewer, content):
    sample = add_misplaced_write(ada)
    sent = SENT | {"guardian_file": "TOOLS.md", "guardian_content": content}
    answer = as_reviewer.post(f"/samples/{sample.id}/label/", sent)
    assert answer.status_code == 422 and "This is the content of MEMORY.md" in answer.text
    stored = orjson.dumps({"status": "written", "targetFile": "TOOLS.md", "reason": "", "content": content}).decode()
    columns = {"guardian_label": "corrected", "guardian_corrected_output": stored, "annotation_status": "approved"}
    DatasetSample.objects.filter(id=sample.id).update(**columns)  # as earlier versions stored it
    assert read_prefilled(as_reviewer.get(f"/samples/{sample.id}/")) == TOOLS + "* The shop asks for slots.\n"
    with pytest.raises(Refused, match="gives one file the content of another"):
        build_export(task="guardian")
    (row,) = read_rows(build_export("raw", name="all", sample_types=[sample.sample_type]))
    assert row["guardianCorrectedOutput"] == {
        "status": "written", "targetFile": "TOOLS.md", "reason": "", "contentLeftOut": "content_elsewhere"
    }  # fmt: skip


def test_a_file_that_nobody_knows_stays_empty_and_is_left_out(ada, as_reviewer):
    sample = add_misplaced_write(ada, tools=None)
    page = as_reviewer.get(f"/samples/{sample.id}/")
    assert read_prefilled(page) == "" and "Nobody knows what TOOLS.md should hold" in page.text
    sent = SENT | {"guardian_file": "TOOLS.md", "guardian_content": ""}
    assert as_reviewer.post(f"/samples/{sample.id}/label/", sent).status_code == 302
    with pytest.raises(Refused, match="nobody knows what the file should hold"):
        build_export(task="guardian")


@pytest.mark.parametrize(
    ("changes", "content"),
    [
        ({"file": "MEMORY.md", "fact": "Asks for 1 slot."}, MEMORY.decode() + "- Asks for 1 slot.\n"),
        ({"file": "MEMORY.md", "status": "refused"}, MEMORY.decode()),
        ({"fact": "The shop asks once."}, TOOLS + "* The shop asks once.\n"),
    ],
)
def test_a_correction_begins_without_the_wrong_line(ada, as_reviewer, changes, content):
    sample = add_misplaced_write(ada, **changes)
    assert read_prefilled(as_reviewer.get(f"/samples/{sample.id}/")) == content
    stale = SENT | {"guardian_file": "MEMORY.md", "guardian_content": WRONG.decode()}
    answer = as_reviewer.post(f"/samples/{sample.id}/label/", stale)
    assert answer.status_code == 422 and "The file held this before, or holds it now" in answer.text


def test_a_refused_write_that_was_right_has_its_line(ada, as_reviewer):
    create_write(DB, 1, MEMORY, None, turn_id="s1:u1", status="refused", candidate_fact="Sells oats.", reason="No.")
    create_correction(status="written", reason="True.")
    sample = judge_write(ada, 1, "none")
    page = as_reviewer.get(f"/samples/{sample.id}/")
    assert read_prefilled(page) == MEMORY.decode() + "- Sells oats.\n" and "What it should have been" in page.text
