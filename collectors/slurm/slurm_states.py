"""Read the states of Slurm's jobs and nodes: words, codes, cut words, suffixes and flags.

Source: formats of GPU and host streams, sections 7.2 and 7.4; Slurm's
`src/common/slurm_protocol_defs.c` (words and their short forms) and `slurm/slurm.h` (flags beside
the base state).
"""

from collections import Counter
from typing import Final

import polars as pl

BASE_STATES: Final = {
    "PENDING": "PD",
    "RUNNING": "R",
    "SUSPENDED": "S",
    "COMPLETED": "CD",
    "CANCELLED": "CA",
    "FAILED": "F",
    "TIMEOUT": "TO",
    "NODE_FAIL": "NF",
    "PREEMPTED": "PR",
    "BOOT_FAIL": "BF",
    "DEADLINE": "DL",
    "OUT_OF_MEMORY": "OOM",
}
"""What a job is, and its code."""

FLAG_STATES: Final = {
    "COMPLETING": "CG",
    "STAGE_OUT": "SO",
    "CONFIGURING": "CF",
    "EXPEDITING": "EX",
    "RESIZING": "RS",
    "REQUEUED": "RQ",
    "REQUEUE_FED": "RF",
    "REQUEUE_HOLD": "RH",
    "SPECIAL_EXIT": "SE",
    "STOPPED": "ST",
    "REVOKED": "RV",
    "RESV_DEL_HOLD": "RD",
    "SIGNALING": "SI",
    "LAUNCH_FAILED": "LAUNCH_FAILED",
    "POWER_UP_NODE": "POWER_UP_NODE",
    "UPDATE_DB": "UPDATE_DB",
    "RECONFIG_FAIL": "RECONFIG_FAIL",
}
"""What happens to a job beside its state; many forms show it instead of that."""

LIVE_STATES: Final = ("PENDING", "RUNNING", "SUSPENDED")
"""States that a job leaves again: it has no end yet."""

LIVE_FLAGS: Final = ("COMPLETING", "STAGE_OUT", "CONFIGURING", "RESIZING", "STOPPED", "SIGNALING")
"""Flags of a job that is on its nodes, or about to be: shown alone, it has no end yet."""

WAITING_STATES: Final = ("PENDING", "REQUEUE_HOLD", "REQUEUE_FED", "SPECIAL_EXIT", "RESV_DEL_HOLD")
"""States before a start: a start that is shown with them is planned."""

_WORDS: Final = (*BASE_STATES, *FLAG_STATES)

_CODES: Final = {code: word for word, code in (BASE_STATES | FLAG_STATES).items()}

_FIRST: Final = r"^\s*([A-Za-z_]+(?:[,+][A-Za-z_]+)*\+?|\?)"

STATE: Final = (
    rf"(?:{'|'.join(_WORDS)})(?:,[A-Z_]+)*(?:\+| by \w+)?|[A-Z_]{{2,}}\+|"
    rf"(?:{'|'.join(sorted(_CODES, key=len, reverse=True))}|\?)"
)
"""A state as sacct prints it."""


def _cut_words() -> dict[str, str]:
    """Return the state by each beginning of its word that no other word has."""
    starts = [(word[:end], word) for word in _WORDS for end in range(1, len(word) + 1)]
    counts = Counter(start for start, _ in starts)
    return {start: word for start, word in starts if counts[start] == 1 or start == word}


_CUT_WORDS: Final = _cut_words()


def job_states(text: pl.Expr) -> tuple[pl.Expr, pl.Expr, pl.Expr]:
    """Return state, flags and who cancelled, of states as any of Slurm's tools prints them.

    Args:
        text: `CANCELLED by 20114`, `OUT_OF_ME+`, `NODE_FAIL,REQUEUED`, `CG`.

    Returns:
        The base state in full, or the flag that is shown instead of it (it is then among the flags
        too); a cut word that fits several states, or none, stays as it is. The flags are sorted,
        null if none. The user id of who cancelled is text, null where it is not said.
    """
    first = text.str.extract(_FIRST, 1).str.to_uppercase()
    is_cut = first.str.ends_with("+")
    words = first.str.strip_chars_end("+").str.split("+").list.join(",").str.split(",")
    full = words.list.eval(pl.element().replace(_CODES))
    word = full.list.first()
    told = word.replace_strict(_CUT_WORDS, default=pl.format("{}+", word), return_dtype=pl.String)
    cut = pl.concat_list(told)
    whole = pl.when(is_cut & (full.list.len() == 1)).then(cut).otherwise(full)
    is_base = pl.element().is_in(list(BASE_STATES))
    base = whole.list.eval(pl.element().filter(is_base)).list.first()
    flags = whole.list.eval(pl.element().filter(pl.element().is_in(list(FLAG_STATES))).sort())
    state = pl.coalesce(base, whole.list.first())
    return (
        pl.when(state != "?").then(state),
        pl.when(flags.list.len() > 0).then(flags),
        text.str.extract(r"(?i)^\s*CANCELLED by (\w+)", 1),
    )
