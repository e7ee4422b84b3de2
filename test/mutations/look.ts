import { mutations } from './list/all.ts'
import type { Mutation } from './mutation.ts'
import { isByScript, readResults, writeResults, type FoundBySchedule, type Result } from './results.ts'
import { scenarios, type Script } from './scripts.ts'
import { playIn, root, type Tree } from './tree.ts'

export interface Asked {
  /** How many schedules, and from which seed on, where no script shows the difference. */
  readonly seeds: number
  readonly seed: number
}

/** Looks for what one mutation breaks: by scripts first, since what these show follows from nothing random. */
export async function lookFor(tree: Tree, mutation: Mutation, asked: Asked): Promise<boolean> {
  const found = (await byScripts(tree, mutation)) ?? (await bySchedules(tree, mutation, asked))
  if (found === undefined) return false
  await keep(mutation.id, found)
  return true
}

/** `npm test` plays all of them with the whole code. */
async function byScripts(tree: Tree, mutation: Mutation): Promise<Result | undefined> {
  const beganMs = performance.now()
  const found = await scriptWithout(tree, mutation, { script: mutation.shownBy ?? scenarios })
  return found && { ...found, seconds: secondsSince(beganMs) }
}

/** A script that cannot be played shows nothing, and is said. */
function scriptWithout(tree: Tree, mutation: Mutation, script: Script) {
  return tree.scriptWithout(mutation, script).catch((error: unknown) => {
    console.log(`${mutation.id}: ${String(error).slice(0, 300)}`)
    return undefined
  })
}

/** A seed that breaks a rule with the whole code shows nothing. */
async function bySchedules(tree: Tree, mutation: Mutation, asked: Asked): Promise<FoundBySchedule | undefined> {
  const { id, family, shownBy } = mutation
  if (shownBy !== undefined) return undefined
  const beganMs = performance.now()
  const end = asked.seed + asked.seeds
  for (let first = asked.seed; first < end;) {
    const found = await tree.playWithout(mutation, { first, count: end - first, family }).catch((error: unknown) => {
      console.log(`${id}: ${String(error).slice(0, 300)}`)
      return { seed: end, broke: undefined }
    })
    first = found.seed + 1
    if (found.broke === undefined) continue
    const clean = await playIn(root, { first: found.seed, count: 1, family })
    if (clean.broke === undefined)
      return {
        seed: found.seed,
        schedules: first - asked.seed,
        seconds: secondsSince(beganMs),
        broke: found.broke,
      }
    console.log(`${id}: seed ${found.seed} breaks a rule with the whole code: ${clean.broke}`)
  }
  console.log(`${id}: NOT found by any script, nor by ${asked.seeds} schedules`)
  return undefined
}

function secondsSince(beganMs: number): number {
  return Math.round((performance.now() - beganMs) / 100) / 10
}

let keeping: Promise<void> = Promise.resolve()

/** One after the other: several look at once. */
function keep(id: string, result: Result): Promise<void> {
  console.log(`${id}: found by ${by(result)}, ${result.seconds} s: ${result.broke}`)
  const ids = mutations.map((mutation) => mutation.id)
  keeping = keeping.then(async () => writeResults({ ...(await readResults()), [id]: result }, ids))
  return keeping
}

function by(result: Result): string {
  return isByScript(result) ? `${result.script} "${result.title}"` : `seed ${result.seed}, schedule ${result.schedules}`
}

/** As stored; else by another script or seed: what the code does between changes what follows from a seed. */
export async function check(tree: Tree, mutation: Mutation, asked: Asked): Promise<boolean> {
  const { id } = mutation
  const stored = (await readResults())[id]
  if (stored === undefined) {
    console.log(`${id}: was never found`)
    return false
  }
  if (await isFoundAgain(tree, mutation, stored)) {
    console.log(`${id}: still found by ${by(stored)}`)
    return true
  }
  const other = (await byScripts(tree, mutation)) ?? (await bySchedules(tree, mutation, asked))
  if (other === undefined) return false
  console.log(`${id}: found by ${by(other)}, and no more by ${by(stored)}: --only ${id} stores that`)
  return true
}

async function isFoundAgain(tree: Tree, mutation: Mutation, stored: Result): Promise<boolean> {
  if (isByScript(stored)) return (await scriptWithout(tree, mutation, stored)) !== undefined
  const { family } = mutation
  return (await tree.playWithout(mutation, { first: stored.seed, count: 1, family })).broke !== undefined
}
