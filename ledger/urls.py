from django.urls import path, register_converter

from . import views


class RecordId:
    """Whatever a transcript calls its record, slashes included."""

    regex = r"[\s\S]+"

    def to_python(self, value):
        return value

    def to_url(self, value):
        return str(value)


register_converter(RecordId, "record_id")

app_name = "ledger"
urlpatterns = [
    path("agents/<str:agent>/sessions/", views.session_list, name="session_list"),
    path("agents/<str:agent>/sessions/<str:session_id>/", views.session_detail, name="session_detail"),
    path(
        "agents/<str:agent>/sessions/<str:session_id>/records/<record_id:record_id>/",
        views.record_detail,
        name="record_detail",
    ),
]
