"""The server of the playground: this computer only, its token in every address, no files, small bodies."""

import http.client
import json
import re
import signal
import socket
import subprocess
import sys
import threading

import pytest

from priorsvm import cli
from priorsvm.errors import InvalidInput
from priorsvm.playground import server as module
from priorsvm.playground.server import LARGEST_BODY, PlaygroundServer
from priorsvm.playground.state import default_state

STATE = default_state(points=[[-1.0, 0.0, 0], [1.0, 0.0, 1]])


@pytest.fixture(scope="module")
def server():
    with PlaygroundServer() as running:
        threading.Thread(target=running.serve_forever, daemon=True).start()
        yield running
        running.shutdown()


def request(server, method, path, body=None, **headers):
    """Return status, headers and text of an answer."""
    connection = http.client.HTTPConnection("127.0.0.1", server.server_port, timeout=20)
    connection.request(method, path, body, headers)
    found = connection.getresponse()
    text = found.read().decode()
    connection.close()
    return found.status, found.headers, text


def path_of(server, name=""):
    return f"/{server.token}/{name}"


def test_it_is_open_to_this_computer_only(server):
    assert server.server_address[0] == "127.0.0.1"
    assert server.url == f"http://127.0.0.1:{server.server_port}/{server.token}/"
    assert len(server.token) >= 32
    with PlaygroundServer() as other:
        assert other.token != server.token


@pytest.mark.parametrize(
    ("name", "kind", "content"),
    [
        ("", "text/html", "play.js"),
        ("play.js", "text/javascript", "export default"),
        ("start", "application/json", '"presets"'),
    ],
)
def test_the_page_its_script_and_the_presets_are_served(server, name, kind, content):
    status, headers, text = request(server, "GET", path_of(server, name))
    assert status == 200
    assert headers["Content-Type"] == f"{kind}; charset=utf-8"
    assert content in text
    assert headers["Cache-Control"] == "no-store"
    assert headers["X-Content-Type-Options"] == "nosniff"
    assert "default-src 'none'" in headers["Content-Security-Policy"]


def test_a_state_is_answered(server):
    status, _, text = request(server, "POST", path_of(server, "answer"), json.dumps(STATE))
    assert status == 200
    assert json.loads(text)["error"] is None
    status, _, text = request(server, "POST", path_of(server, "answer"), json.dumps({**STATE, "C": -1}))
    assert status == 200
    assert "C must be a number" in json.loads(text)["error"]


@pytest.mark.parametrize("method", ["GET", "POST"])
@pytest.mark.parametrize("path", ["/", "", "//", "/wrong/", "/wrong/start", "/start", "*", "/%00/", "/ü/"])
def test_another_token_is_refused(server, method, path):
    with socket.create_connection(server.server_address, timeout=20) as link:
        link.sendall(
            f"{method} {path} HTTP/1.1\r\nHost: 127.0.0.1:{server.server_port}\r\n"
            "Content-Length: 2\r\n\r\n{}".encode()
        )
        reply = link.makefile("rb").read()
    # Without a path the request is HTTP/0.9, whose answer has no status. Python 3.14 then reads no headers.
    refusals = (b"The token in the address is wrong", b"This address is for this computer only.")
    assert any(words in reply for words in refusals) or b" 400 " in reply.split(b"\r\n")[0]
    assert server.token.encode() not in reply
    assert b"presets" not in reply


def test_a_part_of_the_token_is_refused(server):
    for token in (server.token[:-1], server.token + "x", server.token.swapcase()):
        assert request(server, "GET", f"/{token}/start")[0] == 403


@pytest.mark.parametrize(
    "host", ["evil.example", "127.0.0.1", "127.0.0.1:1", "localhost", "evil.example:{port}", ""]
)
def test_another_host_is_refused(server, host):
    host = host.format(port=server.server_port)
    assert request(server, "GET", path_of(server), Host=host)[0] == 403
    body = json.dumps(STATE)
    assert request(server, "POST", path_of(server, "answer"), body, Host=host)[0] == 403


def test_localhost_is_a_name_of_this_computer(server):
    name = f"localhost:{server.server_port}"
    status, _, _ = request(server, "GET", path_of(server), Host=name, Origin=f"http://{name}")
    assert status == 200


@pytest.mark.parametrize(
    "origin", ["http://evil.example", "null", "https://127.0.0.1:{port}", "http://127.0.0.1:1"]
)
def test_another_origin_is_refused(server, origin):
    origin = origin.format(port=server.server_port)
    status, _, text = request(server, "POST", path_of(server, "answer"), json.dumps(STATE), Origin=origin)
    assert status == 403
    assert "other pages" in text


@pytest.mark.parametrize(
    "name",
    [
        "server.py",
        "../playground/server.py",
        "../../../../../../etc/passwd",
        "%2e%2e/%2e%2e/etc/passwd",
        "..%2f..%2fetc%2fpasswd",
        "play.js/../server.py",
        "/etc/passwd",
        "page.html",
        "play.js?x",
        "./",
        "answer",
        "__init__.py",
    ],
)
def test_no_other_file_is_served(server, name):
    status, _, text = request(server, "GET", path_of(server, name))
    assert status == 404
    assert text == "There is no such page."


@pytest.mark.parametrize("name", ["", "start", "play.js", "other"])
def test_only_states_are_posted(server, name):
    assert request(server, "POST", path_of(server, name), "{}")[0] == 404


@pytest.mark.parametrize("method", ["PUT", "DELETE", "OPTIONS", "HEAD", "PATCH"])
def test_other_methods_are_refused(server, method):
    assert request(server, method, path_of(server))[0] == 501


@pytest.mark.parametrize("body", ["", "{", "[[", "{'a': 1}", "[" * 50_000, "\0", "9" * 5000])
def test_a_body_that_is_not_json_is_refused(server, body):
    status, _, text = request(server, "POST", path_of(server, "answer"), body)
    assert status == 400
    assert text == "The body is not a JSON document."


@pytest.mark.parametrize("depth", [10, 500, 900, 990])
def test_nested_lists_are_refused_with_a_text(server, depth):
    body = '{"points": ' + "[" * depth + "]" * depth + "}"
    status, _, text = request(server, "POST", path_of(server, "answer"), body)
    assert status in (200, 400)
    assert "InvalidInput" in text or "not a JSON document" in text


def test_a_large_body_is_refused_before_it_is_read(server):
    with socket.create_connection(server.server_address, timeout=20) as link:
        link.sendall(
            f"POST {path_of(server, 'answer')} HTTP/1.1\r\nHost: 127.0.0.1:{server.server_port}\r\n"
            f"Content-Length: {LARGEST_BODY + 1}\r\n\r\n".encode()
        )
        reply = link.makefile("rb").read()
    assert b" 413 " in reply.split(b"\r\n")[0]
    assert f"more than {LARGEST_BODY} bytes".encode() in reply


@pytest.mark.parametrize("length", ["-1", "1e3", "many", "", "²", "9" * 30])
def test_a_body_without_a_valid_length_is_refused(server, length):
    with socket.create_connection(server.server_address, timeout=20) as link:
        link.sendall(
            f"POST {path_of(server, 'answer')} HTTP/1.1\r\nHost: 127.0.0.1:{server.server_port}\r\n"
            f"Content-Length: {length}\r\n\r\n".encode()
        )
        reply = link.makefile("rb").read()
    assert reply.split(b"\r\n")[0].split()[1] in (b"411", b"413")


def test_the_largest_state_fits_into_a_body(server):
    point = [-3.123456789012345, -3.123456789012345, 0]
    assert len(json.dumps(default_state(points=[point] * 200))) < LARGEST_BODY


def test_one_model_is_fitted_at_a_time(server, monkeypatch):
    running, most = [], []

    def slow(state):
        running.append(1)
        most.append(len(running))
        threading.Event().wait(0.05)
        running.pop()
        return {"error": None}

    monkeypatch.setattr(module, "answer", slow)
    threads = [
        threading.Thread(target=request, args=(server, "POST", path_of(server, "answer"), "{}"))
        for _ in range(4)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert most == [1, 1, 1, 1]


def test_a_lesson_that_does_not_exist_is_refused():
    with pytest.raises(InvalidInput, match="lesson must be a number"):
        PlaygroundServer(lesson=99)


# ---------------------------------------------------------------------- the command


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--port", "70000"], "a port from 0 to 65535, got '70000'"),
        (["--port", "-1"], "expected one argument|a port from 0"),
        (["--port", "web"], "a port from 0 to 65535, got 'web'"),
        (["--lesson", "99"], "lesson must be a number from 1 to [0-9]+, got 99"),
        (["--lesson", "0"], "an integer of at least 1, got '0'"),
    ],
)
def test_wrong_arguments_of_the_command_are_refused(arguments, message, capsys):
    with pytest.raises(SystemExit) as exited:
        cli.main(["play", "--no-browser", *arguments])
    assert exited.value.code == 2
    assert re.search(message, capsys.readouterr().err)


def test_a_port_in_use_is_named(server, capsys):
    with pytest.raises(SystemExit):
        cli.main(["play", "--no-browser", "--port", str(server.server_port)])
    assert f"cannot use port {server.server_port}" in capsys.readouterr().err


@pytest.mark.slow
def test_the_command_prints_its_address_and_ends_with_ctrl_c():
    run = [sys.executable, "-m", "priorsvm", "play", "--no-browser", "--lesson", "2"]
    # A shell that starts the tests in the background ignores Ctrl-C, and children inherit that.
    kept = signal.signal(signal.SIGINT, signal.default_int_handler)
    process = subprocess.Popen(run, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    signal.signal(signal.SIGINT, kept)
    try:
        line = process.stdout.readline()
        found = re.fullmatch(r"Playground: http://127\.0\.0\.1:(\d+)(/[\w-]{32}/)\n", line)
        assert found, line
        connection = http.client.HTTPConnection("127.0.0.1", int(found[1]), timeout=20)
        connection.request("GET", f"{found[2]}start")
        assert json.loads(connection.getresponse().read())["lesson"] == 2
        connection.close()
        process.send_signal(signal.SIGINT)
        assert process.wait(timeout=20) == 0
        assert process.stderr.read() == ""  # neither a log with the token nor a traceback
    finally:
        process.kill()
        process.communicate()


def test_a_browser_is_opened_at_the_address(monkeypatch, capsys):
    opened = threading.Event()
    addresses = []

    def open_it(address):
        addresses.append(address)
        opened.set()

    def ended(server):
        assert opened.wait(20)
        raise KeyboardInterrupt

    monkeypatch.setattr("webbrowser.open", open_it)
    monkeypatch.setattr(module, "warm_up", lambda server: None)
    monkeypatch.setattr(PlaygroundServer, "serve_forever", ended)
    assert cli.main(["play"]) == 0
    assert addresses[0] in capsys.readouterr().out
