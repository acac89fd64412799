// Four charts over the length: work, memory, traffic and time, of what is chosen and of what it is
// compared with.

const CURVES = [
  { name: "flops", title: "FLOPs", unit: "flops", of: (it) => flops(it) },
  { name: "memory", title: "Memory", unit: "bytes", of: (it) => memory(it) },
  { name: "bytes", title: "Bytes moved", unit: "bytes", of: (it) => bytes(it) },
  { name: "seconds", title: "Time at least", unit: "seconds", of: (it) => seconds(it) },
]
const POINTS = 97
const charts = new Map()

// From an eighth of a thousand to well past the chosen length, and no further than positions go.
function shownLengths() {
  const { low, high } = sizeOf("length")
  const last = within(2 ** Math.ceil(Math.log2(state.length) + 3), 2 ** 17, Math.min(high, 2 ** 40))
  return [Math.max(low, 128), last]
}

const sizeOf = (name) => header.sizes.find((one) => one.name === name)

function sampled([low, high]) {
  const found = []
  for (let i = 0; i < POINTS; i += 1) {
    found.push(Math.round(low * (high / low) ** (i / (POINTS - 1))))
  }
  return found
}

function contenders() {
  const found = [{ attention: state.attention, tone: "var(--s0)", dashed: false }]
  if (state.compared !== "none" && state.compared !== state.attention) {
    found.push({ attention: state.compared, tone: "var(--s1)", dashed: true })
  }
  return found
}

// A quantity of an attention by the length; NaN where there is no formula.
function valueOver(of, attention) {
  const it = { ...state, attention }
  if (of === CURVES[3].of && found.rates.problem) return () => NaN
  const compute = approximate(of(it))
  return (length) => compute({ ...it, length })
}

function drawCurves() {
  const lengths = shownLengths()
  const at = sampled(lengths)
  for (const { name, unit, of } of CURVES) {
    const chart = charts.get(name)
    const lines = contenders().map(({ attention, tone, dashed }) => {
      const value = valueOver(of, attention)
      return {
        tone, dashed, of: value, at: value(state.length),
        points: at.map((length) => [length, value(length)]),
      }
    })
    const nothing = lines.every(({ at }) => Number.isNaN(at))
    chart.figure.hidden = nothing
    if (nothing) continue
    chart.draw({
      lengths, lines, chosen: state.length,
      fits: name === "memory" && longestShown(),
      crossing: crossingOf(name, lines),
      level: name === "memory" && { value: state.memory, text: typed(state.memory, "bytes") },
      unit,
    })
  }
}

function longestShown() {
  const length = found.fit?.greatest
  return length ? { length, text: `${whole(length)} fit` } : null
}

function crossingOf(name, lines) {
  const length = lines.length > 1 && found.crossings[name]
  return length ? { length, value: lines[1].of(length) } : null
}

function drawKey() {
  const sample = (...shapes) => drawn("svg", { viewBox: "0 0 28 12" }, ...shapes)
  const upright = (kind) => drawn("line", { class: kind, x1: 14, x2: 14, y1: 0, y2: 12 })
  byId("key").replaceChildren(
    ...contenders().map(({ attention, tone, dashed }) =>
      toned(element("span", {},
        sample(drawn("path", { class: dashed ? "dashed" : "", d: "M0 6H28" })),
        attentionTitle(attention)), { tone })),
    element("span", {}, sample(upright("chosen")), "chosen length"),
    element("span", {}, sample(upright("limit")), "memory, and the longest that fits"),
    ...(contenders().length > 1
      ? [element("span", {}, sample(drawn("circle", { class: "cross", cx: 14, cy: 6, r: 4 })),
          "from here on the cheaper one is cheaper")]
      : []),
  )
}

function makeCurves() {
  const { low, high } = sizeOf("length")
  const onLength = (length) => set({ length: within(length, low, high) })
  for (const { name, title, unit } of CURVES) {
    const chart = new Chart({ title, unit, onLength })
    charts.set(name, chart)
    byId("curves").append(chart.figure)
  }
  // Charts of one width each, asked for when it changes: asking at every move would cost a layout.
  new ResizeObserver(() => {
    for (const chart of charts.values()) chart.width = chart.picture.clientWidth || chart.width
    redraw()
  }).observe(byId("curves"))
  changed(drawCurves)
  changed(drawKey)
}
