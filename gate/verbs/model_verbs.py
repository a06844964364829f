"""Options and output of verbs that ask a model: a preview, and with --yes the run."""

import argparse
import sys
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any, TypeVar

from django.utils.translation import gettext as _

from agents.runners.choice import Choice
from jobs.models import JobRun
from jobs.progress import Listener, open_listener
from jobs.verbs import read_job_result
from openclaw_web import reasons
from openclaw_web.commands.groups import Outcome, WrongUse
from openclaw_web.commands.verbs import DONE, FAILED, PARTLY, REFUSED
from openclaw_web.llm import endpoint
from openclaw_web.llm.estimates import Estimate
from openclaw_web.pages.formatting import money
from people.configuration.setting import MOST_TEXT

from ..replays.comparison import Comparison
from . import parse_moment

Rows = Iterable[tuple[str, str]]
C = TypeVar("C", bound=Choice)


def add_send_options(parser: argparse.ArgumentParser) -> None:
    """Add the options that say whether anything is sent."""
    parser.add_argument("--quiet", action="store_true", help=_("do not show progress"))
    group = parser.add_mutually_exclusive_group()
    group.add_argument("--dry-run", action="store_true", help=_("only show what would be sent"))
    group.add_argument("--yes", action="store_true", help=_("send it"))


def add_model_options(parser: argparse.ArgumentParser) -> None:
    """Add the options that name another model and prompt."""
    parser.add_argument("--model", "-m", required=True, metavar="M", help=_("who is to decide, as the endpoint says"))
    parser.add_argument("--prompt-file", metavar="FILE", help=_("file with the prompt (the one in force)"))


def add_test_options(parser: argparse.ArgumentParser) -> None:
    """Add the options of a test with a regression set."""
    add_model_options(parser)
    set_help = _("version of the regression set (the verdicts in force)")
    parser.add_argument("--set", type=int, dest="number", metavar="N", help=set_help)
    add_send_options(parser)


def read_prompt(file: str | None) -> str:
    """Return the prompt in a file; empty for no file. Raises WrongUse."""
    if file is None:
        return ""
    try:
        text = Path(file).read_text(encoding="utf-8")
    except OSError as exc:
        words = {"file": file, "reason": reasons.describe_os_error(exc)}
        raise WrongUse(_("%(file)s cannot be read: %(reason)s.") % words) from exc
    except UnicodeDecodeError as exc:
        raise WrongUse(_("%(file)s is not UTF-8 text.") % {"file": file}) from exc
    if not text.strip() or len(text) > MOST_TEXT or "\0" in text:
        raise WrongUse(_("%(file)s: a prompt has 1 to 20,000 characters.") % {"file": file})
    return text


def check_endpoint() -> None:
    """Raise WrongUse where no endpoint is configured: a test makes no sense without one."""
    if problem := endpoint.describe_problem():
        raise WrongUse(problem)


def report_test(job: JobRun, comparison: Comparison) -> Outcome:
    """Return the outcome of a test: failed when it breaks a case, partial when cases that can be tested are left."""
    result = read_job_result(job)
    words = "\n".join([*_describe_comparison(comparison), result["message"]])
    status = FAILED if comparison.broken else PARTLY if result["left"] else DONE
    receipt = {"plan": None, "comparison": comparison.as_json(), "run": result}
    return Outcome(receipt, words, status, result["message"] if status else "")


def _describe_comparison(comparison):
    """Yield the broken cases, the fixed ones, those left out, and the difference with its interval."""
    groups = {_("Broken"): comparison.broken, _("Fixed"): comparison.fixed, _("Left out"): comparison.left_out}
    for label, names in groups.items():
        yield from (f"{label}: {len(names):,}", *(f"  {name}" for name in names))
    if interval := comparison.interval:
        points = (f"{100 * value:+.1f}" for value in (comparison.difference, *interval))
        text = _("Cases: %s. Difference in percentage points: %s (95%% interval %s to %s)")
        yield text % (comparison.new.count, *points)


def build_choice(choice_type: type[C], options: dict[str, Any], **choice_options: Any) -> C:
    """Build the choice of the options of a run. Raises WrongUse."""
    if options["limit"] is not None and options["limit"] < 1:
        raise WrongUse(_("--limit must be 1 or more."))
    moments = {name: parse_moment(options[name], f"--{name}") for name in ("since", "until")}
    return choice_type(session=options["session"], limit=options["limit"], **moments, **choice_options)


def run_and_report(
    run_here: Callable[[Listener | None], JobRun], *, is_quiet: bool, faults: tuple[str, ...]
) -> Outcome:
    """Run in this terminal, and return the outcome.

    The outcome is partial when a count of the result named in `faults` is not 0.
    """
    with open_listener(sys.stderr, is_quiet=is_quiet) as listener:
        job = run_here(listener)
    result = read_job_result(job)
    status = PARTLY if any(result[name] for name in faults) else DONE
    return Outcome(
        {"plan": None, "run": result}, result["message"], status, "" if status == DONE else result["message"]
    )


def describe_plan(plan: Estimate, rows: Rows, *, count: int, name: str, is_all: bool) -> Outcome:
    """Describe what would be sent, with `rows` (label, value) about it.

    `count` is the number of items to send, `name` the key of the run in the receipt. The outcome is a refusal, as
    nothing was sent, unless the preview was asked for (`is_all`) or there is nothing to send.
    """
    receipt, words = {"plan": plan.as_json(), name: None}, _format_plan(plan, rows)
    if is_all or not (count or plan.problem):
        return Outcome(receipt, f"{words}\n{plan.problem}".rstrip(), DONE)
    sentence = plan.problem or _("Nothing was sent. Repeat the command with --yes to send this.")
    return Outcome(receipt, f"{words}\n{sentence}", REFUSED, sentence)


def _format_plan(plan, rows):
    rows = (
        *rows,
        (_("Endpoint"), plan.host or "–"),
        (_("Model"), plan.model or "–"),
        (_("Prompt"), plan.prompt_version),
        (_("Estimated tokens"), f"{plan.tokens:,}"),
        (_("Estimated cost"), "–" if plan.cost_usd is None else money(plan.cost_usd)),
        (_("Tokens left today (UTC)"), _("no limit") if plan.left_today is None else f"{plan.left_today:,}"),
    )
    width = max(len(label) for label, _value in rows)
    return "\n".join(f"{label:<{width}}  {value}" for label, value in rows)
