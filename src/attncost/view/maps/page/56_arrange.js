// The order of the heads: as in the model, or by a measure; and which of them are shown.

const measureOf = (key) => header.measures.find((measure) => measure.key === key)
const valueOf = (data, key) => data.measures[key] ?? null

function makeArrangement() {
  const select = byId("measure")
  for (const { key, title } of header.measures) {
    select.append(element("option", { value: key }, title))
  }
  const grid = byId("heads")
  const form = byId("arrange")
  form.hidden = header.measures.length === 0 || thumbs.length < 2
  form.addEventListener("submit", (event) => event.preventDefault())
  form.addEventListener("input", arrangeThumbs)
  select.addEventListener("input", () => {
    byId("from").value = ""
    byId("to").value = ""
    arrangeThumbs()
  })
  arrangeThumbs()
  grid.addEventListener("scroll", fadeMore)
  new ResizeObserver(fadeMore).observe(grid)
}

// Heads that lie below the edge show that they are there: the last row fades.
function fadeMore() {
  const { scrollTop, clientHeight, scrollHeight, classList } = byId("heads")
  classList.toggle("more", scrollTop + clientHeight < scrollHeight - 4)
}

// A share is typed as it is shown, in percent.
function typed(id, unit, otherwise) {
  const { value } = byId(id)
  if (value === "" || !Number.isFinite(Number(value))) return otherwise
  return unit === "percent" ? Number(value) / 100 : Number(value)
}

function arrangeThumbs() {
  const key = byId("measure").value
  const order = byId("order").value
  const measure = measureOf(key)
  const unit = measure?.unit
  byId("from-label").textContent = unit === "percent" ? "From %" : "From"
  const low = typed("from", unit, -Infinity)
  const high = typed("to", unit, Infinity)
  const limited = low > -Infinity || high < Infinity
  const kept = thumbs.filter(({ data }) => {
    const value = key ? valueOf(data, key) : null
    return !limited || (value !== null && value >= low && value <= high)
  })
  if (measure) gaugeThumbs(measure)
  const grid = byId("heads")
  grid.classList.toggle("sorted", order !== "model")
  grid.replaceChildren(...(order === "model" ? asInModel(kept) : byMeasure(kept, key, order)))
  byId("shown").textContent = limited ? `${kept.length} of ${thumbs.length} heads` : ""
  fadeMore()
  if (open.head) markOpenThumb()
}

function gaugeThumbs({ key, title, unit }) {
  const values = thumbs.map(({ data }) => valueOf(data, key)).filter((value) => value !== null)
  const most = values.reduce((one, other) => Math.max(one, other), 0)
  for (const { layer, data, button } of thumbs) {
    const value = valueOf(data, key)
    const share = most > 0 && value !== null ? within(value / most, 0, 1) : 0
    const [, gauge, shown] = button.children
    gauge.style.setProperty("--share", share)
    // The unit stands in the select above, and in the name of the button.
    shown.textContent = unit === "percent" && value !== null ? percent(value) : digits(value, 3)
    const label = headLabel(header.layers[layer], data)
    button.title = `${label}: ${title.toLowerCase()} ${inUnit(value, unit)}`
    button.setAttribute("aria-label", button.title)
  }
}

const cell = (thumb) => element("div", { role: "gridcell" }, thumb.button)

function asInModel(kept) {
  const columns = Math.max(...header.layers.map(({ heads }) => heads.length))
  byId("heads").style.setProperty("--columns", columns)
  const shown = new Set(kept)
  const rows = header.layers.map((layer, layerIndex) => {
    const mine = thumbs.filter((thumb) => thumb.layer === layerIndex)
    const cells = mine.map((thumb) =>
      shown.has(thumb) ? cell(thumb) : element("div", { role: "gridcell", class: "left-out" }),
    )
    const name = element("div", { role: "rowheader", title: moduleName(layer) }, marginLabel(layer))
    return element("div", { role: "row" }, name, ...cells)
  })
  return [headNumbers(columns), ...rows]
}

function headNumbers(columns) {
  const longest = header.layers.find(({ heads }) => heads.length === columns)
  const cells = longest.heads.map(({ number }) =>
    element("div", { role: "columnheader" }, String(number)),
  )
  const corner = element("div", { role: "columnheader" }, "layer")
  return element("div", { role: "row", class: "numbers" }, corner, ...cells)
}

function byMeasure(kept, key, order) {
  const sign = order === "most" ? -1 : 1
  const sorted = [...kept].sort(({ data: one }, { data: other }) => {
    const [a, b] = [valueOf(one, key), valueOf(other, key)]
    if (a === null || b === null) return (a === null) - (b === null)
    return sign * (a - b)
  })
  const cells = sorted.map((thumb) => {
    const layer = header.layers[thumb.layer]
    const name = `${marginLabel(layer)} · ${thumb.data.number}`
    return element("div", { role: "gridcell" }, thumb.button, element("small", {}, name))
  })
  return cells.length ? [element("div", { role: "row" }, ...cells)] : []
}
