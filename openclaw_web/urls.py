from django.urls import include, path

from . import api

urlpatterns = [
    path("", include("operations.urls")),
    path("", include("ledger.urls")),
    path("", include("datasets.urls")),
    path("api/v1/", api.urls()),
]
