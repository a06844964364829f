"""Reports of an import, for terminals and programs."""

from typing import Any

from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, ngettext

from agents import unread_parts
from agents.skipped_sources import Reason
from ledger.collectors.senders import WithheldReason
from openclaw_web import amounts
from openclaw_web.amounts import format_plural, ngettext_lazy
from openclaw_web.pages.formatting import listed
from openclaw_web.pages.glyphs import escape_name
from openclaw_web.sentences import join_sentences
from overview import future_times

from .inventory.words import REASON_WORDS

SCHEMA = "openclaw-web.collect.v1"
WITHHELD = {
    WithheldReason.SENDER: gettext_lazy("sender opted out"),
    WithheldReason.UNKNOWN_SENDER: gettext_lazy("sender unknown"),
    WithheldReason.QUOTE: gettext_lazy("may quote somebody who opted out"),
    WithheldReason.ANSWER: gettext_lazy("follows a withheld record"),
    WithheldReason.EARLIER: gettext_lazy("withheld before"),
}
# Reasons that are about a whole database instead of a line.
DATABASE_REASONS = ("bad_database", "database_not_copied")
FOUND = {
    "file_versions": ngettext_lazy("%(count)s file version", "%(count)s file versions", "count"),
    "steps": ngettext_lazy("%(count)s run step", "%(count)s run steps", "count"),
    "cut_prompts": ngettext_lazy(
        "%(count)s run step whose system prompt or tools OpenClaw did not record whole",
        "%(count)s run steps whose system prompt or tools OpenClaw did not record whole",
        "count",
    ),
    "indexed_files": ngettext_lazy(
        "%(count)s file in the memory index", "%(count)s files in the memory index", "count"
    ),
    "future_session_count": ngettext_lazy(
        "%(count)s session with a time in the future", "%(count)s sessions with times in the future", "count"
    ),
    "future_record_count": ngettext_lazy(
        "%(count)s record with a time in the future", "%(count)s records with times in the future", "count"
    ),
    "contents": ngettext_lazy(
        "%(count)s artifact from databases and bundles", "%(count)s artifacts from databases and bundles", "count"
    ),
    "unfinished": ngettext_lazy("%(count)s incomplete last line", "%(count)s incomplete last lines", "count"),
    "opted_out_sessions": ngettext_lazy(
        "%(count)s session of people who opted out", "%(count)s sessions of people who opted out", "count"
    ),
    "unnamed_sessions": ngettext_lazy(
        "%(count)s session without known participants while somebody is opted out",
        "%(count)s sessions without known participants while somebody is opted out",
        "count",
    ),
    "ignored_sessions": ngettext_lazy(
        "%(count)s session excluded because its import was undone",
        "%(count)s sessions excluded because their import was undone",
        "count",
    ),
    "repeated": ngettext_lazy("%(count)s already stored", "%(count)s already stored", "count"),
}


EQUAL = ngettext_lazy("%(count)s repeated line", "%(count)s repeated lines", "count")
# Texts about unread files of an agent: the count of each reason, then the names.
NOT_READ = {
    "reasons": gettext_lazy("%(reason)s (%(count)s)"),
    "folders": gettext_lazy("%(reason)s (folders: %(count)s)"),
    "index_entries": gettext_lazy("%(reason)s (index entries: %(count)s)"),
}
GATE = {
    "decisions": ngettext_lazy("%(count)s decision", "%(count)s decisions", "count"),
    "merged": ngettext_lazy("%(count)s already known", "%(count)s already known", "count"),
    "matched_later": ngettext_lazy("%(count)s turn found later", "%(count)s turns found later", "count"),
    "failed_calls": ngettext_lazy("%(count)s failed call", "%(count)s failed calls", "count"),
    "withheld": ngettext_lazy(
        "%(count)s withheld because somebody opted out", "%(count)s withheld because somebody opted out", "count"
    ),
    "elsewhere": ngettext_lazy("%(count)s of other OpenClaw folders", "%(count)s of other OpenClaw folders", "count"),
    "equal_lines": EQUAL,
    "rejected": ngettext_lazy("%(count)s rejected line", "%(count)s rejected lines", "count"),
}

GUARDIAN = {
    "writes": ngettext_lazy("%(count)s write", "%(count)s writes", "count"),
    "unattributed": ngettext_lazy("%(count)s unreported change", "%(count)s unreported changes", "count"),
    "merged": ngettext_lazy("%(count)s already known", "%(count)s already known", "count"),
    "matched_later": ngettext_lazy("%(count)s turn found later", "%(count)s turns found later", "count"),
    "rollbacks": ngettext_lazy("%(count)s rollback", "%(count)s rollbacks", "count"),
    "corrections": ngettext_lazy("%(count)s correction", "%(count)s corrections", "count"),
    "withheld": ngettext_lazy(
        "%(count)s withheld because somebody opted out", "%(count)s withheld because somebody opted out", "count"
    ),
    "equal_lines": EQUAL,
    "rejected": ngettext_lazy("%(count)s rejected line", "%(count)s rejected lines", "count"),
}

EPISODES = {
    "imported": ngettext_lazy("%(count)s event", "%(count)s events", "count"),
    "redacted": ngettext_lazy("%(count)s of them redacted", "%(count)s of them redacted", "count"),
    "truncated": ngettext_lazy("%(count)s with a cut text", "%(count)s with cut texts", "count"),
    "known": ngettext_lazy("%(count)s already known", "%(count)s already known", "count"),
    "expired": ngettext_lazy(
        "%(count)s that retention removed before", "%(count)s that retention removed before", "count"
    ),
    "withheld": ngettext_lazy(
        "%(count)s withheld because somebody opted out", "%(count)s withheld because somebody opted out", "count"
    ),
    "rejected": ngettext_lazy("%(count)s rejected row", "%(count)s rejected rows", "count"),
}


def read_job_result(job) -> dict | None:
    """The result of a finished import; None for a refused or failed one."""
    return job.result if job.state == job.State.FINISHED else None


def build_agent_json(report: Any) -> dict[str, Any]:
    """The results for one agent (collect.AgentReport) as JSON values."""
    return {
        "transcripts": dict(sorted(report.transcripts.items())),
        "records": dict(sorted(report.records.items())),
        "rejected": dict(sorted(report.rejected.items())),
        "withheld": dict(sorted(report.withheld.items())),
        "unknown_envelopes": report.unknown_envelopes,
        "repeated": report.repeated,
        "unfinished": report.unfinished,
        "opted_out_sessions": report.opted_out_sessions,
        "unnamed_sessions": report.unnamed_sessions,
        "ignored_sessions": report.ignored_sessions,
        "sessions_indexed": report.sessions_indexed,
        "file_versions": report.file_versions,
        "steps": report.steps,
        "cut_prompts": report.cut_prompts,
        "indexed_files": report.indexed_files,
        **(report.future or future_times.NO_COUNTS),
        "contents": report.contents,
        "files": report.files,
        "notes": report.notes,
    }


def in_words(result: dict) -> str:
    """A short report: one line per agent, then what a person should check."""
    lines = [_("Imported from %(source)s") % {"source": result.get("source", "")}]
    for agent_id, agent in result["agents"].items():
        lines.append(f"  {agent_id}: {_agent_line(agent)}")
        lines += [f"    {line}" for line in _file_lines(agent["files"])]
        lines += [f"    {note}" for note in agent["notes"]]
        lines += _again_lines(result["again"].get(agent_id))
    schedules = result["schedules"]
    if any(schedules.values()):
        lines.append(
            _("  scheduling: %(jobs)s, %(runs)s, %(subagents)s")
            % {
                "jobs": amounts.format_amount("cron jobs", schedules["cron_jobs"]),
                "runs": amounts.format_amount("runs", schedules["cron_runs"]),
                "subagents": amounts.format_amount("sub-agent runs", schedules["subagent_runs"]),
            }
        )
    if schedules["tasks"] or schedules["flows"] or schedules["deliveries"]:
        texts = {name: amounts.format_amount(name, schedules[name]) for name in ("tasks", "flows", "deliveries")}
        lines.append(_("  background: %(tasks)s, %(flows)s, %(deliveries)s") % texts)
    artifacts = result["artifacts"]
    if artifacts["imported"] or artifacts["known"] or artifacts["withheld"] or artifacts["rejected"]:
        words = _(
            "  artifacts of openclaw-mem: %(imported)s imported, %(known)s already stored, %(unchanged)s unchanged"
        )
        words += _(", %(withheld)s withheld because somebody opted out") if artifacts["withheld"] else ""
        lines.append((words + (_(", %(rejected)s rejected") if artifacts["rejected"] else "")) % artifacts)
    lines += _plugin_lines(_("  episodes of openclaw-mem: %(parts)s"), EPISODES, result.get("episodes", {}))
    lines += _plugin_lines(_("  memory_gate: %(parts)s"), GATE, result["gate"])
    lines += _plugin_lines(_("  write_guardian: %(parts)s"), GUARDIAN, result["guardian"])
    lines += [f"  {sentence}" for sentence in _unread_lines(result["databases"])]
    unread = result["unread"]  # these sentences come last
    lines += [f"  {note}" for note in result["notes"] if note not in unread]
    lines += _held_lines(result["still_held"])
    lines += _describe_problems(result)
    return "\n".join(lines)


def _file_lines(files):
    """The numbers of files and read files, and the names of the others by reason."""
    words = _("%(found)s: %(read)s read, %(named)s not read")
    texts = {
        "found": amounts.format_amount("files", files["found"]),
        "read": f"{files['read']:,}",
        "named": f"{files['named']:,}",
    }
    yield words % texts
    for kind, words in NOT_READ.items():
        for reason, skipped in files[kind].items():
            if reason == Reason.REMOVED_RUN:
                yield "  " + words % {"reason": REASON_WORDS[reason], "count": f"{skipped['count']:,}"}
                continue
            names = [escape_name(name) for name in skipped["names"]]
            more = skipped["count"] - len(names)
            names += [_("%(count)s more") % {"count": f"{more:,}"}] if more else []
            texts = {"reason": REASON_WORDS.get(reason, reason), "count": f"{skipped['count']:,}"}
            yield f"  {words % texts}: {listed(names)}"


def _unread_lines(databases):
    """Sentences about unread parts of OpenClaw's databases."""
    for path, parts in databases.items():
        if parts["is_newer"]:
            yield unread_parts.describe_newer(path, parts)
        if sentence := unread_parts.describe_unread(path, parts):
            yield sentence


def _plugin_lines(sentence, words, counts):
    """The counts of decisions or writes of the Reflection plugin, if there are any."""
    parts = [text % {"count": counts[name]} for name, text in words.items() if counts.get(name)]
    return [sentence % {"parts": listed(map(str, parts))}] if parts else []


def is_partial(result: dict) -> bool:
    """Whether something was not imported as it should be."""
    return bool(result["rejected"] or result["lost"] or result["unread"])


def describe_problems(result: dict) -> str:
    """Sentences about everything that was not imported as it should be."""
    return "\n".join(_describe_problems(result))


def _describe_problems(result):
    return [
        *result["lost"].values(),
        *result["unread"],
        *([rejected_words(result)] if result["rejected"] else []),
    ]


def rejected_words(result: dict) -> str:
    """A sentence about rejected lines and unreadable databases, and the page that lists them."""
    databases = sum(agent["rejected"].get(why, 0) for agent in result["agents"].values() for why in DATABASE_REASONS)
    databases += sum(result.get(part, {}).get("unread_databases", 0) for part in ("schedules", "episodes"))
    lines = result["rejected"] - databases
    parts = []
    if databases:
        words = ngettext("%(count)s database could not be read.", "%(count)s databases could not be read.", databases)
        parts.append(words % {"count": f"{databases:,}"})
    if lines:
        parts.append(format_plural("%(count)s line was not a record.", "%(count)s lines were not records.", lines))
    return join_sentences([*parts, _("See “Rejected records” under System.")])


def _again_lines(again):
    if again is None:
        return []
    texts = {
        "rebuilt": amounts.format_amount("sessions", again["rebuilt"]),
        "new": again["new"],
        "unchanged": again["unchanged"],
    }
    texts["added"] = amounts.format_amount("records", sum(again["added"].values()))
    parts = [_("imported again: %(rebuilt)s rebuilt, %(new)s new, %(unchanged)s unchanged; %(added)s added") % texts]
    for noun, number, words in (
        ("records", again["kept"], _("kept although no source contains them any more: %(what)s")),
        ("records", sum(again["withheld"].values()), _("withheld: %(what)s")),
        ("sessions", len(again["taken_out"]), _("removed because people opted out: %(what)s")),
        ("sessions", len(again["without_source"]), _("kept because no source is left: %(what)s")),
        ("sessions", len(again["undecided"]), _("kept because the owner is unknown: %(what)s")),
    ):
        if number:
            parts.append(words % {"what": amounts.format_amount(noun, number)})
    return ["    " + "; ".join(parts)]


def _held_lines(held):
    """Sentences about places that still contain withheld or removed text."""
    words = {
        "samples": _("Samples that still contain withheld text: %(what)s"),
        "decisions": _("Decisions of memory_gate that still contain withheld text: %(what)s"),
        "writes": _("Writes to memory files that still contain withheld text: %(what)s"),
        "artifacts": _(
            "Artifacts that still contain withheld text, until “openclaw-web artifact gc” removes them: %(what)s"
        ),
        "backups": _("Backups that may still contain withheld text: %(what)s"),
    }
    named = {**held, "artifacts": [artifact["handle"] for artifact in held["artifacts"]]}
    return [words[kind] % {"what": listed(names)} for kind, names in named.items() if names]


def _describe_withheld(agent):
    """Texts about records that were withheld while somebody is opted out, and unknown ones."""
    withheld, unknown = agent["withheld"], agent["unknown_envelopes"]
    if withheld:
        why = listed(f"{WITHHELD[reason]} {count:,}" for reason, count in withheld.items())
        yield _("withheld: %(why)s") % {"why": why}
    if unknown:
        yield format_plural(
            "%(count)s record with an unknown envelope (see “Rejected records” under System)",
            "%(count)s records with an unknown envelope (see “Rejected records” under System)",
            unknown,
        )


def _agent_line(agent):
    transcripts, records = agent["transcripts"], agent["records"]
    read = sum(count for why, count in transcripts.items() if why in ("new", "appended", "replaced", "truncated"))
    unchanged = f"{transcripts.get('unchanged', 0):,}"
    parts = [
        _("%(read)s read, %(unchanged)s unchanged")
        % {"read": amounts.format_amount("transcripts", read), "unchanged": unchanged},
        amounts.format_amount("records", sum(records.values())),
    ]
    if records:
        parts[-1] += " (" + listed(f"{kind} {count:,}" for kind, count in records.items()) + ")"
    skipped = {why.removeprefix("skipped_"): n for why, n in transcripts.items() if why.startswith("skipped_")}
    if skipped:
        parts.append(_("skipped: %(what)s") % {"what": listed(f"{n} {state}" for state, n in skipped.items())})
    parts += [words % {"count": agent[key]} for key, words in FOUND.items() if agent.get(key)]
    parts += _describe_withheld(agent)
    if agent["rejected"]:
        why = listed(f"{reason} {count}" for reason, count in agent["rejected"].items())
        parts.append(_("rejected: %(why)s") % {"why": why})
    return "; ".join(parts)
