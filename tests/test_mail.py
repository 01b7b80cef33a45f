"""Mail goes out encrypted, forms threads, and a refusal is told apart from trouble that passes."""

import base64
import email
import shutil
import socketserver
import ssl
import subprocess
import threading
from collections.abc import Iterator
from contextlib import suppress
from datetime import UTC, datetime
from email.message import Message
from email.policy import default
from pathlib import Path
from typing import Any

import pytest
from pydantic import SecretStr

from alerts.delivery.answers import Answer, Delivered, Later, Refused
from alerts.delivery.letters import Action, Letter
from alerts.delivery.receivers.mail import MailReceiver, PlainPasswordError
from alerts.delivery.telling import Places
from alerts.incidents import Incident
from alerts.pages import page_text

NOW = datetime(2026, 1, 5, 2, tzinfo=UTC)
PASSWORD = "pa55-word"  # noqa: S105 - made up


class Session(socketserver.StreamRequestHandler):
    """One conversation by SMTP, as far as our mail needs it."""

    server: "MailServer"

    def handle(self) -> None:
        """Answer command after command."""
        self.is_encrypted = False
        if self.server.is_encrypted_at_once:
            self.encrypt()
        self.say("220 mail.example")
        with suppress(OSError):
            while line := self.rfile.readline().decode().strip():
                if not self.answer(line):
                    return

    def answer(self, line: str) -> bool:
        """Answer one command; return whether another may follow."""
        word = line.split(maxsplit=1)[0].upper()
        planned = next(
            (text for start, text in self.server.plan if line.upper().startswith(start.upper())),
            None,
        )
        if planned is not None:
            self.say(planned)
        elif word == "EHLO":
            offers = ["AUTH PLAIN"] if self.is_encrypted else ["STARTTLS"]
            self.say("250-mail.example", *(f"250-{one}" for one in offers), "250 8BITMIME")
        elif word == "STARTTLS":
            self.say("220 go on")
            self.encrypt()
        elif word == "AUTH":
            self.server.logins.append(base64.b64decode(line.split()[2]).decode())
            self.say("235 welcome")
        elif word == "DATA":
            self.say("354 go on")
            self.server.mails.append(self.read_mail())
            self.say("250 taken")
        else:
            self.say("221 bye" if word == "QUIT" else "250 fine")
        return word != "QUIT"

    def say(self, *lines: str) -> None:
        """Say lines."""
        self.wfile.write("".join(f"{line}\r\n" for line in lines).encode())

    def read_mail(self) -> Message:
        """Read a mail up to its dot."""
        lines = []
        while (line := self.rfile.readline()) != b".\r\n":
            lines.append(line)
        return email.message_from_bytes(b"".join(lines), policy=default)

    def encrypt(self) -> None:
        """Go on encrypted."""
        self.connection = self.server.context.wrap_socket(self.connection, server_side=True)
        self.rfile, self.wfile = self.connection.makefile("rb"), self.connection.makefile("wb", 0)
        self.is_encrypted = True

    def finish(self) -> None:
        """Close everything."""
        with suppress(OSError):
            self.connection.close()
        for stream in (self.rfile, self.wfile):
            stream.close()


class MailServer(socketserver.ThreadingTCPServer):
    """A server that keeps mails and logins, and answers some commands as planned."""

    allow_reuse_address = True
    daemon_threads = False

    def __init__(self, certificate: Path) -> None:
        """Listen on a free port of the loopback."""
        super().__init__(("127.0.0.1", 0), Session)
        self.context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        self.context.load_cert_chain(certificate)
        self.plan: list[tuple[str, str]] = []
        self.mails: list[Message] = []
        self.logins: list[str] = []
        self.is_encrypted_at_once = False

    def handle_error(self, *_: object) -> None:
        """Say nothing: clients that distrust us break off."""


@pytest.fixture(scope="module")
def certificate(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A key and a certificate for the loopback, in one file, signed by itself."""
    openssl = shutil.which("openssl")
    if openssl is None:
        pytest.skip("openssl is not installed")
    path = tmp_path_factory.mktemp("certificate") / "both.pem"
    command = [openssl, "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256"]
    command += ["-nodes", "-subj", "/CN=127.0.0.1", "-addext", "subjectAltName=IP:127.0.0.1"]
    subprocess.run([*command, "-keyout", path, "-out", path], check=True, capture_output=True)
    return path


@pytest.fixture
def server(certificate: Path) -> Iterator[MailServer]:
    """A mail server that a test asks what it got."""
    with MailServer(certificate) as mail_server:
        thread = threading.Thread(target=mail_server.serve_forever, args=(0.01,))
        thread.start()
        yield mail_server
        mail_server.shutdown()
        thread.join()


def receiver(server: MailServer, certificate: Path, **changes: Any) -> MailReceiver:
    """Two people with mailboxes on the server."""
    told: dict[str, Any] = {
        "host": "127.0.0.1",
        "port": server.server_address[1],
        "sender": "paceline@example.org",
        "recipients": ("ana@example.org", "ben@example.org"),
        "user": "paceline",
        "password": SecretStr(PASSWORD),
        "ca_file": str(certificate),
        "places": Places(service_url="https://paceline.example"),
        "read_seconds": 2.0,
    }
    return MailReceiver(**(told | changes))


def letter(incident: Incident, action: Action = "trigger") -> Letter:
    """A letter about an incident."""
    return Letter(
        key=f"k-{action}", dedup_key="d" * 64, action=action, incident=incident, created=NOW
    )


@pytest.mark.parametrize(
    "encryption",
    [pytest.param("starttls", id="asked for"), pytest.param("tls", id="from the start")],
)
def test_mail(
    server: MailServer, certificate: Path, slow_host_incident: Incident, encryption: str
) -> None:
    """A mail is the page and its links, and the password is told over TLS only."""
    server.is_encrypted_at_once = encryption == "tls"
    people = receiver(server, certificate, encryption=encryption)
    answer = people.send(letter(slow_host_incident), now=NOW)
    (mail,) = server.mails

    assert (answer, server.logins) == (Delivered(), [f"\0paceline\0{PASSWORD}"])
    assert mail["Subject"] == "[PAGE] orion runs slow: host hx8-015 (thermal)"
    assert mail["To"] == "ana@example.org, ben@example.org"
    text = mail.get_content().replace("\r\n", "\n")
    assert text.startswith(page_text(slow_host_incident))
    assert f"Incident: https://paceline.example/incidents/{slow_host_incident.id}\n" in text


def test_thread(server: MailServer, certificate: Path, slow_host_incident: Incident) -> None:
    """A letter that is sent twice has one id, and all about one thing form a thread."""
    people = receiver(server, certificate)
    actions: list[Action] = ["trigger", "trigger", "resolve"]
    for action in actions:
        people.send(letter(slow_host_incident, action), now=NOW)
    first, again, end = server.mails

    assert first["Message-ID"] == again["Message-ID"] != end["Message-ID"]
    assert {mail["References"] for mail in server.mails} == {f"<{'d' * 64}@example.org>"}


@pytest.mark.parametrize(
    ("plan", "expected"),
    [
        pytest.param(
            [("MAIL", "451 later")], Later(reason="answered 451: later"), id="trouble that passes"
        ),
        pytest.param(
            [("MAIL", "552 too big")], Refused(reason="answered 552: too big"), id="a refusal"
        ),
        pytest.param(
            [("AUTH", f"535 not {PASSWORD}")],
            Refused(reason="answered 535: not ***"),
            id="a refusal that quotes the password",
        ),
        pytest.param(
            [("RCPT", "550 nobody")], Refused(reason="answered 550: nobody"), id="nobody is there"
        ),
        pytest.param(
            [("RCPT TO:<ana", "550 nobody"), ("RCPT", "450 full")],
            Later(reason="answered 450: full"),
            id="one of two may be there later",
        ),
        pytest.param(
            [("RCPT TO:<ana", "550 gone")],
            Refused(reason="taken for 1 of 2 recipients; answered 550: gone"),
            id="one of two is gone: nobody is told twice, and it is seen",
        ),
        pytest.param(
            [("STARTTLS", "454 no")],
            Later(reason="answered 454: no"),
            id="no encryption, so no mail",
        ),
        pytest.param(
            [("EHLO", "421 bye")],
            Later(reason="no answer: SMTPNotSupportedError"),
            id="shutting down",
        ),
    ],
)
def test_refusals(
    server: MailServer,
    certificate: Path,
    slow_host_incident: Incident,
    plan: list[tuple[str, str]],
    expected: Answer,
) -> None:
    """Answers from 500 on stay, those from 400 on pass."""
    server.plan = plan

    assert receiver(server, certificate).send(letter(slow_host_incident), now=NOW) == expected


def test_strangers(server: MailServer, certificate: Path, slow_host_incident: Incident) -> None:
    """A server whose certificate nobody vouches for gets neither password nor mail."""
    people = receiver(server, certificate, ca_file=None)
    answer = people.send(letter(slow_host_incident), now=NOW)

    assert answer == Later(reason="no answer: SSLCertVerificationError")
    assert (server.mails, server.logins) == ([], [])


def test_settings(server: MailServer, certificate: Path) -> None:
    """Letters to nobody, and a password in the open, are refused at once."""
    with pytest.raises(ValueError, match="at least one recipient"):
        receiver(server, certificate, recipients=())
    with pytest.raises(PlainPasswordError, match="starttls or tls"):
        receiver(server, certificate, encryption="none")

    assert PASSWORD not in repr(receiver(server, certificate))
