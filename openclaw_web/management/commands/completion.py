from agents.commands import DONE, WRONG_USE, Verb
from openclaw_web import completion


class Command(Verb):
    help = "Print a script that lets a shell complete our commands."
    examples = (
        "completion bash > ~/.local/share/bash-completion/completions/openclaw-web",
        "completion zsh > ~/.zfunc/_openclaw-web",
        "completion fish > ~/.config/fish/completions/openclaw-web.fish",
    )
    statuses = (DONE, WRONG_USE)
    needs_database = works_in_home = False

    def add_arguments(self, parser):
        parser.add_argument("shell", choices=list(completion.SHELLS))

    def run(self, shell, **options):
        self.stdout.write(completion.script(shell))
