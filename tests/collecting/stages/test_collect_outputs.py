"""Big outputs of tools become artifacts while a home is collected."""

import gzip
import json
import random
import resource
import signal
from pathlib import Path

import orjson
import pytest

from artifacts.errors import DamagedArtifact, NoSuchArtifact
from artifacts.excerpts.previews import CHARS
from artifacts.models import Artifact
from collecting import collect
from jobs.progress import Progress
from ledger.models import Session, ToolDay, TranscriptEvent
from ledger.transcripts.trimming import full_record, parse_stashed
from people.configuration import setting_values as configuration
from tests.collecting.collect_runs import MAIN, dump_tables, run
from tests.homes import assistant, result, user

pytestmark = pytest.mark.django_db
SETTING, SENDERS = "collector.stashOutputs", "collector.optedOutSenders"
REAL = Path(__file__).resolve().parents[4] / "shared" / "data" / "openclaw-2026.2.26"
LONG = "".join(f"line {number}: all is well\n" for number in range(600))
CALL = ("c1", "exec", {"command": "make"})


@pytest.fixture
def fill_disk():
    """A function that limits files to 2 MB, as a full disk or a quota does.

    The kernel refuses what goes past the limit.
    """
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    handler = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    yield lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (2_000_000, before[1]))
    resource.setrlimit(resource.RLIMIT_FSIZE, before)
    signal.signal(signal.SIGXFSZ, handler)


def results():
    return list(TranscriptEvent.objects.using(MAIN).filter(kind="tool_result").order_by("session_id", "seq"))


def uses():
    return list(Artifact.objects.using(MAIN).order_by("session_id", "record_id", "id"))


def blobs(store):
    return sorted((store / "artifacts" / "blobs").rglob("*.txt*"))


def collect_outputs(home, *texts, **more):
    """Collect a turn with a result for each text, and return the stored results."""
    home.transcript(user("One"), assistant("", CALL), *[result("c1", text, **more) for text in texts])
    run(home)
    return results()


def test_it_works(home, real_files):
    script = home.transcript(user("Build it"), assistant("", CALL))
    script.add(result("c1", LONG, details={"exitCode": 3, "aggregated": LONG}), assistant("It failed."))
    report = run(home)
    assert report["records"] == 5
    [event], [use], [blob] = results(), uses(), blobs(real_files)
    [note] = parse_stashed(event.trim_json)
    assert (note.path, note.handle) == ("message.content.0.text", use.handle)
    assert (note.chars, note.bytes, note.lines) == (len(LONG), len(LONG), 600)
    assert "exit code 3" in note.summary == use.summary
    assert (note.secrets, orjson.loads(event.trim_json)["aggregated"]) == ([], len(LONG))
    assert "capped" not in event.trim_json and event.full_zstd is None
    preview = orjson.loads(event.event_json)["message"]["content"][0]["text"]
    assert preview == use.preview and len(preview) <= CHARS
    assert full_record(event)["message"]["content"][0]["text"] == LONG
    assert gzip.decompress(blob.read_bytes()).decode() == LONG
    place = (use.session_id, use.turn_id, use.record_id, use.tool, use.tool_call_id)
    assert place == (script.session, f"{script.session}:r1", "r3", "exec", "c1")
    assert (use.kind, use.created_at, use.is_compressed) == ("tool_output", event.created_at, True)
    assert use.stored_bytes == blob.stat().st_size


def test_collecting_again_adds_nothing(home, real_files):
    script = home.transcript(user("One"), assistant("", CALL), result("c1", LONG))
    run(home)
    before = [(use.id, use.turn_id) for use in uses()]
    run(home)
    script.path.write_bytes(script.path.read_bytes())  # read from its start
    script.add(assistant("Done"))
    lines = script.path.read_bytes()
    script.path.unlink()
    script.path.write_bytes(lines)
    run(home)
    assert [(use.id, use.turn_id) for use in uses()] == before
    assert len(blobs(real_files)) == 1


def test_a_result_that_is_appended_is_stashed_in_its_turn(home):
    script = home.transcript(user("One"), assistant("", CALL))
    run(home)
    script.add(result("c1", LONG), user("Two"), assistant("", CALL), result("c2", LONG + "two"))
    run(home)
    assert [use.turn_id for use in uses()] == [f"{script.session}:r1", f"{script.session}:r4"]


def test_switched_off_nothing_becomes_an_artifact(home, real_files):
    configuration.put(SETTING, False)
    [event] = collect_outputs(home, LONG)
    assert not uses()
    assert not (real_files / "artifacts").exists()
    assert orjson.loads(event.trim_json) == {"capped": [["message.content.0.text", len(LONG), 1_000]]}
    assert full_record(event)["message"]["content"][0]["text"] == LONG


@pytest.mark.parametrize(
    "text",
    [
        "y" * 8_001,
        "a\n" * 201,
        json.dumps({"items": list(range(700))}),
        "<!doctype html><html><head><title>A page</title></head><body>Hello</body></html>",
        "%PDF-1.7 not much of one",
        "x\x00" * 5_000,
        "\N{GRINNING FACE}é\u202e" * 3_000,
    ],
    ids=["characters", "lines", "json", "html", "pdf", "nul", "unicode"],
)
def test_what_the_rule_wants_comes_back_whole(home, text):
    [event] = collect_outputs(home, text)
    [note] = parse_stashed(event.trim_json)
    assert (note.chars, note.bytes) == (len(text), len(text.encode()))
    assert len(event.event_json) < 8_000
    assert full_record(event)["message"]["content"][0]["text"] == text


@pytest.mark.parametrize(
    "text",
    [
        "y" * 8_000,
        "a\n" * 200,
        json.dumps({"items": list(range(300))}),
        "<relevant-memories>\n" + LONG,
        '{"schema":"openclaw-mem.artifact.fetch.v1","text":"' + "x" * 9_000 + '"}',
    ],
    ids=["characters", "lines", "json", "memories", "own-answer"],
)
def test_what_the_rule_does_not_want_stays(home, text):
    [event] = collect_outputs(home, text)
    assert not parse_stashed(event.trim_json)
    assert not uses()
    assert full_record(event)["message"]["content"][0]["text"] == text


def test_only_results_of_tools_become_artifacts(home):
    home.transcript(user(LONG), assistant(LONG), {"type": "custom_message", "content": LONG}, {"type": "x", "y": LONG})
    run(home)
    assert not uses()


def test_each_text_of_a_result_is_looked_at_by_itself(home):
    image = {"type": "image", "data": "A" * 9_000, "mimeType": "image/png"}
    texts = [{"type": "text", "text": text} for text in ("short", LONG, "y" * 9_000)]
    record = result("c1")
    record["message"] |= {"content": [texts[0], image, *texts[1:], "odd", None], "details": {"log": "z" * 9_000}}
    home.transcript(user("One"), assistant("", CALL), record)
    run(home)
    [event] = results()
    notes = orjson.loads(event.trim_json)
    assert [note["path"] for note in notes["stashed"]] == ["message.content.2.text", "message.content.3.text"]
    assert notes["capped"] == [["message.content.1.data", 9_000, 1_000], ["message.details.log", 9_000, 8_000]]
    assert full_record(event)["message"] == record["message"]
    assert len(uses()) == 2


def test_a_result_that_is_one_text_is_stashed(home):
    record = result("c1")
    record["message"] |= {"content": LONG, "details": {"aggregated": LONG}}
    home.transcript(user("One"), assistant("", CALL), record)
    run(home)
    [event] = results()
    assert [note.path for note in parse_stashed(event.trim_json)] == ["message.content"]
    assert full_record(event)["message"]["content"] == LONG
    assert len(uses()) == 1


def test_an_output_that_says_more_than_its_text_is_capped_as_ever(home):
    [event] = collect_outputs(home, LONG, details={"aggregated": LONG + "more"})
    notes = orjson.loads(event.trim_json)
    assert notes["capped"] == [["message.details.aggregated", len(LONG) + 4, 8_000]]
    assert full_record(event)["message"]["details"]["aggregated"] == LONG + "more"


def test_half_an_emoji_and_odd_facts_stop_nothing(home):
    script = home.transcript(user("One"), assistant("", CALL))
    record = result("c" * 2_000, LONG + "HALF", name="ex\x00ec", details={"exitCode": 10**30})
    line = json.dumps({"id": "r3", "parentId": "r2", "timestamp": "2026-02-21T03:00:03.000Z", **record})
    script.raw(line.replace("HALF", "\\ud83d") + "\n")
    run(home)
    [event], [use] = results(), uses()
    assert full_record(event)["message"]["content"][0]["text"] == LONG + "\ufffd"
    assert (use.tool, len(use.tool_call_id)) == ("ex\ufffdec", 256)


def test_the_same_output_in_two_sessions_is_one_content(home, real_files):
    for _session in range(2):
        home.transcript(user("One"), assistant("", CALL), result("c1", LONG))
    run(home)
    assert len(uses()) == 2
    assert len(blobs(real_files)) == 1


def test_nothing_of_people_who_opted_out_is_kept(home, real_files):
    configuration.put(SENDERS, ["carol"])
    envelope = 'Conversation info (untrusted metadata):\n```json\n{"sender_id": "%s"}\n```\n\nBuild it'
    script = home.transcript(user(envelope % "carol"), assistant("", CALL), result("c1", LONG))
    script.add(user(envelope % "bob"), assistant("", CALL), result("c2", LONG + "of bob"))
    home.index({"agent:main:irc:group:#lab": {"sessionId": script.session}})
    run(home)
    [use] = uses()
    assert use.record_id == "r6"
    assert len(blobs(real_files)) == 1


def test_sessions_that_were_reset_or_deleted_are_stashed_too(home):
    for suffix in (".reset.2026-02-21T03-05-02.724Z", ".deleted.2026-02-21T03-05-02.724Z"):
        home.transcript(user("One"), assistant("", CALL), result("c1", LONG), suffix=suffix)
    run(home, include_deleted=True)
    assert len(uses()) == 2


def test_a_damaged_content_is_refused_and_a_missing_one_is_named(home, real_files):
    [event] = collect_outputs(home, LONG)
    [blob] = blobs(real_files)
    blob.write_bytes(gzip.compress(b"x" * len(LONG)))
    with pytest.raises(DamagedArtifact, match="is damaged"):
        full_record(event)
    blob.unlink()
    with pytest.raises(NoSuchArtifact, match="is missing"):
        full_record(event)


@pytest.mark.parametrize(
    ("place", "why"), [("artifacts", "cannot be written"), ("artifacts/blobs", "is a link or a file")]
)
def test_a_store_that_cannot_be_written_stops_no_collect(home, real_files, place, why):
    (real_files / place).parent.mkdir(exist_ok=True)
    (real_files / place).write_text("a file where a folder should be")
    home.transcript(user("One"), assistant("", CALL), result("c1", LONG), assistant("Done"))
    report = run(home)
    [note] = report["agents"]["main"]["notes"]
    assert report["records"] == 5 and why in note and "openclaw-web collect --again" in note
    assert not uses()
    [event] = results()
    assert full_record(event)["message"]["content"][0]["text"] == LONG
    assert place == "artifacts" or not list((real_files / "artifacts" / "tmp").iterdir())


class TestAgain:
    """Outputs that stayed in their records become artifacts when they are collected again."""

    @pytest.fixture
    def unstashed_home(self, home):
        """A home that was collected while nothing became an artifact; the setting is on again."""
        configuration.put(SETTING, False)
        details = {"exitCode": 2, "aggregated": LONG[:9_000]}
        home.transcript(user("One"), assistant("", CALL), result("c1", LONG, details=details))
        script = home.transcript(user("Two"), assistant("", CALL), result("c2", "small", details={"log": "z" * 9_000}))
        script.add(
            user("Three"), assistant("", CALL), result("c4", "[" + "1," * 1_500 + "1]", details={"x": "z" * 9_000})
        )
        run(home)
        configuration.put(SETTING, True)
        return home

    def test_what_stayed_in_records_is_moved(self, unstashed_home):
        before = {event.pk: full_record(event) for event in results()}
        again = run(unstashed_home, again=True)["again"]["main"]
        assert again["rebuilt"] == 2
        assert {event.pk: full_record(event) for event in results()} == before
        [use, other] = sorted(uses(), key=lambda use: use.tool_call_id)
        assert (use.turn_id, use.record_id) == (f"{use.session_id}:r1", "r3")
        assert (use.tool, other.tool_call_id) == ("exec", "c4")
        assert "exit code 2" in use.summary
        assert sum(len(parse_stashed(event.trim_json)) for event in results()) == 2
        assert run(unstashed_home, again=True)["again"]["main"]["unchanged"] == 2

    def test_it_makes_what_collecting_would_have_made(self, unstashed_home):
        run(unstashed_home, again=True)
        moved = dump_tables()
        Artifact.objects.using(MAIN).all().delete()
        Session.objects.using(MAIN).all().delete()
        ToolDay.objects.using(MAIN).all().delete()
        run(unstashed_home, again=True)
        assert dump_tables() == moved

    def test_sessions_without_a_source_too_which_stay_as_they_are(self, unstashed_home):
        sources = {path: path.read_bytes() for path in unstashed_home.root.rglob("*.jsonl")}
        Session.objects.using(MAIN).update(source_state="deleted")
        for path in sources:
            path.unlink()
        again = run(unstashed_home, again=True)["again"]["main"]
        assert (len(again["without_source"]), again["rebuilt"], again["added"]) == (2, 2, {})
        assert set(Session.objects.using(MAIN).values_list("source_state", flat=True)) == {"deleted"}
        Session.objects.using(MAIN).update(source_state="live")
        moved = dump_tables()
        for path, lines in sources.items():
            path.write_bytes(lines)
        assert run(unstashed_home, again=True)["again"]["main"]["unchanged"] == 2
        assert dump_tables() == moved

    def test_while_the_store_cannot_be_written_they_stay_and_it_is_said(self, unstashed_home, real_files):
        (real_files / "artifacts").write_text("a file where a folder should be")
        before = dump_tables()
        run(unstashed_home, again=True)
        assert dump_tables() == before
        assert not uses()

    def test_a_damaged_record_stops_nothing(self, unstashed_home):
        for path in unstashed_home.root.rglob("*.jsonl"):
            path.unlink()
        TranscriptEvent.objects.using(MAIN).filter(trim_json__contains="aggregated").update(full_zstd=b"no zstd")
        again = run(unstashed_home, again=True)["again"]["main"]
        assert again["rebuilt"] == 1
        assert [use.tool_call_id for use in uses()] == ["c4"]


def test_a_full_disk_is_a_sentence_in_the_report_and_nothing_half_done(home, real_files, fill_disk):
    big = random.Random(7).randbytes(300_000).hex() * 9  # gzip does not see so far back, the packed record does
    home.transcript(user("One"), assistant("", CALL), result("c1", LONG), result("c1", big))
    fill_disk()
    report = run(home)
    note = report["agents"]["main"]["notes"][0]
    assert "no space left. Nothing was stored." in note
    assert report["records"] == 5
    assert not uses()
    assert not list((real_files / "artifacts" / "tmp").iterdir())
    assert [full_record(event)["message"]["content"][0]["text"] for event in results()] == [LONG, big]


@pytest.mark.skipif(not REAL.exists(), reason="the recorded home is not on this machine")
def test_the_long_output_of_a_real_home(real_files):
    collect.run({"source": str(REAL), "include_deleted": True}, Progress())
    lines = {}
    for file in REAL.glob("agents/main/sessions/*.jsonl*"):
        for line in file.read_bytes().splitlines():
            record = orjson.loads(line)
            if record.get("message", {}).get("role") == "toolResult":
                lines[file.name[:36], record["id"]] = record["message"]["content"]
    stored_uses = uses()
    assert max(use.chars for use in stored_uses) > 160_000
    for use in stored_uses:
        event = TranscriptEvent.objects.using(MAIN).get(session_id=use.session_id, seq__in=event_seqs(use))
        assert full_record(event)["message"]["content"] == lines[use.session_id, use.record_id]
        assert len(event.event_json) < 12_000


def event_seqs(use):
    identities = TranscriptEvent.objects.using(MAIN)
    return identities.filter(session_id=use.session_id, event_id=use.record_id).values_list("seq", flat=True)
