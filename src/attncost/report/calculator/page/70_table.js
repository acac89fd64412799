// The same numbers as a table, for readers of screens, spreadsheets and scripts.

const ROWS = 12

function tableLengths() {
  const [low, high] = shownLengths()
  const step = (Math.log2(high) - Math.log2(low)) / (ROWS - 1)
  const powers = new Set()
  for (let i = 0; i < ROWS; i += 1) powers.add(2 ** Math.round(Math.log2(low) + i * step))
  return [...new Set([...powers, state.length])].filter((one) => one <= sizeOf("length").high)
    .sort((a, b) => a - b)
}

function tableColumns() {
  return contenders().flatMap(({ attention }) =>
    CURVES.filter(({ name }) => name !== "seconds" || !found.rates.problem).map((curve) => {
      const it = { ...state, attention }
      return { ...curve, attention, it, tree: curve.of(it), value: valueOver(curve.of, attention) }
    }))
}

function drawTable() {
  const columns = tableColumns()
  const several = contenders().length > 1
  const each = columns.length / contenders().length
  const number = (text) => element("td", { class: "number" }, text)
  byId("table").replaceChildren(element("table", {},
    element("thead", {},
      several && element("tr", {}, element("td", {}), ...contenders().map(({ attention }) =>
        element("th", { scope: "colgroup", colspan: each }, attentionTitle(attention)))),
      element("tr", {},
        element("th", { scope: "col", class: "number" }, "tokens"),
        ...columns.map(({ title }) => element("th", { scope: "col", class: "number" }, title)))),
    element("tbody", {}, ...tableLengths().map((length) =>
      element("tr", { "aria-current": length === state.length && "true" },
        element("th", { scope: "row", class: "number" }, whole(length)),
        ...columns.map(({ value, unit }) => number(show(value(length), unit))))))))
}

// Every digit: whole numbers exactly, as strings where a float would round them.
function exactCell(tree, it) {
  if (tree === null) return null
  const { numerator, denominator } = exact(tree, it)
  if (denominator !== 1n) return ratio({ numerator, denominator })
  return numerator <= BigInt(Number.MAX_SAFE_INTEGER) ? Number(numerator) : String(numerator)
}

function exported() {
  const columns = tableColumns()
  return tableLengths().map((length) => ({
    length,
    ...Object.fromEntries(columns.map(({ name, tree, it, attention }) =>
      [`${attention}_${name}`, exactCell(tree, { ...it, length })])),
  }))
}

function csv() {
  const rows = exported()
  const lines = [Object.keys(rows[0]), ...rows.map(Object.values)]
  return lines.map((row) => `${row.join(",")}\n`).join("")
}

const json = () => JSON.stringify({
  schema: "attncost.calculated/1", version: header.version, settings: state,
  longest: found.fit, takes_over: found.takesOver, crossings: found.crossings, lengths: exported(),
}, null, 1)

function makeExports() {
  byId("copy-csv").addEventListener("click", ({ currentTarget }) => copied(csv(), currentTarget))
  byId("copy-json").addEventListener("click", ({ currentTarget }) => copied(json(), currentTarget))
}
