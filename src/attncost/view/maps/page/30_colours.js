// Colours of weights: cividis, which colour-blind people see as others do and whose lightness
// grows evenly; Nuñez, Anderton and Renslow 2018, doi:10.1371/journal.pone.0199239.
//
// Stops at equal distances, linear in sRGB in between. What is not read has no colour: hatching.

const STOPS = [
  "#002051", "#11366c", "#3c4d6e", "#62646f", "#7f7c75", "#9a9478", "#bbaf71", "#e2cb5c", "#fdea45",
]

// What is not read, where there is no room for hatching.
const UNREAD = [136, 136, 136]

const SHADES = Array.from({ length: 256 }, (_, i) => shade(i / 255))

/** The same as pixels of an image: the bytes of a 32-bit number are red, green, blue, alpha. */
const INKS = new Uint32Array(new Uint8Array(SHADES.flatMap((rgb) => [...rgb, 255])).buffer)

function shade(share) {
  const place = Math.min(share * (STOPS.length - 1), STOPS.length - 1.000001)
  const below = Math.floor(place)
  const [low, high] = [channels(STOPS[below]), channels(STOPS[below + 1])]
  return low.map((value, i) => Math.round(value + (high[i] - value) * (place - below)))
}

function channels(hex) {
  return [1, 3, 5].map((start) => parseInt(hex.slice(start, start + 2), 16))
}

/** Which weights the darkest and the lightest colour stand for, and how others lie in between. */
class Scale {
  constructor(kind, low, high) {
    Object.assign(this, { kind, low, high })
    this.#linear = kind === "linear"
    this.#width = this.#linear ? high - low : Math.log(high / low)
  }

  #linear
  #width

  /** Return where a weight lies between the ends, below 0 or above 1 if beyond them. */
  share(value) {
    return (this.#linear ? value - this.low : Math.log(value / this.low)) / this.#width
  }

  /** Return the weight at a place between the ends. */
  at(share) {
    return this.#linear ? this.low + share * this.#width : this.low * Math.exp(share * this.#width)
  }

  /** Return the number of the shade of a weight, from 0 to 255. */
  shade(value) {
    const share = this.share(value)
    return share > 0 ? Math.min(255, Math.round(share * 255)) : 0
  }

  /** Return the colour of a weight as a pixel; what is not read is transparent. */
  ink(value) {
    return Number.isNaN(value) ? 0 : INKS[this.shade(value)]
  }
}

/** Numbers beside the scale, increasing: each {value, label}. */
const LEGEND = []

let scale = null

/**
 * Spread colours over weights themselves ("linear"), or over their magnitudes: all of them ("log"),
 * or those that a head has ("fitted"), without ends those of whatever is painted.
 */
function setScale(kind, low = null, high = null) {
  const ends = kind === "linear" ? [0, 1] : [header.scale.low, 1]
  scale = new Scale(kind, low ?? ends[0], high ?? ends[1])
  scale.open = kind === "fitted" && high === null
  LEGEND.splice(0, Infinity, ...legendOf(scale))
}

/** Return numbers beside a scale, as LEGEND. */
function legendOf(by) {
  if (by.kind === "linear") return evenStops()
  return by.kind === "log" ? powersOfTen() : fittedStops(by)
}

function evenStops() {
  return [0, 0.25, 0.5, 0.75, 1].map((value) => ({ value, label: String(value) }))
}

function powersOfTen() {
  const stops = []
  for (let power = Math.round(Math.log10(header.scale.low)); power <= 0; power++) {
    const label = powerOfTen(power)
    stops.push({ value: 10 ** power, label: stops.length ? label : `≤ ${label}` })
  }
  return stops
}

const powerOfTen = (power) => (power < -2 ? `10${superscript(power)}` : String(10 ** power))

function superscript(power) {
  return "⁻" + [...String(-power)].map((digit) => "⁰¹²³⁴⁵⁶⁷⁸⁹"[digit]).join("")
}

/** Return the colour of a weight as [red, green, blue]; a grey for what is not read. */
function colourOf(value) {
  return Number.isNaN(value) ? UNREAD : SHADES[scale.shade(value)]
}

/** Return the colour of a weight as a pixel; what is not read is transparent. */
function inkOf(value) {
  return scale.ink(value)
}

setScale("log")
