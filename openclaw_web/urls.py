from django.urls import URLResolver, include, path
from django.urls.resolvers import RoutePattern

APPS = (
    "overview",
    "people",
    "problems",
    "jobs",
    "search",
    "collecting",
    "automation",
    "operations",
    "ledger",
    "gate",
    "guardian",
    "datasets",
    "artifacts",
    "episodes",
)


class Api(URLResolver):
    """The addresses of the API, which the first request or link to one of them imports."""

    def _populate(self):
        """Collect no names for links to pages."""


urlpatterns = [
    # First, because programs send most requests: Django tries one address after the other.
    Api(RoutePattern("api/v1/"), "openclaw_web.api", app_name="ninja", namespace="api"),
    *(path("", include(f"{app}.urls")) for app in APPS),
]

# Under /api/ these answer in the API's words, elsewhere as Django does.
handler400 = "openclaw_web.endpoints.error_responses.bad_request"
handler403 = "openclaw_web.endpoints.error_responses.not_allowed"
handler404 = "openclaw_web.endpoints.error_responses.not_found"
handler500 = "openclaw_web.endpoints.error_responses.server_error"
