"""Waits for data that many share are told once, and nobody is accused."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from detectors.quiet.shared_waits import SharedParams, with_shared_waits
from detectors.verdicts import Evidence, Subject, Verdict

START = datetime(2026, 1, 5, tzinfo=UTC)


def wait(host: str | None, rank: int | None = None, step: int | None = 150, **more: Any) -> Verdict:
    """A finding on a host, or on a rank, that waits for its data from a step on."""
    run = more.pop("run", "r")
    told: dict[str, Any] = {
        "kind": "slow",
        "level": "host" if rank is None else "rank",
        "subject": Subject(run=run, attempt=0, host=host, rank=rank),
        "confidence": "high",
        "onset": START,
        "onset_step": step,
        "slowdown": 1.9,
        "cause": "data",
        "evidence": (Evidence(source="steps", what="slow"),),
    }
    return Verdict(**(told | more))


def pace(**more: Any) -> Verdict:
    """A finding on the job's own pace."""
    job = replace(wait(None), kind="group_slow", level="job", cause=None, slowdown=1.7)
    return replace(job, **more)


HOSTS = [wait(f"n{at}", step=150 + at) for at in range(4)]


@pytest.mark.parametrize(
    ("verdicts", "levels"),
    [
        pytest.param(HOSTS, ["job"], id="hosts that began together share a store"),
        pytest.param([*HOSTS, pace()], ["job"], id="the job's own pace says the same"),
        pytest.param(
            [wait(f"n{rank // 2}", rank) for rank in range(8)],
            ["job"],
            id="so do ranks of several hosts",
        ),
        pytest.param([wait(None, rank) for rank in range(3)], ["job"], id="or of unknown hosts"),
        pytest.param(HOSTS[:2], ["host", "host"], id="two hosts speak for themselves"),
        pytest.param(
            [wait("n1", rank) for rank in range(4)], ["rank"] * 4, id="ranks of one host do"
        ),
        pytest.param(
            [wait(f"n{at}", step=100 * at) for at in range(4)],
            ["host"] * 4,
            id="hosts that began apart share nothing",
        ),
        pytest.param(
            [replace(one, cause="thermal") for one in HOSTS], ["host"] * 4, id="nor do other causes"
        ),
        pytest.param(
            [wait(f"n{at}", run=f"r{at}") for at in range(4)], ["host"] * 4, id="nor other runs"
        ),
        pytest.param(
            [wait(f"n{at}", step=None) for at in range(4)], ["job"], id="a clock will do for steps"
        ),
        pytest.param(
            [wait(f"n{at}", step=None, onset=None, onset_before_data=True) for at in range(4)],
            ["job"],
            id="all of them before the data began",
        ),
        pytest.param(
            [*HOSTS, pace(onset_step=900), pace(cause="storage")],
            ["job", "job", "job"],
            id="other findings on the job stay",
        ),
        pytest.param([], [], id="nothing"),
    ],
)
def test_levels(verdicts: list[Verdict], levels: list[str]) -> None:
    """Many that wait together are one finding on the job; all others stay as they are."""
    assert [one.level for one in with_shared_waits(verdicts, SharedParams())] == levels


def test_words() -> None:
    """The finding says how many wait, what the job lost, who suffers, and when it ended."""
    ends = [replace(one, cleared=START + timedelta(minutes=at)) for at, one in enumerate(HOSTS)]
    seen = [replace(one, detected=START + timedelta(seconds=60)) for one in ends]
    found = with_shared_waits([*seen, pace(detected=START + timedelta(seconds=40))], SharedParams())
    lasting = with_shared_waits([*ends[1:], HOSTS[0]], SharedParams())[0]

    assert len(found) == 1
    assert (found[0].kind, found[0].cause, found[0].slowdown) == ("group_slow", "data", 1.7)
    assert found[0].victims == ("n0", "n1", "n2", "n3")
    assert found[0].subject == Subject(run="r", attempt=0)
    assert (found[0].cleared, lasting.cleared) == (START + timedelta(minutes=3), None)
    assert found[0].detected == START + timedelta(seconds=40)
    assert len(found[0].evidence) == 5
    assert lasting.slowdown == 1.9


@settings(max_examples=10)
@given(order=st.permutations(range(5)))
def test_order_changes_nothing(order: list[int]) -> None:
    """The same findings in another order give the same one."""
    verdicts = [*HOSTS, pace()]

    assert with_shared_waits([verdicts[at] for at in order], SharedParams()) == with_shared_waits(
        verdicts, SharedParams()
    )


@pytest.mark.parametrize(("places", "count"), [(3, 1), (4, 1), (5, 4)])
def test_a_stricter_threshold_joins_no_more(places: int, count: int) -> None:
    """Asking for more hosts than wait leaves each by itself."""
    assert len(with_shared_waits(HOSTS, SharedParams(min_places=places))) == count


def test_refused() -> None:
    """Two are not many."""
    with pytest.raises(ValueError, match="min_places must be 3"):
        SharedParams(min_places=2)
