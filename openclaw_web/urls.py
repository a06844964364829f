from django.urls import include, path

from . import api

urlpatterns = [
    path("", include("operations.urls")),
    path("", include("ledger.urls")),
    path("", include("guardian.urls")),
    path("", include("datasets.urls")),
    path("", include("artifacts.urls")),
    path("api/v1/", api.urls()),
]

# Under /api/ these answer in the API's words, elsewhere as Django does.
handler400 = "openclaw_web.api.problems.bad_request"
handler403 = "openclaw_web.api.problems.not_allowed"
handler404 = "openclaw_web.api.problems.not_found"
handler500 = "openclaw_web.api.problems.server_error"
