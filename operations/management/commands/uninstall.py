from django.conf import settings
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from openclaw_web.commands.verbs import DONE, INTERRUPTED, WRONG_USE, Verb
from openclaw_web.pages import formatting

from ... import data_locations, program_locations


class Command(Verb):
    help = gettext_lazy("List every place of this site on the disk, with the commands that remove them.")
    examples = ("uninstall --check", "uninstall --check --json | jq -r .locations[].remove")
    statuses = (DONE, WRONG_USE, INTERRUPTED)
    schema = data_locations.SCHEMA
    needs_database = works_in_home = False  # a missing or damaged home is listed too

    def add_arguments(self, parser):
        parser.add_argument("--check", action="store_true", help=_("only list; there is no other way"))

    def run(self, check, **options):
        if not check:
            sentence = _(
                "OpenClaw Web does not remove itself. List its places and commands: openclaw-web uninstall --check"
            )
            self.fail(sentence, WRONG_USE)
        data, problems = data_locations.find_data(settings.HOME_DIR, settings.STATE_DIR)
        places = (*data, *program_locations.find_program())
        problems += data_locations.describe_unknown(places)
        locations = [place.as_json() for place in data_locations.protect(places, settings.STATE_DIR)]
        is_running = data_locations.is_served(settings.HOME_DIR)
        if is_running:
            problems.insert(0, _("OpenClaw Web is running in %(home)s. Stop it first.") % {"home": settings.HOME_DIR})
        unknown = list_unknown()
        facts = {"is_running": is_running, "locations": locations, "problems": problems, "unknown": unknown}
        self.answer(facts, format_report(locations, problems, unknown))


def list_unknown() -> list[str]:
    """Sentences about files of ours whose places are stored nowhere."""
    return [
        _("Exports, rows and artifacts that were written with --output, and files that somebody downloaded."),
        _("Backups and archives that were copied or moved to another folder."),
        _("Places that only a home knew which was removed, or a store that was damaged."),
        _("Completion scripts in other folders, and links to the command in other folders."),
        _("OpenClaw's own folder (%(folder)s): no file there is ours, apart from those above.")
        % {"folder": settings.STATE_DIR},
    ]


def format_report(locations, problems, unknown) -> str:
    """The report in words: each place with its size and the command that removes it."""
    there = [place for place in locations if place["exists"]]
    lines = [f"{sentence}\n" for sentence in problems]
    for place in there:
        size = _("size unknown") if place["bytes"] is None else formatting.size(place["bytes"])
        lines.append(f"{place['path']} ({place['kind'].replace('_', ' ')}, {size})")
        lines += [f"  {text}" for text in (place["note"], place["remove"]) if text]
    lines += [
        _("%(path)s (%(kind)s) does not exist.") % {"path": place["path"], "kind": place["kind"].replace("_", " ")}
        for place in locations
        if place["exists"] is False
    ]
    lines += ["", _("Not known, because it is stored nowhere:"), *(f"  {sentence}" for sentence in unknown)]
    return "\n".join([*lines, "", _("Nothing was removed.")])
