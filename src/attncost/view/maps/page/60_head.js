// The open head: its heading, its map, and the controls around them.

let map = null

/** So many keys a query make a map that is low enough for the text to stand below it. */
const SHORT = 3

// While a head is being shown its map still speaks of what was chosen before.
let showing = false

function makeHead() {
  map = new MapView(byId("map"), { onRead: reads, onMove: (view) => tell("view", view) })
  header.layers.forEach((layer, index) => {
    byId("layer").append(element("option", { value: index, title: moduleName(layer) }, layerName(layer)))
  })
  byId("layer").addEventListener("input", () => {
    openChosen({ layer: Number(byId("layer").value) }).catch(fail)
  })
  byId("head").addEventListener("input", () => {
    openChosen({ head: Number(byId("head").value) }).catch(fail)
  })
  byId("previous").addEventListener("click", () => stepHead(-1))
  byId("next").addEventListener("click", () => stepHead(1))
  byId("zoom-in").addEventListener("click", () => zoomBy(2))
  byId("zoom-out").addEventListener("click", () => zoomBy(0.5))
  byId("zoom-fit").addEventListener("click", () => map.goTo(choice.query, choice.key, 0))
  byId("scale").addEventListener("input", () => scaleBy(byId("scale").value))
  when("head", showHead)
  when("place", showPlace)
}

// The head after the last one of a layer is the first one of the next.
function stepHead(step) {
  const all = header.layers.flatMap(({ heads }, layer) => heads.map((_, head) => ({ layer, head })))
  const here = all.findIndex(({ layer, head }) => layer === choice.layer && head === choice.head)
  openChosen(all[(here + step + all.length) % all.length]).catch(fail)
}

function stepLayer(step) {
  const count = header.layers.length
  openChosen({ layer: (choice.layer + step + count) % count }).catch(fail)
}

function scaleBy(kind) {
  byId("scale").value = kind
  setScale(kind)
  map.redraw()
  tell("scale")
}

// Around the chosen pair if it is in sight, and else around the middle.
function zoomBy(factor) {
  map.place.zoomAround(map.chosen, factor)
  map.moved()
}

function showHead() {
  const { layer, data, head } = open
  byId("head-title").textContent = headTitle(layer, data)
  byId("facts").textContent = facts(layer)
  byId("layer").value = choice.layer
  byId("head").replaceChildren(
    ...layer.heads.map(({ number }, index) => element("option", { value: index }, String(number))),
  )
  byId("head").value = choice.head
  byId("query").min = shiftOf(layer)
  byId("query").max = shiftOf(layer) + head.n - 1
  byId("key").max = head.m - 1
  byId("map").style.setProperty("--aspect", Math.max(head.m / head.n, 0.5))
  // A map of few queries leaves room below it.
  byId("main").classList.toggle("short", head.m > SHORT * head.n)
  showing = true
  map.show(head)
  showing = false
  say(`${headTitle(layer, data)} is open.`)
}

function layerName(layer) {
  const label = layerLabel(layer)
  return label === `layer ${layer.number}` ? String(layer.number) : label
}

function facts(layer) {
  const { n, m, d, pattern, cross, scale: factor, softcap, alibi, bias } = layer
  const queries = n === 1 ? "1 query" : `${n.toLocaleString("en")} queries`
  const size = `${queries} × ${m.toLocaleString("en")} keys`
  if (open.data.weights) return size
  const said = [
    layerLabel(layer) !== moduleName(layer) && moduleName(layer),
    size,
    cross && "cross attention",
    patternLabel(pattern),
    d && `${d} features`,
    factor && `scores × ${short(factor, 4)}`,
    softcap && `soft cap ${short(softcap)}`,
    alibi && `ALiBi slope ${short(alibi[choice.head], 4)}`,
    bias && "a bias is added",
  ]
  return said.filter(Boolean).join(" · ")
}

function reads(query, key, weight, state, chosen) {
  if (!chosen) return tell("hover", query, key)
  if (showing) return
  if (query !== choice.query || key !== choice.key) choosePlace({ query, key })
}

function showPlace() {
  const there = map.view.chosen
  if (there?.query !== choice.query || there?.key !== choice.key) map.goTo(choice.query, choice.key)
}
