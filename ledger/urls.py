from django.urls import path

import openclaw_web.pages.converters  # noqa: F401 - <anything:>
from agents.routes import agent_paths

from .errors import views as error_views
from .lists import stored_views
from .lists import views as list_views
from .savings import views as savings_views
from .session import views

app_name = "ledger"
urlpatterns = [
    *agent_paths("sessions/", list_views.session_list, name="session_list"),
    *agent_paths("events/", list_views.event_list, name="event_list"),
    *agent_paths("turns/", list_views.turn_list, name="turn_list"),
    *agent_paths("errors/", error_views.error_list, name="error_list"),
    *agent_paths("savings/", savings_views.savings, name="savings"),
    path("agents/<str:agent>/sessions/<str:session_id>/", views.session_detail, name="session_detail"),
    path("agents/<str:agent>/sessions/<str:session_id>/turns/", views.session_turns, name="session_turns"),
    path("agents/<str:agent>/sessions/<str:session_id>/branches/", views.session_branches, name="session_branches"),
    path("agents/<str:agent>/sessions/<str:session_id>/steps/", views.session_steps, name="session_steps"),
    path("agents/<str:agent>/sessions/<str:session_id>/savings/", views.session_savings, name="session_savings"),
    path("agents/<str:agent>/sessions/<str:session_id>/live/", views.session_live, name="session_live"),
    path("agents/<str:agent>/sessions/<str:session_id>/steps/<str:step_id>/", views.step_detail, name="step_detail"),
    path(
        "agents/<str:agent>/sessions/<str:session_id>/records/<anything:record_id>/",
        views.record_detail,
        name="record_detail",
    ),
    *agent_paths("stored/", stored_views.stored_list, name="stored_list"),
]
