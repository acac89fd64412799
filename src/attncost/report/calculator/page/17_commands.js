// The commands of a terminal that say what is shown.

const SPELT = { weights: "--weights", kv: "--kv", activations: "--activations" }

/** Return what to type, each with what it is for. */
function commands(state) {
  const model = modelShown(state)
  const layer = `attncost derive ${attentionSpelt(state)} --d-model ${state.d_model} --heads ${state.heads} --length ${state.length}`
  const ofLayer = { title: "The formulas of one layer, step by step:", command: layer }
  const whole = state.kv_heads === state.heads && state.head_dim * state.heads === state.d_model
  if (!whole) ofLayer.note = "It takes as many heads of keys as of queries, and features that heads share."
  return model && memory(state) !== null ? [planned(state, model), ofLayer] : [ofLayer]
}

const attentionSpelt = (state) =>
  attentionOf(state).spelling
    .replace("{width//2}", String(Math.floor(state.width / 2)))
    .replace(/\{(\w+)\}/g, (_, name) => String(state[name]))

// The model that these sizes are, as a command names it, if it is one.
function modelShown(state) {
  const same = (sizes) => Object.keys(header.plain).every((name) =>
    name === "attention" || sizes[name] === state[name])
  const preset = header.presets.find(({ name }) => name === state.preset)
  const [name, sizes] = preset ? [preset.name, preset.state] : [header.model, header.start]
  return same(sizes) ? { name, attention: attentionSpelt({ ...state, ...sizes }) } : null
}

function planned(state, model) {
  const device = header.devices.find(({ name, memory: size }) => name === state.device && size === state.memory)
  const options = [`--memory ${device ? device.name : state.memory}`, `--for ${state.work}`,
    `--kernel ${state.kernel}`, `--batch ${state.batch}`]
  for (const [name, option] of Object.entries(SPELT)) {
    if (state[name] !== "bfloat16") options.push(`${option} ${state[name]}`)
  }
  if (state.page > 1) options.push(`--page ${state.page}`)
  if (state.work === "training" && state.optimizer !== "adamw") options.push(`--optimizer ${state.optimizer}`)
  if (state.work === "training" && state.checkpointing === "on") options.push("--checkpointing")
  if (attentionSpelt(state) !== model.attention) options.push(`--pattern ${attentionSpelt(state)}`)
  return {
    title: "The longest that fits, and how fast:",
    command: `attncost plan ${quoted(model.name)} ${options.join(" ")}`,
  }
}

const quoted = (word) => (/^[\w.:=,/@%+-]+$/.test(word) ? word : `'${word.replaceAll("'", "'\\''")}'`)
