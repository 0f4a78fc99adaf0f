import re
import tomllib
from dataclasses import fields
from pathlib import Path

import platformdirs
import pytest

from agent_cli.config import settings_file
from agent_cli.config.values import Config
from agent_cli.errors import ConfigError
from tests import generated_docs
from tests.tables import for_each

RULES = 'must be "allow", "ask" or "deny" for each tool'


@pytest.fixture
def file(tmp_path):
    return tmp_path / "config.toml"


def loaded(file, text="", environ=(), **flags):
    file.write_text(text, encoding="utf-8")
    return settings_file.load(file, dict(environ), flags)


def test_without_a_file_everything_is_the_default(file):
    got = settings_file.load(file, {})
    assert got == settings_file.Loaded(Config(), {each.name: "default" for each in fields(Config)}, file)


def test_a_flag_beats_the_environment_beats_the_file_beats_the_default(file):
    text = 'model = "from file"\nhost = "from file"\nthink = "on"\n'
    environ = {"AGENT_MODEL": "from environment", "AGENT_HOST": "from environment"}
    got = loaded(file, text, environ, model="from flag", think=None)
    values = [(got.origins[key], getattr(got.config, key)) for key in ("model", "host", "think", "num_ctx")]
    assert values == [
        ("flag", "from flag"),
        ("environment AGENT_HOST", "from environment"),
        (f"{file}:3", "on"),
        ("default", 8192),
    ]


def test_the_servers_own_variable_counts_where_nothing_of_ours_is_said(file):
    ollama = {"OLLAMA_HOST": "there:1"}
    assert loaded(file, "", ollama).config.host == "there:1"
    assert loaded(file, "", ollama).origins["host"] == "environment OLLAMA_HOST"
    assert loaded(file, 'host = "here:1"', ollama).config.host == "here:1"
    assert loaded(file, "", {**ollama, "AGENT_HOST": "mine:1"}).config.host == "mine:1"


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ('\nmodle = "x"', ", line 2: there is no setting 'modle'; did you mean model?"),
        ("\n\nzzz = 1", ", line 3: there is no setting 'zzz'; `agent config show` lists them all"),
        ("model = 7", ", line 1: model = 7 must be a single text in quotes"),
        ('model = " "', ', line 1: model = " " must not be empty'),
        ('model = "m"\nnum_ctx = "many"', ', line 2: num_ctx = "many" must be a whole number'),
        ("num_ctx = 8192.5", ", line 1: num_ctx = 8192.5 must be a whole number"),
        ("num_ctx = true", ", line 1: num_ctx = true must be a whole number"),
        ("num_ctx = 12", ", line 1: num_ctx = 12 must be at least 1024"),
        ("num_ctx = 100000000", ", line 1: num_ctx = 100000000 must be at most 10000000"),
        ('patience = "long"', ', line 1: patience = "long" must be a number'),
        ("patience = -1", ", line 1: patience = -1.0 must be at least 0"),
        ("patience = nan", ", line 1: patience = nan must be at least 0"),
        ("idle_seconds = inf", ", line 1: idle_seconds = inf must be at most 1000000000"),
        ('think = "maybe"', ', line 1: think = "maybe" must be one of auto, on, off, low, medium, high'),
        ("think = [1]", ", line 1: think = [1] must be one of auto, on, off, low, medium, high"),
        ("background_jobs = 1", ", line 1: background_jobs = 1 must be true or false"),
        ("options = 1", ", line 1: options = 1 must be a table"),
        ('# mine\n[rules]\nnow = "no"', f', line 2: rules = {{ now = "no" }} {RULES}'),
        ("[rules]\nnow = [1]", f", line 1: rules = {{ now = [1] }} {RULES}"),
        (
            '[retention]\nday = "30x"',
            ', line 1: retention = { day = "30x" } must say "keep" of each grain, or how long as in "48h", "30d", '
            '"6w", "6mo", "4q" or "2y"',
        ),
        ("[prices]\nm = [1]", ", line 1: prices = { m = [1] } must be pairs of prices, as in [0.15, 0.60]"),
        ("[prices]\nm = [-1, 2]", ", line 1: prices = { m = [-1, 2] } must be pairs of prices, as in [0.15, 0.60]"),
        ('model = "m"\nmodel = "n"', ", line 2 is not valid TOML: "),
        ("model = ", ", line 1 is not valid TOML: "),
    ],
)
def test_a_mistake_names_file_line_and_key(file, text, said):
    with pytest.raises(ConfigError) as told:
        loaded(file, text)
    assert str(told.value).startswith(f"{file}{said}")


@pytest.mark.parametrize(
    ("name", "told", "value"),
    [
        ("num_ctx", "4096", 4096),
        ("num_ctx", "16k", 16384),
        ("num_ctx", "1 M", 1024**2),
        ("patience", "2.5", 2.5),
        ("patience", "3", 3.0),
        ("background_jobs", "no", False),
        ("background_jobs", "1", True),
        ("background_jobs", "True", True),
        ("think", "high", "high"),
        ("model", "7", "7"),
        ("options", "{ temperature = 0.5, stop = ['x'] }", {"temperature": 0.5, "stop": ["x"]}),
        ("rules", '{ jot = "deny" }', {"jot": "deny"}),
        ("prices", "{ m = [1, 2.5] }", {"m": [1, 2.5]}),
    ],
)
def test_a_variable_is_read_as_what_the_setting_is(file, name, told, value):
    got = loaded(file, "", {f"AGENT_{name.upper()}": told})
    assert (getattr(got.config, name), got.origins[name]) == (value, f"environment AGENT_{name.upper()}")


@pytest.mark.parametrize(
    ("name", "told", "said"),
    [
        ("NUM_CTX", "many", 'num_ctx = "many" must be a whole number'),
        ("NUM_CTX", "16x", 'num_ctx = "16x" must be a whole number'),
        ("NUM_CTX", "4096.5", 'num_ctx = "4096.5" must be a whole number'),
        ("BACKGROUND_JOBS", "perhaps", 'background_jobs = "perhaps" must be true or false'),
        ("THINK", "hard", 'think = "hard" must be one of auto, on, off, low, medium, high'),
        ("OPTIONS", "temperature=1", 'options = "temperature=1" must be a table'),
    ],
)
def test_a_mistake_in_the_environment_names_the_variable(file, name, told, said):
    with pytest.raises(ConfigError, match=re.escape(f"AGENT_{name}: {said}")):
        loaded(file, "", {f"AGENT_{name}": told})


def test_an_empty_variable_says_nothing(file):
    assert loaded(file, "", {"AGENT_MODEL": "", "OLLAMA_HOST": ""}).config == Config()


def test_a_mistake_in_a_flag_names_the_flag(file):
    with pytest.raises(ConfigError, match="--num_ctx: num_ctx = 3 must be at least 1024"):
        loaded(file, num_ctx=3)


def test_the_example_names_every_setting_with_its_default(file):
    text = generated_docs.example_settings()
    told = "\n".join(line.removeprefix("# ") for line in text.splitlines() if re.match(r"# (\w+ = |\[)", line))
    assert tomllib.loads(text) == {}
    assert list(tomllib.loads(told)) == [
        *(each.name for each in fields(Config) if not isinstance(getattr(Config(), each.name), dict)),
        *(each.name for each in fields(Config) if isinstance(getattr(Config(), each.name), dict)),
    ]
    assert loaded(file, told).config == Config()


def test_where_file_and_database_are(tmp_path):
    home = {"XDG_CONFIG_HOME": "/c", "XDG_DATA_HOME": "/d"}
    assert settings_file.default_file(home) == Path("/c/agent-cli/config.toml")
    assert settings_file.default_file({**home, "AGENT_CONFIG": "~/x.toml"}) == Path.home() / "x.toml"
    assert settings_file.database(Config(), home) == Path("/d/agent-cli/memory.db")
    assert settings_file.database(Config(db="~/y.db"), home) == Path.home() / "y.db"
    assert settings_file.database(Config(db="y.db"), home) == Path.cwd() / "y.db"


def test_without_variables_they_are_where_the_platform_has_them(monkeypatch):
    for what in ("CONFIG", "DATA", "STATE"):
        monkeypatch.delenv(f"XDG_{what}_HOME", raising=False)
    assert settings_file.default_file({}) == platformdirs.user_config_path("agent-cli", appauthor=False) / "config.toml"
    assert (
        settings_file.database(Config(), {}) == platformdirs.user_data_path("agent-cli", appauthor=False) / "memory.db"
    )
    assert settings_file.key_folder({}) == platformdirs.user_state_path("agent-cli", appauthor=False) / "keys"


TABLE = {"week": "6w", "a b": [1.5, True], "in": {"x": ""}}


@for_each("value", [True, 0.25, 8192, 'a "quoted" \\ path\n', "naïve 昨日", ["a", 1], {}, TABLE])
def test_value_is_told_as_the_file_would_have_it(value):
    assert tomllib.loads(f"x = {settings_file.toml_line(value)}") == {"x": value}
