import time
from dataclasses import fields
from pathlib import Path

from django.conf import settings
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from openclaw_web.commands.groups import Outcome, WrongUse

from ..events import PAYLOAD_BYTES
from ..imports.following import Following
from ..imports.spool_events import CONVERSATION_BYTES, FEWEST_PAYLOAD_BYTES
from ..imports.transcript_extraction import ExtractionLimits, ExtractionResult, extract
from . import find_agent
from .ingest import add_follow, say_ignored

HELP = gettext_lazy("Store what people and the agent said in transcript files. The files are only read.")
EXAMPLES = (
    "episodes extract-sessions --sessions-root ~/.openclaw/agents/main/sessions --json",
    "episodes extract-sessions --sessions-root ~/.openclaw/agents/main/sessions --follow",
)
SUMMARY_CHARACTERS, FEWEST_SUMMARY_CHARACTERS, MOST_SUMMARY_CHARACTERS = 220, 40, 400


def add_arguments(parser):
    root = settings.STATE_DIR / "sessions"
    parser.add_argument(
        "--sessions-root", metavar="FOLDER", default=str(root), help=_("folder of the transcripts (%(default)s)")
    )
    parser.add_argument("--file", metavar="FILE", help=_("ignored: events are stored without a spool"))
    parser.add_argument("--state", metavar="FILE", help=_("ignored: positions are stored in the home"))
    parser.add_argument(
        "--summary-max-chars",
        type=int,
        default=SUMMARY_CHARACTERS,
        metavar="N",
        help=_("characters of a summary, 40 to 400 (%(default)s)"),
    )
    parser.add_argument(
        "--payload-cap-bytes",
        type=int,
        default=CONVERSATION_BYTES,
        metavar="N",
        help=_("bytes of a payload, at most %(most)s (%(value)s)")
        % {"most": PAYLOAD_BYTES, "value": CONVERSATION_BYTES},
    )
    add_follow(parser)
    parser.add_argument(
        "--max-duration-seconds",
        type=float,
        default=0,
        metavar="S",
        help=_("with --follow: end after S seconds (0: never)"),
    )


def run(agent, sessions_root, file, state, summary_max_chars, payload_cap_bytes, follow, **options):
    following = Following(options["poll_interval_ms"], most_seconds=options["max_duration_seconds"])
    if follow or not 0 <= following.most_seconds < float("inf"):
        following.check()
    characters = summary_max_chars or SUMMARY_CHARACTERS
    limits = ExtractionLimits(
        max(FEWEST_SUMMARY_CHARACTERS, min(MOST_SUMMARY_CHARACTERS, characters)),
        min(max(FEWEST_PAYLOAD_BYTES, payload_cap_bytes or CONVERSATION_BYTES), PAYLOAD_BYTES),
    )
    root = Path(sessions_root).expanduser().resolve()
    if not root.is_dir():
        raise WrongUse(f"sessions root not found: {root}")
    say_ignored(file=file, state=state)
    target = find_agent(agent, create=True)
    receipt = _follow(target, root, limits, following) if follow else _extract_once(target, root, limits)
    return Outcome(receipt, "")


def _extract_once(agent, root, limits):
    started = time.monotonic()
    result = extract(agent, root, limits)
    return {
        **_describe_cycle(root, result, limits),
        "iterations": 1,
        "duration_ms": int((time.monotonic() - started) * 1000),
        "stop_reason": "one_shot",
        "counters": {**_count(result, limits), "ignored": {"files": result.ignored_files}},
    }


def _follow(agent, root, limits, following):
    total, last = ExtractionResult(), ExtractionResult()

    def read():
        nonlocal last
        last = extract(agent, root, limits)
        for item in fields(ExtractionResult):
            if item.name != "errors":
                setattr(total, item.name, getattr(total, item.name) + getattr(last, item.name))
        for sentence in last.errors:
            if sentence not in total.errors:
                total.note_error(sentence)
        return last.files_with_updates > 0

    ended = following.run(read)
    return {
        "source": _describe_source(root),
        "aggregate": total.as_json(),
        "payload_cap_bytes": limits.payload_bytes,
        "errors_sample": total.errors,
        "iterations": ended.cycles,
        "duration_ms": ended.duration_ms,
        "stop_reason": "keyboard_interrupt" if ended.signal_name else ended.stop_reason,
        "follow": {
            "enabled": True,
            "poll_interval_ms": following.poll_ms,
            "max_duration_seconds": following.most_seconds,
        },
        "last_iteration": _describe_cycle(root, last, limits) if ended.cycles else None,
        "counters": _count(total, limits),
    }


def _describe_cycle(root, result: ExtractionResult, limits):
    counts = {**result.as_json(), "payload_cap_bytes": limits.payload_bytes, "errors_sample": result.errors}
    return {"source": _describe_source(root), **counts}


def _describe_source(root):
    return {"sessions_root": str(root), "state": None, "spool": None}


def _count(result, limits):
    return {
        "emitted": result.emitted,
        "skipped": {"invalid_json": result.invalid_json, "unsupported_rows": result.unsupported_rows},
        "sanitized": {"dropped": result.sanitized_dropped},
        "payload": {
            "redacted": result.payload_redacted,
            "truncated": result.payload_truncated,
            "cap_bytes": limits.payload_bytes,
        },
    }
