"""Judge a run in which somebody waits: whom it waits for, or why nobody can be named.

Source: methods of the NCCL and PyTorch reference, sections 12.2, 12.3 and 12.7.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any, Final

import polars as pl

from detectors.complaints import EVERYBODY
from detectors.hang_words import (
    COMPARE,
    MAX_QUOTED,
    collective_title,
    earliest,
    group_title,
    merged_hosts,
)
from detectors.open_hangs import complaint, open_verdict
from detectors.quotes import quoted
from detectors.rank_places import Places
from detectors.silences import Progress
from detectors.verdicts import Confidence, Evidence, Subject, Verdict
from detectors.wait_cycles import cycle_verdict

MAX_VICTIMS: Final = 16

_ACTION: Final = "take this rank's stack trace, read its host's kernel log, then restart"

_NEEDED: Final = "a flight recorder dump or the stack trace of rank {}"

_CAUSES: Final[Mapping[str, str]] = {
    "gil_blocked": "gil",
    "frozen_watchdog": "frozen",
    "late_entry": "late",
    "divergence": "divergence",
}

MAX_BARRED_SHARE: Final = 0.5
"""A barrier says by name who did not come: up to half of the ranks."""

_HELD: Final = ("gil_blocked", "frozen_watchdog", "late_entry")
"""Leads that name a rank by themselves."""


@dataclass(frozen=True, slots=True, kw_only=True)
class HangCase:
    """All that is known of a run, or of a group that counts for itself, in which somebody waits.

    Attributes:
        run: The run; null if not named.
        scope: The group inside which ranks count; null: they are global.
        standing: Rows of `detectors.waits.places`.
        accused: Those of them that the others wait for and nothing excuses.
        callers: Those of them that call what the others, idle, do not.
        mismatches: `MISMATCHES`.
        leads: What else points at ranks.
        heard: Ranks of which any source told anything.
        world: How many ranks the run has, as far as any source names them.
        max_suspect_share: Above this share of the ranks nobody is named.
    """

    run: str | None
    scope: str | None
    standing: pl.DataFrame
    accused: pl.DataFrame
    callers: pl.DataFrame
    mismatches: pl.DataFrame
    leads: pl.DataFrame
    heard: pl.DataFrame
    world: int
    max_suspect_share: float

    def verdicts(self, progress: Progress | None, placed: Places) -> Iterator[Verdict]:
        """Yield one verdict a culprit, or one that names nobody."""
        span = self._span(progress)
        odd = self.mismatches.filter("decided")
        if odd.height:
            yield from (self._dated(self._odd(row), span, placed) for row in odd.to_dicts())
        elif self.callers.height:
            rows = self._by_rank(self.callers)
            yield from (self._dated(self._caller(seen), span, placed) for seen in rows)
        else:
            culprits = [self._dated(one, span, placed) for one in self._culprits(placed)]
            yield from merged_hosts(culprits, self.run, placed)
            if not culprits:
                ring = cycle_verdict(self.run, self.standing)
                yield self._dated(ring or self._open(placed), span, placed)

    def _open(self, placed: Places) -> Verdict:
        return open_verdict(self.run, self.standing, self.accused, self.mismatches, placed)

    def _culprits(self, placed: Places) -> list[Verdict]:
        """Return the verdicts on those known to be late, else on the unheard, else on leads."""
        share = (
            pl.when(pl.col("group") == EVERYBODY)
            .then(MAX_BARRED_SHARE)
            .otherwise(self.max_suspect_share)
        )
        late = pl.len().over("group")
        few_late = late <= pl.max_horizontal(1.0, share * pl.col("size"))
        known = self.accused.filter(pl.col("place") != "absent", few_late)
        unheard = self.accused.filter(pl.col("place") == "absent", few_late)
        for rows in (known, unheard):
            if rows.height:
                by_rank = self._by_rank(rows)
                barred = rows is known and (rows["group"] == EVERYBODY).all()
                few = self._few(len(by_rank), MAX_BARRED_SHARE if barred else None)
                few = few and not (rows is unheard and self._is_unread(rows, placed))
                return [self._culprit(seen) for seen in by_rank] if few else []
        held = self.leads.filter(pl.col("kind").is_in(_HELD))
        ranks = held["rank"].unique().sort().to_list()
        return [self._held(rank) for rank in ranks] if self._few(len(ranks)) else []

    def _few(self, count: int, share: float | None = None) -> bool:
        size = max(self.standing["rank"].n_unique(), self.world)
        return 0 < count <= max(1.0, (share or self.max_suspect_share) * size) and size > 1

    def _is_unread(self, rows: pl.DataFrame, placed: Places) -> bool:
        """Return whether ranks are all that hosts have, of which nothing was read at all.

        A log that is not there is no silence, unless something told at least where they are.
        """
        ranks = rows["rank"].unique().sort().to_list()
        told = self.heard["rank"].is_in(ranks).any()
        known = placed.whole_host(self.run, ranks) is not None
        return not told and not known and placed.is_block(self.run, ranks, self.world)

    def _by_rank(self, rows: pl.DataFrame) -> list[list[dict[str, Any]]]:
        """Return the rows of each rank: of groups that miss fewest first, then of the largest."""
        missing = pl.col("size") - pl.col("heard")
        ordered = rows.sort("rank", missing, -pl.col("size").cast(pl.Int64), "group")
        return [part.to_dicts() for part in ordered.partition_by("rank", maintain_order=True)]

    def _culprit(self, seen: list[dict[str, Any]]) -> Verdict:
        """Return the verdict on a rank that has not come, or not come through."""
        shown = seen[:MAX_QUOTED]
        first = seen[0]
        is_stuck = first["place"] == "waiting"
        clear = all(self._is_clear(one, len(seen)) for one in shown) and not is_stuck
        confidence: Confidence = "high" if clear else "medium"
        lead = self.leads.filter(pl.col("rank") == first["rank"]).head(MAX_QUOTED).to_dicts()
        causes = [_CAUSES[row["kind"]] for row in lead if row["kind"] in _CAUSES]
        return Verdict(
            kind="hang",
            level="rank",
            subject=Subject(run=self.run, rank=first["rank"]),
            confidence=confidence,
            cause=causes[0] if causes else "stuck" if is_stuck else None,
            peers="members of the blocked groups",
            peer_count=max(one["size"] for one in seen) - 1,
            evidence=(
                *(self._seen(one) for one in shown),
                *complaint(self.standing, first),
                *(quoted(row) for row in lead),
            ),
            victims=self._victims(first),
            action=_ACTION,
            needed=None if clear else _NEEDED.format(first["rank"]),
        )

    def _is_clear(self, row: dict[str, Any], groups: int) -> bool:
        """Return whether a barrier names a row's rank, or all others of its group are known.

        A member is known too by waiting elsewhere. That a rank is a member, its group's list tells,
        or that several `groups` miss the same one.
        """
        if row["group"] == EVERYBODY and row["place"] == "behind":
            return True
        group = self._group(row)
        unheard = group.filter(pl.col("place").is_in(["absent", "unknown"]), ~pl.col("lags"))
        silent = self.accused.filter(pl.col("group") == row["group"], pl.col("place") == "absent")
        sure = row["place"] != "absent" or (silent.height == 1 and (row["listed"] or groups > 1))
        return unheard.is_empty() and sure

    def _held(self, rank: int) -> Verdict:
        """Return the verdict on a rank that a lead alone names."""
        mine = self.leads.filter(pl.col("rank") == rank, pl.col("kind").is_in(_HELD)).to_dicts()
        return Verdict(
            kind="hang",
            level="rank",
            subject=Subject(run=self.run, rank=rank),
            confidence="medium",
            cause=_CAUSES[mine[0]["kind"]],
            evidence=tuple(quoted(row) for row in mine[:MAX_QUOTED]),
            alternatives=("any other rank: all have entered the collective",),
            action=_ACTION,
        )

    def _caller(self, seen: list[dict[str, Any]]) -> Verdict:
        """Return the verdict on a rank that called what the others did not."""
        first = seen[0]
        resting = self._group(first).filter(pl.col("place") == "behind").height
        text = (
            f"rank {first['rank']} waits in {collective_title(first)}; {resting} of "
            f"{first['size']} ranks finished all they were asked and never called it"
        )
        return Verdict(
            kind="mismatch",
            level="rank",
            subject=Subject(run=self.run, rank=first["rank"]),
            confidence="high" if first["heard"] == first["size"] else "medium",
            peers="members of the blocked group",
            peer_count=first["size"] - 1,
            evidence=(quoted(first, text),),
            action=COMPARE,
        )

    def _odd(self, row: dict[str, Any]) -> Verdict:
        """Return the verdict on a rank that runs another operation than the others."""
        text = (
            f"at collective {row['sequence']} of {group_title(row)}: rank {row['rank']} runs "
            f"{row['signature']}, {row['voters'] - row['votes']} others {row['usual']}"
        )
        leads = self.leads.filter(
            pl.col("rank") == row["rank"], pl.col("kind") == "divergence"
        ).to_dicts()[:MAX_QUOTED]
        return Verdict(
            kind="mismatch",
            level="rank",
            subject=Subject(run=self.run, rank=row["rank"]),
            confidence="high",
            cause="divergence" if leads else None,
            peers="members of the group at the same number",
            peer_count=row["voters"] - 1,
            evidence=(quoted(row, text), *(quoted(lead) for lead in leads)),
            action=COMPARE,
        )

    def _dated(
        self,
        verdict: Verdict,
        span: tuple[datetime | None, datetime | None, int | None],
        placed: Places,
    ) -> Verdict:
        """Return the verdict with its times and place; of a scope's own count, at its group."""
        onset, detected, step = span
        dated = replace(verdict, onset=onset, detected=detected, onset_step=step)
        rank = verdict.subject.rank
        if rank is None:
            return dated
        if self.scope is not None:
            subject = replace(verdict.subject, rank=None, group=self.scope)
            return replace(
                dated, level="group", subject=subject, alternatives=(f"its rank {rank}",)
            )
        key = (self.run, rank)
        subject = replace(verdict.subject, host=placed.hosts.get(key), gpu=placed.gpus.get(key))
        return replace(dated, subject=subject)

    def _span(
        self, progress: Progress | None
    ) -> tuple[datetime | None, datetime | None, int | None]:
        """Return when the last step ended, when it could be told, and the step that did not."""
        told = earliest(self.standing["time"])
        entered = earliest(self.standing["entered"])
        if progress is None:
            return entered, told, None
        if progress.last_time is None:
            return entered, told, progress.last_step + 1
        quiet = progress.last_time + progress.silence
        return progress.last_time, min(told, quiet) if told else quiet, progress.last_step + 1

    def _group(self, row: dict[str, Any]) -> pl.DataFrame:
        return self.standing.filter(pl.col("group") == row["group"])

    def _victims(self, row: dict[str, Any]) -> tuple[str, ...]:
        waiting = self._group(row).filter(
            pl.col("place").is_in(["waiting", "ahead"]), ~pl.col("lags")
        )
        ranks = waiting["rank"].sort().head(MAX_VICTIMS).to_list()
        return tuple(f"rank {rank}" for rank in ranks)

    def _seen(self, row: dict[str, Any]) -> Evidence:
        """Return what the group of a culprit's row shows."""
        group = self._group(row)
        counts: dict[str, int] = dict(group["place"].value_counts().iter_rows())
        how = {
            "absent": "was not heard there",
            "behind": f"has not come: its last is {row['enqueued']}",
            "waiting": f"has not come through, {counts.get('ahead', 0)} others have",
        }[row["place"]]
        waiting = counts.get("waiting", 0)
        where = collective_title(row)
        text = f"{waiting} of {row['size']} ranks wait in {where}; rank {row['rank']} {how}"
        return quoted(row, text)
