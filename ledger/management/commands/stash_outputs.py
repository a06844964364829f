import orjson
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from jobs import services as jobs
from jobs.progress import listener_on
from openclaw_web.commands.verbs import DONE, FAILED, INTERRUPTED, REFUSED, WRONG_USE, Verb

from ...outputs import job as stash_outputs


class Command(Verb):
    help = gettext_lazy("Bring an older store up to date: store large tool outputs as artifacts, count savings.")
    examples = (
        "stash_outputs",
        "stash_outputs --agent main",
        "stash_outputs --json --quiet | jq .outputs",
    )
    statuses = (DONE, FAILED, WRONG_USE, REFUSED, INTERRUPTED)
    schema = stash_outputs.SCHEMA
    has_progress = True

    def add_arguments(self, parser):
        parser.add_argument("--agent", metavar="NAME", help=_("only this agent (all agents)"))

    def run(self, agent, quiet, **options):
        params = {"agent": agent} if agent else {}
        with listener_on(self.stderr, is_quiet=quiet) as listener:
            job = jobs.run_now("stash_outputs", params, by="command line", listener=listener)
        if job.state != job.State.FINISHED:
            self.fail(job.message, REFUSED if job.state == job.State.REFUSED else FAILED)
        result = orjson.loads(job.result_json)
        self.answer(result, stash_outputs.in_words(result))
