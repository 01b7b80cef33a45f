"""Boards are compared with a Grafana and pushed to it: nothing is lost, and nothing done twice."""

import copy
import json
import threading
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from dashboards.boards import build_board_trees
from dashboards.jsontree import Json, panels_of
from dashboards.shipping.fingerprints import board_sum
from dashboards.shipping.pushes import Push, compare_boards, push_boards
from dashboards.shipping.servers import GrafanaError, HttpServer, RaceError
from paceline.commands.dashboards.app import app

BOARDS = {uid: tree for uid, tree in build_board_trees().items() if uid in {"aif-job", "aif-slo"}}
TOKEN = "a-token"  # noqa: S105 -- of the local server below
PUSH = Push(note="abc123")


class Grafana:
    """The state of a Grafana, and how it answers: 412 for races and taken titles, as the real one.

    A save without a folder moves a board to the root; a save over another version is refused.
    """

    def __init__(self) -> None:
        """Begin with nothing."""
        self.boards: dict[str, dict[str, Any]] = {}
        self.folders: dict[str, str] = {}
        self.saves = 0
        self.before_save: Callable[[], None] = lambda: None
        self.wraps_versions = True

    def put(self, board: Json, folder: str, message: str, *, provisioned: bool = False) -> int:
        """Save a board without a question, as a browser does; return its version."""
        kept = self.boards.setdefault(board["uid"], {"versions": []})
        version = len(kept["versions"]) + 1
        kept |= {"board": board | {"id": 7, "version": version}, "folder": folder}
        kept["provisioned"] = provisioned
        kept["versions"].insert(0, {"version": version, "message": message})
        return version

    def answer(self, method: str, path: str, body: Json) -> tuple[int, Any]:
        """Return status and body of an answer."""
        match [method, *path.partition("?")[0].strip("/").split("/")[1:]]:
            case ["GET", "dashboards", "uid", uid]:
                return self._read(uid)
            case ["GET", "dashboards", "uid", uid, "versions"]:
                versions = self.boards[uid]["versions"][:1]
                return 200, {"versions": versions} if self.wraps_versions else versions
            case ["POST", "dashboards", "db"]:
                self.before_save()
                return self._save(body)
            case ["GET", "folders", uid]:
                return (200, {"uid": uid}) if uid in self.folders else (404, {"message": "none"})
            case _:
                return self._make_folder(body)

    def _make_folder(self, body: Json) -> tuple[int, Any]:
        if body["uid"] in self.folders:
            return 412, {"message": "the folder has been changed by someone else"}
        self.folders[body["uid"]] = body["title"]
        return 200, body

    def _read(self, uid: str) -> tuple[int, Any]:
        if uid not in self.boards:
            return 404, {"message": "Dashboard not found"}
        kept = self.boards[uid]
        meta = {
            "version": kept["board"]["version"],
            "folderUid": kept["folder"],
            "provisioned": kept["provisioned"],
        }
        return 200, {"dashboard": kept["board"], "meta": meta}

    def _save(self, body: Json) -> tuple[int, Any]:
        board, folder = body["dashboard"], body.get("folderUid", "")
        kept = self.boards.get(board["uid"])
        if folder and folder not in self.folders:
            return 400, {"message": "folder not found"}
        if kept and kept["provisioned"]:
            return 400, {"message": "Cannot save provisioned dashboard"}
        titles = {
            one["board"]["title"]: uid
            for uid, one in self.boards.items()
            if one["folder"] == folder
        }
        if titles.get(board["title"], board["uid"]) != board["uid"]:
            return 412, {"status": "name-exists", "message": "a board with the same name exists"}
        current = kept["board"]["version"] if kept else board.get("version")
        if current != board.get("version") and not body["overwrite"]:
            return 412, {"status": "version-mismatch", "message": "changed by someone else"}
        self.saves += 1
        version = self.put(board, folder, body["message"])
        return 200, {"status": "success", "uid": board["uid"], "version": version}


@pytest.fixture
def grafana() -> Grafana:
    """Return an empty Grafana."""
    return Grafana()


@pytest.fixture
def server(grafana: Grafana) -> Iterator[HttpServer]:
    """Yield the way to that Grafana, over a real socket."""

    class Handler(BaseHTTPRequestHandler):
        """Passes requests on to the state."""

        def do_GET(self) -> None:
            self._pass_on("GET")

        def do_POST(self) -> None:
            self._pass_on("POST")

        def _pass_on(self, method: str) -> None:
            size = int(self.headers.get("Content-Length") or 0)
            body = json.loads(self.rfile.read(size) or b"{}")
            told = self.headers.get("Authorization")
            status, answer = (
                grafana.answer(method, self.path, body)
                if told == f"Bearer {TOKEN}"
                else (401, {"message": "Unauthorized"})
            )
            text = json.dumps(answer).encode()
            self.send_response(status)
            self.send_header("Content-Length", str(len(text)))
            self.end_headers()
            self.wfile.write(text)

        def log_message(self, format: str, *_: object) -> None:  # noqa: A002 -- the library's
            """Say nothing."""

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as http:
        thread = threading.Thread(target=http.serve_forever, args=(0.02,))
        thread.start()
        yield HttpServer(url=f"http://127.0.0.1:{http.server_port}", token=TOKEN)
        http.shutdown()
        thread.join()


def lines(changes: list[Any]) -> list[str]:
    """Return changes as lines."""
    return [str(change) for change in changes]


def differences(server: HttpServer) -> list[str]:
    """Return what a push would change, as lines."""
    return lines(compare_boards(BOARDS, server, "aif"))


def edited(board: Json) -> Json:
    """Return a board with one panel's title changed."""
    changed = copy.deepcopy(board)
    next(panels_of(changed))["title"] = "Mine"
    return changed


def test_first_push_creates(grafana: Grafana, server: HttpServer) -> None:
    """A first push makes the folder and the boards, with the commit in their message."""
    before = differences(server)
    done = push_boards(BOARDS, server, PUSH)

    assert before == lines(done) == ["create aif-job", "create aif-slo"]
    assert grafana.folders == {"aif": "AI fleet"}
    kept = grafana.boards["aif-job"]
    mark = f"abc123 [paceline {board_sum(BOARDS['aif-job'])}]"
    assert (kept["folder"], kept["versions"][0]["message"]) == ("aif", mark)


@pytest.mark.parametrize("wraps", [True, False], ids=["versions wrapped", "versions bare"])
def test_second_push_changes_nothing(grafana: Grafana, server: HttpServer, *, wraps: bool) -> None:
    """A second push saves no version, whatever form the list of versions has."""
    grafana.wraps_versions = wraps
    push_boards(BOARDS, server, PUSH)

    again = push_boards(BOARDS, server, PUSH)

    assert lines(again) == ["unchanged aif-job", "unchanged aif-slo"]
    assert grafana.saves == 2


def test_update(grafana: Grafana, server: HttpServer) -> None:
    """What we wrote and nobody has touched since is updated, and stays in its folder."""
    old = BOARDS | {"aif-job": edited(BOARDS["aif-job"])}
    push_boards(old, server, PUSH)

    before = differences(server)
    push_boards(BOARDS, server, PUSH)

    assert before == ["update aif-job", "unchanged aif-slo"]
    assert differences(server) == ["unchanged aif-job", "unchanged aif-slo"]
    assert grafana.boards["aif-job"]["folder"] == "aif"


def hand_made(grafana: Grafana) -> None:
    """Let a person make a board under one of our uids."""
    grafana.put({"uid": "aif-job", "title": "Mine", "panels": []}, "aif", "my own")


def edited_by_hand(grafana: Grafana) -> None:
    """Let a person change a board of ours."""
    grafana.put(edited(BOARDS["aif-job"]), "aif", "made it nicer")


def restored_by_hand(grafana: Grafana) -> None:
    """Let a person bring back an old version; Grafana keeps no message of ours for it."""
    grafana.put(edited(BOARDS["aif-job"]), "aif", "Restored from version 1")


def moved(grafana: Grafana) -> None:
    """Let a person move a board to the root."""
    grafana.boards["aif-job"]["folder"] = ""


@pytest.mark.parametrize(
    ("act", "reason"),
    [
        pytest.param(hand_made, "somebody else wrote what stands there", id="a board of theirs"),
        pytest.param(edited_by_hand, "somebody else wrote what stands there", id="an edit"),
        pytest.param(restored_by_hand, "somebody else wrote what stands there", id="a restore"),
        pytest.param(moved, "it stands in folder 'root' and not in 'aif'", id="a move"),
    ],
)
def test_drift_is_left_alone_until_told(
    grafana: Grafana, server: HttpServer, act: Callable[[Grafana], None], reason: str
) -> None:
    """What a person made, changed or moved is named, and taken over only when told."""
    push_boards(BOARDS, server, PUSH)
    act(grafana)
    saves = grafana.saves

    left = push_boards(BOARDS, server, PUSH)
    untouched = grafana.saves == saves
    push_boards(BOARDS, server, Push(overwrite=True))

    assert lines(left) == [f"drift aif-job: {reason}", "unchanged aif-slo"]
    assert untouched
    assert differences(server) == ["unchanged aif-job", "unchanged aif-slo"]


def test_change_without_a_new_version(grafana: Grafana, server: HttpServer) -> None:
    """A board that differs from what its own mark says was changed behind the history's back."""
    push_boards(BOARDS, server, PUSH)
    grafana.boards["aif-job"]["board"] = edited(BOARDS["aif-job"])

    assert differences(server)[0] == "drift aif-job: it was changed after the last push"


def test_race_with_another_push(grafana: Grafana, server: HttpServer) -> None:
    """When another push of the same boards is faster, ours finds its work done."""
    push_boards({"aif-job": edited(BOARDS["aif-job"])}, server, PUSH)
    rivals = iter([True])

    def rival() -> None:
        if next(rivals, False):
            message = f"rival [paceline {board_sum(BOARDS['aif-job'])}]"
            grafana.put(BOARDS["aif-job"], "aif", message)

    grafana.before_save = rival

    assert lines(push_boards({"aif-job": BOARDS["aif-job"]}, server, PUSH)) == ["unchanged aif-job"]


def test_race_with_a_person(grafana: Grafana, server: HttpServer) -> None:
    """When a person saves between our reading and writing, their work stays."""
    push_boards({"aif-job": edited(BOARDS["aif-job"])}, server, PUSH)
    rivals = iter([True])

    def rival() -> None:
        if next(rivals, False):
            hand_made(grafana)

    grafana.before_save = rival

    (change,) = push_boards({"aif-job": BOARDS["aif-job"]}, server, PUSH)
    assert change.kind == "drift"
    assert grafana.boards["aif-job"]["board"]["title"] == "Mine"


def test_title_that_is_taken(grafana: Grafana, server: HttpServer) -> None:
    """A board of the same title in the folder is refused by Grafana, and said so."""
    grafana.folders["aif"] = "AI fleet"
    title = BOARDS["aif-job"]["title"]
    grafana.put({"uid": "mine", "title": title, "panels": []}, "aif", "my own")

    with pytest.raises(RaceError, match="aif-job: Grafana says name-exists"):
        push_boards(BOARDS, server, PUSH)


def test_folder_that_is_made_meanwhile(grafana: Grafana, server: HttpServer) -> None:
    """Two pushes may make the folder at once."""
    grafana.folders["aif"] = "AI fleet"

    server.create_folder("aif", "AI fleet")

    assert grafana.folders == {"aif": "AI fleet"}


def test_provisioned_boards_are_left_to_their_file(grafana: Grafana, server: HttpServer) -> None:
    """A board that a file owns is told as what it is, and never pushed."""
    grafana.put(edited(BOARDS["aif-job"]), "aif", "", provisioned=True)

    reason = "a file on the server's disk owns it; change the file"
    assert differences(server) == [f"drift aif-job: {reason}", "create aif-slo"]
    pushed = push_boards({"aif-job": BOARDS["aif-job"]}, server, Push(overwrite=True))
    assert lines(pushed) == [f"drift aif-job: {reason}"]


def test_wrong_token(server: HttpServer) -> None:
    """A token that is refused is said so."""
    stranger = HttpServer(url=server.url, token="another")  # noqa: S106 -- refused below

    with pytest.raises(GrafanaError, match=r"answers 401 to GET .*: Unauthorized"):
        compare_boards(BOARDS, stranger, "aif")


def test_nobody_answers() -> None:
    """An address where nobody answers is refused in one line."""
    nobody = HttpServer(url="http://127.0.0.1:9", token="")

    with pytest.raises(GrafanaError, match=r"no answer from http://127\.0\.0\.1:9"):
        compare_boards(BOARDS, nobody, "aif")


@pytest.fixture
def website() -> Iterator[str]:
    """Yield the address of a server that is no Grafana."""

    class Handler(BaseHTTPRequestHandler):
        """Answers everything with a page."""

        def do_GET(self) -> None:
            """Answer with a page, or refuse in words."""
            status = 200 if self.path.startswith("/api/dashboards") else 500
            self.send_response(status)
            self.send_header("Content-Length", "5")
            self.end_headers()
            self.wfile.write(b"hello")

        def log_message(self, format: str, *_: object) -> None:  # noqa: A002 -- the library's
            """Say nothing."""

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as http:
        thread = threading.Thread(target=http.serve_forever, args=(0.02,))
        thread.start()
        yield f"http://127.0.0.1:{http.server_port}"
        http.shutdown()
        thread.join()


def test_what_is_no_grafana(website: str) -> None:
    """A server that answers with pages is told from a Grafana, whether it refuses or not."""
    server = HttpServer(url=website, token="")

    with pytest.raises(GrafanaError, match="is no Grafana: no JSON"):
        server.find("aif-job")
    with pytest.raises(GrafanaError, match="answers 500 to GET /api/folders/aif: hello"):
        server.has_folder("aif")


def test_token_file_that_cannot_be_read(tmp_path: Path) -> None:
    """A token file that is not there is refused in one line."""
    code, told = run("diff", "http://127.0.0.1:9", "--token-file", tmp_path / "gone")

    assert (code, "cannot read" in told[0]) == (2, True)


def run(*arguments: str | Path, token: str = TOKEN) -> tuple[int, list[str]]:
    """Return exit code and lines of a command."""
    runner = CliRunner(env={"COLUMNS": "200", "TERM": "dumb", "GRAFANA_TOKEN": token})
    result = runner.invoke(app, [*map(str, arguments)])
    return result.exit_code, result.output.splitlines()


def test_commands_against_a_grafana(grafana: Grafana, server: HttpServer, tmp_path: Path) -> None:
    """`diff` and `push` answer a line a board, and exit 1 where something drifted."""
    (tmp_path / "token").write_text(f"{TOKEN}\n")

    created = run("push", server.url, "--message", "abc", "--token-file", tmp_path / "token")
    unchanged = run("diff", server.url)
    edited_by_hand(grafana)
    drifted = run("diff", f"{server.url}/")
    left = run("push", server.url)

    uids = sorted(build_board_trees())
    assert created == (0, [f"create {uid}" for uid in uids])
    assert unchanged == (0, [f"unchanged {uid}" for uid in uids])
    line = "drift aif-job: somebody else wrote what stands there"
    assert (drifted[0], line in drifted[1]) == (1, True)
    hint = "what drifted was left alone; --overwrite takes it over"
    assert (left[0], left[1][-1]) == (1, hint)


@pytest.mark.parametrize("command", ["diff", "push"])
def test_refused_in_one_line(server: HttpServer, command: str) -> None:
    """A Grafana that refuses is a bad argument with a reason, not a traceback."""
    code, told = run(command, server.url, token="another")  # noqa: S106 -- refused

    assert (code, len(told), "401" in told[0]) == (2, 1, True)


def change_by_hand(folder: Path) -> None:
    """Change a file."""
    (folder / "aif-job.json").write_text("{}\n")


def replace_by_another(folder: Path) -> None:
    """Let a file stand there that no build wrote."""
    (folder / "boards.sha256").unlink()
    (folder / "aif-job.json").write_text("{}\n")


def tear(folder: Path) -> None:
    """Cut a file in two."""
    text = (folder / "aif-job.json").read_text()
    (folder / "aif-job.json").write_text(text[: len(text) // 2])


def age(folder: Path) -> None:
    """Let another version of the code have built a file."""
    sums = (folder / "boards.sha256").read_text().splitlines()
    old = "ca3d163bab055381827226140568f3bef7eaac187cebd76878e0b63e9e442356  aif-job.json"
    kept = [line for line in sums if not line.endswith("aif-job.json")]
    (folder / "boards.sha256").write_text("\n".join([*kept, old]))
    (folder / "aif-job.json").write_text("{}\n")


@pytest.mark.parametrize(
    ("act", "code", "line"),
    [
        pytest.param(
            lambda folder: (folder / "aif-job.json").unlink(), 0, "create aif-job", id="missing"
        ),
        pytest.param(age, 0, "update aif-job", id="built by another version"),
        pytest.param(
            change_by_hand, 1, "drift aif-job: it was changed by hand", id="changed by hand"
        ),
        pytest.param(
            replace_by_another, 1, "drift aif-job: boards.sha256 does not name it", id="unknown"
        ),
        pytest.param(tear, 1, "drift aif-job: it is no JSON", id="torn"),
    ],
)
def test_diff_of_a_folder(
    tmp_path: Path, act: Callable[[Path], object], code: int, line: str
) -> None:
    """A file that a build wrote is updated, and one that a hand wrote is drift."""
    run("build", "--out", tmp_path)
    act(tmp_path)

    found, told = run("diff", tmp_path)

    assert (found, line in told) == (code, True)


def test_diff_of_no_folder(tmp_path: Path) -> None:
    """What is neither a folder nor an address is refused."""
    code, told = run("diff", tmp_path / "gone")

    assert (code, "is no folder" in told[0]) == (2, True)
