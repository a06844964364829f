from django.urls import path, register_converter

from . import list_views, savings_views, views


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
    path("agents/<str:agent>/sessions/", list_views.session_list, name="session_list"),
    path("agents/<str:agent>/events/", list_views.event_list, name="event_list"),
    path("agents/<str:agent>/turns/", list_views.turn_list, name="turn_list"),
    path("agents/<str:agent>/savings/", savings_views.savings, name="savings"),
    path("agents/<str:agent>/sessions/<str:session_id>/", views.session_detail, name="session_detail"),
    path("agents/<str:agent>/sessions/<str:session_id>/turns/", views.session_turns, name="session_turns"),
    path("agents/<str:agent>/sessions/<str:session_id>/branches/", views.session_branches, name="session_branches"),
    path("agents/<str:agent>/sessions/<str:session_id>/steps/", views.session_steps, name="session_steps"),
    path("agents/<str:agent>/sessions/<str:session_id>/savings/", views.session_savings, name="session_savings"),
    path("agents/<str:agent>/sessions/<str:session_id>/live/", views.session_live, name="session_live"),
    path("agents/<str:agent>/sessions/<str:session_id>/steps/<str:step_id>/", views.step_detail, name="step_detail"),
    path(
        "agents/<str:agent>/sessions/<str:session_id>/records/<record_id:record_id>/",
        views.record_detail,
        name="record_detail",
    ),
]
