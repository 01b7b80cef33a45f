"""Whether one more request may pass: a bucket of tokens that fills at a steady rate.

Source: J. Turner, "New Directions in Communications (or Which Way to the Information Age?)", IEEE
Communications Magazine 24 (10), 1986: the leaky bucket as a meter. The clock is passed in; one that
steps back gives nothing and takes nothing.
"""

import math
from dataclasses import dataclass, replace
from datetime import datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class Rate:
    """How often somebody may ask.

    Attributes:
        per_second: Requests a second in the long run.
        burst: Requests at once after a pause.
    """

    per_second: float = 200.0
    burst: int = 1000

    def __post_init__(self) -> None:
        """Refuse a rate at which nothing would ever pass."""
        if self.per_second <= 0 or self.burst < 1:
            raise ValueError(
                f"a rate needs per_second above 0 and burst of 1 or more, found "
                f"{self.per_second} and {self.burst}"
            )


@dataclass(frozen=True, slots=True, kw_only=True)
class TokenBucket:
    """What is left at a moment.

    Attributes:
        level: Requests that may pass at once.
        filled_at: When that was so.
    """

    level: float
    filled_at: datetime


def full_bucket(rate: Rate, now: datetime) -> TokenBucket:
    """Return a bucket that nobody has taken from."""
    return TokenBucket(level=float(rate.burst), filled_at=now)


def take(bucket: TokenBucket, rate: Rate, now: datetime) -> tuple[TokenBucket, int]:
    """Return the bucket after one more request, and the wait if it may not pass.

    Returns:
        The bucket, and 0 where the request may pass, else whole seconds until the next one may.
    """
    passed = max(0.0, (now - bucket.filled_at).total_seconds())
    level = min(float(rate.burst), bucket.level + passed * rate.per_second)
    filled = replace(bucket, level=level, filled_at=now)
    if level < 1.0:
        return filled, math.ceil((1.0 - level) / rate.per_second)
    return replace(filled, level=level - 1.0), 0
