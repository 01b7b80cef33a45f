"""Tests of what the watch is made of: receivers, policy, database, what it says, what it shows."""

import io
import logging
from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from pydantic import TypeAdapter

from alerts.delivery.telling import Places
from alerts.service.live import RawLine, SourceState
from alerts.storing.databases import open_database, writing
from alerts.storing.incident_store import IncidentStore
from paceline.receiver_settings import ReceiverSettings, receiver_of
from paceline.setting_parts import SettingsError
from paceline.settings import ServiceSettings, Settings, load_settings
from paceline.watching.board import Board, Left
from paceline.watching.cursors import write_cursor
from paceline.watching.parts import objectives_of, sources_of
from paceline.watching.serving import address_of, app_of, listen
from paceline.watching.telling import LineFormatter, Teller, line_of
from paceline.watching.watch import VERSION
from paceline.watching.wiring import policy_of, wired

NOW = datetime(2026, 1, 5, 12, tzinfo=UTC)
SECRETS = {"KEY": "R" * 32, "URL": "https://hooks.slack.com/services/T/B/hush"}
RECEIVERS: TypeAdapter[ReceiverSettings] = TypeAdapter(ReceiverSettings)
LOGS = '[[logs]]\nname = "ranks"\npaths = ["live/*.jsonl"]\n'


def settings(folder: Path, text: str) -> Settings:
    """Settings with a source."""
    path = folder / "paceline.toml"
    path.write_text(f'state = "{folder / "state"}"\n{text}\n{LOGS}', encoding="utf-8")
    return load_settings(path)


@pytest.mark.parametrize(
    ("told", "expected"),
    [
        pytest.param(
            {"kind": "pagerduty", "routing_key": {"env": "KEY"}},
            "PagerDutyReceiver",
            id="PagerDuty",
        ),
        pytest.param(
            {"kind": "pagerduty", "routing_key": {"env": "KEY"}, "url": "http://127.0.0.1:1/"},
            "PagerDutyReceiver",
            id="PagerDuty elsewhere",
        ),
        pytest.param({"kind": "slack", "url": {"env": "URL"}}, "SlackReceiver", id="Slack"),
        pytest.param(
            {"kind": "webhook", "url": "http://127.0.0.1:1/", "token": {"env": "KEY"}},
            "WebhookReceiver",
            id="a webhook",
        ),
        pytest.param(
            {"kind": "alertmanager", "url": "http://127.0.0.1:9093"},
            "AlertmanagerReceiver",
            id="an Alertmanager",
        ),
        pytest.param(
            {"kind": "email", "host": "localhost", "sender": "a@b.c", "recipients": ["d@e.f"]},
            "MailReceiver",
            id="a mailbox",
        ),
    ],
)
def test_receivers(told: dict[str, Any], expected: str) -> None:
    """Each kind of receiver is made of its settings, and shows no secret."""
    made = receiver_of(RECEIVERS.validate_python({"name": "x", **told}), Places(), SECRETS)

    assert type(made).__name__ == expected
    assert not any(secret in repr(made) for secret in SECRETS.values())


@pytest.mark.parametrize(
    ("told", "expected"),
    [
        pytest.param(
            {"kind": "slack", "url": {"env": "GONE"}},
            "receiver 'x': the environment variable GONE is not set; export it",
            id="a secret that is not set",
        ),
        pytest.param(
            {"kind": "webhook", "url": "ftp://127.0.0.1"}, "receiver 'x': ", id="no address to call"
        ),
        pytest.param(
            {
                "kind": "email",
                "host": "mail.example",
                "sender": "a@b.c",
                "recipients": ["d@e.f"],
                "user": "u",
                "password": {"env": "KEY"},
                "encryption": "none",
            },
            "receiver 'x': ",
            id="a password in the open",
        ),
    ],
)
def test_no_receiver(told: dict[str, Any], expected: str) -> None:
    """A receiver that cannot be used is refused by its name, without its secrets."""
    with pytest.raises(SettingsError) as caught:
        receiver_of(RECEIVERS.validate_python({"name": "x", **told}), Places(), SECRETS)

    assert str(caught.value).startswith(expected)
    assert SECRETS["KEY"] not in str(caught.value)


HOOK = '[[receivers]]\nname = "hook"\nkind = "webhook"\nurl = "http://127.0.0.1:1/"\n'


def test_usual_policy(tmp_path: Path) -> None:
    """Without a policy every receiver is told of everything; without a receiver nobody is."""
    told = policy_of(settings(tmp_path, HOOK))

    assert [one.receivers for one in told.routes] == [("hook",)]
    assert policy_of(settings(tmp_path, "")).routes == ()


POLICY = """
version: 1
receivers: [{name: %s}]
routes: [{receivers: [%s]}]
"""


@pytest.mark.parametrize(
    ("policy", "expected"),
    [
        pytest.param(POLICY % ("hook", "hook"), None, id="a policy that fits"),
        pytest.param(
            POLICY % ("fax", "fax"),
            "policy {folder}/policy.yml names receivers that the settings do not have: fax; add "
            "[[receivers]]",
            id="a receiver that is nowhere",
        ),
        pytest.param("version: 2\n", "policy: {folder}/policy.yml:1: version", id="no policy"),
    ],
)
def test_policy(tmp_path: Path, policy: str, expected: str | None) -> None:
    """A policy's receivers are those of the settings."""
    (tmp_path / "policy.yml").write_text(policy, encoding="utf-8")
    told = settings(tmp_path, f'policy = "{tmp_path / "policy.yml"}"\n{HOOK}')
    if expected is None:
        assert [one.name for one in policy_of(told).receivers] == ["hook"]
        return
    with pytest.raises(SettingsError) as caught:
        policy_of(told)

    assert str(caught.value).startswith(expected.format(folder=tmp_path))
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        pytest.param(
            'database = "mysql://u:secret@h/d"',
            "database: wanted sqlite:///PATH or postgresql+pg8000://USER:PASSWORD@HOST/NAME, found "
            "a database of kind 'mysql'",
            id="another kind of database",
        ),
        pytest.param(
            'database = "postgresql+pg8000://u@127.0.0.1:9/d"\ndatabase_password = {env = "KEY"}',
            "database: wanted a database at postgresql+pg8000://u:***@127.0.0.1:9/d, found: ",
            id="a database that is not there",
        ),
        pytest.param(
            '[watch]\nobjectives = ["none.yaml"]', "watch.objectives: ", id="no such objective"
        ),
        pytest.param(
            '[[prometheus]]\nname = "p"\nurl = "http://h"\nmatch = {"a-b" = "c"}',
            "prometheus 'p': match: 'a-b' is no label name",
            id="no label",
        ),
        pytest.param(
            '[[logs]]\nname = "l"\npaths = ["x"]\ntime_zone = "Mars/Base"',
            "logs 'l': no time zone 'Mars/Base'",
            id="no zone",
        ),
    ],
)
def test_refused(tmp_path: Path, text: str, expected: str) -> None:
    """What cannot be used is refused before anything runs, in one line without secrets."""
    told = settings(tmp_path, text)
    with pytest.raises(SettingsError) as caught, wired(told, SECRETS, lambda: NOW):
        pytest.fail("it was wired")

    assert str(caught.value).startswith(expected)
    assert SECRETS["KEY"] not in str(caught.value)


def test_other_objectives() -> None:
    """An objective over what the watch does not make is refused, with the way out."""
    folder = Path(__file__).parent.parent / "slo" / "library"
    found = next(path for path in sorted(folder.rglob("*.y*ml")) if "inference" in path.name)
    told = Settings.model_validate(
        {
            "logs": [{"name": "a", "paths": ["x"]}],
            "watch": {"objectives": [str(found)]},
        }
    )
    with pytest.raises(SettingsError, match="give its rules to Prometheus"):
        objectives_of(told)


def test_token(tmp_path: Path) -> None:
    """A server's token is sent, and not shown; two kinds of sources are there, files first."""
    told = settings(
        tmp_path,
        '[[prometheus]]\nname = "p"\nurl = "http://h"\ntoken = {env = "KEY"}',
    )
    sources = sources_of(told, SECRETS)

    assert [one.name for one in sources] == ["ranks", "p"]
    assert sources[1].path_of("anything") is None
    for one in sources:
        one.close()


def test_state_of_another_version(tmp_path: Path) -> None:
    """A state that is torn, or of another version, is left: the sources are read anew."""
    told = settings(tmp_path, 'instance = "i"')
    resumed = list[bool]()
    torn = {"version": VERSION, "memory": {"pieces": [7], "snapshot": None}}
    for state in ({"version": -1}, torn):
        (tmp_path / "state").mkdir(exist_ok=True)
        engine = open_database(f"sqlite:///{tmp_path / 'state/incidents.db'}")
        with writing(engine) as connection:
            write_cursor(connection, "watch/i", state)
        engine.dispose()
        with wired(told, {}, lambda: NOW) as parts:
            resumed.append(parts.is_resumed)

    assert resumed == [False, False]


def test_service(tmp_path: Path) -> None:
    """The service is made with its tokens, and refuses a weak one; a port that is taken is said."""
    strong = '[service]\n[[service.tokens]]\nname = "a"\nsecret = {env = "KEY"}\nscopes = ["read"]'
    with listen(ServiceSettings(port=0)) as taken:
        address = address_of(taken)
        port = taken.getsockname()[1]
        with pytest.raises(SettingsError, match=rf"cannot listen on 127\.0\.0\.1 port {port}"):
            listen(ServiceSettings(port=port))
    with wired(settings(tmp_path, strong), SECRETS, lambda: NOW) as parts:
        app = app_of(parts.instance, parts.instance.settings, SECRETS, lambda: NOW)
        with pytest.raises(SettingsError, match=r"^service: the secret of token 'a'"):
            app_of(parts.instance, parts.instance.settings, {"KEY": "weak"}, lambda: NOW)

    assert (app.title, address) == ("Paceline", f"http://127.0.0.1:{port}")


@pytest.mark.parametrize(
    ("pairs", "expected"),
    [
        pytest.param({"a": 1, "b": 0.12345}, "a=1 b=0.123", id="numbers"),
        pytest.param({"a": "x y", "b": ""}, 'a="x y" b=""', id="what would be taken for two"),
        pytest.param({"a": "x\nat=1\x1b[0m"}, 'a="x\\nat=1\\u001b[0m"', id="no line is forged"),
    ],
)
def test_lines(pairs: Mapping[str, object], expected: str) -> None:
    """Pairs are one line, whatever they hold."""
    assert line_of(pairs) == expected


def test_log_of_an_error() -> None:
    """An error is logged in one line, with what and where."""
    stream = io.StringIO()
    handler = logging.StreamHandler(stream)
    handler.setFormatter(LineFormatter())
    log = logging.getLogger("test_log_of_an_error")
    log.propagate = False
    log.addHandler(handler)
    log.error("it failed", exc_info=ValueError("two\nlines"))
    line = stream.getvalue()

    assert line.count("\n") == 1
    assert 'level=error msg="it failed" error="ValueError: two\\nlines" where=' in line


class Terminal(io.StringIO):
    """A stream that is a terminal."""

    def isatty(self) -> bool:
        """Say that it is one."""
        return True


def test_teller(caplog: pytest.LogCaptureFixture) -> None:
    """A terminal shows the last tick, a pipe nothing; a failure is logged as it begins and ends."""
    caplog.set_level(logging.INFO, logger="paceline")
    terminal, pipe = Teller(stream=Terminal()), Teller(stream=io.StringIO())
    for teller in (terminal, pipe):
        teller.tick(NOW, {"rows": 3})
        teller.done()
    for problems in ({"p": ["refused"]}, {"p": ["refused"]}, {}):
        pipe.problems(problems)
    shown = [
        one.stream.getvalue() for one in (terminal, pipe) if isinstance(one.stream, io.StringIO)
    ]

    assert shown == ["\r\x1b[2Ktick=12:00:00 rows=3\n", ""]
    assert [one.message for one in caplog.records] == ["source fails", "source works again"]


def board(path: Path | None) -> Board:
    """A board with one source, and perhaps one file."""
    unasked = [SourceState(name="s", age_seconds=None, state="unknown")]
    return Board(
        unasked=unasked,
        path_of=lambda name: path if name == "rank-0.log" else None,
        kept_id={"alias": "kept"}.get,  # type: ignore[arg-type]  # of these two ids alone
    )


def test_board(tmp_path: Path) -> None:
    """Before the first tick all sources are unknown; then the last tick's answers are told."""
    one = board(None)
    before = ([each.state for each in one.sources()], one.nodes(), one.slo_state(), one.metrics())
    first = one.last_tick()
    one.leave(Left(now=NOW, sources=[], nodes=[], slo=[], metrics=b"m"))
    one.hang({"kept": {"steps": "<svg/>"}})

    assert (before, first) == ((["unknown"], (), (), b""), None)
    assert (one.sources(), one.metrics(), one.last_tick()) == ([], b"m", NOW)
    assert (one.plots("kept"), one.plots("alias")) == ({"steps": "<svg/>"}, {"steps": "<svg/>"})
    assert tmp_path.exists()


def test_raw_lines(tmp_path: Path) -> None:
    """The lines around a place are those of a file that is followed, and of no other."""
    path = tmp_path / "rank-0.log"
    path.write_bytes(b"".join(b"line %d\r\n" % number for number in range(1, 20)))
    one, gone = board(path), board(tmp_path / "gone")
    lines = one.raw_lines("rank-0.log:8")

    assert [line.number for line in lines] == list(range(3, 14))
    assert RawLine(number=8, text="line 8", is_meant=True) in lines
    for source in ("rank-0.log", "rank-0.log:x", "/etc/passwd:1", "steps"):
        assert one.raw_lines(source) == ()
    assert gone.raw_lines("rank-0.log:1") == []


def test_store_is_silent(tmp_path: Path) -> None:
    """A store of the settings tells nobody where nobody is named."""
    with wired(settings(tmp_path, ""), {}, lambda: NOW) as parts:
        assert isinstance(parts.instance.store, IncidentStore)
        assert set(parts.background) == set()
    with wired(settings(tmp_path, f"{HOOK}[service]\nport = 0"), {}, lambda: NOW) as parts:
        assert set(parts.background) == {"couriers", "inbox"}
