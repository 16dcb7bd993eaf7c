"""The playground in a notebook: its messages, its attributes, and the error without anywidget."""

import sys

import numpy as np
import pytest

import priorsvm
from priorsvm.errors import InvalidInput, PackageNotInstalled
from priorsvm.playground.state import default_state

pytest.importorskip("anywidget")

POINTS = [[-1.0, 0.0, 0], [1.0, 0.5, 1], [1.5, 0.0, 1]]


@pytest.fixture
def widget(monkeypatch):
    made = priorsvm.play(lesson=6)
    made.sent = []
    monkeypatch.setattr(type(made), "send", lambda self, content, buffers=None: self.sent.append(content))
    return made


def test_a_message_is_answered_with_its_number(widget):
    state = default_state(points=POINTS, draft=True)
    widget._handle_custom_msg({"number": 7, "state": state}, [])
    [reply] = widget.sent
    assert reply["number"] == 7
    assert reply["answer"]["error"] is None
    assert widget.state == {**state, "draft": False}
    assert widget.code == reply["answer"]["code"]
    assert [row["f"] for row in reply["answer"]["rows"]] == pytest.approx(
        widget.model.decision_function(np.array(POINTS)[:, :2])
    )


@pytest.mark.parametrize("message", [{}, {"number": 1}, {"number": 1, "state": {"C": 1}}])
def test_a_bad_message_is_answered_with_an_error(widget, message):
    before = widget.state
    widget._handle_custom_msg(message, [])
    assert "InvalidInput" in widget.sent[0]["answer"]["error"]
    assert widget.state == before


def test_the_first_lesson_is_shown(widget):
    assert widget.start["lesson"] == 6
    assert [shape["kind"] for shape in widget.state["shapes"]] == ["box"]
    assert "Box(" in widget.code
    with pytest.raises(InvalidInput, match="lesson must be"):
        priorsvm.play(lesson=99)


def test_the_widget_has_the_front_end_of_the_browser(widget):
    from priorsvm.playground.server import resource

    assert str(widget._esm) == resource("play.js").decode()


def test_without_anywidget_the_error_names_the_package(monkeypatch):
    monkeypatch.setitem(sys.modules, "anywidget", None)
    monkeypatch.delitem(sys.modules, "priorsvm.playground.notebook", raising=False)
    with pytest.raises(PackageNotInstalled, match=r"pip install anywidget\."):
        priorsvm.play()


@pytest.mark.slow
def test_a_kernel_shows_the_widget_and_answers_its_messages():
    client_module = pytest.importorskip("jupyter_client.manager")
    pytest.importorskip("ipykernel")
    manager, client = client_module.start_new_kernel()
    try:
        client.execute("import priorsvm\npriorsvm.play(lesson=2)")
        view = "application/vnd.jupyter.widget-view+json"
        shown = received(client, lambda kind, content: view in content.get("data", {}))
        number = shown["data"][view]["model_id"]
        question = {"method": "custom", "content": {"number": 3, "state": default_state(points=POINTS)}}
        client.shell_channel.send(client.session.msg("comm_msg", {"comm_id": number, "data": question}))
        reply = received(
            client, lambda kind, content: kind == "comm_msg" and content["data"]["method"] == "custom"
        )
        assert reply["data"]["content"]["number"] == 3
        assert reply["data"]["content"]["answer"]["error"] is None
    finally:
        client.stop_channels()
        manager.shutdown_kernel(now=True)


def received(client, wanted):
    """Return the content of the first message of a kernel that is wanted."""
    while True:
        message = client.get_iopub_msg(timeout=60)
        assert message["msg_type"] != "error", message["content"]
        if wanted(message["msg_type"], message["content"]):
            return message["content"]
