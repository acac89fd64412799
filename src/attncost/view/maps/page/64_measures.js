// The measures of the open head, each among those of all heads, and what a window would cost.

function makeMeasures() {
  when("head", () => {
    showMeasures()
    showPrices()
  })
}

// Measures in a table are few enough to be seen at once, so the second half stands beside the first.
const HALVED_FROM = 6

function showMeasures() {
  const { measures } = header
  byId("measured").hidden = measures.length === 0
  // Beside an image there is one column.
  const whole = measures.length < HALVED_FROM || byId("text").hidden
  const half = whole ? measures.length : Math.ceil(measures.length / 2)
  const halves = [measures.slice(0, half), measures.slice(half)].filter(({ length }) => length)
  byId("measures").replaceChildren(...halves.map(tableOf))
}

function tableOf(measures) {
  // One head has no others to be compared with.
  const among = thumbs.length > 1
  const titles = ["Measure", "This head", ...(among ? ["Among all heads"] : [])]
  const head = titles.map((title, column) =>
    element("th", { scope: "col", class: column === 1 && "number" }, title),
  )
  const body = measures.map((measure) => {
    const value = valueOf(open.data, measure.key)
    const cells = [
      element("th", { scope: "row" }, measure.title, element("small", {}, measure.help)),
      element("td", { class: "number" }, inUnit(value, measure.unit)),
    ]
    if (among) cells.push(element("td", {}, spread(measure, value)))
    return element("tr", {}, ...cells)
  })
  const table = element("table", {}, element("thead", {}, element("tr", {}, ...head)))
  table.append(element("tbody", {}, ...body))
  return table
}

function drawing(tag, attributes, ...children) {
  const made = document.createElementNS("http://www.w3.org/2000/svg", tag)
  for (const [name, value] of Object.entries(attributes)) made.setAttribute(name, value)
  made.append(...children)
  return made
}

// Every head a stroke, this one longer, from the least to the most.
function spread({ key, title, unit }, value) {
  const values = thumbs.map(({ data }) => valueOf(data, key)).filter((one) => one !== null)
  if (values.length < 2 || value === null) return "–"
  const low = Math.min(...values)
  const high = Math.max(...values)
  const at = (one) => (high > low ? 4 + (152 * (one - low)) / (high - low) : 80).toFixed(1)
  const below = values.filter((one) => one < value).length
  const range = `from ${inUnit(low, unit)} to ${inUnit(high, unit)}`
  const said = `${title} ${range}; ${below} ${below === 1 ? "head is" : "heads are"} lower`
  const strokes = values.map((one) => `M${at(one)} 7v10`).join("")
  return drawing(
    "svg",
    { viewBox: "0 0 160 24", class: "spread", role: "img", "aria-label": said },
    drawing("title", {}, said),
    drawing("path", { d: strokes, class: "all" }),
    drawing("path", { d: `M${at(value)} 2v20`, class: "this" }),
  )
}

function showPrices() {
  const { price } = open.data
  const { swap } = open.layer
  byId("prices").hidden = !price && !swap
  const shown = [price && headPrice(price), swap && layerSwap(swap)]
  byId("price").replaceChildren(...shown.filter(Boolean))
}

function figureOf(value, name) {
  return element("div", {}, element("dt", {}, name), element("dd", {}, value))
}

function headPrice({ sentence, width, share, moves }) {
  const figures = []
  // Without a share there is no window that is worth it.
  if (share !== null && width !== null) {
    figures.push(figureOf(width.toLocaleString("en"), "tokens of width"))
  }
  if (share !== null) figures.push(figureOf(times(share), "of its cost"))
  if (share !== null && moves !== null) figures.push(figureOf(percent(moves), "its output moves"))
  const said = element("p", {}, sentence)
  if (figures.length === 0) return element("div", { class: "head-price" }, said)
  return element("div", { class: "head-price" }, element("dl", { class: "figures" }, ...figures), said)
}

function layerSwap({ line, sentence }) {
  const whose = element("b", {}, "The whole layer: ")
  const made = element("div", { class: "layer-swap" }, element("p", {}, whose, sentence))
  if (line) made.prepend(pasteable(line))
  return made
}

function pasteable(line) {
  const button = element("button", { type: "button" }, "Copy")
  button.setAttribute("aria-label", "Copy the line that swaps this layer")
  button.addEventListener("click", () => copied(line, button))
  return element("p", { class: "paste" }, element("code", {}, line), button)
}
