"""Writes a big OpenClaw home for benchmarks.

    python benchmarks/corpus.py --out DIR --sessions 1000 --turns 50

It repeats the exchanges of the demo's transcripts (a message of a person and everything up to the next one), each with
new ids and times, in one session after another. The same arguments write the same bytes.
"""

import argparse
import json
import random
import sys
from datetime import UTC, datetime
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from demo.recording import DAY_MS, Recording

HOUR_MS = 3_600_000
UNTIL_MS = 1_780_272_000_000  # 2026-06-01 00:00 UTC
FOLDER = "/home/crumb/.openclaw"  # where the transcripts say they were written
SPAN_DAYS = 120
PUT_AWAY_SHARE = 0.08


def write_bulk_home(out, *, agents=4, sessions=1000, turns=50, seed=7, tool_bytes=0):
    """Write `sessions` sessions of about `turns` turns, spread over `agents` agents; return counts."""
    exchanges = _read_exchanges()
    names = [
        ("main", "research")[number % 2] + (f"-{number // 2 + 1}" if number > 1 else "") for number in range(agents)
    ]
    indexes = {name: {} for name in names}
    counts = dict.fromkeys(("files", "bytes", "sessions", "records", "turns", "tool_results"), 0)
    for name in names:
        (out / "agents" / name / "sessions").mkdir(parents=True)
    for number in range(sessions):
        agent, chance = names[number % agents], random.Random(f"{seed} {number}")
        goal, records = chance.randint(max(1, turns // 2), max(1, turns * 3 // 2)), []
        session_id, at_ms = _draw_uuid(chance), UNTIL_MS - chance.randint(20 * DAY_MS, SPAN_DAYS * DAY_MS)
        _append(
            records, {"type": "session", "version": 3, "id": session_id, "cwd": f"{FOLDER}/workspace"}, at_ms, chance
        )
        for _turn in range(goal):
            first_ms, exchange = chance.choice(exchanges[agent.partition("-")[0]])
            for record in exchange:
                _append(records, _lengthen(json.loads(record), tool_bytes, chance), at_ms, chance, since_ms=first_ms)
            at_ms += chance.randint(HOUR_MS // 4, 9 * HOUR_MS)
        file = out / "agents" / agent / "sessions" / f"{session_id}.jsonl"
        if chance.random() < PUT_AWAY_SHARE:
            file = file.with_name(f"{file.name}.{chance.choice(('reset', 'deleted'))}.2026-05-31T00-00-00.000Z")
        else:
            key = f"agent:{agent}:telegram:direct:{555_100_000 + number}"
            indexes[agent][key] = {"sessionId": session_id, "updatedAt": at_ms, "channel": "telegram"}
            roles = [record.get("message", {}).get("role") for record in records]
            counts["sessions"] += 1
            counts["records"] += len(records)
            counts["turns"] += roles.count("user")
            counts["tool_results"] += roles.count("toolResult")
        file.write_text("".join(f"{json.dumps(record, ensure_ascii=False)}\n" for record in records), encoding="utf-8")
    for name, entries in indexes.items():
        (out / "agents" / name / "sessions" / "sessions.json").write_text(json.dumps(entries), encoding="utf-8")
    listed = [{"id": name, "workspace": f"{FOLDER}/workspace-{name}"} for name in names]
    (out / "openclaw.json").write_text(json.dumps({"agents": {"list": listed}}), encoding="utf-8")
    sizes = [file.stat().st_size for file in out.rglob("*") if file.is_file()]
    return counts | {"files": len(sizes), "bytes": sum(sizes)}


def _read_exchanges():
    """The exchanges of each agent as (milliseconds of the first record, its records as JSON)."""
    exchanges = {"main": [], "research": []}
    for agent, records in Recording(UNTIL_MS).iterate_records():
        exchange = []
        for record in records:
            if record.get("message", {}).get("role") == "user":
                exchange = [json.dumps(record)]
                exchanges[agent].append((record["message"]["timestamp"], exchange))
            elif record["type"] == "message" and exchange and record["message"].get("timestamp"):
                exchange.append(json.dumps(record))
    return exchanges


def _append(records, record, at_ms, chance, *, since_ms=None):
    """Append a record as the child of the last one, moved from `since_ms` to `at_ms`."""
    if since_ms is not None:
        message = record["message"]
        at_ms += max(0, message["timestamp"] - since_ms)
        message["timestamp"] = at_ms
        record |= {"id": f"{chance.getrandbits(32):08x}", "parentId": records[-1]["id"] if len(records) > 1 else None}
    record["timestamp"] = f"{datetime.fromtimestamp(at_ms // 1000, UTC):%Y-%m-%dT%H:%M:%S}.{at_ms % 1000:03d}Z"
    records.append(record)


def _lengthen(record, tool_bytes, chance):
    """Lengthen the output of a command to about `tool_bytes` bytes, with lines of an access log."""
    message = record["message"]
    if tool_bytes and message.get("toolName") == "exec" and message["content"]:
        size = min(200_000, round(chance.lognormvariate(-0.5, 1.0) * tool_bytes))
        lines = [message["content"][0].get("text", "")]
        length = len(lines[0])
        while length < size:
            page, status = (
                chance.choice(("orders", "slots", "prices", "till")),
                chance.choice((200, 200, 200, 304, 500)),
            )
            lines.append(f"192.0.2.{chance.randint(1, 254)} GET /{page}/{chance.randint(1000, 9999)} {status} 512")
            length += len(lines[-1]) + 1
        message["content"][0]["text"] = "\n".join(lines)
        if "aggregated" in message.get("details", {}):
            message["details"]["aggregated"] = message["content"][0]["text"]
    return record


def _draw_uuid(chance):
    digits = f"{chance.getrandbits(128):032x}"
    return f"{digits[:8]}-{digits[8:12]}-4{digits[13:16]}-a{digits[17:20]}-{digits[20:]}"


def main():
    """Parse the arguments, write the home, and print its size."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--out", required=True, type=Path, help="a folder that does not exist or is empty")
    parser.add_argument("--agents", type=int, default=4)
    parser.add_argument("--sessions", type=int, default=1000, help="in all agents together")
    parser.add_argument("--turns", type=int, default=50, help="about how many in a session")
    parser.add_argument("--seed", type=int, default=7)
    parser.add_argument("--tool-bytes", type=int, default=0, help="about how long the output of a command is")
    options = vars(parser.parse_args())
    out = options.pop("out")
    if out.exists() and any(out.iterdir()):
        parser.error(f"{out} is not empty")
    counts = write_bulk_home(out, **options)
    (out / "ground_truth.json").write_text(json.dumps(counts), encoding="utf-8")
    print(f"{counts['bytes'] / 1e6:.1f} MB in {counts['files']} files: {counts['sessions']} live sessions,")
    print(f"{counts['records']} records, {counts['turns']} turns, {counts['tool_results']} tool results")


if __name__ == "__main__":
    main()
