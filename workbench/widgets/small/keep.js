/** What is typed in a view is not for JupyterLab: arrows leave the cell there, D D deletes it. */
function keep(event) {
  const passes = event.key === "Escape" || event.ctrlKey || event.metaKey;
  if (!passes && !(event.shiftKey && event.key === "Enter")) event.stopPropagation();
}
