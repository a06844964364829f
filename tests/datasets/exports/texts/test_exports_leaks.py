"""No file of an export, whatever its format, has a value that was planted anywhere."""

import io
import json
import re
import zipfile

import pytest
from django.core.management import call_command
from django.test import Client

from agents.models import Agent
from datasets.models import DatasetExport, DatasetSample
from datasets.services import make_samples
from findings import scan
from people.models.bookkeeping import AuditEntry
from tests.collecting.collect_runs import run
from tests.datasets.exports.branches import body
from tests.datasets.exports.export_helpers import (
    FORM_FIELDS,
    build_export,
    excluded_samples,
    make_export,
    read_rows,
)
from tests.datasets.exports.texts.planted_values import MAIL, NEEDLES, TEXT, VALUES, find_planted, plant
from tests.datasets.exports.texts.test_exports_redacted import add_samples, judge, read_files
from tests.datasets.releases.release_helpers import make_dataset, make_release
from tests.homes import assistant, result, user
from tests.ledger.transcript_records import store_session
from tests.suite.nightly import first

pytestmark = pytest.mark.django_db
REPLY = [format_.value for format_ in DatasetExport.Format]
DECISIONS = ("alpaca", "sharegpt", "openai", "messages")
WHOLE = ("sharegpt", "openai", "messages", "parquet", "sharegpt_reflection")


@pytest.fixture
def planted(home):
    home.transcript(user("Hi"))
    run(home)
    main = Agent.objects.get(agent_id="main")
    plant(home, main)
    return main


def open_files(data):
    """The files of a ZIP by their names; those of Parquet as lines of JSON too."""
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        for name in archive.namelist():
            content = archive.read(name)
            yield name, content
            if name.endswith(".parquet"):
                rows = pytest.importorskip("pyarrow.parquet").read_table(io.BytesIO(content)).to_pylist()
                yield name, json.dumps(rows, ensure_ascii=False, default=str).encode()


def find_leaks(export, browser):
    """The planted values in the files of an export and on its page."""
    address = export.get_absolute_url()
    download = b"".join(browser.get(f"{address}zip/").streaming_content)
    leaks = [(name, value) for name, content in open_files(download) for value in find_planted(content)]
    return leaks + [("page", value) for value in find_planted(browser.get(address).content)]


def test_the_search_finds_what_is_not_redacted():
    assert set(NEEDLES) == set(find_planted(TEXT.encode())) | {"49 151 234"}
    assert find_planted(json.dumps({"a": json.dumps({"b": TEXT})}).encode())
    assert find_planted(b"alice.meyer%40firma-nord.de")


@pytest.mark.parametrize("format_", first(REPLY, 3))
def test_no_file_or_page_has_a_planted_value(planted, as_reviewer, format_):
    release = make_release(make_dataset(only_approved=True))
    tasks = [("reply", "context"), ("reply", "session" if format_ in WHOLE else "edited")]
    tasks += [(task, "edited") for task in ("gate", "guardian") if format_ in (*DECISIONS, "raw", "csv")]
    for number, (task, history) in enumerate(tasks):
        more = {"release": release.id} if task == "reply" and number else {}
        export = build_export(format_, task, name=f"n{number}", history=history, tool_calls="input", **more)
        assert export.total_samples and find_leaks(export, as_reviewer) == []
        if more:
            assert {"lineage.jsonl", "croissant.json"} <= {file["name"] for file in export.manifest["files"]}
    fields = FORM_FIELDS | {"format": format_, "preview": "1", "history": "context"}
    page = as_reviewer.post("/exports/count/", fields)
    assert page.status_code == 200 and b"[EMAIL_1]" in page.content and find_planted(page.content) == []


@pytest.mark.parametrize("format_", REPLY)
@pytest.mark.parametrize("kind", ["key", "password"])
def test_rows_with_an_open_secret_are_left_out_and_counted(own_home, ada, format_, kind):
    secret = {"key": VALUES["github"], "password": f"password: {VALUES['password']}"}[kind]
    bodies = {1: body(1, agentReply=f"it is {secret}"), 2: body(2)}
    turns = (user("question 1"), assistant(f"it is {secret}"), user("question 2"), assistant("answer 2"))
    add_samples(*turns, bodies=bodies, output="better answer")
    DatasetSample.objects.filter(id="sample-1").update(output=f"better {secret}")
    for history in ("context", "edited"):
        export = build_export(format_, name=history, history=history)
        assert excluded_samples(export) == {"open_findings": ["sample-1"]}
        assert export.manifest["redactions"]["left_out"] == {"open_findings": 1}
        assert not [name for name, data in read_files(export).items() if find_planted(data)]


@pytest.mark.parametrize("format_", ["preference", "openai_preference", "llamafactory_preference", "kto", "messages"])
def test_a_value_has_one_token_in_a_row(own_home, ada, format_):
    other = "bob@vogel-partner.ch"
    texts = [f"first {other} {MAIL}", f"hi {MAIL}", f"second {MAIL}", f"chosen not {other}: {MAIL}"]
    turns = (user(texts[0]), assistant(texts[1]), user(texts[2]), assistant(texts[3]))
    bodies = {
        1: body(1, userMessage=texts[0], agentReply=texts[1]),
        2: body(2, userMessage=texts[2], agentReply=texts[3]),
    }
    add_samples(*turns, bodies=bodies)
    DatasetSample.objects.filter(id="sample-2").update(output=f"edited {MAIL}")
    export = build_export(format_, history="context")
    row = next(row for row in read_rows(export) if "second" in json.dumps(row))
    text = json.dumps(row)
    tokens = [re.search(rf"{word} (\[EMAIL_\d\])", text)[1] for word in ("hi", "second", "edited")]
    assert len(set(tokens)) == 1 and "[EMAIL_3]" not in text and find_planted(text.encode()) == []


def test_a_dismissed_place_is_open_elsewhere_and_a_dismissed_value_nowhere(own_home, ada):
    key, mail = VALUES["github"], MAIL
    bodies = {n: body(n, userMessage=f"question {n} {mail}", agentReply=f"it is {key}") for n in (1, 2)}
    turns = (
        user(f"question 1 {mail}"),
        assistant(f"it is {key}"),
        user(f"question 2 {mail}"),
        assistant(f"it is {key}"),
    )
    add_samples(*turns, bodies=bodies)
    scan.scan_agent(ada.db)
    judge("dismissed", "key", key, scope="place", agent="ada", place="record:s1/1")
    export = build_export("messages", name="place", history="context")
    assert excluded_samples(export) == {"open_findings": ["sample-2"]}
    [row] = read_rows(export)
    assert key in json.dumps(row) and mail not in json.dumps(row)
    judge("dismissed", "email", mail)
    judge("dismissed", "key", key)
    rows = read_rows(build_export("messages", name="value", history="context"))
    assert len(rows) == 2 and all(key in json.dumps(row) and mail in json.dumps(row) for row in rows)


@pytest.mark.parametrize("format_", ["alpaca", "messages", "sharegpt", "raw"])
def test_a_value_in_two_blocks_or_records_is_never_put_together(own_home, ada, format_):
    question = user("")
    question["message"]["content"] = [{"type": "text", "text": block} for block in (MAIL[:15], MAIL[15:])]
    call = ("c", "exec", {"first": MAIL[:15], "second": MAIL[15:]})
    steps = (assistant(MAIL[:15], call), result("c", MAIL[15:]), assistant(f"{MAIL[15:]} is it"))
    store_session(question, *steps)
    make_samples(ada, "s1", None, by="ann")
    DatasetSample.objects.update(annotation_status="approved")
    export = build_export(format_, tool_calls="input")
    assert not [name for name, data in read_files(export).items() if MAIL.encode() in data]


def test_personal_data_is_for_admins_alone(own_home, as_admin, reviewer):
    add_samples(user(f"I am {MAIL}"), assistant("hello"), bodies={1: body(1, userMessage=f"I am {MAIL}")})
    client = Client()
    client.force_login(reviewer)
    fields = {"name": "x", "format": "alpaca", "include_pii": True}
    export = make_export(as_admin, include_pii="on")
    address = export.get_absolute_url()
    answers = {
        "page": client.post("/exports/create/", FORM_FIELDS | {"name": "other", "include_pii": "on"}),
        "api": client.post("/api/v1/exports", fields, "application/json"),
        "again": client.post(f"{address}again/"),
        "zip": client.get(f"{address}zip/"),
        "api zip": client.get(f"/api/v1/exports/{export.id}/zip"),
        "address of a form": client.get("/exports/?include_pii=on&name=x&format=alpaca"),
        "export": client.get(address),
        "api export": client.get(f"/api/v1/exports/{export.id}"),
        "preview": client.post("/exports/count/", FORM_FIELDS | {"include_pii": "on", "preview": "1"}),
    }
    for file in export.manifest["files"]:
        answers[file["name"]] = client.get(f"{address}files/{file['name']}")
        answers[f"api {file['name']}"] = client.get(f"/api/v1/exports/{export.id}/files/{file['name']}")
        for name in (file["name"], f"api {file['name']}"):
            answers[name] = _read(answers[name])
    contents = {name: answer if isinstance(answer, tuple) else _read(answer) for name, answer in answers.items()}
    rows = export.manifest["files"][0]["name"]
    refused = {name for name, (status, _data) in contents.items() if status >= 400}
    assert refused == {"page", "api", "again", "zip", "api zip", rows, f"api {rows}"}
    assert [name for name, (_status, data) in contents.items() if find_planted(data)] == []
    assert DatasetExport.objects.get() == export
    assert AuditEntry.objects.filter(action="download_refused", actor="reviewer").count() == 4
    [entry] = AuditEntry.objects.filter(action="exported_flagged")
    assert (entry.actor, entry.object_id) == ("root", export.id)


def _read(answer):
    data = b"".join(answer.streaming_content) if answer.streaming else answer.content
    answer.close()
    return answer.status_code, data


def test_the_command_that_includes_personal_data_is_in_the_audit_log(own_home, ada):
    add_samples(user(f"I am {MAIL}"), assistant("hello"), bodies={1: body(1, userMessage=f"I am {MAIL}")})
    call_command("export", "--format", "alpaca", "--name", "x", "--include-pii")
    assert find_planted(b"".join(read_files(DatasetExport.objects.get()).values()))
    assert '"include_pii":true' in AuditEntry.objects.get(action="exported").detail_json
    assert AuditEntry.objects.filter(action="exported_flagged").exists()
