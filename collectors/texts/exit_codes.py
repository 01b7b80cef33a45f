"""Exit codes from the words that launchers and shells print for a signal.

Source: `strsignal` of the C library, as srun and shells print it; signal(7) for the numbers.
"""

from typing import Final

import polars as pl

_SIGNALS: Final = {
    "Hangup": "-1",
    "Interrupt": "-2",
    "Quit": "-3",
    "Illegal instruction": "-4",
    "Aborted": "-6",
    "Bus error": "-7",
    "Floating point exception": "-8",
    "Killed": "-9",
    "User defined signal 1": "-10",
    "Segmentation fault": "-11",
    "User defined signal 2": "-12",
    "Broken pipe": "-13",
    "Terminated": "-15",
}
"""Exit code of a signal by the words for it."""


def signal_codes(events: pl.DataFrame) -> pl.DataFrame:
    """Return events with the codes of process_exit as numbers, minus that of a signal.

    Args:
        events: `kind` and `code`; a word that is no signal's stays.
    """
    code = pl.col("code").str.replace(r" \(core dumped\)", "").str.strip_chars()
    is_exit = pl.col("kind") == "process_exit"
    return events.with_columns(code=pl.when(is_exit).then(code.replace(_SIGNALS)).otherwise("code"))
