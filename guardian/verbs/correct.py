"""`reflection guardian correct`: corrects a write, and may turn that into a rule."""

from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from agents import services as agents
from openclaw_web.commands.groups import Outcome
from openclaw_web.commands.verbs import BY
from openclaw_web.pages import glyphs

from ..corrections import api, correction_store, patterns
from ..files import MEMORY_FILES

HELP = gettext_lazy("Say what a write should have been; with --apply-to-future, turn it into a rule. No file changes.")
EXAMPLES = (
    'reflection guardian correct 01JA --status refused --reason "Said in jest"',
    'reflection guardian correct 01JA --status written --file USER.md --reason "About the user" --apply-to-future',
    'reflection guardian correct 01JA --status refused --reason "Ask the list" --apply-to-future'
    ' --contains "no, without" --contains nut --name "Claims that something has no nuts"',
)
CORRECTION = ("status", "fact", "file", "reason", "apply_to_future", "pattern", "name")


def add_arguments(parser):
    parser.add_argument("audit", metavar="AUDIT", help=_("ID of the write"))
    parser.add_argument(
        "--status", required=True, choices=correction_store.STATUSES, help=_("what should have become of it")
    )
    parser.add_argument("--fact", help=_("the fact that should have been written (as it was)"))
    parser.add_argument("--file", choices=MEMORY_FILES, help=_("the file it should have been written to (as it was)"))
    parser.add_argument("--reason", required=True, help=_("why"))
    parser.add_argument("--apply-to-future", action="store_true", help=_("apply it to similar facts, as a rule"))
    parser.add_argument("--name", default="", help=_("what the rule is called (its words)"))
    parser.add_argument(
        "--contains", action="append", default=[], metavar="WORDS",
        help=_("a word the facts contain, alternatives separated by commas; repeat for more, the facts contain all"),
    )  # fmt: skip
    parser.add_argument(
        "--pattern",
        default="",
        help=_("which facts the rule is about (proposed from the fact)"),
    )


def run(agent, audit, contains, **options):
    correction = {name: options[name] for name in CORRECTION}
    lines = patterns.read_lines("\n".join(contains))
    row = correction_store.correct_write(agents.get(agent), audit, contains=lines, by=BY, **correction)
    words = _("Correction %(id)s saved.") % {"id": row.id}
    if row.correction_pattern:
        words += " " + _("Rule: %(name)s") % {"name": glyphs.to_one_line(row.name)}
    return Outcome({"correction": api.correction_to_json(row)}, words)
