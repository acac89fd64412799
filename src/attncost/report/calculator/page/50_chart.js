// One chart over the length, both axes logarithmic: lines, the chosen length, what fits, crossings.
// It is SVG, so that paper and magnifiers get lines; a reader of screens gets the table instead.

const HEIGHT = 230
const EDGES = { left: 70, right: 12, top: 10, bottom: 26 }

function ticks(low, high, base) {
  const first = Math.ceil(Math.log(low) / Math.log(base) - 1e-9)
  const last = Math.floor(Math.log(high) / Math.log(base) + 1e-9)
  const step = Math.max(1, Math.ceil((last - first + 1) / 6))
  const found = []
  for (let power = first; power <= last; power += step) found.push(base ** power)
  return found
}

// What is drawn of it stays; the lines move.
class Chart {
  constructor({ title, unit, onLength }) {
    this.unit = unit
    this.title = title
    this.value = element("output", {})
    this.picture = drawn("svg", { class: "chart", "aria-hidden": "true" })
    this.figure = element("figure", {},
      element("figcaption", {}, element("span", {}, title), this.value), this.picture)
    this.width = 360
    this.makeHands(onLength)
  }

  makeHands(onLength) {
    const at = (event) => {
      const box = this.picture.getBoundingClientRect()
      const x = ((event.clientX - box.left) / box.width) * this.width
      return Math.round(this.length(within(x, EDGES.left, this.width - EDGES.right)))
    }
    this.picture.addEventListener("pointerdown", (event) => {
      this.picture.setPointerCapture(event.pointerId)
      onLength(at(event))
    })
    this.picture.addEventListener("pointermove", (event) => {
      if (event.buttons & 1) onLength(at(event))
      else this.hover(at(event))
    })
    this.picture.addEventListener("pointerleave", () => this.hover(null))
  }

  // Lines: [{ tone, dashed, points: [[length, value]], at: value at the chosen length }].
  draw({ lengths, lines, chosen, fits, crossing, level }) {
    const seen = lines.flatMap(({ points }) => points.map(([, value]) => value))
      .filter((value) => value > 0 && Number.isFinite(value))
    if (level) seen.push(level.value)
    const [low, high] = seen.length ? [Math.min(...seen), Math.max(...seen)] : [1, 10]
    this.lengths = lengths
    this.lines = lines
    this.low = low / 1.3
    this.high = high * 1.3
    this.picture.setAttribute("viewBox", `0 0 ${this.width} ${HEIGHT}`)
    this.picture.replaceChildren(
      ...this.axes(),
      ...(level ? this.across(level) : []),
      ...(fits ? this.upright(fits, "limit") : []),
      ...this.upright({ length: chosen }, "chosen"),
      ...lines.map((line) => this.line(line)),
      ...(crossing ? [this.cross(crossing)] : []),
      ...lines.filter(({ at }) => at > 0).map(({ tone, at }) => this.dot(chosen, at, tone)),
    )
    this.hover(null)
  }

  x(length) {
    const [low, high] = this.lengths
    return EDGES.left +
      (Math.log(length / low) / Math.log(high / low)) * (this.width - EDGES.left - EDGES.right)
  }

  length(x) {
    const [low, high] = this.lengths
    const share = (x - EDGES.left) / (this.width - EDGES.left - EDGES.right)
    return low * (high / low) ** share
  }

  y(value) {
    const share = Math.log(value / this.low) / Math.log(this.high / this.low)
    return HEIGHT - EDGES.bottom - share * (HEIGHT - EDGES.top - EDGES.bottom)
  }

  axes() {
    const bottom = HEIGHT - EDGES.bottom
    const right = this.width - EDGES.right
    const upright = ticks(...this.lengths, 2).flatMap((length) => {
      const x = this.x(length)
      return [
        drawn("line", { class: "grid", x1: x, x2: x, y1: EDGES.top, y2: bottom }),
        drawn("text", { x, y: bottom + 16, "text-anchor": "middle" }, tick(length, "tokens")),
      ]
    })
    const base = this.unit === "bytes" ? 1024 : 10
    const across = this.values(base).flatMap((value) => {
      const y = this.y(value)
      const place = { x: EDGES.left - 7, y: y + 4, "text-anchor": "end" }
      return [
        drawn("line", { class: "grid", x1: EDGES.left, x2: right, y1: y, y2: y }),
        drawn("text", place, tick(value, this.unit)),
      ]
    })
    return [...upright, ...across,
      drawn("line", { class: "axis", x1: EDGES.left, x2: right, y1: bottom, y2: bottom })]
  }

  // Powers of ten, or of 32 where bytes are counted in powers of 1024; more where these are few.
  values(base) {
    const bases = base === 1024 ? [1024, 32, 4, 2] : [1000, 10, 2]
    const found = bases.map((one) => ticks(this.low, this.high, one))
    return found.find((some) => some.length >= 3) ?? found.at(-1)
  }

  line({ tone, dashed, points }) {
    const path = points
      .filter(([, value]) => value > 0 && Number.isFinite(value))
      .map(([length, value]) => `${this.x(length).toFixed(1)} ${this.y(value).toFixed(1)}`)
    const d = path.length ? `M${path.join("L")}` : ""
    return toned(drawn("path", { class: dashed ? "line dashed" : "line", d }), { tone })
  }

  upright({ length, text }, kind) {
    const [low, high] = this.lengths
    if (!(length >= low && length <= high)) return []
    const x = this.x(length)
    const left = x > this.width * 0.6
    const words = drawn("text", {
      class: `${kind}-text`, x: left ? x - 5 : x + 5, y: HEIGHT - EDGES.bottom - 7,
      "text-anchor": left ? "end" : "start",
    }, text ?? "")
    const line = { class: kind, x1: x, x2: x, y1: EDGES.top, y2: HEIGHT - EDGES.bottom }
    return [drawn("line", line), ...(text ? [words] : [])]
  }

  across({ value, text }) {
    const y = this.y(value)
    return [
      drawn("line", { class: "limit", x1: EDGES.left, x2: this.width - EDGES.right, y1: y, y2: y }),
      drawn("text", { class: "limit-text", x: EDGES.left + 5, y: y - 5 }, text),
    ]
  }

  cross({ length, value }) {
    const [low, high] = this.lengths
    const outside = !(length >= low && length <= high && value > 0)
    if (outside) return drawn("g")
    return drawn("circle", { class: "cross", cx: this.x(length), cy: this.y(value), r: 4.5 })
  }

  dot(length, value, tone) {
    const place = { cx: this.x(length), cy: this.y(value), r: 4.5 }
    return toned(drawn("circle", { class: "dot", ...place }), { tone })
  }

  // The values below the pointer; without one, those of the chosen length.
  hover(length) {
    if (length === null) {
      this.picture.querySelector(".hover")?.remove()
      this.value.textContent = this.lines.map(({ at }) => show(at, this.unit)).join(" · ")
      return
    }
    const x = this.x(length)
    const ends = { x1: x, x2: x, y1: EDGES.top, y2: HEIGHT - EDGES.bottom }
    this.picture.querySelector(".hover")?.remove()
    this.picture.append(drawn("line", { class: "hover", ...ends }))
    const values = this.lines.map(({ of }) => show(of(length), this.unit))
    this.value.textContent = `${show(length, "tokens")} tokens: ${values.join(" · ")}`
  }
}
