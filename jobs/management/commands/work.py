from openclaw_web.commands.verbs import DONE, WRONG_USE, Verb

from ... import worker


class Command(Verb):
    help = "Run jobs until told to stop. `serve` starts one of these by itself."
    examples = ("work",)
    statuses = (DONE, WRONG_USE)
    is_server = True

    def run(self, **options):
        worker.work()
