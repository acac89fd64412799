// Which part of a map is in sight. Cells are square, and the map begins at the canvas's top left.

/** Largest side of a cell in CSS pixels, unless the whole map fits with larger ones. */
const LARGEST_CELL = 48

class Place {
  // The first query and key in sight, not always whole ones, and CSS pixels a cell; 0 without room.
  query = 0
  key = 0
  zoom = 0
  // Whether the whole map is in sight, and is to stay so when the canvas changes.
  fitted = true
  ratio = 1
  #n = 0
  #m = 0
  #width = 0
  #height = 0

  /** Hold a map of other size, all of it in sight. */
  hold(n, m) {
    this.#n = n
    this.#m = m
    this.fit()
  }

  /** Take the size of the canvas in CSS pixels; return whether it is new. */
  resize(width, height, ratio) {
    if (width === this.#width && height === this.#height && ratio === this.ratio) return false
    this.#width = width
    this.#height = height
    this.ratio = ratio
    this.#put(this.fitted ? 0 : this.zoom, this.query, this.key)
    return true
  }

  /** First query and key in sight, CSS pixels a cell, and how many queries and keys there are. */
  get sight() {
    const { query, key, zoom } = this
    if (!zoom) return { query, key, zoom, rows: 0, keys: 0 }
    const rows = Math.min(this.#n - query, this.#height / zoom)
    return { query, key, zoom, rows, keys: Math.min(this.#m - key, this.#width / zoom) }
  }

  /** The same in whole queries and keys: [first row, row after the last, first key, key after]. */
  get range() {
    const { query, key, rows, keys } = this.sight
    return [
      Math.floor(query),
      Math.min(this.#n, Math.ceil(query + rows)),
      Math.floor(key),
      Math.min(this.#m, Math.ceil(key + keys)),
    ]
  }

  /** Return where a key begins on the canvas, in whole pixels, so that tiles meet without a seam. */
  x(key) {
    return Math.round((key - this.key) * this.zoom * this.ratio)
  }

  /** Return where a query begins on the canvas, in whole pixels. */
  y(query) {
    return Math.round((query - this.query) * this.zoom * this.ratio)
  }

  /** Return the pair at a place of the canvas in CSS pixels; it may lie beside the map. */
  pairAt(x, y) {
    return {
      query: Math.floor(this.query + y / this.zoom),
      key: Math.floor(this.key + x / this.zoom),
    }
  }

  /** Move the map by CSS pixels. */
  pan(x, y) {
    this.#put(this.zoom, this.query - y / this.zoom, this.key - x / this.zoom)
  }

  /** Zoom around a place of the canvas. */
  zoomBy(factor, { x, y }) {
    const old = this.zoom
    const zoom = this.#within(old * factor)
    this.#put(zoom, this.query + y / old - y / zoom, this.key + x / old - x / zoom)
  }

  /** The pair in the middle of what is in sight. */
  get middle() {
    const { query, key, rows, keys } = this.sight
    return { query: query + rows / 2 - 0.5, key: key + keys / 2 - 0.5 }
  }

  /** Zoom around a pair that is in sight and stays there whole, or around the middle. */
  zoomAround(pair, factor) {
    const { query, key, rows, keys } = this.sight
    const { query: i, key: j } = pair ?? { query: NaN, key: NaN }
    const seen = i >= query && i + 1 <= query + rows && j >= key && j + 1 <= key + keys
    const at = seen ? pair : this.middle
    const x = (at.key + 0.5 - key) * this.zoom
    this.zoomBy(factor, { x, y: (at.query + 0.5 - query) * this.zoom })
    if (seen) this.reveal(pair)
  }

  /** Bring all into sight. */
  fit() {
    this.#put(0, 0, 0)
  }

  /** Bring a pair to the middle; zoom 0 is the whole map, and none keeps what it is. */
  centre({ query, key }, zoom = this.zoom) {
    const next = this.#within(zoom)
    const rows = this.#height / next
    const keys = this.#width / next
    this.#put(next, query + 0.5 - rows / 2, key + 0.5 - keys / 2)
  }

  /** Move as little as brings a pair into sight. */
  reveal({ query, key }) {
    const rows = this.#height / this.zoom
    const keys = this.#width / this.zoom
    const first = Math.max(query + 1 - rows, Math.min(query, this.query))
    this.#put(this.zoom, first, Math.max(key + 1 - keys, Math.min(key, this.key)))
  }

  #whole() {
    return this.#m ? Math.min(this.#width / this.#m, this.#height / this.#n) : 0
  }

  #within(zoom) {
    const whole = this.#whole()
    return Math.max(whole, Math.min(zoom, Math.max(whole, LARGEST_CELL)))
  }

  #put(zoom, query, key) {
    this.zoom = this.#within(zoom)
    this.fitted = this.zoom === this.#whole()
    if (!this.zoom) return
    this.query = Math.max(0, Math.min(this.#n - this.#height / this.zoom, query))
    this.key = Math.max(0, Math.min(this.#m - this.#width / this.zoom, key))
  }
}
