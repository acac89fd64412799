// One head on a canvas, from the whole map down to single pairs.
//
// Zoomed out it shows blocks of the pooled map; as soon as few enough pairs are in sight, their
// exact weights, a few tiles a frame, so that the map follows the hand at any length. Nothing
// moves by itself: there is no animation to reduce.

/** So many pairs in sight are exact, unless more than so many lie beside each other in a pixel. */
const EXACT_PAIRS = 768 ** 2
const PAIRS_A_PIXEL = 2

/** Time that a frame may spend on new tiles, in milliseconds; a frame lasts 16. */
const TILE_TIME = 8

class MapView {
  constructor(canvas, { onRead = () => {}, onMove = () => {} } = {}) {
    this.canvas = canvas
    this.#context = canvas.getContext("2d")
    this.#onRead = onRead
    this.#onMove = onMove
    new Hands(this)
    new ResizeObserver(() => this.redraw()).observe(canvas)
    matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => this.redraw())
    this.#watchPixels()
  }

  canvas
  place = new Place()
  head = null
  chosen = null
  #context
  #onRead
  #onMove
  #tiles = null
  #marks = null
  #frame = 0
  #waiting = []
  // Where to go as soon as the canvas has any room.
  #later = null

  /** Show a head; one of the same size is shown at the same place. */
  show(head) {
    const same = this.head && this.head.n === head.n && this.head.m === head.m
    this.head = head
    this.#tiles = new Tiles(head)
    if (!same) {
      this.chosen = null
      this.place.hold(head.n, head.m)
    }
    this.#measure()
    this.moved()
    this.readChosen()
  }

  /**
   * Choose a pair and bring it to the middle, or only zoom if it is null.
   *
   * Zoom is CSS pixels a cell, 0 for the whole map; without one it stays as it is.
   */
  goTo(query, key, zoom) {
    this.#measure()
    if (!this.place.zoom) {
      this.#later = [query, key, zoom]
      return
    }
    if (query !== null && key !== null) this.choose(query, key)
    this.place.centre(this.chosen ?? this.place.middle, zoom)
    this.moved()
  }

  /** What is in sight: first query and key, CSS pixels a cell, how many of each; what is chosen. */
  get view() {
    return {
      ...this.place.sight,
      chosen: this.chosen && { ...this.chosen },
      exact: this.exact,
      block: this.#tiles ? { ...this.#tiles.block } : { rows: 1, keys: 1 },
    }
  }

  /** Whether cells are pairs, and not blocks of the pooled map. */
  get exact() {
    if (!this.#tiles?.pooled) return true
    const { rows, keys, zoom } = this.place.sight
    return rows * keys <= EXACT_PAIRS && zoom * this.place.ratio * PAIRS_A_PIXEL >= 1
  }

  /** Paint again, in the theme and on the scale of colours of now. */
  redraw() {
    this.#tiles?.forget()
    this.#marks = null
    this.#measure()
    this.moved()
  }

  /** Paint as soon as the screen does. */
  moved() {
    this.#frame ||= requestAnimationFrame(() => {
      this.#frame = 0
      if (!this.place.zoom) return
      this.canvas.style.touchAction = this.place.fitted ? "pan-x pan-y" : "none"
      this.#onMove(this.view)
      if (this.#paint()) this.moved()
      else this.#waiting.splice(0).forEach((resolve) => resolve())
    })
  }

  /** Wait until all that is in sight is as exact as it becomes. */
  settled() {
    this.moved()
    return new Promise((resolve) => this.#waiting.push(resolve))
  }

  /** Choose the nearest pair of the map. */
  choose(query, key) {
    const { n, m } = this.head
    this.chosen = {
      query: Math.max(0, Math.min(n - 1, Math.floor(query))),
      key: Math.max(0, Math.min(m - 1, Math.floor(key))),
    }
    this.readChosen()
    this.moved()
  }

  /** Choose nothing. */
  clear() {
    this.chosen = null
    this.moved()
  }

  /** Tell what the chosen pair weighs, if there is one. */
  readChosen() {
    if (this.chosen) this.read(this.chosen, true)
  }

  /** Tell what a pair weighs; nothing beside the map. */
  read({ query, key }, chosen = false) {
    if (!this.has({ query, key })) return
    this.#onRead(query, key, this.head.weight(query, key), this.head.state(query, key), chosen)
  }

  /** Whether there is such a pair. */
  has({ query, key }) {
    return this.head && query >= 0 && query < this.head.n && key >= 0 && key < this.head.m
  }

  /** How far an arrow moves: a cell in sight; and a page: almost what is in sight. */
  get steps() {
    const { rows, keys } = this.place.sight
    const cell = this.exact ? { rows: 1, keys: 1 } : this.#tiles.block
    return { cell, page: { rows: Math.ceil(rows * 0.9), keys: Math.ceil(keys * 0.9) } }
  }

  /** Paint again when the pixels of the screen change, as a canvas does not grow with them. */
  #watchPixels() {
    const same = matchMedia(`(resolution: ${devicePixelRatio}dppx)`)
    const changed = () => {
      this.redraw()
      this.#watchPixels()
    }
    same.addEventListener("change", changed, { once: true })
  }

  #measure() {
    const { clientWidth: width, clientHeight: height } = this.canvas
    if (this.place.resize(width, height, devicePixelRatio)) {
      this.canvas.width = Math.round(width * devicePixelRatio)
      this.canvas.height = Math.round(height * devicePixelRatio)
      this.#marks = null
    }
    if (!this.#later || !this.place.zoom) return
    const later = this.#later
    this.#later = null
    this.goTo(...later)
  }

  /** Paint what is in sight; return whether some of it is still missing. */
  #paint() {
    this.#marks ??= new Marks(this.canvas, this.place.ratio)
    this.#marks.ground(this.#context, this.place, this.head)
    const until = performance.now() + TILE_TIME
    const missing = this.#tiles.paint(this.#context, this.place, this.exact, until)
    this.#marks.lines(this.#context, this.place, this.head, this.chosen)
    return missing
  }
}
