import { execFile } from 'node:child_process'
import { cp, mkdtemp, readFile, rm, symlink, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import type { Found, Hunt } from './hunt.ts'
import type { Mutation } from './mutation.ts'
import { playScripts, type Broken, type Script } from './scripts.ts'

export const root = join(import.meta.dirname, '../..')

const needed = ['agents', 'failover', 'src', 'topology', 'test', 'package.json', 'tsconfig.json', 'vitest.config.ts']
const run = promisify(execFile)
const msPerSchedule = 20_000

/** The text of a file without one rule. Throws where the rule does not stand there exactly once. */
export function without({ id, file, find, replace }: Mutation, text: string): string {
  const times = text.split(find).length - 1
  if (times !== 1) throw new Error(`${id}: ${file} has the text ${times} times, not once: ${JSON.stringify(find)}`)
  return text.replace(find, () => replace)
}

/** Plays schedules with the code that is under `folder`. Throws where they do not end. */
export async function playIn(folder: string, hunt: Hunt): Promise<Found> {
  const { stdout } = await run(process.execPath, [join(folder, 'test/mutations/hunt.ts'), JSON.stringify(hunt)], {
    timeout: 60_000 + hunt.count * msPerSchedule,
    killSignal: 'SIGKILL',
    maxBuffer: 64 * 1_048_576,
  })
  return JSON.parse(stdout) as Found
}

/** A copy of the code, in which one rule after the other is missing. */
export class Tree {
  readonly #folder: string

  private constructor(folder: string) {
    this.#folder = folder
  }

  static async copy(): Promise<Tree> {
    const folder = await mkdtemp(join(tmpdir(), 'regent-mutations-'))
    for (const name of needed) await cp(join(root, name), join(folder, name), { recursive: true })
    await symlink(join(root, 'node_modules'), join(folder, 'node_modules'))
    return new Tree(folder)
  }

  playWithout(mutation: Mutation, hunt: Hunt): Promise<Found> {
    return this.#without(mutation, () => playIn(this.#folder, hunt))
  }

  scriptWithout(mutation: Mutation, script: Script): Promise<Broken | undefined> {
    return this.#without(mutation, () => playScripts(this.#folder, script))
  }

  async #without<T>(mutation: Mutation, play: () => Promise<T>): Promise<T> {
    const path = join(this.#folder, mutation.file)
    const text = await readFile(path, 'utf8')
    await writeFile(path, without(mutation, text))
    try {
      return await play()
    } finally {
      await writeFile(path, text)
    }
  }

  remove(): Promise<void> {
    return rm(this.#folder, { recursive: true, force: true })
  }
}
