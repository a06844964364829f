"""`reflection guardian rules`: lists, checks and switches the rules of an agent."""

from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from agents import services as agents
from openclaw_web.amounts import format_plural
from openclaw_web.commands.groups import Outcome, WrongUse
from openclaw_web.commands.verbs import BY
from openclaw_web.pages import glyphs, states

from ..corrections import api, correction_store, rule_trial, rules
from ..files import MEMORY_FILES

HELP = gettext_lazy("List rules, ask what they say of a fact, or switch one off or on.")
EXAMPLES = ("reflection guardian rules", 'reflection guardian rules --check "Likes tea" --file USER.md')
SHOWN = 500


def add_arguments(parser):
    how = parser.add_mutually_exclusive_group()
    how.add_argument("--check", metavar="FACT", help=_("what the rules say of this fact"))
    how.add_argument("--off", metavar="ID", help=_("switch this rule off"))
    how.add_argument("--on", metavar="ID", help=_("switch this rule on"))
    parser.add_argument("--file", choices=MEMORY_FILES, help=_("with --check: the file it would be written to"))


def run(agent, check, file, off, on, **options):
    if (check is None) != (file is None):
        raise WrongUse(_("Use --check and --file together."))
    owner = agents.get(agent)
    if check is not None:
        verdict = api.check_fact(owner.db, check, file)
        if verdict["rule_id"] is None:
            return Outcome(verdict, _("No rule speaks about this fact."))
        fact, rule = glyphs.to_one_line(verdict["fact"]), glyphs.to_one_line(verdict["rule_id"])
        words = {"status": states.word(verdict["status"]), "fact": fact, "file": verdict["file"], "rule": rule}
        return Outcome(verdict, _("%(status)s: %(fact)s → %(file)s (rule %(rule)s)") % words)
    if off or on:
        correction_store.switch_rule(owner, off or on, on=bool(on), by=BY)
    all_rules = rules.find_rules(owner.db)
    rows = rule_trial.read_rule_counts(owner.db, list(all_rules.order_by(*rules.NEWEST_FIRST)[:SHOWN]))
    more = all_rules.count() - len(rows)
    lines = [*map(_format_line, rows), *_count_left_out(more)] or [_("No rules.")]
    return Outcome({"rules": [api.rule_to_json(row) for row in rows], "more": more}, "\n".join(lines))


def _count_left_out(more):
    if more > 0:
        yield format_plural("%(count)s older rule is not listed.", "%(count)s older rules are not listed.", more)


def _format_line(rule):
    is_on = _("on") if rule.is_on else _("off")
    acted, overruled = ("–" if count is None else f"{count:,}" for count in (rule.acted, rule.overruled))
    words = {"acted": acted, "overruled": overruled}
    numbers = _("acted: %(acted)s, overruled: %(overruled)s") % words
    name = glyphs.to_one_line(rule.row.name)
    return f"{glyphs.to_one_line(rule.row.id)}  {is_on:<3}  {name} → {_format_action(rule.row)}  ({numbers})"


def _format_action(row):
    """Return what a rule does with a matching fact: its status, and another fact or file."""
    parts = [str(states.word(row.corrected_status))]
    if row.corrected_status == "written":
        if row.corrected_candidate_fact != row.original_candidate_fact:
            parts.append(f"“{glyphs.to_one_line(row.corrected_candidate_fact or '')}”")
        if row.corrected_target_file != row.original_target_file:
            parts.append(glyphs.to_one_line(row.corrected_target_file or ""))
    return ", ".join(parts)
