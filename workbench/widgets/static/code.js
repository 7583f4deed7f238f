// Programs as lines of tokens, with the signs of a diff and the marks that link panes.

import { h, prose } from "./dom.js";
import { briefTokens, foldUnchanged } from "./fold.js";

/** One line of code; `changed` lists the column spans that a diff marks. */
export function codeLine(tokens, names, changed = []) {
  const indent = /^ */.exec(tokens.map((token) => token[1]).join(""))[0].length;
  const line = h("code.wb-text", { "data-indent": indent });
  let column = 0;
  for (const [kind, text, key] of tokens) {
    line.append(...pieces(text, column, changed).map(([part, hot]) => token(kind, part, key, hot)));
    column += text.length;
  }
  const first = line.firstChild;
  if (indent && first?.nodeType === Node.TEXT_NODE) {
    // no line is struck through the indentation
    const rest = first.splitText(indent);
    first.replaceWith(h("span.wb-indent", {}, rest.previousSibling.data));
  }
  const head = headOf(tokens);
  if (names[head]) line.dataset.head = head;
  breakable(line, indent);
  return line;

  function token(kind, text, key, hot) {
    const classes = [kind && `wb-${kind}`, hot && "wb-changed"].filter(Boolean).join(".");
    const name = key && names[key];
    if (!name) return classes ? h(`span.${classes}`, {}, text) : text;
    return h(
      `span${classes ? "." + classes : ""}.wb-mark`,
      { "data-k": key, role: "button", tabindex: "-1", "aria-label": name.label },
      text,
    );
  }
}

/**
 * Where a line may be broken, as columns: behind the arguments of calls and the parts of a C loop,
 * and ahead of operators that stand in no brackets but those of calls.
 */
export function breaksOf(text) {
  const found = [];
  const calls = []; // of each open bracket: whether it is a call's
  let quoted = false;
  for (let at = 0; at < text.length; at += 1) {
    const sign = text[at];
    if (sign === '"') quoted = !quoted;
    if (quoted) continue;
    if (sign === "(" || sign === "[") calls.push(sign === "(" && /\w/.test(text[at - 1] ?? ""));
    else if (sign === ")" || sign === "]") calls.pop();
    else if (sign === " " && text[at - 1] === ";") found.push(at + 1);
    else if (sign === " " && calls.every(Boolean)) {
      const argument = text[at - 1] === "," && calls.length;
      const operator = /^([-+*/=]|in|and|or) /.test(text.slice(at + 1, at + 5));
      if ((argument || operator) && text.slice(0, at).trim()) found.push(at + 1);
    }
  }
  return found;
}

const LONG = 44; // letters that fit in the narrowest pane

/** Let a line go on below where it has no room, deeper than it begins: its pieces stay whole. */
function breakable(line, indent) {
  const text = line.textContent;
  const breaks = text.length > LONG ? breaksOf(text) : [];
  if (!breaks.length) return;
  const made = [h("span.wb-piece")];
  let column = 0;
  for (let node = line.firstChild; node; node = line.firstChild) {
    const end = column + node.textContent.length;
    const cut = breaks.find((at) => at > column && at < end);
    if (cut) node.after(cutOff(node, cut - column));
    made.at(-1).append(node);
    column = cut ?? end;
    if (breaks.includes(column)) made.push(h("wbr"), h("span.wb-piece"));
  }
  line.append(...made);
  line.classList.add("wb-long");
  line.style.setProperty("--hang", `${indent / 2 + 4}ch`);
}

/** Cut a text, or what holds one, behind so many letters; the rest is returned. */
function cutOff(node, letters) {
  if (node.nodeType === Node.TEXT_NODE) return node.splitText(letters);
  const rest = node.cloneNode(false);
  rest.textContent = node.textContent.slice(letters);
  node.textContent = node.textContent.slice(0, letters);
  return rest;
}

/** What the line of `tokens` is the head of, a loop or a block: the first that it names. */
function headOf(tokens) {
  const first = tokens.find(([kind, text]) => kind || text.trim());
  const heads = first?.[0] === "keyword" && /^(for|with)\b/.test(first[1].trim());
  return heads ? tokens.find(([, , key]) => key)?.[2] : undefined;
}

/** A line as it is, or, of a signature, without types and with a button that brings them. */
function shortLine(tokens, names) {
  const brief = briefTokens(tokens);
  if (!brief) return codeLine(tokens, names);
  const line = codeLine(brief, names);
  const whole = () => line.replaceWith(codeLine(tokens, names));
  line.append(h("button.wb-unfold", { onclick: whole, "aria-label": "types" }, "…"));
  return line;
}

/** `text`, which starts at `column`, cut at the edges of the changed spans. */
export function pieces(text, column, changed) {
  const inside = (at) => changed.some(([from, to]) => at >= from && at < to);
  const parts = [];
  for (let at = 0; at < text.length; at += 1) {
    const hot = inside(column + at);
    const last = parts[parts.length - 1];
    if (last && last[1] === hot) last[0] += text[at];
    else parts.push([text[at], hot]);
  }
  return parts;
}

const SIGN_WORD = { "+": "new line", "-": "removed line", "~": "changed line", " ": "" };

function gutter(sign, number) {
  return [
    h("span.wb-number", { "aria-hidden": "true" }, number ? String(number) : ""),
    h(
      "span.wb-sign",
      {},
      sign === "-" ? "−" : sign,
      SIGN_WORD[sign] ? h("span.wb-unseen", {}, `${SIGN_WORD[sign]}: `) : null,
    ),
  ];
}

/**
 * The rows of a diff: what came or changed carries its sign, and unless only what is there `now` is
 * shown, what went is struck through.
 */
export function diffRows(rows, lines, names, now = false) {
  return rows.flatMap(([sign, leftNo, rightNo, left, right, leftWords, rightWords]) => {
    const row = (mark, kind, number, line, words) =>
      h(
        `div.wb-line.wb-${kind}`,
        { title: mark === "-" ? "so it was before this step" : null },
        gutter(mark, number),
        codeLine(lines[line], names, words),
      );
    if (sign === "-") return now ? [] : [row("-", "gone", null, left, leftWords)];
    if (sign === "~" && now) return [row("~", "edit", rightNo, right, rightWords)];
    if (sign === "~") {
      const was = row("-", "was", null, left, leftWords);
      for (const mark of was.querySelectorAll(".wb-mark")) unmark(mark);
      delete was.querySelector(".wb-text").dataset.head;
      return [was, row("~", "edit", rightNo, right, rightWords)];
    }
    if (sign === "+") return [row("+", "come", rightNo, right, rightWords)];
    return [h("div.wb-line.wb-same", {}, gutter(" ", rightNo), shortLine(lines[right], names))];
  });
}

/** What is gone cannot be chosen: it stays text. */
function unmark(mark) {
  mark.removeAttribute("role");
  mark.removeAttribute("tabindex");
  mark.removeAttribute("aria-label");
  mark.classList.remove("wb-mark");
}

function plainRows(numbers, lines, names) {
  return numbers.map((line, k) =>
    h("div.wb-line", {}, gutter(" ", k + 1), shortLine(lines[line], names)),
  );
}

/** The text of a pane without its diff. */
export function plainText(pane, lines) {
  return pane.lines.map((line) => lines[line].map((token) => token[1]).join("")).join("\n");
}

/** Put `text` on the clipboard; whether the browser let us. */
export async function copied(text) {
  try {
    await navigator.clipboard.writeText(text);
    return true;
  } catch {
    const area = h("textarea", { readonly: true });
    area.value = text;
    document.body.append(area);
    area.select();
    const done = document.execCommand("copy"); // where a frame may not use the clipboard
    area.remove();
    return done;
  }
}

const ROOM = 24; // lines of a diff that are shown without folds, where nobody says

/**
 * A text pane: code, or the refusal that stands in its place. `room` is how many lines fit; a row
 * that `keeps` says is not folded.
 */
export function codeView(pane, page, lines, room = ROOM, keeps = undefined) {
  const names = page.names;
  if (!pane) return [h("p.wb-hint", {}, "This text was not made before the page was saved.")];
  if (pane.refusal) return [refusalView(pane.refusal)];
  const rows = pane.diff
    ? foldUnchanged(diffRows(pane.diff, lines, names, pane.now), room, pane.nests, keeps)
    : plainRows(pane.lines, lines, names);
  const body = h("div.wb-listing", { role: "group", "aria-label": pane.label }, rows);
  return [pane.note ? h("p.wb-hint", {}, prose(pane.note)) : null, body].filter(Boolean);
}

/** A refusal: its first line, what to do, and the rest folded. */
export function refusalView(refusal) {
  return h(
    "div.wb-refusal",
    {},
    h(
      "p.wb-headline",
      {},
      h("span.wb-stop", { "aria-hidden": "true" }, "✕ "),
      ...prose(refusal.headline),
    ),
    refusal.hint ? h("p", {}, h("b", {}, "Do: "), ...prose(refusal.hint)) : null,
    refusal.where || refusal.detail
      ? h(
          "details",
          {},
          h("summary", {}, "where, and what was found"),
          refusal.where ? h("pre.wb-where", {}, refusal.where) : null,
          refusal.detail ? h("pre.wb-where", {}, refusal.detail) : null,
        )
      : null,
  );
}
