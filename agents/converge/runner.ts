import { learn, type NextPass } from '../instance/pass.ts'
import type { Parts } from '../instance/parts.ts'

/**
 * Does what was decided: first on disk, then done, and known only after that. Rejects with the first step that fails;
 * what comes after that step is not done, and the next pass is decided from what is so then.
 */
export async function runPass(parts: Parts, { store, now, steps = [], then }: NextPass): Promise<void> {
  const { process } = parts
  const { pid } = process
  if (store) await parts.file.update(store)
  learn(parts, now, pid)
  for (const { run } of steps) {
    const { pid } = process
    learn(parts, await run(parts), pid)
  }
  learn(parts, then, pid)
}
