// Around the map: tokens where they fit, positions where they do not, and the chosen ones always;
// along the edges how much each key receives and how spread each query is.

const LEAST_LABEL = 11
const FONT = "system-ui, sans-serif"

function makeAxes() {
  when("view", drawAxes)
  when("scale", drawLegend)
  when("view", drawLegend)
  when("head", loadStrips)
  drawLegend()
}

const strips = { received: null, entropy: null }
async function loadStrips() {
  const { data } = open
  const [received, entropy] = await Promise.all([
    decodedOrNull(data.received),
    decodedOrNull(data.entropy),
  ])
  if (data !== open.data) return
  Object.assign(strips, { received, entropy })
  drawAxes(map.view)
}

function drawAxes(view) {
  if (!open.head || !view) return
  drawAxis(byId("keys-axis"), keysAxis(view))
  drawAxis(byId("queries-axis"), queriesAxis(view))
  drawStrip(byId("received"), strips.received, keysAxis(view))
  drawStrip(byId("entropy"), strips.entropy, queriesAxis(view))
}

const keysAxis = ({ key, keys, zoom, chosen }) => ({
  first: key,
  count: keys,
  zoom,
  chosen: chosen?.key ?? null,
  total: open.head.m,
  shift: 0,
  text: (place, most) => shortToken(open.keys, keyToken(place), most),
  upright: true,
})

const queriesAxis = ({ query, rows: count, zoom, chosen }) => ({
  first: query,
  count,
  zoom,
  chosen: chosen?.query ?? null,
  total: open.head.n,
  shift: shiftOf(open.layer),
  text: (place, most) => shortToken(open.queries, queryToken(place), most),
  upright: false,
})

// What stands along an axis, from its start: tokens, or else positions at round numbers.
function axisLabels({ first, count, zoom, chosen, total, shift, text }) {
  const end = Math.min(total, Math.ceil(first + count))
  const labels = []
  const begin = Math.max(0, Math.floor(first))
  const step = zoom >= LEAST_LABEL ? 1 : roundStep(38 / zoom)
  const round = Math.ceil((begin + shift) / step) * step - shift
  for (let place = round; place < end; place += step) {
    const position = (place + shift).toLocaleString("en")
    labels.push({ place, text: step === 1 ? text(place, 18) : position })
  }
  // A label at either end stays whole; a token that is half in sight has none.
  const last = Math.max(6, count * zoom - 6)
  const middle = (place) => (place + 0.5 - first) * zoom
  const whole = ({ at }) => step > 1 || (at >= 4 && at <= last + 2)
  const seen = chosen !== null && chosen >= first - 0.5 && chosen < first + count
  const apart = ({ place }) => !seen || Math.abs(middle(place) - middle(chosen)) >= LEAST_LABEL
  const placed = labels.filter(apart).map((label) => ({ ...label, at: middle(label.place) }))
  const shown = placed.filter(whole).map((label) => ({ ...label, at: within(label.at, 6, last) }))
  if (!seen) return shown
  const at = within(middle(chosen), 6, last)
  return [...shown, { text: text(chosen, 18), at, chosen: true }]
}

function roundStep(least) {
  const power = 10 ** Math.floor(Math.log10(least))
  return Math.max(1, [1, 2, 5, 10].map((times) => times * power).find((step) => step >= least))
}

function drawAxis(canvas, axis) {
  const { pen, width, height } = sized(canvas)
  const length = axis.upright ? height : width
  pen.textBaseline = "middle"
  pen.direction = "ltr"
  for (const { at, text, chosen } of axisLabels(axis)) {
    const size = within(axis.zoom * 0.72, 10, 13)
    pen.font = `${chosen ? 650 : 400} ${chosen ? Math.max(size, 11) : size}px ${FONT}`
    pen.fillStyle = styled(chosen ? "--accent" : "--quiet")
    pen.textAlign = axis.upright ? "left" : "right"
    pen.save()
    pen.translate(axis.upright ? at : length - 6, axis.upright ? length - 6 : at)
    if (axis.upright) pen.rotate(-Math.PI / 2)
    pen.fillText(fitted(pen, text, length - 8), 0, 0)
    pen.restore()
  }
}

function fitted(pen, text, most) {
  if (pen.measureText(text).width <= most) return text
  const parts = Array.from(signs.segment(text), ({ segment }) => segment)
  while (parts.length > 1 && pen.measureText(`${parts.join("")}…`).width > most) parts.pop()
  return `${parts.join("")}…`
}

// One bar a pixel: the largest of the values that fall on it, so that no sink is lost.
function drawStrip(canvas, values, { first, count, zoom, upright }) {
  const { pen, width, height } = sized(canvas)
  if (!values) return
  const sight = values.subarray(Math.floor(first), Math.ceil(first + count))
  const most = sight.reduce((one, other) => (other > one ? other : one), 0)
  if (most <= 0) return
  const length = Math.min(upright ? width : height, count * zoom)
  const depth = (upright ? height : width) - 2
  pen.fillStyle = styled(upright ? "--s0" : "--s2")
  for (let pixel = 0; pixel < length; pixel++) {
    const begin = Math.floor(first + pixel / zoom)
    const end = Math.max(begin + 1, Math.floor(first + (pixel + 1) / zoom))
    let value = 0
    for (let place = begin; place < end && place < values.length; place++) {
      if (values[place] > value) value = values[place]
    }
    const bar = (value / most) * depth
    pen.globalAlpha = 0.35
    pen.fillRect(...(upright ? [pixel, 2, 1, bar] : [2, pixel, bar, 1]))
    pen.globalAlpha = 1
    pen.fillRect(...(upright ? [pixel, bar, 1, 2] : [bar, pixel, 2, 1]))
  }
}

let drawnLegend = null
function drawLegend() {
  const by = open.head ? scaleOf(open.head, map.exact) : scale
  const ink = styled("--ink")
  // A view tells at every step; its colours change only between pairs and blocks.
  if (drawnLegend?.by === by && drawnLegend.ink === ink) return
  drawnLegend = { by, ink }
  const ramp = element("canvas", { class: "ramp", width: 256, height: 1, "aria-hidden": "true" })
  const pen = ramp.getContext("2d")
  for (let x = 0; x < 256; x++) {
    pen.fillStyle = `rgb(${SHADES[by.shade(by.at(x / 255))].join(" ")})`
    pen.fillRect(x, 0, 1, 1)
  }
  const stops = legendOf(by).map(({ value, label }) =>
    element("span", { style: `--at:${within(by.share(value), 0, 1)}` }, label),
  )
  const colours = element("div", { class: "scale" }, ramp, element("p", { class: "stops" }, ...stops))
  byId("legend").replaceChildren(
    colours,
    swatch("masked", "masked: may not be read"),
    swatch("padded", "padding"),
  )
}

function swatch(kind, label) {
  const canvas = element("canvas", { width: 36, height: 24, "aria-hidden": "true" })
  const pen = canvas.getContext("2d")
  pen.fillStyle = pen.createPattern(hatched(kind, styled("--ink"), 8), "repeat")
  pen.fillRect(0, 0, 36, 24)
  return element("span", { class: "swatch" }, canvas, label)
}
