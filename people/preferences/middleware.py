"""Applies a person's language, time zone and theme to their pages."""

from django.utils import translation
from django.utils.cache import patch_vary_headers

from openclaw_web.pages import zones
from openclaw_web.pages.middleware_base import Middleware

from . import choices


class PreferencesMiddleware(Middleware):
    """Sets the language and the zone for the duration of a request.

    The API is left out: programs get the language that they request, and times in the API are numbers.
    """

    def __call__(self, request):
        if request.path.startswith("/api/"):
            return self.get_response(request)
        person = choices.get_person(request)
        language = request.LANGUAGE_CODE = choices.choose_language(request, person)
        request.theme = choices.choose_theme(request, person)
        with translation.override(language), zones.use_zone(choices.choose_zone(request, person)):
            response = self.get_response(request)
        response.headers.setdefault("Content-Language", language)
        patch_vary_headers(response, ["Cookie"])
        return response
