from django.urls import include, path

urlpatterns = [
    path("", include("operations.urls")),
    path("", include("ledger.urls")),
    path("", include("datasets.urls")),
]
