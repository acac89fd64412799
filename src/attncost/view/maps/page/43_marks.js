// What lies under the weights and over them: hatching of what is not read, borders, cross-hair.
//
// Masked and padded pairs differ from each other, and from a weight of 0, in their lines and not
// in colour alone: slanting up, or closer and slanting down.

/** Side of a square of hatching, in CSS pixels. */
const HATCH = 8

/** Below this many CSS pixels a cell, the cross-hair is two thin lines: bands would hide rows. */
const THIN = 3

/** Borders closer than this many CSS pixels are not drawn: they would hide the map. */
const CLOSEST_BORDERS = 6

/** Return a square of hatching, "masked" or "padded", to be repeated; sides are whole pixels. */
function hatched(kind, ink, size = HATCH) {
  const canvas = document.createElement("canvas")
  canvas.width = canvas.height = size
  const context = canvas.getContext("2d")
  const [up, gap] = kind === "masked" ? [true, size] : [false, size / 2]
  context.strokeStyle = ink
  context.globalAlpha = kind === "masked" ? 0.6 : 0.9
  context.lineWidth = size / 8
  context.beginPath()
  for (let x = -size; x <= 2 * size; x += gap) {
    context.moveTo(up ? x + size : x, 0)
    context.lineTo(up ? x : x + size, size)
  }
  context.stroke()
  return canvas
}

class Marks {
  /** Take ink and paper from the style of a canvas; a pixel ratio makes lines as thick everywhere. */
  constructor(canvas, ratio) {
    const style = getComputedStyle(canvas)
    this.#ink = style.color
    this.#paper = style.backgroundColor
    this.#ratio = ratio
    // A line of an odd number of pixels is sharp only in the middle of one.
    this.#crisp = Math.round(ratio) % 2 ? 0.5 : 0
    this.#size = Math.round(HATCH * ratio)
    this.#hatching = { masked: this.#pattern("masked"), padded: this.#pattern("padded") }
  }

  #ink
  #paper
  #ratio
  #crisp
  #size
  #hatching

  /** Paint what shows where no weight lies. */
  ground(context, place, { n, m, padding }) {
    context.clearRect(0, 0, context.canvas.width, context.canvas.height)
    const [row0, row1, key0, key1] = place.range
    this.#hatch(context, place, "masked", [0, n, 0, m])
    for (const [from, to] of runs(padding.keys, key0, key1)) {
      this.#hatch(context, place, "padded", [row0, row1, from, to])
    }
    for (const [from, to] of runs(padding.queries, row0, row1)) {
      this.#hatch(context, place, "padded", [from, to, key0, key1])
    }
  }

  /** Paint borders of documents and the cross-hair. */
  lines(context, place, { n, m, documents }, chosen) {
    const [right, bottom] = [place.x(m), place.y(n)]
    const path = new Path2D()
    for (const key of sparse(documents.keys, m, place)) {
      path.moveTo(place.x(key) + this.#crisp, 0)
      path.lineTo(place.x(key) + this.#crisp, bottom)
    }
    for (const row of sparse(documents.queries, n, place)) {
      path.moveTo(0, place.y(row) + this.#crisp)
      path.lineTo(right, place.y(row) + this.#crisp)
    }
    this.#stroke(context, path, 1)
    if (!chosen) return
    // It ends with the map, however little there is of it.
    context.save()
    context.beginPath()
    context.rect(0, 0, right, bottom)
    context.clip()
    if (place.zoom < THIN) this.#thinCrossHair(context, place, chosen, right, bottom)
    else this.#crossHair(context, place, chosen, right, bottom)
    context.restore()
  }

  #crossHair(context, place, { query, key }, right, bottom) {
    const [left, width] = this.#band(place.x(key), place.x(key + 1))
    const [top, height] = this.#band(place.y(query), place.y(query + 1))
    const bands = new Path2D()
    bands.rect(-9, top, right + 18, height)
    bands.rect(left, -9, width, bottom + 18)
    this.#stroke(context, bands, 1)
    const cell = new Path2D()
    cell.rect(left, top, width, height)
    this.#stroke(context, cell, 3)
  }

  #thinCrossHair(context, place, { query, key }, right, bottom) {
    const x = Math.floor((place.x(key) + place.x(key + 1)) / 2) + this.#crisp
    const y = Math.floor((place.y(query) + place.y(query + 1)) / 2) + this.#crisp
    const gap = Math.round(4 * this.#ratio)
    const lines = new Path2D()
    for (const [from, to] of [[0, x - gap], [x + gap, right]]) {
      lines.moveTo(from, y)
      lines.lineTo(Math.max(from, to), y)
    }
    for (const [from, to] of [[0, y - gap], [y + gap, bottom]]) {
      lines.moveTo(x, from)
      lines.lineTo(x, Math.max(from, to))
    }
    // Black and white by turns, which some of it differs from whatever lies below.
    context.lineWidth = this.#ratio
    context.strokeStyle = "#000"
    context.stroke(lines)
    context.strokeStyle = "#fff"
    context.setLineDash([4 * this.#ratio, 3 * this.#ratio])
    context.stroke(lines)
    context.setLineDash([])
    const cell = new Path2D()
    cell.rect(x - gap, y - gap, 2 * gap, 2 * gap)
    this.#stroke(context, cell, 1)
  }

  /** Return where a row or column lies, made wide enough to be seen. */
  #band(from, to) {
    const width = Math.max(to - from, Math.round(5 * this.#ratio))
    return [Math.round((from + to - width) / 2) + this.#crisp, width]
  }

  /** Draw a line that can be seen on every colour: ink between paper. */
  #stroke(context, path, thickness) {
    const width = thickness * this.#ratio
    context.lineJoin = "miter"
    context.strokeStyle = opaque(this.#paper)
    context.lineWidth = width + 2 * this.#ratio
    context.stroke(path)
    context.strokeStyle = this.#ink
    context.lineWidth = width
    context.stroke(path)
  }

  #pattern(kind) {
    const square = hatched(kind, this.#ink, this.#size)
    return square.getContext("2d").createPattern(square, "repeat")
  }

  #hatch(context, place, kind, [row0, row1, key0, key1]) {
    const [left, top] = [place.x(key0), place.y(row0)]
    const box = [left, top, place.x(key1) - left, place.y(row1) - top]
    context.clearRect(...box)
    context.fillStyle = this.#paper
    context.fillRect(...box)
    const pattern = this.#hatching[kind]
    // Lines move with the map, so that it does not seem to swim over them.
    pattern.setTransform(new DOMMatrix([1, 0, 0, 1, place.x(0) % this.#size, place.y(0) % this.#size]))
    context.fillStyle = pattern
    context.fillRect(...box)
  }
}

/** Return paper that hides what is below it, white if the canvas has none of its own. */
function opaque(paper) {
  return paper === "rgba(0, 0, 0, 0)" ? "#fff" : paper
}

/** Return borders, or none if they lie too close to be told apart. */
function sparse(borders, length, { zoom }) {
  return borders.length * CLOSEST_BORDERS <= length * zoom ? borders : []
}

/** Return runs of padding as [first, one after the last], within a range. */
function runs(padded, from, to) {
  const found = []
  if (!padded) return found
  for (let i = from; i < to; i++) {
    if (!padded[i]) continue
    const first = i
    while (i < to && padded[i]) i++
    found.push([first, i])
  }
  return found
}
