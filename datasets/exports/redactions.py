"""The redaction of an export: rules, verdicts of people, and counts for its manifest."""

from collections import Counter
from collections.abc import Container, Iterable, Sequence
from functools import lru_cache, partial
from math import inf
from typing import Any

from agents import databases
from agents.models import Agent
from findings import transcript_scan
from findings.detection import read_detection
from findings.value_hash import compute_value_hash
from openclaw_web.detectors.detect import find_spans
from openclaw_web.detectors.spans import NOT_FULLY_SCANNED, RULES, Span

from ..finding_values.decisions import read_added, read_decisions
from ..markers import OPEN_FINDINGS, TokenNumbers
from ..redaction import PERSONAL, Redactor, Rules, redact_sample
from .clean_texts import CleanTexts
from .options import Options

UNSCANNED = "unscanned"  # the reason for a sample whose session was imported after the scan for the export
REMEMBERED = 10_000  # hashes of values


class Redaction:
    """Redacts the texts of one export, and counts the tokens in its rows.

    `agent_ids` are the agents of its samples. Beyond `room` characters no text is searched: each is one that was not
    fully scanned.
    """

    def __init__(self, options: Options, agent_ids: Sequence[str], room: float = inf):
        self.clean = CleanTexts()
        self.redactor = build_redactor(agent_ids, include_pii=options.include_pii, room=room, clean=self.clean)
        self.redact_sample = partial(redact_sample, self.redactor)
        self._unscanned = set(_list_unscanned(agent_ids))
        self.rows = 0
        self.kinds: Counter[str] = Counter()  # rows with each kind
        self.places: Counter[str] = Counter()

    def is_unscanned(self, agent_id: str, session_id: str) -> bool:
        """Whether a session has records that were not scanned, so that nobody could judge them."""
        return (agent_id, session_id) in self._unscanned

    def count_row(self, numbers: TokenNumbers) -> None:
        """Count the tokens of a row that was written."""
        self.rows += bool(numbers.places)
        self.kinds.update(numbers.places.keys())
        self.places.update(numbers.places)

    def as_json(self, excluded: dict[str, dict[str, Any]]) -> dict[str, Any]:
        """The counts as the manifest has them. `excluded`: samples that are left out, by reason."""
        reasons = (OPEN_FINDINGS, NOT_FULLY_SCANNED, UNSCANNED)
        left_out = {reason: excluded[reason]["count"] for reason in reasons if reason in excluded}
        kinds = {kind: {"rows": self.kinds[kind], "places": self.places[kind]} for kind in sorted(self.kinds)}
        return {"rules": RULES, "rows": self.rows, "kinds": kinds, "left_out": left_out}


def build_redactor(
    agent_ids: Iterable[str], *, include_pii: bool = False, room: float = inf, clean: Container[str] = ()
) -> Redactor:
    """A redactor by the rules and verdicts of now, for samples of these agents.

    `include_pii`: personal data stays; keys, passwords and other secrets never do. In `clean` texts these rules find
    nothing; only what people added is looked for there.
    """
    all_agents = Agent.objects.order_by("agent_id").values_list("agent_id", flat=True)
    # What people added counts wherever it stands, in the texts of other agents too.
    everywhere = dict.fromkeys([*agent_ids, *all_agents])
    added = dict.fromkeys(pair for agent_id in everywhere for pair in read_added(agent_id))
    decisions = read_decisions()
    rules = Rules(
        find_spans=_limit(partial(find_spans, custom=read_detection().custom), room, clean),
        hash_value=lru_cache(REMEMBERED)(compute_value_hash),
        find_state=(lambda kind, rule, name, place: decisions.find_state(kind, rule, name, place.name, place.agent_id))
        if decisions.places or decisions.values or decisions.rules
        else None,
        added=list(added),
        exempt=PERSONAL if include_pii else frozenset(),
    )
    return Redactor(rules)


def _limit(find, room, clean):
    def find_in_room(text):
        nonlocal room
        if text in clean:
            return ()
        room -= len(text)
        return find(text) if room >= 0 else [Span(0, len(text), NOT_FULLY_SCANNED, "")]

    return find_in_room


def _list_unscanned(agent_ids):
    """Agent and session of all sessions with records that were imported after the scan."""
    version = read_detection().version
    for agent_id in agent_ids:
        if db := databases.find_alias(agent_id):
            yield from ((agent_id, session_id) for session_id in transcript_scan.iterate_unscanned(db, version))
