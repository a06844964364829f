"""Who was told a fact: every turn that had it in its context, no other, and the replies that repeat it."""

import orjson
import pytest

from guardian.models import WriteGuardianAudit
from guardian.reach.contexts import find_reach
from guardian.reach.replies import find_replies
from guardian.reach.subject import list_lines
from ledger.models import ConversationTurn, PromptReport, Session
from search import fill
from tests.factories import EventFactory, SessionFactory, TurnFactory
from tests.guardian.write_rows import T0, create_write

pytestmark = pytest.mark.django_db
EMPTY = b"# Notes\n"
FACTS, SPACE_MS, DB = 50, 100_000, "agent_ada"


def spell(number):
    return f"- Kiln {number} holds {4100 + number} glazed bricks for Zorb{number} on Tuesdays and needs a warm day"


def add_turn(session, number, at, reply, *, result=None):
    """A turn with a reply, and perhaps the result of a tool."""
    records = [("assistant", {"role": "assistant", "content": [{"type": "text", "text": reply}]})]
    if result:
        content = [{"type": "text", "text": result}]
        records.insert(0, ("tool_result", {"role": "toolResult", "toolName": "memory_get", "content": content}))
    seq = number * 10
    for place, (kind, message) in enumerate(records):
        record = orjson.dumps({"type": "message", "id": f"r{seq + place}", "message": message}).decode()
        columns = {"kind": kind, "event_json": record, "turn_number": number, "created_at": at + place}
        columns |= {"tool_name": "memory_get"} if kind == "tool_result" else {}
        EventFactory(db=DB, session=session, seq=seq + place, event_id=f"r{seq + place}", **columns)
    Session.objects.using(DB).filter(id=session.id).update(last_activity_at=at)
    return TurnFactory(db=DB, session=session, turn_number=number, created_at=at, first_seq=seq, last_seq=seq + 9)


def add_report(session, at, chars):
    files = [
        {"name": "MEMORY.md", "rawChars": chars, "injectedChars": chars},
        {"name": "AGENTS.md", "rawChars": 5, "injectedChars": 5},
    ]
    report = PromptReport.objects.using(DB).create(
        id=f"report-{at}", report_json=orjson.dumps({"files": files}).decode()
    )
    columns = {
        "prompt_report": report,
        "metadata": orjson.dumps({"prompt": {"at": at}}).decode(),
        "last_activity_at": at,
    }
    Session.objects.using(DB).filter(id=session.id).update(**columns)


@pytest.fixture
def planted(real_files, ada):
    """Fifty facts, each in the file for a while: told by a tool, by a prompt with a report, or by the time alone."""
    (real_files / "agents" / "ada" / "agent").mkdir(parents=True)
    told_ids, replies, not_told = {}, {}, []
    group = SessionFactory(db=DB, id="group", origin="group", session_key="agent:ada:telegram:group:7")
    plain = SessionFactory(db=DB, id="plain", origin="direct", session_key="agent:ada:telegram:direct:8")
    for number in range(FACTS):
        at, line = T0 + number * SPACE_MS, spell(number)
        content = EMPTY + line.encode() + b"\n"
        create_write(DB, number * 100, EMPTY, content, candidate_fact=line)
        create_write(DB, number * 100 + 50, content, EMPTY, candidate_fact="Remove it.")
        six = "I know that it holds " + " ".join(line.split()[4:11])
        reply = six if number % 2 else f"Zorb{number} asked again, so {4100 + number} glazed bricks are ready."
        if number % 3 == 0:
            turn = add_turn(group, number + 1, at + 10_000, reply, result=f"# Notes\n{line}\n")
        elif number % 3 == 1:
            own = SessionFactory(
                db=DB, id=f"own{number}", origin="direct", session_key=f"agent:ada:telegram:direct:{number}"
            )
            turn = add_turn(own, 1, at + 10_000, reply)
            add_report(own, at + 10_500, len(content.decode().rstrip()))
        else:
            turn = add_turn(plain, number + 1, at + 10_000, reply)
        told_ids[number], replies[number] = {turn.id}, (turn.session_id, turn.turn_number)
        if number < 30:
            other = SessionFactory(db=DB, id=f"other{number}", origin=("cron", "group", "direct")[number % 3])
            moment = at + (12_000 if number % 3 < 2 else 60_000)
            not_told.append(add_turn(other, 1, moment, f"Nothing about {9_000 + number} here.").id)
    fill.fill_all()
    return told_ids, replies, not_told


def test_every_context_and_reply_is_found_and_no_other(planted, ada):
    told_ids, replies, not_told = planted
    right = wrong = missed = repeated = strange = 0
    for number in range(FACTS):
        reach = find_reach(ada, "MEMORY.md", [spell(number)])
        ids = {each.turn.id for each in reach.contexts}
        right, missed = right + len(ids & told_ids[number]), missed + len(told_ids[number] - ids)
        wrong += len(ids - told_ids[number])
        assert not ids & set(not_told)
        way = {each.way for each in reach.contexts}
        assert way == {("tool", "report", "time")[number % 3]}, (number, way)
        places = {(reply.session_id, reply.turn_number) for reply in find_replies(ada, "MEMORY.md", [spell(number)])}
        repeated += replies[number] in places
        strange += len(places - {replies[number]})
    assert (right, missed, wrong) == (FACTS, 0, 0)
    assert repeated / FACTS >= 0.9
    assert repeated / (repeated + strange) >= 0.95
    assert len(not_told) == 30


def test_the_page_and_the_api_say_the_same(planted, as_admin):
    answer = as_admin.get("/api/v1/agents/ada/guardian/writes/w300/reach").json()
    assert [(turn["way"], turn["tool"]) for turn in answer["turns"]] == [("tool", "memory_get")]
    assert answer["replies"][0]["is_told"]
    assert answer["not_told"]["other_time"]
    page = as_admin.get("/agents/ada/writes/reach/w300/").content.decode()
    assert "Proven" in page and "memory_get" in page and "Create a sample" in page
    assert "/agents/ada/writes/reach/w300/" in as_admin.get("/agents/ada/writes/w300/").content.decode()
    assert as_admin.get("/agents/ada/writes/reach/nothing/").status_code == 404
    assert as_admin.get("/agents/ada/writes/reach/w350/").status_code == 200  # it added nothing


def test_a_line_behind_the_cut_or_in_an_untrusted_file_is_not_told(real_files, ada):
    (real_files / "agents" / "ada" / "agent").mkdir(parents=True)
    content = EMPTY + b"filler line\n" * 2_000 + spell(1).encode() + b"\n"
    create_write(DB, 0, EMPTY, content)
    plain = SessionFactory(db=DB, id="plain", origin="direct", session_key="agent:ada:telegram:direct:8")
    add_turn(plain, 1, T0 + 10_000, "Hello.")
    reach = find_reach(ada, "MEMORY.md", [spell(1)])
    assert (reach.contexts, dict(reach.not_told)) == ([], {"cut": 1})
    assert ConversationTurn.objects.using(DB).count() == 1


def test_a_turn_that_a_fork_repeats_was_told_once(real_files, ada):
    (real_files / "agents" / "ada" / "agent").mkdir(parents=True)
    create_write(DB, 0, EMPTY, EMPTY + f"{spell(1)}\n{spell(1)}\n".encode())
    for name, repeat_of in (("plain", None), ("fork", "plain")):
        session = SessionFactory(db=DB, id=name, origin="direct", session_key=f"agent:ada:telegram:direct:{name}")
        turn = add_turn(session, 1, T0 + 10_000, "Hello.")
        ConversationTurn.objects.using(DB).filter(id=turn.id).update(repeat_of=repeat_of)
    (write,) = WriteGuardianAudit.objects.using(DB)
    assert list_lines(write) == [spell(1)]
    for line in (spell(1), spell(1).removeprefix("- ")):  # as a log has it
        assert [each.turn.session_id for each in find_reach(ada, "MEMORY.md", [line]).contexts] == ["plain"]
