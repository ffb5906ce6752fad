"""A headless Chromium, driven by Playwright (PyPI, kept in `.cache/page`)."""

import shutil
import sys

from lib import CACHE, Missing, locked, run

DRIVER = CACHE / "page"
PACKAGES = ["playwright==1.65.2", "greenlet==3.5.6"]


@locked("page")
def playwright():
    """Playwright as a context; has pip install it, once."""
    if not (DRIVER / "done").exists():
        done = run([sys.executable, "-m", "pip", "install", "-q", "--upgrade", "--target", DRIVER, *PACKAGES], check=False)
        if done.returncode != 0:
            raise Missing(f"Playwright: pip says {done.stderr[-300:]}")
        (DRIVER / "done").touch()
    sys.path.insert(0, str(DRIVER))
    from playwright.sync_api import sync_playwright

    return sync_playwright()


def start(driver):
    """The system's Chromium."""
    for name in ("chromium", "chromium-browser", "google-chrome"):
        if shutil.which(name):
            return driver.chromium.launch(executable_path=shutil.which(name), args=["--no-sandbox", "--allow-file-access-from-files"])
    raise Missing("chromium: tests/setup.sh installs it")
