"""Tests of policy files: what is read, and in which line something is wrong."""

from datetime import UTC, datetime, time, timedelta
from pathlib import Path

import pytest

from alerts.policies.policies import INHIBITION, Policy
from alerts.policies.policy_files import PolicyFileError, parse_policy, read_policy

GUIDE = Path(__file__).parent.parent / "docs" / "guides" / "alert-policy.md"
WHOLE = """\
version: 1
receivers:
  - name: oncall
    repeat: 4h
  - name: chat
routes:
  - match: {severity: page}
    receivers: [oncall]
    continue: true
  - match: {run: [orion-*, vega], kind: burn}
    receivers: [chat]
    repeat: 7d
quiet_hours:
  - {zone: Europe/Berlin, from: 22:00, to: 07:00, days: [mon], holds: [ticket, page]}
maintenance:
  - id: r12
    match: {rack: r12}
    starts: 2026-01-05T10:00:00+01:00
    ends: 2026-01-05T12:00:00Z
    who: ann
    why: cables
inhibition: []
severities:
  - {match: {run: dev-*}, severity: ticket, why: nobody waits for it}
data_age: {max_age: 15m}
tell_over: 90s
"""


def test_whole() -> None:
    """Every field of a policy is read as what it means."""
    policy = parse_policy(WHOLE, "p.yml")
    quiet, work = policy.quiet_hours[0], policy.maintenance[0]

    assert [one.repeat for one in policy.receivers] == [timedelta(hours=4), None]
    assert [one.goes_on for one in policy.routes] == [True, False]
    assert policy.routes[1].match.run == ("orion-*", "vega")
    assert (quiet.begins, quiet.ends, quiet.days) == (time(22), time(7), ("mon",))
    assert (work.starts, work.window().matchers) == (
        datetime(2026, 1, 5, 9, tzinfo=UTC),
        {"rack": "r12"},
    )
    assert (policy.inhibition, policy.tell_over) == ((), timedelta(seconds=90))


def test_least() -> None:
    """A policy that says nothing tells nobody, and knows what explains what."""
    assert parse_policy("version: 1", "p.yml") == Policy(version=1)
    assert Policy(version=1).inhibition == INHIBITION


@pytest.mark.parametrize(
    ("old", "new", "line", "message"),
    [
        pytest.param("version: 1", "version: 2", 1, "version", id="another version"),
        pytest.param(
            "    repeat: 4h", "    repat: 4h", 4, "check its spelling", id="a typing error"
        ),
        pytest.param("repeat: 4h", "repeat: 4", 4, "such as 30s", id="a length without a unit"),
        pytest.param("repeat: 4h", "repeat: 0s", 4, "above 0", id="no length"),
        pytest.param("- name: chat", "- name: oncall", 5, "stands twice", id="a name twice"),
        pytest.param("[chat]", "[chatt]", 11, "no receiver 'chatt'", id="a receiver that is not"),
        pytest.param("kind: burn", "kind: slo", 10, "wanted some of slow", id="no such kind"),
        pytest.param("    receivers: [chat]\n", "", 10, "add it", id="a route to nobody"),
        pytest.param(
            "continue: true", "continue: 1", 9, "valid boolean", id="a number that is no yes"
        ),
        pytest.param("    continue: true\n", "", 0, "", id="and one that is right"),
        pytest.param("22:00", "24:00", 14, "time of day", id="no time of day"),
        pytest.param("Europe/Berlin", "Berlin", 14, "IANA zone", id="no zone"),
        pytest.param("[mon]", "[monday]", 14, "'mon'", id="no day"),
        pytest.param("rack: r12", "cluster: a", 17, "'rack'", id="work on what is no place"),
        pytest.param("match: {rack: r12}", "match: {}", 17, "at least 1", id="work on everything"),
        pytest.param("10:00:00+01:00", "10:00:00", 18, "timezone", id="a time without a zone"),
        pytest.param("12:00:00Z", "08:00:00Z", 19, "after the start", id="an end before the start"),
        pytest.param("severity: ticket", "severity: page", 24, "'ticket' or 'none'", id="no page"),
        pytest.param("who: ann", "who: ann\n    who: bob", 21, "'who' twice", id="a key twice"),
        pytest.param("who: ann", "who: [ann", 21, "wanted YAML", id="no YAML"),
        pytest.param("who: ann", "<<: *x", 20, "wanted YAML", id="an anchor that is not"),
    ],
)
def test_faults(old: str, new: str, line: int, message: str) -> None:
    """What is wrong is told with its line and the way out, and what is right is not."""
    text = WHOLE.replace(old, new, 1)
    assert text != WHOLE
    if not line:
        assert parse_policy(text, "p.yml").version == 1
        return
    with pytest.raises(PolicyFileError) as told:
        parse_policy(text, "p.yml")

    assert f"p.yml:{line}: " in str(told.value)
    assert message in str(told.value)
    assert "docs/guides/alert-policy.md" in str(told.value)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        pytest.param("", "p.yml:1: the file: ", id="an empty file"),
        pytest.param("[]", "p.yml:1: the file: ", id="a list"),
        pytest.param("a: &x [1]\nb: *x", "an anchor used twice", id="an anchor"),
        pytest.param("? [a]\n: b", "no key at all", id="a list for a key"),
        pytest.param("a: \x00", "wanted YAML", id="a zero byte"),
        pytest.param("[" * 1200, "wanted YAML", id="a thousand brackets"),
        pytest.param(
            "version: 1\nreceivers: [{name: a}]\nroutes: [{receivers: [a]}, {receivers: [a]}]",
            "p.yml:3: routes.1: nothing comes here",
            id="a route behind one that takes all",
        ),
        pytest.param(
            "version: 1\nreceivers: [{name: a}]\n"
            "routes: [{match: {severity: ticket}, receivers: [a]}]",
            "p.yml:3: routes: no route takes a page",
            id="nobody to wake",
        ),
    ],
)
def test_odd_files(text: str, message: str) -> None:
    """A file that is no policy is refused without being run or expanded."""
    with pytest.raises(PolicyFileError) as told:
        parse_policy(text, "p.yml")

    assert message in str(told.value)


def test_unreadable(tmp_path: Path) -> None:
    """A file that is not there, or no text, is refused by its name."""
    path = tmp_path / "policy.yml"
    with pytest.raises(PolicyFileError, match=r"policy\.yml: wanted a policy file"):
        read_policy(path)
    path.write_bytes(b"\xff\xfe")
    with pytest.raises(PolicyFileError, match="wanted a policy file"):
        read_policy(path)


def test_guide() -> None:
    """The policy that the guide shows is one."""
    shown = GUIDE.read_text(encoding="utf-8").split("```yaml\n")[1].split("```")[0]

    assert len(parse_policy(shown, "guide").routes) == 3
