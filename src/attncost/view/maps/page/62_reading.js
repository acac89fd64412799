// What is read where: one weight with four digits, its rank, and the keys that a query reads most.

const TOP = 8
const STATES = {
  masked: "masked: this query may not read this key",
  padded: "padding",
}

function makeReading() {
  when("place", () => {
    showReading(choice.query, choice.key)
    showTop()
    say(spokenReading())
  })
  when("hover", (query, key) => {
    if (query === null) showReading(choice.query, choice.key)
    else showReading(query, key)
  })
  when("view", drawMinimap)
  when("head", () => drawn(openThumb()).then(() => drawMinimap(map.view), fail))
  when("scale", () => drawMinimap(map.view))
  byId("query").addEventListener("change", () => goTyped("query"))
  byId("key").addEventListener("change", () => goTyped("key"))
  byId("minimap").addEventListener("click", goFromMinimap)
  byId("map").addEventListener("pointerleave", () => tell("hover", null, null))
}

function goTyped(side) {
  const { value } = byId(side)
  const shift = side === "query" ? shiftOf(open.layer) : 0
  if (value !== "" && Number.isFinite(Number(value))) choosePlace({ [side]: Number(value) - shift })
  byId(side).value = choice[side] + shift
}

const queryName = (query) => quoted(open.queries, queryToken(query))
const keyName = (key) => quoted(open.keys, keyToken(key))

function pairs(...entries) {
  return entries.map(([name, ...shown]) =>
    element("div", {}, element("dt", {}, name), element("dd", {}, ...shown)),
  )
}

function showReading(query, key) {
  const found = reading(query, key)
  const token = (name) => element("bdi", {}, name)
  const weight =
    found.state === "read"
      ? [element("strong", { id: "weight" }, digits(found.weight))]
      : [element("span", { id: "weight" }, STATES[found.state])]
  const rank = found.state === "read" ? ranked(found) : "–"
  byId("readout").replaceChildren(
    ...pairs(
      ["Weight", ...weight],
      ["Query", `${positionOf(query)} `, token(queryName(query))],
      ["Key", `${key} `, token(keyName(key))],
      ["Weight rank", rank],
    ),
  )
}

const ranked = ({ rank, read }) => `${rank.toLocaleString("en")} of ${read.toLocaleString("en")}`

function spokenReading() {
  const { query, key, weight, state } = reading(choice.query, choice.key)
  const said = state === "read" ? `weight ${digits(weight)}` : STATES[state]
  return `Query ${positionOf(query)} ${queryName(query)}, key ${key} ${keyName(key)}: ${said}.`
}

// The text alternative of a row of the map.
function showTop() {
  const { query } = choice
  byId("query").value = positionOf(query)
  byId("key").value = choice.key
  const best = open.head.top(query, TOP)
  const caption = element("caption", {}, `Top keys of query ${positionOf(query)} `)
  caption.append(element("bdi", {}, queryName(query)))
  if (best.length === 0) {
    byId("top").replaceChildren(element("p", { class: "note" }, `Query ${positionOf(query)} reads no key.`))
    return
  }
  const titles = ["Key", "Weight"].map((title) => element("th", { scope: "col" }, title))
  const head = element("thead", {}, element("tr", {}, ...titles))
  const body = element("tbody", {}, ...best.map(([key, weight]) => topRow(key, weight, best[0][1])))
  byId("top").replaceChildren(element("table", { class: "top" }, caption, head, body))
}

function topRow(key, weight, most) {
  const name = element("bdi", {}, shortToken(open.keys, keyToken(key), 24))
  const place = element("span", { class: "place" }, String(key))
  const button = element("button", { type: "button", class: "token" }, place, " ", name)
  button.addEventListener("click", () => choosePlace({ key }))
  if (key === choice.key) button.setAttribute("aria-current", "true")
  const share = most > 0 ? weight / most : 0
  const bar = element("span", { class: "gauge", style: `--share:${share}`, "aria-hidden": "true" })
  const number = element("td", { class: "number" }, digits(weight), bar)
  return element("tr", {}, element("th", { scope: "row" }, button), number)
}

// The whole map, small, with a frame around what is in view.
function drawMinimap(view) {
  const canvas = byId("minimap")
  const { head } = open
  if (!head || !view || !head.map) return
  const ratio = within(head.n / head.m, 0.25, 4)
  canvas.style.aspectRatio = String(1 / ratio)
  const { pen, width, height } = sized(canvas)
  const { canvas: source } = openThumb()
  pen.imageSmoothingEnabled = false
  pen.drawImage(source, 0, 0, width, height)
  pen.strokeStyle = styled("--accent")
  pen.lineWidth = 2
  const x = (view.key / head.m) * width
  const y = (view.query / head.n) * height
  const wide = Math.max((view.keys / head.m) * width - 2, 4)
  const high = Math.max((view.rows / head.n) * height - 2, 4)
  pen.strokeRect(x + 1, y + 1, wide, high)
}

function goFromMinimap(event) {
  const box = event.target.getBoundingClientRect()
  choosePlace({
    query: Math.floor(((event.clientY - box.top) / box.height) * open.head.n),
    key: Math.floor(((event.clientX - box.left) / box.width) * open.head.m),
  })
}
