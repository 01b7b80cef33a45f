"""E-mail by SMTP, over a connection that is encrypted before anything secret is said.

Source: RFC 3207 (STARTTLS), RFC 5321 section 4.2.1 (4yz passes, 5yz stays), RFC 5322 section 3.6.4
(Message-ID, References): a letter that is sent twice has one Message-ID, so that mail programs can
tell; all letters about one thing refer to one name, so that they form a thread.
"""

import hashlib
import smtplib
import ssl
from collections.abc import Generator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import datetime
from email.message import EmailMessage
from email.policy import SMTP
from email.utils import format_datetime
from operator import itemgetter
from typing import Final, Literal

from pydantic import SecretStr

from alerts.delivery.answers import Answer, Delivered, Later, Refused
from alerts.delivery.http_calls import told
from alerts.delivery.letters import Letter, Renewal
from alerts.delivery.redaction import redacted
from alerts.delivery.telling import Places, body_text, title_text

STARTTLS_PORT: Final = 587
_MAX_SUBJECT: Final = 200
_FIRST_LASTING: Final = 500


class PlainPasswordError(ValueError):
    """A password would cross the network for everyone to read."""


@dataclass(frozen=True, slots=True, kw_only=True)
class MailReceiver:
    """People with a mailbox.

    Attributes:
        host: Server that takes mail.
        port: Its port.
        sender: Address that letters come from.
        recipients: Addresses that they go to.
        user: Whom the server knows us as; null when it asks nobody.
        password: That user's password; null when there is no user.
        encryption: `starttls` begins in the open and asks, `tls` is encrypted from the first byte,
            `none` is for a server on this machine.
        ca_file: Certificates of authorities to trust instead of the system's; null is the system's.
        places: Where people go on.
        read_seconds: Longest wait for the connection and for each answer.
        min_gap_seconds: Shortest time between two letters.
        renewal: Null: a mailbox remembers.
    """

    host: str
    port: int = STARTTLS_PORT
    sender: str
    recipients: tuple[str, ...]
    user: str | None = None
    password: SecretStr | None = None
    encryption: Literal["starttls", "tls", "none"] = "starttls"
    ca_file: str | None = None
    places: Places = field(default_factory=Places)
    read_seconds: float = 10.0
    min_gap_seconds: float = 0.0
    renewal: Renewal | None = None

    def __post_init__(self) -> None:
        """Refuse letters to nobody, and a password in the open."""
        if not self.recipients:
            raise ValueError("wanted at least one recipient, found none")
        if self.password is not None and self.encryption == "none":
            raise PlainPasswordError(
                "wanted encryption starttls or tls with a password, found none"
            )

    def send(self, letter: Letter, *, now: datetime) -> Answer:
        """Send a letter."""
        try:
            with self._server() as server:
                refused = server.send_message(mail_message(letter, self, now=now))
        except smtplib.SMTPRecipientsRefused as error:
            # One of them may be there again later.
            return self._answer(*min(error.recipients.values(), key=itemgetter(0)))
        except smtplib.SMTPResponseException as error:
            return self._answer(error.smtp_code, error.smtp_error)
        except (OSError, smtplib.SMTPException) as error:
            return Later(reason=f"no answer: {type(error).__name__}")
        return self._partly(refused) if refused else Delivered()

    @contextmanager
    def _server(self) -> Generator[smtplib.SMTP, None, None]:
        """Give a connection that is encrypted and knows us."""
        context = ssl.create_default_context(cafile=self.ca_file)
        server = (
            smtplib.SMTP_SSL(self.host, self.port, timeout=self.read_seconds, context=context)
            if self.encryption == "tls"
            else smtplib.SMTP(self.host, self.port, timeout=self.read_seconds)
        )
        with server:
            if self.encryption == "starttls":
                server.starttls(context=context)
            if self.user is not None and self.password is not None:
                server.login(self.user, self.password.get_secret_value())
            yield server

    def _partly(self, refused: Mapping[str, tuple[int, bytes]]) -> Answer:
        """Return what it means that some got the letter: another try would tell them twice."""
        taken = len(self.recipients) - len(refused)
        code, text = min(refused.values(), key=itemgetter(0))
        reason = f"taken for {taken} of {len(self.recipients)} recipients; answered {code}"
        return Refused(reason=f"{reason}: {self._said(text)}")

    def _said(self, text: bytes | str) -> str:
        """Return what the server says, without the password."""
        flat = told(text if isinstance(text, bytes) else text.encode())
        return redacted(flat, [self.password])

    def _answer(self, code: int, text: bytes | str) -> Answer:
        """Return what a refusal of the server means."""
        reason = f"answered {code}: {self._said(text)}"
        return Refused(reason=reason) if code >= _FIRST_LASTING else Later(reason=reason)


def mail_message(letter: Letter, receiver: MailReceiver, *, now: datetime) -> EmailMessage:
    """Return a letter as a mail."""
    message = EmailMessage(policy=SMTP)
    domain = receiver.sender.rpartition("@")[2] or "localhost"
    message["Subject"] = title_text(letter)[:_MAX_SUBJECT]
    message["From"] = receiver.sender
    message["To"] = ", ".join(receiver.recipients)
    message["Date"] = format_datetime(now)
    message["Auto-Submitted"] = "auto-generated"
    name = hashlib.sha256(letter.key.encode()).hexdigest()
    message["Message-ID"] = f"<{name}@{domain}>"
    message["References"] = message["In-Reply-To"] = f"<{letter.dedup_key}@{domain}>"
    message.set_content(body_text(letter, receiver.places))
    return message
