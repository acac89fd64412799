"""`attncost calculator`: a page, its data, or both over HTTP to this machine alone."""

import http.client
import json
import threading

import pytest

from attncost.cli import main
from attncost.report.calculator.render import policy
from attncost.report.calculator.server import HOST, served


def test_it_writes_one_page_that_starts_with_the_model(tmp_path, capsys):
    page = tmp_path / "page.html"
    assert main(["calculator", "layer:d_model=512,heads=8", "-o", str(page)]) == 0
    said = capsys.readouterr().out
    assert str(page) in said
    assert "layer:d_model=512,heads=8" in said
    text = page.read_text(encoding="utf-8")
    assert len(text.encode()) <= 100_000
    assert text.startswith("<!doctype html>")
    assert "{{" not in text
    assert "http://" not in text.replace("http://www.w3.org/", "")


def test_its_data_start_with_the_sizes_of_the_model(capsys):
    assert main(["calculator", "qwen3-4b", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["schema"] == "attncost.calculator/1"
    start = found["start"]
    assert (start["d_model"], start["heads"], start["kv_heads"], start["head_dim"]) == (
        *(2560, 32, 8),
        128,
    )
    assert start["preset"] == found["model"] == "qwen3-4b"


def test_measured_rates_are_those_that_it_starts_with(tmp_path, capsys):
    file = tmp_path / "rates.json"
    schema = "attncost.calibration/1"
    rates = {"schema": schema, "flops_per_second": 2.5e11, "bytes_per_second": 1e10}
    file.write_text(json.dumps(rates))
    assert main(["calculator", "--json", "--calibration", str(file)]) == 0
    found = json.loads(capsys.readouterr().out)
    assert (found["calibration"]["flops"], found["calibration"]["bytes"]) == (2.5e11, 1e10)
    assert found["start"]["device"] == "calibrated"


@pytest.mark.parametrize(
    ("words", "reason"),
    [
        (["mixtral-8x7b"], "its feed-forward is Experts: use attncost plan"),
        (["--serve", "--json"], "leave one out"),
        (["--json", "-o", "page.html"], "--json writes no page"),
        (["--port", "8000"], "add --serve"),
        (["--serve", "--port", "70000"], "between 0 and 65,535, got 70000"),
        (["-o", "no/such/folder/page.html"], "cannot be written"),
    ],
)
def test_what_cannot_be_is_refused_in_a_line(words, reason, capsys):
    assert main(["calculator", *words]) == 2
    line = capsys.readouterr().err
    assert reason in line
    assert line.count("\n") == 1


@pytest.fixture
def port():
    with served("<p>the page</p>", port=0, policy=policy()) as server:
        running = threading.Thread(target=server.serve_forever)
        running.start()
        yield server.server_address[1]
        server.shutdown()
        running.join()


def _answer(port, path, *, host=None, method="GET"):
    connection = http.client.HTTPConnection(HOST, port, timeout=5)
    connection.request(method, path, headers={} if host is None else {"Host": host})
    answer = connection.getresponse()
    found = answer.status, answer.read(), dict(answer.getheaders())
    connection.close()
    return found


def test_the_server_gives_the_page_and_nothing_else(port):
    status, body, headers = _answer(port, "/")
    assert (status, body) == (200, b"<p>the page</p>")
    assert headers["X-Content-Type-Options"] == "nosniff"
    assert headers["Content-Security-Policy"].startswith("default-src 'none'; script-src 'sha256-")
    assert _answer(port, "/", host=f"localhost:{port}")[0] == 200
    for path in ("/page.html", "/../../etc/passwd", "/?x", "/%2e%2e/"):
        assert _answer(port, path)[0] == 404
    assert _answer(port, "/", method="POST")[0] == 501


@pytest.mark.parametrize("host", ["attacker.example", "127.0.0.1", "127.0.0.1:1", ""])
def test_the_server_answers_to_no_other_name(port, host):
    assert _answer(port, "/", host=host)[0] == 403


def test_a_taken_port_is_a_line(port, capsys):
    assert main(["calculator", "--serve", "--port", str(port)]) == 2
    line = capsys.readouterr().err
    assert f"port {port} of 127.0.0.1 cannot be listened on" in line
    assert line.count("\n") == 1


def test_a_port_that_was_left_is_taken_again():
    port = 0
    for _ in range(2):
        with served("", port=port, policy=policy()) as server:
            port = server.server_address[1]
            running = threading.Thread(target=server.serve_forever)
            running.start()
            assert _answer(port, "/")[0] == 200
            server.shutdown()
            running.join()
