"""Strategies for odd folders of agents.

Transcripts under any name, files beside them, links, odd names.
"""

import json
import os

from hypothesis import strategies as st

UUIDS = [f"{number:08x}-2222-4333-8444-555555555555" for number in range(1, 5)]
CHOSEN = ["harbour-project", "Talk.2", "boot-2026-06-12_01-38-43-539-a2a5aeed", "notes"]
IDS = st.sampled_from([*UUIDS, *CHOSEN])
FOLDERS = st.sampled_from(
    ["", "", "", "old/", "old/older/", "skills-prompts/sha256/", "media/", "tmp/", "cold/", "名字/"]
)
TAILS = st.sampled_from(
    [
        *(".jsonl", ".jsonl", ".jsonl", "-topic-7.jsonl", "-topic-1700000000.000100.jsonl", "-topic-a%2Fb.jsonl"),
        *(".jsonl.bak", ".jsonl.bak-1719-2", ".jsonl.old", ".jsonl.reset.2026-03-01T11-00-00.000Z"),
        *(".jsonl.deleted.2026-03-01T11-00-00.000Z", ".jsonl.imported-1795231258903", ".checkpoint.1.jsonl"),
        *(".jsonl.lock", ".trajectory.jsonl", ".trajectory-path.json", ".jsonl.tmp", ".txt", "", ".json"),
    ]
)
OTHERS = st.sampled_from(
    [
        *("sessions.json.bak", "auth-profiles.json", ".env", "sessions.json.4711.tmp", "api-key.txt", "x.sqlite"),
        *("a\nb.jsonl", "\u3000.jsonl", "..jsonl", "-.jsonl", "#x.jsonl"),
    ]
)
KINDS = st.sampled_from(["transcript", "transcript", "headless", "other", "empty", "damaged", "long"])
FILES = st.dictionaries(
    st.builds("{}{}{}".format, FOLDERS, IDS, TAILS) | st.builds("{}{}".format, FOLDERS, OTHERS),
    st.tuples(KINDS, IDS, st.integers(1, 6), st.integers(0, 3)),
    max_size=9,
)


def header(session):
    return json.dumps({"type": "session", "version": 3, "id": session, "timestamp": "2026-02-21T03:00:00.000Z"}) + "\n"


def message(number, parent=None, *, at=None, text=None, role="user"):
    moment = f"2026-02-21T03:{(at or number) // 60:02d}:{(at or number) % 60:02d}.000Z"
    body = {"role": role, "content": [{"type": "text", "text": text or f"Message {number}"}]}
    body |= {"model": f"model-{number}"} if role == "assistant" else {}
    record = {"type": "message", "id": f"m{number}", "parentId": parent, "timestamp": moment, "message": body}
    return json.dumps(record) + "\n"


def content(kind, session, records):
    lines = [message(number, f"m{number - 1}" if number > 1 else None) for number in range(1, records + 1)]
    return {
        "transcript": header(session) + "".join(lines),
        "headless": "".join(lines),
        "other": "# Notes\n" * records,
        "empty": "",
        "damaged": '{"type":"mess\n' + "\x00\n",
        "long": json.dumps({"type": "message", "id": "m1", "message": {"role": "user", "content": "x" * 90_000}})
        + "\n",
    }[kind]


def write(sessions, files):
    """Write the files of a FILES example; what the file system refuses is left out."""
    for name, (kind, session, records, link) in files.items():
        path = sessions / name
        path.parent.mkdir(parents=True, exist_ok=True)
        if link == 3:
            path.symlink_to("/nowhere")
        else:
            path.write_text(content(kind, session, records), "utf-8")
        if link == 2:
            os.utime(path, (1_700_000_000 + records, 1_700_000_000 + records))


def count_files(*folders):
    """Count files as `find -not -type d` does; links to folders are folders."""
    return sum(len(names) for folder in folders for _, _, names in os.walk(folder))
