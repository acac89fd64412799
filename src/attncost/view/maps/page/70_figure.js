// What is in view as a figure for a paper: the map, its labels, the chosen query and the legend.
//
// A figure is a list of shapes, made once: drawn on a canvas it is a PNG, as elements an SVG.

const PAPER = { paper: "#ffffff", ink: "#000000", quiet: "#444444", accent: "#00588a" }
const MARGIN = 16
// Labels are cut at 18 signs of at most 13 pixels.
const SIGN = 7.5

const themed = () => ({
  paper: styled("--paper"),
  ink: styled("--ink"),
  quiet: styled("--quiet"),
  accent: styled("--accent"),
})

function figureShapes(colours) {
  const { view } = map
  const canvas = byId("map")
  const wide = Math.round(view.keys * view.zoom)
  const high = Math.round(view.rows * view.zoom)
  const [left, top] = [queriesAxis(view), keysAxis(view)].map(room)
  const box = { x: MARGIN + left, y: MARGIN + 44 + top, wide, high }
  const label = headTitle(open.layer, open.data)
  const title = label === header.title ? label : `${header.title}: ${label}`
  const [chosenLine, topLine] = chosenLines(view)
  const shapes = [
    text(MARGIN, MARGIN + 10, label, { size: 16, weight: 650, fill: colours.ink }),
    text(MARGIN, MARGIN + 32, header.title, { size: 12, fill: colours.quiet }),
    { kind: "image", ...box, canvas },
    { kind: "frame", ...box, stroke: colours.quiet, thick: 1 },
    ...axisShapes(keysAxis(view), box, colours),
    ...axisShapes(queriesAxis(view), box, colours),
  ]
  let y = box.y + high + 26
  for (const line of [chosenLine, topLine].filter((one) => one)) {
    shapes.push(text(MARGIN, y, line, { size: 12, fill: colours.ink }))
    y += 20
  }
  shapes.push(...legendShapes(MARGIN, y, colours))
  const width = Math.max(box.x + wide + MARGIN, 560)
  const ends = shapes.map(({ words = "", x, size = 0 }) => x + words.length * size * 0.62)
  const longest = Math.min(Math.max(...ends), 2 * width)
  return { width: Math.max(width, longest), height: y + 66, title, shapes, colours }
}

// Positions need less room than tokens do.
function room(axis) {
  const longest = Math.max(3, ...axisLabels(axis).map(({ text: words }) => words.length))
  return 12 + SIGN * Math.min(longest, 18)
}

const text = (x, y, words, style) => {
  return { kind: "text", x, y, words, anchor: "start", turn: 0, ...style }
}

function chosenLines({ chosen }) {
  if (!chosen) return []
  const best = open.head.top(choice.query, 5)
  const keys = best.map(([key, weight]) => `${keyName(key)} ${digits(weight, 3)}`).join(", ")
  return [spokenReading(), keys && `Its top keys: ${keys}.`]
}

function axisShapes(axis, box, colours) {
  return axisLabels(axis).map(({ at, text: words, chosen }) => {
    const style = {
      size: within(axis.zoom * 0.72, 10, 13),
      weight: chosen ? 650 : 400,
      fill: chosen ? colours.accent : colours.quiet,
    }
    const shown = words.length > 18 ? `${words.slice(0, 17)}…` : words
    if (axis.upright) return text(box.x + at, box.y - 6, shown, { ...style, turn: -90 })
    return text(box.x - 6, box.y + at, shown, { ...style, anchor: "end" })
  })
}

function legendShapes(x, y, colours) {
  const wide = 340
  const by = scaleOf(open.head, map.exact)
  const labels = legendOf(by)
  const ramp = byId("legend").querySelector(".ramp")
  const style = { size: 10.5, fill: colours.quiet }
  const anchors = ["start", ...labels.slice(2).map(() => "middle"), "end"]
  const stops = labels.map(({ value, label }, index) =>
    text(x + wide * within(by.share(value), 0, 1), y + 24, label, { ...style, anchor: anchors[index] }),
  )
  const swatches = ["masked", "padded"].flatMap((kind, index) => {
    const left = x + wide + 28 + 84 * index
    return [
      { kind: "image", x: left, y, wide: 18, high: 12, canvas: hatchedBox(kind, colours.ink) },
      { kind: "frame", x: left, y, wide: 18, high: 12, stroke: colours.quiet, thick: 1 },
      text(left + 24, y + 6, kind === "masked" ? "masked" : "padding", style),
    ]
  })
  return [{ kind: "image", x, y, wide, high: 12, canvas: ramp }, ...stops, ...swatches]
}

function hatchedBox(kind, ink) {
  const canvas = element("canvas", { width: 36, height: 24 })
  const pen = canvas.getContext("2d")
  pen.fillStyle = pen.createPattern(hatched(kind, ink, 8), "repeat")
  pen.fillRect(0, 0, 36, 24)
  return canvas
}

// What lies beside the map on its canvas is left out.
function cropped({ canvas, wide, high }) {
  if (canvas !== byId("map")) return canvas
  const ratio = canvas.width / canvas.clientWidth
  const [width, height] = [wide, high].map((side) => Math.round(side * ratio))
  const part = element("canvas", { width, height })
  part.getContext("2d").drawImage(canvas, 0, 0)
  return part
}

const SHAPES = {
  image(shape) {
    const href = cropped(shape).toDataURL("image/png")
    const { x, y, wide: width, high: height } = shape
    const style = "image-rendering: pixelated"
    return drawing("image", { x, y, width, height, href, style, preserveAspectRatio: "none" })
  },
  frame: ({ x, y, wide: width, high: height, stroke, thick }) =>
    drawing("rect", { x, y, width, height, fill: "none", stroke, "stroke-width": thick }),
  text({ x, y, words, anchor, turn, size, weight = 400, fill }) {
    const at = turn ? { transform: `translate(${x} ${y}) rotate(${turn})` } : { x, y }
    const style = "dominant-baseline: central; unicode-bidi: plaintext; white-space: pre"
    const font = { "font-size": size, "font-weight": weight, "text-anchor": anchor, fill, style }
    return drawing("text", { ...at, ...font }, words)
  },
}

function figureElement({ width, height, title, shapes, colours }) {
  const root = drawing(
    "svg",
    {
      viewBox: `0 0 ${width} ${height}`,
      width,
      height,
      role: "img",
      "aria-label": title,
      "font-family": FONT,
    },
    drawing("title", {}, title),
    drawing("desc", {}, byId("facts").textContent),
    drawing("rect", { width: "100%", height: "100%", fill: colours.paper }),
  )
  root.append(...shapes.map((shape) => SHAPES[shape.kind](shape)))
  return root
}

const STROKES = {
  image(pen, shape) {
    pen.imageSmoothingEnabled = false
    pen.drawImage(cropped(shape), shape.x, shape.y, shape.wide, shape.high)
  },
  frame(pen, { x, y, wide, high, stroke, thick }) {
    pen.strokeStyle = stroke
    pen.lineWidth = thick
    pen.strokeRect(x, y, wide, high)
  },
  text(pen, { x, y, words, anchor, turn, size, weight = 400, fill }) {
    pen.font = `${weight} ${size}px ${FONT}`
    pen.fillStyle = fill
    pen.textAlign = { start: "left", middle: "center", end: "right" }[anchor]
    pen.textBaseline = "middle"
    pen.direction = "ltr"
    pen.save()
    pen.translate(x, y)
    pen.rotate((turn * Math.PI) / 180)
    pen.fillText(words, 0, 0)
    pen.restore()
  },
}

// Twice the size on screen, so that it is sharp in print.
function figureCanvas({ width, height, shapes, colours }, ratio = 2) {
  const canvas = element("canvas", { width: width * ratio, height: height * ratio })
  const pen = canvas.getContext("2d")
  pen.scale(ratio, ratio)
  pen.fillStyle = colours.paper
  pen.fillRect(0, 0, width, height)
  shapes.forEach((shape) => STROKES[shape.kind](pen, shape))
  return canvas
}
