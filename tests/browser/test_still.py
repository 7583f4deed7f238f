"""A lab where no Python answers: in a notebook opened again, and in one that nbconvert wrote."""

from __future__ import annotations

from pathlib import Path

import nbformat
import pytest
from playwright.sync_api import Browser, Page, expect

from tests.browser.jupyter import OPEN, PANEL, ROOT, Server, dark, open_lab
from tests.browser.test_lab import QUIET, bind_by_mouse, cell, first_lab, shoot

SAVE = "() => window.jupyterapp.shell.currentWidget.context.save()"
SHUT_DOWN = "() => window.jupyterapp.shell.currentWidget.sessionContext.shutdown()"

CELLS = (
    "import workbench as wb\nfrom tests.widgets.programs import ADD, bind_both, parse",
    'lab = wb.lab(parse(ADD), panes=["who", "CUDA"])\nlab',
    "bind_both(lab)\n_ = lab.run()",
    'wb.lab(parse(ADD), panes=["memory"])',
)


def test_a_notebook_opened_again_shows_the_lab_or_its_last_page(lab_page: Page, server: Server):
    lab = first_lab(lab_page)
    still = lab_page.locator(".wb-still").first
    expect(still).to_be_hidden()
    lab.get_by_label("block 0, thread 5").click()
    bind_by_mouse(lab)
    expect(cell(still, "C[5]")).to_contain_text("thread 1")  # it follows, out of sight
    expect(still).to_be_hidden()
    lab_page.evaluate(SAVE)

    open_lab(lab_page, server)  # with the kernel that made it
    lab_page.evaluate(OPEN, "01_vector_add.ipynb")
    expect(cell(lab, "C[5]")).to_contain_text("thread 1")
    expect(still).to_be_hidden()

    lab_page.locator(PANEL).evaluate(QUIET)  # other views are still being made
    lab_page.evaluate(SHUT_DOWN)
    open_lab(lab_page, server)
    lab_page.evaluate(OPEN, "01_vector_add.ipynb")
    expect(cell(still, "C[5]")).to_contain_text("thread 1")
    expect(still).to_contain_text("You say: block 0, thread 5.")
    fault = lab_page.get_by_text("Error displaying widget: model not found")
    expect(fault).to_be_attached(timeout=60_000)
    expect(fault).to_be_hidden()
    for scheme in ("light", "dark"):
        dark(lab_page, scheme == "dark")
        still.scroll_into_view_if_needed()
        shoot(lab_page, f"opened-without-kernel-{scheme}")


@pytest.fixture(scope="module")
def executed(tmp_path_factory: pytest.TempPathFactory) -> nbformat.NotebookNode:
    """A notebook with two labs, run to its end, with the state of its widgets."""
    from nbclient import NotebookClient

    notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(c) for c in CELLS])
    folder = {"metadata": {"path": str(ROOT)}}
    NotebookClient(notebook, resources=folder, timeout=120, store_widget_state=True).execute()
    return notebook


@pytest.mark.parametrize("state", [True, False])
def test_what_nbconvert_writes_shows_the_labs_offline(
    browser: Browser, executed: nbformat.NotebookNode, tmp_path: Path, state: bool
):
    from nbconvert import HTMLExporter  # which takes a second to import

    metadata = executed.metadata if state else {}
    text, _ = HTMLExporter().from_notebook_node(
        nbformat.from_dict({**executed, "metadata": metadata})
    )
    file = tmp_path / "notebook.html"
    file.write_text(text)
    context = browser.new_context(viewport={"width": 1250, "height": 900}, offline=True)
    page = context.new_page()
    page.goto(file.as_uri())
    first, second = page.locator(".wb-still").all()
    expect(cell(first, "C[5]")).to_contain_text("block 1")
    expect(first).to_contain_text("every value is right: the start gives the same")
    expect(second).to_contain_text("global memory")
    expect(second.locator("svg").first).to_be_visible()
    shown = page.locator(".jp-OutputArea-child").filter(visible=True).all()
    assert all(output.locator(".wb-still").count() for output in shown), "nothing is empty"
    shoot(page, f"nbconvert-{'with' if state else 'without'}-state")
    context.close()
