"""Tokens, logins and settings: known by hashes, signed, and never said aloud."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from alerts.service.sessions import (
    SESSION_SECONDS,
    form_token,
    is_form_token,
    new_session,
    open_session,
    seal_session,
)
from alerts.service.settings import ServiceSettings, ServiceSettingsError
from alerts.service.tokens import Scope, TokenError, find_token, token_of

NOW = datetime(2026, 1, 5, tzinfo=UTC)
SECRET = "anna-token-0123456789"  # noqa: S105 - a secret of this test alone
KEY = b"k" * 32
ANNA = token_of("anna", SECRET, [Scope.READ])


def test_find_token() -> None:
    """Only the secret itself finds its token."""
    bert = token_of("bert", "bert-token-0123456789", [Scope.ACT])

    assert find_token(SECRET, [bert, ANNA]) == ANNA
    assert [find_token(wrong, [bert, ANNA]) for wrong in ("", SECRET[:-1], f"{SECRET}0")] == [
        None,
        None,
        None,
    ]


def test_secrets_are_not_said() -> None:
    """Neither a token nor settings show a secret or its hash when they are printed."""
    told = repr(ServiceSettings(tokens=[ANNA], session_key=KEY))

    assert [
        word for word in (SECRET, ANNA.digest.hex(), repr(ANNA.digest), repr(KEY)) if word in told
    ] == []


@pytest.mark.parametrize(
    ("name", "secret", "scopes", "message"),
    [
        pytest.param("", SECRET, [Scope.READ], "a token's name is", id="no name"),
        pytest.param("a b", SECRET, [Scope.READ], "a token's name is", id="a blank in the name"),
        pytest.param("anna", "short", [Scope.READ], "the secret of token", id="a short secret"),
        pytest.param("anna", "ü" * 20, [Scope.READ], "the secret of token", id="no ASCII"),
        pytest.param("anna", SECRET, [], "allows nothing", id="no scope"),
    ],
)
def test_refused_tokens(name: str, secret: str, scopes: list[Scope], message: str) -> None:
    """A token that would not do is refused, without its secret in the message."""
    with pytest.raises(TokenError, match=message) as refused:
        token_of(name, secret, scopes)

    assert not secret or secret not in str(refused.value)


def test_session() -> None:
    """A login is opened by its own key until it ends, and by nothing else."""
    session = new_session("anna", NOW)
    cookie = seal_session(session, KEY)
    last = NOW + timedelta(seconds=SESSION_SECONDS - 1)

    assert open_session(cookie, KEY, last) == session
    assert open_session(cookie, KEY, last + timedelta(seconds=1)) is None
    assert open_session(cookie, b"x" * 32, NOW) is None
    assert open_session(cookie.replace("anna", "bert"), KEY, NOW) is None


@given(st.text())
def test_forged_sessions(cookie: str) -> None:
    """No text that we did not sign is a login."""
    assert open_session(cookie, KEY, NOW) is None


@given(st.text())
def test_forms(told: str) -> None:
    """A form is taken with the token of its own login alone."""
    session = new_session("anna", NOW)
    other = replace(session, name="bert")

    assert is_form_token(form_token(session, KEY), session, KEY)
    assert not is_form_token(form_token(other, KEY), session, KEY)
    assert not is_form_token(told, session, KEY)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        pytest.param({"tokens": [ANNA, ANNA]}, "a name of its own", id="two tokens of one name"),
        pytest.param({"session_key": b"short"}, "needs 32 bytes", id="a short key"),
        pytest.param({"runbook_base_url": "javascript:0"}, "must begin with", id="no web address"),
    ],
)
def test_refused_settings(settings: dict[str, object], message: str) -> None:
    """Settings that cannot be meant are refused."""
    with pytest.raises(ServiceSettingsError, match=message):
        ServiceSettings(**settings)
