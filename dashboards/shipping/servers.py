"""The dashboards API of Grafana, as much of it as a push needs.

Source: Grafana, "Dashboard HTTP API" and "Folder HTTP API". It is deprecated in Grafana 13 and
works there; a server of its successor would be another class with the same four functions.
"""

from dataclasses import dataclass
from typing import Any, Final, Protocol, cast

import requests

from dashboards.jsontree import Json
from dashboards.shipping.changes import Standing
from dashboards.shipping.fingerprints import SERVER_KEYS, marked_sum

TIMEOUT_SECONDS: Final = 30.0
NOT_FOUND: Final = 404
PRECONDITION_FAILED: Final = 412
CONFLICT: Final = 409


class GrafanaError(OSError):
    """Grafana cannot be reached, or refuses."""


class RaceError(GrafanaError):
    """Somebody else saved the board, or one of the same title, since it was read."""


class Server(Protocol):
    """Where boards are pushed to."""

    def find(self, uid: str) -> Standing | None:
        """Return what stands under a uid; null for nothing."""
        ...

    def has_folder(self, uid: str) -> bool:
        """Return whether a folder is there."""
        ...

    def create_folder(self, uid: str, title: str) -> None:
        """Make a folder; one that is there meanwhile is fine."""
        ...

    def save(self, board: Json, *, folder: str, version: int | None, message: str) -> None:
        """Write a board over the version that was read, or as a new one when it is null."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class HttpServer:
    """A Grafana behind its HTTP API.

    Attributes:
        url: Where it answers, without a slash at the end.
        token: Of a service account that may write boards; empty where none is asked for.
    """

    url: str
    token: str

    def find(self, uid: str) -> Standing | None:
        """Return what stands under a uid; null for nothing.

        Raises:
            GrafanaError: It cannot be asked.
        """
        answer = self._ask("GET", f"/api/dashboards/uid/{uid}")
        if answer.status_code == NOT_FOUND:
            return None
        told = _body(answer)
        meta = told.get("meta", {})
        return Standing(
            board=told["dashboard"],
            version=int(meta.get("version") or told["dashboard"].get("version", 0)),
            folder=meta.get("folderUid") or "",
            wrote=self._newest_mark(uid),
            is_provisioned=bool(meta.get("provisioned")),
        )

    def has_folder(self, uid: str) -> bool:
        """Return whether a folder is there.

        Raises:
            GrafanaError: It cannot be asked.
        """
        answer = self._ask("GET", f"/api/folders/{uid}")
        return answer.status_code != NOT_FOUND and bool(_body(answer))

    def create_folder(self, uid: str, title: str) -> None:
        """Make a folder; one that is there meanwhile is fine.

        Raises:
            GrafanaError: It is refused.
        """
        answer = self._ask("POST", "/api/folders", {"uid": uid, "title": title})
        if answer.status_code in {CONFLICT, PRECONDITION_FAILED} and self.has_folder(uid):
            return
        _body(answer)

    def save(self, board: Json, *, folder: str, version: int | None, message: str) -> None:
        """Write a board over the version that was read, or as a new one when it is null.

        `overwrite` stays off: with it Grafana would take the board over whatever was saved since.

        Raises:
            RaceError: Somebody else was faster, or the title is taken in the folder.
            GrafanaError: It is refused for another reason.
        """
        bare = {key: value for key, value in board.items() if key not in SERVER_KEYS}
        told = bare | {"id": None} | ({} if version is None else {"version": version})
        body = {"dashboard": told, "folderUid": folder, "message": message, "overwrite": False}
        answer = self._ask("POST", "/api/dashboards/db", body)
        if answer.status_code == PRECONDITION_FAILED:
            raise RaceError(f"{board['uid']}: Grafana says {_reason(answer)}; run diff again")
        _body(answer)

    def _newest_mark(self, uid: str) -> str | None:
        answer = self._ask("GET", f"/api/dashboards/uid/{uid}/versions?limit=1")
        if answer.status_code == NOT_FOUND:
            return None
        told = _body(answer)
        # Grafana 11 wraps the list that older ones give bare.
        bare = cast("list[Json]", told)
        versions = cast("Json", told)["versions"] if isinstance(told, dict) else bare
        return marked_sum(str(versions[0].get("message", ""))) if versions else None

    def _ask(self, method: str, path: str, body: Json | None = None) -> requests.Response:
        headers = {"Authorization": f"Bearer {self.token}"} if self.token else {}
        try:
            return requests.request(
                method, f"{self.url}{path}", json=body, headers=headers, timeout=TIMEOUT_SECONDS
            )
        except requests.RequestException as error:
            raise GrafanaError(
                f"no answer from {self.url}: {type(error).__name__}; is it a Grafana, and is it up?"
            ) from error


def _body(answer: requests.Response) -> Any:  # noqa: ANN401 -- what a server says is checked where read
    if not answer.ok:
        raise GrafanaError(
            f"Grafana answers {answer.status_code} to {answer.request.method} "
            f"{answer.request.path_url}: {_reason(answer)}"
        )
    try:
        return answer.json()
    except ValueError as error:
        raise GrafanaError(
            f"what answers at {answer.request.path_url} is no Grafana: no JSON"
        ) from error


def _reason(answer: requests.Response) -> str:
    try:
        told = answer.json()
    except ValueError:
        return answer.text[:200]
    return str(told.get("status") or told.get("message") or told)
