"""Exports redact findings in every format, and leave out rows with open keys and passwords."""

import json

import orjson
import pytest
from django.core.management import call_command

from datasets import exchange_job, turn_facts
from datasets.exports import exports
from datasets.finding_values.verdicts import decide
from datasets.models import DatasetExport
from findings import scan, services
from findings.models import Finding
from findings.value_hash import compute_value_hash
from jobs.progress import Progress
from ledger.models import ConversationTurn
from openclaw_web.errors import Refused
from people.configuration import setting_values as configuration
from people.models.bookkeeping import AuditEntry
from tests.datasets.exports.branches import body
from tests.datasets.exports.export_helpers import (
    build_and_read,
    build_export,
    excluded_counts,
    excluded_samples,
    make_export,
    read_rows,
)
from tests.factories import SampleFactory
from tests.homes import assistant, result, user
from tests.ledger.transcript_records import store_session

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("own_home")]
MAIL, OTHER_MAIL = "alice.meyer@firma-nord.de", "bob@vogel-partner.ch"
PHONE, NAME = "+49 151 23456789", "Project Nightjar"
KEY = "ghp_" + "a1B2c3D4e5F6" * 3
CUSTOM, PATTERN = "ACME-48151", "ACME-[0-9]+"
PLANTED = (MAIL, OTHER_MAIL, PHONE, KEY, CUSTOM, NAME)
PATTERNS = "datasetCollection.privacyFiltering.redactPatterns"
GATE = {"output": {"decision": "UPDATE_USER", "reason": f"{MAIL} said so", "candidateFact": f"{NAME} has {PHONE}"}}
CALL = {"command": f"curl -u {MAIL} {CUSTOM}", "phone": 4915123456789, OTHER_MAIL: [NAME]}
RESULT = json.dumps({"inner": json.dumps({"mail": MAIL, "key": KEY}), "text": f"{NAME}\n{PHONE}"})
REPLY_FORMATS = (
    *("alpaca", "sharegpt", "sharegpt_reflection", "openai", "messages", "preference", "openai_preference"),
    *("llamafactory_preference", "kto", "raw", "csv"),
)


def add_samples(*records, **columns):
    """Store a session of these records, and an approved sample of each turn."""
    store_session(*records)
    bodies = columns.pop("bodies", {})
    for number in range(1, sum(record["message"]["role"] == "user" for record in records) + 1):
        turn = ConversationTurn.objects.using("agent_ada").get(session_id="s1", turn_number=number)
        facts = turn_facts.read_columns("agent_ada", turn) | columns
        SampleFactory(
            id=f"sample-{number}", content=bodies.get(number, body(number)), session_id="s1", turn_number=number,
            annotation_status="approved", **facts,
        )  # fmt: skip


def add_planted_samples():
    """Two turns with values in every place of a row, and verdicts that allow their export."""
    question, reply = f"I am {MAIL}, call {PHONE}. {NAME}", f"Noted, {OTHER_MAIL}: {KEY} {CUSTOM}"
    earlier = (user(f"Hello from {NAME}, {MAIL}"), assistant(f"Welcome {OTHER_MAIL}"))
    work = (assistant(f"Let me write to {MAIL}.", ("c", "exec", CALL)), result("c", RESULT))
    context = [{"role": "user", "message": f"{MAIL} {KEY}"}, {"role": "agent", "message": NAME}]
    first = body(1, userMessage=f"Hello from {NAME}, {MAIL}", agentReply=f"Welcome {OTHER_MAIL}", memoryGate=GATE)
    second = body(2, userMessage=question, agentReply=reply, memoryGate=GATE, context=context)
    add_samples(
        *earlier, user(question), *work, assistant(reply), bodies={1: first, 2: second},
        output=f"Better, {OTHER_MAIL}: {CUSTOM} {NAME}", annotation_notes=f"by {PHONE}",
        gate_label="corrected", gate_corrected_output=json.dumps(GATE["output"] | {"reason": f"{KEY} {MAIL}"}),
    )  # fmt: skip
    scan.scan_agent("agent_ada")
    judge("confirmed", "key", KEY)
    add_value(NAME)
    configuration.put(PATTERNS, [PATTERN], by="root")
    exchange_job.run({}, Progress())


def judge(verdict, kind, value, **more):
    decide(verdict, **{"scope": "value", "value_hash": compute_value_hash(kind, value), "by": "root"} | more)


def add_value(value):
    """A value that a person selected in the first message of the session."""
    text = f"Hello from {NAME}, {MAIL}"
    place = {"session_id": "s1", "seq": 0, "path": "$.message.content[0].text"}
    start = text.index(value)
    services.add_finding("agent_ada", **place, start=start, end=start + len(value))


def read_files(export):
    """The bytes of all files of an export by their names."""
    return {path.name: path.read_bytes() for path in exports.folder_of(export).iterdir()}


@pytest.mark.parametrize("format_", REPLY_FORMATS)
@pytest.mark.parametrize("history", ["edited", "context"])
def test_no_file_of_any_format_has_a_planted_value(format_, history):
    add_planted_samples()
    options = {"alpaca": {"tool_calls": "input"}}.get(format_, {"history": history})
    export = build_export(format_, **options)
    assert export.state == "ready" and export.total_samples
    for name, data in read_files(export).items():
        assert not [value for value in PLANTED if value.encode() in data], name
        assert not [code for code in range(0xE000, 0xF8FF) if chr(code).encode() in data], name
    assert export.manifest["redactions"]["rows"] == export.manifest["transformations"]["redacted"] > 0
    assert export.manifest["redactions"]["left_out"] == {}


@pytest.mark.parametrize("format_", ["alpaca", "sharegpt", "openai", "messages", "preference"])
def test_no_decision_has_a_planted_value(format_):
    add_planted_samples()
    for data in read_files(build_export(format_, "gate")).values():
        assert not [value for value in PLANTED if value.encode() in data]


@pytest.mark.parametrize("format_", ["alpaca", "sharegpt", "messages"])
def test_no_write_has_a_planted_value(format_):
    content = {
        "type": "write_guardian_decision", "candidateFact": f"mail {MAIL}", "targetFile": "USER.md",
        "currentFileContent": f"# About {OTHER_MAIL}\n", "decision": "written", "decisionReason": f"asked by {PHONE}",
        "writtenContent": f"# About {OTHER_MAIL}\n- mail {MAIL}\n",
    }  # fmt: skip
    SampleFactory(
        id="write", sample_type="write_guardian_decision", content=orjson.dumps(content).decode(),
        annotation_status="approved", turn_number=1,
    )  # fmt: skip
    export = build_export(format_, "guardian")
    data = b"".join(read_files(export).values())
    assert not [value for value in PLANTED if value.encode() in data]
    row = json.dumps(read_rows(export)[0])
    assert row.count("[EMAIL_1]") == row.count("[EMAIL_2]") == 2 and row.count("[PHONE_1]") == 1


def test_rows_are_numbered_separately_and_a_value_has_one_token():
    bodies = {
        1: body(1, userMessage=f"Ask {MAIL}", agentReply=f"I asked {MAIL}, not {OTHER_MAIL}."),
        2: body(2, userMessage=f"Ask {OTHER_MAIL}", agentReply="Done."),
    }
    for number, content in bodies.items():
        SampleFactory(id=f"s{number}", content=content, annotation_status="approved", turn_number=number)
    _manifest, rows = build_and_read("alpaca")
    assert (rows["s1"]["instruction"], rows["s1"]["output"]) == ("Ask [EMAIL_1]", "I asked [EMAIL_1], not [EMAIL_2].")
    assert rows["s2"]["instruction"] == "Ask [EMAIL_1]"


def test_the_line_of_a_source_has_the_tokens_of_its_row():
    gate = {"output": {"decision": "UPDATE_USER", "reason": "r", "candidateFact": f"reads {OTHER_MAIL} and {MAIL}"}}
    question = f"Ask {MAIL}"
    add_samples(user(question), assistant("answer 1"), bodies={1: body(1, userMessage=question, memoryGate=gate)})
    export = build_export("openai")
    [source] = [data for name, data in read_files(export).items() if ".sources." in name]
    assert orjson.loads(source)["candidate_fact"] == "reads [EMAIL_2] and [EMAIL_1]"


@pytest.mark.parametrize("format_", ["alpaca", "sharegpt", "openai", "messages", "raw", "csv"])
def test_an_open_key_leaves_its_row_out_and_a_verdict_lets_it_in(format_):
    bodies = {1: body(1, agentReply=f"it is {KEY}"), 2: body(2)}
    turns = (user("question 1"), assistant(f"it is {KEY}"), user("question 2"), assistant("answer 2"))
    add_samples(*turns, bodies=bodies)
    export = build_export(format_)
    assert excluded_samples(export) == {"open_findings": ["sample-1"]} and export.total_samples == 1
    assert export.manifest["redactions"]["left_out"] == {"open_findings": 1}
    for verdict, expected in (("confirmed", "[KEY_1]"), ("dismissed", KEY)):
        judge(verdict, "key", KEY)
        export = build_export(format_, name=verdict)
        data = b"".join(read_files(export).values())
        assert excluded_samples(export) == {} and expected.encode() in data
        assert (KEY.encode() in data) is (verdict == "dismissed")


@pytest.mark.parametrize("history", ["edited", "session", "context"])
def test_histories_begin_after_a_turn_with_an_open_key(history):
    call = assistant("", ("c", "exec", {"command": f"export KEY={KEY}"}))
    turns = (user("question 1"), assistant("answer 1"), user("question 2"), call, result("c"), assistant("answer 2"))
    add_samples(*turns, user("question 3"), assistant("answer 3"))
    manifest, rows = build_and_read(history=history)
    assert rows.keys() == ({"sample-1"} if history == "session" else {"sample-1", "sample-3"})
    assert excluded_samples(manifest)["open_findings"] == ["sample-2"] and KEY not in orjson.dumps(rows).decode()
    if history != "session":
        assert manifest["transformations"] == {"history_begins_after_turn_withheld": 1}


def test_a_dismissed_value_stays_in_its_turn_only():
    bodies = {n: body(n, agentReply=f"answer {n} from {MAIL}") for n in (1, 2)}
    turns = (user("question 1"), assistant(f"answer 1 from {MAIL}"), user("question 2"))
    add_samples(*turns, assistant(f"answer 2 from {MAIL}"), bodies=bodies)
    scan.scan_agent("agent_ada")
    judge("dismissed", "email", MAIL, scope="place", agent="ada", place="record:s1/1")
    _manifest, rows = build_and_read("alpaca")
    assert [rows[f"sample-{n}"]["output"] for n in (1, 2)] == [f"answer 1 from {MAIL}", "answer 2 from [EMAIL_1]"]
    _manifest, rows = build_and_read("sharegpt", name="two")
    words = [message["value"] for message in rows["sample-2"]["conversations"]]
    assert (words[1], words[3]) == (f"answer 1 from {MAIL}", "answer 2 from [EMAIL_1]")


def test_an_added_value_is_redacted_for_every_agent_and_beside_half_a_character():
    add_planted_samples()
    reply = "\\ud800 about Project Nightjar"
    content = body(1, agentReply="?").replace('"?"', f'"{reply}"')
    SampleFactory(id="b1", agent_id="bob", session_id="b", content=content, annotation_status="approved")
    assert build_and_read("alpaca", agent="bob")[1]["b1"]["output"] == "\ufffd about [CUSTOM_1]"


def test_an_added_value_within_personal_data_that_stays_is_redacted():
    question = f"Ask {NAME} or {NAME}@firma-nord.de".replace(NAME, "nightjar")
    add_samples(user(question), assistant("answer 1"), bodies={1: body(1, userMessage=question)})
    place = {"session_id": "s1", "seq": 0, "path": "$.message.content[0].text"}
    services.add_finding("agent_ada", **place, start=4, end=12)
    row = build_and_read("alpaca", include_pii=True)[1]["sample-1"]
    assert row["instruction"] == "Ask [CUSTOM_1] or [CUSTOM_1]@firma-nord.de"


@pytest.mark.parametrize("format_", ["sharegpt", "openai", "messages", "sharegpt_reflection"])
def test_names_of_tools_are_redacted_with_their_schemas(format_):
    call, name = assistant("", ("c", f"mail_{MAIL}", {"a": 1})), f"mail_{MAIL}"
    add_samples(user("question 1"), call, result("c", name=name), assistant("answer 1"))
    export = build_export(format_)
    data = b"".join(read_files(export).values())
    assert export.total_samples == 1 and b"firma" not in data


def test_a_rule_that_people_dismissed_redacts_nothing():
    SampleFactory(id="one", content=body(1, agentReply=f"mail {MAIL}"), annotation_status="approved")
    decide("dismissed", scope="rule", rule="email", by="root")
    assert build_and_read("alpaca")[1]["one"]["output"] == f"mail {MAIL}"


def test_a_rebuilt_turn_and_a_judged_turn_are_still_told_apart():
    """Redaction neither joins nor parts a turn and its sample."""
    turns = (user(f"I am {MAIL}"), assistant(f"Hello {MAIL}"), user(f"I am {OTHER_MAIL}"), assistant("Hello again"))
    bodies = {
        1: body(1, userMessage=f"I am {MAIL}", agentReply=f"Hello {MAIL}"),
        2: body(2, userMessage=f"I am {MAIL}", agentReply="Hello again"),
    }
    add_samples(*turns, bodies=bodies)
    manifest, rows = build_and_read(history="context")
    assert manifest["transformations"].get("rebuilt_from_the_sample") == 1
    assert [message["value"] for message in rows["sample-1"]["conversations"]] == ["I am [EMAIL_1]", "Hello [EMAIL_1]"]


def test_samples_that_differ_in_a_value_only_are_duplicates():
    for number, phone in enumerate((PHONE, "+1 415 555 2671"), start=1):
        content = body(number, userMessage=f"Call me at {phone} when the cake is ready, please", agentReply="I will.")
        SampleFactory(id=f"s{number}", content=content, session_id=f"s{number}", annotation_status="approved")
    export = build_export("alpaca")
    assert export.total_samples == 1 and excluded_counts(export) == {"duplicate": 1}


def test_the_same_export_again_has_the_same_bytes():
    add_planted_samples()
    first = read_files(build_export("messages", history="context"))
    DatasetExport.objects.all().delete()
    assert read_files(build_export("messages", history="context")) == first


def test_personal_data_stays_when_an_admin_asks_for_it_and_keys_never_do(as_admin):
    bodies = {1: body(1, userMessage=f"I am {MAIL}", agentReply=f"it is {KEY}")}
    add_samples(user(f"I am {MAIL}"), assistant(f"it is {KEY}"), bodies=bodies)
    judge("confirmed", "key", KEY)
    export = make_export(as_admin, include_pii="on")
    [row] = read_rows(export)
    assert (row["instruction"], row["output"]) == (f"I am {MAIL}", "it is [KEY_1]")
    entry = AuditEntry.objects.get(action="exported")
    assert orjson.loads(entry.detail_json)["include_pii"] is True
    assert AuditEntry.objects.filter(action="exported_flagged").count() == 1
    assert "Personal data is in the files" in as_admin.get(export.get_absolute_url()).text


def test_nobody_else_may_ask_for_personal_data(as_reviewer):
    SampleFactory(id="one", content=body(1), annotation_status="approved")
    answer = as_reviewer.post(
        "/api/v1/exports", {"name": "x", "format": "alpaca", "include_pii": True}, "application/json"
    )
    assert answer.status_code == 403 and "Only admins may export personal data" in answer.json()["detail"]
    assert not DatasetExport.objects.exists()


def test_nothing_but_open_keys_says_what_to_do():
    SampleFactory(id="one", content=body(1, agentReply=f"it is {KEY}"), annotation_status="approved")
    with pytest.raises(Refused, match="Confirm or dismiss the keys and passwords on the page Findings"):
        build_export("alpaca")


def test_an_export_scans_first_so_that_people_can_judge(as_reviewer):
    turns = (user("question 1"), assistant(f"it is {KEY}"), user("question 2"), assistant("answer 2"))
    add_samples(*turns, bodies={1: body(1, agentReply=f"it is {KEY}")})
    export = make_export(as_reviewer)
    assert Finding.objects.using("agent_ada").filter(kind="key").exists()
    page = as_reviewer.get(export.get_absolute_url()).text
    assert "/findings/?state=open" in page and "/samples/sample-1/" in page
    assert "With a key or password that nobody has judged" in page


def test_the_page_marks_every_token_and_the_command_counts_them(as_reviewer, capsys):
    SampleFactory(id="one", content=body(1, agentReply=f"mail {MAIL}, {PHONE}"), annotation_status="approved")
    export = make_export(as_reviewer)
    page = as_reviewer.get(export.get_absolute_url()).text
    assert '<mark class="token">[EMAIL_1]</mark>, <mark class="token">[PHONE_1]</mark>' in page
    assert "Personal data and secrets are replaced by tokens" in page and "Email address" in page
    DatasetExport.objects.all().delete()
    call_command("export", "--format", "alpaca", "--name", "two", "--split", "1")
    output = capsys.readouterr().out
    assert "Redacted: Email address, 1 place in 1 row" in output and "Phone number" in output


@pytest.mark.parametrize("format_", ["alpaca", "sharegpt", "messages", "openai", "raw", "csv"])
def test_the_preview_marks_every_redacted_place_before_the_export(as_reviewer, format_):
    question = f"I am {MAIL}"
    turns = (user(question), assistant(f"Hello {OTHER_MAIL}"), user("question 2"), assistant(f"it is {KEY}"))
    bodies = {1: body(1, userMessage=question, agentReply=f"Hello {OTHER_MAIL}"), 2: body(2, agentReply=f"it is {KEY}")}
    add_samples(*turns, bodies=bodies)
    fields = {"name": "", "format": format_, "task": "reply", "train_split": "1", "seed": "0", "preview": "1"}
    fields |= {"history": "edited"}
    for headers in ({}, {"HTTP_HX_REQUEST": "true"}):
        page = as_reviewer.post("/exports/count/", fields | {"only_approved": "on"}, **headers).text
        assert '<mark class="token">[EMAIL_1]</mark>' in page and '<mark class="token">[EMAIL_2]</mark>' in page
        assert "Of the first 2 rows, 1 have redacted places." in page
        assert "1 row has a key or password that nobody has judged." in page
        assert MAIL not in page and KEY not in page
    assert not DatasetExport.objects.exists()
