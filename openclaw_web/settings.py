"""Settings that a process needs to start; those that operators tune are in `kv` (people.configuration.catalogue)."""

import os
import secrets
from importlib.util import find_spec
from pathlib import Path

import environ
from csp.constants import NONE, SELF
from django.core.exceptions import ImproperlyConfigured
from whitenoise.compress import Compressor

from . import VERSION as VERSION
from . import capabilities
from .declared_kinds import JOB_KINDS as JOB_KINDS
from .declared_kinds import PROBLEM_KINDS as PROBLEM_KINDS
from .declared_kinds import SEAL_PLACES as SEAL_PLACES
from .declared_kinds import SEARCH_SOURCES as SEARCH_SOURCES
from .declared_kinds import STORE_CHECKS as STORE_CHECKS
from .disk import home, publication, reserve
from .pages import proxy_headers
from .sqlite import connection_options

env = environ.Env()
ON, OFF = ("1", "true", "yes", "on"), ("0", "false", "no", "off", "")
PROJECT_DIR = Path(__file__).resolve().parent
BASE_DIR = PROJECT_DIR.parent


def env_path(name, default):
    """The folder that the environment variable `name` holds, made absolute."""
    try:
        path = Path(env.str(name, "") or default)
        if str(path).startswith("~") and not path.expanduser().is_absolute():
            raise ImproperlyConfigured(
                "HOME must be an absolute path, or OPENCLAW_WEB_HOME and OPENCLAW_STATE_DIR be set."
            )
        path = path.expanduser().absolute()
        str(path).encode()
    except UnicodeEncodeError as exc:
        raise ImproperlyConfigured(f"{name} does not name a possible folder: the name is not valid UTF-8.") from exc
    except FileNotFoundError as exc:  # a relative path
        raise ImproperlyConfigured(f"{name} is a relative path, and the current folder was removed.") from exc
    except (RuntimeError, ValueError) as exc:  # "~somebody" without an account here
        raise ImproperlyConfigured(f"{name} does not name a possible folder: {exc}") from exc
    return path


def env_number(name, default):
    """The number, 0 or more, that the environment variable `name` holds."""
    text = env.str(name, "").strip() or str(default)
    if not (text.isascii() and text.isdigit() and len(text) < 10):
        raise ImproperlyConfigured(f"{name} must be a whole number, 0 or more, not {text!r}.")
    return int(text)


def env_switch(name):
    """Whether the environment variable `name` turns something on; unset means off."""
    text = env.str(name, "").strip().lower()
    if text not in (*ON, *OFF):
        raise ImproperlyConfigured(f"{name} must be 1 or 0, not {text!r}.")
    return text in ON


def asset_dir(name):
    """Folder of templates, static files or catalogues: beside the apps, in a wheel inside the package."""
    return PROJECT_DIR / name if (PROJECT_DIR / name).is_dir() else BASE_DIR / name


def secret_key(file):
    """The signing key, from SECRET_KEY or from the home, where the first use creates it."""
    if key := env.str("SECRET_KEY", "") or (file.read_text() if file.exists() else ""):
        return key
    draft = file.with_suffix(f".{os.getpid()}")
    try:
        draft.write_text(secrets.token_urlsafe(50))
        publication.publish(draft, file)  # never overwrites a key: that of the first process is kept
    except FileExistsError:
        pass
    finally:
        draft.unlink(missing_ok=True)
    if not (key := file.read_text()):
        raise ImproperlyConfigured(f"{file} is empty. Remove the file: a new key is created.")
    return key


# The two folders on disk (docs/map.md): our home, and OpenClaw's, which is only read.
HOME_DIR = env_path("OPENCLAW_WEB_HOME", "~/.openclaw-web")
STATE_DIR = env_path("OPENCLAW_STATE_DIR", "~/.openclaw")

os.umask(0o077)  # files of this process are for its owner only: folders 0700, files 0600
FILE_UPLOAD_PERMISSIONS = 0o600  # Django's own default would open collected static files to everybody
try:
    may_be_remote = env_switch("OPENCLAW_WEB_NETWORK_DISK")
    if not home.is_left_alone() and (problem := home.find_problem(HOME_DIR, may_be_remote=may_be_remote)):
        raise ImproperlyConfigured(f"{HOME_DIR} cannot be the home (OPENCLAW_WEB_HOME): {problem}")
    home.leave_to_other_owner(HOME_DIR)
    ONLY_LOOKS = home.is_left_alone()  # root installs the service for another user, or a command needs no home
    if not ONLY_LOOKS:
        home.prepare(HOME_DIR)
    SECRET_KEY = secrets.token_urlsafe(50) if ONLY_LOOKS else secret_key(HOME_DIR / "secret.key")
except OSError as exc:
    raise ImproperlyConfigured(f"{HOME_DIR} cannot be the home (OPENCLAW_WEB_HOME): {exc.strerror}.") from exc

DEBUG = env_switch("OPENCLAW_WEB_DEBUG")
ALLOWED_HOSTS = env.list("OPENCLAW_WEB_ALLOWED_HOSTS", default=["127.0.0.1", "localhost", "[::1]"])
HTTPS = env_switch("OPENCLAW_WEB_HTTPS")
# Addresses and networks of reverse proxies whose X-Forwarded-For and X-Forwarded-Proto count.
PROXIES = proxy_headers.read_proxies(
    env.str("OPENCLAW_WEB_PROXIES", "").strip() or (proxy_headers.LOOPBACK if HTTPS else "")
)
LOG_LEVEL = (env.str("OPENCLAW_WEB_LOG_LEVEL", "") or "INFO").upper()
if LOG_LEVEL not in ("DEBUG", "INFO", "WARNING", "ERROR"):
    raise ImproperlyConfigured("OPENCLAW_WEB_LOG_LEVEL must be DEBUG, INFO, WARNING or ERROR.")

OWN_APPS = [
    "people",
    "problems",
    "jobs",
    "agents",
    "search",
    "artifacts",
    "ledger",
    "gate",
    "guardian",
    "findings",
    "datasets",
    "automation",
    "episodes",
    "overview",
    "collecting",
    "operations",
    "demo",
    "openclaw_web",
]
INSTALLED_APPS = [
    "django.contrib.contenttypes",
    "django.contrib.auth",
    "django.contrib.sessions",
    "django.contrib.messages",
    "whitenoise.runserver_nostatic",
    "django.contrib.staticfiles",
    "django.forms",  # the templates of form widgets
    "axes",
    "csp",
    *("django_htmx", "heroicons"),
    *OWN_APPS,
]

# Functions of apps above that an app below calls by name, because no app imports upwards.
# Backups that still hold what a collect has taken out.
BACKUPS_THAT_ARE_THERE = "operations.backups.runs.find_existing_paths"
BACKUP_HEADS = "operations.backups.runs.read_heads"  # heads of an agent's ledger, in manifests of backups
RESTORABLE_BACKUP = "operations.backups.upgrade_backups.find_restorable"  # the newest that this version can restore
APPROVED_DECISIONS = "datasets.decision_samples.replays.find_approved_ids"  # of an agent, in approved samples: ids
GATE_VERDICTS = "datasets.decision_samples.replays.copy_new"  # copies new verdicts into an agent's file
RIGHT_DECISIONS = "datasets.decision_samples.replays.find_right_decisions"  # of an agent, by verdicts: id and decision
RIGHT_WRITES = "datasets.kinds.write.find_right_ids"  # of an agent, by verdicts: ids
ARTIFACT_CALLS = "ledger.outputs.calls.find_calls"  # the calls that artifacts came from
TAKEN_BACK = "datasets.kinds.taken_back.send_to_review"  # the sample of a write that was rolled back
MEMORY_SUMS = "overview.memory_sums.refresh_alias"  # counts writes to memory again when some were recorded
USAGE_BY_MONTH = "overview.activity.read_usage_by_month"  # cost and tokens of agents
CHANGED_ROWS = "findings.rescan.note"  # has rows scanned again whose texts changed
FINDING_SUMMARY = "datasets.finding_values.summary.refresh"  # counts values again after findings were stored
FINDING_VERDICTS = "datasets.finding_values.verdict_transfer.transfer"  # keeps verdicts on values that rules mark anew
PROBLEM_PLACES = "agents.problems.checked_agents.list_checked_agents"  # the agents with their files, for checks
LAST_IMPORT = "overview.summaries.find_last_import"  # when something was imported last
AGENT_TRIGGERS = "episodes.chain.triggers.install"  # puts triggers in place after a migration of an agent's file
PRUNE = "operations.pruning.prune"  # removes rows that ended long ago, now and then
# When a command begins, removes unfinished files of killed work.
LEFT_BEHIND = "datasets.exports.killed_exports.clear_killed_exports"
# By the key of a setting: the function that a change of it calls, in the same transaction.
SETTING_EFFECTS = {"collector.optedOutSenders": "overview.summaries.forget_words"}

# Apps whose tables live in the agents' own files; every other app is global.
AGENT_APPS = {"artifacts", "ledger", "gate", "guardian", "findings", "episodes"}
AUTH_USER_MODEL = "people.User"
DEFAULT_AUTO_FIELD = "django.db.models.BigAutoField"

MIDDLEWARE = [
    # These three read nothing of a request, and every answer gets their headers: refusals of the next as well.
    "openclaw_web.pages.middleware.PrivateAnswersMiddleware",
    "csp.middleware.CSPMiddleware",
    "django_permissions_policy.PermissionsPolicyMiddleware",
    "openclaw_web.pages.proxy_headers.ProxyHeadersMiddleware",  # before all that reads addresses and schemes
    "django.middleware.security.SecurityMiddleware",
    "whitenoise.middleware.WhiteNoiseMiddleware",
    "openclaw_web.pages.compression.CompressionMiddleware",
    "people.audit.middleware.ActViaMiddleware",
    "django.contrib.sessions.middleware.SessionMiddleware",
    "django.middleware.locale.LocaleMiddleware",
    "django.middleware.common.CommonMiddleware",
    "django.middleware.csrf.CsrfViewMiddleware",
    "django.contrib.auth.middleware.AuthenticationMiddleware",
    "people.preferences.middleware.PreferencesMiddleware",
    "people.authentication.middleware.SignInRequiredMiddleware",
    "django.contrib.messages.middleware.MessageMiddleware",
    "django.middleware.clickjacking.XFrameOptionsMiddleware",
    "django_htmx.middleware.HtmxMiddleware",
    "openclaw_web.pages.middleware.FailurePageMiddleware",
    "openclaw_web.pages.middleware.CapabilityMiddleware",  # after the sign-in and HTMX
    "people.audit.middleware.LastSeenMiddleware",
    "people.audit.middleware.AuditTrailMiddleware",
    "openclaw_web.pages.middleware.TimeLimitMiddleware",  # after all middleware that looks up the person
    "axes.middleware.AxesMiddleware",
]
ROOT_URLCONF = "openclaw_web.urls"
WSGI_APPLICATION = "openclaw_web.wsgi.application"
CONTEXT = [
    "django.contrib.auth.context_processors.auth",
    "django.contrib.messages.context_processors.messages",
]
# Django tries them in this order: our templates are Jinja2, those of packages are Django's.
TEMPLATES = [
    {
        "NAME": "jinja2",
        "BACKEND": "openclaw_web.pages.templates.Templates",
        "DIRS": [asset_dir("templates")],
        "OPTIONS": {
            "environment": "openclaw_web.pages.templates.environment",
            "auto_reload": DEBUG,
            "kept_in": HOME_DIR / "state",
            "context_processors": [*CONTEXT, "openclaw_web.pages.templates.create_csrf_input"],
            "filters": [
                "agents.all_agents.FILTERS",
                "jobs.notices.FILTERS",
                "artifacts.words.FILTERS",
                "ledger.markup.filters.FILTERS",
                "gate.words.FILTERS",
                "guardian.words.FILTERS",
                "guardian.standing.words.FILTERS",
                "datasets.filters.FILTERS",
                "operations.doctor.words.FILTERS",
            ],
        },
    },
    {
        "BACKEND": "django.template.backends.django.DjangoTemplates",
        "APP_DIRS": True,
        "OPTIONS": {"context_processors": ["django.template.context_processors.request", *CONTEXT]},
    },
]
# Widgets of forms are drawn by Django's own Jinja2 templates, in an environment of their own.
FORM_RENDERER = "django.forms.renderers.Jinja2"

# Requests wait up to 5 s for another writer, jobs and commands up to 30 s (set by serve). The global file stays open:
# every request reads it, and opening it again between many writers took longer than their writes.
DATABASES = {
    "default": connection_options.build_database_settings(
        HOME_DIR / "state" / "openclaw.sqlite",
        timeout=env_number("OPENCLAW_WEB_BUSY_SECONDS", 5),
        max_age_seconds=60,
        is_short=not ONLY_LOOKS and reserve.is_short(HOME_DIR),
    )
}
DATABASE_ROUTERS = ["agents.routers.AgentRouter"]

# Sign-in.
AUTHENTICATION_BACKENDS = ["axes.backends.AxesStandaloneBackend", "django.contrib.auth.backends.ModelBackend"]
PASSWORD_HASHERS = [
    "openclaw_web.hashers.OneAtATimeHasher",
    "django.contrib.auth.hashers.PBKDF2PasswordHasher",
]
AUTH_PASSWORD_VALIDATORS = [
    {"NAME": "django.contrib.auth.password_validation.UserAttributeSimilarityValidator"},
    {"NAME": "django.contrib.auth.password_validation.MinimumLengthValidator", "OPTIONS": {"min_length": 10}},
    {"NAME": "django.contrib.auth.password_validation.CommonPasswordValidator"},
    {"NAME": "django.contrib.auth.password_validation.NumericPasswordValidator"},
]
LOGIN_URL = "people:sign_in"
LOGIN_REDIRECT_URL = "overview:overview"
LOGOUT_REDIRECT_URL = "people:sign_in"
AXES_FAILURE_LIMIT = 5
AXES_COOLOFF_TIME = 0.25  # hours
AXES_LOCKOUT_PARAMETERS = [["username", "ip_address"]]
AXES_RESET_ON_SUCCESS = True
AXES_LOCKOUT_TEMPLATE = "people/locked_out.html"
AXES_HTTP_RESPONSE_CODE = 429
AXES_ENABLE_ADMIN = False
AXES_VERBOSE = False
AXES_DISABLE_ACCESS_LOG = True  # sign_ins and the audit log hold it, and are bounded
# The standalone backend is listed above; whether browsers list the name for good is decided by who runs the site.
SILENCED_SYSTEM_CHECKS = ["axes.W003", "security.W021"]
SESSION_COOKIE_AGE = 14 * 86400
SESSION_COOKIE_NAME = "openclaw_web_session"
SESSION_COOKIE_HTTPONLY = True
CSRF_COOKIE_NAME = "openclaw_web_csrf"
CSRF_COOKIE_HTTPONLY = True

CSRF_FAILURE_VIEW = "openclaw_web.endpoints.error_responses.csrf_failure"

# Requests to the API that one person may make in a minute, and wrong tokens that one address may show; 0: no limit.
API_PER_MINUTE = env_number("OPENCLAW_WEB_API_PER_MINUTE", 20_000)
API_FAILURES_PER_MINUTE = env_number("OPENCLAW_WEB_API_FAILURES_PER_MINUTE", 60)

# Seconds after which the queries of a page or of a read of the API are ended, and downloads at once; 0: no limit.
PAGE_SECONDS = env.int("OPENCLAW_WEB_PAGE_SECONDS", 5)
DOWNLOADS = env.int("OPENCLAW_WEB_DOWNLOADS", 4)
if min(PAGE_SECONDS, DOWNLOADS) < 0:
    raise ImproperlyConfigured("OPENCLAW_WEB_PAGE_SECONDS and OPENCLAW_WEB_DOWNLOADS must be 0 or more.")

DISABLED: frozenset[str] = capabilities.read_names(env.str("OPENCLAW_WEB_DISABLED", ""))  # hidden capabilities
INCLUDE_DELETED = env_switch("OPENCLAW_WEB_INCLUDE_DELETED")  # also set by `serve --include-deleted`
# Whether memory files of agents may be written: guardian/rollbacks/workspace.py alone does.
WORKSPACE_WRITES = env.bool("OPENCLAW_WEB_WORKSPACE_WRITES", False)

# The endpoint of language models: openclaw_web/llm/endpoint.py alone reads it. Django shows no setting with API in its
# name on a page about an error.
LLM_API_URL = env.str("OPENCLAW_WEB_LLM_URL", "").strip()
LLM_API_KEY = os.environ.get("OPENCLAW_WEB_LLM_KEY", "").strip()  # for env, $… is the name of another variable

# Where notifications go: operations/notifications/delivery.py alone reads the address and the secret of the webhook.
WEBHOOK_API_URL = env.str("OPENCLAW_WEB_WEBHOOK_URL", "").strip()
WEBHOOK_API_SECRET = os.environ.get("OPENCLAW_WEB_WEBHOOK_SECRET", "").strip()
DEFAULT_FROM_EMAIL = env.str("OPENCLAW_WEB_MAIL_FROM", "").strip()
EMAIL_TIMEOUT = 10  # seconds
try:
    globals().update(env.email_url_config(env.str("OPENCLAW_WEB_SMTP_URL", "").strip() or "smtp://"))
except (ValueError, ImproperlyConfigured):  # their sentences may hold the password
    sentence = "OPENCLAW_WEB_SMTP_URL must be an address like smtp+tls://user:password@mail.example.com:587."
    raise ImproperlyConfigured(sentence) from None

# The command of OpenClaw that a change of a memory file is handed to; guardian/handover/external_command.py reads it.
OPENCLAW_COMMAND = env.str("OPENCLAW_WEB_OPENCLAW", "").strip()

# A browser may load our own files, and nothing else.
CONTENT_SECURITY_POLICY = {
    "DIRECTIVES": {
        "default-src": [NONE],
        "script-src": [SELF],
        "style-src": [SELF],
        "img-src": [SELF],
        "font-src": [SELF],
        "connect-src": [SELF],
        "form-action": [SELF],
        "base-uri": [NONE],
        "frame-ancestors": [NONE],
    }
}
NO_FEATURES = ("accelerometer", "camera", "display-capture", "geolocation", "gyroscope", "microphone", "payment", "usb")
PERMISSIONS_POLICY = {name: [] for name in NO_FEATURES}
SECURE_REFERRER_POLICY = "same-origin"
SECURE_CONTENT_TYPE_NOSNIFF = True
X_FRAME_OPTIONS = "DENY"
# A loopback site has no certificate; behind a proxy that ends TLS, OPENCLAW_WEB_HTTPS=1 turns all of this on.
SESSION_COOKIE_SECURE = CSRF_COOKIE_SECURE = SECURE_SSL_REDIRECT = HTTPS
SECURE_REDIRECT_EXEMPT = [r"^healthz$"]  # health checks come from this machine, not through the proxy
SECURE_HSTS_SECONDS = 31536000 if HTTPS else 0
SECURE_HSTS_INCLUDE_SUBDOMAINS = HTTPS
SECURE_HSTS_PRELOAD = env_switch("OPENCLAW_WEB_HSTS_PRELOAD") and HTTPS  # a name in the lists of browsers stays there
if HTTPS:
    SECURE_PROXY_SSL_HEADER = ("HTTP_X_FORWARDED_PROTO", "https")
    CSRF_TRUSTED_ORIGINS = [f"https://{host}" for host in ALLOWED_HOSTS if host != "*"]

STATIC_URL = "static/"
STATIC_ROOT = HOME_DIR / "static"
# Of ninja only these are needed: as an app, its 10 MB would be imported before any request to the API.
STATICFILES_DIRS = [asset_dir("static"), Path(find_spec("ninja").origin).parent / "static"]
STORAGES = {
    "default": {"BACKEND": "django.core.files.storage.FileSystemStorage"},
    "staticfiles": {"BACKEND": "whitenoise.storage.CompressedManifestStaticFilesStorage"},
}
if DEBUG:
    STORAGES["staticfiles"]["BACKEND"] = "django.contrib.staticfiles.storage.StaticFilesStorage"
WHITENOISE_USE_FINDERS = DEBUG
WHITENOISE_ALLOW_ALL_ORIGINS = False  # other sites do not need our files
WHITENOISE_SKIP_COMPRESS_EXTENSIONS = (*Compressor.SKIP_COMPRESS_EXTENSIONS, "map")  # 5 MB nobody asks for

USE_TZ = True
TIME_ZONE = "UTC"
LANGUAGE_CODE = "en"
# Each language has the name that its speakers use, in every language of a page.
LANGUAGES = [("en", "English"), ("zh-hans", "简体中文")]
LANGUAGE_COOKIE_NAME = "openclaw_web_language"
LOCALE_PATHS = [asset_dir("locale")]
USE_I18N = True
DATA_UPLOAD_MAX_MEMORY_SIZE = 5_000_000

LOGGING = {
    "version": 1,
    "disable_existing_loggers": False,
    "formatters": {
        "line": {
            "()": "openclaw_web.logs.LineFormatter",
            "format": "%(asctime)s %(levelname)s %(name)s: %(message)s",
        }
    },
    "handlers": {"stdout": {"class": "logging.StreamHandler", "stream": "ext://sys.stdout", "formatter": "line"}},
    # At INFO the first two log routine work, and the last two log every request with its headers.
    "loggers": {name: {"level": "WARNING"} for name in ("watchfiles", "axes", "httpx", "httpcore")},
    "root": {"handlers": ["stdout"], "level": LOG_LEVEL},
}
