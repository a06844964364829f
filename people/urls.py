from django.urls import path

from .accounts import invitation_views as invitations
from .accounts import token_views as tokens
from .accounts import views as accounts
from .audit import views as audit
from .authentication import account_views as account
from .authentication import views as authentication
from .configuration import rail_views
from .configuration import saved_view_views as saved_views
from .configuration import views as configuration
from .preferences import views as preferences

app_name = "people"
urlpatterns = [
    path("sign-in/", authentication.sign_in, name="sign_in"),
    path("sign-out/", authentication.sign_out, name="sign_out"),
    path("welcome/<str:token>/", authentication.one_time_link, name="one_time_link"),
    path("join/<str:token>/", invitations.join, name="join"),
    path("account/", account.account, name="account"),
    path("account/preferences/", preferences.preferences_save, name="preferences_save"),
    path("account/theme/", preferences.theme_set, name="theme_set"),
    path("account/language/", preferences.language_set, name="language_set"),
    path("account/password/", account.password_change, name="password_change"),
    path("account/sign-ins/<str:sign_in_id>/end/", account.sign_in_end, name="sign_in_end"),
    path("account/end-others/", account.sign_ins_end_others, name="sign_ins_end_others"),
    path("account/sign-out-everywhere/", account.sign_out_everywhere, name="sign_out_everywhere"),
    path("rail/", rail_views.rail_fold, name="rail_fold"),
    path("operations/audit/", audit.audit_list, name="audit_list"),
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
    path("operations/tokens/", tokens.token_list, name="token_list"),
    path("operations/tokens/make/", tokens.token_make, name="token_make"),
    path("operations/tokens/<str:token_id>/revoke/", tokens.token_revoke, name="token_revoke"),
    path("operations/settings/", configuration.settings, name="settings"),
    path("operations/settings/save/", configuration.settings_save, name="settings_save"),
    path("operations/views/keep/", saved_views.view_keep, name="view_keep"),
    path("operations/views/forget/", saved_views.view_forget, name="view_forget"),
]
