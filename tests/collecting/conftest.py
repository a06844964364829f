import pytest

from people.configuration import setting_values as configuration
from tests.collecting.plugin_log import GROUP, T0, PluginLog
from tests.homes import Home, assistant, user


@pytest.fixture
def place(tmp_path, real_files):
    """A home with a session of two turns, and a plugin log that has just begun."""
    home = Home(tmp_path / "openclaw")
    talk = home.transcript(user("I like tea"), assistant("Noted"), user("What time is it?"), assistant("Late"))
    home.index({GROUP: {"sessionId": talk.session, "updatedAt": T0}})
    (home.root / "workspace").mkdir()
    configuration.put("reflection.logFolder", str(tmp_path / "logs"))
    return home, talk, PluginLog(tmp_path / "logs").start(T0 - 5_000)
