// A slider with its exact number beside it, a choice: each shows what is set and sets it.
// A mistake is said below the box, and the last good value stays.

const dials = new Map()

// `list` gives the places of the slider, `onSet` sets what is asked for.
function sizeDial(size, { list = () => places(size), onSet = null } = {}) {
  const { name, title, symbol, unit } = size
  const put = onSet ?? ((value) => set({ [name]: value }))
  const box = element("input", {
    id: name, type: "text", inputmode: "text", autocomplete: "off", spellcheck: "false",
    "aria-describedby": `${name}-wrong`,
  })
  const slider = element("input", {
    type: "range", id: `${name}-slider`, min: "0", step: "1", "aria-label": title,
  })
  const wrong = element("p", { class: "wrong", id: `${name}-wrong`, role: "status", hidden: true })
  const label = element("label", { for: name, title: size.says ?? "" }, title)
  if (symbol.toLowerCase() !== title.toLowerCase()) {
    label.append(element("var", {}, ...subscripted(symbol)))
  }
  const row = element("div", { class: "dial" }, label, box, slider, wrong)

  const refuse = (reason) => {
    wrong.textContent = reason ?? ""
    wrong.hidden = !reason
    box.setAttribute("aria-invalid", String(Boolean(reason)))
  }
  slider.addEventListener("input", () => {
    refuse()
    put(list()[Number(slider.value)])
  })
  box.addEventListener("input", () => {
    const value = read(box.value, unit)
    const reason = refusal(size, value, box.value)
    refuse(reason)
    if (!reason) put(value)
  })
  box.addEventListener("blur", () => {
    if (box.getAttribute("aria-invalid") !== "true") box.value = typed(state[name], unit)
  })
  box.addEventListener("keydown", (event) => {
    if (event.key === "Enter") event.preventDefault()
    if (event.key !== "Escape") return
    refuse()
    box.value = typed(state[name], unit)
  })
  const follow = () => {
    const values = list()
    slider.max = values.length - 1
    slider.disabled = values.length < 2
    slider.value = nearest(values, state[name])
    slider.setAttribute("aria-valuetext", spoken(state[name], unit))
    if (document.activeElement === box) return
    box.value = typed(state[name], unit)
    refuse()
  }
  dials.set(name, { row, follow, size })
  return row
}

const spoken = (value, unit) => UNITS_SPOKEN[unit]?.(value) ?? value.toLocaleString("en")
const UNITS_SPOKEN = {
  tokens: (value) => `${value.toLocaleString("en")} tokens`,
  sequences: (value) => `${value.toLocaleString("en")} ${value === 1 ? "sequence" : "sequences"}`,
  bytes: (value) => typed(value, "bytes"),
  rate: (value) => show(value, "rate"),
  moved: (value) => show(value, "moved"),
}

// Why a value cannot be set, in one line.
function refusal(size, value, text) {
  const { title, low, high, unit } = size
  const example = { bytes: "80GiB", rate: "989T", moved: "3.35T" }[unit] ?? "8k, 1e6 or 131072"
  if (Number.isNaN(value)) {
    return `${title} must be a number such as ${example}, got ${JSON.stringify(text.slice(0, 20))}.`
  }
  const rate = unit === "rate" || unit === "moved"
  const [least, most] = [low, high].map((bound) => (rate ? show : typed)(bound, unit))
  if (value < low || value > high) {
    const got = text.trim().slice(0, 30)
    return `${title} must lie between ${least} and ${most}, got ${got}.`
  }
  return broken({ ...state, [size.name]: value }, size.name)
}

function subscripted(symbol) {
  const [base, below] = symbol.split("_")
  return below ? [base, element("sub", {}, below)] : [base]
}

function choiceDial({ name, title, options }, onSet = (value) => set({ [name]: value })) {
  const menu = element("select", { id: name })
  menu.addEventListener("change", () => onSet(menu.value))
  const row = element("div", { class: "dial wide" }, element("label", { for: name }, title), menu)
  let offered = ""
  const follow = () => {
    const now = options().filter(({ hidden }) => !hidden)
    const names = now.map((one) => one.name + one.title).join()
    if (names !== offered) {
      menu.replaceChildren(...now.map((one) => element("option", { value: one.name }, one.title)))
      offered = names
    }
    menu.value = state[name]
  }
  dials.set(name, { row, follow })
  return row
}

// Narrow screens begin with what moves most; the rest is a touch away.
const group = (title, rows, open = matchMedia("(min-width: 56rem)").matches) =>
  element("details", { open }, element("summary", {}, title), ...rows)
