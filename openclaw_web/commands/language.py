"""The language of a command: that of the terminal. What is for programs is English."""

import os
from contextlib import AbstractContextManager, nullcontext

from django.conf import settings
from django.utils import translation

VARIABLES = ("LC_ALL", "LC_MESSAGES", "LANG")  # the first that says something counts, as for other programs


def spoken(argv: list[str]) -> AbstractContextManager:
    """For the block, the language that the environment asks for; English with `--json`, whose words never differ."""
    code = settings.LANGUAGE_CODE if "--json" in argv else of_environment()
    return nullcontext() if code == settings.LANGUAGE_CODE else translation.override(code)


def of_environment() -> str:
    """The language of ours that comes nearest to `zh_CN.UTF-8`."""
    said = next((value for name in VARIABLES if (value := os.environ.get(name))), "")
    wanted = said.partition(".")[0].partition("@")[0].replace("_", "-").lower()
    codes = [code for code, _name in settings.LANGUAGES]
    near = [code for code in codes if code.partition("-")[0] == wanted.partition("-")[0]]
    return wanted if wanted in codes else next(iter(near), settings.LANGUAGE_CODE)
