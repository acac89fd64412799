// Pointer, wheel and keyboard on a map.

/** A pointer that moves less, in CSS pixels, chooses; one that moves further drags. */
const STILL = 4

/** Zoom of a pixel that the wheel turns; browsers count lines and pages too. */
const WHEEL = 0.002
// Two fingers on a touchpad come as a wheel that turns little, with Ctrl.
const TOUCHPAD = 0.01
const WHEEL_UNITS = [1, 16, 400]

/** Zoom of a key or a double click. */
const STEP = 1.5

class Hands {
  constructor(map) {
    this.#map = map
    const listen = (name, act, options) => map.canvas.addEventListener(name, act, options)
    listen("pointerdown", (event) => this.#down(event))
    listen("pointermove", (event) => this.#move(event))
    listen("pointerup", (event) => this.#up(event))
    listen("pointercancel", (event) => this.#pointers.delete(event.pointerId))
    listen("pointerleave", () => this.#map.readChosen())
    listen("dblclick", (event) => this.#zoom(event.shiftKey ? 1 / STEP : STEP, placeOf(event)))
    listen("wheel", (event) => this.#wheel(event), { passive: false })
    listen("keydown", (event) => this.#key(event))
  }

  #map
  #pointers = new Map()
  #dragged = false

  #zoom(factor, at) {
    this.#map.place.zoomBy(factor, at)
    this.#map.moved()
  }

  #down(event) {
    if (event.button > 0) return
    if (this.#pointers.size === 0) this.#dragged = false
    this.#pointers.set(event.pointerId, { ...placeOf(event), from: placeOf(event) })
    if (this.#map.head) this.#map.canvas.setPointerCapture(event.pointerId)
  }

  #move(event) {
    if (!this.#map.place.zoom) return
    const at = placeOf(event)
    const pointer = this.#pointers.get(event.pointerId)
    if (!pointer) {
      this.#map.read(this.#map.place.pairAt(at.x, at.y))
      return
    }
    this.#dragged ||= Math.hypot(at.x - pointer.from.x, at.y - pointer.from.y) > STILL
    if (this.#pointers.size > 1) this.#pinch(event.pointerId, pointer, at)
    else if (this.#dragged) this.#map.place.pan(at.x - pointer.x, at.y - pointer.y)
    else return
    Object.assign(pointer, at)
    this.#map.moved()
  }

  /** Zoom as two fingers part, around the middle between them, which they also move. */
  #pinch(id, before, after) {
    this.#dragged = true
    const [, other] = [...this.#pointers].find(([key]) => key !== id)
    const apart = (one) => Math.max(1, Math.hypot(one.x - other.x, one.y - other.y))
    const middle = { x: (after.x + other.x) / 2, y: (after.y + other.y) / 2 }
    this.#map.place.pan((after.x - before.x) / 2, (after.y - before.y) / 2)
    this.#map.place.zoomBy(apart(after) / apart(before), middle)
  }

  #up(event) {
    if (!this.#pointers.delete(event.pointerId) || this.#dragged || !this.#map.place.zoom) return
    const { x, y } = placeOf(event)
    const pair = this.#map.place.pairAt(x, y)
    if (this.#map.has(pair)) this.#map.choose(pair.query, pair.key)
  }

  #wheel(event) {
    const turned = event.deltaY * WHEEL_UNITS[event.deltaMode]
    // Nothing is left to zoom out of, so the page scrolls.
    if (!this.#map.place.zoom || turned === 0 || (turned > 0 && this.#map.place.fitted)) return
    event.preventDefault()
    const speed = event.ctrlKey ? TOUCHPAD : WHEEL
    this.#zoom(Math.exp(Math.max(-0.8, Math.min(0.8, -speed * turned))), placeOf(event))
  }

  #key(event) {
    if (!this.#map.place.zoom || event.altKey || event.metaKey) return
    const act = this.#zooms(event) ?? this.#moves(event)
    if (!act) return
    event.preventDefault()
    act()
    this.#map.moved()
  }

  /** Return what a key does to what is in sight, if anything; Ctrl leaves it to the browser. */
  #zooms({ key, ctrlKey }) {
    if (ctrlKey) return undefined
    const { place, chosen } = this.#map
    const around = (factor) => () => place.zoomAround(chosen, factor)
    return {
      "+": around(STEP),
      "=": around(STEP),
      "-": around(1 / STEP),
      0: () => place.fit(),
      Escape: chosen && (() => this.#map.clear()),
    }[key]
  }

  /** Return how a key moves the chosen pair, if it does. */
  #moves({ key, shiftKey, ctrlKey }) {
    const { n, m } = this.#map.head
    const { cell, page } = this.#map.steps
    if (ctrlKey) {
      const end = { Home: -n, End: n }[key]
      return end && (() => this.#step(end, 0))
    }
    const { rows, keys } = shiftKey ? page : cell
    const step = {
      ArrowUp: [-rows, 0],
      ArrowDown: [rows, 0],
      ArrowLeft: [0, -keys],
      ArrowRight: [0, keys],
      PageUp: [-page.rows, 0],
      PageDown: [page.rows, 0],
      Home: [0, -m],
      End: [0, m],
    }[key]
    return step && (() => this.#step(...step))
  }

  #step(rows, keys) {
    const { place, chosen } = this.#map
    // The first key only shows where the pair is: in the middle of what is in sight.
    const { query, key } = chosen ?? place.middle
    this.#map.choose(query + (chosen ? rows : 0), key + (chosen ? keys : 0))
    place.reveal(this.#map.chosen)
  }
}

/** Return where on the canvas a pointer is, in CSS pixels. */
function placeOf(event) {
  return { x: event.offsetX, y: event.offsetY }
}
