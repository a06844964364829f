"""Samples and turns as the buckets that they count in, such as their language, their tools and their month.

Both are read evenly spread, at most some thousands, so that a page costs the same with any number of them.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import date
from itertools import groupby
from operator import itemgetter
from typing import Any

from django.db.models import F, QuerySet, Value
from django.db.models.functions import Coalesce, Substr

from agents import databases
from gate.models import MemoryGateDecision
from guardian.models import WriteGuardianAudit
from ledger import consent
from ledger.models import ConversationTurn, Session
from ledger.transcripts.turns import utc_day
from openclaw_web.batches import in_batches
from openclaw_web.clock import DAY_MS
from openclaw_web.lists.filters import start_of
from openclaw_web.sqlite.fields import RowId

from ..decision_samples.list_columns import build_reply_text
from ..models import DatasetSample
from ..quality.languages import count_scripts
from ..turn_facts import find_stored_exclusion
from .turn_tools import TurnTools, read_tools

MOST_READ = 2_000  # samples, and turns of all agents together
BATCH = 250
LONGEST = 4_001  # characters of a reply that are read
NONE = ""  # the bucket of what has no tool, score, reviewer or known turn
TURN = DatasetSample.Type.ANNOTATED_TURN.value
TASK_OF = {
    TURN: "reply",
    DatasetSample.Type.MEMORY_GATE_POSITIVE.value: "gate",
    DatasetSample.Type.MEMORY_GATE_NEGATIVE.value: "gate",
    DatasetSample.Type.WRITE_GUARDIAN_DECISION.value: "guardian",
}
LENGTHS = ((200, "under_200"), (1_000, "200_to_1000"), (LONGEST - 1, "1000_to_4000"))
NAMED_SCRIPTS = {"latin", "cyrillic", "arabic"}
EAST_ASIAN_SHARE = 0.2  # of the words: code and names in a Chinese text are Latin
Buckets = frozenset[tuple[str, str]]


@dataclass(frozen=True, slots=True)
class Item:
    """A sample, or some turns of an agent (`weight`), with its buckets; `day` is empty where it is not known."""

    id: str
    buckets: Buckets
    day: str
    weight: int = 1
    text_hash: bytes = b""  # the same for samples with the same words


def find_language(text: str) -> str:
    """The language of a text by its letters, a key of words.LANGUAGES.

    Only East Asian languages are told apart; others are their script.
    """
    counts = count_scripts(text[:500])
    han, kana, hangul = (counts[script] for script in ("han", "kana", "hangul"))
    if han + kana + hangul and han + kana + hangul >= EAST_ASIAN_SHARE * counts.total():
        return "korean" if hangul > han + kana else "japanese" if kana > han / 10 else "chinese"
    most = max(counts, key=lambda script: counts[script])
    return most if counts[most] and most in NAMED_SCRIPTS else "other"


def read_samples(samples: QuerySet[DatasetSample], count: int, most: int) -> Iterator[Item]:
    """Yield `count` samples, or `most` of them evenly spread, each of which stands for several."""
    rows, step = _spread(samples, count, most)
    rows = rows.order_by("-agent_id", "-created_at", "-id")
    reply = Coalesce("output", build_reply_text())
    columns = ("id", "agent_id", "session_id", "turn_number", "turn_id", "sample_type", "quality_score", "annotated_by")
    rows = rows.values(*columns, text_hash=F("signature__words"), reply=Substr(reply, 1, LONGEST))
    for agent_id, of_agent in groupby(rows.iterator(chunk_size=BATCH), key=itemgetter("agent_id")):
        db = databases.find_alias(agent_id)
        for batch in in_batches(of_agent, BATCH):
            turn_ids = {row["turn_id"] for row in batch}
            turns = read_tools(db, [(row["session_id"], row["turn_number"]) for row in batch])
            is_readable = db or not consent.read_opted_out()
            withheld = consent.find_withheld_keys(db, turn_ids) if is_readable else turn_ids
            for row in batch:
                words = "" if row["turn_id"] in withheld or row["sample_type"] != TURN else row["reply"]
                yield _build_sample(row, turns.get((row["session_id"], row["turn_number"])), words, step)


def read_traffic(agent_ids: list[str], types: Iterable[str], first: str, last: str) -> Iterator[Item]:
    """Yield the turns of agents from a first to a last UTC day that could be samples of these types.

    Of many, some are read, evenly spread, and each stands for several.
    """
    tables = {"gate": MemoryGateDecision, "guardian": WriteGuardianAudit}
    tasks = {TASK_OF[name] for name in types}
    start, end = (start_of(date.fromisoformat(day)) for day in (first, last))
    days = {"created_at__gte": start, "created_at__lt": end + DAY_MS}
    for agent_id in agent_ids:
        if not (db := databases.find_alias(agent_id)):
            continue
        for task in tasks & tables.keys():
            amount = tables[task].objects.using(db).filter(**days).count()
            yield Item("", frozenset({("task", task)}), "", amount)
        turns = ConversationTurn.objects.using(db).active().filter(**days, agent_message_id__isnull=False)
        turns = turns.filter(repeat_of=None)
        turns, step = _spread(turns, turns.count(), max(1, MOST_READ // len(agent_ids)))
        columns = ("id", "session_id", "turn_number", "created_at", "user_metadata", "agent_metadata", "answer_state")
        rows = turns.order_by("created_at").values(*columns, reply=Substr("agent_message_content", 1, LONGEST))
        for batch in in_batches(rows.iterator(chunk_size=BATCH), BATCH):
            yield from _build_turns(db, agent_id, batch, step, has_replies="reply" in tasks)


def _build_turns(db, agent_id, batch, step, *, has_replies) -> Iterator[Item]:
    """The turns of a batch that could be samples: a person's question with an answer, whose words may be used."""
    sessions = Session.objects.using(db).only("id", "session_key").in_bulk({row["session_id"] for row in batch})
    withheld = consent.find_withheld_keys(db, {row["id"] for row in batch})
    tools = read_tools(db, [(row["session_id"], row["turn_number"]) for row in batch])
    for row in batch:
        stored = (row["user_metadata"], row["agent_metadata"], row["answer_state"])
        if row["id"] in withheld or find_stored_exclusion(sessions.get(row["session_id"]), *stored):
            continue
        buckets = _build_buckets(agent_id, tools.get((row["session_id"], row["turn_number"])), row["reply"])
        buckets |= {("task", "reply")} if has_replies else set()
        yield Item(row["id"], frozenset(buckets), utc_day(row["created_at"]), step)


def _build_sample(row, turn, words, step):
    score = row["quality_score"]
    buckets = _build_buckets(row["agent_id"], turn, words) | {
        ("task", TASK_OF[row["sample_type"]]),
        ("score", NONE if score is None else str(min(9, int(score * 10)))),
        ("reviewer", row["annotated_by"] or NONE),
    }
    return Item(row["id"], frozenset(buckets), utc_day(turn[0]) if turn else "", step, row["text_hash"] or b"")


def _build_buckets(agent_id, turn: TurnTools | None, words: str | None) -> set[tuple[str, str]]:
    buckets = {("agent", agent_id), ("month", utc_day(turn[0])[:7] if turn else NONE)}
    if turn:
        buckets |= {("tool", name) for name in turn[1] or [NONE]}
    if words:
        length = next((name for limit, name in LENGTHS if len(words) < limit), "over_4000")
        buckets |= {("language", find_language(words)), ("length", length)}
    return buckets


def _spread(rows: QuerySet[Any], count: int, most: int) -> tuple[QuerySet[Any], int]:
    """Every n-th of some rows, so that there are at most about `most`, and this n."""
    step = max(1, -(-count // most))
    return (rows.annotate(rest=RowId() % Value(step)).filter(rest=0) if step > 1 else rows), step
