"""Settings of the test run: its own home, two agents, quick passwords.

Static files are plain.
"""

import atexit
import os
import shutil
import tempfile
from pathlib import Path

os.environ["OPENCLAW_WEB_HOME"] = tempfile.mkdtemp(prefix="openclaw-web-tests-")
os.environ["OPENCLAW_STATE_DIR"] = str(Path(os.environ["OPENCLAW_WEB_HOME"]) / "no-openclaw-here")
os.environ.pop("OPENCLAW_WEB_DISABLED", None)
os.environ.pop("OPENCLAW_WEB_HTTPS", None)
os.environ.pop("OPENCLAW_WEB_LLM_URL", None)
os.environ.pop("OPENCLAW_WEB_LLM_KEY", None)
os.environ.pop("OPENCLAW_WEB_OPENCLAW", None)
os.environ["LC_ALL"] = "C.UTF-8"  # commands speak the language of the terminal

from .settings import *  # noqa: F403
from .settings import DATABASES, HOME_DIR, STATIC_ROOT, STORAGES, TEMPLATES
from .sqlite import connection_options

atexit.register(shutil.rmtree, HOME_DIR, ignore_errors=True)
DATABASES |= {
    f"agent_{name}": connection_options.build_database_settings(
        HOME_DIR / "agents" / name / "agent" / "openclaw-agent.sqlite"
    )
    for name in ("ada", "bob")
}
PASSWORD_HASHERS = ["django.contrib.auth.hashers.MD5PasswordHasher"]
STORAGES["staticfiles"]["BACKEND"] = "django.contrib.staticfiles.storage.StaticFilesStorage"
ALLOWED_HOSTS = ["*"]
TEMPLATES[0] |= {
    "BACKEND": "tests.openclaw_web.templates.strict_templates.Templates"
}  # every mistake in a template is an error
TEMPLATES[0]["OPTIONS"]["environment"] = "tests.openclaw_web.templates.strict_templates.environment"
del TEMPLATES[0]["OPTIONS"]["kept_in"]  # the test backend has its own folder
STATIC_ROOT.mkdir(exist_ok=True)  # nothing is collected in tests, and whitenoise warns of a missing folder
