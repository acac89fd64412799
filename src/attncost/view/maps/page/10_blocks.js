// The page's data: a header, and blocks of numbers that are unpacked when somebody looks at them.
//
// A block is base64 of little-endian bytes, deflated or plain, in a script element of type
// text/plain. The browser inflates it itself; no array is unpacked twice, and an array that two
// heads share is one array.

const header = JSON.parse(document.getElementById("attncost-maps").textContent)

// What a browser has not, its older ones do by hand.
const NATIVE_BASE64 = typeof Uint8Array.fromBase64 === "function"
const NATIVE_HALVES = typeof Float16Array === "function"

/** The arrays unpacked so far, or being unpacked, by block and type. */
const unpacked = new Map()

/** Return the numbers of a block as a typed array; those of type f16 become float32. */
function decoded(block) {
  const key = `${block.type} ${block.id}`
  if (!unpacked.has(key)) unpacked.set(key, unpack(block))
  return unpacked.get(key)
}

/** Return the numbers of a block, or null where there is none. */
async function decodedOrNull(block) {
  return block ? decoded(block) : null
}

async function unpack({ id, type, packed }) {
  const element = document.getElementById(id)
  if (!element) throw new Error(`This page is incomplete: it has no block ${id}.`)
  const bytes = bytesOf(element.textContent.trim())
  return numbersOf(packed === "plain" ? bytes.buffer : await inflated(bytes, packed), type)
}

function bytesOf(text) {
  if (NATIVE_BASE64) return Uint8Array.fromBase64(text)
  const letters = atob(text)
  const bytes = new Uint8Array(letters.length)
  for (let i = 0; i < bytes.length; i++) bytes[i] = letters.charCodeAt(i)
  return bytes
}

function inflated(bytes, format) {
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream(format))
  return new Response(stream).arrayBuffer()
}

function numbersOf(buffer, type) {
  if (type === "f32") return new Float32Array(buffer)
  if (type === "i32") return new Int32Array(buffer)
  if (type === "u8") return new Uint8Array(buffer)
  if (type === "f16") return fromHalves(buffer)
  throw new Error(`This page is newer than its script: it has a block of type ${type}.`)
}

function fromHalves(buffer) {
  if (NATIVE_HALVES) return new Float32Array(new Float16Array(buffer))
  const table = tableOfHalves()
  return Float32Array.from(new Uint16Array(buffer), (half) => table[half])
}

let halves = null

/** Return the value of every 16-bit float, by its bits. */
function tableOfHalves() {
  halves ??= Float32Array.from({ length: 1 << 16 }, (_, bits) => {
    const sign = bits & 0x8000 ? -1 : 1
    const exponent = (bits >> 10) & 31
    const fraction = (bits & 1023) / 1024
    if (exponent === 31) return fraction ? NaN : sign * Infinity
    return exponent ? sign * 2 ** (exponent - 15) * (1 + fraction) : sign * 2 ** -14 * fraction
  })
  return halves
}
