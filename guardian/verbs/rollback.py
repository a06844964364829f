"""`reflection guardian rollback`: rolls back a write, or all writes of a session."""

import sys
from pathlib import Path

from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, ngettext

from agents import services as agents
from gate.verbs import parse_moment
from jobs import services as jobs
from jobs.progress import open_listener
from jobs.verbs import read_job_result
from openclaw_web import reasons
from openclaw_web.amounts import format_plural
from openclaw_web.commands.groups import Outcome, WrongUse
from openclaw_web.commands.verbs import BY, DONE, PARTLY, REFUSED

from ..handover import handovers
from ..handover.outcomes import Outcome as HandoverOutcome
from ..rollbacks import rollback_plan, rollback_preview, service
from ..rollbacks.api import preview_to_json, result_to_json, session_preview_to_json
from ..rollbacks.service import RollbackRequest
from ..rollbacks.workspace import MOST_BYTES
from ..standing.effects import JOB_KIND
from . import split_visible_lines

HELP = gettext_lazy("Roll back a write, or all writes of a session.")
EXAMPLES = (
    "reflection guardian rollback 01JNX5W3 --preview",
    'reflection guardian rollback 01JNX5W3 --hand-over --reason "not true"',
    'reflection guardian rollback 01JNX5W3 --reason "not true"',
    'reflection guardian rollback --session agent:main:main --since 2026-03-11T08:00 --reason "wrong person"',
)


def add_arguments(parser):
    parser.add_argument("audit", nargs="?", metavar="AUDIT", help=_("ID of the write"))
    parser.add_argument("--reason", "-r", metavar="TEXT", help=_("why; needed unless it is a preview"))
    parser.add_argument("--preview", action="store_true", help=_("only show what would change"))
    parser.add_argument(
        "--session",
        "-S",
        metavar="SESSION",
        help=_("all writes of this session: its ID or key"),
    )
    parser.add_argument("--since", metavar="TIME", help=_("of the session, only writes at or after this ISO 8601 time"))
    parser.add_argument("--until", metavar="TIME", help=_("of the session, only writes before this ISO 8601 time"))
    parser.add_argument(
        "--leave-out", action="append", default=[], metavar="AUDIT",
        help=_("leave out this write of the session, before which nobody knows what the file held; may be repeated"),
    )  # fmt: skip
    parser.add_argument("--hunk", type=int, metavar="N", help=_("only the Nth change of the write"))
    parser.add_argument(
        "--write-now", action="store_true", help=_("write although the file may fall out of the prompt")
    )
    parser.add_argument("--hand-over", action="store_true", help=_("have the agent change the file, and wait for it"))
    parser.add_argument(
        "--put-back", action="store_true", help=_("with --hand-over: first put back what OpenClaw's record names")
    )
    parser.add_argument(
        "--choose-file", metavar="FILE",
        help=_("what the file should hold, where somebody changed the same lines since: the content of this file"),
    )  # fmt: skip
    parser.add_argument(
        "--no-backup", action="store_true", help=_("keep no copy of the file; its version is always kept")
    )


def run(agent, audit, reason, preview, session, since, until, leave_out, hunk, no_backup, **options):
    _check_options(session, preview, **options)
    if bool(audit) == bool(session):
        raise WrongUse(_("Name a write, or a session with --session."))
    if hunk is not None and (hunk < 1 or session):
        raise WrongUse(_("--hunk is a number from 1 on, of one write."))
    if not preview and not (reason or "").strip():
        raise WrongUse(_("Say with --reason why this is rolled back, or check first with --preview."))
    owner = agents.get(agent)
    wish = RollbackRequest(BY, reason or "", keeps_copy=not no_backup, accepts_effect=options["write_now"])
    if (since or until or leave_out) and not session:
        raise WrongUse(_("--since, --until and --leave-out are for --session."))
    if session:
        span = {"since": parse_moment(since, "--since"), "until": parse_moment(until, "--until")}
        return (
            _preview_session(owner, session, span)
            if preview
            else _roll_back_session(owner, session, span, wish, leave_out)
        )
    number = None if hunk is None else hunk - 1
    chosen = _read_choice(options["choose_file"])
    if options["hand_over"]:
        puts_back = options["put_back"]
        row = handovers.hand_over_rollback(
            owner, audit, wish, seen=None, hunk=number, chosen=chosen, puts_back=puts_back
        )
        with open_listener(sys.stderr) as listener:
            job = jobs.run_now(JOB_KIND, handovers.build_params(owner, row), by=BY, listener=listener)
        result = read_job_result(job)
        words = [result["message"], _("Handover %(id)s.") % {"id": row.id}]
        is_done = result["outcome"] == HandoverOutcome.DONE
        return Outcome(result, " ".join(words), DONE if is_done else PARTLY, "" if is_done else result["message"])
    return _preview(owner, audit, number) if preview else _roll_back_write(owner, audit, number, wish, chosen)


def _read_choice(name):
    """Return the content of the file that a person chose; None without one."""
    if name is None:
        return None
    try:
        data = Path(name).read_bytes()
    except (OSError, ValueError) as exc:
        reason = reasons.describe_os_error(exc) if isinstance(exc, OSError) else str(exc)
        raise WrongUse(_("%(file)s was not read: %(reason)s.") % {"file": name, "reason": reason}) from exc
    if len(data) > MOST_BYTES:
        raise WrongUse(_("A memory file has at most 5 MB."))
    return data


def _check_options(session, preview, *, write_now, hand_over, put_back, choose_file, **_others):
    """Raise WrongUse for options that do not go together."""
    if hand_over and (session or preview or write_now):
        raise WrongUse(_("--hand-over is for one write, without --preview and --write-now."))
    if choose_file is not None and (session or preview):
        raise WrongUse(_("--choose-file is for one write, without --preview."))
    if put_back and not hand_over:
        raise WrongUse(_("--put-back is for --hand-over."))


def _preview(agent, audit, hunk):
    preview = rollback_preview.build_preview(agent, rollback_plan.plan_rollback(agent, audit, hunk=hunk))
    sentences = _patch_lines(preview.change.patch, is_open=bool(preview.plan.conflicts))
    if preview.plan.conflicts:
        sentences += (line for conflict in preview.conflicts for line in _conflict_lines(conflict))
        sentences.append(str(service.CHOICE_NEEDED))
    if preview.plan.is_done:
        sentences.append(_("The file holds what this rollback would write. It is only marked as rolled back."))
    sentences += filter(None, [preview.effect.sentence, _advise(preview)])
    if preview.problem:
        sentences.append(preview.problem)
    status = REFUSED if preview.plan.conflicts or preview.problem else DONE
    return Outcome(preview_to_json(preview), "\n".join(sentences), status, sentences[-1] if status else "")


def _advise(preview):
    """Return how to make a change that may take the file out of the prompt.

    Empty where it does no harm.
    """
    if preview.plan.is_done and preview.can_hand_over:
        return _(
            "OpenClaw's record does not name this content: the agent's next write takes the file out of the prompt. "
            "Hand the change to the agent with --hand-over --put-back instead."
        )
    if not preview.effect.is_harmful:
        return ""
    if preview.offer.problem:
        return _("Write it with --write-now, or apply the patch. %(problem)s") % {"problem": preview.offer.problem}
    if preview.offer.puts_back:
        return _("Hand it to the agent with --hand-over --put-back, write it with --write-now, or apply the patch.")
    return _("Hand it to the agent with --hand-over, write it with --write-now, or apply the patch.")


def _preview_session(agent, session, span):
    preview = session_preview_to_json(agent, session, **span)
    count = len(preview["audit_ids"])
    sentences = _patch_lines(preview["patch"], is_open=bool(preview["conflicts"]))
    sentences.append(
        format_plural("%(count)s write would be rolled back.", "%(count)s writes would be rolled back.", count)
    )
    if preview["conflicts"]:
        words = {"ids": ", ".join(preview["conflicts"])}
        sentences.append(
            _("Somebody changed the same lines since: %(ids)s. These writes cannot be rolled back together.") % words
        )
    if preview["unknown"]:
        words = {"ids": ", ".join(preview["unknown"])}
        sentences.append(_("Nobody knows what the file held before: %(ids)s. Leave them out with --leave-out.") % words)
    if preview["effect_sentence"]:
        sentences.append(preview["effect_sentence"])
    if preview["problem"]:
        sentences.append(preview["problem"])
    status = REFUSED if preview["conflicts"] or preview["problem"] else DONE
    return Outcome(preview, "\n".join(sentences), status, sentences[-1] if status else "")


def _patch_lines(patch, *, is_open):
    """Return the lines of a patch for a terminal; with conflicts there may be none yet."""
    lines = list(split_visible_lines(patch.rstrip("\n"))) if patch else []
    return lines or ([] if is_open else [_("Nothing would change.")])


def _conflict_lines(conflict):
    """Yield the lines that somebody changed since: before the write, after it, and now."""
    yield _("Change %(number)s of the write") % {"number": conflict.hunk + 1}
    for title, texts in (
        (_("Before the write"), conflict.before),
        (_("After the write"), conflict.after),
        (_("Now"), conflict.current),
    ):
        yield f"  {title}:"
        yield from (f"    {line}" for text in texts for line in split_visible_lines(text.rstrip("\n")))


def _roll_back_write(agent, audit, hunk, wish, chosen):
    result = service.roll_back(agent, audit, wish, seen=None, hunk=hunk, chosen=chosen)
    words = _("Rolled back. The rollback is the write %(id)s.")
    if hunk is not None:
        words = _("One change was taken back. That is the write %(id)s.")
    return Outcome(result_to_json(result), _add_late_writes(words % {"id": result.own_audit_id}, result.meanwhile))


def _roll_back_session(agent, session, span, wish, leave_out):
    results = service.roll_back_session(agent, session, wish, seen=None, leave_out=leave_out, **span)
    count = len(results)
    words = ngettext("%(count)s write was rolled back.", "%(count)s writes were rolled back.", count)
    receipt = {"rollbacks": [result_to_json(rollback) for rollback in results]}
    return Outcome(receipt, _add_late_writes(words % {"count": count}, results[0].meanwhile))


def _add_late_writes(words, meanwhile):
    if not meanwhile:
        return words
    return (
        words
        + " "
        + _("Somebody wrote to the file at the same time. It is kept as %(ids)s, and not in the file.")
        % {"ids": ", ".join(meanwhile)}
    )
