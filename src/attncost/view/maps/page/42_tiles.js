// What is painted of a head: blocks of its pooled map, and exact tiles as far as there is time.

/** Side of a tile in pairs: about a millisecond of work at 64 features. */
const SIDE = 128

/** Tiles that are kept, 64 KiB each; 49 cover what is exact at once. */
const KEPT = 256

class Tiles {
  constructor(head) {
    this.#head = head
    this.pooled = head.map !== null
    if (this.pooled) {
      const { rows, columns } = head.map
      this.block = { rows: Math.ceil(head.n / rows), keys: Math.ceil(head.m / columns) }
    }
  }

  pooled
  /** Queries and keys of a block of the pooled map; the last ones may be shorter. */
  block = { rows: 1, keys: 1 }
  #head
  #overviews = new Map()
  #tiles = new Map()

  /** Forget what is painted, because colours have changed. */
  forget() {
    this.#overviews.clear()
    this.#tiles.clear()
  }

  /** Paint what is in sight, new tiles until a time; return whether there are more to come. */
  paint(context, place, exact, until) {
    const zoom = place.zoom * place.ratio
    // Cells stay sharp; where several lie in one pixel, none is to vanish.
    context.imageSmoothingEnabled = (exact ? zoom : zoom * this.block.keys) < 1
    if (exact) return this.#paintTiles(context, place, until)
    this.#paintOverview(context, place, place.range, false)
    return false
  }

  #paintTiles(context, place, until) {
    const [row0, row1, key0, key1] = place.range
    let missing = false
    for (let row = row0 - (row0 % SIDE); row < row1; row += SIDE) {
      for (let key = key0 - (key0 % SIDE); key < key1; key += SIDE) {
        const tile = this.#tile(row, key, missing ? 0 : until)
        const range = this.#rangeOf(row, key)
        if (tile) drawPart(context, place, tile, range, { row, key, rows: 1, keys: 1 })
        else if (this.pooled) this.#paintOverview(context, place, range, true)
        missing ||= !tile
      }
    }
    return missing
  }

  #paintOverview(context, place, range, exact) {
    const { block } = this
    if (!this.#overviews.has(exact)) this.#overviews.set(exact, this.#pictureOfMap(exact))
    drawPart(context, place, this.#overviews.get(exact), range, { row: 0, key: 0, ...block })
  }

  /** Return a tile that is there, or that time is left for. */
  #tile(row, key, until) {
    const name = `${row} ${key}`
    let tile = this.#tiles.get(name)
    if (!tile && performance.now() >= until) return null
    tile ??= this.#pictureOfTile(row, key)
    // The one that was looked at last is the last to be forgotten.
    this.#tiles.delete(name)
    this.#tiles.set(name, tile)
    if (this.#tiles.size > KEPT) this.#tiles.delete(this.#tiles.keys().next().value)
    return tile
  }

  #rangeOf(row, key) {
    const { n, m } = this.#head
    return [row, Math.min(n, row + SIDE), key, Math.min(m, key + SIDE)]
  }

  #pictureOfTile(row, key) {
    const [row0, row1, key0, key1] = this.#rangeOf(row, key)
    const by = scaleOf(this.#head, true)
    const weights = this.#head.tile(row0, row1, key0, key1)
    return picture(key1 - key0, row1 - row0, (z) => by.ink(weights[z]))
  }

  /** Paint masses of blocks, or, where exact tiles are still to come, the mean weights in them. */
  #pictureOfMap(exact) {
    const { values, rows, columns } = this.#head.map
    const by = scaleOf(this.#head, exact)
    const pairs = exact ? this.block.keys : 1
    const inks = Uint32Array.from({ length: 256 }, (_, number) => by.ink(massOf(number) / pairs))
    return picture(columns, rows, (z) => inks[values[z]])
  }
}

/** Return a canvas whose pixels have the inks of their numbers, row by row. */
function picture(width, height, inkAt) {
  const canvas = new OffscreenCanvas(width, height)
  const context = canvas.getContext("2d")
  const image = context.createImageData(width, height)
  const pixels = new Uint32Array(image.data.buffer)
  for (let z = 0; z < pixels.length; z++) pixels[z] = inkAt(z)
  context.putImageData(image, 0, 0)
  return canvas
}

/** Paint the part of a picture that shows a range, given its first cell and what a pixel covers. */
function drawPart(context, place, image, [row0, row1, key0, key1], { row, key, rows, keys }) {
  const [left, top] = [place.x(key0), place.y(row0)]
  const [width, height] = [place.x(key1) - left, place.y(row1) - top]
  if (width <= 0 || height <= 0) return
  const from = [(key0 - key) / keys, (row0 - row) / rows]
  const size = [(key1 - key0) / keys, (row1 - row0) / rows]
  context.drawImage(image, ...from, ...size, left, top, width, height)
}
