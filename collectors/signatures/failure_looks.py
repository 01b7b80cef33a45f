"""How a line looks that may tell of a failure: words that logs use for it, whoever writes them."""

from typing import Final

import polars as pl

from collectors.texts.ascii_patterns import ascii_pattern

MAY_BE_FAILURE: Final = ascii_pattern(
    r"(?i)error|fail|fatal|traceback|exception|abort|panic|critical|killed|kill\b|oom|out of|"
    r"timed? ?out|timing out|timeout|refused|denied|forbidden|unable|cannot|can't|could ?n[o']t|"
    r"couldn't|"
    r"no such|not found|missing|lost|corrupt|stale|invalid|mismatch|unreachable|unknown|evict|"
    r"preempt|cancel|xid|\bwarn|segfault|signal|core dumped|illegal|overflow|\bnan\b|\bnans\b|"
    r"\binf\b|exceed|exhaust|quota|full\b|no space|read-?only|already in use|unauthori|expired|"
    r"throttl|slow ?down|overheat|thermal|unhealthy|not (?:respond|ready|available|support|"
    r"loaded|exist|match|permitted|present|found|be)|disabled|lockup|stall|\bbug\b|\bunexpected|down\b|inactive|"
    r"closed by|broken pipe|reset by|insufficient|limit|too many|unresolved|undefined|degraded|"
    r"EDAC|mce|hardware|\baer\b|dpc:|terminat|crash|assert|got completion|ancdata|back-off|"
    r"backoff|deadline|skipping|dump_cqe|no \w+ (?:devices?|found)|must (?:be|have|match)|drift|"
    r"skew|unsched|tripped|\bfault|oops|\bdied|\bdead|unplugged|fallen|closed (?:its|the)|no route|"
    r"notready|stopped|pressure|downgraded|blocked for|no module|not a\b|needs? to\b|incorrect|"
    r"\.exc\.|ENOTFOUND|\bexited|violation|rejected|\bleak|offline|busy|must\b|"
    r"\bnot?\b|EADDRINUSE|EMFILE|ENOSPC|ESTALE|EROFS|EACCES|EDQUOT|truncated|damaged|taken by|"
    r"unavailable|detected|duplicate|\btoo\b|expected|_status_|\becc\b|retired|"
    r"\b(?:40[0-9]|429|50[0-4])\b"
)
"""Lines without any of these are not looked at: a step, a setting, a banner."""

_SPEAKS: Final = (
    r"(?i)\b(?:error|fatal|critical|fail(?:ed|ure|s)?|aborted|aborting|panic|crash(?:ed)?|killed|"
    r"segfault|corrupt(?:ed|ion)?|lost|denied|refused|tripped|exception|traceback|unable|cannot|"
    r"could not|terminated)\b|(?:Error|Exception|Interrupt|Failure)(?:\(|:|$)|core dumped"
)

_CALM: Final = (
    r"(?i)\b(?:no|0|without|zero|any|if|on|stop[_ ]on|ignore|max|retry|retries)[ _-]*"
    r"(?:\w+[ _-])?(?:errors?|fail(?:ed|ures?|s)?|crash(?:es)?|corrupt\w*)\b|"
    r"\b(?:errors?|fail(?:ed|ures?)|lost|errors?[_ ]\w+|\w+_fail\w*|\w+_err\w*)\b\s*[:=]\s*"
    r"(?:0\b|\[\]|none|false|null|continue|remount)|error (?:rate|bars?|handling|path)|"
    r"errors?[_.]?log|"
    r"NCCL INFO|\b(?:Future|User|Deprecation)Warning\b|_ERROR_HANDLING"
)
"""Lines that speak of errors and tell of none: counts of zero, settings, advice."""


_AT_EASE: Final = (
    r"(?:^|[\s\[(|:])(?:INFO|DEBUG|TRACE)(?:[\s\])|:]|$)|"
    r"^\s*[\"']?[\w.-]+[\"']?\s*[:=.]+\s*[\"']?[\w.+-]+[\"']?,?$"
)
"""Lines whose own level says that all is well, and settings: one name with one value."""


def has_failure_words(text: pl.Expr, also: str | None = None) -> pl.Expr:
    """Return whether lines have a word of failure, be it in a calm line; null stays null.

    It is quick, and asked of every line.

    Args:
        text: The lines.
        also: A pattern of lines that count whatever their words: that of a library's own patterns.
    """
    looks = text.str.contains(MAY_BE_FAILURE)
    return looks if also is None else looks | text.str.contains(also)


def may_be_failure(text: pl.Expr, also: str | None = None) -> pl.Expr:
    """Return whether lines may tell of a failure; null stays null.

    Args:
        text: The lines.
        also: As above.
    """
    is_calm = text.str.contains(_AT_EASE) & ~looks_like_failure(text)
    looks = text.str.contains(MAY_BE_FAILURE) & ~is_calm
    return looks if also is None else looks | text.str.contains(also)


def looks_like_failure(text: pl.Expr) -> pl.Expr:
    """Return whether lines tell of a failure by their own words, whatever it is.

    It is asked where no family fits: a doubtful line is none then.
    """
    return text.str.contains(_SPEAKS) & ~text.str.contains(_CALM)
