import { learn } from '../instance/learn.ts'
import type { Fact } from '../instance/facts.ts'
import type { NextPass } from '../instance/pass.ts'
import type { Parts } from '../instance/parts.ts'

/**
 * Does what was decided: first on disk, then done, and known only after that. Rejects with the first step that fails;
 * what comes after that step is not done, and the next pass is decided from what is so then.
 */
export async function runPass(parts: Parts, { store, now = [], steps = [], then = [] }: NextPass): Promise<void> {
  const { process } = parts
  const { pid } = process
  if (store) await parts.file.update(store)
  know(parts, now, pid)
  for (const { run } of steps) {
    const { pid } = process
    const found = await run(parts)
    if (found !== undefined) learn(parts, found, pid)
  }
  know(parts, then, pid)
}

function know(parts: Parts, facts: readonly Fact[], pid: number | null): void {
  for (const fact of facts) learn(parts, fact, pid)
}
