/** Bytes of a dump → the documents in it. Knows files and their formats, nothing of Kubernetes. */
import { promisify } from 'node:util'
import { gunzip } from 'node:zlib'
import { InputError } from './errors.js'

/** A dump of a big cluster is some hundred MB; what a gzip file claims to expand to beyond this is not believed. */
const MAX_TEXT_BYTES = 2 ** 30

const WRITE_ONE = 'write one with: kubectl get nodes,pods,pvc,pv,sc,pdb,… -A -o yaml > FILE'

function plural(count: number, unit: string): string {
  return `${count} ${unit}${count === 1 ? '' : 's'}`
}

/** The text of a file, whatever encoding it came in: UTF-8, UTF-16 as PowerShell's `>` writes it, gzip of either. */
async function textOf(name: string, bytes: Buffer): Promise<string> {
  if (bytes.length === 0) {
    throw new InputError(`${name} is empty`, ['see whether the command that wrote it failed', WRITE_ONE])
  }
  if (bytes[0] === 0x1f && bytes[1] === 0x8b) {
    let plain: Buffer
    try {
      plain = await promisify(gunzip)(bytes, { maxOutputLength: MAX_TEXT_BYTES })
    } catch (cause) {
      throw new InputError(`${name} is a gzip file that can't be unpacked: it is damaged, cut off or too big`, [], {
        cause,
      })
    }
    return textOf(`${name} (unpacked)`, plain)
  }
  const encoding = encodingOf(bytes)
  let text: string
  try {
    // TextDecoder drops the byte order mark.
    text = new TextDecoder(encoding, { fatal: true }).decode(bytes)
  } catch (cause) {
    if (bytes.length >= 2 ** 29) {
      throw new InputError(`${name} is too big to be read at once (${plural(bytes.length, 'byte')})`, [
        'write several smaller files, by kind or namespace, and give each with --from',
      ])
    }
    throw new InputError(`${name} is not text: not ${encoding.toUpperCase()}`, [WRITE_ONE], { cause })
  }
  if (text.includes('\0')) throw new InputError(`${name} is a binary file, neither JSON nor YAML`, [WRITE_ONE])
  return text
}

function encodingOf(bytes: Buffer): 'utf-8' | 'utf-16le' | 'utf-16be' {
  const [first, second] = bytes
  if (first === 0xff && second === 0xfe) return 'utf-16le'
  if (first === 0xfe && second === 0xff) return 'utf-16be'
  // Without a mark: JSON and YAML begin with a character of ASCII, which has its zero byte on one side.
  if (second === 0 && first !== 0) return 'utf-16le'
  if (first === 0 && second !== 0 && second !== undefined) return 'utf-16be'
  return 'utf-8'
}

/**
 * The documents of a file: JSON, several JSON values one after the other, or YAML of any number of documents. Empty documents are left out.
 * @throws {InputError} names the file, the line where it is known, and what to do.
 */
export async function decodeDocuments(name: string, bytes: Buffer): Promise<unknown[]> {
  const text = withoutLogs(await textOf(name, bytes))
  const start = text.search(/\S/)
  if (start < 0) throw new InputError(`${name} is empty`, ['see whether the command that wrote it failed', WRITE_ONE])
  const head = text.slice(start, start + 200)
  if (head.startsWith('<')) {
    throw new InputError(
      `${name} is ${/^<(!doctype html|html)/i.test(head) ? 'an HTML page' : 'HTML or XML'}, not JSON or YAML`,
      ['it may be the error page of a proxy or a login page: look into it', WRITE_ONE],
    )
  }
  if (/^(NAMESPACE|NAME)\s{2,}[A-Z]/.test(head)) {
    throw new InputError(`${name} is the table that kubectl prints, which leaves out most of what is needed`, [
      'repeat that command with -o yaml or -o json',
    ])
  }
  if (/^[{[]/.test(head)) {
    const documents = parseJson(name, text)
    if (documents !== null) return documents
  }
  const { parseYaml, YamlError } = await import('./yaml.js')
  try {
    return parseYaml(text).filter((document) => document !== null && document !== undefined)
  } catch (error) {
    if (!(error instanceof YamlError)) throw error
    const kind = /^[{[]/.test(head) ? 'JSON' : 'YAML'
    const line = error.line === null ? '' : `, line ${error.line}`
    throw new InputError(`${name}${line}: not valid ${kind}: ${error.problem}`, [
      'see whether the file was edited, or cut off when it was copied',
    ])
  }
}

/** What `kubectl cluster-info dump` writes to its standard output has the containers' logs between the lists. */
function withoutLogs(text: string): string {
  if (!text.includes('\n==== START logs for container ')) return text
  const kept: string[] = []
  let end: string | null = null
  for (const line of text.split('\n')) {
    if (end === null && line.startsWith('==== START logs for container ')) end = line.replace('START', 'END')
    // A log that does not end in a newline has the mark on its last line.
    else if (end !== null && line.trimEnd().endsWith(end.trimEnd())) end = null
    else kept.push(end === null ? line : '')
  }
  return kept.join('\n')
}

/** JSON values one after the other; null when the text is no JSON, though it begins like it. */
function parseJson(name: string, text: string): unknown[] | null {
  try {
    return [JSON.parse(text)]
  } catch {
    // Several values, or broken: told apart below.
  }
  const { values, open } = jsonValues(text)
  const documents: unknown[] = []
  for (const value of values) {
    try {
      documents.push(JSON.parse(value))
    } catch {
      return null
    }
  }
  if (open !== null) {
    const last = lineAt(text, text.trimEnd().length)
    throw new InputError(
      `${name}, line ${last}: the file ends in the middle of what begins on line ${lineAt(text, open)}: it is cut off`,
      ['copy or write it again'],
    )
  }
  return documents
}

function lineAt(text: string, offset: number): number {
  let line = 1
  for (let at = text.indexOf('\n'); at >= 0 && at < offset; at = text.indexOf('\n', at + 1)) line++
  return line
}

/**
 * Cuts a text where one JSON object or array ends and the next begins. `open` is where the last one begins if it does not end.
 * Text between them becomes a value of its own, which JSON.parse then refuses.
 */
function jsonValues(text: string): { values: string[]; open: number | null } {
  const values: string[] = []
  let depth = 0
  let start = 0
  const marks = /["{}[\]]/g
  for (let match = marks.exec(text); match !== null; match = marks.exec(text)) {
    const at = match.index
    if (match[0] === '"') {
      const end = stringEnd(text, at)
      if (end < 0) return { values, open: start }
      marks.lastIndex = end + 1
    } else if (match[0] === '{' || match[0] === '[') {
      depth++
    } else {
      depth--
      if (depth <= 0) {
        values.push(text.slice(start, at + 1))
        depth = 0
        start = at + 1
        const next = text.slice(start, start + 4096).search(/\S/)
        if (next > 0) start += next
      }
    }
  }
  const rest = text.slice(start).trim()
  if (depth === 0 && rest !== '') values.push(rest)
  return { values, open: depth > 0 ? start : null }
}

/** Where the string that begins at `start` ends; -1 when it does not. */
function stringEnd(text: string, start: number): number {
  for (let at = text.indexOf('"', start + 1); at >= 0; at = text.indexOf('"', at + 1)) {
    let slashes = 0
    while (text[at - 1 - slashes] === '\\') slashes++
    if (slashes % 2 === 0) return at
  }
  return -1
}
