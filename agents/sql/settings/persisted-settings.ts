import { readFile, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { managedSettings } from '#failover/settings/table.ts'

/**
 * Managed variables that somebody persisted with SET PERSIST. The server does not load them
 * (`persisted_globals_load=OFF`), but another hand that starts it would; it does not show them either, so they are read
 * from its file, again whenever that changed.
 */
export class PersistedSettings {
  readonly #path: string
  #stamp = ''
  #names: readonly string[] = []

  constructor(dataDir: string) {
    this.#path = join(dataDir, 'mysqld-auto.cnf')
  }

  async names(): Promise<readonly string[]> {
    const found = await stat(this.#path).catch((error: NodeJS.ErrnoException) => {
      if (error.code === 'ENOENT') return undefined
      throw error
    })
    const stamp = found ? `${found.ino} ${found.size} ${found.mtimeMs}` : ''
    if (stamp !== this.#stamp) this.#names = found ? managedIn(await readFile(this.#path, 'utf8')) : []
    this.#stamp = stamp
    return this.#names
  }
}

const managed: ReadonlySet<string> = new Set(managedSettings)

/**
 * Names of managed variables in the text of `mysqld-auto.cnf`; a text that is not JSON is being written, and has none.
 */
export function managedIn(text: string): readonly string[] {
  try {
    return [...new Set(variablesIn(JSON.parse(text)))].filter((name) => managed.has(name)).toSorted()
  } catch (error) {
    if (error instanceof SyntaxError) return []
    throw error
  }
}

/** The file nests groups of variables, differently by version; a variable is what has a Value. */
function variablesIn(value: unknown): readonly string[] {
  if (typeof value !== 'object' || value === null) return []
  return Object.entries(value).flatMap(([name, inner]) => (isVariable(inner) ? [name] : variablesIn(inner)))
}

function isVariable(value: unknown): boolean {
  return typeof value === 'object' && value !== null && 'Value' in value
}
