// All settings, in groups: the sequence, the attention, the machine, the model.

const optionsOf = (name) => {
  if (name === "attention") return header.attentions
  if (name === "compared") return [{ name: "none", title: "nothing" }, ...header.attentions]
  if (name === "device") return devices()
  if (name === "preset") return [{ name: "", title: "own sizes" }, ...header.presets]
  return header.choices.find((one) => one.name === name).options
}
const attentionTitle = (name) => {
  const { title, sizes } = header.attentions.find((one) => one.name === name)
  const said = sizes.map((one) => `${one} ${whole(state[one])}`)
  return said.length ? `${title} (${said.join(", ")})` : title
}

function devices() {
  const own = { name: "own", title: "own numbers" }
  const here = header.calibration ? [{ name: "calibrated", title: header.calibration.title }] : []
  return [...here, ...header.devices, own]
}

// A device brings its memory; a number typed afterwards is kept.
function chooseDevice(name) {
  const device = header.devices.find((one) => one.name === name)
  set({ device: name, ...(device && { memory: device.memory }) })
}

// A choice may make others impossible; then nothing is set, and the page says why.
function setWhole(changes) {
  const asked = { ...state, ...changes }
  const [problem] = problems(asked)
  if (!problem) return set(changes)
  for (const { follow } of dials.values()) follow()
  fail(problem.message)
  return undefined
}

// What is wrong with a setting after a change of it, if anything is.
const broken = (asked, name) => problems(asked).find((one) => one.name === name)?.message

function makeSettings() {
  const rows = { sequence: [], attention: [], machine: [], model: [], more: [] }
  const place = ({ name, group: of }) => {
    if (name === "length" || name === "batch" || name === "work") return "sequence"
    if (of === "main") return "model"
    return of === "model" ? "more" : of
  }
  rows.attention.push(
    choiceDial({ name: "attention", title: "Attention", options: () => optionsOf("attention") }),
    choiceDial({ name: "compared", title: "Compare", options: () => optionsOf("compared") }),
  )
  rows.machine.push(
    choiceDial({ name: "device", title: "Device", options: devices }, chooseDevice),
  )
  for (const choice of header.choices) {
    const given = { ...choice, options: () => choice.options }
    rows[place(choice)].push(choiceDial(given, (value) => setWhole({ [choice.name]: value })))
  }
  for (const size of header.sizes) rows[place(size)].push(sizeDial(size, HOW[size.name]?.(size)))
  dials.get("head_dim").row.append(free)
  byId("settings").append(
    group("Sequence", rows.sequence, true), group("Attention", rows.attention),
    group("Model", rows.model), group("Machine", rows.machine),
    ...(rows.more.length ? [group("More of the model", rows.more, false)] : []),
  )
  byId("settings").addEventListener("submit", (event) => event.preventDefault())
  changed(followSettings)
}

const HOW = {
  length: (size) => ({ list: () => places(size, 8) }),
  kv_heads: () => ({ list: () => divisors(state.heads) }),
  head_dim: () => ({ onSet: (value) => set({ head_dim: value, head_dim_held: true }) }),
}

const free = element("button", {
  type: "button", class: "follows", onclick: () => set({ head_dim_held: false }),
}, "follow features / heads")

// What says nothing of what is chosen is not asked for.
function followSettings() {
  for (const { follow } of dials.values()) follow()
  free.hidden = !state.head_dim_held
  for (const [name, { row }] of dials) row.hidden = !matters(name)
}

function matters(name) {
  const dialled = contenders().flatMap(({ attention }) =>
    header.attentions.find((one) => one.name === attention).sizes)
  if (sizeOf(name)?.group === "attention") return dialled.includes(name)
  if (name === "optimizer" || name === "checkpointing") return state.work === "training"
  if (name === "kv" || name === "page") return state.work !== "training"
  if (name === "peak" || name === "bandwidth") return state.device === "own"
  if (name === "last_norm") return state.norm !== "none"
  if (name === "hidden" || name === "feed_biases") return state.feed !== "none"
  return true
}
