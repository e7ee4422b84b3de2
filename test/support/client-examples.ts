import { execFile } from 'node:child_process'
import { mkdir, readFile, symlink, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { cacheFolder } from '#local/files/cache-folder.ts'

const root = join(import.meta.dirname, '..', '..')
const page = join(root, 'docs', 'guide', 'clients.md')
const run = promisify(execFile)
/** A package that is fetched, or a program that is compiled, on a busy machine. */
const longMs = 300_000

/** A program that a page shows, made ready to run: its command without the folder of a cluster. */
export type Prepared = readonly string[]

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
    prepare: async (_folder, file) => {
      const packages = join(await drivers('python'), 'packages')
      const isThere = await tells('python3', ['-c', 'import pymysql, cryptography'], { PYTHONPATH: packages })
      if (!isThere)
        await must('python3', ['-m', 'pip', 'install', '-q', '--target', packages, 'PyMySQL==1.1.1', 'cryptography'])
      return ['env', `PYTHONPATH=${packages}`, 'python3', file]
    },
  },
  Go: {
    block: 'go',
    file: 'main.go',
    prepare: async (folder) => {
      await must('go', ['mod', 'init', 'client'], folder)
      await must('go', ['get', 'github.com/go-sql-driver/mysql@v1.9.3'], folder)
      await must('go', ['build', '-o', 'client', '.'], folder)
      return [join(folder, 'client')]
    },
  },
  Java: {
    block: 'java',
    file: 'Client.java',
    prepare: async (_folder, file) => {
      const [to, version] = [await drivers('java'), '9.4.0']
      const jar = join(to, `mysql-connector-j-${version}.jar`)
      const copy = 'org.apache.maven.plugins:maven-dependency-plugin:3.8.1:copy'
      const isThere = await readFile(jar).then(
        () => true,
        () => false,
      )
      if (!isThere)
        await must(
          'mvn',
          ['-q', '-B', copy, `-Dartifact=com.mysql:mysql-connector-j:${version}`, `-DoutputDirectory=${to}`],
          to,
        )
      return ['java', '-cp', jar, file]
    },
  },
} as const satisfies Readonly<Record<string, Language>>

export type LanguageName = keyof typeof languages
export const languageNames = Object.keys(languages) as readonly LanguageName[]

/** Writes the program of that language out of the page into `folder`, and makes it ready. */
export async function prepareExample(name: LanguageName, folder: string): Promise<Prepared> {
  const { block, file, prepare } = languages[name]
  const text = new RegExp(`^\`\`\`${block}\\n([^]*?)^\`\`\``, 'm').exec(await readFile(page, 'utf8'))?.[1]
  if (text === undefined) throw new Error(`${page} has no block in ${block}`)
  await writeFile(join(folder, file), text)
  return prepare(folder, join(folder, file))
}

async function drivers(language: string): Promise<string> {
  const folder = join(cacheFolder(), 'client-drivers', language)
  await mkdir(folder, { recursive: true })
  return folder
}

async function must(program: string, args: readonly string[], cwd?: string): Promise<void> {
  await run(program, args, { timeout: longMs, ...(cwd === undefined ? {} : { cwd }) })
}

function tells(program: string, args: readonly string[], env: NodeJS.ProcessEnv): Promise<boolean> {
  return run(program, args, { timeout: longMs, env: { ...process.env, ...env } }).then(
    () => true,
    () => false,
  )
}
