"""The `openclaw-web` command: the project's own commands under one name."""

import os
import sys

SITES = {"serve", "demo", "runserver"}


def main():
    """Run `openclaw-web <command> ...`; Django's own commands are there as well."""
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "openclaw_web.settings")
    if not SITES.intersection(sys.argv[1:2]):
        os.environ.setdefault("OPENCLAW_WEB_BUSY_SECONDS", "30")  # a command waits for a writer; a page does not
    from django.core.management import ManagementUtility

    utility = ManagementUtility(["openclaw-web", *sys.argv[1:]])
    utility.prog_name = "openclaw-web"
    utility.execute()
