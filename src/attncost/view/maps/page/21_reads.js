// Which keys each query reads, as spans of neighbours: a search in one row, not n x m bits.

class Reads {
  constructor(counts, gaps) {
    this.#first = new Int32Array(counts.length + 1)
    this.#spans = new Int32Array(gaps.length)
    let z = 0
    for (let i = 0; i < counts.length; i++) {
      let key = 0
      for (const end = z + 2 * counts[i]; z < end; z++) this.#spans[z] = key += gaps[z]
      this.#first[i + 1] = z >> 1
    }
  }

  // Span s is #spans[2 s] ... #spans[2 s + 1] - 1; those of row i are #first[i] ... #first[i + 1] - 1.
  #first
  #spans

  /** Return the number of the first span of a row that ends after a key. */
  from(i, key) {
    let low = this.#first[i]
    let high = this.#first[i + 1]
    while (low < high) {
      const middle = (low + high) >> 1
      if (this.#spans[2 * middle + 1] > key) high = middle
      else low = middle + 1
    }
    return low
  }

  /** Return the number after that of the last span of a row. */
  end(i) {
    return this.#first[i + 1]
  }

  /** Return where a span begins. */
  begins(span) {
    return this.#spans[2 * span]
  }

  /** Return where a span ends, that key left out. */
  ends(span) {
    return this.#spans[2 * span + 1]
  }

  /** Say whether a query reads a key. */
  has(i, j) {
    const span = this.from(i, j)
    return span < this.end(i) && this.begins(span) <= j
  }

  /** Return the smallest range within key0 ... key1 that holds all that some rows read there. */
  hull(row0, row1, key0, key1) {
    let low = key1
    let high = key0
    for (let i = row0; i < row1; i++) {
      const first = this.from(i, key0)
      if (first === this.end(i)) continue
      low = Math.min(low, Math.max(key0, this.begins(first)))
      // The span that holds key1 - 1, or the last one before it.
      const last = this.from(i, key1 - 1)
      const inside = last < this.end(i) && this.begins(last) < key1 ? last : last - 1
      if (inside >= first) high = Math.max(high, Math.min(key1, this.ends(inside)))
    }
    return [low, high]
  }
}

/** What queries read, by blocks: layers of one pattern share it. */
const unpackedReads = new Map()

/** Return what the queries of a layer read, or null if every one reads every key. */
async function readsOf({ reads }) {
  if (!reads) return null
  const key = `${reads.counts.id} ${reads.gaps.id}`
  if (!unpackedReads.has(key)) {
    const both = Promise.all([decoded(reads.counts), decoded(reads.gaps)])
    unpackedReads.set(key, both.then(([counts, gaps]) => new Reads(counts, gaps)))
  }
  return unpackedReads.get(key)
}
