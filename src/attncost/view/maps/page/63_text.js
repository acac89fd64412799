// The whole text, its tokens shaded by the weights of the chosen query. Of a hundred thousand
// tokens only the pieces near the window are elements; the others are empty boxes of their height.

const PIECE = 200
// Longer tokens are cut; their titles hold more of them, but no megabyte.
const LONGEST = 40
const IN_TITLE = 2000
// Two token lists where queries and keys are different texts.
const texts = []

class Text {
  constructor(side, sequence, first, count) {
    Object.assign(this, { side, sequence, first, count })
    // Where queries are the last of these tokens, they begin at a later place.
    this.shift = side === "query" ? shiftOf(open.layer) : 0
    const name = side === "key" ? "Keys, shaded by the weights" : "Tokens: choose a query"
    this.box = element("div", {
      class: `tokens ${side}`,
      role: "listbox",
      tabindex: "0",
      "aria-label": name,
    })
    this.pieces = []
    for (let begin = 0; begin < count; begin += PIECE) this.pieces.push(this.#piece(begin))
    this.box.append(...this.pieces)
    const options = { root: this.box, rootMargin: "600px 0px" }
    this.seer = new IntersectionObserver((entries) => entries.forEach((e) => this.#met(e)), options)
    this.pieces.forEach((piece) => this.seer.observe(piece))
    this.box.addEventListener("click", (event) => this.#clicked(event))
    this.box.addEventListener("keydown", (event) => this.#typed(event))
  }

  #piece(begin) {
    const end = Math.min(begin + PIECE, this.count)
    let signs = 0
    for (let place = begin; place < end; place++) signs += this.#shown(place).length + 1
    const piece = element("div", { class: "piece", role: "presentation" })
    Object.assign(piece, { begin, end, held: false })
    // About 80 signs a line, until it was seen once.
    piece.style.minHeight = `${Math.ceil(signs / 80) * 1.75}rem`
    return piece
  }

  #shown(place) {
    return shortToken(this.sequence, this.first + place, LONGEST)
  }

  #met({ target, isIntersecting, boundingClientRect }) {
    if (isIntersecting) this.#hold(target)
    else if (target.held && !this.#chosenIn(target)) {
      target.style.minHeight = `${boundingClientRect.height}px`
      target.replaceChildren()
      target.classList.remove("held")
      target.held = false
    }
  }

  #chosenIn({ begin, end }) {
    return this.chosen >= begin && this.chosen < end
  }

  get chosen() {
    return choice[this.side] + this.shift
  }

  #hold(piece) {
    if (piece.held) return
    piece.held = true
    piece.style.minHeight = ""
    piece.classList.add("held")
    for (let place = piece.begin; place < piece.end; place++) piece.append(this.#token(place))
    this.#shade(piece)
  }

  #token(place) {
    const whole = shownToken(this.sequence, this.first + place)
    const cut = whole.length > LONGEST ? `: ${whole.slice(0, IN_TITLE)}` : ""
    return element(
      "bdi",
      {
        id: `${this.side}-${place}`,
        role: "option",
        title: `${place}${cut}`,
        "aria-posinset": place + 1,
        "aria-setsize": this.count,
        "aria-selected": "false",
      },
      this.#shown(place),
    )
  }

  show() {
    this.row = this.shades ? rowOf(choice.query) : null
    this.most = this.row ? this.row.reduce((one, other) => (other > one ? other : one), 0) : 0
    const piece = this.pieces[Math.floor(this.chosen / PIECE)]
    this.#hold(piece)
    this.pieces.filter(({ held }) => held).forEach((held) => this.#shade(held))
    this.box.setAttribute("aria-activedescendant", `${this.side}-${this.chosen}`)
    this.#reveal(piece.children[this.chosen - piece.begin])
  }

  // A list of its own for keys leaves the queries plain.
  get shades() {
    return this.side === "key" || texts.length === 1
  }

  #shade(piece) {
    const { chosen } = this
    const { children, begin } = piece
    for (let z = 0; z < children.length; z++) {
      const weight = this.row ? this.row[begin + z] : 0
      const unread = this.row !== null && Number.isNaN(weight)
      const share = unread || this.most <= 0 ? 0 : Math.sqrt(weight / this.most)
      children[z].style.setProperty("--shade-share", `${Math.round(100 * share)}%`)
      children[z].classList.toggle("unread", unread)
      children[z].setAttribute("aria-selected", String(begin + z === chosen))
    }
  }

  // Only the box scrolls: the page stays where its reader put it.
  #reveal(token) {
    const box = this.box.getBoundingClientRect()
    const place = token.getBoundingClientRect()
    if (place.top < box.top) this.box.scrollTop -= box.top - place.top + 40
    else if (place.bottom > box.bottom) this.box.scrollTop += place.bottom - box.bottom + 40
  }

  #clicked({ target }) {
    const token = target.closest("[role=option]")
    if (token) this.#choose(Number(token.getAttribute("aria-posinset")) - 1)
  }

  // A token before the first query can be a key alone.
  #choose(place) {
    if (place < this.shift) choosePlace({ key: place })
    else choosePlace({ [this.side]: place - this.shift })
  }

  #typed(event) {
    const steps = { ArrowLeft: -1, ArrowRight: 1, ArrowUp: -10, ArrowDown: 10 }
    const ends = { Home: 0, End: this.count - 1 }
    if (event.ctrlKey || event.metaKey || event.altKey) return
    const next = ends[event.key] ?? this.chosen + (steps[event.key] ?? NaN)
    if (Number.isNaN(next)) return
    event.preventDefault()
    choosePlace({ [this.side]: next - this.shift })
  }
}

let shownTexts = ""
function showTexts() {
  const { layer, head } = open
  // The image shows the same, each token where it is.
  byId("text").hidden = open.queries.grid !== null && open.keys.grid !== null
  const name = [layer.queries, layer.keys, head.n, head.m, layer.cross].join(" ")
  if (name === shownTexts) return
  shownTexts = name
  texts.splice(0).forEach(({ seer: watcher }) => watcher.disconnect())
  const tail = queriesAreKeys(layer)
  const apart = layer.cross || layer.queries !== layer.keys || (head.n !== head.m && !tail)
  texts.push(
    tail
      ? new Text("query", open.keys, keyToken(0), head.m)
      : new Text("query", open.queries, queryToken(0), head.n),
  )
  if (apart) texts.push(new Text("key", open.keys, keyToken(0), head.m))
  byId("texts").classList.toggle("two", apart)
  byId("texts").replaceChildren(...texts.map(titledText))
  byId("text-help").textContent = textHelp(apart, tail && head.n)
}

function textHelp(apart, last) {
  if (apart) return "Choose a query on the first side; the keys are shaded by its weights."
  const shaded = "all tokens are shaded by its weights, the most read the strongest."
  if (!last) return `Choose a token as query; ${shaded}`
  if (last === 1) return `The last token is the query; ${shaded} Choose another one as key.`
  return `Choose one of the last ${last.toLocaleString("en")} tokens as query; ${shaded}`
}

function titledText({ side, box, sequence }) {
  if (texts.length === 1) return box
  const sides = side === "key" ? "Keys" : "Queries"
  const { name } = sequence
  const title = !name || name === sides.toLowerCase() ? sides : `${sides}: ${name}`
  return element("div", {}, element("h4", {}, title), box)
}

function makeTexts() {
  when("head", showTexts)
  when("place", () => texts.forEach((text) => text.show()))
}
