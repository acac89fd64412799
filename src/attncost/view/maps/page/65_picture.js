// An image under its patches: how much the chosen query reads of each, where it is.

const PICTURE_HELP = {
  query: `Choose the patch that asks, with the pointer or the arrow keys; the brighter a patch, the
    more it is read.`,
  key: "The brighter a patch, the more the chosen query reads it; a patch can be chosen as key.",
}

let overPatch = null

// Patches choose queries where queries are patches, and else keys.
function patches() {
  const side = open.queries.grid ? "query" : "key"
  const grid = open.queries.grid ?? open.keys.grid
  if (!grid) return null
  const shift = side === "query" ? queryToken(0) : keyToken(0)
  return { side, grid, first: grid.first - shift, shades: open.keys.grid !== null }
}

function makePicture() {
  const canvas = byId("picture")
  when("head", () => {
    const found = patches()
    byId("pictured").hidden = found === null
    if (!found) return
    byId("pictured-plain").hidden = !found.grid.image || !found.shades
    byId("pictured-help").textContent = PICTURE_HELP[found.side]
    loadImage(found.grid).then(drawPicture, fail)
  })
  when("place", drawPicture)
  when("scale", drawPicture)
  byId("pictured-weights").addEventListener("input", drawPicture)
  canvas.addEventListener("pointermove", (event) => hoverPatch(patchAt(event)))
  canvas.addEventListener("pointerleave", () => hoverPatch(null))
  canvas.addEventListener("click", (event) => {
    const { side, first } = patches()
    choosePlace({ [side]: patchAt(event) + first })
  })
  canvas.addEventListener("keydown", movePatch)
  new ResizeObserver(drawPicture).observe(canvas)
}

// The image as a canvas of its own size, made once.
const images = new WeakMap()
async function loadImage(grid) {
  if (!grid.image || images.has(grid)) return
  const { width, height, rgb } = grid.image
  const bytes = await decoded(rgb)
  const canvas = element("canvas", { width, height })
  const pen = canvas.getContext("2d")
  const pixels = pen.createImageData(width, height)
  for (let z = 0; z < width * height; z++) {
    pixels.data.set([bytes[3 * z], bytes[3 * z + 1], bytes[3 * z + 2], 255], 4 * z)
  }
  pen.putImageData(pixels, 0, 0)
  images.set(grid, canvas)
}

function patchAt({ offsetX, offsetY, target }) {
  const { rows: down, columns } = patches().grid
  const row = within(Math.floor((offsetY / target.clientHeight) * down), 0, down - 1)
  const column = within(Math.floor((offsetX / target.clientWidth) * columns), 0, columns - 1)
  return row * columns + column
}

// A patch under the pointer is looked at; only a click or a key chooses it.
function hoverPatch(patch) {
  if (patch === overPatch) return
  overPatch = patch
  drawPicture()
  const { side, first } = patches()
  if (patch === null) tell("hover", null, null)
  else if (side === "query") tell("hover", patch + first, choice.key)
  else tell("hover", choice.query, patch + first)
}

function movePatch(event) {
  const { side, grid, first } = patches()
  const steps = { ArrowLeft: -1, ArrowRight: 1, ArrowUp: -grid.columns, ArrowDown: grid.columns }
  if (!(event.key in steps) || event.ctrlKey || event.metaKey || event.altKey) return
  event.preventDefault()
  const last = grid.rows * grid.columns - 1
  choosePlace({ [side]: within(choice[side] - first + steps[event.key], 0, last) + first })
}

function drawPicture() {
  const found = open.head && patches()
  if (!found) return
  const { side, grid, first, shades } = found
  const canvas = byId("picture")
  canvas.style.aspectRatio = grid.image
    ? `${grid.image.width} / ${grid.image.height}`
    : `${grid.columns} / ${grid.rows}`
  const { pen, width, height } = sized(canvas)
  const image = images.get(grid)
  if (image) pen.drawImage(image, 0, 0, width, height)
  const query = side === "query" && overPatch !== null ? overPatch + first : choice.query
  const cells = { pen, grid, wide: width / grid.columns, high: height / grid.rows }
  if (shades && (!image || byId("pictured-weights").checked)) shadePatches(cells, rowOf(query), grid.first - keyToken(0))
  framePatch(cells, overPatch ?? choice[side] - first)
}

// What is read little is dimmed, what is read most is tinted in full.
function shadePatches({ pen, grid, wide, high }, row, first) {
  const seen = row.subarray(first, first + grid.rows * grid.columns)
  const most = seen.reduce((one, other) => (other > one ? other : one), 0)
  for (let z = 0; z < seen.length; z++) {
    const share = most > 0 && seen[z] > 0 ? seen[z] / most : 0
    const [x, y] = [(z % grid.columns) * wide, Math.floor(z / grid.columns) * high]
    pen.fillStyle = `rgb(12 16 24 / ${0.72 * (1 - share)})`
    pen.fillRect(x, y, wide + 0.5, high + 0.5)
    pen.fillStyle = `rgb(253 234 69 / ${0.55 * share})`
    pen.fillRect(x, y, wide + 0.5, high + 0.5)
  }
}

function framePatch({ pen, grid, wide, high }, patch) {
  if (patch < 0 || patch >= grid.rows * grid.columns) return
  const box = [(patch % grid.columns) * wide, Math.floor(patch / grid.columns) * high, wide, high]
  pen.strokeStyle = "#000"
  pen.lineWidth = 4
  pen.strokeRect(...box)
  pen.strokeStyle = "#fff"
  pen.lineWidth = 2
  pen.strokeRect(...box)
}
