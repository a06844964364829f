"""`openclaw-web search`: search in a terminal, and its indexes."""

from django.urls import reverse
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from openclaw_web.amounts import format_plural
from openclaw_web.clock import now_ms
from openclaw_web.commands.groups import Group, Outcome, WrongUse
from openclaw_web.commands.verbs import FAILED
from openclaw_web.pages.formatting import size
from openclaw_web.sqlite import word_index

from ... import fill, find, query
from ...sources import KINDS

NAME = gettext_lazy("samples and tasks")  # of the global file


class Find:
    HELP = gettext_lazy("Print the texts that have these words; “find” may be left out.")
    EXAMPLES = ("search find flour bread agent:main kind:user", "search find 面包 --sort best --json")

    def add_arguments(self, parser):
        parser.add_argument(
            "words", nargs="+", help=_("words, phrases in quotes, -without, pre*, kind:user, after:2026-01-31")
        )
        parser.add_argument("--sort", choices=("newest", "best"), default="newest")
        parser.add_argument("--limit", type=int, default=20, help=_("hits to print (%(default)s)"))

    def run(self, words, sort, limit, **_options):
        if not 1 <= limit <= 200:
            raise WrongUse(_("--limit must be 1 to 200."))
        reverse("search:search")  # reads the addresses of all pages, which may take longer than a search
        results = find.search(query.parse(" ".join(words)), is_best=sort == "best", size=limit)
        receipt = find.to_json(results)
        lines = []
        for hit in receipt["items"]:
            lines.append(f"{hit['agent_id'] or '-'}  {KINDS[hit['kind']]}  {hit['title'][:60]}")
            lines += [f"  {' '.join(hit['excerpt'].split())}", f"  {hit['address']}"]
        return Outcome(receipt, "\n".join([*lines, *find.describe_limits([results])]) or _("No text has these words."))


class Status:
    HELP = gettext_lazy("Print how far the search has come, for each database.")
    EXAMPLES = ("search status",)

    def add_arguments(self, parser):
        pass

    def run(self, **_options):
        rows = []
        for place in fill.list_places():
            row = {"agent": place.agent_id, "texts": 0, "stale": 0, "bytes": 0, "filled_at": None, "waiting": None}
            with word_index.open_index(place.file) as index:
                if index:
                    row["texts"], row["stale"] = index.count()
                    row["bytes"], row["waiting"] = place.file.stat().st_size, fill.count_waiting(place, index)
                    row["filled_at"] = int(index.read_facts().get("filled_at", now_ms()))
            rows.append(row)
        lines = []
        for row in rows:
            texts = format_plural("%(count)s text", "%(count)s texts", row["texts"])
            if row["waiting"] is None:
                waiting = _("not searched yet")
            else:
                waiting = format_plural("%(count)s row waiting", "%(count)s rows waiting", row["waiting"])
            lines.append(f"{row['agent'] or NAME}: {texts}, {size(row['bytes'])}, {waiting}")
        return Outcome({"indexes": rows}, "\n".join(lines))


class Rebuild:
    HELP = gettext_lazy("Build the search anew, for all agents or one; without it only new texts are added.")
    EXAMPLES = ("search rebuild", "search rebuild --agent main")

    def add_arguments(self, parser):
        parser.add_argument("--agent", default="", help=_("only this agent"))

    def run(self, agent, **_options):
        receipt = fill.fill_all(agent_id=agent, is_anew=True)
        return Outcome(receipt, receipt["message"])


class Verify:
    HELP = gettext_lazy("Compare the search with the texts, by building it in a second place.")
    EXAMPLES = ("search verify --agent main",)

    def add_arguments(self, parser):
        parser.add_argument("--agent", default="", help=_("only this agent"))

    def run(self, agent, **_options):
        faults = {place.agent_id: lacking for place in fill.list_places(agent) if (lacking := fill.find_faults(place))}
        lines = [f"{name or NAME}: {', '.join(lacking)}" for name, lacking in faults.items()]
        if not faults:
            return Outcome({"faults": {}}, _("The search has every text."))
        sentence = _("The search lacks texts. Run openclaw-web search rebuild.")
        return Outcome({"faults": faults}, "\n".join([*lines, sentence]), FAILED, sentence)


class Command(Group):
    help = gettext_lazy("Find words in all texts; build and verify the indexes that this needs.")
    examples = ("search find flour bread", "search status", "search rebuild")
    schema = "openclaw-web.search.v1"
    verbs = {"find": Find(), "status": Status(), "rebuild": Rebuild(), "verify": Verify()}

    def run_from_argv(self, argv):
        """`search WORDS` means `search find WORDS`."""
        if argv[2:] and argv[2] not in (*self.verbs, "--help", "-h", "--json"):
            argv = [*argv[:2], "find", *argv[2:]]
        super().run_from_argv(argv)
