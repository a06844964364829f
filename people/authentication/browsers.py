"""Describes a browser by its `User-Agent` header."""

import re

from django.utils.translation import gettext as _

# The first match counts, because many browsers also claim to be others.
BROWSERS = (
    ("Edge", re.compile(r"\bEdg(?:e|A|iOS)?/")),
    ("Opera", re.compile(r"\bOPR/")),
    ("Samsung Internet", re.compile(r"\bSamsungBrowser/")),
    ("Firefox", re.compile(r"\b(?:Firefox|FxiOS)/")),
    ("Chrome", re.compile(r"\b(?:Headless)?(?:Chrome|Chromium|CriOS)/")),
    ("Safari", re.compile(r"\bVersion/.*\bSafari/")),
    ("curl", re.compile(r"^curl/")),
    ("Python", re.compile(r"^python-", re.IGNORECASE)),
)
SYSTEMS = (
    ("iPhone", re.compile(r"\biPhone\b")),
    ("iPad", re.compile(r"\biPad\b")),
    ("Android", re.compile(r"\bAndroid\b")),
    ("Windows", re.compile(r"\bWindows\b")),
    ("macOS", re.compile(r"\bMac(?:intosh| OS X)\b")),
    ("ChromeOS", re.compile(r"\bCrOS\b")),
    ("Linux", re.compile(r"\bLinux\b|\bX11\b")),
)


def describe_browser(user_agent: str) -> str:
    """The browser and its system, `Firefox on Linux`, as far as the header tells."""
    browser, system = _find_first(BROWSERS, user_agent), _find_first(SYSTEMS, user_agent)
    if browser and system:
        return _("%(browser)s on %(system)s") % {"browser": browser, "system": system}
    return browser or system or _("an unknown browser")


def _find_first(known, text):
    return next((name for name, pattern in known if pattern.search(text)), "")
