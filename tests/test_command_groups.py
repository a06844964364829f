"""Commands with verbs: their depth, their errors for unknown words, and their help."""

import io
import re
import shlex

import orjson
import pytest
from django.core.management import CommandError, call_command, get_commands, load_command_class

from openclaw_web.commands import cli
from openclaw_web.commands.groups import Branch, Failed, Group, Outcome, WrongUse
from openclaw_web.commands.verbs import PARTLY
from openclaw_web.errors import Refused

FAILURES = {"wrong": WrongUse("Not so."), "failed": Failed("It broke."), "refused": Refused("Not now.")}


class Listing:
    HELP = "List decisions."
    EXAMPLES = ("reflection gate list --limit 3",)

    def add_arguments(self, parser):
        parser.add_argument("--limit", type=int, default=20)

    def run(self, limit, agent, **options):
        return Outcome({"agent": agent, "limit": limit}, f"{limit} of {agent}")


class Ending:
    HELP = "End as it is told."
    EXAMPLES = ("reflection end partly",)

    def add_arguments(self, parser):
        parser.add_argument("how")

    def run(self, how, **options):
        if how in FAILURES:
            raise FAILURES[how]
        return Outcome({"rows": 1}, "One row.", PARTLY, "One was left out.", ({"id": "b", "reason": "It is cut."},))


class Reflection(Group):
    help = "A command whose verbs are two words long."
    examples = ("reflection gate list",)
    verbs = {"gate": Branch("What the gate decided.", {"list": Listing()}), "end": Ending()}
    schema = "openclaw-web.reflection.v1"
    needs_database = works_in_home = False

    def add_common_arguments(self, parser):
        parser.add_argument("--agent", default="main")


def run(*words):
    """Run the command above; return status, standard output and error text."""
    out = io.StringIO()
    try:
        call_command(Reflection(), *words, stdout=out)
    except CommandError as error:
        return error.returncode, out.getvalue(), str(error)
    return 0, out.getvalue(), ""


def test_a_verb_may_be_two_words():
    assert run("gate", "list") == (0, "20 of main\n", "")
    assert run("gate", "list", "--limit", "3", "--agent", "ada") == (0, "3 of ada\n", "")


@pytest.mark.parametrize("words", [("--json", "gate", "list"), ("gate", "list", "--json")])
def test_a_receipt_may_be_asked_for_before_and_after_the_verb(words):
    status, out, _error = run(*words)
    expected = {"ok": True, "schema": "openclaw-web.reflection.v1", "agent": "main", "limit": 20}
    assert (status, orjson.loads(out)) == (0, expected)


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (("gate", "list", "--all"), "gate list has no --all."),
        (("gate", "list", "latest"), "gate list has no latest."),
        (("gate", "list", "--secret=canary"), "gate list has no --secret."),
        (("gate", "list", "--limit", "many"), "argument --limit: invalid int value: 'many'"),
        (("gate", "burn"), "argument VERB: invalid choice: 'burn'"),
        (("gate",), "required: VERB"),
    ],
)
def test_what_a_verb_does_not_know_is_said_with_its_own_usage(words, sentence, capsys):
    status, out, error = run(*words)
    assert (status, out) == (2, "") and sentence in error
    with pytest.raises(SystemExit) as ended:
        Reflection().run_from_argv(["openclaw-web", "reflection", *words])
    printed = capsys.readouterr().err
    assert ended.value.code == 2 and sentence in printed
    assert printed.startswith(f"usage: openclaw-web reflection {'gate list' if 'list' in words else 'gate'} [-h]")


@pytest.mark.parametrize(("how", "status"), [("wrong", 2), ("failed", 1), ("refused", 3)])
def test_what_is_raised_ends_with_its_status(how, status):
    assert run("end", how) == (status, "", FAILURES[how].sentence)
    ended, out, _error = run("end", how, "--json")
    assert (ended, orjson.loads(out)) == (status, {"ok": False, "error": FAILURES[how].sentence, "reasons": []})


def test_done_in_part():
    assert run("end", "partly") == (4, "One row.\n", "One was left out.\n  b: It is cut.")
    facts = {"ok": False, "rows": 1, "error": "One was left out.", "reasons": [{"id": "b", "reason": "It is cut."}]}
    ended, out, _error = run("end", "partly", "--json")
    assert (ended, orjson.loads(out)) == (4, {"schema": "openclaw-web.reflection.v1", **facts})


def walk_verbs(command, verbs):
    for words, verb in verbs.items():
        yield (*command, words), verb
        yield from walk_verbs((*command, words), verb.verbs) if isinstance(verb, Branch) else ()


def list_verbs():
    """Yield every verb of ours with the words that lead to it and its command's parser."""
    for name in cli.OURS:
        command = load_command_class(get_commands()[name], name)
        if isinstance(command, Group):
            parser = command.create_parser("openclaw-web", name)
            yield from ((words, verb, parser) for words, verb in walk_verbs((name,), command.verbs))


@pytest.mark.parametrize(("words", "verb", "parser"), [pytest.param(*row, id=" ".join(row[0])) for row in list_verbs()])
def test_every_verb_has_a_sentence_and_examples_that_parse(words, verb, parser):
    assert verb.HELP.endswith(".") and verb.EXAMPLES
    for example in verb.EXAMPLES:
        typed = shlex.split(re.split(r" [|<>] ", example)[0])
        assert tuple(typed[: len(words)]) == words
        parser.parse_args(typed[1:])
