"""Marks between captured outputs: prompts with their command, stamps, and headings.

Source: prompts of bash, `set -x` and SONiC; headings of `tail`, dshbak, Ansible and `watch`; what
`date` prints in the C and the en_US locale.
"""

import re
from typing import Final

import polars as pl

from collectors.taken import NO_HOST
from collectors.texts.line_stamps import date_time, stamp_of
from collectors.texts.stamps import epoch_time, iso_time

COMMANDS: Final = (
    r"ethtool|show|rdma|mlxlink|ibv_devinfo|ip|sonic-db-cli|redis-cli|redis-dump|portstat|pfcstat"
    r"|queuestat|wredstat|watermarkstat|pg-drop|pfcwd|sfputil|intfutil|date|hostname"
)
"""Programs whose output is kept in such captures."""

PROMPT: Final = (
    r"^(?:\[?(?:[\w.-]+@)?([A-Za-z][\w.-]*)(?:[: ][^#$>%]*)?[#$%>]\s*|[#$%+>=*\s-]*[#$%+>=*]\s*)?"
)
"""`admin@leaf-r3-02:~$ `, `[root@gpu-r3-n07 ~]# `, `leaf-r3-02# `, `$ `, `+ `; group 1 is the
host. May be missing."""

COMMAND_START: Final = (
    rf"{PROMPT}(?:sudo\s+(?:-\S+\s+)*)?((?:{COMMANDS})\s+[^\s:].*|(?:date|hostname))$"
)

PORT_NAME: Final = (
    r"(?:eth|ens|eno|enp|enP|enx|swp|ib|ibs|ibp|rdma|roce|bond)\d[A-Za-z0-9]*|mlx5_\d+"
    r"|Ethernet(?:-BP)?\d+(?:/\d+)*"
)

_EVERY: Final = r"^Every [\d.]+s: (.*?)\s{2,}(?:(\S+): )?(\S.*)$"
"""The heading of `watch`: command, host, date."""

_HEADING: Final = r"^\s*(?:[#=*>\[]+|-{2,}|==>)\s*(\S.*?)\s*(?:[#=*<\]]+|-{2,})?\s*$"

_NAMED: Final = r"(?i)^[\s#=*-]*(?:host(?:name)?|node|switch|system)\s*[:=]\s*([\w.-]+)[\s#=*-]*$"

_PORT_LINE: Final = (
    rf"^\s*(?:[#=*>\[-]+\s*)?(?:(?i:interface|device|port|nic)\s*[:=]?\s*)?({PORT_NAME})"
    r"\s*[:\]#=*<-]*\s*$"
)

_PORT_WORD: Final = rf"(?:^|[^A-Za-z0-9])({PORT_NAME})(?:$|[^A-Za-z0-9])"

_ANSIBLE: Final = r"^(\S+) \| (?:CHANGED|SUCCESS|FAILED)\b"

_DAY_FIRST: Final = (
    r"(?:Mon|Tue|Wed|Thu|Fri|Sat|Sun),? +(\d{1,2}) ([A-Z][a-z]{2}) (20\d\d) (\d\d:\d\d:\d\d)"
    r"(?: ([AP]M))?(?: ([A-Z]{2,5}|[+-]\d{4}))?"
)
"""What `date` prints in an en_US locale, or with `-R`."""

_EPOCH: Final = (
    r"(?i)^[\s#=*-]*(?:ts|time|timestamp|epoch)?\s*[:=]?\s*(\d{10,19}(?:\.\d+)?)[\s=*-]*$"
)

_HOST: Final = r"[a-z][a-z0-9]*(?:-[a-z0-9]+)*-[a-z]*\d+"
"""A host's name that stands where other words may: with a dash and a number at its end."""

_HOST_WORD: Final = rf"(?i)(?:^|[\s:=@/(\[])({_HOST})(?:$|[\s:,/)\].])"


MAYBE_MARK: Final = (
    r"^\s*(?:[#=*>+$%\[-]|\S+\s*$|\S*[@#$>%]|(?:Mon|Tue|Wed|Thu|Fri|Sat|Sun)\b|20\d\d-|Every "
    r"|(?i:ts|time|date|timestamp|epoch|host|hostname|node|switch|system|interface|device|port|nic)\b"
    rf"|sudo |(?:{COMMANDS})\b)| \| "
)
"""What all marks have; most lines of an output do not, and are not looked at any further."""


def marks_of(lines: pl.DataFrame, time_zone: str) -> pl.DataFrame:
    """Return the lines that may be marks, with what each says.

    Args:
        lines: Lines with `position` and `text`.
        time_zone: IANA zone of stamps without one.

    Returns:
        `position`, `stamp`, `own_host` (in lower case), `own_command` and `own_device`: null where
        a line does not say it.
    """
    text, heading = pl.col("text"), pl.col("heading")
    return (
        lines.filter(text.str.contains(MAYBE_MARK))
        .with_columns(
            heading=text.str.extract(_HEADING, 1), start=text.str.extract(COMMAND_START, 2)
        )
        .with_columns(
            own_command=pl.coalesce(
                "start",
                text.str.extract(_EVERY, 1),
                heading.str.extract(rf"\b((?:{COMMANDS}) +\S.*)$", 1),
            ),
            told=pl.coalesce("heading", text.str.extract(_EVERY, 3), "text"),
        )
        .select(
            "position",
            "own_command",
            stamp=_stamp(time_zone),
            own_host=_host(),
            own_device=_device(),
        )
    )


def _host() -> pl.Expr:
    """Return the host that a prompt or a heading names, in lower case; else null."""
    text = pl.col("text")
    prompt = pl.when(pl.col("start").is_not_null()).then(text.str.extract(PROMPT, 1))
    alone = text.str.extract(rf"(?i)^\s*({_HOST})\s*:?\s*$", 1)
    word = pl.col("heading").str.extract(_HOST_WORD, 1)
    heading = pl.coalesce(word, alone).str.to_lowercase()
    is_host = ~heading.str.contains(rf"(?i)^{NO_HOST}$")
    return pl.coalesce(
        prompt,
        text.str.extract(_NAMED, 1),
        text.str.extract(_EVERY, 2),
        text.str.extract(_ANSIBLE, 1),
        pl.when(is_host).then(heading),
    ).str.to_lowercase()


def _device() -> pl.Expr:
    """Return the port that a command or a heading is about; else null."""
    command, heading = pl.col("own_command"), pl.col("heading")
    device = command.str.extract(rf"(?:^|[\s=])({PORT_NAME})(?:$|[\s,/;|])", 1)
    of_mlxlink = command.str.extract(r"mlxlink .*?(?:-d|--device)[ =](?:\S*/)?(\S+)", 1)
    port = command.str.extract(r"mlxlink .*?(?:-p|--port)[ =]([\d/]+)", 1)
    mlxlink = pl.concat_str([of_mlxlink, port], separator="/", ignore_nulls=True)
    named = pl.when(of_mlxlink.is_not_null()).then(mlxlink)
    alone = pl.col("text").str.extract(_PORT_LINE, 1)
    return pl.coalesce(named, device, alone, heading.str.extract(_PORT_WORD, 1))


def _stamp(time_zone: str) -> pl.Expr:
    """Return the time that a stamp, or a heading with one, tells; else null."""
    text, told = pl.col("text"), pl.col("told")
    epoch = epoch_time(text.str.extract(_EPOCH, 1).cast(pl.Float64, strict=False))
    heading = pl.when(pl.col("heading").is_not_null()).then("heading")
    return pl.coalesce(
        stamp_of(told, time_zone), epoch, iso_time(heading, time_zone), _day_first(told, time_zone)
    )


def _day_first(text: pl.Expr, time_zone: str) -> pl.Expr:
    day, month, year, clock, half, zone = (text.str.extract(_DAY_FIRST, at) for at in range(1, 7))
    return date_time((year, month, day), (clock, half, zone), time_zone)


def file_device(source: str) -> str | None:
    """Return the port that a file's name tells, the innermost first; null if none does."""
    pattern = rf"(?<![A-Za-z0-9])({PORT_NAME})(?![A-Za-z0-9])"
    for part in reversed(source.split("/")):
        found = re.findall(pattern, part)
        if found:
            return str(found[-1])
    return None
