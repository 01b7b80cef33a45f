"""Iteration lines read as columns of bytes."""

from datetime import UTC, datetime, timedelta

import polars as pl
from hypothesis import given
from hypothesis import strategies as st

from collectors.training.megatron_fields import NUMBERS, loose_fields, with_numbers
from collectors.training.megatron_forms import read_forms
from collectors.training.megatron_layouts import read_layouts
from collectors.training.megatron_records import whole_records

START = datetime(2031, 3, 29, 23, 59, 58, tzinfo=UTC)

COUNTS = "number of skipped iterations:   0 | number of nan iterations:   0 |"


def log(*texts: str) -> pl.DataFrame:
    """Lines of a log."""
    return pl.DataFrame(
        {"line": range(len(texts)), "text": texts}, schema={"line": pl.Int64, "text": pl.String}
    )


def numbers_of(records: pl.DataFrame) -> pl.DataFrame:
    """The numbers of records; null where none was read."""
    kinds = [("line", pl.Int64()), ("step", pl.Int64()), ("own_time", pl.Datetime("us", "UTC"))]
    none = pl.Schema([*kinds, *((name, pl.Float64()) for name in NUMBERS)]).to_frame()
    return pl.concat([none, records], how="diagonal").select(none.columns)


def searched(lines: pl.DataFrame, time_zone: str) -> pl.DataFrame:
    """The numbers of whole records, field by field."""
    known, odd = read_layouts(lines.with_columns(record="line"))
    parts = [known] if odd.is_empty() else [known, loose_fields(odd)]
    told = pl.concat(parts, how="diagonal").sort("line")
    return numbers_of(with_numbers(told, time_zone))


STAMPS = st.sampled_from(["", " [{:%Y-%m-%d %H:%M:%S}]", " [{:%Y-%m-%d %H:%M:%S.%f}]"])

VALUES = st.sampled_from(["{:.1f}", "{:.6E}", "{:.3f}", "{:12.0f}", "{:.16f}", "{:.2e}", "nan"])

NAMES = st.sampled_from(
    ["lm loss", "sop loss", "loss scale", "elapsed time per iteration (ms)", "grad norm", "rate"]
)

FORMS = st.tuples(STAMPS, st.lists(st.tuples(NAMES, VALUES), max_size=4))

CHANGES = st.lists(
    st.tuples(
        st.integers(0, 7), st.integers(0, 200), st.sampled_from([*" |:0159.,E+-n\té", "", "a: 1 |"])
    ),
    max_size=3,
)


def printed(form: tuple[str, list[tuple[str, str]]], at: int, value: float) -> str:
    """A line of a form."""
    stamp, fields = form
    told = " | ".join(f"{name}: {shape.format(value)}" for name, shape in fields)
    time = stamp.format(START + timedelta(seconds=1.75 * at))
    return f"{time} iteration {at:8d}/    9000 | {told} | {COUNTS}"


@given(
    FORMS,
    st.lists(st.tuples(st.integers(0, 12_000), st.floats(0, 1e7)), min_size=1, max_size=8),
    CHANGES,
    st.sampled_from(["UTC", "Europe/Berlin"]),
)
def test_forms_say_what_patterns_say(
    form: tuple[str, list[tuple[str, str]]],
    rows: list[tuple[int, float]],
    changes: list[tuple[int, int, str]],
    time_zone: str,
) -> None:
    """A line that has a form is a record with the numbers that a search of its fields gives."""
    texts = [printed(form, at, value) for at, value in rows]
    for row, place, characters in changes:
        text = texts[row % len(texts)]
        at = place % len(text)
        texts[row % len(texts)] = text[:at] + characters + text[at + 1 :]
    lines = log(*texts)
    formed, fits = read_forms(lines, time_zone, min_lines=1)

    assert whole_records(lines["text"]).filter(fits).all()
    assert numbers_of(formed).equals(searched(lines.filter(fits), time_zone), null_equal=True)


def test_lines_of_a_form_are_read_at_once() -> None:
    """Lines that differ in their numbers have a form; those with other words have none."""
    lines = [
        printed((" [{:%Y-%m-%d %H:%M:%S}]", [("lm loss", "{:.2f}")]), at, at / 4) for at in range(9)
    ]
    other = lines[4].replace("lm loss", "lm boss")
    formed, fits = read_forms(log(*lines[:4], other, *lines[5:]), "UTC", min_lines=2)

    assert fits.to_list() == [True] * 4 + [False] + [True] * 4
    assert formed["main_loss"].to_list() == [at / 4 for at in range(9) if at != 4]


def test_few_lines_are_not_learned_from() -> None:
    """Fewer lines than `min_lines` of one length are left to others."""
    formed, fits = read_forms(log(printed(("", []), 1, 0.0)), "UTC", min_lines=2)

    assert (formed.height, fits.to_list()) == (0, [False])
