"""Of 500 planted poisonings in three homes, ids connect everything that stems from each message, and nothing else."""

import orjson
import pytest

from datasets.models import DatasetMember
from datasets.releases.dataset_store import create_dataset
from datasets.releases.release import release_here
from datasets.review.verdicts import label_sample
from findings.models import FindingScan
from findings.scan import scan_agent
from guardian import services
from ledger.models import Session
from people.audit import log as audit
from tests.datasets.dedup.sample_texts import body
from tests.datasets.exports.export_helpers import build_export, read_rows
from tests.factories import DecisionFactory, EventFactory, SampleFactory, SessionFactory, TurnFactory
from tests.guardian.write_rows import T0, create_write
from tests.suite.nightly import first

pytestmark = pytest.mark.django_db
DB, IN_SESSION = "agent_ada", 4  # turns: as much happens in the one before and after


def write_by_tool(session, number, seq, name, content, at):
    """A call of the agent's own tools that writes a file."""
    call = {
        "type": "toolCall",
        "id": f"c{seq}",
        "name": "write",
        "arguments": {"path": f"/w/{name}", "content": content},
    }
    message = {"role": "assistant", "content": [call]}
    record = orjson.dumps({"type": "message", "id": f"m{seq}", "message": message}).decode()
    columns = {"event_json": record, "tool_call_count": 1, "turn_number": number, "created_at": at}
    EventFactory(session=session, seq=seq, event_id=f"m{seq}", kind="assistant", **columns)


def plant(shape, count):
    """Turns that each add a line, with all that comes of them; return what belongs to each: ids by step."""
    expected, memory, session = {}, "# Notes\n", None
    services.store_version(DB, "MEMORY.md", memory.encode(), modified_ms=T0 - 10_000)
    for place in range(count):
        at, number = T0 + place * 60_000, place % IN_SESSION + 1
        if number == 1:
            session = SessionFactory(id=f"s{place}")
        turn = TurnFactory(
            session=session, turn_number=number, created_at=at, first_seq=place * 3, last_seq=place * 3 + 2
        )
        before, memory = memory, f"{memory}- Zorb {place} counts {7_000 + place} lamps\n"
        links, about, note = {"turn": [turn.id], "decision": []}, {}, f"memory/2026-01-{place % 28 + 1:02}.md"
        if shape == "tools" and place % 3:
            about = {"origin": "unattributed", "session_id": None, "candidate_fact": None}
            write_by_tool(session, number, place * 3, "MEMORY.md", memory, at)
        else:
            decision = DecisionFactory(turn_id=turn.id, session_id=session.id, candidate_fact="lamps", created_at=at)
            links["decision"] = [decision.id]
            about = {"decision_id": decision.id} | ({} if shape == "decisions" else {"turn_id": turn.id})
        if shape == "tools" and place % 5 == 0:
            content = f"# Day\n- Zorb {place} has {7_000 + place} lamps\n"
            write_by_tool(session, number, place * 3 + 1, note, content, at)
            services.store_version(DB, note, content.encode(), modified_ms=at + 1_500)
        write = create_write(
            DB, place, before.encode(), memory.encode(), created_at=at + 2_000, **{"session_id": session.id} | about
        )
        sample = SampleFactory(
            id=f"x{place}", session_id=session.id, turn_id=turn.id, turn_number=number, content=body(place + 1)
        )
        label_sample(sample.id, "approved" if place % 7 else "rejected", by="ann")
        links |= {"write": [write.id], "line": [f"MEMORY.md:{place + 2}"], "sample": [sample.id]}
        expected[turn.id] = links | {"note": [note] if shape == "tools" and place % 5 == 0 else []}
        if place == count // 2:
            publish("first", "tom")
    publish("second", "tim")
    return expected


def publish(name, person):
    """A release and an export of what is approved by now, which somebody downloads."""
    scan_agent(DB)
    for scan in FindingScan.objects.using(DB).filter(source="record"):  # an import would have stored these
        count, checksum, _withheld = scan.fingerprint.split(":")
        Session.objects.using(DB).filter(id=scan.session_id).update(record_count=count, id_checksum=checksum)
    release_here(create_dataset(name, options={}, by="ann"), by="ann")
    export = build_export("alpaca", name=name)
    audit.record(person, "downloaded", object_type="export", object_id=export.id)
    EXPORTS[export.id] = export


EXPORTS = {}


@pytest.mark.parametrize(("shape", "count"), first([("turns", 168), ("decisions", 166), ("tools", 166)]))
def test_ids_connect_what_stems_from_a_message(real_files, ada, as_operator, shape, count):
    EXPORTS.clear()
    expected = plant(shape, count)
    rows = {
        key: {row["sample_id"]: number for number, row in enumerate(read_rows(export), 1)}
        for key, export in EXPORTS.items()
    }
    right = wrong = missed = 0
    for turn, links in expected.items():
        sample = links["sample"][0]
        links["release"] = list(DatasetMember.objects.filter(sample_id=sample).values_list("version_id", flat=True))
        links["row"] = [f"{key}:train:{numbers[sample]}" for key, numbers in rows.items() if sample in numbers]
        answer = as_operator.get("/api/v1/agents/ada/remediation", {"turn": turn}).json()
        steps = {step["step"]: {item["id"] for item in step["items"]} for step in answer["chain"]}
        steps["note"] = set(answer["notes"])
        steps["download"] = {
            item["title"] for step in answer["chain"] if step["step"] == "download" for item in step["items"]
        }
        people = {"first": "tom: first", "second": "tim: second"}
        links["download"] = [people[EXPORTS[row.partition(":")[0]].export_name] for row in links["row"]]
        for step, ids in links.items():
            right, missed = right + len(steps[step] & set(ids)), missed + len(set(ids) - steps[step])
            wrong += len(steps[step] - set(ids))
    assert missed == 0 and right / (right + wrong) >= 0.98, (right, wrong, missed)
    assert right > 6 * count
