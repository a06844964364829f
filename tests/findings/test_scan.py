"""Scans find what stands in records, once, and follow what happens to sessions."""

import json
from pathlib import Path

import pytest

from agents.models import Agent
from collecting import collect
from findings import places, scan
from findings.detection import PATTERNS, Detection
from findings.documents import Document
from findings.models import Finding, FindingScan, Source
from findings.value_hash import compute_value_hash
from jobs import services as jobs
from jobs.progress import Progress
from ledger.models import TranscriptEvent
from ledger.transcripts import removal
from people.configuration import setting_values as configuration
from tests.collecting.collect_runs import LONG, MAIN, run
from tests.findings.scan_helpers import KEY, MAIL, OTHER_MAIL, list_places, scan_everything, write_mails
from tests.homes import Home, assistant, result, user

HOMES = Path(__file__).resolve().parents[3] / "shared" / "data"
LABELLED = Path(__file__).resolve().parents[1] / "openclaw_web" / "detectors"
ENVELOPE = 'Conversation info (untrusted metadata):\n```json\n{"sender_id": "%s"}\n```\n\n%s'
pytestmark = pytest.mark.django_db


def test_places_in_messages_calls_and_results_are_found(home):
    script = write_mails(home, 1)
    run(home)
    assert scan.count_unscanned(MAIN) == 5
    result = scan_everything()
    assert (result.scanned, result.findings) == (5, 3)
    assert list_places() == [
        ("record", f"{script.session}/1", "$.message.content[0].text"),
        ("record", f"{script.session}/2", "$.message.content[1].arguments.to"),
        ("record", f"{script.session}/3", "$.message.content[0].text"),
    ]
    row = Finding.objects.using(MAIN).order_by("id").first()
    assert (row.kind, row.turn_number, row.session_id) == ("email", 1, script.session)
    assert row.value_hash == compute_value_hash("email", MAIL)
    assert MAIL not in repr(list(Finding.objects.using(MAIN).values_list()))
    assert [places.read_value(MAIN, row) for row in Finding.objects.using(MAIN).all()] == [MAIL] * 3


def test_a_second_scan_finds_nothing_new(home):
    write_mails(home)
    run(home)
    scan_everything()
    before = list(Finding.objects.using(MAIN).values_list())
    again = scan_everything()
    assert (again.scanned, again.findings) == (0, 0)
    assert list(Finding.objects.using(MAIN).values_list()) == before


def test_only_appended_records_are_scanned(home):
    script = write_mails(home)
    run(home)
    scan_everything()
    script.add(user(f"And {OTHER_MAIL}"))
    run(home)
    assert scan.count_unscanned(MAIN) == 1
    result = scan_everything()
    assert (result.scanned, result.findings) == (1, 1)


def test_a_limit_leaves_the_rest_to_the_next_scan(home):
    for _number in range(401):
        home.transcript(user(f"Write to {MAIL}"))
    run(home)
    result = scan.scan_agent(MAIN, limit=1)
    assert 0 < result.remaining == scan.count_unscanned(MAIN) < 802
    scan_everything()
    assert len(list_places()) == 401


def test_ids_and_times_are_no_texts(home):
    home.transcript({**user("Nothing"), "id": MAIL}, {"type": "custom", "customType": "x", "data": {"mail": MAIL}})
    run(home)
    scan_everything()
    assert [path for _source, _id, path in list_places()] == ["$.data.mail"]


def test_a_long_output_is_scanned_whole(home):
    home.transcript(user("Read"), assistant("", ("c1", "read", {})), result("c1", f"{LONG}\nmail {MAIL}\n{LONG}"))
    run(home)
    scan_everything()
    [row] = Finding.objects.using(MAIN).all()
    assert row.start > len(LONG) and row.source == "record"
    assert places.read_value(MAIN, row) == MAIL
    before, value, after = places.read_excerpts(MAIN, [row])[0]
    assert (before[-6:], value, after[:7]) == ("\nmail ", MAIL, "\nline 0")
    assert len(before) == len(after) == places.AROUND


def test_records_that_were_replaced_are_scanned_again(home):
    script = write_mails(home)
    other = write_mails(home)
    run(home)
    scan_everything()
    others = set(list_places(session_id=other.session))
    text = script.path.read_text().replace(MAIL, OTHER_MAIL, 1).replace("Done 1", f"Done {MAIL}")
    script.path.write_text(text)
    run(home, again=True)
    scan.forget_sessions(MAIN, [script.session])
    result = scan_everything()
    assert result.findings == 11  # the record that was in the file before is kept
    assert set(list_places(session_id=other.session)) == others
    hashes = {compute_value_hash("email", mail) for mail in (MAIL, OTHER_MAIL)}
    assert set(Finding.objects.using(MAIN).values_list("value_hash", flat=True)) == hashes


def test_a_session_with_other_records_is_noticed(home):
    script = write_mails(home)
    run(home)
    scan_everything()
    lines = script.path.read_text().splitlines()
    changed = [json.loads(line) for line in lines]
    changed[1]["id"], changed[2]["parentId"] = "other", "other"
    script.path.write_text("".join(json.dumps(line) + "\n" for line in changed))
    run(home, again=True, session=[script.session])
    assert scan.count_unscanned(MAIN) > 0
    scan_everything()
    ids = {source_id for _source, source_id, _path in list_places()}
    stored = {f"{script.session}/{seq}" for seq in TranscriptEvent.objects.using(MAIN).values_list("seq", flat=True)}
    assert ids <= stored


def test_words_of_people_who_opt_out_have_no_findings(home):
    script = home.transcript(
        user(ENVELOPE % ("bob", f"I am {OTHER_MAIL}")), assistant("Hi"), user(ENVELOPE % ("carol", f"I am {MAIL}"))
    )
    home.index({"agent:main:irc:group:#lab": {"sessionId": script.session}})
    run(home)
    scan_everything()
    hashes = Finding.objects.using(MAIN).values_list("value_hash", flat=True)
    assert set(hashes) == {compute_value_hash("email", MAIL), compute_value_hash("email", OTHER_MAIL)}
    row = Finding.objects.using(MAIN).get(value_hash=compute_value_hash("email", MAIL))
    configuration.put("collector.optedOutSenders", ["carol"])
    assert places.read_excerpts(MAIN, [row])[0] is None
    run(home, again=True)
    assert TranscriptEvent.objects.using(MAIN).filter(kind="withheld").exists()
    scan_everything()
    assert list(hashes.all()) == [compute_value_hash("email", OTHER_MAIL)]


def test_a_removed_session_has_no_findings(home):
    script, other = write_mails(home), write_mails(home)
    run(home)
    scan_everything()
    removal.delete_session(MAIN, script.session)
    scan_everything()
    assert {source_id.partition("/")[0] for _source, source_id, _path in list_places()} == {other.session}
    assert not FindingScan.objects.using(MAIN).filter(session_id=script.session).exists()


def test_other_rules_scan_everything_again(home):
    write_mails(home)
    run(home)
    scan_everything()
    FindingScan.objects.using(MAIN).filter(source="record").update(rules=7)
    assert scan.count_unscanned(MAIN) == 13
    result = scan_everything()
    assert (result.scanned, result.findings) == (13, 9)
    assert len(list_places()) == 9


def test_a_pattern_that_an_operator_adds_is_found_at_the_next_scan(home):
    home.transcript(user(f"Ticket HANA-4711 of {MAIL} waits"))
    run(home)
    scan_everything()
    configuration.put(PATTERNS, [*configuration.get_texts(PATTERNS), r"HANA-\d+"])
    assert scan.count_unscanned(MAIN) == 2
    scan_everything()
    assert set(Finding.objects.using(MAIN).values_list("kind", flat=True)) == {"custom", "email"}
    row = Finding.objects.using(MAIN).get(kind="custom")
    assert places.read_value(MAIN, row) == "HANA-4711"
    configuration.put(PATTERNS, [])
    scan_everything()
    assert not Finding.objects.using(MAIN).filter(kind="custom").exists()


def test_findings_beyond_the_limit_of_a_text_are_counted(home):
    home.transcript(user(" ".join(f"u{number}@hanamail.jp" for number in range(1_200))))
    run(home)
    result = scan_everything()
    assert (result.findings, result.omitted) == (1_000, 200)
    assert "200 more findings are not stored" in scan.describe(result)


def test_a_job_scans_all_agents_and_is_due_after_an_import(real_files, tmp_path):
    home = Home(tmp_path / "openclaw", agents=("main", "research"))
    write_mails(home)
    write_mails(home, agent="research")
    collect.run({"source": str(home.root)}, Progress())
    assert scan.is_needed()
    job = jobs.run_now("findings_scan", {}, by="root")
    assert job.state == "finished", job.message
    assert "18 findings stored" in job.result["message"]
    assert not scan.is_needed()
    assert [len(list_places(agent.db)) for agent in Agent.objects.all()] == [9, 9]


def test_a_secret_is_masked_and_an_address_is_not(home):
    home.transcript(user(f"The key is {KEY}, the address {MAIL} is mine"))
    run(home)
    scan_everything()
    values = {row.kind: places.read_excerpts(MAIN, [row])[0].value for row in Finding.objects.using(MAIN).all()}
    assert values["email"] == MAIL
    assert values["key"].startswith(KEY[:4]) and values["key"].endswith(KEY[-2:]) and KEY[4:-2] not in values["key"]


@pytest.mark.skipif(not HOMES.exists(), reason="the recorded homes are not on this machine")
def test_a_real_home_is_scanned_to_its_end(real_files):
    collect.run({"source": str(HOMES / "openclaw-2026.9.6"), "include_deleted": True}, Progress())
    for agent in Agent.objects.all():
        result = scan_everything(agent.db)
        assert result.scanned >= TranscriptEvent.objects.using(agent.db).count() > 0
        assert result.unreadable == 0
        assert scan_everything(agent.db).scanned == 0
        for row in Finding.objects.using(agent.db).all():
            assert places.read_value(agent.db, row), row


def test_texts_that_are_searched_together_have_the_findings_of_each_alone():
    files = [LABELLED / f"labelled_{name}.jsonl" for name in ("first", "second")]
    texts = [json.loads(line)["text"] for file in files for line in file.read_bytes().splitlines()]
    documents = [Document(str(number), {"content": text}, size=len(text)) for number, text in enumerate(texts)]
    detection = Detection(version=1, custom=None)
    together = [list_spans(rows) for rows, _omitted in detection.find(Source.RECORD, documents)]
    alone = [list_spans(rows) for item in documents for rows, _omitted in detection.find(Source.RECORD, [item])]
    assert together == alone
    assert sum(map(len, alone)) > 300


def list_spans(rows):
    return [(row.source_id, row.path, row.start, row.end, row.kind, row.rule) for row in rows]
