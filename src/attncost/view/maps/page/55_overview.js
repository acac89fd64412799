// The grid of all heads: layers as rows, heads as columns, each a picture of its pooled map. A
// thousand pictures are drawn only as they come into sight.

const thumbs = []
let seer = null

function makeThumb(layerIndex, headIndex) {
  const layer = header.layers[layerIndex]
  const data = layer.heads[headIndex]
  const [rows, columns] = data.map.shape
  const canvas = element("canvas", { width: columns, height: rows, "aria-hidden": "true" })
  const button = element(
    "button",
    { type: "button", class: "thumb", tabindex: "-1", title: headLabel(layer, data) },
    canvas,
    element("span", { class: "gauge", "aria-hidden": "true" }),
    element("span", { class: "value", "aria-hidden": "true" }),
  )
  const thumb = { layer: layerIndex, head: headIndex, data, canvas, button, drawn: false }
  button.addEventListener("click", () => visit({ layer: layerIndex, head: headIndex }))
  canvas.thumb = thumb
  return thumb
}

async function drawn(thumb) {
  if (thumb.drawn) return
  const layer = header.layers[thumb.layer]
  const [map, by, padded] = await Promise.all([
    decoded(thumb.data.map),
    scaleOfThumbs(),
    paddedCells(layer, thumb.data.map.shape),
  ])
  const pen = thumb.canvas.getContext("2d")
  const image = pen.createImageData(thumb.canvas.width, thumb.canvas.height)
  const pixels = new Uint32Array(image.data.buffer)
  const inks = Uint32Array.from({ length: 256 }, (_, number) => by.ink(massOf(number)))
  for (let z = 0; z < map.length; z++) pixels[z] = inks[map[z]]
  pen.putImageData(image, 0, 0)
  hatchPadding(pen, thumb.canvas, padded)
  thumb.drawn = true
}

/** So many heads are enough to know how large the cells of all are. */
const HEADS_FITTED = 64
let thumbScale = null

// One scale for all pictures, so that they can be compared.
async function scaleOfThumbs() {
  if (scale.kind !== "fitted") return scale
  thumbScale ??= (async () => {
    const step = Math.ceil(thumbs.length / HEADS_FITTED)
    const some = thumbs.filter((_, place) => place % step === 0)
    return scaleOfCells(countsOf(await Promise.all(some.map(({ data }) => decoded(data.map)))))
  })()
  return thumbScale
}

/** Return the rows and columns of a pooled map that hold nothing but padding. */
async function paddedCells(layer, [rows, columns]) {
  const all = async (sequence, count, cells) => {
    const padding = lastOf(await decodedOrNull(header.sequences[sequence].padded), count)
    const block = Math.ceil(count / cells)
    const inside = (cell) => padding.subarray(cell * block, Math.min(count, (cell + 1) * block))
    return Array.from({ length: cells }, (_, cell) => padding !== null && !inside(cell).includes(0))
  }
  const both = [all(layer.queries, layer.n, rows), all(layer.keys, layer.m, columns)]
  const [queries, keys] = await Promise.all(both)
  return { queries, keys }
}

// Lines over padding, as in the map; what is masked is plain.
function hatchPadding(pen, { width, height }, { queries, keys }) {
  const period = Math.max(3, Math.round(Math.max(width, height) / 10))
  pen.fillStyle = styled("--edge")
  for (let row = 0; row < height; row++) {
    for (let column = 0; column < width; column++) {
      if (!queries[row] && !keys[column]) continue
      pen.clearRect(column, row, 1, 1)
      if ((row + width + height - column) % period < period / 3) pen.fillRect(column, row, 1, 1)
    }
  }
}

function makeOverview() {
  header.layers.forEach((layer, layerIndex) => {
    layer.heads.forEach((_, headIndex) => thumbs.push(makeThumb(layerIndex, headIndex)))
  })
  const margin = { rootMargin: "200px" }
  seer = new IntersectionObserver((entries) => {
    for (const { isIntersecting, target } of entries) {
      if (!isIntersecting) continue
      seer.unobserve(target)
      drawn(target.thumb).catch(fail)
    }
  }, margin)
  thumbs.forEach(({ canvas }) => seer.observe(canvas))
  byId("heads").addEventListener("keydown", moveAmongThumbs)
  when("head", markOpenThumb)
  when("scale", redrawThumbs)
}

function redrawThumbs() {
  for (const thumb of thumbs) {
    thumb.drawn = false
    seer.unobserve(thumb.canvas)
    seer.observe(thumb.canvas)
  }
}

const openThumb = () =>
  thumbs.find(({ layer, head }) => layer === choice.layer && head === choice.head)

function markOpenThumb() {
  const chosen = openThumb()
  const some = byId("heads").querySelector("button")
  for (const { button } of thumbs) {
    button.tabIndex = -1
    button.removeAttribute("aria-current")
  }
  chosen.button.setAttribute("aria-current", "true")
  const entry = chosen.button.isConnected ? chosen.button : some
  if (entry) entry.tabIndex = 0
}

// Only one picture is a stop of the Tab key; arrows go from there to the nearest one.
const STEPS = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1] }

function moveAmongThumbs(event) {
  const step = STEPS[event.key]
  const from = event.target.closest(".thumb")
  if (!step || !from || event.ctrlKey || event.metaKey || event.altKey) return
  event.preventDefault()
  const next = nearest(from, step)
  if (!next) return
  from.tabIndex = -1
  next.tabIndex = 0
  next.focus()
}

function nearest(from, [across, down]) {
  const here = from.getBoundingClientRect()
  let best = null
  let least = Infinity
  for (const button of byId("heads").querySelectorAll(".thumb")) {
    const there = button.getBoundingClientRect()
    const x = there.left - here.left
    const y = there.top - here.top
    const along = across * x + down * y
    const aside = Math.abs(down * x) + Math.abs(across * y)
    if (along < 1 || along + 20 * aside >= least) continue
    least = along + 20 * aside
    best = button
  }
  return best
}

// Where pictures and map do not fit beside each other, choosing one brings the map into sight.
async function visit(wanted) {
  await openChosen(wanted).catch(fail)
  const target = byId("head-title")
  if (target.getBoundingClientRect().top < globalThis.innerHeight * 0.7) return
  const still = matchMedia("(prefers-reduced-motion: reduce)").matches
  target.scrollIntoView({ behavior: still ? "auto" : "smooth", block: "start" })
}
