// What is set stands in the address, so that it can be sent to someone and found again. An address
// is somebody else's text: only what could be set by hand is taken, and all of it or nothing.

const MOST_TEXT = 4000

const settable = () => [
  ...header.sizes.map(({ name }) => name),
  ...header.choices.map(({ name }) => name),
  "attention", "compared", "device", "head_dim_held", "preset",
]

// Only what is not as at first.
function address() {
  const said = new URLSearchParams()
  for (const name of settable()) {
    if (state[name] === first[name]) continue
    if (name === "head_dim" && !state.head_dim_held) continue
    said.set(name, String(state[name]))
  }
  return said.size ? `#${said}` : ""
}

// The changes that an address asks for; throws one line if it asks for what cannot be.
function wanted(hash) {
  if (hash.length > MOST_TEXT) throw new Error("This link is too long to be one of this page.")
  const said = new URLSearchParams(hash.replace(/^#/, ""))
  const found = {}
  for (const [name, text] of said) {
    if (!settable().includes(name)) {
      const shown = JSON.stringify(name.slice(0, 30))
      throw new Error(`This link sets ${shown}, which this page has not.`)
    }
    found[name] = wantedValue(name, text)
  }
  return found
}

function wantedValue(name, text) {
  const size = header.sizes.find((one) => one.name === name)
  if (size) {
    const value = /^\d{1,19}(\.\d{1,9})?(e\+?\d{1,2})?$/.test(text) ? Number(text) : NaN
    if (!(value >= size.low && value <= size.high)) throw unfit(name, text)
    return value
  }
  if (name === "head_dim_held") {
    if (text !== "true" && text !== "false") throw unfit(name, text)
    return text === "true"
  }
  if (!optionsOf(name).some((one) => one.name === text)) throw unfit(name, text)
  return text
}

const unfit = (name, text) =>
  new Error(`This link sets ${name} to ${JSON.stringify(text.slice(0, 30))}, which it cannot be.`)

function go(hash) {
  const asked = { ...first, ...wanted(hash) }
  if (!asked.head_dim_held) asked.head_dim = shared(asked)
  const [problem] = problems(asked)
  if (problem) throw new Error(`This link cannot be: ${problem.message}`)
  set(asked)
}

let writing = 0
function writeAddress() {
  clearTimeout(writing)
  writing = setTimeout(() => {
    if (address() === location.hash) return
    try {
      history.replaceState(null, "", address() || location.pathname + location.search)
    } catch (error) {
      // In a frame without an address of its own there is nothing to write.
      if (!(error instanceof DOMException)) throw error
      byId("copy-link").hidden = true
    }
  }, 250)
}

// An address that is refused changes nothing, and stays until something is set.
function fromAddress() {
  try {
    go(location.hash)
  } catch (error) {
    set(first)
    fail(error)
  }
}

function makePermalink() {
  addEventListener("hashchange", () => {
    if (location.hash !== address()) fromAddress()
  })
  byId("copy-link").addEventListener("click", ({ currentTarget }) => {
    copied(location.href.split("#")[0] + address(), currentTarget)
  })
  changed(writeAddress)
}
