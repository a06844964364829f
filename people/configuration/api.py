"""Settings over the JSON API."""

from dataclasses import asdict

from django.http import Http404

from openclaw_web.endpoints.operations import Operations
from openclaw_web.pages.roles import needs

from . import file_import
from . import setting_values as configuration
from .schemas import SettingIn, SettingList, SettingOut, SettingsImported, SettingsIn

router = Operations("operations_people_api", tags=["people"])


@router.get("/operations/settings", SettingList, tags=["operations"])
@needs("admin")
def setting_list(request):
    """All settings, with defaults."""
    return {
        "items": [_setting_to_json(key, value) for key, value in configuration.get_many(*configuration.KEYS).items()]
    }


@router.post("/operations/settings/import", SettingsImported, 400, 409, tags=["operations"])
@needs("admin")
def settings_import(request, body: SettingsIn):
    """Import an object of settings, all or none; ignored names are listed with the reason."""
    imported = file_import.import_settings(body.settings, by=request.user.username, is_dry=body.dry_run)
    return {
        "items": [_setting_to_json(key, value) for key, value in imported.values.items()],
        "ignored": [asdict(ignored) for ignored in imported.ignored[: file_import.LISTED]],
        "ignored_count": len(imported.ignored),
        "dry_run": body.dry_run,
    }


@router.post("/operations/settings/{key}", SettingOut, 400, 404, 409, tags=["operations"])
@needs("admin")
def setting_save(request, key: str, body: SettingIn):
    """Change a setting."""
    if key not in configuration.KEYS:
        raise Http404
    configuration.put(key, body.value, by=request.user.username)
    return _setting_to_json(key, configuration.get(key))


def _setting_to_json(key, value):
    setting = configuration.KEYS[key]
    return configuration.setting_to_json(key, value) | {"shape": str(setting.shape), "help": str(setting.help)}
