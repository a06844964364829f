"""Texts of rows that may contain secrets.

The store's own scanner finds them; they are counted and withheld, unless an admin includes them.
"""

import orjson
import pytest
from django.core.management import call_command
from hypothesis import given, settings
from hypothesis import strategies as st

from artifacts.contents import secrets
from datasets import turn_facts
from datasets.exporters import text_scan
from datasets.models import DatasetExport
from ledger.models import ConversationTurn
from openclaw_web.errors import Refused
from people.configuration import setting_values as configuration
from people.models.bookkeeping import AuditEntry
from tests.datasets.exports.branches import body
from tests.datasets.exports.export_helpers import build_and_read, build_export, excluded_samples, make_export
from tests.factories import SampleFactory
from tests.homes import assistant, result, user
from tests.ledger.transcript_records import store_session

KEY = "ghp_" + "a1" * 18
EXAMPLES = {
    "api_key": "API-Key",
    "password": "Password",
    "token": "to\u212aen",  # the Kelvin sign is a k
    "secret": "\u017fecret",  # and a long s an s
    "private_key": "-----BEGIN RSA PRIVATE KEY-----",
    "aws_key": "AKIA" + "0" * 16,
    "bearer": "bearer " + "x" * 16,
    "github_key": KEY,
    "google_key": "AIza" + "b" * 35,
    "jwt": "eyJ" + "a" * 10 + ".eyJ" + "b" * 10 + ".",
    "model_key": "sk-" + "c" * 20,
    "slack_key": "xoxb-" + "d" * 10,
}
PIECES = st.sampled_from(
    [*EXAMPLES.values(), *(text[:-1] for text in EXAMPLES.values()), "<s>", "\n", "\0", " ", '"', "x"]
)
TEXTS = st.lists(PIECES | st.text(st.characters(codec=None), max_size=6), max_size=8).map("".join)
database = pytest.mark.django_db


def samples(*records, **more):
    """Store a session of these records, and an approved sample of each turn."""
    store_session(*records)
    for number in range(1, sum(record["message"]["role"] == "user" for record in records) + 1):
        columns = {"session_id": "s1", "turn_number": number, "annotation_status": "approved"}
        turn = ConversationTurn.objects.using("agent_ada").get(session_id="s1", turn_number=number)
        columns |= turn_facts.read_columns("agent_ada", turn)
        SampleFactory(id=f"sample-{number}", content=more.get(f"body{number}", body(number)), **columns)


def call_with(text):
    """Three turns; a call of the second has this argument."""
    call = assistant("", ("c", "exec", {"command": text}))
    return (
        *(user("question 1"), assistant("answer 1"), user("question 2"), call, result("c"), assistant("answer 2")),
        *(user("question 3"), assistant("answer 3")),
    )


def test_every_kind_is_found_and_has_an_example():
    assert EXAMPLES.keys() == set(secrets.KINDS)
    for kind, text in EXAMPLES.items():
        assert kind in text_scan.scan_texts([f"say {text} now"]).kinds, kind


@settings(max_examples=500, deadline=None)
@given(st.lists(TEXTS, max_size=4))
def test_it_never_misses_what_the_scanner_finds(texts):
    kinds = text_scan.scan_texts(texts).kinds
    assert kinds >= {kind for text in texts for kind in secrets.find_kinds(text)}
    if not any("\\" in text for text in texts):
        assert kinds == {kind for text in texts for kind in secrets.find_kinds(text)}


def test_a_key_after_an_end_of_line_in_a_call_is_found():
    value = orjson.dumps({"name": "exec", "arguments": {"command": f"cat <<E\n{KEY}\n{EXAMPLES['aws_key']}"}}).decode()
    assert "github_key" not in secrets.find_kinds(value)
    assert text_scan.scan_texts([value]).kinds >= {"github_key", "aws_key"}
    for text in (f"\n{value}", f"Tool: exec\nArguments: {value}", f"HTTP 200\n{value}", orjson.dumps(value).decode()):
        assert text_scan.scan_texts([text]).kinds >= {"github_key", "aws_key"}


@database
@pytest.mark.usefixtures("own_home")
@pytest.mark.parametrize("where", ["call", "result"])
@pytest.mark.parametrize(
    ("format_", "options"),
    [
        ("sharegpt", {}),
        ("sharegpt", {"keep_text": True}),
        ("sharegpt", {"parallel_calls": "split"}),
        ("openai", {}),
        ("alpaca", {"tool_results": "input"}),
    ],
)
def test_it_is_found_in_every_format(format_, options, where):
    secret = {"content": f"first line\n{KEY}\nlast line"}
    calls = [("c1", "read", {"path": "a"}), ("c2", "write", secret if where == "call" else {"path": "b"})]
    result2 = orjson.dumps(secret).decode() if where == "result" else "done"
    records = [assistant("Let me write.", *calls), result("c1", "nothing"), result("c2", f"HTTP 200\n{result2}")]
    samples(user("question 1"), *records, assistant("answer 1"))
    with pytest.raises(Refused, match="may contain secrets"):
        build_and_read(format_, **options)


@database
@pytest.mark.usefixtures("own_home")
@pytest.mark.parametrize("history", ["edited", "session", "context"])
def test_a_row_with_a_secret_is_withheld_and_later_histories_begin_after_it(history):
    samples(*call_with(f"export KEY={KEY}"))
    manifest, rows = build_and_read(history=history)
    expected = {"sample-1"} if history == "session" else {"sample-1", "sample-3"}
    assert rows.keys() == expected and KEY not in orjson.dumps(rows).decode()
    assert excluded_samples(manifest)["secret_found"] == ["sample-2"]
    assert (manifest["secrets"]["kinds"], manifest["secrets"]["only_words"]) == ({"github_key": 1}, 0)
    if history != "session":
        assert manifest["transformations"] == {"history_begins_after_turn_withheld": 1}
    assert not AuditEntry.objects.filter(action="exported_flagged").exists()


@database
@pytest.mark.usefixtures("own_home")
@pytest.mark.parametrize("place", ["instruction", "output"])
def test_alpaca_rows_are_read_too(place):
    name = {"instruction": "userMessage", "output": "agentReply"}[place]
    SampleFactory(annotation_status="approved", id="one", content=body(1, **{name: f"it is {KEY}"}))
    SampleFactory(annotation_status="approved", id="two", content=body(2), turn_number=2)
    manifest, rows = build_and_read("alpaca")
    assert rows.keys() == {"two"} and excluded_samples(manifest) == {"secret_found": ["one"]}


@database
@pytest.mark.usefixtures("own_home")
@pytest.mark.parametrize("format_", ["alpaca", "sharegpt"])
def test_candidate_facts_and_what_a_decision_rests_on_are_read_too(format_):
    gate = {"output": {"decision": "UPDATE_USER", "reason": "r", "candidateFact": f"uses\n{KEY}"}}
    SampleFactory(annotation_status="approved", id="one", content=body(1, memoryGate=gate))
    gate = {"output": {"decision": "NO_WRITE"}}
    context = [{"role": "user", "message": f"my key: {KEY}"}]
    SampleFactory(
        annotation_status="approved", id="two", turn_number=2, content=body(2, memoryGate=gate, context=context)
    )
    SampleFactory(annotation_status="approved", id="three", turn_number=3, content=body(3, memoryGate=gate))
    for output in ("lines", "json"):
        manifest, rows = build_and_read(format_, "gate", gate_output=output)
        assert rows.keys() == {"three"} and sorted(excluded_samples(manifest)["secret_found"]) == ["one", "two"]


@database
@pytest.mark.usefixtures("own_home")
@pytest.mark.parametrize("format_", ["sharegpt", "openai", "raw", "csv"])
def test_a_fact_beside_a_reply_is_read_too(format_):
    gate = {"output": {"decision": "UPDATE_USER", "reason": "r", "candidateFact": f"uses {KEY}"}}
    samples(user("question 1"), assistant("answer 1"), body1=body(1, memoryGate=gate))
    with pytest.raises(Refused, match="An admin can include samples with texts that may contain secrets"):
        build_and_read(format_)


@database
@pytest.mark.usefixtures("own_home")
@pytest.mark.parametrize("format_", ["alpaca", "sharegpt", "openai", "raw"])
def test_which_kinds_count_is_one_setting_for_all_formats(format_):
    turns = (user("How many tokens?"), assistant("answer 1"), user("question 2"), assistant(f"it is {KEY}"))
    samples(*turns, body1=body(1, userMessage="How many tokens?"), body2=body(2, agentReply=f"it is {KEY}"))
    configuration.put("artifacts.flaggedKinds", [], by="root")  # a setting of downloads, which does not count here
    manifest = build_export(format_).manifest
    assert excluded_samples(manifest) == {"secret_found": ["sample-2"]}, "a word is no secret"
    shapes = [kind for kind in sorted(secrets.KINDS) if kind not in ("api_key", "password", "secret", "token")]
    assert manifest["secrets"] == {"kinds": {"github_key": 1}, "only_words": 0, "withheld_kinds": shapes}
    configuration.put("exports.withheldKinds", ["token"], by="root")
    manifest = build_export(format_).manifest
    assert excluded_samples(manifest) == {"secret_found": ["sample-1"]}
    assert manifest["secrets"] == {"kinds": {"token": 1}, "only_words": 1, "withheld_kinds": ["token"]}
    configuration.put("exports.withheldKinds", [], by="root")
    manifest = build_export(format_).manifest
    assert excluded_samples(manifest) == {} and manifest["counts"]["rows"] == 2


@database
@pytest.mark.usefixtures("own_home")
def test_an_admin_includes_them_and_the_log_says_so(as_admin):
    samples(*call_with(f"export KEY={KEY}"))
    export = make_export(as_admin, format="sharegpt", include_flagged="on")
    manifest = export.manifest
    assert manifest["counts"]["rows"] == 3 and manifest["secrets"]["kinds"] == {"github_key": 2}
    assert manifest["transformations"]["secret_found"] == 2
    entry = AuditEntry.objects.get(action="exported_flagged")
    assert (entry.actor, orjson.loads(entry.detail_json)) == ("root", {"rows": 2})
    page = as_admin.get(export.get_absolute_url()).text
    assert "Possible secrets" in page and "GitHub key" in page and "at an admin&#39;s request" in page


@database
@pytest.mark.usefixtures("own_home")
def test_the_page_and_the_command_say_what_was_withheld(as_reviewer, capsys):
    samples(*call_with(f"export KEY={KEY}"))
    export = make_export(as_reviewer, format="sharegpt")
    page = as_reviewer.get(export.get_absolute_url()).text
    assert "With a text that may contain secrets" in page and "/samples/sample-2/" in page
    assert "GitHub key" in page and "Rows with these kinds of secrets are not in the files." in page
    assert "Personal data, such as names and addresses, is not checked yet." in page
    DatasetExport.objects.all().delete()
    call_command("export", "--format", "sharegpt", "--name", "two", "--split", "1")
    output = capsys.readouterr().out
    assert "Excluded: 1 (With a text that may contain secrets)" in output
    assert "Possible secrets: 1 row, not in the files (GitHub key)" in output
    call_command("export", "--format", "sharegpt", "--name", "three", "--split", "1", "--include-flagged")
    assert "Possible secrets: 2 rows in the files (GitHub key)" in capsys.readouterr().out
