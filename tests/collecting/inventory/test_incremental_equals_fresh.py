"""Imports of a home that changes come to what one import of all versions of its files comes to.

A home has a few sessions. Their files grow, fork, are written anew (longer, shorter, with other records), get a record
under a used id, a reset or a second header, have a second file beside them, and are deleted. Each state of the home is
imported into one store, in any order. The other store imports one home in which every version of every file that was
ever seen is a file of its own. Deriving everything again from the stored records, as for sessions that no source holds
any more, changes nothing either.

Stores are equal when all rows of the tables of sessions are, but for this:

* `seq`, `first_seq`, `last_seq`, `turn_number`, `event_count`: numbers by arrival. Records are compared by what they
  are (id and content), and rows that name a record name it by that.
* The number behind the id of another record under a used id says which of them came first, so `id_checksum`, `id` of
  turns and `leaf_record_id` are compared by content too.
* A header is one record in every version, whatever it says; here it always says the same.
* `leaf_ids` are stored only where there were several sources or versions; `is_active` is what follows from them.
* `source_state` says where the sources are now, and `parents`, `repeats_mark` which sessions were compared when.
* `transcript_events.repeat_of` is empty: no session names a parent.
"""

import itertools
import json
from contextlib import closing, suppress

import pytest
from django.db import connections
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from agents import databases
from agents.models import Agent, CollectedSession, CollectorSource
from ledger.rebuild.sums import rebuild_session
from tests.collecting.collect_runs import run
from tests.homes import Home

pytestmark = pytest.mark.django_db
NUMBER = itertools.count(1)
SESSIONS = tuple(f"{number}1111111-2222-4333-8444-555555555555" for number in range(1, 4))
ACTS = ("talk", "talk", "talk", "fork", "anew", "longer", "shorter", "clash", "reset", "header", "beside", "delete")
MOST_RECORDS, MOST_STATES = 12, 5
LEFT_OUT = {
    "seq", "first_seq", "last_seq", "turn_number", "event_count", "id_checksum", "source_state", "parents",
    "repeats_mark", "leaf_ids",
}  # fmt: skip
TABLES = (
    *("sessions", "transcript_events", "conversation_turns", "transcript_snapshots"),
    *("session_days", "session_tools", "tool_days"),
)
EDITS = st.lists(
    st.tuples(st.sampled_from(ACTS), st.integers(0, 2), st.integers(0, 9), st.integers(0, 3)), min_size=1, max_size=4
)


class History:
    """A home as a sequence of states; each is the contents of its files by session and number of the file."""

    def __init__(self):
        self.count, self.files, self.versions, self.states = 0, {}, {}, []

    def change(self, act, which, place, kind):
        """Change the files of one session as `act` says, and add no record when there are many."""
        session = SESSIONS[which]
        names = sorted(name for name in self.files if name[0] == session)
        if not names:
            self.files[session, 0] = [self.header(session), *self.talk(None)]
            return
        name = names[place % len(names)]
        lines = self.files[name]
        at = 1 + place % len(lines)
        if act == "delete":
            del self.files[name]
        elif act == "shorter":
            self.files[name] = lines[: max(2, at)]
        elif sum(map(len, self.files.values())) >= MOST_RECORDS:
            return
        elif act == "anew":
            self.files[name] = [self.header(session), *self.talk(None)]
        elif act == "longer":
            self.files[name] = [*lines[:at], *self.talk(lines[at - 1]), *self.talk(None)[: kind % 3]]
        elif act == "fork":
            self.files[name] = [*lines, *self.talk(lines[at - 1])]
        elif act == "clash":
            used = lines[at - 1]
            added = self.record(kind, lines[-1]) | ({"id": used["id"]} if used["type"] != "session" else {})
            self.files[name] = [*lines, added]
        elif act == "reset":
            self.files[name] = [*lines, {**self.record(0, lines[-1]), "type": "reset", "message": None}]
        elif act == "header":
            other = SESSIONS[which] if kind % 2 else f"{self.count:08x}-0000-4000-8000-000000000000"
            self.files[name] = [*lines, self.header(other), *self.talk(None)]
        elif act == "beside" and len(names) < 2:
            self.files[session, 1 - names[0][1]] = [*lines[:at], *self.talk(lines[at - 1])[: 1 + kind % 2]]
        else:
            self.files[name] = [*lines, *self.talk(lines[-1])[: 1 + kind % 2]]

    def header(self, session):
        return {"type": "session", "version": 3, "id": session, "timestamp": "2026-03-01T10:00:00.000Z"}

    def talk(self, after):
        """Return a question that follows a record, and its answer."""
        question = self.record(0, after)
        return [question, self.record(1, question)]

    def record(self, kind, after):
        """Return the next record: of a person, of the agent, or a compaction."""
        moment = self.moment()
        parent = after["id"] if after and after["type"] != "session" else None
        record = {"type": "message", "id": f"m{self.count}", "parentId": parent, "timestamp": moment}
        if kind == 2:
            return record | {"type": "compaction", "summary": f"Summary {self.count}", "tokensBefore": 9}
        text = [{"type": "text", "text": f"Words {self.count}"}]
        if kind == 0:
            return record | {"message": {"role": "user", "content": text}}
        usage = {"input": 100, "output": self.count, "totalTokens": 100 + self.count, "cost": {"total": 0.25}}
        call = {"type": "toolCall", "id": f"c{self.count}", "name": "exec", "arguments": {}}
        content = [*text, call] if kind == 3 else text
        message = {"role": "assistant", "content": content, "model": f"model-{self.count % 3}", "usage": usage}
        return record | {"message": message | {"stopReason": "stop"}}

    def moment(self):
        self.count += 1
        return f"2026-03-01T10:{self.count // 60:02d}:{self.count % 60:02d}.000Z"

    def __repr__(self):
        """Return the records of each state, each with what it follows."""
        return "".join(
            f"\n{place} {name[0][:2]}/{name[1]}: {' '.join(map(describe, map(json.loads, text.splitlines())))}"
            for place, state in enumerate(self.states)
            for name, text in sorted(state.items())
        )

    def note(self):
        """Note the state as it is now."""
        state = {name: encode(lines) for name, lines in self.files.items()}
        self.states.append(state)
        for name, text in state.items():
            self.versions.setdefault((name[0], text), len(self.versions))


def describe(line):
    message = line.get("message") or {"role": line["type"], "content": [{"text": ""}]}
    return f"{line['id'][:3]}<{line.get('parentId')}:{message['role'][:3]}{message['content'][0]['text'][6:]}"


def find_differing(imported, expected):
    """Return the rows that only one store has, and of rows that both have, the columns that differ."""
    lacking = [row for row in imported if row not in expected], [row for row in expected if row not in imported]
    if len(lacking[0]) != len(lacking[1]):
        return lacking
    pairs = zip(*lacking, strict=True)
    return [{name: (mine[name], row[name]) for name in row if mine[name] != row[name]} for mine, row in pairs]


def encode(lines):
    return "".join(
        json.dumps({key: value for key, value in line.items() if value is not None or key == "parentId"}) + "\n"
        for line in lines
    )


@st.composite
def build_histories(draw):
    history = History()
    for edits in draw(st.lists(EDITS, min_size=2, max_size=MOST_STATES)):
        for edit in edits:
            history.change(*edit)
        history.note()
    return history


@settings(
    max_examples=25,
    phases=[Phase.generate],
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
@given(history=build_histories(), data=st.data())
def test_imports_of_all_states_come_to_one_import_of_all_versions(tmp_path, real_files, history, data):
    number = next(NUMBER)
    often, once = Home(tmp_path / f"often{number}"), Home(tmp_path / f"once{number}")
    order = data.draw(st.permutations(range(len(history.states))) | st.just(range(len(history.states))))
    for place in order:
        write_state(often, history.states[place])
        run(often, **{"as": f"often{number}"})
    for (session, text), place in history.versions.items():
        once.write(f"agents/main/sessions/{session}-topic-{place}.jsonl", text)
    run(once, **{"as": f"once{number}"})
    imported, expected = read_store(f"often{number}"), read_store(f"once{number}")
    held = [read_counts(f"{name}{number}") for name in ("often", "once")]
    for session_id, _kinds, _count in held[0]:
        rebuild_session(databases.get_alias(f"often{number}"), session_id)
    rebuilt = read_store(f"often{number}")
    for name in ("often", "once"):
        forget(f"{name}{number}")
    for table, stored in itertools.product(TABLES, (expected, rebuilt)):
        differing = find_differing(imported[table], stored[table])
        assert not any(differing), f"{table}: {differing}, imported in the order {list(order)}:{history!r}"
    assert held[0] == held[1]


def write_state(home, state):
    folder = home.root / "agents/main/sessions"
    names = {f"{session}{'-topic-7' * place}.jsonl": text for (session, place), text in state.items()}
    for path in folder.iterdir():
        if path.name not in names:
            path.unlink()
    for name, text in names.items():
        path = folder / name
        if not path.exists() or path.read_text() != text:
            is_grown = path.exists() and text.startswith(path.read_text())
            with path.open("a" if is_grown else "w") as file:
                file.write(text[len(path.read_text()) :] if is_grown else text)


def read_store(agent_id):
    """Return every row of the tables of sessions, without what is left out, by table."""
    rows = {}
    with closing(connections[databases.get_alias(agent_id)].cursor()) as cursor:
        for table in TABLES:
            cursor.execute(f"SELECT * FROM {table}")
            names = [column[0] for column in cursor.description]
            rows[table] = [dict(zip(names, row, strict=True)) for row in cursor.fetchall()]
    names = {(row["session_id"], row["event_id"]): row["event_json"] for row in rows["transcript_events"]}
    assert len(names) == len(rows["transcript_events"])
    for table in TABLES:
        for row in rows[table]:
            session = row.get("session_id") or row.get("id")
            row.pop("event_id", None)
            if table == "conversation_turns":
                row["id"] = ""
            for name in ("parent_id", "leaf_record_id", "user_message_id", "agent_message_id", "snapshot_id"):
                if row.get(name):
                    row[name] = names.get((session, row[name]), "gone")
            for name in LEFT_OUT & row.keys():
                del row[name]
    return {table: sorted(rows[table], key=repr) for table in TABLES}


def read_counts(agent_id):
    rows = CollectedSession.objects.filter(agent_id=agent_id).order_by("session_id")
    return list(rows.values_list("session_id", "kind_counts", "record_count"))


def forget(agent_id):
    """Remove an agent, so that a thousand of them do not fill the disk."""
    databases.remove_alias(f"agent_{agent_id}")
    for file in databases.get_path(agent_id).parent.iterdir():
        file.unlink()
    for model in (CollectorSource, CollectedSession, Agent):
        with suppress(Exception):
            model.objects.filter(agent_id=agent_id).delete()
