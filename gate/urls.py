from django.urls import path

import openclaw_web.pages.converters  # noqa: F401 - <anything:>
from agents.routes import agent_paths

from .detail import views
from .lists import views as list_views
from .replays import views as replay_views
from .runner import views as own_views
from .statistics.page import views as statistics_views

app_name = "gate"
urlpatterns = [
    path(
        "agents/<str:agent>/sessions/<str:session_id>/decisions/of/", views.session_decisions, name="session_decisions"
    ),
    *agent_paths("gate/", list_views.decision_list, name="decision_list"),
    *agent_paths("gate/calls/", list_views.call_list, name="call_list"),
    path("agents/<str:agent>/gate/calls/<anything:call_id>/", views.call_detail, name="call_detail"),
    path("agents/<str:agent>/gate/prompts/<anything:prompt_id>/", views.prompt_detail, name="prompt_detail"),
    *agent_paths("gate/statistics/", statistics_views.statistics, name="statistics"),
    *agent_paths("gate/own/", own_views.own_gate, name="own_gate"),
    path("agents/<str:agent>/gate/own/run/", own_views.own_gate_run, name="own_gate_run"),
    path("agents/<str:agent>/gate/own/switch/", own_views.own_gate_switch, name="own_gate_switch"),
    *agent_paths("gate/replays/", replay_views.replay_list, name="replay_list"),
    path("agents/<str:agent>/gate/replays/new/", replay_views.replay_new, name="replay_new"),
    path("agents/<str:agent>/gate/replays/new/plan/", replay_views.replay_plan, name="replay_plan"),
    path("agents/<str:agent>/gate/replays/new/start/", replay_views.replay_start, name="replay_start"),
    path("agents/<str:agent>/gate/replays/<str:replay_id>/", replay_views.replay_detail, name="replay_detail"),
    path(
        "agents/<str:agent>/gate/replays/<str:replay_id>/continue/",
        replay_views.replay_continue,
        name="replay_continue",
    ),
    # The last one: an id may be any text.
    path("agents/<str:agent>/gate/<anything:decision_id>/", views.decision_detail, name="decision_detail"),
]
