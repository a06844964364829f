"""`episodes search`: events that hold all words, grouped by session."""

import dataclasses
import re
import shlex
from collections import Counter

from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from openclaw_web.commands.groups import Outcome, WrongUse

from ..events import WrongEvent
from ..queries import COLUMNS, MOST_ROWS, EventQuery, build_item, search_listing
from . import add_payload, add_scope, bound, find_agent
from .embed import add_model

HELP = gettext_lazy("Search a scope for events that hold all words, newest first, grouped by session.")
EXAMPLES = ("episodes search 'git status' --scope openclaw-mem --json", "episodes search 面包 --global")
MODES = ("lexical", "hybrid", "vector")
LANE = "text"
SEARCH_MS = 2_000  # milliseconds; a page of the site stops earlier, because it can go on
SNIPPET_CHARACTERS, SUMMARY_CHARACTERS = 60, 280


def add_arguments(parser):
    parser.add_argument("query", metavar="QUERY", help=_("words, or parts of words; every one has to occur"))
    add_scope(parser)
    parser.add_argument("--limit", type=int, default=5, metavar="N", help=_("sessions to print, at most 500 (5)"))
    parser.add_argument(
        "--per-session-limit", type=int, default=3, metavar="N", help=_("events to print of a session, at most 20 (3)")
    )
    parser.add_argument(
        "--search-limit", type=int, default=40, metavar="N", help=_("events to find before grouping, at most 500 (40)")
    )
    add_payload(parser)
    parser.add_argument("--mode", choices=MODES, default=MODES[0], help=_("only lexical is supported"))
    parser.add_argument("--query-en", metavar="TEXT", help=_("ignored; the receipt repeats it"))
    parser.add_argument("--trace", action="store_true", help=_("include the ranking"))
    add_model(parser)
    parser.add_argument("-k", type=int, default=60, metavar="N", help=_("constant of the score 1 / (k + rank) (60)"))


def run(agent, scope, global_scope, query, include_payload, mode, query_en, trace, model, k, **options):
    if mode != MODES[0]:
        raise WrongUse(
            _("--mode %(mode)s needs embeddings, which events do not have here. Use lexical.") % {"mode": mode}
        )
    event_query = EventQuery.parse(scope, is_global=global_scope)
    words = query.strip()
    if not words:
        raise WrongEvent("query is required")
    most_sessions = bound(options["limit"] or 5, MOST_ROWS)
    most_items = bound(options["per_session_limit"] or 3, 20)
    most_hits = bound(options["search_limit"] or 40, MOST_ROWS)
    listing = search_listing(find_agent(agent).db, event_query, words)
    rows = listing.rows.values(*COLUMNS, "payload_json")
    page = dataclasses.replace(listing, rows=rows, time_ms=SEARCH_MS).page(size=most_hits)
    items = _build_hits(page, words.split(), include_payload=include_payload, k=max(1, k or 60))
    sessions = _group_by_session(items)[:most_sessions]
    query_texts = {"text": words, "text_en": (query_en or "").strip() or None}
    result = {
        "count": len(sessions),
        "session_limit": most_sessions,
        "per_session_limit": most_items,
        "search_limit": most_hits,
        "include_payload": include_payload,
        "mode": mode,
        "sessions": [_describe_session(rank, hits, most_items) for rank, hits in enumerate(sessions, 1)],
    }
    facts = {"scope": event_query.scope, "query": query_texts, "result": result, **_describe_end(page)}
    return Outcome({**facts, **({"trace": _trace(items, mode, model, query_texts)} if trace else {})}, "")


def _describe_end(page):
    """Return how far a search went that ended early; nothing for a complete one."""
    if page.is_partial:
        return {"searched_back_to_ts_ms": page.reached}
    return {"has_more": True} if page.next else {}


def _build_hits(rows, words, *, include_payload, k):
    """Return rows as items, each with its rank and the text around the first word."""
    items = []
    for rank, row in enumerate(rows, 1):
        item = build_item(row, with_payload=include_payload)
        texts = [row["summary"], row["refs_json"], row["payload_json"] if include_payload else None]
        match = {"lanes": [LANE], "rank": rank, "rrf_score": 1 / (k + rank), "snippet": _cut_snippet(texts, words)}
        items.append({**item, "match": match})
    return items


def _cut_snippet(texts, words):
    """Return the surroundings of the first word that a text holds, with the word in brackets.

    Without such a word it is the beginning of the summary: the word is in a payload that was not asked for.
    """
    for text in filter(None, texts):
        for word in words:
            if match := re.search(re.escape(word), text, re.IGNORECASE):
                start, end = match.start() - SNIPPET_CHARACTERS, match.end() + SNIPPET_CHARACTERS
                before, after = text[max(0, start) : match.start()], text[match.end() : end]
                dots = ["…" if start > 0 else "", "…" if end < len(text) else ""]
                return " ".join(f"{dots[0]}{before}[{match[0]}]{after}{dots[1]}".split())
    return texts[0][: 2 * SNIPPET_CHARACTERS]


def _group_by_session(items):
    """Return the hits of each session, most hits first, then the best hit."""
    hits_of_session = {}
    for item in items:
        hits_of_session.setdefault(item["session_id"], []).append(item)
    return sorted(hits_of_session.values(), key=lambda hits: (-len(hits), hits[0]["match"]["rank"]))


def _describe_session(rank, hits, most_items):
    first, shown_hits = hits[0], hits[:most_items]
    counts = Counter(item["type"] for item in hits)
    scope, session_id = first["scope"], first["session_id"]
    words = ["openclaw-web", "episodes", "replay", session_id, "--scope", scope, "--json"]
    return {
        "rank": rank,
        "session_id": session_id,
        "hit_count": len(hits),
        "best_match_rank": first["match"]["rank"],
        "best_match_score": None,
        "best_rrf_score": first["match"]["rrf_score"],
        "latest_ts_ms": max(item["ts_ms"] for item in hits),
        "agent_ids": sorted({item["agent_id"] for item in hits}),
        "type_counts": [
            {"type": name, "count": count}
            for name, count in sorted(counts.items(), key=lambda pair: (-pair[1], pair[0]))
        ],
        "summary": " | ".join(dict.fromkeys(item["summary"] for item in shown_hits))[:SUMMARY_CHARACTERS],
        "replay_hint": {"scope": scope, "session_id": session_id, "command": shlex.join(words)},
        "matched_items": shown_hits,
    }


def _trace(items, mode, model, query_texts):
    """Return the ranking with the keys of the existing tool; its lists of vectors are empty."""
    names = ("id", "event_id", "session_id")
    ranking = [({name: item[name] for name in names}, item["match"]) for item in items]
    return {
        "mode": mode,
        "model": model,
        "query": query_texts,
        "fts_top_k": [{**hit, "score": match["rrf_score"], "snippet": match["snippet"]} for hit, match in ranking],
        "vec_top_k": [],
        "vec_query_en_top_k": [],
        "fused_ranking": [{**hit, "rrf_score": match["rrf_score"], "lanes": match["lanes"]} for hit, match in ranking],
    }
