import sys
from collections import Counter
from pathlib import Path

from django.core.management.base import CommandParser
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from openclaw_web.commands.groups import Outcome, WrongUse

from ..events import PAYLOAD_BYTES, REFS_BYTES
from ..imports import spool
from ..imports.following import FEWEST_POLL_MS, Following, FollowResult
from ..imports.spool import SpoolResult, UnreadableSource
from ..imports.spool_events import CONVERSATION_BYTES, SpoolLimits
from . import find_agent

HELP = gettext_lazy("Store the events of a spool of openclaw-mem. The spool is only read.")
EXAMPLES = (
    "episodes ingest --file ~/.openclaw/memory/openclaw-mem-episodes.jsonl --json",
    "episodes ingest --file ~/.openclaw/memory/openclaw-mem-episodes.jsonl --follow --idle-exit-seconds 60",
)
# Options of the existing tool that change the spool.
CHANGING = ("truncate", "rotate", "rotate_on_idle_seconds", "rotate_min_bytes")
LINE_COUNTS = {"total": "lines_total", "duplicates": "duplicates"} | {
    name: name for name in ("invalid_json", "invalid_event", "expired", "withheld")
}
BOUNDED_COUNTS = ("payload_truncated", "refs_truncated", "summary_truncated", "redacted_late")


def add_arguments(parser):
    parser.add_argument("--file", required=True, metavar="FILE", help=_("spool with one event a line"))
    for name, value, sentence in (
        ("payload-cap-bytes", PAYLOAD_BYTES, _("bytes of a payload, at most %(most)s (%(value)s)")),
        ("conversation-payload-cap-bytes", CONVERSATION_BYTES, _("the same for conversations (%(value)s)")),
        ("refs-cap-bytes", REFS_BYTES, _("bytes of the refs (%(value)s)")),
    ):
        words = {"value": value, "most": PAYLOAD_BYTES}
        parser.add_argument(f"--{name}", type=int, default=value, metavar="N", help=sentence % words)
    add_follow(parser)
    parser.add_argument(
        "--idle-exit-seconds",
        type=float,
        default=0,
        metavar="S",
        help=_("with --follow: end after S quiet seconds (0: never)"),
    )
    parser.add_argument("--state", metavar="FILE", help=_("ignored: positions are stored in the home"))
    for name in ("truncate", "rotate"):
        parser.add_argument(f"--{name}", action="store_true", help=_("refused: the spool is only read"))
    for name, kind in (("rotate-on-idle-seconds", float), ("rotate-min-bytes", int)):
        parser.add_argument(f"--{name}", type=kind, metavar="N", help=_("refused: the spool is only read"))


def add_follow(parser: CommandParser) -> None:
    """Add the options that let a verb read its source again and again."""
    parser.add_argument("--follow", action="store_true", help=_("read new lines until Ctrl-C"))
    parser.add_argument(
        "--poll-interval-ms",
        type=int,
        default=1000,
        metavar="MS",
        help=_("with --follow: milliseconds between readings, at least %(fewest)s (1000)") % {"fewest": FEWEST_POLL_MS},
    )


def say_ignored(**options: object) -> None:
    """Name the given options that have no effect, on stderr."""
    for name, value in options.items():
        if value is not None:
            sentence = _("%(option)s is ignored: OpenClaw Web stores events and positions in its home.")
            sys.stderr.write(sentence % {"option": f"--{name}"} + "\n")


def run(agent, file, follow, poll_interval_ms, idle_exit_seconds, state, **options):
    for name in CHANGING:
        if options[name] not in (None, False):
            sentence = _("%(option)s is refused: OpenClaw Web only reads the spool. Leave the option out.")
            raise WrongUse(sentence % {"option": f"--{name.replace('_', '-')}"})
    names = ("payload_cap_bytes", "conversation_payload_cap_bytes", "refs_cap_bytes")
    limits = SpoolLimits(*(options[name] for name in names))
    if min(options[name] for name in names) <= 0:
        raise WrongUse("payload/refs caps must be > 0")
    following = Following(poll_interval_ms, idle_seconds=idle_exit_seconds)
    if follow or idle_exit_seconds < 0:
        following.check()
    say_ignored(state=state)
    path = Path(file).expanduser().resolve()
    if not follow and not path.is_file():
        raise WrongUse(f"source file not found: {path}")
    target = find_agent(agent, create=True)
    if follow:
        return Outcome(_follow(target, path, limits, following), "")
    try:
        return Outcome(spool.ingest(target, path, limits).as_json(path, limits), "")
    except UnreadableSource as exc:
        raise WrongUse(exc.sentence) from exc


def _follow(agent, path, limits, following):
    totals: Counter[str] = Counter()
    last: list[SpoolResult] = []

    def read():
        if not path.is_file():
            totals["missing"] += 1
            return False
        try:
            result = spool.ingest(agent, path, limits)
        except UnreadableSource:  # it was renamed in this moment, and comes back
            totals["missing"] += 1
            return False
        last[:] = [result]
        totals["inserted"] += result.inserted
        totals["expired"] += result.expired
        totals["withheld"] += result.withheld
        for name, count in result.lines.items():
            totals[LINE_COUNTS.get(name, name)] += count
        for name in BOUNDED_COUNTS:
            totals[name] += getattr(result, name)
        return result.is_active

    ended = following.run(read)
    last_cycle = last[0].as_json(path, limits) if last else None
    return {
        "follow": _describe_follow(following, ended, totals["missing"]),
        "rotate_on_idle": {
            "enabled": False,
            "idle_seconds": 0.0,
            "min_bytes": None,
            "attempts": 0,
            "rotated": 0,
            "errors": 0,
            "last_rotated_to": None,
        },
        "source": {"file": str(path), "state": None, "spool_schema": spool.SPOOL_SCHEMA},
        "aggregate": _describe_totals(totals),
        "bounded": spool.describe_limits(limits),
        "last_cycle": last_cycle,
    }


def _describe_totals(totals):
    names = ["inserted", "lines_total", "duplicates", "invalid_json", "invalid_event"]
    names += ["payload_truncated", "refs_truncated", "redacted_late"]
    own_names = [name for name in ("expired", "withheld", "summary_truncated") if totals[name]]
    return {name: totals[name] for name in (*names, *own_names)}


def _describe_follow(following: Following, ended: FollowResult, missing: int):
    return {
        "enabled": True,
        "poll_interval_ms": following.poll_ms,
        "idle_exit_seconds": following.idle_seconds,
        "cycles": ended.cycles,
        "active_cycles": ended.active_cycles,
        "idle_cycles": ended.cycles - ended.active_cycles,
        "source_missing_cycles": missing,
        "duration_ms": ended.duration_ms,
        "stop_reason": ended.stop_reason,
        "signal": ended.signal_name,
    }
