"""Which nodes failed in the jobs of one user only, though others used them as well.

Source: methods reference, section 10: better two users than two jobs before any flag. A fault of
the node falls on everybody in proportion to the time of use; where it does not, the user's program
is the better explanation.
"""

from typing import Final

import polars as pl

from collectors.frames import schema_of

USER_HOSTS: Final = schema_of({"host": pl.String, "user": pl.String, "chance": pl.Float64})
"""A host all of whose failures fell on one user, and how likely that is if the host did it."""

MIN_FAILURES: Final = 2


def hosts_of_one_user(failures: pl.DataFrame, hosts: pl.LazyFrame) -> pl.DataFrame:
    """Return `USER_HOSTS`, by host.

    Args:
        failures: `FAILURES`; those that name the host count. A null user is not known, and a host
            with such a failure is left out.
        hosts: `JOB_HOSTS`.

    Returns:
        The chance is the user's share of the host's time, once for each failure.
    """
    named = failures.filter("is_named")
    single = (
        named.group_by("host")
        .agg(
            pl.col("user").first(),
            users=pl.col("user").n_unique(),
            failures=pl.col("run").n_unique(),
            is_told=pl.col("user").is_not_null().all(),
        )
        .filter("is_told", pl.col("users") == 1, pl.col("failures") >= MIN_FAILURES)
    )
    days = (
        hosts.join(single.lazy().select("host", one="user"), on="host")
        .unique()
        .with_columns(used=(pl.col("end") - pl.col("start")).dt.total_microseconds())
        .group_by("host")
        .agg(
            share=pl.col("used").filter(pl.col("user") == pl.col("one")).sum()
            / pl.col("used").sum()
        )
        .collect()
    )
    chances = single.join(days, on="host").with_columns(
        chance=pl.col("share").pow(pl.col("failures"))
    )
    return chances.select(USER_HOSTS.names()).sort("host")
