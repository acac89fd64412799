// Where the memory goes, part by part, for what is chosen and what it is compared with.

const TONES = {
  weights: "--s0", gradients: "--s5", optimizer: "--s3", cache: "--s1", state: "--s6",
  activations: "--s2", logits: "--s4",
}

function drawParts() {
  const tables = contenders().map(({ attention }) => partsTable({ ...state, attention }))
  byId("parts").replaceChildren(...tables)
  const estimated = parts(state).filter((one) => !one.exact).map(({ part }) => part)
  byId("parts-note").textContent = estimated.length
    ? `Estimates, of a plain implementation in PyTorch: ${estimated.join(", ")}. What a driver, ` +
      "libraries and an allocator take for themselves is left out."
    : ""
}

function partsTable(it) {
  const rows = parts(it)
    .map(({ part, tree, exact: known }) => ({ part, known, held: ratio(exact(tree, it)) }))
    .filter(({ held }) => held > 0)
  if (!rows.length) {
    return element("p", { class: "note" },
      `There is no formula of the memory of ${attentionTitle(it.attention)}.`)
  }
  const all = rows.reduce((sum, { held }) => sum + held, 0)
  const most = Math.max(all, it.memory)
  const line = ({ part, held }) =>
    element("tr", {},
      element("th", { scope: "row" }, part),
      element("td", { class: "number" }, show(held, "bytes")),
      element("td", { class: "number" }, show(held / all, "percent")),
      element("td", { class: "bars" }, toned(element("span", { class: "meter" }),
        { share: held / most, tone: `var(${TONES[part] ?? "--s0"})` })))
  const head = ["part", "memory", "share"].map((name, i) =>
    element("th", { scope: "col", class: i ? "number" : "" }, name))
  return element("table", {},
    element("caption", {}, `${attentionTitle(it.attention)}, ${whole(it.length)} tokens`),
    element("thead", {}, element("tr", {}, ...head, element("td", { class: "bars" }))),
    element("tbody", {}, ...rows.map(line)),
    element("tfoot", {}, element("tr", {},
      element("th", { scope: "row" }, "together"),
      element("td", { class: "number" }, show(all, "bytes")),
      element("td", { class: "number" }, show(all / it.memory, "percent")),
      element("td", { class: "bars" }, `of ${typed(it.memory, "bytes")}`))))
}
