// Words for making elements. Texts become text nodes and attributes only, so that nothing that came
// with a file or an address can be markup.

const byId = (id) => document.getElementById(id)

const madeIn = (space) => (tag, attributes = {}, ...children) => {
  const made = document.createElementNS(space, tag)
  for (const [name, value] of Object.entries(attributes)) {
    if (name.startsWith("on")) made.addEventListener(name.slice(2), value)
    else if (value === true) made.setAttribute(name, "")
    else if (value !== false && value !== null) made.setAttribute(name, value)
  }
  made.append(...children)
  return made
}

const element = madeIn("http://www.w3.org/1999/xhtml")
const drawn = madeIn("http://www.w3.org/2000/svg")
const formula = madeIn("http://www.w3.org/1998/Math/MathML")

// A style sheet takes a colour or a share by name; the policy of the page lets only CSSOM set it.
function toned(made, properties) {
  for (const [name, value] of Object.entries(properties)) made.style.setProperty(`--${name}`, value)
  return made
}

const within = (value, low, high) => Math.min(Math.max(value, low), high)

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
  byId("errors").replaceChildren(element("p", { class: "alert" }, text))
}

const forgive = () => byId("errors").replaceChildren()

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
