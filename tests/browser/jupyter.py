"""A JupyterLab of its own for browser tests: throw-away folders, a free port, no network."""

from __future__ import annotations

import json
import os
import secrets
import shutil
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from playwright.sync_api import Locator, Page

ROOT = Path(__file__).parents[2]

CHROMIUM_ARGS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--font-render-hinting=none",
    "--force-color-profile=srgb",
]

SETTINGS: dict[str, dict[str, object]] = {
    "@jupyterlab/apputils-extension:notification": {
        "fetchNews": "false",
        "checkForUpdates": False,
        "doNotDisturbMode": True,
    },
    "@jupyterlab/docmanager-extension:plugin": {"autosave": False},
}
# Whether there is another build is asked of Node.js, at each load of the page.
UNASKED = {"buildCheck": False, "buildAvailable": False}


@dataclass(frozen=True)
class Server:
    """A running JupyterLab: its address, its token, its folder of notebooks."""

    base: str
    token: str
    root: Path


@contextmanager
def jupyterlab(tmp: Path, notebooks: list[Path]) -> Iterator[Server]:
    """Start JupyterLab over copies of `notebooks`, and end it."""
    root = tmp / "work"
    root.mkdir()
    for notebook in notebooks:
        shutil.copy(notebook, root)
    (tmp / "app").mkdir()
    (tmp / "app" / "overrides.json").write_text(json.dumps(SETTINGS))
    (tmp / "config" / "labconfig").mkdir(parents=True)
    (tmp / "config" / "labconfig" / "page_config.json").write_text(json.dumps(UNASKED))
    token = secrets.token_hex(16)
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    log = tmp / "server.log"
    with log.open("w") as output:
        server = subprocess.Popen(
            _command(port, token, root, tmp / "app"),
            env=_environment(tmp),
            stdout=output,
            stderr=subprocess.STDOUT,
        )
    try:
        made = Server(f"http://127.0.0.1:{port}", token, root)
        _wait(made, server, log)
        yield made
    finally:
        server.terminate()  # the server ends its kernels
        try:
            server.wait(15)
        except subprocess.TimeoutExpired:
            server.kill()
            server.wait()


# As `python -m jupyterlab`, without what tests/conftest.py leaves out of its own process.
START = (
    "import sys; sys.modules['rfc3987_syntax'] = None; from jupyterlab.labapp import main; main()"
)


def _command(port: int, token: str, root: Path, app: Path) -> list[str]:
    return [
        *(sys.executable, "-c", START, "--no-browser", "--allow-root"),
        "--ServerApp.ip=127.0.0.1",
        f"--ServerApp.port={port}",
        "--ServerApp.port_retries=0",
        f"--IdentityProvider.token={token}",
        f"--ServerApp.root_dir={root}",
        "--LabApp.expose_app_in_browser=True",  # gives the tests window.jupyterapp
        "--LabApp.extension_manager=readonly",
        "--LabApp.news_url=",
        f"--LabApp.app_settings_dir={app}",
        "--ServerApp.terminals_enabled=False",
        "--LanguageServerManager.autodetect=False",
    ]


def _environment(tmp: Path) -> dict[str, str]:
    folders = {
        "JUPYTER_CONFIG_DIR": "config",
        "JUPYTER_DATA_DIR": "data",
        "JUPYTER_RUNTIME_DIR": "run",
        "IPYTHONDIR": "ipython",
        "JUPYTERLAB_SETTINGS_DIR": "settings",
        "JUPYTERLAB_WORKSPACES_DIR": "workspaces",
    }
    own = {name: str(tmp / folder) for name, folder in folders.items()}
    return {**os.environ, **own, "PYTHONPATH": str(ROOT)}


def _wait(made: Server, server: subprocess.Popen[bytes], log: Path) -> None:
    request = urllib.request.Request(
        f"{made.base}/api/status", headers={"Authorization": f"token {made.token}"}
    )
    for _ in range(600):
        assert server.poll() is None, log.read_text()[-3000:]
        try:
            urllib.request.urlopen(request, timeout=2).read()
            return
        except OSError:
            time.sleep(0.1)
    raise AssertionError(log.read_text()[-3000:])


def open_lab(page: Page, server: Server) -> None:
    """Load JupyterLab in the page and wait until it is ready."""
    name = secrets.token_hex(3)
    page.goto(f"{server.base}/lab/workspaces/t{name}?token={server.token}&reset")
    page.wait_for_selector("#jupyterlab-splash", state="detached", timeout=120_000)
    page.wait_for_function("() => window.jupyterapp", timeout=120_000)
    page.evaluate("async () => { await window.jupyterapp.restored; }")


PANEL = ".jp-NotebookPanel:not(.lm-mod-hidden)"  # others may be open behind it
OPEN = """async (path) => {
  const app = window.jupyterapp;
  if (app.shell.leftCollapsed === false) app.shell.collapseLeft();
  const panel = await app.commands.execute('docmanager:open', {path, factory: 'Notebook'});
  await panel.context.ready; await panel.revealed; await panel.sessionContext.ready;
  app.shell.activateById(panel.id);
}"""

RUN_CELLS = """async (count) => {
  const app = window.jupyterapp;
  const notebook = app.shell.currentWidget.content;
  let run = 0;
  for (let k = 0; k < notebook.widgets.length && run < count; k++) {
    if (notebook.widgets[k].model.type !== 'code') continue;
    notebook.activeCellIndex = k; notebook.deselectAll();
    await app.commands.execute('notebook:run-cell');
    run += 1;
  }
  const errors = [];
  for (const cell of notebook.widgets) {
    if (cell.model.type !== 'code') continue;
    for (let i = 0; i < cell.model.outputs.length; i++) {
      const output = cell.model.outputs.get(i).toJSON();
      if (output.output_type === 'error') errors.push(output.ename + ': ' + output.evalue);
    }
  }
  return errors;
}"""

RESTART = """async () => {
  await window.jupyterapp.shell.currentWidget.sessionContext.session.kernel.restart();
}"""

CLOSE = """async () => {
  const panel = window.jupyterapp.shell.currentWidget;
  await panel.sessionContext.shutdown(); await panel.context.save(); panel.close();
  return panel.context.path;
}"""

CLEAR = """async (code) => {
  const app = window.jupyterapp, { sessionContext, context } = app.shell.currentWidget;
  const kernel = sessionContext.session?.kernel;
  if (!kernel) return false;
  await app.commands.execute('notebook:clear-all-cell-outputs');
  const { content } = await kernel.requestExecute({ code, store_history: false }).done;
  await context.save();
  return content.status === 'ok';
}"""

# All that a kernel keeps of the cells that it ran: the labs, their names, the lessons' schedules.
FORGET = """
import sys, ipywidgets
ipywidgets.Widget.close_all()
sys.modules["workbench.lesson.begin"]._begun.clear()
get_ipython().reset()
"""


def leave(page: Page, server: Server) -> None:
    """Make the notebook and its kernel what they were before the cells ran; quicker than anew.

    A notebook without a kernel is closed.
    """
    if not page.evaluate(CLEAR, FORGET):
        shutil.copy(ROOT / "lessons" / page.evaluate(CLOSE), server.root)


def run_cells(page: Page, notebook: str, count: int) -> Locator:
    """Open a notebook, run its first `count` code cells without an error, return its panel."""
    page.evaluate(OPEN, notebook)
    errors = page.evaluate(RUN_CELLS, count)
    assert not errors, (notebook, errors)
    return page.locator(PANEL)


def dark(page: Page, on: bool) -> None:
    """Switch JupyterLab's theme, unless it is that one: to set it again writes its settings."""
    there = f"document.body.dataset.jpThemeLight === '{str(not on).lower()}'"
    if page.evaluate(there):
        return
    theme = "JupyterLab Dark" if on else "JupyterLab Light"
    page.evaluate(
        "theme => window.jupyterapp.commands.execute('apputils:change-theme', {theme})", theme
    )
    page.wait_for_function(f"() => {there}")
