// How numbers are written for people and read from them: as `attncost` prints and takes them.

const LARGE = ["", "k", "M", "G", "T", "P", "E", "Z", "Y", "R"]
const BINARY = ["B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB", "ZiB", "YiB"]
const BELOW_A_SECOND = [[1, "s"], [1e-3, "ms"], [1e-6, "µs"], [1e-9, "ns"]]
const NAMES = { flops: "FLOPs", rate: "FLOP/s", moved: "B/s" }

const whole = (value) => BigInt(value).toLocaleString("en")

// Three significant figures, without an exponent where that is readable.
function figures(value) {
  if (value === 0) return "0"
  const size = Math.abs(value)
  if (size >= 1e7) return value.toExponential(2).replace("e+", "e")
  if (size >= 99.95) return Math.round(value).toLocaleString("en")
  return value.toFixed(size >= 9.995 ? 1 : size >= 0.995 ? 2 : 3)
}

function scaled(value, step, prefixes) {
  let power = 0
  while (Math.abs(value) >= 0.9995 * step && power < prefixes.length - 1) {
    value /= step
    power += 1
  }
  return [value, prefixes[power]]
}

function show(value, unit) {
  if (!Number.isFinite(value)) return "–"
  if (unit === "tokens") return Math.round(value).toLocaleString("en")
  if (unit === "percent") {
    return value > 0 && value < 5e-6 ? "< 0.001 %" : `${figures(100 * value)} %`
  }
  if (unit === "times") return `${figures(value)} ×`
  if (unit === "seconds") return duration(value)
  if (unit === "bytes") {
    const [size, prefix] = scaled(value, 1024, BINARY)
    return `${prefix === "B" ? Math.round(size) : figures(size)} ${prefix}`
  }
  const [size, prefix] = scaled(value, 1000, LARGE)
  const digits = prefix ? figures(size) : String(Number(size.toPrecision(3)))
  return `${digits} ${prefix}${NAMES[unit] ?? ""}`.trim()
}

function duration(value) {
  if (value >= 172_800) return `${figures(value / 86_400)} days`
  if (value >= 7200) return `${figures(value / 3600)} h`
  const [size, name] = BELOW_A_SECOND.find(([size]) => value >= 0.9995 * size) ?? [1e-9, "ns"]
  return `${figures(value / size)} ${name}`
}

// Shorter than in a sentence, for axes: 8k tokens are 8,192 of them.
function tick(value, unit) {
  if (unit === "tokens") {
    const [size, prefix] = scaled(value, 1024, ["", "k", "M", "G", "T"])
    return `${Number(size.toPrecision(4))}${prefix}`
  }
  return show(value, unit).replace(/\.0+(?= |$)/, "").replace(/(\.\d*?)0+(?= |$)/, "$1")
}

const PREFIXES = { "": 1, k: 1e3, M: 1e6, G: 1e9, T: 1e12, P: 1e15, E: 1e18 }
const TOKENS = { "": 1, k: 1024, m: 1024 ** 2 }
const BYTES = { "": 1, b: 1 }
for (const [power, prefix] of ["", "k", "m", "g", "t", "p"].entries()) {
  if (prefix) BYTES[`${prefix}b`] = 1000 ** power
  if (prefix) BYTES[`${prefix}ib`] = 1024 ** power
}

// A number as people type it; NaN if it is none. k is 1,024 of tokens, features and heads.
function read(text, unit) {
  const plain = text.trim().replace(/(?<=\d)[,_\u202f ](?=\d{3})/g, "")
  const found = /^(\d{1,30}(?:\.\d{1,30})?(?:e\+?\d{1,2})?)\s*([a-z/]*)$/i.exec(plain)
  if (!found) return NaN
  const [, digits, said] = found
  let size
  if (unit === "bytes") size = BYTES[said.toLowerCase()]
  else if (unit === "rate" || unit === "moved") {
    size = PREFIXES[said.replace(/(?:FLOPS|FLOPs|FLOP\/s|B\/s)$/, "")]
  } else size = TOKENS[said.toLowerCase()]
  const value = Number(digits) * (size ?? NaN)
  return unit === "rate" || unit === "moved" ? value : settled(value)
}

// 0.1 GB is 100,000,000 bytes, though 0.1 is no binary fraction; parts of a token are none.
function settled(value) {
  const round = Math.round(value)
  return Math.abs(value - round) <= 1e-9 * value ? round : Math.floor(value)
}

// As it is put into a box: what `read` reads, and nothing lost.
function typed(value, unit) {
  if (unit === "bytes") {
    for (const power of [5, 4, 3, 2]) {
      for (const base of [1024, 1000]) {
        const size = value / base ** power
        if (size >= 1 && Number.isInteger(size * 100) && size < 10_000) {
          return `${size} ${"  MGTP"[power]}${base === 1024 ? "iB" : "B"}`
        }
      }
    }
  }
  if (unit === "rate" || unit === "moved") {
    const [size, prefix] = scaled(value, 1000, ["", "k", "M", "G", "T", "P", "E"])
    return `${Number(size.toPrecision(12))}${prefix}`
  }
  return value.toLocaleString("en")
}
