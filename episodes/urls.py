from django.urls import path

import openclaw_web.pages.converters  # noqa: F401 - <anything:>
from agents.routes import agent_paths

from . import views

app_name = "episodes"
urlpatterns = [
    *agent_paths("episodes/", views.scope_list, name="scope_list"),
    path("agents/<str:agent>/episodes/capture/", views.capture_set, name="capture_set"),
    path("agents/<str:agent>/episodes/head/", views.head_give_out, name="head_give_out"),
    path("agents/<str:agent>/episodes/verify/", views.verify_start, name="verify_start"),
    path("agents/<str:agent>/episodes/scope/", views.event_list, name="event_list"),
    path("agents/<str:agent>/episodes/statistics/", views.scope_statistics, name="scope_statistics"),
    path("agents/<str:agent>/episodes/retention/", views.scope_retention, name="scope_retention"),
    path("agents/<str:agent>/episodes/retention/set/", views.policy_set, name="policy_set"),
    path("agents/<str:agent>/episodes/retention/run/", views.retention_start, name="retention_start"),
    path("agents/<str:agent>/episodes/redact/", views.redaction_preview, name="redaction_preview"),
    path("agents/<str:agent>/episodes/redact/do/", views.redact_do, name="redact_do"),
    path("agents/<str:agent>/episodes/event/<anything:event_id>/", views.event_detail, name="event_detail"),
    path("agents/<str:agent>/episodes/replay/<anything:session_id>/", views.session_replay, name="session_replay"),
]
