/** YAML as kubectl writes it and people edit it. Apart, so that only who meets YAML loads a parser for it. */
import { CORE_SCHEMA, loadAll, Type, YAMLException } from 'js-yaml'

// YAML 1.2's core types and merge keys. Words that only YAML 1.1 takes for booleans stay text: kubectl puts such strings in quotes,
// and where a boolean is wanted project.ts understands them. Timestamps stay text, as in JSON.
const merge = new Type('tag:yaml.org,2002:merge', { kind: 'scalar', resolve: (word: unknown) => word === '<<' })
const SCHEMA = CORE_SCHEMA.extend({ implicit: [merge] })

/** Text that is not YAML. `line` counts from 1; null when it can't be told. */
export class YamlError extends Error {
  constructor(
    readonly problem: string,
    readonly line: number | null,
  ) {
    super(problem)
    this.name = 'YamlError'
  }
}

/**
 * All documents of a text, in order.
 * @throws {YamlError} also when its aliases make more of it than it holds ("billion laughs").
 */
export function parseYaml(text: string): unknown[] {
  const documents: unknown[] = []
  try {
    // json: of a key given twice the last one counts, as with kubectl's own reader.
    loadAll(text, (document) => documents.push(document), { schema: SCHEMA, json: true })
  } catch (error) {
    if (error instanceof YAMLException) {
      const line = error.mark === undefined || error.mark === null ? null : error.mark.line + 1
      throw new YamlError(describe(error, text), line)
    }
    if (error instanceof RangeError) throw new YamlError('it is nested too deeply', null)
    throw error
  }
  if (text.includes('&')) refuseBombs(documents, text.length)
  return documents
}

function describe(error: YAMLException, text: string): string {
  const line = error.mark === undefined || error.mark === null ? '' : (text.split('\n')[error.mark.line] ?? '')
  if (/^ *\t/.test(line)) return 'the line is indented with a tab, which YAML does not allow'
  return error.reason
}

// Aliases are references to one and the same value, so parsing them costs nothing, but whoever then walks the whole meets it
// as often as it is named. Without aliases a text can't hold more values than characters.
function refuseBombs(documents: unknown[], limit: number): void {
  let left = limit
  const waiting: unknown[] = [documents]
  while (waiting.length > 0) {
    const value = waiting.pop()
    if (typeof value !== 'object' || value === null) continue
    const inner = Object.values(value)
    left -= inner.length
    if (left < 0) throw new YamlError('its aliases expand to more than the file holds', null)
    for (const item of inner) waiting.push(item)
  }
}
