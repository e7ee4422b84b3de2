import { learn, type Learner } from '../instance/learn.ts'
import type { Fact } from '../instance/facts.ts'
import type { Parts } from '../instance/parts.ts'
import { performers, type NextPass, type Step } from './steps.ts'

/**
 * Does what was decided: first on disk, then done, and known only after that. Rejects with the first step that fails;
 * what comes after that step is not done, and the next pass is decided from what is so then.
 * @returns true where something is known or stored now by which another thing may be decided
 */
export async function runPass(parts: Parts, { store, now = [], steps = [], then = [] }: NextPass): Promise<boolean> {
  const { facts, file, process } = parts
  const { pid } = process
  const [learned, stored] = [facts.decisive, file.current]
  if (store) await parts.file.update(store)
  know(parts, now, pid)
  for (const step of steps) {
    const { pid } = process
    const found = await perform(parts, step)
    if (found !== undefined) learn(parts, found, pid)
  }
  know(parts, then, pid)
  return file.current !== stored || facts.decisive !== learned
}

/** The row asks for what was decided: a step is made of its row (`StepOf`). */
async function perform(parts: Parts, step: Step): Promise<Fact | undefined> {
  const performer = performers[step.do] as (ports: Parts, decided: Step) => Promise<Fact | void>
  return (await performer(parts, step)) ?? undefined
}

function know(parts: Learner, facts: readonly Fact[], pid: number | null): void {
  for (const fact of facts) learn(parts, fact, pid)
}
