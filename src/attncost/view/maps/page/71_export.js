// Files for others: the view as PNG or SVG, its weights or those of the chosen query as CSV.

const MOST_ROWS = 1_000_000
// A line of a table takes about so much; files above a megabyte are announced.
const LINE_BYTES = 40
const ANNOUNCED = 1_000_000

function makeExports() {
  onClick("save-png", savePng)
  onClick("save-svg", saveSvg)
  onClick("save-csv", () => save(csvOfView(), "text/csv", "view.csv"))
  onClick("save-row", () => {
    const { query } = choice
    const name = `query-${positionOf(query)}.csv`
    save(csv([[query, query + 1, 0, open.head.m]]), "text/csv", name)
  })
  when("view", announceSize)
  onClick("copy-link", () => copied(location.href, byId("copy-link")))
  byId("copy-link").hidden = location.protocol === "about:"
}

// Whatever goes wrong in a click is shown on the page.
function onClick(id, act) {
  byId(id).addEventListener("click", async () => {
    try {
      await act()
    } catch (error) {
      fail(error)
    }
  })
}

const named = (part) => part.toLowerCase().replace(/[^\p{L}\p{N}]+/gu, "-").replace(/^-|-$/g, "")

function fileName(end) {
  const head = open.data.weights ? [] : [layerLabel(open.layer), `head ${open.data.number}`]
  const about = [header.title, ...head]
  return `${about.map(named).filter(Boolean).join("-")}${end.includes(".") ? "-" : "."}${end}`
}

function save(content, type, end) {
  const coded = { type: `${type};charset=utf-8` }
  const blob = content instanceof Blob ? content : new Blob([content], coded)
  const href = URL.createObjectURL(blob)
  element("a", { href, download: fileName(end) }).click()
  setTimeout(() => URL.revokeObjectURL(href), 60_000)
  say(`Saved ${fileName(end)}.`)
}

async function savePng() {
  await map.settled()
  const canvas = figureCanvas(figureShapes(themed()))
  const blob = await new Promise((resolve) => canvas.toBlob(resolve, "image/png"))
  if (!blob) throw new Error("The browser could not encode the picture; make the window smaller.")
  save(blob, "image/png", "png")
}

async function saveSvg() {
  await map.settled()
  const text = new XMLSerializer().serializeToString(figureElement(figureShapes(themed())))
  save(text, "image/svg+xml", "svg")
}

/** Return the queries and keys in view, half ones included, and how many pairs they are. */
function boxOf({ query, key, rows: high, keys: wide }) {
  const box = [query, query + high, key, key + wide].map((edge, z) =>
    z % 2 ? Math.ceil(edge - 1e-9) : Math.floor(edge),
  )
  return { box, count: (box[1] - box[0]) * (box[3] - box[2]) }
}

// A large file is announced before it is made.
function announceSize(view) {
  const { count } = boxOf(view)
  const large = count * LINE_BYTES > ANNOUNCED
  const said = large ? `CSV: ${count.toLocaleString("en")} weights` : "CSV"
  const button = byId("save-csv")
  if (button.textContent === said) return
  button.textContent = said
  button.setAttribute("aria-label", `${said}: save the weights in view`)
}

function csvOfView() {
  const { box, count } = boxOf(map.view)
  if (count > MOST_ROWS) {
    throw new Error(
      `The view holds ${count.toLocaleString("en")} weights, more than ` +
        `${MOST_ROWS.toLocaleString("en")}; zoom in, or save the chosen query.`,
    )
  }
  return csv([box])
}

// A table program runs a cell that begins like a formula, so such a token gets a "'" before it.
function quotedCell(sequence, token) {
  const plain = sequence.tokens[token] ?? ""
  const safe = /^[=+\-@\t\r]/.test(plain) ? `'${plain}` : plain
  return `"${safe.replace(/"/g, '""')}"`
}

function csv(boxes) {
  const lines = ["query,query_token,key,key_token,state,weight"]
  for (const [row0, row1, key0, key1] of boxes) {
    const keys = []
    for (let key = key0; key < key1; key++) keys.push(quotedCell(open.keys, keyToken(key)))
    for (let query = row0; query < row1; query++) {
      const weights = open.head.tile(query, query + 1, key0, key1)
      const token = quotedCell(open.queries, queryToken(query))
      for (let key = key0; key < key1; key++) {
        const state = open.head.state(query, key)
        const weight = state === "read" ? weights[key - key0].toPrecision(7) : ""
        lines.push([positionOf(query), token, key, keys[key - key0], state, weight].join(","))
      }
    }
  }
  return `${lines.join("\r\n")}\r\n`
}
