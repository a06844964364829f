"""What a collect found, for a terminal and for programs."""

import orjson
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, ngettext

from ledger.senders import Why

SCHEMA = "openclaw-web.collect.v1"
WITHHELD = {
    Why.SENDER: gettext_lazy("sender opted out"),
    Why.UNKNOWN_SENDER: gettext_lazy("sender cannot be told"),
    Why.QUOTE: gettext_lazy("may quote somebody who opted out"),
    Why.ANSWER: gettext_lazy("follows one of these"),
}


def result_of(job) -> dict | None:
    """What a finished collect found; None for one that was refused or failed."""
    return orjson.loads(job.result_json) if job.state == job.State.FINISHED else None


def in_words(result: dict) -> str:
    """A short report: a line an agent, then what needs a person's eye."""
    lines = [_("Collected %(source)s") % {"source": result["source"]}]
    for agent_id, agent in result["agents"].items():
        lines.append(f"  {agent_id}: {_agent_line(agent)}")
        lines += [f"    {note}" for note in agent["notes"]]
        lines += _again_lines(result["again"].get(agent_id))
    schedules = result["schedules"]
    if any(schedules.values()):
        lines.append(
            _("  schedules: %(cron_jobs)s cron jobs, %(cron_runs)s runs, %(subagent_runs)s sub-agent runs") % schedules
        )
    if schedules["tasks"] or schedules["flows"] or schedules["deliveries"]:
        lines.append(_("  background: %(tasks)s tasks, %(flows)s flows, %(deliveries)s deliveries") % schedules)
    artifacts = result["artifacts"]
    if artifacts["imported"] or artifacts["known"] or artifacts["withheld"] or artifacts["rejected"]:
        words = _("  artifacts of openclaw-mem: %(imported)s imported, %(known)s here already, %(unchanged)s unchanged")
        words += _(", %(withheld)s withheld because somebody opted out") if artifacts["withheld"] else ""
        lines.append((words + (_(", %(rejected)s rejected") if artifacts["rejected"] else "")) % artifacts)
    lines += [f"  {note}" for note in result["notes"]]
    lines += _held_lines(result["still_held"])
    lines += _problems(result)
    return "\n".join(lines)


def is_partly(result: dict) -> bool:
    """Whether something was not imported as it should be."""
    return bool(result["rejected"] or result["lost"])


def problems(result: dict) -> str:
    """What was not imported as it should be, in sentences."""
    return "\n".join(_problems(result))


def _problems(result):
    return [*result["lost"].values(), *([rejected_words(result)] if result["rejected"] else [])]


def rejected_words(result: dict) -> str:
    """How many lines could not be read, and where they are."""
    text = ngettext(
        "%(count)s line was not a record. See Operations, Rejected records.",
        "%(count)s lines were not records. See Operations, Rejected records.",
        result["rejected"],
    )
    return text % {"count": result["rejected"]}


def _again_lines(again):
    if again is None:
        return []
    added = sum(again["added"].values())
    first = _("again: %(rebuilt)s sessions rebuilt, %(new)s new, %(unchanged)s as they were; %(added)s records added")
    parts = [first % (again | {"added": f"{added:,}"})]
    for number, words in (
        (again["kept"], _("%(count)s records kept that no source holds any more")),
        (sum(again["withheld"].values()), _("%(count)s records withheld")),
        (len(again["taken_out"]), _("%(count)s sessions of people who opted out taken out")),
        (len(again["without_source"]), _("%(count)s sessions have no source any more and stay as they are")),
        (len(again["undecided"]), _("%(count)s sessions stay as they are: whose they are cannot be told")),
    ):
        if number:
            parts.append(words % {"count": f"{number:,}"})
    return ["    " + "; ".join(parts)]


def _held_lines(held):
    """Where words that were withheld or taken out still are."""
    words = {
        "samples": _("Samples that still hold words withheld now: %(what)s"),
        "artifacts": _("Artifacts that still hold them, until “openclaw-web artifact gc” removes them: %(what)s"),
        "backups": _("Backups that still hold them: %(what)s"),
    }
    named = {**held, "artifacts": [one["handle"] for one in held["artifacts"]]}
    return [words[kind] % {"what": ", ".join(found)} for kind, found in named.items() if found]


def _withheld(agent):
    """What was not kept while somebody is opted out, and what nobody can tell; older reports say neither."""
    withheld, unknown = agent.get("withheld", {}), agent.get("unknown_envelopes", 0)
    if withheld:
        why = ", ".join(f"{WITHHELD[reason]} {count:,}" for reason, count in withheld.items())
        yield _("withheld: %(why)s") % {"why": why}
    if unknown:
        words = ngettext(
            "%(count)s record with an envelope that is not understood (see Operations, Rejected records)",
            "%(count)s records with an envelope that is not understood (see Operations, Rejected records)",
            unknown,
        )
        yield words % {"count": f"{unknown:,}"}


def _agent_line(agent):
    transcripts, records = agent["transcripts"], agent["records"]
    read = sum(count for why, count in transcripts.items() if why in ("new", "appended", "replaced", "truncated"))
    parts = [
        _("%(read)s transcripts read, %(unchanged)s unchanged")
        % {"read": read, "unchanged": transcripts.get("unchanged", 0)},
        _("%(count)s records") % {"count": f"{sum(records.values()):,}"},
    ]
    if records:
        parts[-1] += " (" + ", ".join(f"{kind} {count:,}" for kind, count in records.items()) + ")"
    skipped = {why.removeprefix("skipped_"): n for why, n in transcripts.items() if why.startswith("skipped_")}
    if skipped:
        parts.append(_("skipped: %(what)s") % {"what": ", ".join(f"{n} {state}" for state, n in skipped.items())})
    for key, words in (
        ("file_versions", _("%(count)s file versions")),
        ("steps", _("%(count)s steps of runs")),
        ("indexed_files", _("%(count)s files of the memory index")),
        ("contents", _("%(count)s contents of databases and bundles")),
        ("unfinished", _("%(count)s last lines still being written")),
        ("opted_out_sessions", _("%(count)s sessions of people who opted out")),
        ("unnamed_sessions", _("%(count)s sessions that nobody can be told for, while somebody opted out")),
        ("ignored_sessions", _("%(count)s sessions that were undone before and stay out")),
        ("repeated", _("%(count)s already there")),
    ):
        if agent[key]:
            parts.append(words % {"count": agent[key]})
    parts += _withheld(agent)
    if agent["rejected"]:
        why = ", ".join(f"{reason} {count}" for reason, count in agent["rejected"].items())
        parts.append(_("rejected: %(why)s") % {"why": why})
    return "; ".join(parts)
