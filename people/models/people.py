"""Models of people, their tokens, links and sign-ins."""

from django.contrib.auth.models import AbstractUser
from django.db import models
from django.utils.translation import gettext_lazy as _

from openclaw_web import clock
from openclaw_web.sqlite.fields import Count, EpochMs, OperatorText, PersonText, PlainText, TextKind

from ..authentication import browsers
from ..configuration import saved_views


class User(AbstractUser):
    """A person with one of four roles; each role includes the ones before it."""

    class Role(models.TextChoices):
        VIEWER = "viewer", _("Viewer")
        LABELLER = "labeller", _("Labeller")
        OPERATOR = "operator", _("Operator")
        ADMIN = "admin", _("Admin")

    RANK = {role: rank for rank, role in enumerate(("viewer", "labeller", "operator", "admin"))}

    role = PlainText(choices=Role.choices, default=Role.VIEWER)
    language = PlainText(default="", blank=True, help_text="of pages; empty: the browser's")
    time_zone = PlainText(default="", blank=True, help_text="of times on pages; empty: the browser's")
    theme = PlainText(default="", blank=True, help_text="light or dark; empty: the system's")
    session_epoch = Count(default=0, help_text="raised to end every session of this person for good")
    column_kinds = {
        "password": TextKind.PLAIN,
        **dict.fromkeys(("username", "first_name", "last_name", "email"), TextKind.WHO),
    }
    role_limit = None  # set while a token acts for this person: the highest role it allows
    token = None  # the token that acts for this person

    class Meta:
        db_table = "users"
        constraints = [
            models.CheckConstraint(
                condition=models.Q(role__in=["viewer", "labeller", "operator", "admin"]), name="user_role"
            )
        ]

    def get_session_auth_hash(self):
        """A hash that ends sessions when the password or `session_epoch` changes."""
        return f"{super().get_session_auth_hash()}.{self.session_epoch}"

    def get_session_auth_fallback_hash(self):
        """The same hash for older keys that Django still accepts."""
        return (f"{known}.{self.session_epoch}" for known in super().get_session_auth_fallback_hash())

    def has_role(self, role):
        """Whether this person's role is `role` or a higher one."""
        rank = min(self.RANK[self.role], self.RANK[self.role_limit or self.role])
        return self.is_active and rank >= self.RANK[role]

    def saved_views(self, on):
        """This person's saved views of the list `on`, by name."""
        return saved_views.read_views(self.username, on)


class ApiToken(models.Model):
    """An API token, `oc_<prefix>_<secret>`; only a hash of it is stored."""

    id = PlainText(primary_key=True, shown="api")
    user = models.ForeignKey(User, models.CASCADE, related_name="tokens")
    name = OperatorText(shown="api")
    prefix = PlainText(unique=True, shown="api", help_text="the token begins with `oc_<prefix>_…`")
    secret_sha256 = PlainText(shown="")
    role = PlainText(choices=User.Role.choices, shown="api")
    created_at = EpochMs(shown="api")
    last_used_at = EpochMs(null=True, shown="api")
    expires_at = EpochMs(null=True, shown="api", help_text="null: never")
    revoked_at = EpochMs(null=True, shown="api")

    class Meta:
        db_table = "api_tokens"

    def __str__(self):
        return f"{self.name} ({self.prefix})"

    @property
    def is_out_of_date(self):
        """Whether the token has expired."""
        return self.expires_at is not None and self.expires_at <= clock.now_ms()


class OneTimeLink(models.Model):
    """A link that works once: it creates the first admin, or signs in `user`."""

    token_sha256 = PlainText(primary_key=True)
    user = models.ForeignKey(User, models.CASCADE, null=True)
    created_at = EpochMs()
    expires_at = EpochMs()
    used_at = EpochMs(null=True)

    class Meta:
        db_table = "one_time_links"

    def __str__(self):
        return f"link for {self.user or 'the first admin'}"


class Invitation(models.Model):
    """A link that works once: a new person creates an account with its role."""

    id = PlainText(primary_key=True, shown="api")
    token_sha256 = PlainText(unique=True, shown="")
    role = PlainText(choices=User.Role.choices, shown="api")
    note = PersonText(default="", shown="api", help_text="whom it is for, in the words of whoever made it")
    made_by = PersonText(shown="api")
    created_at = EpochMs(shown="api")
    expires_at = EpochMs(shown="api")
    used_at = EpochMs(null=True, shown="api")
    used_by = PersonText(default="", shown="api")
    revoked_at = EpochMs(null=True, shown="api")

    class Meta:
        db_table = "invitations"
        indexes = [models.Index(fields=["created_at", "id"], name="idx_invitation_created")]
        constraints = [
            models.CheckConstraint(
                condition=models.Q(role__in=["viewer", "labeller", "operator", "admin"]), name="invitation_role"
            )
        ]

    def __str__(self):
        return f"invitation {self.id} ({self.role})"


class SignIn(models.Model):
    """A browser in which a person is or was signed in.

    The row is kept for a while after it has ended.
    """

    class End(models.TextChoices):
        SIGNED_OUT = "signed_out"
        ENDED = "ended"
        REPLACED = "replaced"
        RESET = "password_changed"
        DEACTIVATED = "deactivated"
        EXPIRED = "expired"

    id = PlainText(primary_key=True, shown="api")
    user = models.ForeignKey(User, models.CASCADE, related_name="sign_ins")
    session_key = PlainText(null=True, unique=True, help_text="of Django's session; null once it has ended", shown="")
    how = PlainText(shown="api", help_text="password, link, first_admin or invitation")
    address = PersonText(default="", shown="api")
    user_agent = PersonText(default="", shown="")
    created_at = EpochMs(shown="api")
    last_seen_at = EpochMs(shown="api")
    expires_at = EpochMs(shown="api")
    ended_at = EpochMs(null=True, shown="api")
    ended_because = PlainText(default="", choices=[("", ""), *End.choices], shown="")

    class Meta:
        db_table = "sign_ins"
        indexes = [
            models.Index(fields=["user", "created_at", "id"], name="idx_sign_in_user"),
            models.Index(fields=["ended_at"], name="idx_sign_in_ended"),
            models.Index(fields=["expires_at"], name="idx_sign_in_expires"),
        ]

    def __str__(self):
        return f"sign-in {self.id} of {self.user_id}"

    @property
    def browser(self):
        """Browser and system in words."""
        return browsers.describe_browser(self.user_agent)
