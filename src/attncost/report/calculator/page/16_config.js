// A config.json of Hugging Face, read by a table from Python: which key says which size. What the
// sizes of the page do not express is refused in one line.

const OTHERWISE = "use `attncost report FOLDER` instead."
const GREATEST = 2 ** 24

/** Return the settings that a config.json asks for; throws one line if they cannot be. */
function readConfig(said) {
  if (said === null || typeof said !== "object" || Array.isArray(said)) {
    throw new Error("This is no config.json: it must hold an object of settings.")
  }
  const kind = said.model_type
  if (typeof kind !== "string" || !Object.hasOwn(header.configs, kind)) {
    const known = Object.keys(header.configs).join(", ")
    throw new Error(`This page reads a model_type of ${known}, got ${shortly(kind)}: ${OTHERWISE}`)
  }
  const how = header.configs[kind]
  const settings = { ...how.unsaid, ...said }
  for (const [key, words] of how.refused) {
    if (settings[key]) throw new Error(`This model ${words}, which no size here says: ${OTHERWISE}`)
  }
  const found = { ...header.plain, ...how.fixed, ...sizesSaid(how.sizes, settings) }
  return { ...found, ...headSaid(how, settings, found), ...flagsSaid(how, settings, found),
    ...windowSaid(how.window, settings) }
}

const shortly = (value) => JSON.stringify(value ?? null).slice(0, 60)

function sizesSaid(sizes, settings) {
  const found = {}
  for (const [name, [key, usual]] of Object.entries(sizes)) {
    const said = key ? settings[key] : undefined
    if (said === undefined || said === null) found[name] = usualSize(key, usual, found)
    else found[name] = sizeSaid(key, said)
  }
  return found
}

function sizeSaid(key, said) {
  if (!Number.isInteger(said) || said < 1 || said > GREATEST) {
    throw new Error(`${key} must be a whole number from 1 to 16,777,216, got ${shortly(said)}.`)
  }
  return said
}

function usualSize(key, usual, found) {
  if (usual === null) throw new Error(`This config.json lacks the size ${key}.`)
  const { numerator, denominator } = exactly(usual, found, new Map())
  if (denominator !== 1n) {
    throw new Error(`Heads must divide features, got ${found.heads} for ${found.d_model}, and no head_dim.`)
  }
  return Number(numerator)
}

function headSaid({ heads }, settings) {
  const classes = Array.isArray(settings.architectures) ? settings.architectures.map(String) : []
  const match = heads.find(([part]) => classes.some((name) => name.includes(part)))
  if (!match) return {}
  if (!match[1]) throw new Error(`This model has the head of ${shortly(classes[0])}: ${OTHERWISE}`)
  return { head: match[1] }
}

function flagsSaid({ flags, heads }, settings) {
  const found = {}
  for (const [key, changes] of flags) if (settings[key]) Object.assign(found, changes)
  // Without a head there is none to tie.
  if (found.head && !("head" in headSaid({ heads }, settings))) delete found.head
  return found
}

function windowSaid(key, settings) {
  const width = key ? settings[key] : null
  if (width === null || width === undefined) return {}
  return { attention: "window", width: sizeSaid(key, width) }
}
