from django.utils.translation import gettext_lazy

from openclaw_web.commands.verbs import DONE, WRONG_USE, Verb

from ... import worker


class Command(Verb):
    help = gettext_lazy("Run jobs until stopped. `serve` starts such a worker automatically.")
    examples = ("work",)
    statuses = (DONE, WRONG_USE)
    is_server = True

    def run(self, **options):
        worker.work()
