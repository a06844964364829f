from django.urls import path

import openclaw_web.pages.converters  # noqa: F401 - <anything:>
from agents.routes import agent_paths

from . import views
from .corrections import views as correction_views
from .detail import file_views
from .detail import views as detail_views
from .handover import views as handover_views
from .reach import views as reach_views
from .rollbacks import views as rollback_views
from .runner import regression_views
from .runner import views as own_views

app_name = "guardian"
urlpatterns = [
    path("agents/<str:agent>/writes/rollback/do/<anything:audit_id>/", rollback_views.rollback_do, name="rollback_do"),
    path(
        "agents/<str:agent>/writes/rollback/settle/<anything:audit_id>/",
        rollback_views.rollback_settle,
        name="rollback_settle",
    ),
    path(
        "agents/<str:agent>/writes/rollback/hand-over/<anything:audit_id>/",
        rollback_views.rollback_hand_over,
        name="rollback_hand_over",
    ),
    path("agents/<str:agent>/writes/rollback/of/<anything:audit_id>/", rollback_views.rollback, name="rollback"),
    path(
        "agents/<str:agent>/writes/session/do/<anything:session_id>/",
        rollback_views.session_rollback_do,
        name="session_rollback_do",
    ),
    path(
        "agents/<str:agent>/writes/session/of/<anything:session_id>/",
        rollback_views.session_rollback,
        name="session_rollback",
    ),
    path("agents/<str:agent>/files/", views.file_list, name="file_list"),
    path("agents/<str:agent>/files/<anything:name>/", views.file_detail, name="file_detail"),
    *agent_paths("writes/rules/", correction_views.rule_list, name="rule_list"),
    path("agents/<str:agent>/writes/rules/new/", correction_views.rule_new, name="rule_new"),
    path("agents/<str:agent>/writes/rules/try/", correction_views.rule_try, name="rule_try"),
    path(
        "agents/<str:agent>/writes/rules/<anything:rule_id>/switch/", correction_views.rule_switch, name="rule_switch"
    ),
    path("agents/<str:agent>/writes/correct/<anything:audit_id>/", correction_views.correct, name="correct"),
    # Not below the writes: an id there may be any text, and so it may here.
    path("agents/<str:agent>/corrections/<anything:audit_id>/", correction_views.corrections, name="corrections"),
    path("agents/<str:agent>/correct/<anything:audit_id>/", correction_views.correct_save, name="correct_save"),
    path("agents/<str:agent>/sessions/<str:session_id>/writes/of/", detail_views.session_writes, name="session_writes"),
    *agent_paths("writes/", detail_views.audit_list, name="audit_list"),
    path("agents/<str:agent>/writes/of/<anything:decision_id>/", detail_views.decision_writes, name="decision_writes"),
    *agent_paths("writes/opted-out/", file_views.opted_out, name="opted_out"),
    *agent_paths("writes/chart/", file_views.chart, name="chart"),
    path("agents/<str:agent>/writes/reach/<anything:audit_id>/", reach_views.reach, name="reach"),
    path("agents/<str:agent>/writes/left/<anything:audit_id>/", file_views.audit_lines, name="audit_lines"),
    path("agents/<str:agent>/writes/history/<anything:name>/", file_views.moved, name="file_history"),
    *agent_paths("writes/blame/<anything:name>/", file_views.moved, name="blame"),
    path("agents/<str:agent>/writes/cure/<anything:name>/", handover_views.file_cure, name="file_cure"),
    path(
        "agents/<str:agent>/writes/handovers/<str:handover_id>/",
        handover_views.handover_detail,
        name="handover_detail",
    ),
    path(
        "agents/<str:agent>/writes/handovers/<str:handover_id>/check/",
        handover_views.handover_check,
        name="handover_check",
    ),
    *agent_paths("writes/regressions/", regression_views.regression_list, name="regression_list"),
    path("agents/<str:agent>/writes/regressions/store/", regression_views.regression_store, name="regression_store"),
    path("agents/<str:agent>/writes/regressions/start/", regression_views.regression_start, name="regression_start"),
    *agent_paths("writes/own/", own_views.own_guardian, name="own_guardian"),
    path("agents/<str:agent>/writes/own/run/", own_views.own_guardian_run, name="own_guardian_run"),
    path("agents/<str:agent>/writes/own/switch/", own_views.own_guardian_switch, name="own_guardian_switch"),
    *agent_paths("writes/own/proposals/", own_views.proposal_list, name="proposal_list"),
    path("agents/<str:agent>/writes/own/proposals/<str:run_id>/", own_views.proposal_detail, name="proposal_detail"),
    path(
        "agents/<str:agent>/writes/own/proposals/<str:run_id>/approve/",
        own_views.proposal_approve,
        name="proposal_approve",
    ),
    path(
        "agents/<str:agent>/writes/own/proposals/<str:run_id>/hand-over/",
        own_views.proposal_hand_over,
        name="proposal_hand_over",
    ),
    path(
        "agents/<str:agent>/writes/own/proposals/<str:run_id>/decline/",
        own_views.proposal_decline,
        name="proposal_decline",
    ),
    path(
        "agents/<str:agent>/writes/own/proposals/<str:run_id>/patch/", own_views.proposal_patch, name="proposal_patch"
    ),
    path("agents/<str:agent>/writes/own/retry/<anything:audit_id>/", own_views.write_retry, name="write_retry"),
    # The last one: an id may be any text.
    path("agents/<str:agent>/writes/<anything:audit_id>/", detail_views.audit_detail, name="audit_detail"),
]
