"""Recorded scrapes are written in the exposition format's own grammar."""

from pathlib import Path

import numpy as np
import pytest

from paceline.simulation.exposition import (
    Family,
    decimal_text,
    go_text,
    label_text,
    write_scrapes,
)


@pytest.mark.parametrize(
    ("value", "text"),
    [
        pytest.param(0, "0", id="nought is one digit"),
        pytest.param(65_535, "65535", id="a narrow counter stands plain"),
        pytest.param(999_999, "999999", id="six digits stand plain"),
        pytest.param(1_000_000, "1e+06", id="a round million has no point"),
        pytest.param(1_234_500, "1.2345e+06", id="noughts at the end go"),
        pytest.param(50_000_000_000, "5e+10", id="a port's rate"),
        pytest.param(81_230_041_856_000, "8.1230041856e+13", id="a byte counter"),
    ],
)
def test_go_text(value: int, text: str) -> None:
    """Whole numbers read as Go prints floats: an exponent of two digits from a million on."""
    assert go_text([value]).to_list() == [text]


@pytest.mark.parametrize(
    ("value", "decimals", "text"),
    [
        pytest.param(1980.0, 0, "1980", id="no digits, no point"),
        pytest.param(0.04, 6, "0.040000", id="noughts are kept"),
        pytest.param(612.125, 6, "612.125000", id="watts"),
        pytest.param(0.9999999, 6, "1.000000", id="rounded up to the next whole"),
    ],
)
def test_decimal_text(value: float, decimals: int, text: str) -> None:
    """Numbers have exactly the digits that were asked for."""
    assert decimal_text([value], decimals).to_list() == [text]


def test_pages_follow_one_another(tmp_path: Path) -> None:
    """A lost scrape leaves no line, and only the first page declares its families."""
    path = tmp_path / "node.prom"
    families = [
        Family(
            name="up",
            kind="gauge",
            help="Up.",
            labels=[label_text(gpu="0"), label_text(gpu="1")],
            values=np.array([[1, 2], [3, 4], [5, 6]]),
        ),
        Family(
            name="share",
            kind="gauge",
            help="Share.",
            labels=[label_text(gpu="0")],
            values=np.array([[0.5], [0.25], [0.125]]),
            decimals=3,
        ),
    ]

    write_scrapes(path, families, np.array([1000, 2000, 3000]), np.array([True, False, True]))

    assert path.read_text(encoding="utf-8").splitlines() == [
        "# HELP up Up.",
        "# TYPE up gauge",
        'up{gpu="0"} 1 1000',
        'up{gpu="1"} 2 1000',
        "# HELP share Share.",
        "# TYPE share gauge",
        'share{gpu="0"} 0.500 1000',
        'up{gpu="0"} 5 3000',
        'up{gpu="1"} 6 3000',
        'share{gpu="0"} 0.125 3000',
    ]
