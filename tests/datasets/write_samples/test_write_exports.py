"""What an export of writes teaches of what people said about them."""

import csv
import re
from html import unescape

import orjson
import pytest

from datasets.exports import exports
from datasets.kinds import verdict_service
from datasets.kinds.write import WRITE, Correction
from datasets.models import DatasetSample
from guardian.services import store_version
from openclaw_web.errors import Refused
from tests.datasets.conversations import tell_turns
from tests.datasets.exports.exporting import build, rows_of
from tests.guardian.corrections.correcting import corrected
from tests.guardian.written import T0, wrote

pytestmark = pytest.mark.django_db
DB = "agent_ada"
ASK = (
    "A fact is proposed for a memory file. Decide whether it should be written into this file. "
    "If so, answer with the whole file as it should be afterwards."
)


@pytest.fixture(autouse=True)
def turns(own_home):
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
    return verdict_service.give_verdict(WRITE, agent, f"w{number}", said, by="ann", correction=correction)


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
    found = rows_of(build(task="guardian", duplicates="keep", only_approved=False))
    assert [(row["input"], row["output"]) for row in found] == PAIRS
    assert {row["instruction"] for row in found} == {ASK}
    assert [row["turn_number"] for row in found] == ["1", "2", "3", "5"]


@pytest.mark.parametrize(("format_", "column", "key"), [("sharegpt", "conversations", "value"),
                                                        ("openai", "messages", "content")])  # fmt: skip
def test_conversations(judged, format_, column, key):
    found = rows_of(build(format_, "guardian", duplicates="keep"))
    assert [tuple(said[key] for said in row[column]) for row in found] == [(f"{ASK}\n{q}", a) for q, a in PAIRS]


def test_what_is_left_out_is_counted(judged):
    export = build(task="guardian", only_approved=False)
    excluded = {one["reason"]: one["count"] for one in orjson.loads(export.manifest_json)["excluded"]}
    assert excluded["write_incorrect"] == 1


def test_content_that_nobody_knows_is_not_taught(ada):
    wrote(DB, 1, b"# M\n", b"# M\ntea\n", turn_id="s1:u1", status="refused", reason="No.")
    say(ada, 1, "wrong", Correction("written", "True."))
    with pytest.raises(Refused, match="nobody knows what the file should hold"):
        build(task="guardian")


def test_raw_and_csv_hold_the_sample(judged):
    row = rows_of(build("raw", "guardian", duplicates="keep"))[0]
    assert row["sampleType"] == "write_guardian_decision" and row["content"]["writtenContent"] == "# M\ntea 1\n"
    export = build("csv", "guardian", duplicates="keep")
    (path,) = exports.folder_of(export).glob("*.train.csv")
    table = list(csv.DictReader(path.read_text(encoding="utf-8-sig").splitlines()))
    assert table


def test_other_tasks_take_no_writes(judged):
    for task in ("reply", "gate"):
        with pytest.raises(Refused):
            build(task=task, sample_types=["write_guardian_decision"])


def test_a_verdict_after_the_signature_was_made_is_still_exported(ada):
    wrote(DB, 1, b"# M\n", b"# M\ntea\n", turn_id="s1:u1")
    say(ada, 1)
    say(ada, 1, "wrong", Correction("refused", "In jest."))
    assert [row["output"] for row in rows_of(build(task="guardian"))] == ["Decision: refused\nReason: In jest."]
    assert DatasetSample.objects.count() == 1


MEMORY = b"# Memory\n\n- Opens at six.\n- Sells rye.\n"
WRONG = MEMORY + b"- The shop asks for slots.\n"
TOOLS = "# Tools\n\n* `ls` lists.\n"
ELSEWHERE = {"status": "written", "file": "TOOLS.md", "reason": "How the site works."}
SENT = {"status": "approved", "guardian_label": "corrected", "guardian_status": "written", "guardian_reason": "So."}


def elsewhere(agent, *, tools=TOOLS, first=True, **said):
    """A write that belongs into another file, with its sample; `first`: corrected before it became one."""
    if tools is not None:
        store_version(DB, "TOOLS.md", tools.encode(), modified_ms=T0)
    store_version(DB, "TOOLS.md", b"# Much later\n", modified_ms=T0 + 9_000_000)
    wrote(DB, 1, MEMORY, WRONG, turn_id="s1:u1", candidate_fact="The shop asks for slots.")
    if first:
        corrected(**(ELSEWHERE | said))
    sample = say(agent, 1, "none")
    if not first:
        corrected(**(ELSEWHERE | said))
        say(agent, 1, "wrong")
    return sample


def prefilled(page):
    found = re.search(r'name="guardian_content"[^>]*>\n?(.*?)</textarea>', page.text, re.DOTALL)
    return unescape(found[1])


def answers(export):
    return [row["output"].partition("\nFile: ")[2] for row in rows_of(export)]


@pytest.mark.parametrize("first", [True, False])
def test_a_correction_to_another_file_teaches_that_file(ada, as_reviewer, first):
    sample = elsewhere(ada, first=first)
    wanted = TOOLS + "* The shop asks for slots.\n"
    for address in (f"/samples/{sample.id}/", f"/review/?sample={sample.id}"):
        page = as_reviewer.get(address)
        assert prefilled(page) == wanted
        assert "What it should have been" in page.text and "How the site works." in page.text
    sent = SENT | {"guardian_file": "TOOLS.md", "guardian_content": prefilled(page).replace("\n", "\r\n")}
    assert as_reviewer.post(f"/samples/{sample.id}/label/", sent).status_code == 302
    assert answers(build(task="guardian")) == [f"TOOLS.md\nContent:\n{wanted}"]


@pytest.mark.parametrize(
    "content", [WRONG.decode(), MEMORY.decode(), "# Memory\n- Opens at six.\n- Sells rye.\n- Else.\n"]
)
def test_no_file_gets_the_content_of_another(ada, as_reviewer, content):
    sample = elsewhere(ada)
    sent = SENT | {"guardian_file": "TOOLS.md", "guardian_content": content}
    answer = as_reviewer.post(f"/samples/{sample.id}/label/", sent)
    assert answer.status_code == 422 and "This is the content of MEMORY.md" in answer.text
    stored = orjson.dumps({"status": "written", "targetFile": "TOOLS.md", "reason": "", "content": content}).decode()
    kept = {"guardian_label": "corrected", "guardian_corrected_output": stored, "annotation_status": "approved"}
    DatasetSample.objects.filter(id=sample.id).update(**kept)  # as versions before this one stored it
    assert prefilled(as_reviewer.get(f"/samples/{sample.id}/")) == TOOLS + "* The shop asks for slots.\n"
    with pytest.raises(Refused, match="gives one file the content of another"):
        build(task="guardian")
    (row,) = rows_of(build("raw", name="all", sample_types=[sample.sample_type]))
    assert row["guardianCorrectedOutput"] == {
        "status": "written", "targetFile": "TOOLS.md", "reason": "", "contentLeftOut": "content_elsewhere"
    }  # fmt: skip


def test_a_file_that_nobody_knows_stays_empty_and_is_left_out(ada, as_reviewer):
    sample = elsewhere(ada, tools=None)
    page = as_reviewer.get(f"/samples/{sample.id}/")
    assert prefilled(page) == "" and "Nobody knows what TOOLS.md should hold" in page.text
    sent = SENT | {"guardian_file": "TOOLS.md", "guardian_content": ""}
    assert as_reviewer.post(f"/samples/{sample.id}/label/", sent).status_code == 302
    with pytest.raises(Refused, match="nobody knows what the file should hold"):
        build(task="guardian")


@pytest.mark.parametrize(
    ("said", "content"),
    [
        ({"file": "MEMORY.md", "fact": "Asks for 1 slot."}, MEMORY.decode() + "- Asks for 1 slot.\n"),
        ({"file": "MEMORY.md", "status": "refused"}, MEMORY.decode()),
        ({"fact": "The shop asks once."}, TOOLS + "* The shop asks once.\n"),
    ],
)
def test_a_correction_begins_without_the_wrong_line(ada, as_reviewer, said, content):
    sample = elsewhere(ada, **said)
    assert prefilled(as_reviewer.get(f"/samples/{sample.id}/")) == content
    stale = SENT | {"guardian_file": "MEMORY.md", "guardian_content": WRONG.decode()}
    answer = as_reviewer.post(f"/samples/{sample.id}/label/", stale)
    assert answer.status_code == 422 and "The file held this before, or holds it now" in answer.text


def test_a_refused_write_that_was_right_has_its_line(ada, as_reviewer):
    wrote(DB, 1, MEMORY, None, turn_id="s1:u1", status="refused", candidate_fact="Sells oats.", reason="No.")
    corrected(status="written", reason="True.")
    sample = say(ada, 1, "none")
    page = as_reviewer.get(f"/samples/{sample.id}/")
    assert prefilled(page) == MEMORY.decode() + "- Sells oats.\n" and "What it should have been" in page.text
