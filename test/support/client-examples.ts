import { readFile, symlink, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { goProgram, javaProgram, pythonWith, type Prepared } from './client-drivers.ts'

const root = join(import.meta.dirname, '..', '..')
const page = join(root, 'docs', 'guide', 'clients.md')

interface Language {
  /** As its block in the page begins. */
  readonly block: string
  readonly file: string
  /** Gets the driver and gives the command. Rejects where the runtime or the driver cannot be had. */
  prepare(folder: string, file: string): Promise<Prepared>
}

const languages = {
  'Node.js': {
    block: 'js',
    file: 'client.mjs',
    prepare: async (folder, file) => {
      await symlink(join(root, 'node_modules'), join(folder, 'node_modules'))
      return [process.execPath, file]
    },
  },
  Python: {
    block: 'python',
    file: 'client.py',
    prepare: (_folder, file) => pythonWith(['PyMySQL==1.1.1', 'cryptography'], 'pymysql, cryptography', file),
  },
  Go: {
    block: 'go',
    file: 'main.go',
    prepare: (folder) => goProgram(folder, ['github.com/go-sql-driver/mysql@v1.9.3']),
  },
  Java: {
    block: 'java',
    file: 'Client.java',
    prepare: (_folder, file) => javaProgram('9.4.0', file),
  },
} as const satisfies Readonly<Record<string, Language>>

export type LanguageName = keyof typeof languages
export const languageNames = Object.keys(languages) as readonly LanguageName[]

/**
 * Writes the program of that language out of the page into `folder`, and makes it ready: its command without address
 * and file of the password.
 */
export async function prepareExample(name: LanguageName, folder: string): Promise<Prepared> {
  const { block, file, prepare } = languages[name]
  const text = new RegExp(`^\`\`\`${block}\\n([^]*?)^\`\`\``, 'm').exec(await readFile(page, 'utf8'))?.[1]
  if (text === undefined) throw new Error(`${page} has no block in ${block}`)
  await writeFile(join(folder, file), text)
  return prepare(folder, join(folder, file))
}
