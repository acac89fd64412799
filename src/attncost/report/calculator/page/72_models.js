// Models to start from: those that come with the page, and a config.json of one's own, which stays
// on this machine.

// A config.json is small; what is not is no config.json.
const LARGEST_FILE = 1_000_000

let openedFile = null

function choosePreset(name) {
  const preset = header.presets.find((one) => one.name === name)
  openedFile = null
  if (preset) startFrom({ ...preset.state, preset: name })
  else set({ preset: "" })
}

function startFrom(sizes) {
  const asked = { ...state, ...sizes }
  asked.head_dim_held = asked.head_dim !== shared(asked)
  const [problem] = problems(asked)
  if (problem) throw new Error(problem.message)
  set(asked)
}

async function openFile(file) {
  if (file.size > LARGEST_FILE) {
    throw new Error(`${file.name} has ${whole(file.size)} bytes; a config.json has a few thousand.`)
  }
  let said
  try {
    said = JSON.parse(await file.text())
  } catch (error) {
    throw new Error(`${file.name} is not JSON: ${error.message.slice(0, 100)}.`)
  }
  const sizes = readConfig(said)
  startFrom({ ...sizes, preset: "" })
  openedFile = { name: file.name, sizes }
}

// The model that was begun with, and its sizes.
function origin() {
  const preset = header.presets.find(({ name }) => name === state.preset)
  if (preset) return { name: preset.title, sizes: preset.state }
  if (openedFile) return openedFile
  if (first.preset) return { name: "own sizes", sizes: {} }
  return { name: header.model, sizes: modelOf(first) }
}

const modelOf = (it) =>
  Object.fromEntries(Object.keys(header.plain).map((name) => [name, it[name]]))

function describeModel() {
  const { name, sizes } = origin()
  const own = Object.entries(sizes).some(([name, value]) => state[name] !== value)
  byId("preset").value = state.preset
  byId("model").textContent =
    `${name}${own ? ", changed" : ""}: ${show(exactNumber(parameters(state)), "count")} parameters`
}

function makeModels() {
  byId("preset").append(...optionsOf("preset").map(({ name, title }) =>
    element("option", { value: name }, title)))
  const tell = (work) => Promise.resolve().then(work).catch(fail)
  byId("preset").addEventListener("change", () => tell(() => choosePreset(byId("preset").value)))
  byId("file").addEventListener("change", ({ target }) => {
    const [file] = target.files
    if (file) tell(() => openFile(file))
    // The same file may be chosen again, after a change.
    target.value = ""
  })
  addEventListener("dragover", (event) => {
    event.preventDefault()
    document.body.classList.add("dropping")
  })
  for (const event of ["dragleave", "drop"]) {
    addEventListener(event, () => document.body.classList.remove("dropping"))
  }
  addEventListener("drop", (event) => {
    event.preventDefault()
    const [file] = event.dataTransfer.files
    if (file) tell(() => openFile(file))
  })
  byId("reset").addEventListener("click", reset)
  changed(describeModel)
}

function reset() {
  openedFile = null
  set(first)
}
