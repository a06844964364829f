from dataclasses import asdict
from pathlib import Path

from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, ngettext

from artifacts.lint import LINT_SCHEMA, lint_paths
from openclaw_web.commands.groups import Outcome, WrongUse
from openclaw_web.commands.verbs import FAILED

from ....lint import findings
from . import find_agent

HELP = gettext_lazy("Find lines of prompts and playbooks that would put whole outputs into a context.")
EXAMPLES = ("artifact lint AGENTS.md playbooks/", "artifact lint --collected --agent main --json")


def add_arguments(parser):
    parser.add_argument("paths", nargs="*", type=Path, metavar="PATH", help=_("files, or folders of text files"))
    parser.add_argument(
        "--collected", action="store_true", help=_("imported prompts of scheduled tasks and workspace files")
    )


def run(paths, collected, agent, **options):
    if bool(paths) == collected:
        raise WrongUse(_("Name the files to check, or use --collected for the imported data of an agent."))
    results = findings.as_hits(findings.find_all(find_agent(agent))) if collected else lint_paths(paths)
    hits = list(results)
    lines = [f"{hit.file}:{hit.line}: {hit.rule} ({hit.words}): {hit.text}\n    {hit.better}" for hit in hits]
    receipt = {"schema": LINT_SCHEMA, "hits": [asdict(hit) for hit in hits]}
    if not hits:
        return Outcome(receipt, _("No line breaks a rule."))
    words = "\n".join(lines)
    sentence = ngettext("%(count)s line breaks a rule.", "%(count)s lines break a rule.", len(hits))
    return Outcome(receipt, words, FAILED, sentence % {"count": f"{len(hits):,}"})
