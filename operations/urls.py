from django.urls import path, register_converter

from .views import (
    account,
    accounts,
    artifact_store,
    audit,
    background,
    backups,
    checkpoints,
    components,
    doctor,
    exports,
    invitations,
    jobs,
    linting,
    lists,
    overview,
    rejected,
    retention,
    schedules,
    settings,
)


class CronJobId:
    """Whatever an OpenClaw home calls its job, slashes included."""

    regex = r"[\s\S]+"

    def to_python(self, value):
        return value

    def to_url(self, value):
        return str(value)


register_converter(CronJobId, "cron_job_id")

app_name = "operations"
urlpatterns = [
    path("", overview.overview, name="overview"),
    path("agents/", overview.agent_list, name="agent_list"),
    path("agents/<str:agent>/cron/", schedules.cron_list, name="cron_list"),
    path("agents/<str:agent>/cron/<cron_job_id:job_id>/", schedules.cron_detail, name="cron_detail"),
    path("agents/<str:agent>/lint/", linting.lint_list, name="lint_list"),
    path("agents/<str:agent>/subagents/", schedules.subagent_list, name="subagent_list"),
    path("agents/<str:agent>/checkpoints/<str:sha256>/", checkpoints.checkpoint_detail, name="checkpoint_detail"),
    path(
        "agents/<str:agent>/sessions/<str:session_id>/checkpoints/", checkpoints.checkpoint_make, name="checkpoint_make"
    ),
    path("agents/<str:agent>/background/", background.background_list, name="background_list"),
    path("agents/<str:agent>/stored/", background.stored_list, name="stored_list"),
    path("healthz", overview.healthz, name="healthz"),
    path("sign-in/", accounts.sign_in, name="sign_in"),
    path("sign-out/", accounts.sign_out, name="sign_out"),
    path("welcome/<str:token>/", accounts.one_time_link, name="one_time_link"),
    path("join/<str:token>/", invitations.join, name="join"),
    path("account/", account.account, name="account"),
    path("account/password/", account.password_change, name="password_change"),
    path("account/sign-ins/<str:sign_in_id>/end/", account.sign_in_end, name="sign_in_end"),
    path("account/end-others/", account.sign_ins_end_others, name="sign_ins_end_others"),
    path("account/sign-out-everywhere/", account.sign_out_everywhere, name="sign_out_everywhere"),
    path("operations/artifacts/", artifact_store.artifact_store, name="artifact_store"),
    path("operations/artifacts/clear/", artifact_store.artifact_store_clear, name="artifact_store_clear"),
    path("operations/audit/", audit.audit_list, name="audit_list"),
    path("operations/backups/", backups.backup_list, name="backup_list"),
    path("operations/backups/create/", backups.backup_create, name="backup_create"),
    path("operations/backups/<str:backup_id>/verify/", backups.backup_verify, name="backup_verify"),
    path("operations/backups/<str:backup_id>/drill/", backups.backup_drill, name="backup_drill"),
    path("operations/backups/<str:backup_id>/file", backups.backup_file, name="backup_file"),
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
    path("operations/users/", accounts.user_list, name="user_list"),
    path("operations/users/add/", accounts.user_add, name="user_add"),
    path("operations/users/<str:username>/role/", accounts.user_role, name="user_role"),
    path("operations/users/<str:username>/link/", accounts.user_link, name="user_link"),
    path("operations/users/<str:username>/activate/", accounts.user_activate, name="user_activate"),
    path("operations/users/<str:username>/deactivate/", accounts.user_deactivate, name="user_deactivate"),
    path("operations/users/<str:username>/sign-out/", accounts.user_sign_out, name="user_sign_out"),
    path("operations/users/<str:username>/unlock/", accounts.user_unlock, name="user_unlock"),
    path("operations/invitations/", invitations.invitation_list, name="invitation_list"),
    path("operations/invitations/make/", invitations.invitation_make, name="invitation_make"),
    path("operations/invitations/<str:invitation_id>/revoke/", invitations.invitation_revoke, name="invitation_revoke"),
    path("operations/tokens/", accounts.token_list, name="token_list"),
    path("operations/tokens/make/", accounts.token_make, name="token_make"),
    path("operations/tokens/<str:token_id>/revoke/", accounts.token_revoke, name="token_revoke"),
    path("operations/components/", components.component_list, name="component_list"),
    path("operations/settings/", settings.settings, name="settings"),
    path("operations/settings/<str:key>/", settings.setting_save, name="setting_save"),
    path("operations/views/keep/", lists.view_keep, name="view_keep"),
    path("operations/views/forget/", lists.view_forget, name="view_forget"),
    path("operations/jobs/", jobs.job_list, name="job_list"),
    path("operations/jobs/<str:job_id>/", jobs.job_detail, name="job_detail"),
    path("operations/jobs/<str:job_id>/cancel/", jobs.job_cancel, name="job_cancel"),
    path("operations/stash-outputs/", jobs.stash_outputs_start, name="stash_outputs_start"),
    path("operations/collect/", jobs.collect_start, name="collect_start"),
    path("operations/rejected/", rejected.rejected_list, name="rejected_list"),
    path("exports/", exports.export_list, name="export_list"),
    path("exports/create/", exports.export_create, name="export_create"),
    path("exports/<str:export_id>/", exports.export_detail, name="export_detail"),
    path("exports/<str:export_id>/files/<str:name>", exports.export_file, name="export_file"),
]
