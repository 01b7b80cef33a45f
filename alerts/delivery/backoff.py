"""How long to wait before a letter is tried again.

Source: RFC 9110, section 10.2.3 (Retry-After), and M. Brooker, "Exponential Backoff And Jitter",
AWS Architecture Blog, 2015. We take the half that is fixed and the half that is drawn ("equal
jitter"): a page must not wait much longer than planned, nor be tried at once. The longest wait is
short, since whoever waits for a page feels all of it after the receiver has come back.
"""

from dataclasses import dataclass
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime

_MAX_DOUBLINGS = 30


@dataclass(frozen=True, slots=True, kw_only=True)
class RetryParams:
    """How long to wait between two tries.

    Attributes:
        first_seconds: Longest wait after the first try; it doubles with each further one.
        max_seconds: Longest wait after many tries.
        max_rest_seconds: Longest rest that a receiver may ask for.
    """

    first_seconds: float = 2.0
    max_seconds: float = 120.0
    max_rest_seconds: float = 3600.0

    def __post_init__(self) -> None:
        """Refuse waits that would hammer a receiver, or that grow downwards."""
        if not 0 < self.first_seconds <= self.max_seconds <= self.max_rest_seconds:
            raise ValueError(
                "wanted 0 < first_seconds <= max_seconds <= max_rest_seconds, found "
                f"{self.first_seconds}, {self.max_seconds} and {self.max_rest_seconds}"
            )


def retry_seconds(attempts: int, params: RetryParams, *, draw: float) -> float:
    """Return how long to wait after a number of tries.

    Args:
        attempts: Tries so far, from 1.
        params: The waits.
        draw: A number from 0 to 1, drawn anew for each wait.
    """
    doublings = min(attempts - 1, _MAX_DOUBLINGS)
    longest = min(params.max_seconds, params.first_seconds * 2.0**doublings)
    return longest * (1.0 + draw) / 2.0


def rest_seconds(header: str | None, *, now: datetime) -> float | None:
    """Return how long a receiver asks to be left alone; null when it does not say or not clearly.

    Args:
        header: The value of `Retry-After`: seconds, or a date.
        now: When it was received; aware.
    """
    if header is None:
        return None
    text = header.strip()
    if text.isascii() and text.isdecimal():
        return float(text)
    try:
        until = parsedate_to_datetime(text)
    except ValueError:
        return None
    return max(0.0, (until.replace(tzinfo=until.tzinfo or UTC) - now).total_seconds())
