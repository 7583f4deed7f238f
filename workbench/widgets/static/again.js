// A notebook's page that is loaded again while its Python lives: JupyterLab finds the labs again,
// but their outputs only if the notebook was saved. Where a lab's cell has none, they are put back.

const VIEW = "application/vnd.jupyter.widget-view+json";

/** Asks Python for what stands beside the view of `model`, and shows both in their cell. */
export function comeBack({ model }) {
  if (!emptyCell(model)) return;
  const show = ({ still, id }) => {
    if (still === undefined) return;
    model.off("msg:custom", show);
    const cell = emptyCell(model);
    if (!cell) return; // it was run meanwhile
    const view = { version_major: 2, version_minor: 0, model_id: id };
    cell.trusted = true; // it was run by who looks at it, which is what makes it so
    cell.outputs.add(shown({ "text/html": still, "text/plain": "" }));
    cell.outputs.add(shown({ [VIEW]: view, "text/html": "", "text/plain": "" }));
  };
  model.on("msg:custom", show);
  model.send({ do: "again" });
}

function shown(data) {
  return { output_type: "display_data", data, metadata: {} };
}

/** The cells of the notebook down to the one that shows the lab of `model`, which is the last;
 * none where that is not known: nothing but JupyterLab tells. */
export function cellsTo(model) {
  const cells = model.widget_manager?.context?.model?.cells;
  const id = model.get("cell");
  if (!id || !cells) return [];
  const all = Array.from({ length: cells.length }, (_, k) => cells.get(k));
  return all.slice(0, 1 + all.findIndex((cell) => cell.id === id && cell.type === "code"));
}

/** The cell that shows the lab of `model`, if it has no output. */
function emptyCell(model) {
  const found = cellsTo(model).at(-1);
  return found?.outputs.length === 0 ? found : null;
}
