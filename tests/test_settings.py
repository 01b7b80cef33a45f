"""Tests of the settings: what is refused, in one line; and that no secret is ever shown."""

import re
from pathlib import Path

import pytest

from paceline.setting_parts import Secret, SettingsError, secret_of
from paceline.settings import load_settings, settings_tables

GUIDE = Path(__file__).parent.parent / "docs" / "guides" / "run-the-service.md"
LOGS = '[[logs]]\nname = "ranks"\npaths = ["logs/*.jsonl"]\n'


def fault(folder: Path, text: str, name: str = "paceline.toml") -> str:
    """What is said of settings that cannot be used."""
    path = folder / name
    path.write_text(text, encoding="utf-8")
    with pytest.raises(SettingsError) as caught:
        load_settings(path)
    return str(caught.value).replace(str(folder) + "/", "")


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        pytest.param(
            "cluster = 'a'\n",
            "paceline.toml: settings: nothing to watch: give [[logs]] or [[prometheus]]",
            id="nothing to watch",
        ),
        pytest.param(
            f"clutser = 'a'\n{LOGS}",
            "paceline.toml: clutser: no such setting; see docs/guides/run-the-service.md",
            id="a word that is mistyped",
        ),
        pytest.param(
            f"{LOGS}[watch]\ntick = '15'\n",
            "paceline.toml: watch.tick: '15' is no duration; give one such as 30s, 5m, 12h or 7d",
            id="a span without a unit",
        ),
        pytest.param(
            f"{LOGS}[watch]\ntick = 15\n",
            "paceline.toml: watch.tick: Input should be a valid timedelta",
            id="a span that is a number",
        ),
        pytest.param(
            f"{LOGS}[watch]\ntick = '15s'\nwindow = '30s'\n",
            "paceline.toml: watch: window must be at least four ticks",
            id="a window of two ticks",
        ),
        pytest.param(
            LOGS + LOGS,
            "paceline.toml: settings: every source needs a name of its own, found ranks, ranks",
            id="two sources of one name",
        ),
        pytest.param(
            f"{LOGS}[service]\nhost = '0.0.0.0'\n",
            "paceline.toml: service: host 0.0.0.0 is not loopback: give [[service.tokens]]",
            id="open to all without a token",
        ),
        pytest.param(
            f"{LOGS}[[prometheus]]\nname = 'm'\nurl = 'localhost:9090'\n",
            "paceline.toml: prometheus.0.url: String should match pattern '^https?://'",
            id="an address without a scheme",
        ),
        pytest.param(
            f"{LOGS}[[receivers]]\nname = 'x'\nkind = 'pagerduty'\nrouting_key = 'R0UT1NGKEY'\n",
            "paceline.toml: receivers.0.pagerduty.routing_key: Input should be a valid dictionary "
            "or instance of Secret",
            id="a secret in the file, which is not repeated",
        ),
        pytest.param(
            f"{LOGS}[[receivers]]\nname = 'x'\nkind = 'pagerduty'\nrouting_key = {{}}\n",
            "paceline.toml: receivers.0.pagerduty.routing_key: give either env or file, such as "
            "{env = 'PACELINE_TOKEN'}",
            id="a secret that is nowhere",
        ),
        pytest.param(
            "[[logs]",
            "paceline.toml is no TOML: Expected ']]' at the end of an array declaration "
            "(at line 1, column 7)",
            id="no TOML",
        ),
    ],
)
def test_refused(tmp_path: Path, text: str, expected: str) -> None:
    """Settings that cannot be used are refused in one line that says the way out."""
    assert fault(tmp_path, text) == expected


def test_no_file(tmp_path: Path) -> None:
    """A file that is not there is one line."""
    with pytest.raises(SettingsError, match=r"^cannot read .*: No such file or directory; give"):
        load_settings(tmp_path / "none.toml")


def test_yaml(tmp_path: Path) -> None:
    """YAML says the same as TOML."""
    toml, other = tmp_path / "a.toml", tmp_path / "a.yml"
    toml.write_text(LOGS, encoding="utf-8")
    other.write_text("logs: [{name: ranks, paths: ['logs/*.jsonl']}]\n", encoding="utf-8")

    assert load_settings(other) == load_settings(toml)


@pytest.mark.parametrize(
    ("secret", "expected"),
    [
        pytest.param({"env": "TOKEN"}, "hush-hush", id="of the environment"),
        pytest.param({"file": "token"}, "from a file", id="of a file, without its line end"),
    ],
)
def test_secret(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, secret: dict[str, str], expected: str
) -> None:
    """A secret is taken from where it is, and shown nowhere."""
    monkeypatch.chdir(tmp_path)
    Path("token").write_text("from a file\n", encoding="utf-8")
    found = secret_of(Secret(**secret), {"TOKEN": "hush-hush"})

    assert (found.get_secret_value(), expected in repr(found)) == (expected, False)


@pytest.mark.parametrize(
    ("secret", "expected"),
    [
        pytest.param({"env": "GONE"}, "the environment variable GONE is not set", id="not set"),
        pytest.param(
            {"file": "gone"}, "cannot read the secret in gone: FileNotFound", id="no file"
        ),
        pytest.param({"file": "empty"}, "the file empty is empty", id="an empty file"),
    ],
)
def test_no_secret(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, secret: dict[str, str], expected: str
) -> None:
    """A secret that is not there is refused by where it should be."""
    monkeypatch.chdir(tmp_path)
    Path("empty").touch()

    with pytest.raises(SettingsError, match=f"^{expected}"):
        secret_of(Secret(**secret), {})


def test_guide() -> None:
    """The guide's tables are the settings: every name, default and meaning, and no other."""
    text = GUIDE.read_text(encoding="utf-8")
    tables = {
        title: re.findall(r"^\| `([^`]+)` \| (.*?) \| (.*) \|$", part, re.MULTILINE)
        for title, part in re.findall(
            r"^#### (.+)\n((?:(?!####|### |## ).*\n)+)", text, re.MULTILINE
        )
    }
    expected = {
        title.replace("`", "") or "At the top": [
            (name, f"`{default}`" if default else "", meaning) for name, default, meaning in rows
        ]
        for title, rows in settings_tables().items()
    }

    assert {title.replace("`", ""): rows for title, rows in tables.items()} == expected
