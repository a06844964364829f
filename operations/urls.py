from django.urls import path

from agents.routes import agent_paths
from problems import views as problems

from .artifact_gc import views as artifact_gc
from .backups import views as backups
from .chain import views as chain
from .checkpoints import views as checkpoints
from .doctor import views as doctor
from .lint import views as lint
from .notifications import views as notifications
from .remediation import views as remediation
from .retention import views as retention
from .traces import views as traces

app_name = "operations"
urlpatterns = [
    *agent_paths("lint/", lint.lint_list, name="lint_list"),
    path("agents/<str:agent>/checkpoints/<str:sha256>/", checkpoints.checkpoint_detail, name="checkpoint_detail"),
    path(
        "agents/<str:agent>/sessions/<str:session_id>/checkpoints/", checkpoints.checkpoint_make, name="checkpoint_make"
    ),
    *agent_paths("chain/<str:kind>/<anything:key>/", chain.chain, name="chain"),
    path("chain/", chain.chain_find, name="chain_find"),
    path("agents/<str:agent>/remediation/of/<anything:turn_id>/", remediation.remediation, name="remediation"),
    path(
        "agents/<str:agent>/remediation/start/<anything:turn_id>/",
        remediation.remediation_start,
        name="remediation_start",
    ),
    path(
        "agents/<str:agent>/remediation/plan/<str:remediation_id>/",
        remediation.remediation_detail,
        name="remediation_detail",
    ),
    path(
        "agents/<str:agent>/remediation/plan/<str:remediation_id>/run/",
        remediation.remediation_run,
        name="remediation_run",
    ),
    *agent_paths("traces/", traces.trace_export, name="trace_export"),
    *agent_paths("traces/create/", traces.trace_create, name="trace_create"),
    path("traces/<str:trace_id>/", traces.trace_detail, name="trace_detail"),
    path("traces/<str:trace_id>/file", traces.trace_file, name="trace_file"),
    path("operations/", problems.system, name="system"),
    path("operations/needs/", problems.system_needs, name="system_needs"),
    path("operations/artifacts/", artifact_gc.artifact_store, name="artifact_store"),
    path("operations/artifacts/clear/", artifact_gc.artifact_store_clear, name="artifact_store_clear"),
    path("operations/backups/", backups.backup_list, name="backup_list"),
    path("operations/backups/create/", backups.backup_create, name="backup_create"),
    path("operations/backups/<str:backup_id>/verify/", backups.backup_verify, name="backup_verify"),
    path("operations/backups/<str:backup_id>/drill/", backups.backup_drill, name="backup_drill"),
    path("operations/backups/<str:backup_id>/file", backups.backup_file, name="backup_file"),
    path("operations/notifications/test/", notifications.notification_test, name="notification_test"),
    path("operations/retention/", retention.retention, name="retention"),
    path("operations/retention/count/", retention.retention_count, name="retention_count"),
    path("operations/retention/remove/", retention.retention_remove, name="retention_remove"),
    path("operations/retention/archive/", retention.retention_archive, name="retention_archive"),
    path("operations/doctor/", doctor.doctor, name="doctor"),
    path("operations/doctor/look/", doctor.doctor_look, name="doctor_look"),
    path("operations/doctor/compare/", doctor.doctor_compare, name="doctor_compare"),
    path("operations/doctor/again/", doctor.doctor_again, name="doctor_again"),
    path("operations/doctor/fix/", doctor.doctor_fix, name="doctor_fix"),
    path("operations/doctor/unignore/", doctor.doctor_unignore, name="doctor_unignore"),
    path("operations/doctor/<str:run_id>/undo/", doctor.doctor_undo, name="doctor_undo"),
]
