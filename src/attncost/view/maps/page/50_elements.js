// Words for making elements and showing numbers. Texts from data become text nodes and attributes
// only, so that a token can never be markup.

const byId = (id) => document.getElementById(id)

function element(tag, attributes = {}, ...children) {
  const made = document.createElement(tag)
  for (const [name, value] of Object.entries(attributes)) {
    if (name.startsWith("on")) made.addEventListener(name.slice(2), value)
    else if (value === true) made.setAttribute(name, "")
    else if (value !== false && value !== null) made.setAttribute(name, value)
  }
  made.append(...children)
  return made
}

const within = (value, low, high) => Math.min(Math.max(value, low), high)

// Four digits tell two weights apart; more would be noise of float16 queries and keys.
function digits(value, count = 4) {
  if (value === null || Number.isNaN(value)) return "–"
  if (value === 0 || !Number.isFinite(value)) return String(value)
  const size = Math.abs(value)
  if (Number.isInteger(value) && size < 1e7) return value.toLocaleString("en")
  if (size < 1e-3 || size >= 1e7) return value.toExponential(count - 1).replace("e+", "e")
  return size >= 10 ** count ? Math.round(value).toLocaleString("en") : value.toPrecision(count)
}

// Without zeros at the end, which would claim more than is known.
function short(value, count = 3) {
  const shown = digits(value, count)
  return /^-?\d*\.\d+$/.test(shown) ? String(Number(shown)) : shown
}

// As many digits in every line of a column, so that they can be compared.
function percent(share) {
  if (share > 0 && share < 1e-5) return "< 0.001 %"
  return `${digits(100 * share, 3)} %`
}
const times = (share) => `${digits(share, 3)} ×`

const UNITS = {
  nats: (value) => `${digits(value, 3)} nats`,
  percent,
  tokens: (value) => `${digits(value, 3)} ${value === 1 ? "token" : "tokens"}`,
}

function inUnit(value, unit) {
  if (value === null) return "–"
  return (UNITS[unit] ?? ((plain) => digits(plain, 3)))(value)
}

// Colours are the style sheet's, so that a canvas follows the theme of the page around it.
const styled = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim()

// A canvas as large as its box, in device pixels; drawing is in CSS pixels.
function sized(canvas) {
  const ratio = globalThis.devicePixelRatio || 1
  const width = canvas.clientWidth
  const height = canvas.clientHeight
  canvas.width = Math.round(width * ratio)
  canvas.height = Math.round(height * ratio)
  const pen = canvas.getContext("2d")
  pen.scale(ratio, ratio)
  return { pen, width, height }
}

// Said once things have come to rest: a reader that is held up by every key press hears nothing.
let speaking = 0
function say(text) {
  clearTimeout(speaking)
  speaking = setTimeout(() => {
    byId("spoken").textContent = text
  }, 500)
}

function fail(error) {
  const text = error instanceof Error ? error.message : String(error)
  byId("errors").append(element("p", { class: "alert" }, `Something went wrong: ${text}`))
}

async function copied(text, button) {
  const label = button.textContent
  try {
    await navigator.clipboard.writeText(text)
    button.textContent = "Copied"
    say("Copied.")
  } catch (error) {
    // A framed page, or one opened from a file, may not reach the clipboard.
    button.textContent = "Not allowed here"
    say(`The clipboard cannot be reached: ${error.message}`)
  }
  setTimeout(() => {
    button.textContent = label
  }, 1500)
}
