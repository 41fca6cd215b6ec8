"""What all tests share: the toy network's trace and capture, a browser, and a Ctrl-C that works."""

import shutil
import signal
from contextlib import contextmanager

import pytest

from planezip.records import Capture, Trace
from toynet import build_capture, build_trace

CHROMIUM = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")

# Shells start background jobs with Ctrl-C ignored, and their children inherit that.
signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.fixture(scope="session")
def trace() -> Trace:
    return build_trace()


@pytest.fixture(scope="session")
def capture(trace: Trace) -> Capture:
    return build_capture(trace)


@pytest.fixture(scope="module")
def browser():
    """Headless Chromium; without one there is nothing to look at the pages with."""
    driver = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
    program = next((path for name in CHROMIUM if (path := shutil.which(name))), None)
    if program is None:
        pytest.skip(f"no Chromium on this machine: none of {', '.join(CHROMIUM)}")
    with driver.sync_playwright() as playwright:
        running = playwright.chromium.launch(executable_path=program)
        yield running
        running.close()


@pytest.fixture
def opened(browser):
    """Opens a folder's page; fails if the page complains, or requests more than itself."""

    @contextmanager
    def opening(folder, **settings):
        context = browser.new_context(**settings)
        page = context.new_page()
        heard, asked = [], []
        page.on("console", lambda message: heard.append(message.text))
        page.on("pageerror", lambda error: heard.append(str(error)))
        page.on("request", lambda request: asked.append(request.url))
        address = (folder / "report.html").as_uri()
        page.goto(address)
        yield page
        context.close()
        assert heard == []
        assert [url for url in asked if not url.startswith("data:")] == [address]

    return opening
