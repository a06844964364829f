import json
import sys
from dataclasses import asdict
from pathlib import Path

import orjson
from django.core.management.base import CommandError
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from agents import databases
from agents import services as agents
from agents.models import Agent
from artifacts import command_output, handles, receipts, services
from artifacts.errors import DamagedArtifact, NoRoom, NoSuchArtifact, WrongSelector
from artifacts.excerpts import content_fetch
from artifacts.excerpts.selectors import MODES, MOST_PEEK_CHARS, PEEK_CHARS, USUAL_CHARS, Selector
from artifacts.handles import NotAHandle
from artifacts.lint import LINT_SCHEMA, lint_paths
from artifacts.models import Artifact
from artifacts.store import folder_import, verification
from openclaw_web import reasons
from openclaw_web.amounts import format_plural, ngettext_lazy
from openclaw_web.commands.groups import Group, Outcome, WrongUse, check_limit
from openclaw_web.commands.verbs import BY, FAILED, PARTLY, WRONG_USE
from openclaw_web.errors import Refused
from openclaw_web.lists.paging import page_of
from openclaw_web.pages.formatting import size

from ...artifact_gc import services as artifact_gc
from ...artifact_gc.services import WrongAge
from ...lint import findings

HINT = gettext_lazy("openclaw-web artifact VERB --help lists the options.")
NOT_INTACT = ngettext_lazy(
    "%(count)s artifact failed verification.", "%(count)s artifacts failed verification.", "number"
)
NOT_IMPORTED = ngettext_lazy("%(count)s artifact was not imported.", "%(count)s artifacts were not imported.", "number")


class Stash:
    HELP = gettext_lazy("Store the content of a file, or of standard input, and print its handle.")
    EXAMPLES = (
        "artifact stash --from page.html --kind page",
        "artifact stash --gzip --json < build.log | jq -r .handle",
    )

    def add_arguments(self, parser):
        parser.add_argument("--from", dest="source", metavar="FILE", help=_("file with the content (standard input)"))
        parser.add_argument("--kind", default=services.OUTPUT_KIND, help=_("kind of content (%(default)s)"))
        parser.add_argument(
            "--meta-json", default="{}", metavar="JSON", help=_("metadata to store: a small JSON object")
        )
        parser.add_argument("--gzip", action="store_true", help=_("store the content compressed"))

    def run(self, source, kind, meta_json, gzip, agent, **options):
        try:
            meta = orjson.loads(meta_json)
        except orjson.JSONDecodeError as exc:
            raise WrongUse(_("--meta-json is not JSON: %(reason)s") % {"reason": exc}) from exc
        if not isinstance(meta, dict):
            raise WrongUse(_("--meta-json must be a JSON object."))
        db = get_alias(agent, make=True)
        if source is None:
            row, stored = services.stash(db, sys.stdin.buffer, kind=kind, meta=meta, is_compressed=gzip)
        else:
            try:
                file = open(source, "rb")  # noqa: SIM115, PTH123 - closed below; only opening it may fail for this reason
            except OSError as exc:
                raise WrongUse(
                    _("%(file)s cannot be read: %(reason)s.")
                    % {"file": source, "reason": reasons.describe_os_error(exc)}
                ) from exc
            with file:
                row, stored = services.stash(db, file, kind=kind, meta=meta, is_compressed=gzip)
        return Outcome(receipts.build_stash_receipt(row, stored), f"{row.handle}\n{row.summary}")


class Run:
    HELP = gettext_lazy("Run a command; store a long output, and print its beginning, its end and its handle.")
    EXAMPLES = ("artifact run -- npm test", "artifact run --agent research --max-chars 4000 -- git log --stat")

    def add_arguments(self, parser):
        parser.add_argument("words", nargs="+", metavar="COMMAND", help=_("after --: the command and its arguments"))
        parser.add_argument(
            "--max-chars",
            type=int,
            default=USUAL_CHARS,
            metavar="N",
            help=_("print an output of at most so many characters as it is (%(default)s)"),
        )
        parser.add_argument(
            "--preview-chars", type=int, default=2_000, metavar="N", help=_("print so much of others (%(default)s)")
        )
        parser.add_argument(
            "--most-mb", type=int, default=1_024, metavar="N", help=_("end the command after so many MB (%(default)s)")
        )

    def run(self, words, max_chars, preview_chars, most_mb, agent, json, **options):
        if not 1 <= preview_chars <= max_chars <= USUAL_CHARS or most_mb < 1:
            sentence = _("--preview-chars must be 1 to --max-chars, --max-chars at most %(most)s.")
            raise WrongUse(sentence % {"most": USUAL_CHARS})
        result = command_output.run(
            words, agent, lambda: get_alias(agent, make=True), max_chars, preview_chars, most_mb
        )
        for sentence in result.sentences:
            sys.stderr.write(f"{sentence}\n")
        if not json:
            command_output.write_output(result.output)
        return Outcome(result.as_receipt(), "", result.status)


class Fetch:
    HELP = gettext_lazy("Print a part of an artifact, limited in size.")
    EXAMPLES = (
        "artifact fetch ocm_artifact:v1:sha256:… --max-chars 4000",
        "artifact fetch ocm_artifact:v1:sha256:… --mode range --lines 120:160",
        "artifact fetch ocm_artifact:v1:sha256:… --mode jsonpath --path '$.items[0].name' --json",
    )

    def add_arguments(self, parser):
        parser.add_argument("handle")
        parser.add_argument("--mode", default="headtail", choices=MODES, help=_("how the part is chosen (%(default)s)"))
        parser.add_argument(
            "--max-chars",
            type=int,
            default=USUAL_CHARS,
            metavar="N",
            help=_("characters to print at most (%(default)s)"),
        )
        parser.add_argument("--reason", default="", help=_("reason for more than 8000 characters; recorded"))
        parser.add_argument("--offset", type=int, default=0, metavar="N", help=_("start at this character"))
        parser.add_argument("--lines", default="", metavar="A:B", help=_("range: the lines from A to B"))
        parser.add_argument("--pattern", default="", metavar="RE", help=_("grep: a regular expression in RE2 syntax"))
        parser.add_argument("--ignore-case", action="store_true", help=_("grep: ignore upper and lower case"))
        parser.add_argument("--context", type=int, default=0, metavar="N", help=_("grep: lines around each match"))
        parser.add_argument("--path", default="", metavar="JSONPATH", help=_("jsonpath: a path as in RFC 9535"))

    def run(self, handle, agent, json, **options):
        names = Selector.__dataclass_fields__
        selector = Selector(**{name: value for name, value in options.items() if name in names})
        handle = parse_handle(handle)
        answer = content_fetch.fetch(get_alias(agent), handle, selector, by=BY, agent_id=agent)
        if not json:
            for sentence in answer.in_words(agent):
                sys.stderr.write(f"{sentence}\n")
        return Outcome(answer.as_receipt(), answer.text)


class Peek:
    HELP = gettext_lazy("Print a short preview of an artifact and its details.")
    EXAMPLES = ("artifact peek ocm_artifact:v1:sha256:… --preview-chars 300",)

    def add_arguments(self, parser):
        parser.add_argument("handle")
        limits = _("characters to show, 1 to %(most)s (%(usual)s)") % {"most": MOST_PEEK_CHARS, "usual": PEEK_CHARS}
        parser.add_argument("--preview-chars", type=int, default=PEEK_CHARS, metavar="N", help=limits)

    def run(self, handle, preview_chars, agent, **options):
        handle = parse_handle(handle)
        receipt = content_fetch.peek(get_alias(agent), handle, chars=preview_chars)
        return Outcome(receipt, f"{receipt['summary']}\n\n{receipt['preview']}")


class List:
    HELP = gettext_lazy("List artifacts, newest first.")
    EXAMPLES = ("artifact list --limit 10", "artifact list --json | jq -r '.artifacts[].handle'")

    def add_arguments(self, parser):
        parser.add_argument("--limit", type=int, default=50, metavar="N", help=_("how many, 1 to 1000 (%(default)s)"))
        parser.add_argument("--after", metavar="CURSOR", help=_("continue a list: its `next` value"))
        parser.add_argument("--session", metavar="ID", help=_("only artifacts that this session used"))

    def run(self, limit, after, session, agent, json, **options):
        check_limit(limit)
        rows = Artifact.objects.using(get_alias(agent)).defer("preview")
        rows = rows.filter(session_id=session) if session else rows
        try:
            page = page_of(rows, order=("-created_at", "-id"), after=after, size=limit)
        except Refused as exc:  # its sentence is about the address of a page
            raise Refused(_("--after must be the `next` value of an earlier list of artifacts.")) from exc
        if page.next and not json:
            sys.stderr.write(_("More: --after %(cursor)s") % {"cursor": page.next} + "\n")
        words = "\n".join(f"{row.handle}  {row.summary}" for row in page)
        return Outcome(receipts.build_list_receipt(page), words)


class Remove:
    HELP = gettext_lazy(
        "Remove an agent's reference to an artifact; `gc` removes the content when no other reference is left."
    )
    EXAMPLES = ("artifact rm ocm_artifact:v1:sha256:…",)

    def add_arguments(self, parser):
        parser.add_argument("handle")

    def run(self, handle, agent, **options):
        handle = parse_handle(handle)
        count = services.remove(get_alias(agent), handle)
        words = format_plural("%(count)s reference was removed.", "%(count)s references were removed.", count)
        message = words + " " + _("The next gc removes the content when nobody else uses it.")
        return Outcome(receipts.build_remove_receipt(handle, count), message)


class CollectGarbage:
    HELP = gettext_lazy("Remove artifacts that nothing refers to, and remains of interrupted writes.")
    EXAMPLES = ("artifact gc --dry-run", "artifact gc --older-than 30d --json")

    def add_arguments(self, parser):
        parser.add_argument(
            "--older-than", default="0s", metavar="AGE", help=_("only artifacts stored longer ago: 12h, 7d, ...")
        )
        parser.add_argument("--dry-run", action="store_true", help=_("only show what would be removed"))

    def run(self, older_than, dry_run, **options):
        age = artifact_gc.parse_age(older_than)
        result = artifact_gc.collect_garbage(older_than=age, is_dry_run=dry_run, by=BY)
        return Outcome(result.as_receipt(), artifact_gc.in_words(result))


class Verify:
    HELP = gettext_lazy("Read artifacts in full and compare them with their hashes; without handles, all artifacts.")
    EXAMPLES = ("artifact verify", "artifact verify ocm_artifact:v1:sha256:… --json")

    def add_arguments(self, parser):
        parser.add_argument("handle", nargs="*")

    def run(self, handle, agent, **options):
        hashes = [handles.parse(parse_handle(name)) for name in handle] or verification.list_all_contents(
            get_alias(agent)
        )
        result = verification.verify(hashes)
        counts = {"sound": f"{result.sound:,}", "bytes": size(result.bytes), "damaged": f"{len(result.problems):,}"}
        summary = _("%(sound)s intact (%(bytes)s), %(damaged)s not") % counts
        return _build_outcome(result, summary, FAILED, NOT_INTACT)


class Import:
    HELP = gettext_lazy("Import an artifacts folder of openclaw-mem. The folder is only read.")
    EXAMPLES = ("artifact import ~/.openclaw/memory/openclaw-mem/artifacts",)

    def add_arguments(self, parser):
        parser.add_argument("folder", type=Path, help=_("the artifacts folder, or an OpenClaw folder that contains it"))

    def run(self, folder, agent, **options):
        result = folder_import.import_folder(get_alias(agent, make=True), folder)
        counts = {"imported": f"{result.imported:,}", "known": f"{result.known:,}"}
        counts["refused"] = f"{len(result.problems):,}"
        summary = _("%(imported)s imported, %(known)s already stored, %(refused)s refused") % counts
        return _build_outcome(result, summary, PARTLY, NOT_IMPORTED)


class Lint:
    HELP = gettext_lazy("Find lines of prompts and playbooks that would put whole outputs into a context.")
    EXAMPLES = ("artifact lint AGENTS.md playbooks/", "artifact lint --collected --agent main --json")

    def add_arguments(self, parser):
        parser.add_argument("paths", nargs="*", type=Path, metavar="PATH", help=_("files, or folders of text files"))
        parser.add_argument(
            "--collected", action="store_true", help=_("imported prompts of scheduled tasks and workspace files")
        )

    def run(self, paths, collected, agent, **options):
        if bool(paths) == collected:
            raise WrongUse(_("Name the files to check, or use --collected for the imported data of an agent."))
        results = findings.as_hits(findings.find_all(find_agent(agent))) if collected else lint_paths(paths)
        hits = list(results)
        lines = [f"{hit.file}:{hit.line}: {hit.rule} ({hit.words}): {hit.text}\n    {hit.better}" for hit in hits]
        receipt = {"schema": LINT_SCHEMA, "hits": [asdict(hit) for hit in hits]}
        if not hits:
            return Outcome(receipt, _("No line breaks a rule."))
        sentence = format_plural("%(count)s line breaks a rule.", "%(count)s lines break a rule.", len(hits))
        return Outcome(receipt, "\n".join(lines), FAILED, sentence)


class Command(Group):
    """The command `artifact`, with the receipts of the existing tool.

    `schema` comes first, and a failure has a hint.
    """

    help = gettext_lazy("Store large outputs as artifacts, and read them in parts of limited size.")
    examples = (
        "artifact stash --from build.log --json | jq -r .handle",
        "artifact fetch ocm_artifact:v1:sha256:… --mode grep --pattern ERROR --max-chars 4000",
        "artifact gc --older-than 30d --dry-run",
    )
    verbs = {
        "stash": Stash(), "run": Run(), "fetch": Fetch(), "peek": Peek(), "list": List(), "rm": Remove(),
        "gc": CollectGarbage(), "verify": Verify(), "import": Import(), "lint": Lint(),
    }  # fmt: skip
    # Exit statuses of the existing tool: 2 for wrong input, 1 for missing or damaged artifacts.
    refusals = {
        NotAHandle: WRONG_USE, WrongAge: WRONG_USE, WrongSelector: WRONG_USE,
        NoSuchArtifact: FAILED, DamagedArtifact: FAILED, NoRoom: FAILED,
    }  # fmt: skip

    def add_common_arguments(self, parser):
        parser.add_argument("--agent", default="main", help=_("agent whose artifacts are meant (%(default)s)"))

    def fail(self, sentence, status, *, reasons=()):
        if self.is_json:
            self._print(_as_json({"error": str(sentence), "hint": str(HINT), "ok": False, "reasons": list(reasons)}))
        raise CommandError(str(sentence), returncode=status)

    def end(self, outcome):
        failure = {"error": outcome.sentence, "reasons": list(outcome.reasons)} if outcome.status else {}
        receipt = {**outcome.receipt, "ok": not outcome.status, **failure}
        self._print(_as_json(receipt) if self.is_json else outcome.words)
        if outcome.status:
            raise CommandError(outcome.sentence, returncode=outcome.status)

    def _print(self, text):
        if text:
            self.stdout.write(self.fit_to_output(text))


def _build_outcome(result, summary, status, sentence):
    """The outcome of work on many artifacts, with a line for each problem."""
    problems = tuple(result.problems)
    words = "\n".join([*(f"{row['id']}: {row['reason']}" for row in problems), summary])
    if not problems:
        return Outcome(result.as_receipt(), words)
    message = sentence % {"count": f"{len(problems):,}", "number": len(problems)}
    return Outcome(result.as_receipt(), words, status, message, problems)


def _as_json(facts):
    try:
        return orjson.dumps(facts, option=orjson.OPT_INDENT_2).decode()
    except orjson.JSONEncodeError:  # a lone surrogate, from a file name or an option
        return json.dumps(facts, indent=2)


def get_alias(agent: str, *, make: bool = False) -> str:
    """The alias of an agent's database; with `make`, an unknown agent is registered.

    Raises NoSuchArtifact for an agent without a file, Refused when the file has to be updated first.
    """
    agent_row = agents.register(agents.normalise_agent_id(agent)) if make else find_agent(agent)
    try:
        return agent_row.db
    except databases.OldAgentFile as exc:
        raise Refused(str(exc)) from exc


def find_agent(name: str) -> Agent:
    """The agent of this name. Raises NoSuchArtifact."""
    name = agents.normalise_agent_id(name)
    agent = Agent.objects.filter(agent_id=name).first()
    if agent is None:
        words = {"agent": name}
        raise NoSuchArtifact(
            _("There is no agent %(agent)s here. Run “openclaw-web collect” once, or store an artifact for this agent.")
            % words
        )
    return agent


def parse_handle(handle: str) -> str:
    """The handle without surrounding space. Raises NotAHandle, also when the home has no agents."""
    handles.parse(handle.strip())
    return handle.strip()
