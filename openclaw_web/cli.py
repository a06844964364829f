"""The `openclaw-web` command: the project's own commands under one name."""

import os
import sys


def main():
    """Run `openclaw-web <command> ...`; Django's own commands are there as well."""
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "openclaw_web.settings")
    from django.core.management import ManagementUtility

    utility = ManagementUtility(["openclaw-web", *sys.argv[1:]])
    utility.prog_name = "openclaw-web"
    utility.execute()
