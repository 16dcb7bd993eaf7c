"""Chromium without a window, driven through the pipes of its DevTools protocol."""

import base64
import contextlib
import json
import os
import queue
import shutil
import subprocess
import threading
import time

CHROMIUM = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
OPTIONS = (
    "--headless=new",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-dev-shm-usage",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1",
    "--remote-debugging-pipe",
)
SECONDS = 20


class Browser:
    """A browser with one page."""

    def __init__(self, profile):
        to_browser, self._write = os.pipe()
        self._read, from_browser = os.pipe()

        def pipes():
            # Chromium reads commands from descriptor 3 and writes answers to descriptor 4.
            low, high = os.dup(to_browser), os.dup(from_browser)
            first, second = os.dup(low), os.dup(high)
            os.dup2(first, 3)
            os.dup2(second, 4)

        self._process = subprocess.Popen(
            [CHROMIUM, *OPTIONS, f"--user-data-dir={profile}", "about:blank"],
            preexec_fn=pipes,
            close_fds=False,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        os.close(to_browser)
        os.close(from_browser)
        self._answers = queue.Queue()
        self._number = 0
        self.problems = []  # errors and exceptions on the console
        self.requests = []  # addresses that the page asked for
        self._session = None
        threading.Thread(target=self._listen, daemon=True).start()
        targets = self.send("Target.getTargets")["targetInfos"]
        page = next(target for target in targets if target["type"] == "page")
        self._session = self.send("Target.attachToTarget", targetId=page["targetId"], flatten=True)[
            "sessionId"
        ]
        for domain in ("Page", "Runtime", "Network", "Log"):
            self.send(f"{domain}.enable")

    def _listen(self):
        rest = b""
        with contextlib.suppress(OSError):
            while chunk := os.read(self._read, 1 << 16):
                *messages, rest = (rest + chunk).split(b"\0")
                for message in map(json.loads, messages):
                    self._note(message)
        self._answers.put(None)

    def _note(self, message):
        event, values = message.get("method"), message.get("params", {})
        if "id" in message:
            self._answers.put(message)
        elif event == "Runtime.exceptionThrown":
            self.problems.append(values["exceptionDetails"])
        elif event == "Log.entryAdded" and values["entry"]["level"] == "error":
            self.problems.append(values["entry"])
        elif event == "Network.requestWillBeSent":
            self.requests.append(values["request"]["url"])

    def send(self, method, **values):
        """Return the answer to a command."""
        self._number += 1
        message = {"id": self._number, "method": method, "params": values}
        if self._session:
            message["sessionId"] = self._session
        os.write(self._write, json.dumps(message).encode() + b"\0")
        while True:
            answer = self._answers.get(timeout=SECONDS)
            assert answer is not None, "Chromium ended"
            if answer["id"] == self._number:
                assert "error" not in answer, answer
                return answer["result"]

    def close(self):
        self._process.terminate()
        self._process.wait(timeout=20)
        os.close(self._write)

    # ------------------------------------------------------------------ the page

    def look(self, width=1280, height=900, dark=False):
        self.send(
            "Emulation.setDeviceMetricsOverride",
            width=width,
            height=height,
            deviceScaleFactor=1,
            mobile=False,
        )
        scheme = {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
        self.send("Emulation.setEmulatedMedia", features=[scheme])

    def open(self, address):
        self.send("Page.navigate", url=address)

    def run(self, script):
        """Return the value of a JavaScript expression."""
        answer = self.send(
            "Runtime.evaluate", expression=script, returnByValue=True, awaitPromise=True, userGesture=True
        )
        assert "exceptionDetails" not in answer, answer["exceptionDetails"]
        return answer["result"].get("value")

    def wait(self, script, seconds=20):
        """Return the value of an expression once it is true."""
        end = time.monotonic() + seconds
        while not (value := self.run(script)):
            assert time.monotonic() < end, f"still not true: {script}"
            time.sleep(0.02)
        return value

    def mouse(self, kind, x, y, buttons=1):
        self.send(
            "Input.dispatchMouseEvent", type=kind, x=x, y=y, button="left", buttons=buttons, clickCount=1
        )

    def click(self, x, y):
        self.mouse("mousePressed", x, y)
        self.mouse("mouseReleased", x, y, buttons=0)

    def drag(self, start, end, steps=6):
        self.mouse("mousePressed", *start)
        for k in range(1, steps + 1):
            x, y = (a + (b - a) * k / steps for a, b in zip(start, end, strict=True))
            self.mouse("mouseMoved", x, y)
        self.mouse("mouseReleased", *end, buttons=0)

    def press(self, key, code=None, modifiers=0):
        """Press and release a key, such as "ArrowUp", or "c"."""
        values = {"key": key, "code": code or key, "modifiers": modifiers}
        if len(key) == 1:
            values["text"] = key
        self.send("Input.dispatchKeyEvent", type="keyDown", **values)
        self.send("Input.dispatchKeyEvent", type="keyUp", **values)

    def picture(self, path, whole=True):
        """Write a screenshot of the page as PNG."""
        found = self.send("Page.captureScreenshot", captureBeyondViewport=whole)
        path.write_bytes(base64.b64decode(found["data"]))
