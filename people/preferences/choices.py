"""Choices for language, time zone and theme, with the browser's as default."""

from datetime import UTC, tzinfo

from django.conf import settings
from django.http import HttpRequest, HttpResponse
from django.utils import translation
from django.utils.translation import gettext_lazy as _

from openclaw_web.pages import zones

from ..models import User

LANGUAGES = [("", _("The browser's")), *settings.LANGUAGES]
THEMES = [("", _("The system's")), ("light", _("Light")), ("dark", _("Dark"))]
ZONE_COOKIE = "openclaw_web_zone"  # static/app.js writes it
THEME_COOKIE = "openclaw_web_theme"
YEAR = 365 * 86_400


def get_person(request: HttpRequest) -> User | None:
    """The person who is signed in, or None.

    For a browser without a session the user is not read, because that would begin one.
    """
    is_known = settings.SESSION_COOKIE_NAME in request.COOKIES and request.user.is_authenticated
    return request.user if is_known else None


def choose_language(request: HttpRequest, person: User | None) -> str:
    """The language of the account, else the browser's."""
    chosen = person.language if person else ""
    return chosen if chosen in dict(settings.LANGUAGES) else translation.get_language_from_request(request)


def choose_zone(request: HttpRequest, person: User | None) -> tzinfo:
    """The zone of the account, else the browser's, else UTC."""
    chosen = zones.find_zone(person.time_zone) if person and person.time_zone else None
    return chosen or zones.find_zone(request.COOKIES.get(ZONE_COOKIE, "")) or UTC


def choose_theme(request: HttpRequest, person: User | None) -> str:
    """The theme of the account; before sign-in, the one chosen in this browser."""
    chosen = person.theme if person else request.COOKIES.get(THEME_COOKIE, "")
    return chosen if chosen in dict(THEMES) else ""


def set_choice_cookie(response: HttpResponse, name: str, value: str) -> None:
    """Store a choice in a cookie of this browser, for pages before sign-in."""
    options = {"path": settings.SESSION_COOKIE_PATH, "secure": settings.SESSION_COOKIE_SECURE}
    response.set_cookie(name, value, max_age=YEAR, samesite="Lax", httponly=True, **options)
