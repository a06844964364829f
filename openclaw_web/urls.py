from django.urls import include, path

from . import api

APPS = (
    "overview",
    "people",
    "problems",
    "jobs",
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
urlpatterns = [*(path("", include(f"{app}.urls")) for app in APPS), path("api/v1/", api.urls())]

# Under /api/ these answer in the API's words, elsewhere as Django does.
handler400 = "openclaw_web.endpoints.error_responses.bad_request"
handler403 = "openclaw_web.endpoints.error_responses.not_allowed"
handler404 = "openclaw_web.endpoints.error_responses.not_found"
handler500 = "openclaw_web.endpoints.error_responses.server_error"
