"""`reflection guardian rollback`: take back a write, or all writes of a session."""

from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, ngettext

from agents import services as agents
from gate.verbs import parse_moment
from openclaw_web.commands import option_types
from openclaw_web.commands.groups import Outcome, WrongUse
from openclaw_web.commands.verbs import DONE, REFUSED

from ..rollbacks import rollback_plan, rollback_preview, service
from ..rollbacks.api import preview_to_json, result_to_json, session_preview_to_json
from ..rollbacks.service import RollbackRequest
from . import BY, hand_over, split_visible_lines

HELP = gettext_lazy("Roll back a write, or all writes of a session.")
EXAMPLES = (
    "reflection guardian rollback 01JNX5W3 --preview",
    'reflection guardian rollback 01JNX5W3 --hand-over --reason "not true"',
    'reflection guardian rollback 01JNX5W3 --reason "not true"',
    'reflection guardian rollback --session agent:main:main --since 2026-03-11T08:00 --reason "wrong person"',
)


def add_arguments(parser):
    parser.add_argument("audit", type=option_types.text, nargs="?", metavar="AUDIT", help=_("ID of the write"))
    parser.add_argument(
        "--reason", "-r", type=option_types.text, metavar="TEXT", help=_("why; needed unless it is a preview")
    )
    parser.add_argument("--preview", action="store_true", help=_("only show what would change"))
    parser.add_argument(
        "--session",
        "-S",
        type=option_types.text,
        metavar="SESSION",
        help=_("all writes of this session: its ID or key"),
    )
    parser.add_argument("--since", metavar="TIME", help=_("of the session, only writes at or after this ISO 8601 time"))
    parser.add_argument("--until", metavar="TIME", help=_("of the session, only writes before this ISO 8601 time"))
    parser.add_argument(
        "--leave-out", type=option_types.text, action="append", default=[], metavar="AUDIT",
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
        "--no-backup", action="store_true", help=_("keep no copy of the file; its version is always kept")
    )


def run(agent, audit, reason, preview, session, since, until, leave_out, hunk, no_backup, **options):
    _check_ways(session, preview, **options)
    if bool(audit) == bool(session):
        raise WrongUse(_("Name a write, or a session with --session."))
    if hunk is not None and (hunk < 1 or session):
        raise WrongUse(_("--hunk is a number from 1 on, of one write."))
    if not preview and not (reason or "").strip():
        raise WrongUse(_("Say with --reason why this is rolled back, or check first with --preview."))
    found = agents.get(agent)
    wish = RollbackRequest(BY, reason or "", keeps_copy=not no_backup, accepts_effect=options["write_now"])
    if (since or until or leave_out) and not session:
        raise WrongUse(_("--since, --until and --leave-out are for --session."))
    if session:
        span = {"since": parse_moment(since, "--since"), "until": parse_moment(until, "--until")}
        return _session_preview(found, session, span) if preview else _session(found, session, span, wish, leave_out)
    number = None if hunk is None else hunk - 1
    if options["hand_over"]:
        return hand_over.run_handover(found, audit, number, wish, puts_back=options["put_back"])
    return _preview(found, audit, number) if preview else _one(found, audit, number, wish)


def _check_ways(session, preview, *, write_now, hand_over, put_back, **_others):
    """Raises WrongUse for options that do not go together."""
    if hand_over and (session or preview or write_now):
        raise WrongUse(_("--hand-over is for one write, without --preview and --write-now."))
    if put_back and not hand_over:
        raise WrongUse(_("--put-back is for --hand-over."))


def _preview(agent, audit, hunk):
    made = rollback_preview.build_preview(agent, rollback_plan.plan_rollback(agent, audit, hunk=hunk))
    sentences = _changes(made.change.patch, is_open=bool(made.plan.conflicts))
    if made.plan.conflicts:
        sentences += (line for one in made.conflicts for line in _conflict(one))
        sentences.append(_("Somebody changed the same lines since. Choose what the file should hold on its page."))
    sentences += filter(None, [made.effect.sentence, _way(made)])
    if made.problem:
        sentences.append(made.problem)
    status = REFUSED if made.plan.conflicts or made.problem else DONE
    return Outcome(preview_to_json(made), "\n".join(sentences), status, sentences[-1] if status else "")


def _way(made):
    """How a change that would take the file out of the prompt can be made; empty where it would not."""
    if not made.effect.is_harmful:
        return ""
    if made.offer.problem:
        return _("Write it with --write-now, or apply the patch. %(problem)s") % {"problem": made.offer.problem}
    if made.offer.puts_back:
        return _("Hand it to the agent with --hand-over --put-back, write it with --write-now, or apply the patch.")
    return _("Hand it to the agent with --hand-over, write it with --write-now, or apply the patch.")


def _session_preview(agent, session, span):
    found = session_preview_to_json(agent, session, **span)
    count = len(found["audit_ids"])
    sentences = _changes(found["patch"], is_open=bool(found["conflicts"]))
    sentences.append(
        ngettext("%(count)s write would be rolled back.", "%(count)s writes would be rolled back.", count)
        % {"count": count}
    )
    if found["conflicts"]:
        words = {"ids": ", ".join(found["conflicts"])}
        sentences.append(
            _("Somebody changed the same lines since: %(ids)s. These writes cannot be rolled back together.") % words
        )
    if found["unknown"]:
        words = {"ids": ", ".join(found["unknown"])}
        sentences.append(_("Nobody knows what the file held before: %(ids)s. Leave them out with --leave-out.") % words)
    if found["effect_sentence"]:
        sentences.append(found["effect_sentence"])
    if found["problem"]:
        sentences.append(found["problem"])
    status = REFUSED if found["conflicts"] or found["problem"] else DONE
    return Outcome(found, "\n".join(sentences), status, sentences[-1] if status else "")


def _changes(patch, *, is_open):
    """What would change, for a terminal; with conflicts that may be nothing so far."""
    lines = list(split_visible_lines(patch.rstrip("\n"))) if patch else []
    return lines or ([] if is_open else [_("Nothing would change.")])


def _conflict(one):
    """The lines that somebody changed since: before the write, after it, and now."""
    yield _("Change %(number)s of the write") % {"number": one.hunk + 1}
    for title, some in (
        (_("Before the write"), one.before),
        (_("After the write"), one.after),
        (_("Now"), one.current),
    ):
        yield f"  {title}:"
        yield from (f"    {line}" for text in some for line in split_visible_lines(text.rstrip("\n")))


def _one(agent, audit, hunk, wish):
    result = service.roll_back(agent, audit, wish, seen=None, hunk=hunk)
    words = _("Rolled back. The rollback is the write %(id)s.")
    if hunk is not None:
        words = _("One change was taken back. That is the write %(id)s.")
    return Outcome(result_to_json(result), _with(words % {"id": result.own_audit_id}, result.meanwhile))


def _session(agent, session, span, wish, leave_out):
    results = service.roll_back_session(agent, session, wish, seen=None, leave_out=leave_out, **span)
    count = len(results)
    words = ngettext("%(count)s write was rolled back.", "%(count)s writes were rolled back.", count)
    receipt = {"rollbacks": [result_to_json(one) for one in results]}
    return Outcome(receipt, _with(words % {"count": count}, results[0].meanwhile))


def _with(words, meanwhile):
    if not meanwhile:
        return words
    return (
        words
        + " "
        + _("Somebody wrote to the file at the same time. It is kept as %(ids)s, and not in the file.")
        % {"ids": ", ".join(meanwhile)}
    )
