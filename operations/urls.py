from django.urls import path

from .views import accounts, exports, jobs, overview, rejected, settings

app_name = "operations"
urlpatterns = [
    path("", overview.overview, name="overview"),
    path("agents/", overview.agent_list, name="agent_list"),
    path("healthz", overview.healthz, name="healthz"),
    path("sign-in/", accounts.sign_in, name="sign_in"),
    path("sign-out/", accounts.sign_out, name="sign_out"),
    path("welcome/<str:token>/", accounts.one_time_link, name="one_time_link"),
    path("operations/users/", accounts.user_list, name="user_list"),
    path("operations/users/add/", accounts.user_add, name="user_add"),
    path("operations/users/<str:username>/role/", accounts.user_role, name="user_role"),
    path("operations/users/<str:username>/link/", accounts.user_link, name="user_link"),
    path("operations/users/<str:username>/activate/", accounts.user_activate, name="user_activate"),
    path("operations/users/<str:username>/deactivate/", accounts.user_deactivate, name="user_deactivate"),
    path("operations/tokens/", accounts.token_list, name="token_list"),
    path("operations/tokens/make/", accounts.token_make, name="token_make"),
    path("operations/tokens/<str:token_id>/revoke/", accounts.token_revoke, name="token_revoke"),
    path("operations/settings/", settings.settings, name="settings"),
    path("operations/settings/<str:key>/", settings.setting_save, name="setting_save"),
    path("operations/jobs/", jobs.job_list, name="job_list"),
    path("operations/jobs/<str:job_id>/", jobs.job_detail, name="job_detail"),
    path("operations/collect/", jobs.collect_start, name="collect_start"),
    path("operations/rejected/", rejected.rejected_list, name="rejected_list"),
    path("exports/", exports.export_list, name="export_list"),
    path("exports/create/", exports.export_create, name="export_create"),
    path("exports/<str:export_id>/", exports.export_detail, name="export_detail"),
    path("exports/<str:export_id>/files/<str:name>", exports.export_file, name="export_file"),
]
