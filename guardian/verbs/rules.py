"""`reflection guardian rules`: the rules of an agent, what they say of a fact, and switching one off or on."""

from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, ngettext

from agents import services as agents
from openclaw_web.commands import option_types
from openclaw_web.commands.groups import Outcome, WrongUse
from openclaw_web.pages import glyphs, states

from ..corrections import api_detail, rule_activation, rule_counts, rules
from ..files import MEMORY_FILES
from . import BY

HELP = gettext_lazy("List rules, ask what they say of a fact, or switch one off or on.")
EXAMPLES = ("reflection guardian rules", 'reflection guardian rules --check "Likes tea" --file USER.md')
SHOWN = 500


def add_arguments(parser):
    how = parser.add_mutually_exclusive_group()
    how.add_argument("--check", type=option_types.text, metavar="FACT", help=_("what the rules say of this fact"))
    how.add_argument("--off", type=option_types.text, metavar="ID", help=_("switch this rule off"))
    how.add_argument("--on", type=option_types.text, metavar="ID", help=_("switch this rule on"))
    parser.add_argument("--file", choices=MEMORY_FILES, help=_("with --check: the file it would be written to"))


def run(agent, check, file, off, on, **options):
    if (check is None) != (file is None):
        raise WrongUse(_("Use --check and --file together."))
    found = agents.get(agent)
    if check is not None:
        return _checked(found.db, check, file)
    if off or on:
        rule_activation.switch_rule(found, off or on, on=bool(on), by=BY)
    every = rules.find_rules(found.db)
    rows = rule_counts.read_rule_counts(found.db, list(every.order_by(*rules.NEWEST_FIRST)[:SHOWN]))
    more = every.count() - len(rows)
    lines = [*map(_line, rows), *_left_out(more)] or [_("No rules.")]
    return Outcome({"rules": [api_detail.rule_to_json(row) for row in rows], "more": more}, "\n".join(lines))


def _left_out(more):
    if more > 0:
        words = ngettext(
            "%(count)s older rule is not listed.",
            "%(count)s older rules are not listed.",
            more,
        )
        yield words % {"count": f"{more:,}"}


def _checked(db, fact, file):
    said = api_detail.check_fact(db, fact, file)
    if said["rule_id"] is None:
        return Outcome(said, _("No rule speaks about this fact."))
    fact, rule = glyphs.to_one_line(said["fact"]), glyphs.to_one_line(said["rule_id"])
    words = {"status": states.word(said["status"]), "fact": fact, "file": said["file"], "rule": rule}
    return Outcome(said, _("%(status)s: %(fact)s → %(file)s (rule %(rule)s)") % words)


def _line(rule):
    is_on = _("on") if rule.is_on else _("off")
    acted, overruled = ("–" if count is None else f"{count:,}" for count in (rule.acted, rule.overruled))
    words = {"acted": acted, "overruled": overruled}
    numbers = _("acted: %(acted)s, overruled: %(overruled)s") % words
    name = glyphs.to_one_line(rule.row.name)
    return f"{glyphs.to_one_line(rule.row.id)}  {is_on:<3}  {name} → {_what(rule.row)}  ({numbers})"


def _what(row):
    """What a rule does with a fact that matches: the status, and which other fact and file it is written as."""
    parts = [str(states.word(row.corrected_status))]
    if row.corrected_status == "written":
        if row.corrected_candidate_fact != row.original_candidate_fact:
            parts.append(f"“{glyphs.to_one_line(row.corrected_candidate_fact or '')}”")
        if row.corrected_target_file != row.original_target_file:
            parts.append(glyphs.to_one_line(row.corrected_target_file or ""))
    return ", ".join(parts)
