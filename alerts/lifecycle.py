"""The life of an incident: which step follows which, and why one is refused.

Source: the incident responses of PagerDuty (acknowledge, resolve) and of Dispatch (active, stable,
closed). `mitigated` is what users feel no more and is not mended yet: time to mitigate ends there.
Everything here is pure; `alerts/storing/` keeps what comes out.
"""

from typing import Final, Literal

State = Literal["open", "acknowledged", "mitigated", "resolved"]
Action = Literal["acknowledge", "mitigate", "resolve", "reopen", "note", "assign"]

DATA: Final = "data"
"""Who resolves an incident when its findings have all cleared."""
